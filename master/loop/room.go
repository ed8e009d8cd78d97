package loop

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"amazonsfarm/master/hints"
	"amazonsfarm/master/store"
	"amazonsfarm/master/tree"
	"amazonsfarm/master/trust"
	"amazonsfarm/shared/cli"
)

// A disk without room must not end a campaign that took weeks. While there is none (Store.Room says so at a tick,
// or a commit fails with store.ErrNoRoom) nothing is granted, and messages that would have to
// be written wait: results and facts, in the order in which they came, and their workers are told why with each
// tick. The ticks of the trees stand still, so that no lease expires because its worker's result waits. What the
// trees have been stepped for already stays pending. Once there is room, the pending is committed, the waiting
// messages are applied, and the campaigns go on. Since nothing was acknowledged meanwhile, nothing is lost if the
// master ends: the workers keep it.

// halt pauses the campaigns for want of room, or because the store is not where it was. All workers are told.
func (l *Loop) halt(why error) {
	if l.full == nil {
		l.cfg.Metrics.spacePauses.Inc()
		l.cfg.Log.Error("the campaigns pause and go on by themselves once that is mended", "reason", why)
	}
	l.full = why
	l.pauses()
	for _, s := range l.crew.byToken {
		l.sendHold(s)
	}
}

// crowded is the last part of a worker that could not be stored where commits still can.
type crowded struct {
	at  time.Time
	why string
}

// crowdedFor is how long people are told of it: workers try again within half a minute.
const crowdedFor = time.Minute

// Crowded notes that a part of so many bytes found no room, or no folder in which it can be written. The worker alone
// waits: if the farm did, an announced size would be enough to stop it.
func (l *Loop) Crowded(ctx context.Context, s *Session, part int64, why error) {
	_ = l.do(ctx, func() {
		now := l.cfg.Now()
		if now.Sub(l.crowded.at) > crowdedFor {
			l.cfg.Log.Error("a part of a worker cannot be stored now; the worker tries again", "worker", s.Name,
				"bytes", part, "reason", why)
		}
		l.crowded = crowded{now, fmt.Sprintf("a part of %s of worker %s waits: %v", cli.FormatSize(part), s.Name, why)}
	})
}

// lookForRoom halts or goes on, and returns the messages that have waited. Errors are about the store.
func (l *Loop) lookForRoom() (waited []message, err error) {
	if l.full == nil {
		if l.allOver() {
			return nil, nil
		}
		if err := l.store.Room(0); err != nil {
			l.halt(cmp.Or(l.store.Room(spareBytes), err)) // this much is asked for before it goes on
		}
		return nil, nil
	}
	if err := l.store.Room(spareBytes); err != nil {
		l.halt(err)
		return nil, nil
	}
	if l.pending.unwritten() {
		if err := l.commit(); errors.Is(err, store.ErrNoRoom) {
			l.halt(err)
			return nil, nil
		} else if err != nil {
			return nil, err
		}
	}
	l.cfg.Log.Warn("that is mended: the campaigns go on")
	l.full = nil
	l.pauses()
	for _, e := range l.waiting {
		e.Session.waiting = 0
		e.waited = true
		waited = append(waited, message{apply: func() { l.takeEvent(e) }})
	}
	l.waiting = nil
	return waited, nil
}

// hold lets a message wait until there is room. A worker that sends more than a sound one does is cut
// off.
func (l *Loop) hold(e *Event) {
	s := e.Session
	if s.waiting >= l.cfg.Limits.Waiting {
		e.Link.End(tell(ErrCrowded, "%d messages of this worker wait for room on the master's disk", s.waiting))
		return
	}
	s.waiting++
	l.waiting = append(l.waiting, e)
	l.sendHold(s)
}

// dropWaiting forgets what waits of a worker that has come anew: it sends again what was not
// acknowledged.
func (l *Loop) dropWaiting(worker string) {
	l.waiting = slices.DeleteFunc(l.waiting, func(e *Event) bool {
		if e.Session.Name != worker {
			return false
		}
		e.Session.waiting = 0
		return true
	})
}

// current reports whether a message counts: its stream is still that of its worker, or it has waited
// and the worker is not back yet.
func (l *Loop) current(e *Event) bool {
	s := e.Session
	return s.link == e.Link || e.waited && s.link == nil && l.crew.current(s)
}

// sendHold tells a worker that it has to wait, and why.
func (l *Loop) sendHold(s *Session) { l.send(s, Hold{trust.Clip(l.full.Error(), trust.MaxWhy)}) }

// merge makes one of several steps' effects of each campaign, so that what waits does not grow with
// time.
func (p *pending) merge() {
	if len(p.persist) < 2 {
		return
	}
	var list []tree.Persist
	of, at := map[uint32]int{}, map[hints.Place]int{}
	for _, e := range p.persist {
		i, ok := of[e.Campaign]
		if !ok {
			i = len(list)
			of[e.Campaign] = i
			list = append(list, tree.Persist{Campaign: e.Campaign})
		}
		all := &list[i]
		for _, n := range e.Nodes {
			place := hints.Place{Campaign: e.Campaign, Key: n.Key}
			if i, ok := at[place]; ok {
				all.Nodes[i] = n
				continue
			}
			at[place] = len(all.Nodes)
			all.Nodes = append(all.Nodes, n)
		}
		all.Facts = append(all.Facts, e.Facts...)
		all.Spent, all.Epoch = max(all.Spent, e.Spent), max(all.Epoch, e.Epoch)
		if all.Contradiction == nil {
			all.Contradiction = e.Contradiction
		}
	}
	p.persist = list
}
