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
	"amazonsfarm/shared/proof"
)

// Parts of proofs are checked by workers (package checks). The parts that an answer needs are checked
// before it counts. A part that does not hold is checked once more by the master itself, as is a sample
// of those that are said to hold: so neither a maker nor a checker can lie for long. What a false part
// proves is taken back, with all that rests on it.

// wake is how long after a false part was taken back parts may still come that cite what it proved: their
// makers did not know.
const wake = 10 * time.Minute

// calmShare spaces the times at which facts of a campaign are taken back. If one takes a second, the next
// comes nine seconds later or after. So false parts, however many come, have a tenth of the master's time.
// What is found false meanwhile is taken back together with the next ones.
const calmShare = 9

// lonelyTicks is how long an answer waits for any worker before the master checks by itself.
const lonelyTicks = 30

// ByMaster is the name of the master as the checker of a part.
const ByMaster = "the master"

// awaiting is an answer that waits for the checks of its parts.
type awaiting struct {
	campaign *campaign
	left     map[proof.ID]bool
	all      int
	lonely   int // ticks without a worker
	progress func(done, all int)
	done     chan error
}

// verification is what the loop knows of checks.
type verification struct {
	queue    *checks.Queue
	answers  []*awaiting
	verified map[string][]proof.ID // by the name of who checked them, not in the store yet
	disputed map[uint32]bool       // pools whose facts contradict each other
	blamed   time.Time             // when a part was last taken back that was false
	stale    bool                  // there may be checks to hand out: once for all messages of a turn
	turn     chan struct{}         // one part at a time is checked by the master: each takes memory
}

// Delivered says that a worker has brought a part, which is in the store, and whether the checker of this
// machine has found that it holds.
func (l *Loop) Delivered(ctx context.Context, s *Session, p checks.Part, holds bool) error {
	return l.post(ctx, delivered{s, p, holds})
}

type delivered struct {
	session *Session
	part    checks.Part
	holds   bool
}

func (d delivered) apply(l *Loop) {
	c := l.numbered(d.part.Campaign)
	if c == nil || c.Recheck == nil {
		return
	}
	l.verification.queue.Delivered(checks.Maker{Party: d.session.Party, Worker: d.session.Name,
		Address: d.session.Address, Part: d.part, At: l.cfg.Now()}, d.holds)
	if d.holds {
		l.holds(d.part.ID, ByMaster)
	}
}

// Verify has workers check parts that an answer of a campaign needs, and returns when all of them hold.
// progress is called by the loop and must not wait. Errors: a checks.FalsePartsError is not among them: what is
// false is taken back at once, and that is checks.ErrRetracted; checks.ErrLonely; ErrEnded; those of ctx.
func (l *Loop) Verify(ctx context.Context, parts []checks.Part, progress func(done, all int)) error {
	a := &awaiting{left: map[proof.ID]bool{}, all: len(parts), progress: progress, done: make(chan error, 1)}
	if len(parts) == 0 {
		return nil
	}
	for _, p := range parts {
		a.left[p.ID] = true
	}
	err, failed := await(ctx, l, verify{parts, a}, a.done)
	return errors.Join(err, failed)
}

// Check has the master itself check a part if two workers say different things of it.
func (l *Loop) Check(ctx context.Context, p checks.Part) error { return l.post(ctx, doubtful{p}) }

type doubtful struct{ part checks.Part }

func (m doubtful) apply(l *Loop) {
	if c := l.numbered(m.part.Campaign); c != nil && l.verification.queue.Doubt(m.part) {
		l.recheck(c, m.part.ID, nil, false)
	}
}

type verify struct {
	parts []checks.Part
	a     *awaiting
}

func (m verify) apply(l *Loop) {
	m.a.campaign = l.numbered(m.parts[0].Campaign)
	for _, p := range m.parts {
		l.verification.queue.Want(p)
	}
	l.verification.answers = append(l.verification.answers, m.a)
	l.verification.stale = true
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
	connected := false
	for _, s := range l.crew.byToken {
		connected = connected || s.link != nil
	}
	v.answers = slices.DeleteFunc(v.answers, func(a *awaiting) bool {
		if a.lonely++; connected {
			a.lonely = 0
		}
		if a.lonely > lonelyTicks {
			a.done <- checks.ErrLonely
		}
		return a.lonely > lonelyTicks
	})
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
	return l.post(ctx, examined{s, e})
}

type examined struct {
	session *Session
	Examined
}

func (m examined) apply(l *Loop) {
	q, s := l.verification.queue, m.session
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
	v.answers = slices.DeleteFunc(v.answers, func(a *awaiting) bool {
		if !a.left[id] {
			return false
		}
		delete(a.left, id)
		a.progress(a.all-len(a.left), a.all)
		if len(a.left) == 0 {
			a.done <- nil
		}
		return len(a.left) == 0
	})
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
		_ = l.post(ctx, rechecked{c, id, by, said, err})
	})
}

type rechecked struct {
	campaign *campaign
	id       proof.ID
	by       *Session // who said so; nil: nobody
	said     bool
	err      error // nil: it holds
}

func (m rechecked) apply(l *Loop) {
	// The master has time for another part. After an error of its own it tries again with the next tick.
	l.verification.stale = l.verification.stale || m.err == nil || errors.Is(m.err, ErrFalse)
	if !l.verification.queue.Wanted(m.id) {
		return // it was taken back meanwhile
	}
	switch {
	case m.err == nil:
		if m.by != nil && !m.said {
			l.offend(m.by, trust.FalseCheck, fmt.Errorf("it says that part %v does not hold, and it does", m.id))
		}
		l.holds(m.id, ByMaster)
	case errors.Is(m.err, store.ErrNoCertificate): // it was removed, since nothing names it
		l.verification.queue.Done(m.id)
	case errors.Is(m.err, ErrFalse), errors.Is(m.err, ErrLost):
		if m.by != nil && m.said && errors.Is(m.err, ErrFalse) {
			l.offend(m.by, trust.FalseCheck, fmt.Errorf("it says that part %v holds, and it does not", m.id))
		}
		l.retract(m.campaign, []proof.ID{m.id}, m.err)
	case l.ctx.Err() == nil:
		l.cfg.Log.Error("the master cannot check a part", "part", m.id, "error", m.err)
		l.verification.queue.Owned(m.id)
	}
}

// retract takes back what parts prove and what rests on that. Their makers offend, unless the parts are
// lost.
func (l *Loop) retract(c *campaign, ids []proof.ID, why error) {
	uncited, v := (*checks.FalsePartsError)(nil), &l.verification
	sure, woken := !errors.As(why, &uncited) || !uncited.Uncited, v.blamed.Add(wake)
	if sure {
		v.blamed = l.cfg.Now()
	}
	for _, id := range ids {
		m, known := v.queue.Maker(id)
		if !known || !sure && m.At.Before(woken) || errors.Is(why, ErrLost) {
			continue
		}
		v.blamed = l.cfg.Now()
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
		_ = l.post(ctx, retracted{c, ids, all, err})
	})
}

// againAfter is how long the taking back of facts waits after an error that may pass.
const againAfter = 10 * time.Second

// retracted has the doubted parts of a pool, and as ids these parts with all parts that rest on them.
type retracted struct {
	campaign *campaign
	doubted  []proof.ID
	ids      []proof.ID
	err      error
}

// apply removes the facts from the store, and has the trees of the pool grow anew from it. After an error it is tried
// again, but where the store itself is damaged or has failed.
func (m retracted) apply(l *Loop) {
	began, facts, err := l.cfg.Now(), 0, m.err
	if err == nil && l.pending.unwritten() {
		err = l.commit()
	}
	if err == nil {
		facts, err = l.store.Retract(m.ids)
	}
	if errors.Is(err, store.ErrCorrupt) || errors.Is(err, store.ErrFailed) {
		l.stop(m.campaign, fmt.Errorf("facts cannot be taken back: %w", err))
		return
	} else if err != nil {
		l.cfg.Log.Error("facts cannot be taken back now", "campaign", m.campaign.Name, "error", err)
		m.campaign.doubted = append(m.campaign.doubted, m.doubted...)
		m.campaign.taking, m.campaign.calm = false, l.cfg.Now().Add(againAfter)
		return
	}
	l.cfg.Metrics.retractedFacts.Add(float64(facts))
	v := &l.verification
	for _, id := range m.ids {
		v.queue.Done(id)
		for by, list := range v.verified {
			v.verified[by] = slices.DeleteFunc(list, func(other proof.ID) bool { return other == id })
		}
	}
	v.answers = slices.DeleteFunc(v.answers, func(a *awaiting) bool {
		if a.campaign.Pool != m.campaign.Pool {
			return false
		}
		a.done <- checks.ErrRetracted
		return true
	})
	l.cfg.Log.Warn("facts were taken back; the search goes on", "campaign", m.campaign.Name, "parts", len(m.ids),
		"facts", facts)
	for _, c := range l.campaigns() {
		if c.Pool == m.campaign.Pool && (c.Tree != nil || c.conclusion == nil) {
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
	m.campaign.taking, m.campaign.calm = false, now.Add(calmShare*now.Sub(began))
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
	c.evidence, c.counted.expired = Evidence{}, nil
	c.generation++
	l.begun(c)
	if l.draining != nil {
		l.stepOf(c.Number, tree.Drain{})
	}
}

// dispute looks for the false part behind a contradiction, and has it taken back. The campaigns of the
// pool stand still until then. Where all parts hold, something is wrong that a person has to look at.
func (l *Loop) dispute(c *campaign, e tree.Contradiction) {
	c.state, c.why = StateVerifying, "two facts contradict each other: the parts behind them are checked"
	if l.verification.disputed[c.Pool] {
		return
	}
	l.verification.disputed[c.Pool] = true
	l.aside(func(ctx context.Context) {
		ids, err := c.Suspects(e)
		for _, id := range ids {
			if err != nil {
				break
			}
			why := c.Recheck(ctx, id)
			switch {
			case errors.Is(why, ErrFalse), errors.Is(why, ErrLost):
				_ = l.post(ctx, judged{c, []proof.ID{id}, why})
				return
			case !errors.Is(why, store.ErrNoCertificate): // that is gone
				err = why
			}
		}
		_ = l.post(ctx, judged{c, nil, errors.Join(err, &ContradictionError{c.Text(e.Key), e})})
	})
}

// judged ends a dispute.
type judged struct {
	campaign *campaign
	ids      []proof.ID // that do not hold
	why      error
}

func (m judged) apply(l *Loop) {
	delete(l.verification.disputed, m.campaign.Pool)
	if len(m.ids) > 0 {
		l.retract(m.campaign, m.ids, m.why)
		return
	}
	for _, c := range l.campaigns() {
		if c.Pool == m.campaign.Pool {
			l.stop(c, m.why)
		}
	}
}
