package agent

import (
	"cmp"
	"context"
	"fmt"
	"math"
	"slices"
	"sync/atomic"
	"time"

	farmv1 "amazonsfarm/proto/farm/v1"
	"amazonsfarm/shared/amazons"
	"amazonsfarm/shared/eval"
	"amazonsfarm/shared/numbers"
	"amazonsfarm/worker/engine"
)

// Solver is what a lease needs of an [engine.Engine]. Its methods are called by one goroutine at a
// time, but Learn by another one.
type Solver interface {
	Run(ctx context.Context, job engine.Job, progress func(engine.Progress)) (engine.Result, error)
	Remember() []byte
	Fragment(ctx context.Context, facts []engine.Fact, alive func()) (engine.Fragment, error)
	Forget()
	Learn(facts []engine.Fact)
	Close() error
}

// lease is a job of the master while it is being searched. One goroutine runs it and hands parcels
// over.
type lease struct {
	of        campaign
	id, epoch uint64
	key       amazons.Key
	job       engine.Job
	cancel    context.CancelFunc // ends the search; the result comes all the same
	begun     time.Time

	maxFacts int // of one message

	forget                       atomic.Bool   // before the next fragment: what was delivered may be gone
	nodes, evaluations, activity atomic.Uint64 // shown in heartbeats
	at                           atomic.Int64  // when nodes was right, in nanoseconds after begun
}

// parcel is one thing to deliver: a fragment, if there is one, and after it the message that names it.
type parcel struct {
	of       campaign
	serial   uint64
	fragment engine.Fragment // Data is dropped once it is uploaded
	message  *farmv1.WorkRequest
	lease    *lease // of a result: the lease it ends
	uploaded bool
	sentAt   time.Time // in this session; zero: not yet
	sends    int       // in all sessions
}

// evidenceFloor is evidence time that is always allowed, so that short searches also bring
// something in.
const evidenceFloor = 5 * time.Millisecond

// firstSlice is the number of nodes after which a lease stops for the first time to bring in what
// it knows, so that a crash loses little of it; each slice is twice as long as the one before, up
// to Config.FactsEvery.
const firstSlice = 20_000

// run searches the lease to its end and hands its parcels to deliver, which blocks until there is
// room for one and returns false when the agent ends. ctx ends with the agent, search earlier: when
// the lease is called back.
func (l *lease) run(ctx, search context.Context, c Config, s Solver, deliver func(*parcel) bool) error {
	var total engine.Result
	var solved []engine.Fact // on the way, without evidence as yet
	sliceNodes := uint64(firstSlice)
	for {
		slice, end := context.WithTimeout(search, c.FactsEvery)
		job := l.job
		job.Budget = min(job.Budget-total.Nodes, sliceNodes)
		sliceNodes *= 2
		if total.Nodes > 0 {
			job.Facts, job.Memories = nil, nil
		}
		began := time.Now()
		r, err := s.Run(slice, job, func(p engine.Progress) {
			l.reached(total.Nodes + p.Nodes)
			l.evaluations.Store(total.Evaluations + p.Evaluations)
			c.Stats.fill.Store(math.Float64bits(p.TableFill))
		})
		idle := slice.Err() == nil && r.Nodes == 0 // it will not go on
		end()
		if err != nil {
			return fmt.Errorf("search: %w", err)
		}
		if ctx.Err() != nil {
			return ctx.Err()
		}
		c.Stats.Nodes.Add(r.Nodes)
		c.Stats.Evaluations.Add(r.Evaluations)
		r.Nodes += total.Nodes
		r.Evaluations += total.Evaluations
		total = r
		l.reached(r.Nodes)
		l.evaluations.Store(r.Evaluations)

		cancelled := search.Err() != nil && r.Verdict == eval.Open
		last := cancelled || idle || r.Verdict != eval.Open || r.Nodes >= l.job.Budget
		solved = append(solved, r.Solved...)
		var fragment engine.Fragment
		if last || time.Since(l.begun) >= c.EvidenceAfter {
			if fragment, err = l.evidence(ctx, c, s, r, solved, time.Since(began)); err != nil {
				return fmt.Errorf("gather evidence: %w", err)
			}
			solved = nil
		}
		switch {
		case last:
			message := l.result(total, fragment, cancelled, time.Since(l.begun))
			if r := message.GetResult(); r.Outcome == farmv1.Outcome_OUTCOME_UNSPECIFIED {
				r.Memory = s.Remember()
			}
			deliver(&parcel{of: l.of, fragment: fragment, lease: l, message: message})
			return nil
		default:
			facts := &farmv1.Facts{Facts: wireFacts(fragment), Key: keyBytes(l.key), Memory: s.Remember(), Lease: l.id,
				Epoch: l.epoch, Nodes: total.Nodes, Campaign: l.of.number}
			if len(facts.Facts)+len(facts.Memory) == 0 {
				continue
			}
			if !deliver(&parcel{of: l.of, fragment: fragment,
				message: &farmv1.WorkRequest{Kind: &farmv1.WorkRequest_Facts{Facts: facts}}}) {
				return ctx.Err()
			}
		}
	}
}

// reached notes how many nodes the lease has had until now.
func (l *lease) reached(nodes uint64) {
	l.nodes.Store(nodes)
	l.at.Store(int64(time.Since(l.begun)))
}

// evidence returns a fragment for what r proved: all of it for the lease's own position, and for
// positions on the way as much as the time allowance admits. Nothing else matters once the
// campaign's root is proved.
func (l *lease) evidence(ctx context.Context, c Config, s Solver, r engine.Result, solved []engine.Fact,
	searched time.Duration) (engine.Fragment, error) {
	alive := func() { l.activity.Add(1) }
	if l.forget.Swap(false) {
		s.Forget()
	}
	if r.Verdict != eval.Open {
		return s.Fragment(ctx, []engine.Fact{{Key: l.key, Verdict: r.Verdict, Nodes: r.Nodes}}, alive)
	}
	if len(solved) == 0 {
		return engine.Fragment{}, nil
	}
	slices.SortStableFunc(solved, func(a, b engine.Fact) int { return cmp.Compare(b.Nodes, a.Nodes) })
	solved = solved[:min(len(solved), l.maxFacts)]
	allowance := max(evidenceFloor, time.Duration(c.EvidenceShare*float64(searched)))
	limited, end := context.WithTimeout(ctx, allowance)
	defer end()
	return s.Fragment(limited, solved, alive)
}

func (l *lease) result(r engine.Result, f engine.Fragment, cancelled bool, took time.Duration) *farmv1.WorkRequest {
	m := &farmv1.Result{
		Lease: l.id, Epoch: l.epoch, Key: keyBytes(l.key),
		Phi: r.Phi, Delta: r.Delta, Nodes: r.Nodes, Evaluations: r.Evaluations, Seconds: took.Seconds(),
		Cancelled: cancelled, Facts: wireFacts(f), Campaign: l.of.number,
	}
	for _, fact := range f.Facts {
		if fact.Key == l.key {
			m.Outcome = wireOutcome(fact.Verdict)
		}
	}
	if m.Outcome == farmv1.Outcome_OUTCOME_UNSPECIFIED {
		m.Children = numbers.Append(nil, r.Children)
	}
	return &farmv1.WorkRequest{Kind: &farmv1.WorkRequest_Result{Result: m}}
}

// granted says which lease of a campaign it is: numbers rise within an epoch.
type granted struct{ epoch, id uint64 }

// after reports whether the lease was granted after another one of its campaign.
func (l *lease) after(o granted) bool {
	return l.epoch > o.epoch || l.epoch == o.epoch && l.id > o.id
}

// named reports whether it is the lease of that number of that campaign; a nil one is none.
func (l *lease) named(campaign uint32, id uint64) bool {
	return l != nil && l.of.number == campaign && l.id == id
}

// handBack is the result of a lease that is not searched. It waits for no acknowledgement: if it is
// lost, so is the stream, and with it the lease.
func (l *lease) handBack() *farmv1.WorkRequest {
	return &farmv1.WorkRequest{Kind: &farmv1.WorkRequest_Result{Result: &farmv1.Result{Lease: l.id, Epoch: l.epoch,
		Key: keyBytes(l.key), Cancelled: true, Campaign: l.of.number}}}
}

func keyBytes(k amazons.Key) []byte {
	b := k.Bytes()
	return b[:]
}

func wireOutcome(v eval.Verdict) farmv1.Outcome {
	switch v {
	case eval.Won:
		return farmv1.Outcome_OUTCOME_WON
	case eval.Lost:
		return farmv1.Outcome_OUTCOME_LOST
	}
	return farmv1.Outcome_OUTCOME_UNSPECIFIED
}

func wireFacts(f engine.Fragment) []*farmv1.Fact {
	facts := make([]*farmv1.Fact, len(f.Facts))
	for i, fact := range f.Facts {
		facts[i] = &farmv1.Fact{Key: keyBytes(fact.Key), Outcome: wireOutcome(fact.Verdict), Nodes: fact.Nodes,
			CertificateSha256: f.SHA256[:]}
	}
	return facts
}

// newLease reads a lease of the wire. Errors wrap ErrProtocol.
func newLease(of campaign, m *farmv1.Lease) (*lease, error) {
	b := of.board
	key, err := amazons.KeyFromBytes(m.GetKey())
	if err != nil {
		return nil, fmt.Errorf("%w: lease %d: %v", ErrProtocol, m.GetId(), err)
	}
	state, err := key.State(b)
	if err != nil {
		return nil, fmt.Errorf("%w: lease %d: %v", ErrProtocol, m.GetId(), err)
	}
	if m.GetBudgetNodes() == 0 {
		return nil, fmt.Errorf("%w: lease %d has no budget", ErrProtocol, m.GetId())
	}
	l := &lease{of: of, id: m.GetId(), epoch: m.GetEpoch(), key: key,
		job: engine.Job{State: state, Budget: m.GetBudgetNodes(), Memories: m.GetMemories()}}
	if l.job.Facts, err = readFacts(b, m.GetFacts()); err != nil {
		return nil, fmt.Errorf("lease %d: %w", m.GetId(), err)
	}
	return l, nil
}

// readFacts reads facts of the wire that the master vouches for. Errors wrap ErrProtocol.
func readFacts(b amazons.Board, list []*farmv1.Fact) ([]engine.Fact, error) {
	facts := make([]engine.Fact, 0, len(list))
	for _, f := range list {
		key, err := amazons.KeyFromBytes(f.GetKey())
		if err != nil {
			return nil, fmt.Errorf("%w: fact: %v", ErrProtocol, err)
		}
		verdict := eval.Open
		switch f.GetOutcome() {
		case farmv1.Outcome_OUTCOME_WON:
			verdict = eval.Won
		case farmv1.Outcome_OUTCOME_LOST:
			verdict = eval.Lost
		}
		if _, err := key.State(b); err != nil || verdict == eval.Open {
			return nil, fmt.Errorf("%w: not a fact about a position of %v", ErrProtocol, b)
		}
		facts = append(facts, engine.Fact{Key: key, Verdict: verdict, Nodes: f.GetNodes()})
	}
	return facts, nil
}
