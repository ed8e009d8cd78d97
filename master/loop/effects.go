package loop

import (
	"errors"
	"fmt"
	"strings"
	"time"

	"amazonsfarm/master/hints"
	"amazonsfarm/master/schedule"
	"amazonsfarm/master/store"
	"amazonsfarm/master/tree"
	"amazonsfarm/master/trust"
)

// pending is what the steps since the last commit want to have written, and what is done once it is.
type pending struct {
	persist []tree.Persist
	hints   []hints.Hint
	after   []effect
}

// unwritten reports whether something is to be written.
func (p *pending) unwritten() bool { return len(p.persist)+len(p.hints) > 0 }

// effect waits for the commit before which it must not be carried out.
type effect interface{ carry(*Loop) }

// acknowledge tells a worker that what it sent is durable.
type acknowledge struct {
	to *Session
	Ack
}

func (a acknowledge) carry(l *Loop) { l.send(a.to, a.Ack) }

// consequence is an effect of the tree of a campaign whose step is durable.
type consequence struct {
	of *campaign
	tree.Effect
}

func (e consequence) carry(l *Loop) {
	c := e.of
	switch e := e.Effect.(type) {
	case tree.Grant:
		l.cfg.Metrics.granted.WithLabelValues(c.Name).Inc()
		if s := l.crew.byName[e.Worker]; s != nil {
			s.Ledger.Granted(e.Lease.Budget)
			s.Leased.Store(true)
		}
		l.sendTo(e.Worker, Lease{Campaign: c.About, Lease: e.Lease, Hints: l.hintsFor(c, e.Worker, e.Lease)})
	case tree.Inform:
		l.sendNews(e.Worker, News{c.Number, e.Facts})
	case tree.Cancel:
		l.cfg.Metrics.cancelled.WithLabelValues(c.Name).Inc()
		l.sendTo(e.Worker, Cancel{c.Number, e})
	case tree.NoWork:
		l.sendTo(e.Worker, NoWork{e.Reason})
	case tree.Settled:
		l.settle(c, e)
	case tree.Contradiction:
		l.cfg.Metrics.contradictions.Inc()
		if c.Suspects != nil && c.Recheck != nil {
			l.dispute(c, e)
			return
		}
		l.stop(c, c.contradiction(e))
	}
}

// stepOf steps the tree of a campaign, or all with number 0.
func (l *Loop) stepOf(number uint32, ev tree.Event) { l.take(nil, 0, l.plan.Step(number, ev), nil) }

// stepFor steps the tree of a campaign, or all with number 0, for an event of a worker. With a serial
// the event is acknowledged, with what was refused of it.
func (l *Loop) stepFor(s *Session, serial uint64, number uint32, ev tree.Event, refused []string) {
	l.cfg.Metrics.refused.Add(float64(len(refused)))
	short := l.take(s, serial, l.plan.Step(number, ev), refused)
	switch e := ev.(type) {
	case tree.Result:
		l.heardShort(s, e.Key, short)
		if len(e.Facts) > 0 {
			l.credit(s.Party, s.Ledger)
		}
	case tree.Proved:
		l.credit(s.Party, s.Ledger)
	}
}

// take takes the effects of a step: what must survive goes into the next commit, the rest waits for
// that. It reports whether a result came back short of its budget.
func (l *Loop) take(s *Session, serial uint64, all []schedule.Effect, refused []string) (short bool) {
	p := &l.pending
	var waits []schedule.Effect
	old, facts := false, len(refused) > 0 // whatever is refused before this is about facts
	for _, effect := range all {
		switch e := effect.Effect.(type) {
		case tree.Persist:
			p.persist = append(p.persist, e)
			for _, g := range l.gatherings {
				l.collect(g, e)
			}
		case tree.Refused:
			l.cfg.Metrics.refused.Inc()
			refused = append(refused, e.Why)
			if e.Foreign && s != nil {
				l.offend(s, trust.ForeignLease, fmt.Errorf("lease %d is not its own", e.Lease))
			}
			if e.Senseless {
				l.senseless(e)
			}
			short, old, facts = short || e.Short, old || e.Old, facts || e.Facts
		case tree.Taken:
			l.taken(s, l.numbered(effect.Campaign), e)
		case tree.Checked:
			l.checked(e)
		default:
			waits = append(waits, effect)
		}
	}
	if serial != 0 {
		why := trust.Clip(strings.Join(refused, "; "), trust.MaxWhy)
		p.after = append(p.after, acknowledge{s, Ack{serial, why, old, facts}})
	}
	for _, effect := range waits {
		c := l.numbered(effect.Campaign)
		if c == nil {
			continue
		}
		p.after = append(p.after, consequence{c, effect.Effect})
		if e, ok := effect.Effect.(tree.Contradiction); ok {
			l.stopReleased(c.Pool, e)
		}
	}
	return short
}

// flush commits what is pending, unless there is no room for it, and then carries out what waited.
func (l *Loop) flush() error {
	p := &l.pending
	if p.unwritten() && l.full == nil {
		if err := l.commit(); errors.Is(err, store.ErrNoRoom) {
			l.halt(err)
		} else if err != nil {
			return err
		}
	}
	if p.unwritten() {
		p.merge()
		return nil
	}
	after := p.after
	p.after = nil
	for _, e := range after {
		e.carry(l)
	}
	return nil
}

// commit writes what is pending.
func (l *Loop) commit() error {
	p := &l.pending
	begin := time.Now()
	if err := l.store.Commit(p.persist, p.hints); err != nil {
		return fmt.Errorf("%w: %w", ErrStore, err)
	}
	l.cfg.Metrics.commit.Observe(time.Since(begin).Seconds())
	for _, persist := range p.persist {
		if c := l.numbered(persist.Campaign); c != nil {
			c.learned.Add(l.cfg.Now(), l.cfg.Limits.Recent, persist.Facts)
		}
	}
	p.persist, p.hints = nil, nil
	return nil
}
