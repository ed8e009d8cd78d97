package loop

import (
	"context"
	"crypto/rand"
	"errors"
	"sync"
	"sync/atomic"
	"time"

	"golang.org/x/time/rate"

	"amazonsfarm/master/checks"
	"amazonsfarm/master/hints"
	"amazonsfarm/master/ledger"
	"amazonsfarm/master/store"
	"amazonsfarm/master/tree"
	"amazonsfarm/master/trust"
	"amazonsfarm/shared/amazons"
	"amazonsfarm/shared/proof"
)

// Worker is what a worker says of itself when it joins.
type Worker struct {
	Name, Address, Build string
	Cores                uint32
	TableBytes           uint64
	Owner                string        // name in the credential with which it joined; empty: there was none
	Messages             *rate.Limiter // of all its streams together
}

// Session is one stay of a worker.
type Session struct {
	Token  string
	Worker // not changed
	Party  trust.Party
	Ledger *ledger.Ledger
	Known  bool        // its party has a standing
	Leased atomic.Bool // it was granted a lease
	Uploads

	// The fields below belong to the loop.
	link        *Link // nil while no stream is attached
	ticks       int   // since the stream ended
	joined      bool  // the trees know the worker
	quarantined bool  // it may do nothing any more
	since, last time.Time
	counted     time.Time // up to when its time was added to its party's

	evaluations, results, facts, nodes uint64
	fill                               float64
	phase                              Phase   // of its lease, or of one that is over
	phaseIn                            uint32  // campaign of phase
	evidence                           float64 // of its lease; see outlook.Outlook

	seen    hints.Seen // hints that its table has
	table   uint32     // the pool of its last lease: its table is for that board
	waiting int        // messages in Loop.waiting
	checker checks.Worker
	short   int         // weight of the results in a row that came back before their budget
	shortOf amazons.Key // the last of these positions
}

// Brings reports whether the worker may deliver what it found before this master started: it is known from
// before and has had no lease of this master.
func (s *Session) Brings() bool { return s.Known && !s.Leased.Load() }

// Answer is what the loop says to a worker: Lease, News, Cancel, Check, NoWork, Ack, Hold or Finished.
type Answer interface{ answer() }

// Lease grants a lease, with hints that the worker lacks.
type Lease struct {
	Campaign *About
	tree.Lease
	Hints [][]byte
}

// News tells of facts that others have proved.
type News struct {
	Campaign uint32
	Facts    []proof.Fact
}

// Cancel ends a lease early.
type Cancel struct {
	Campaign uint32
	tree.Cancel
}

// Check asks for a part to be checked.
type Check struct {
	Campaign *About
	ID       proof.ID
	Size     int64
}

// NoWork says why there is no lease now.
type NoWork struct{ Reason tree.NoWorkReason }

// Ack says that a message is durable, and what was refused of it. OldLease says that it was a result of a lease
// from before the start of this master, and FactsRefused that facts are not kept.
type Ack struct {
	Serial       uint64
	Refused      string
	OldLease     bool
	FactsRefused bool
}

// Hold says that nothing is acknowledged until there is room on the disk, and why.
type Hold struct{ Why string }

// Finished says that the worker may leave.
type Finished struct{ Why string }

func (Lease) answer()    {}
func (News) answer()     {}
func (Cancel) answer()   {}
func (Check) answer()    {}
func (NoWork) answer()   {}
func (Ack) answer()      {}
func (Hold) answer()     {}
func (Finished) answer() {}

// Link is one work stream, seen from the loop, which puts answers into it and never waits. The
// stream's handler sends them.
type Link struct {
	Answers chan Answer
	Ended   chan struct{} // closed by End
	once    sync.Once
	err     error
}

// NewLink makes the link of a stream.
func (l *Loop) NewLink() *Link {
	return &Link{Answers: make(chan Answer, l.cfg.Limits.Answers), Ended: make(chan struct{})}
}

// End ends the stream with an error, or nil. The first one counts.
func (l *Link) End(err error) {
	l.once.Do(func() {
		l.err = err
		close(l.Ended)
	})
}

// Err returns what the stream ends with, once Ended is closed.
func (l *Link) Err() error { return l.err }

// crew are the sessions of the workers that are here.
type crew struct {
	byToken map[string]*Session
	byName  map[string]*Session
	ledgers ledger.Ledgers
}

// current reports whether a session is the one of its worker.
func (c *crew) current(s *Session) bool { return c.byName[s.Name] == s }

// Join begins a session; one of the same name that was there before ends. Errors: ErrQuarantined,
// ErrCrowded, ErrEnded, those of ctx.
func (l *Loop) Join(ctx context.Context, w Worker) (*Session, error) {
	return try(ctx, l, func() (*Session, error) { return l.join(w) })
}

func (l *Loop) join(w Worker) (*Session, error) {
	now := l.cfg.Now()
	s := &Session{Token: rand.Text(), Worker: w, Party: trust.Party{Name: w.Name}, since: now, last: now, counted: now,
		seen: hints.Seen{}}
	if w.Owner != "" {
		s.Party = trust.Party{Name: w.Owner, Credential: true}
	}
	standing := l.book.Standing(s.Party)
	s.Ledger, s.Known = l.crew.ledgers.Of(standing), standing.Confirmed+standing.Solved > 0
	s.checker = checks.Worker{Name: w.Name, Party: s.Party}
	if q := l.book.InQuarantine(s.Party); q != nil {
		l.cfg.Metrics.quarantinedJoins.Inc()
		return nil, errQuarantined(q)
	}
	old := l.crew.byName[w.Name]
	if old == nil && len(l.crew.byName) >= l.cfg.MaxWorkers {
		return nil, tell(ErrCrowded, "the farm has its limit of %d workers", l.cfg.MaxWorkers)
	}
	if old != nil {
		delete(l.crew.byToken, old.Token)
		if old.link != nil {
			old.link.End(tell(ErrReplaced, "another worker joined as %s and takes its place; give each its own name",
				w.Name))
		}
	}
	l.crew.byToken[s.Token], l.crew.byName[w.Name] = s, s
	return s, nil
}

// Session returns the session of a token. Errors: ErrNoSession, ErrEnded, those of ctx.
func (l *Loop) Session(ctx context.Context, token string) (*Session, error) {
	return try(ctx, l, func() (*Session, error) {
		if s := l.crew.byToken[token]; s != nil && !s.quarantined {
			return s, nil
		}
		return nil, ErrNoSession
	})
}

// Attach says that the stream of a link has begun. A stream that the session had before is ended. A worker that comes
// when all is over is told that it may leave.
func (l *Loop) Attach(ctx context.Context, s *Session, link *Link) error {
	return l.post(ctx, message{
		apply: func() {
			if s.link != nil {
				s.link.End(tell(ErrReplaced, "another stream of the same session took over"))
			}
			l.dropWaiting(s.Name)
			s.link, s.ticks, s.last, s.joined = link, 0, l.cfg.Now(), true
			l.stepOf(0, l.joining(s))
		},
		reply: func() {
			if l.ended && s.link == link {
				l.sendFinished(s)
			}
		},
	})
}

// Detach says that the stream of a link has ended; with goodbye the worker holds nothing any more. The
// link is ended after the loop has answered what came before.
func (l *Loop) Detach(s *Session, link *Link, goodbye bool) {
	// The stream is over, so there is no context that could end the wait; the loop's end does.
	_ = l.post(context.Background(), message{
		apply: func() {
			if s.link == link {
				l.detach(s, goodbye)
			}
		},
		reply: func() { link.End(nil) },
	})
}

// detach forgets the stream of a session. Leases live on for a while: a worker may come back and go on with them.
// Its open requests are withdrawn (joining again does that), so that no lease is sent to nobody.
func (l *Loop) detach(s *Session, goodbye bool) {
	s.link = nil
	if goodbye || s.quarantined {
		l.forget(s)
		return
	}
	s.ticks = 0
	l.stepOf(0, l.joining(s))
}

// joining is the event of a worker that is there.
func (l *Loop) joining(s *Session) tree.Joined {
	known := l.book.Standing(s.Party)
	return tree.Joined{Worker: s.Name, Slots: tree.WorkerSlots, Party: s.Party.String(), Confirmed: known.Confirmed,
		Solved: known.Solved}
}

// forget ends a session.
func (l *Loop) forget(s *Session) {
	delete(l.crew.byToken, s.Token)
	current := l.crew.current(s)
	if current {
		delete(l.crew.byName, s.Name)
	}
	if s.joined && current {
		l.leave(s.Name)
	}
	s.joined = false
}

// leave tells the trees that a worker is gone, and counts the leases that are lost with it.
func (l *Loop) leave(name string) (leases int) {
	for _, c := range l.campaigns() {
		if c.Tree != nil {
			lost := c.Tree.LeasesOf(name)
			l.cfg.Metrics.expired.WithLabelValues(c.Name).Add(float64(lost))
			leases += lost
		}
	}
	l.stepOf(0, tree.Left{Worker: name})
	return leases
}

// sweep forgets workers whose stream has been gone for long enough. It looks before the tick's own
// effects.
func (l *Loop) sweep() {
	var leaving, gone []*Session
	now := l.cfg.Now().UTC().Round(0)
	for _, s := range l.crew.byToken {
		if s.link != nil {
			l.book.See(s.Party, now)
			continue
		}
		s.ticks++
		switch {
		case s.quarantined, s.ticks > l.cfg.Limits.SessionTicks:
			gone = append(gone, s)
		case s.joined && s.ticks > leavingTicks:
			leaving = append(leaving, s)
		}
	}
	for _, s := range leaving {
		s.joined = false
		if l.crew.current(s) {
			l.cfg.Log.Warn("worker lost: its connection has ended", "worker", s.Name, "leases", l.leave(s.Name))
		}
	}
	for _, s := range gone {
		l.forget(s)
	}
}

// finish tells all workers that they may leave.
func (l *Loop) finish() {
	l.ended = true
	for _, s := range l.crew.byToken {
		l.sendFinished(s)
	}
}

func (l *Loop) sendFinished(s *Session) {
	all := l.campaigns()
	why := "all campaigns are over"
	if len(all) == 1 {
		why = all[0].state + ": " + trust.Clip(all[0].why, 1000)
	}
	l.send(s, Finished{why})
}

// endLinks tells all workers that it is over, or that the master goes away.
func (l *Loop) endLinks(err error) {
	switch {
	case err == nil:
	case errors.Is(err, store.ErrContradiction):
		err = tell(store.ErrContradiction, "the campaign is stopped: %v", err)
	default:
		err = ErrEnded
	}
	for _, s := range l.crew.byToken {
		if s.link != nil {
			s.link.End(err)
		}
	}
}

// sendTo queues an answer for a worker.
func (l *Loop) sendTo(worker string, a Answer) { l.send(l.crew.byName[worker], a) }

// sendNews queues facts for a worker, unless it is slow to read what it is sent: they are a help only.
func (l *Loop) sendNews(worker string, news News) {
	s := l.crew.byName[worker]
	if s != nil && s.link != nil && len(s.link.Answers) < cap(s.link.Answers)/2 {
		l.send(s, news)
	}
}

// send queues an answer for a worker. One that does not read what it is sent is cut off.
func (l *Loop) send(s *Session, a Answer) {
	if s == nil || s.link == nil {
		return
	}
	select {
	case s.link.Answers <- a:
	default:
		s.link.End(tell(ErrCrowded, "%d messages wait for this worker, which does not read them", cap(s.link.Answers)))
	}
}
