package loop

import (
	"context"
	"errors"
	"fmt"
	"hash/maphash"
	"slices"

	"amazonsfarm/master/tree"
	"amazonsfarm/master/trust"
	"amazonsfarm/shared/proof"
)

// Parts of proofs are checked by workers of another party than the one that made them; by any worker
// where one party owns all. The parts that an answer needs are checked before it counts. Of the others
// the first few of each party are, and a sample. A part that does not hold is checked once more by
// the master itself, as is a sample of those that are said to hold: so neither a maker nor a checker
// can lie for long. What a false part proves is taken back, with all that rests on it.

const (
	// checksAtOnce is how many parts a worker has to check at a time: one is fetched while the other is
	// checked.
	checksAtOnce = 2
	// checkTicks is how long a worker may take for a part before another is asked: minutes, for the
	// largest parts on the slowest machines.
	checkTicks = 600
	// sampleFirst is how many parts of each party are checked at once.
	sampleFirst = 3
	// sampleOneIn is the share of the others that are: some percent of what an answer needs.
	sampleOneIn = 32
	// spotOneIn is the share of the parts said to hold that the master checks itself: a check costs a
	// third of the search, so this is half a percent of the farm's work.
	spotOneIn = 64
	// maxSamples bounds the parts that wait for a check that no answer needs; more are not sampled.
	maxSamples = 4096
	// maxMakers bounds the parts whose makers are remembered, some 200 bytes each. Of the others a
	// false one is taken back all the same.
	maxMakers = 1 << 20
	// lonelyTicks is how long an answer waits for any worker before the master checks by itself.
	lonelyTicks = 30
)

// Errors of Verify.
var (
	// ErrRetracted: facts of the pool were taken back meanwhile; the tree may be open again.
	ErrRetracted = errors.New("facts were taken back")
	// ErrLonely: there is no worker.
	ErrLonely = errors.New("there is no worker to check parts")
)

// FalsePartsError is what About.Conclude returns where parts do not hold. What they prove is taken
// back, and the campaign goes on.
type FalsePartsError struct {
	IDs []proof.ID
	Why string
}

// Error says how many.
func (e *FalsePartsError) Error() string {
	return fmt.Sprintf("%d parts of the proof do not hold: %s", len(e.IDs), e.Why)
}

// maker is who brought a part.
type maker struct {
	party           trust.Party
	worker, address string
	size            int64 // of the part
}

// check is a part that is to be checked, or is.
type check struct {
	campaign *campaign
	id       proof.ID
	size     int64
	sample   bool     // no answer waits for it
	by       *Session // who checks it; nil: nobody
	ticks    int      // since
	failures int      // how often it could not be checked
}

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
	seed     maphash.Seed
	makers   map[proof.ID]maker
	made     map[trust.Party]int // parts, for the first ones
	checks   map[proof.ID]*check
	order    []*check // oldest first
	samples  int      // among them
	answers  []*awaiting
	verified map[string][]proof.ID // by the name of who checked them, not in the store yet
	disputed map[uint32]bool       // pools whose facts contradict each other
}

func newVerification() verification {
	return verification{seed: maphash.MakeSeed(), makers: map[proof.ID]maker{}, made: map[trust.Party]int{},
		checks: map[proof.ID]*check{}, verified: map[string][]proof.ID{}, disputed: map[uint32]bool{}}
}

// Delivered says that a worker has brought a part, which is in the store.
func (l *Loop) Delivered(ctx context.Context, s *Session, c *About, id proof.ID, size int64) error {
	return l.post(ctx, delivered{s, c, id, size})
}

type delivered struct {
	session *Session
	about   *About
	id      proof.ID
	size    int64
}

func (d delivered) apply(l *Loop) {
	v := &l.verification
	c := l.numbered(d.about.Number)
	if _, known := v.makers[d.id]; known || c == nil || c.Recheck == nil {
		return
	}
	party := d.session.Party
	if len(v.makers) < maxMakers {
		v.makers[d.id] = maker{party, d.session.Name, d.session.Address, d.size}
	}
	v.made[party]++
	sampled := v.made[party] <= sampleFirst || maphash.Bytes(v.seed, d.id[:])%sampleOneIn == 0
	if sampled && v.samples < maxSamples {
		v.want(&check{campaign: c, id: d.id, size: d.size, sample: true})
	}
}

// want queues a check, unless there is one of that part.
func (v *verification) want(c *check) {
	if known := v.checks[c.id]; known != nil {
		if known.sample && !c.sample {
			known.sample = false
			v.samples--
		}
		return
	}
	v.checks[c.id] = c
	v.order = append(v.order, c)
	if c.sample {
		v.samples++
	}
}

// drop takes a check out.
func (v *verification) drop(c *check) {
	delete(v.checks, c.id)
	v.order = slices.DeleteFunc(v.order, func(o *check) bool { return o == c })
	if c.sample {
		v.samples--
	}
	c.release()
}

// release says that nobody checks the part now.
func (c *check) release() {
	if c.by != nil {
		c.by.checks--
	}
	c.by, c.ticks = nil, 0
}

// Needed is a part that an answer needs.
type Needed struct {
	ID   proof.ID
	Size int64
}

// Verify has workers check parts, and returns when all of them hold. progress is called by the loop
// and must not wait. Errors: a FalsePartsError is not among them: what is false is taken back at once,
// and that is ErrRetracted; ErrLonely; ErrEnded; those of ctx.
func (l *Loop) Verify(ctx context.Context, campaign uint32, parts []Needed, progress func(done, all int)) error {
	a := &awaiting{left: map[proof.ID]bool{}, all: len(parts), progress: progress, done: make(chan error, 1)}
	if len(parts) == 0 {
		return nil
	}
	err, failed := await(ctx, l, verify{campaign, parts, a}, a.done)
	return errors.Join(err, failed)
}

type verify struct {
	number uint32
	parts  []Needed
	a      *awaiting
}

func (m verify) apply(l *Loop) {
	c := l.numbered(m.number)
	m.a.campaign = c
	for _, p := range m.parts {
		m.a.left[p.ID] = true
		l.verification.want(&check{campaign: c, id: p.ID, size: p.Size})
	}
	l.verification.answers = append(l.verification.answers, m.a)
	l.assign()
}

// assign gives checks to workers: those that an answer waits for first, each to one of another party
// than its maker's, if there is another.
func (l *Loop) assign() {
	v := &l.verification
	var free []*Session
	parties := map[trust.Party]bool{}
	for _, s := range l.crew.byToken {
		if s.link == nil || s.quarantined || !s.joined {
			continue
		}
		parties[s.Party] = true
		if s.checks < checksAtOnce {
			free = append(free, s)
		}
	}
	if len(free) == 0 {
		return
	}
	slices.SortFunc(free, func(a, b *Session) int { return byChecks(a, b) })
	for _, sample := range []bool{false, true} {
		for _, c := range v.order {
			if c.by != nil || c.sample != sample || sample && len(parties) < 2 {
				continue
			}
			i := slices.IndexFunc(free, func(s *Session) bool {
				made, known := v.makers[c.id]
				return !known || len(parties) == 1 || made.party != s.Party
			})
			if i < 0 {
				continue
			}
			s := free[i]
			c.by, c.ticks = s, 0
			s.checks++
			l.send(s, Check{c.campaign.About, c.id, c.size})
			free = slices.Delete(free, i, i+1)
			if s.checks < checksAtOnce {
				free = append(free, s)
			}
			if len(free) == 0 {
				return
			}
		}
	}
}

// byChecks orders sessions: those with the fewest checks first, then by name.
func byChecks(a, b *Session) int {
	if a.checks != b.checks {
		return a.checks - b.checks
	}
	if a.Name < b.Name {
		return -1
	}
	return 1
}

// tickChecks asks others where a worker is gone or takes too long, and writes what was found.
func (l *Loop) tickChecks() {
	v := &l.verification
	for _, c := range v.order {
		if c.by == nil {
			continue
		}
		if c.ticks++; c.ticks > checkTicks || c.by.link == nil || !l.crew.current(c.by) {
			c.release()
		}
	}
	l.keepVerified()
	connected := 0
	for _, s := range l.crew.byToken {
		if s.link != nil {
			connected++
		}
	}
	v.answers = slices.DeleteFunc(v.answers, func(a *awaiting) bool {
		if a.lonely++; connected > 0 {
			a.lonely = 0
		}
		if a.lonely > lonelyTicks {
			a.done <- ErrLonely
		}
		return a.lonely > lonelyTicks
	})
	l.assign()
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
	v := &l.verification
	c := v.checks[m.ID]
	if c == nil || c.by != m.session {
		return // it came too late, or nobody asked
	}
	c.release()
	switch {
	case m.Failed != "":
		l.cfg.Log.Warn("a part could not be checked", "part", m.ID, "worker", m.session.Name, "reason", m.Failed)
		if c.failures++; c.failures >= 3 {
			l.recheck(c, m.session, false)
		}
	case !m.Holds:
		l.cfg.Log.Warn("a worker says that a part does not hold", "part", m.ID, "worker", m.session.Name, "reason",
			m.Fault)
		l.recheck(c, m.session, false)
	case maphash.Bytes(v.seed, append(m.ID[:], 1))%spotOneIn == 0:
		l.recheck(c, m.session, true)
	default:
		l.holds(c, m.session.Party.String())
	}
	l.assign()
}

// holds notes that a part was checked.
func (l *Loop) holds(c *check, by string) {
	v := &l.verification
	v.drop(c)
	delete(v.makers, c.id)
	v.verified[by] = append(v.verified[by], c.id)
	l.cfg.Metrics.partsVerified.Inc()
	v.answers = slices.DeleteFunc(v.answers, func(a *awaiting) bool {
		if !a.left[c.id] {
			return false
		}
		delete(a.left, c.id)
		a.progress(a.all-len(a.left), a.all)
		if len(a.left) == 0 {
			a.done <- nil
		}
		return len(a.left) == 0
	})
}

// recheck has the master check a part itself, beside the loop. said is what a worker found.
func (l *Loop) recheck(c *check, by *Session, said bool) {
	c.by = nobody
	l.aside(func(ctx context.Context) {
		_ = l.post(ctx, rechecked{c, by, said, c.campaign.Recheck(ctx, c.id)})
	})
}

// nobody stands for the master itself as the one who checks a part.
var nobody = new(Session)

type rechecked struct {
	check *check
	by    *Session
	said  bool
	err   error // nil: it holds
}

func (m rechecked) apply(l *Loop) {
	v, c := &l.verification, m.check
	if v.checks[c.id] != c {
		return // it was taken back meanwhile
	}
	c.by, c.ticks = nil, 0
	switch {
	case m.err == nil:
		if !m.said && c.failures < 3 {
			l.offend(m.by, trust.FalseCheck, fmt.Errorf("it says that part %v does not hold, and it does", c.id))
		}
		l.holds(c, "the master")
	case errors.Is(m.err, ErrFalse), errors.Is(m.err, ErrLost):
		if m.said && errors.Is(m.err, ErrFalse) {
			l.offend(m.by, trust.FalseCheck, fmt.Errorf("it says that part %v holds, and it does not", c.id))
		}
		l.retract(c.campaign, []proof.ID{c.id}, m.err)
	case l.ctx.Err() == nil:
		l.cfg.Log.Error("the master cannot check a part", "part", c.id, "error", m.err)
		c.failures = 0
	}
}

// retract takes back what parts prove and what rests on that. Their makers offend, unless the parts are
// lost.
func (l *Loop) retract(c *campaign, ids []proof.ID, why error) {
	for _, id := range ids {
		m, known := l.verification.makers[id]
		if !known || errors.Is(why, ErrLost) {
			continue
		}
		l.cfg.Metrics.falseCertificates.Inc()
		l.carryTrust(l.book.Offend(trust.Offence{Party: m.party, Worker: m.worker, Address: m.address,
			Kind: trust.FalseCertificate, Why: fmt.Sprintf("part %v: %v", id, why), Grave: true}, l.cfg.Now()))
		for other, o := range l.verification.makers { // none of its parts is believed unchecked
			if o.party == m.party {
				l.verification.want(&check{campaign: c, id: other, size: o.size})
			}
		}
	}
	l.cfg.Log.Error("parts do not hold; what they prove is taken back", "campaign", c.Name, "parts", len(ids), "reason",
		why)
	l.aside(func(ctx context.Context) {
		all, err := c.Resting(ctx, ids)
		_ = l.post(ctx, retracted{c, all, err})
	})
}

// retracted has the false parts of a pool and those that rest on them.
type retracted struct {
	campaign *campaign
	ids      []proof.ID
	err      error
}

// apply removes the facts from the store, and has the trees of the pool grow anew from it.
func (m retracted) apply(l *Loop) {
	if m.err != nil {
		l.stop(m.campaign, fmt.Errorf("what rests on false parts cannot be found: %w", m.err))
		return
	}
	if l.pending.unwritten() {
		if err := l.commit(); err != nil { // the room for it comes back with a later tick
			l.aside(func(ctx context.Context) { _ = l.post(ctx, m) })
			return
		}
	}
	facts, err := l.store.Retract(m.ids)
	if err != nil {
		l.stop(m.campaign, fmt.Errorf("facts cannot be taken back: %w", err))
		return
	}
	l.cfg.Metrics.retractedFacts.Add(float64(facts))
	v := &l.verification
	for _, id := range m.ids {
		if c := v.checks[id]; c != nil {
			v.drop(c)
		}
		delete(v.makers, id)
		for by, list := range v.verified {
			v.verified[by] = slices.DeleteFunc(list, func(other proof.ID) bool { return other == id })
		}
	}
	v.answers = slices.DeleteFunc(v.answers, func(a *awaiting) bool {
		if a.campaign.Pool != m.campaign.Pool {
			return false
		}
		a.done <- ErrRetracted
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
			if errors.Is(why, ErrFalse) || errors.Is(why, ErrLost) {
				_ = l.post(ctx, judged{c, []proof.ID{id}, why})
				return
			}
			err = why
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
