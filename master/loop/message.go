package loop

import (
	"cmp"
	"context"

	"amazonsfarm/master/hints"
	"amazonsfarm/master/outlook"
	"amazonsfarm/master/tree"
)

// message is what the loop has in its queue. Both functions run in the goroutine of Run: apply in the turn that
// takes the message, and reply after the commit of that turn. One of them may be nil.
type message struct{ apply, reply func() }

// post puts a message into the loop's queue. It waits while the queue is full: that is how fast
// workers are slowed down.
func (l *Loop) post(ctx context.Context, msg message) error {
	select {
	case l.inbox <- msg:
		return nil
	case <-l.done:
		return ErrEnded
	case <-ctx.Done():
		return ctx.Err()
	}
}

// do has the loop do something, and does not wait for it.
func (l *Loop) do(ctx context.Context, what func()) error { return l.post(ctx, message{apply: what}) }

// order has the loop do something, and returns after the commit of that turn.
func (l *Loop) order(ctx context.Context, what func()) error {
	reply := make(chan struct{}, 1)
	_, err := await(ctx, l, message{what, func() { reply <- struct{}{} }}, reply)
	return err
}

// ask has the loop answer a question, which sees the state after a commit.
func ask[T any](ctx context.Context, l *Loop, answer func() T) (T, error) {
	reply := make(chan T, 1)
	return await(ctx, l, message{reply: func() { reply <- answer() }}, reply)
}

// answered is an answer, or why there is none.
type answered[T any] struct {
	value T
	err   error
}

// try is ask for an answer that may be an error. The context may end before the answer is there, so the answer comes
// through a channel and not through a variable of the caller.
func try[T any](ctx context.Context, l *Loop, answer func() (T, error)) (T, error) {
	a, err := ask(ctx, l, func() answered[T] {
		v, err := answer()
		return answered[T]{v, err}
	})
	return a.value, cmp.Or(err, a.err)
}

// Between does something between two commits, while no fact waits to be written. Errors: those of a commit, or why none
// can be made, those of what, ErrEnded, those of ctx.
func Between[T any](ctx context.Context, l *Loop, what func() (T, error)) (T, error) {
	return try(ctx, l, func() (none T, err error) {
		if l.pending.unwritten() {
			if err = l.full; err == nil {
				err = l.commit()
			}
		}
		if err != nil {
			return none, err
		}
		return what()
	})
}

// await posts a message and waits for its reply.
func await[T any](ctx context.Context, l *Loop, msg message, reply chan T) (T, error) {
	var zero T
	if err := l.post(ctx, msg); err != nil {
		return zero, err
	}
	select {
	case v := <-reply:
		return v, nil
	case <-l.done:
		// The loop may have answered with its last breath: a drain that ends it does.
		select {
		case v := <-reply:
			return v, nil
		default:
			return zero, ErrEnded
		}
	case <-ctx.Done():
		return zero, ctx.Err()
	}
}

// Event is what a worker says: an event for the trees, and what comes with it.
type Event struct {
	Session  *Session
	Link     *Link
	Campaign *About // nil: of all
	Tree     tree.Event
	Serial   uint64   // to acknowledge; 0: nothing
	Refused  []string // what was left out of the event, and why
	Hint     hints.Hint

	Evaluations uint64
	TableFill   float64
	Phase       Phase // of the lease
	Outlook     *outlook.Outlook

	waited bool // for room
}

// Post puts an event of a worker into the loop's queue.
func (l *Loop) Post(ctx context.Context, e Event) error { return l.do(ctx, func() { l.takeEvent(&e) }) }

// takeEvent has the scheduler step for an event, or lets it wait while there is no room.
func (l *Loop) takeEvent(e *Event) {
	if !l.current(e) {
		return // its stream was replaced; what was not acknowledged comes again
	}
	if l.full != nil && e.Serial != 0 {
		l.hold(e)
		return
	}
	var c *campaign
	number := uint32(0)
	if e.Campaign != nil {
		number = e.Campaign.Number
		c = l.numbered(number)
	}
	l.hear(e, c)
	if c != nil && c.Tree == nil {
		e.Refused = append(e.Refused, "campaign "+c.Name+" is over")
	}
	l.stepFor(e.Session, e.Serial, number, l.founded(number, e.Tree), e.Refused)
	if c != nil {
		l.keepHint(e, c)
	}
}

// hear notes what an event says of its worker.
func (l *Loop) hear(e *Event, c *campaign) {
	s := e.Session
	s.last = l.cfg.Now()
	s.evaluations, s.fill, s.phase = max(s.evaluations, e.Evaluations), e.TableFill, e.Phase
	if c != nil {
		s.phaseIn = c.Number
	}
	switch ev := e.Tree.(type) {
	case tree.Progress:
		if o := e.Outlook; o != nil && c != nil {
			if s.evidence = o.Evidence; o.Children != "" {
				c.outlook, c.outlookOf = *o, s.Name
			}
		}
	case tree.Result:
		s.evidence = 0
		s.facts += uint64(len(ev.Facts))
	case tree.Proved:
		s.facts += uint64(len(ev.Facts))
	}
}

// taken counts a result that ended its lease. Others count for nothing: they may come twice, or be made up.
func (l *Loop) taken(s *Session, c *campaign, e tree.Taken) {
	l.book.Work(s.Party, e.Nodes, float64(s.Cores)*s.last.Sub(s.counted).Seconds(), s.last)
	s.counted = s.last
	s.results++
	s.nodes += e.Nodes
	l.cfg.Metrics.returned.WithLabelValues(c.Name, e.Verdict.String()).Inc()
}

// Do carries out a tree.Pause, tree.Resume or tree.Drain for all campaigns, and returns what is known
// of the first one then. It answers in the same turn, since a drain may end the loop.
func (l *Loop) Do(ctx context.Context, ev tree.Event) (View, error) {
	answer := make(chan View, 1)
	return await(ctx, l, message{
		apply: func() {
			switch ev.(type) {
			case tree.Drain:
				if l.draining == nil {
					l.draining = ErrDrained
				}
				l.stepOf(0, ev)
			case tree.Pause:
				l.paused = true
			case tree.Resume:
				l.paused = false // without room it goes on later
			}
			l.pauses()
		},
		reply: func() { answer <- l.view(l.campaigns()[0]) },
	}, answer)
}

// commands are what an operator may do with all campaigns at once.
var commands = map[string]tree.Event{
	"pause":  tree.Pause{},  // grants no new leases, for as long as this master runs; running ones go on
	"resume": tree.Resume{}, // ends a pause; campaigns that are paused by themselves stay so
	"drain":  tree.Drain{},  // see Drain
}

// Command carries out pause, resume or drain.
func (l *Loop) Command(ctx context.Context, name string) error {
	_, err := l.Do(ctx, commands[name])
	return err
}

// Drain cancels all leases; Run returns ErrDrained when they are back. Once all campaigns are
// settled, ended or stopped it ends a Run that would stay.
func (l *Loop) Drain(ctx context.Context) error {
	_, err := l.Do(ctx, tree.Drain{})
	return err
}
