package loop

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"amazonsfarm/master/checks"
	"amazonsfarm/master/store"
	"amazonsfarm/master/tree"
	"amazonsfarm/master/trust"
	"amazonsfarm/shared/amazons"
	"amazonsfarm/shared/proof"
)

// Parts of proofs are checked by workers (package checks). The parts that an answer needs are checked
// before it counts. A part that does not hold is checked once more by the master itself, as is a sample
// of those that are said to hold: so neither a maker nor a checker can lie for long. What a false part
// proves is taken back, with all that rests on it.

// calmShare spaces the times at which facts of a campaign are taken back. If one takes a second, the next
// comes nine seconds later or after. So false parts, however many come, have a tenth of the master's time.
// What is found false meanwhile is taken back together with the next ones.
const calmShare = 9

// ByMaster is the name of the master as the checker of a part.
const ByMaster = "the master"

// verification is what the loop knows of checks.
type verification struct {
	queue    *checks.Queue
	answers  checks.Answers
	verified map[string][]proof.ID // by the name of who checked them, not in the store yet
	disputed map[uint32]bool       // pools whose facts contradict each other
	stale    bool                  // there may be checks to hand out: once for all messages of a turn
	turn     chan struct{}         // one part at a time is checked by the master: each takes memory
}

// Delivered says that a worker has brought a part, which is in the store, and whether the checker of this
// machine has found that it holds.
func (l *Loop) Delivered(ctx context.Context, s *Session, p checks.Part, holds bool) error {
	return l.do(ctx, func() {
		c := l.numbered(p.Campaign)
		if c == nil || c.Recheck == nil || c.Embedded {
			return
		}
		now := l.cfg.Now()
		l.verification.queue.Delivered(checks.Maker{Party: s.Party, Worker: s.Name, Address: s.Address, Part: p,
			At: now, Early: s.Brings() && now.Sub(l.started) < checks.Excused}, holds)
		if holds {
			l.holds(p.ID, ByMaster)
		}
	})
}

// Verify has workers check parts that an answer of a campaign needs, and returns when all of them hold.
// progress is called by the loop and must not wait. Errors: checks.ErrRetracted (a part was false and is taken back),
// checks.ErrLonely, ErrEnded, and those of ctx; never a checks.FalsePartsError.
func (l *Loop) Verify(ctx context.Context, parts []checks.Part, progress func(done, all int)) error {
	if len(parts) == 0 {
		return nil
	}
	a := checks.NewAnswer(parts, progress)
	err, failed := await(ctx, l, message{apply: func() {
		for _, p := range parts {
			l.verification.queue.Want(p)
		}
		l.verification.answers.Add(a, l.numbered(parts[0].Campaign).Pool)
		l.verification.stale = true
	}}, a.Done)
	return errors.Join(err, failed)
}

// Check has the master itself check a part if two workers say different things of it.
func (l *Loop) Check(ctx context.Context, p checks.Part) error {
	return l.do(ctx, func() {
		if c := l.numbered(p.Campaign); c != nil && l.verification.queue.Doubt(p) {
			l.recheck(c, p.ID, nil, false)
		}
	})
}

// checkers returns the workers that may check parts.
func (l *Loop) checkers() (present []*checks.Worker) {
	for _, s := range l.crew.byToken {
		if s.link != nil && !s.quarantined && s.joined {
			present = append(present, &s.checker)
		}
	}
	return present
}

// Parties returns how many parties have workers that may check parts.
func (l *Loop) Parties(ctx context.Context) (int, error) {
	return ask(ctx, l, func() int { return checks.Parties(l.checkers()) })
}

// assign gives checks to workers, and to the master those that no worker can do.
func (l *Loop) assign() {
	l.verification.stale = false
	for _, task := range l.verification.queue.Assign(l.checkers()) {
		c := l.numbered(task.Campaign)
		if task.By == nil {
			l.recheck(c, task.ID, nil, false)
			continue
		}
		l.sendTo(task.By.Name, Check{c.About, task.ID, task.Size})
	}
}

// tickChecks asks others where a worker is gone or takes too long, and writes what was found.
func (l *Loop) tickChecks() {
	v := &l.verification
	v.queue.Tick(func(w *checks.Worker) bool {
		s := l.crew.byName[w.Name]
		return s == nil || &s.checker != w || s.link == nil
	})
	l.keepVerified()
	for _, c := range l.campaigns() {
		l.takeBack(c)
	}
	v.answers.Tick(len(l.checkers()) > 0)
	v.stale = true
}

// keepVerified writes who checked which parts. Where that fails they are checked again after a
// restart.
func (l *Loop) keepVerified() {
	v := &l.verification
	for by, ids := range v.verified {
		if err := l.store.SetVerified(ids, by); err != nil {
			l.cfg.Log.Warn("the store does not say yet who checked parts", "parts", len(ids), "error", err)
			continue
		}
		delete(v.verified, by)
	}
}

// Examined is what a worker says of a part.
type Examined struct {
	ID            proof.ID
	Holds         bool
	Fault, Failed string
	Returned      bool // with Failed: it could not be fetched in time
}

// Examined tells the loop what a worker found.
func (l *Loop) Examined(ctx context.Context, s *Session, e Examined) error {
	return l.do(ctx, func() { l.examined(s, e) })
}

func (l *Loop) examined(s *Session, m Examined) {
	q := l.verification.queue
	asked, counts := q.Answered(&s.checker, m.ID)
	if !counts {
		return // it came too late, or nobody asked
	}
	c := l.numbered(asked.Campaign) // whatever the message says
	switch {
	case m.Failed != "":
		l.cfg.Log.Warn("a part could not be checked", "part", m.ID, "worker", s.Name, "reason", m.Failed)
		q.Failed(s.Party, m.ID, m.Returned)
	case !m.Holds:
		l.cfg.Log.Warn("a worker says that a part does not hold", "part", m.ID, "worker", s.Name, "reason", m.Fault)
		l.recheck(c, m.ID, s, false)
	case q.Holds(s.Party, m.ID, c.Try != nil):
		l.recheck(c, m.ID, s, true)
	default:
		if by := q.Vouched(s.Party, m.ID); by != "" {
			l.holds(m.ID, by)
		}
	}
	l.verification.stale = true
}

// holds notes that a part was checked.
func (l *Loop) holds(id proof.ID, by string) {
	v := &l.verification
	v.queue.Done(id)
	v.verified[by] = append(v.verified[by], id)
	l.cfg.Metrics.partsVerified.Inc()
	v.answers.Holds(id)
}

// recheck has the master check a part itself, beside the loop and one after the other. said is what a
// worker found, if one did.
func (l *Loop) recheck(c *campaign, id proof.ID, by *Session, said bool) {
	l.verification.queue.Own(id)
	l.aside(func(ctx context.Context) {
		select {
		case l.verification.turn <- struct{}{}:
		case <-ctx.Done():
			return
		}
		err := c.Recheck(ctx, id)
		<-l.verification.turn
		_ = l.do(ctx, func() { l.rechecked(c, id, by, said, err) })
	})
}

// rechecked notes what the master found about a part: with a nil error it holds.
func (l *Loop) rechecked(c *campaign, id proof.ID, by *Session, said bool, err error) {
	// The master has time for another part. After an error of its own it tries again with the next tick.
	l.verification.stale = l.verification.stale || err == nil || errors.Is(err, ErrFalse)
	if !l.verification.queue.Wanted(id) {
		return // it was taken back meanwhile
	}
	switch {
	case err == nil:
		if by != nil && !said {
			l.offend(by, trust.FalseCheck, fmt.Errorf("it says that part %v does not hold, and it does", id))
		}
		l.holds(id, ByMaster)
	case errors.Is(err, store.ErrNoCertificate): // no fact names it, so it was removed; an answer may still wait for it
		l.verification.queue.Done(id)
		l.verification.answers.Gone(id)
	case errors.Is(err, store.ErrDropped): // somebody verified it before, while others were asked as well
		l.verification.queue.Done(id)
		l.verification.answers.Holds(id)
	case errors.Is(err, ErrFalse), errors.Is(err, ErrLost):
		if by != nil && said && errors.Is(err, ErrFalse) {
			l.offend(by, trust.FalseCheck, fmt.Errorf("it says that part %v holds, and it does not", id))
		}
		l.retract(c, []proof.ID{id}, err)
	case l.ctx.Err() == nil:
		l.cfg.Log.Error("the master cannot check a part", "part", id, "error", err)
		l.verification.queue.Owned(id)
	}
}

// retract takes back what parts prove and what rests on that. Their makers offend, unless the parts are lost or cite
// what was taken back before.
func (l *Loop) retract(c *campaign, ids []proof.ID, why error) {
	v, wrong := &l.verification, new(checks.FalsePartsError)
	errors.As(why, &wrong)
	for _, id := range ids {
		m, known := v.queue.Maker(id)
		// Before the start facts may have been taken back, and this store may be a copy that lacks the last ones.
		early := m.Early && len(wrong.Lacks[id]) > 0
		if !known || early || errors.Is(why, ErrLost) || l.cfg.Retracted.Excuses(c.Pool, wrong.Lacks[id], m.At) {
			continue
		}
		l.cfg.Metrics.falseCertificates.Inc()
		l.carryTrust(l.book.Offend(trust.Offence{Party: m.Party, Worker: m.Worker, Address: m.Address,
			Kind: trust.FalseCertificate, Why: fmt.Sprintf("part %v: %v", id, why), Grave: true}, l.cfg.Now()))
		l.verification.queue.WantAll(m.Party) // none of its parts is believed unchecked
	}
	l.cfg.Log.Error("parts do not hold; what they prove is taken back", "campaign", c.Name, "parts", len(ids), "reason",
		why)
	c.doubted = append(c.doubted, ids...)
	l.takeBack(c)
}

// takeBack begins to take back what doubted parts prove, unless facts were taken back a moment ago. Each time
// the trees of the pool grow anew and all workers join anew.
func (l *Loop) takeBack(c *campaign) {
	ids := c.doubted
	if len(ids) == 0 || c.taking || c.calm.After(l.cfg.Now()) {
		return
	}
	c.doubted, c.taking = nil, true
	l.aside(func(ctx context.Context) {
		all, err := c.Resting(ctx, ids)
		_ = l.do(ctx, func() { l.retracted(c, ids, all, err) })
	})
}

// againAfter is how long the taking back of facts waits after an error that may pass.
const againAfter = 10 * time.Second

// retracted removes the facts of doubted parts of a pool, and of all parts that rest on them, from the store, and has
// the trees of the pool grow anew from it. After an error it is tried again, but where the store itself is damaged or
// has failed.
func (l *Loop) retracted(of *campaign, doubted, all []proof.ID, err error) {
	began, facts := l.cfg.Now(), map[uint32][]amazons.Key(nil)
	if err == nil && l.pending.unwritten() {
		err = l.commit()
	}
	if err == nil {
		facts, err = l.store.Retract(all)
	}
	if errors.Is(err, store.ErrCorrupt) || errors.Is(err, store.ErrFailed) {
		l.stop(of, fmt.Errorf("facts cannot be taken back: %w", err))
		return
	} else if err != nil {
		l.cfg.Log.Error("facts cannot be taken back now", "campaign", of.Name, "error", err)
		of.doubted = append(of.doubted, doubted...)
		of.taking, of.calm = false, l.cfg.Now().Add(againAfter)
		return
	}
	v, count := &l.verification, 0
	for pool, keys := range facts {
		l.cfg.Retracted.Add(pool, keys, began)
		count += len(keys)
	}
	l.cfg.Metrics.retractedFacts.Add(float64(count))
	for _, id := range all {
		v.queue.Done(id)
		for by, list := range v.verified {
			v.verified[by] = slices.DeleteFunc(list, func(other proof.ID) bool { return other == id })
		}
	}
	v.answers.Retracted(of.Pool)
	l.cfg.Log.Warn("facts were taken back; the search goes on", "campaign", of.Name, "parts", len(all), "facts", count)
	for _, g := range l.gatherings {
		if g.pool == of.Pool {
			g.list, g.stale = nil, true
		}
	}
	for _, c := range l.campaigns() {
		if c.Pool == of.Pool && (c.Tree != nil || c.conclusion == nil) {
			l.regrow(c)
		}
	}
	// Workers come back with what they have, and are told the facts anew.
	for _, s := range l.crew.byToken {
		if s.link != nil {
			s.link.End(tell(ErrAgain, "facts were taken back; join again"))
		}
	}
	now := l.cfg.Now()
	of.taking, of.calm = false, now.Add(calmShare*now.Sub(began))
}

// founded returns an event of a campaign without the parts that the store holds no more: they were taken back, or
// collected, after the event or their claims were read. The tree refuses the facts that name them.
func (l *Loop) founded(campaign uint32, e tree.Event) tree.Event {
	gone := func(id proof.ID) bool { return !l.store.Holds(campaign, id) }
	switch ev := e.(type) {
	case tree.Result:
		ev.Certificates = slices.DeleteFunc(ev.Certificates, gone)
		return ev
	case tree.Proved:
		ev.Certificates = slices.DeleteFunc(ev.Certificates, gone)
		return ev
	}
	return e
}

// regrow makes the tree of a campaign anew from what the store holds.
func (l *Loop) regrow(c *campaign) {
	l.pending.after = slices.DeleteFunc(l.pending.after, func(e effect) bool {
		of, ok := e.(consequence)
		return ok && of.of == c
	})
	l.plan.Remove(c.Number)
	grown, err := l.cfg.Campaigns.Grow(c.Number)
	if err != nil {
		l.stop(c, fmt.Errorf("the tree cannot be made anew: %w", err))
		return
	}
	c.Tree = grown.Tree
	c.settled, c.stopped, c.state, c.why = nil, nil, StateRunning, ""
	c.evidence, c.counted.expired, c.homeless, c.again = Evidence{}, nil, nil, 0
	c.generation++
	l.begun(c)
	if l.draining != nil {
		l.stepOf(c.Number, tree.Drain{})
	}
}

// dispute looks for the false part behind a contradiction, and has it taken back. The campaigns of the
// pool stand still until then. Where all parts hold, something is wrong that a person has to look at.
// Where some cannot be checked now, it waits until they can.
func (l *Loop) dispute(c *campaign, e tree.Contradiction) {
	c.state, c.why = StateVerifying, "two facts contradict each other: the parts behind them are checked"
	if l.verification.disputed[c.Pool] {
		return
	}
	l.verification.disputed[c.Pool] = true
	l.aside(func(ctx context.Context) {
		var why error
		ids, err := c.Suspects(e)
		if err == nil {
			ids, why, err = culprits(ids, func(id proof.ID) error { return c.Recheck(ctx, id) }, func(err error) bool {
				l.cfg.Log.Error("two facts contradict each other, and parts behind them cannot be checked now",
					"campaign", c.Name, "error", err)
				select {
				case <-time.After(againAfter):
					return true
				case <-ctx.Done():
					return false
				}
			})
		}
		if why == nil {
			ids, why = nil, errors.Join(err, c.contradiction(e))
		}
		_ = l.do(ctx, func() { l.judged(c, ids, why) })
	})
}

// culprits has the suspects of a contradiction checked, and returns the first that does not hold, and why. Where all
// others hold, it returns those that are kept as a digest only, since nobody can check them again. Where a check cannot
// be made, wait is told why, and the part is checked again; err is why, once wait says no.
func culprits(suspects []proof.ID, recheck func(proof.ID) error, wait func(error) bool) (ids []proof.ID, why,
	err error) {
	for len(suspects) > 0 {
		var again []proof.ID
		for _, id := range suspects {
			switch said := recheck(id); {
			case said == nil, errors.Is(said, store.ErrNoCertificate): // it holds, or is gone
			case errors.Is(said, store.ErrDropped):
				ids, why = append(ids, id), said
			case errors.Is(said, ErrFalse), errors.Is(said, ErrLost):
				return []proof.ID{id}, said, nil
			default:
				again, err = append(again, id), said
			}
		}
		if suspects = again; len(again) > 0 && !wait(err) {
			return nil, nil, err
		}
	}
	return ids, why, nil
}

// judged ends a dispute: these parts do not hold, or the campaigns of the pool stop.
func (l *Loop) judged(of *campaign, ids []proof.ID, why error) {
	delete(l.verification.disputed, of.Pool)
	if len(ids) > 0 && !errors.Is(why, ErrOwn) {
		l.retract(of, ids, why)
		return
	}
	for _, c := range l.campaigns() {
		if c.Pool == of.Pool {
			l.stop(c, why)
		}
	}
}
