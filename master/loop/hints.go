package loop

import (
	"amazonsfarm/master/hints"
	"amazonsfarm/master/tree"
)

// keepHint keeps a hint that came with an event if it is worth it: its position is in the tree and
// open, and its worker is trusted, since a made-up hint would mislead others. It is called after the
// event's step. The store keeps far fewer than the cache, for after a restart.
func (l *Loop) keepHint(e *Event, c *campaign) {
	if len(e.Hint.Data) == 0 || c.Tree == nil || !c.Tree.Open(e.Hint.Key) || !c.Tree.Trusted(e.Session.Name) {
		return
	}
	l.hints.Put(e.Hint, e.Session.seen)
	l.pending.hints = append(l.pending.hints, e.Hint)
}

// forgetHints drops those of positions that are not open any more, in trees that are still there.
func (l *Loop) forgetHints() {
	trees := map[uint32]*tree.Tree{}
	for _, c := range l.campaigns() {
		trees[c.Number] = c.Tree
	}
	l.hints.Retain(func(p hints.Place) bool {
		t := trees[p.Campaign]
		return t != nil && t.Open(p.Key)
	})
}

// hintsFor returns the hints that a worker lacks for a lease. What cannot be read is passed over: it
// is a help only. A check repeats a search and gets none.
func (l *Loop) hintsFor(c *campaign, worker string, lease tree.Lease) [][]byte {
	s := l.crew.byName[worker]
	if s == nil || lease.Check {
		return nil
	}
	if s.table != c.Pool {
		clear(s.seen) // it changes to another board, with an empty table
		s.table = c.Pool
	}
	return l.hints.For(c.Number, c.Tree.Above(lease.Key, hints.PerLease), s.seen, func(p hints.Place) []byte {
		data, err := l.store.Hint(p.Campaign, p.Key)
		if err != nil {
			l.cfg.Log.Warn("a hint is passed over", "error", err)
		}
		return data
	})
}
