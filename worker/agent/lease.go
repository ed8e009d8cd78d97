package agent

import (
	"cmp"
	"encoding/binary"
	"fmt"
	"math"
	"slices"
	"time"

	farmv1 "amazonsfarm/proto/farm/v1"
	"amazonsfarm/shared/amazons"
	"amazonsfarm/shared/eval"
	"amazonsfarm/shared/numbers"
	"amazonsfarm/shared/proof"
	"amazonsfarm/worker/engine"
)

// lease is a job of the master, and what its search has found so far.
type lease struct {
	of        campaign
	id, epoch uint64
	key       amazons.Key
	job       Job
	patient   bool // its proof may wait for those of other leases
	begun     time.Duration
	ended     time.Duration // when it was solved
	cancelled bool          // to end early; the result comes all the same

	searching  bool   // a slice is under way
	sliceNodes uint64 // budget of the next slice
	sliceBegun time.Duration
	total      Result       // of all slices
	solved     []proof.Fact // on the way, without evidence as yet
	last       bool         // its search has ended
	early      bool         // because it was cancelled

	nodes, evaluations, activity uint64          // for heartbeats
	at                           time.Duration   // when nodes was right
	phase                        *farmv1.Phase   // of the evidence; nil: it is searching
	outlook                      *farmv1.Outlook // for the next heartbeat; nil: nothing new
}

// goesOn counts the work on evidence, and notes how far that is.
func (l *lease) goesOn(phase string, e Alive) {
	l.activity++
	l.phase = &farmv1.Phase{Name: phase, Done: uint64(e.Done), Total: uint64(e.Total)}
}

// slice searches the running lease for some more nodes. Each slice has twice the budget of the one
// before and ends after FactsEvery at the latest. So a crash loses at most half of a lease.
//
// A group that is due is proved before it, and so is one of another campaign.
func (m *Machine) slice() {
	l := m.running
	if m.group.proving {
		return
	}
	if m.group.waits() && (m.now >= m.group.due || m.group.leases[0].of != l.of) {
		m.proveGroup()
		return
	}
	m.equip(l.of)
	if l.cancelled {
		l.last, l.early = true, true
		m.do(Gather{Key: l.key, Last: true})
		return
	}
	job := l.job
	job.Budget = min(job.Budget-l.total.Nodes, l.sliceNodes)
	// The smaller one is taken before it is doubled, so nothing overflows.
	l.sliceNodes = max(1, 2*min(l.sliceNodes, l.job.Budget/2))
	if l.total.Nodes > 0 {
		job.Facts, job.Hints = nil, nil // the table has them
	}
	l.searching, l.sliceBegun, l.phase = true, m.now, nil
	limit := m.c.FactsEvery
	if m.group.waits() {
		limit = min(limit, m.group.due-m.now)
	}
	m.do(Search{job, limit})
}

// progress notes how far a slice is.
func (m *Machine) progress(e Searching) {
	m.c.Stats.fill.Store(math.Float64bits(e.TableFill))
	if l := m.running; l != nil && l.searching {
		l.nodes, l.at = l.total.Nodes+e.Nodes, m.now
		l.evaluations = l.total.Evaluations + e.Evaluations
		if o := e.Outlook; o != nil {
			l.outlook = &farmv1.Outlook{Phi: o.Phi, Delta: o.Delta, Evidence: o.Evidence}
			if l.atRoot() {
				l.outlook.Children = numbers.Append(nil, o.Children) // puts them in order
				for i, c := range o.Children {
					if i == 0 || c.Key != o.Children[i-1].Key {
						l.outlook.Nodes = binary.AppendUvarint(l.outlook.Nodes, o.Nodes[c.Key])
					}
				}
			}
		}
	}
}

// atRoot reports whether the lease's position is what its campaign is about.
func (l *lease) atRoot() bool {
	root, err := amazons.ParsePosition(l.of.root)
	return err == nil && root.State().CanonicalKey(root.Board) == l.key
}

// searched has the evidence gathered for positions that a slice solved on the way, as much as the time allowance
// admits. A lease whose own position is solved enters the group.
func (m *Machine) searched(e Searched) {
	l, r := m.running, e.Result
	if l == nil || !l.searching {
		return
	}
	l.searching = false
	m.c.Stats.Nodes.Add(r.Nodes)
	m.c.Stats.Evaluations.Add(r.Evaluations)
	stuck := r.Nodes == 0 && !e.Interrupted // it will not go on
	// Nodes and evaluations are those of all slices; everything else is as the last slice left it.
	r.Nodes += l.total.Nodes
	r.Evaluations += l.total.Evaluations
	l.solved = append(l.solved, r.Solved...)
	r.Solved = nil
	l.total, l.nodes, l.evaluations, l.at = r, r.Nodes, r.Evaluations, m.now
	if r.Verdict != eval.Open { // nothing else matters
		m.enter()
		return
	}
	l.early = l.cancelled
	l.last = l.early || stuck || r.Nodes >= l.job.Budget
	g := Gather{Key: l.key, Last: l.last}
	if len(l.solved) > 0 && (l.last || m.now-l.begun >= evidenceAfter) {
		slices.SortStableFunc(l.solved, func(a, b proof.Fact) int { return cmp.Compare(b.Nodes, a.Nodes) })
		g.Facts = l.solved[:min(len(l.solved), m.maxFacts)]
		g.Limit = max(evidenceFloor, time.Duration(evidenceShare*float64(m.now-l.sliceBegun)))
		l.solved = nil
	}
	if len(g.Facts) > 0 {
		l.phase = &farmv1.Phase{Name: "extracting"}
	}
	m.vain = false
	m.do(g)
}

// gathered makes a parcel of what was gathered. A slice that brought nothing is followed by the
// next one at once.
func (m *Machine) gathered(e Gathered) {
	if m.group.proving {
		m.endGroup(e)
		return
	}
	l := m.running
	if l == nil || l.searching || m.found != nil {
		return
	}
	if m.vain {
		e.Parts = nil
	}
	if l.last {
		m.found = &parcel{of: l.of, parts: e.Parts, lease: l, message: l.result(e, m.now-l.begun)}
		return
	}
	facts := &farmv1.Facts{Facts: wireFacts(e.Parts), Key: farmv1.WriteKey(l.key), Hints: e.Hints, Lease: l.id,
		Epoch: l.epoch, Nodes: l.total.Nodes, Campaign: l.of.number}
	if len(facts.Facts)+len(facts.Hints) == 0 {
		m.slice()
		return
	}
	m.found = &parcel{of: l.of, parts: e.Parts,
		message: &farmv1.WorkRequest{Kind: &farmv1.WorkRequest_Facts{Facts: facts}}}
}

// result is the message that ends the lease.
func (l *lease) result(e Gathered, took time.Duration) *farmv1.WorkRequest {
	r := l.total
	m := &farmv1.Result{
		Lease: l.id, Epoch: l.epoch, Key: farmv1.WriteKey(l.key),
		Phi: r.Phi, Delta: r.Delta, Nodes: r.Nodes, Evaluations: r.Evaluations, Seconds: took.Seconds(),
		Cancelled: l.early, Facts: wireFacts(e.Parts), Campaign: l.of.number,
	}
	// A verdict counts only with a part that proves it. Without one the numbers and hints are what the
	// next worker can use; the master is told if it was the cancellation that cut the evidence.
	if fact, proved := factOf(e.Parts, l.key); proved {
		m.Verdict = farmv1.WriteVerdict(fact.Verdict)
	} else if r.Verdict != eval.Open {
		m.Cancelled = l.cancelled
	}
	if m.Verdict == farmv1.Verdict_VERDICT_UNSPECIFIED {
		m.Children, m.Hints = numbers.Append(nil, r.Children), e.Hints
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

// has reports whether a lease is running, is the next one, or waits with its result.
func (m *Machine) has(l *lease) bool {
	same := func(o *lease) bool { return o != nil && o.of == l.of && o.id == l.id && o.epoch == l.epoch }
	return same(m.running) || same(m.next) || slices.ContainsFunc(m.group.leases, same) ||
		slices.ContainsFunc(m.waiting, func(p *parcel) bool { return same(p.lease) })
}

// returned is the result of a lease that is returned without a search. It waits for no
// acknowledgement: if it is lost, so is the stream, and with it the lease.
func (l *lease) returned() *farmv1.WorkRequest {
	return &farmv1.WorkRequest{Kind: &farmv1.WorkRequest_Result{Result: &farmv1.Result{Lease: l.id, Epoch: l.epoch,
		Key: farmv1.WriteKey(l.key), Cancelled: true, Campaign: l.of.number}}}
}

// wireFacts writes the facts of parts.
func wireFacts(parts []Part) (facts []*farmv1.Fact) {
	for _, p := range parts {
		facts = append(facts, farmv1.WriteFacts(p.Facts)...)
	}
	return facts
}

// factOf returns the fact about a position that parts prove, if one does.
func factOf(parts []Part, k amazons.Key) (proof.Fact, bool) {
	for _, p := range parts {
		if i := slices.IndexFunc(p.Facts, func(f proof.Fact) bool { return f.Key == k }); i >= 0 {
			return p.Facts[i], true
		}
	}
	return proof.Fact{}, false
}

// newLease reads a lease of the wire. Errors wrap ErrProtocol.
func newLease(of campaign, m *farmv1.Lease) (*lease, error) {
	key, state, err := farmv1.ReadKey(of.board, m.GetKey())
	if err != nil {
		return nil, fmt.Errorf("%w: lease %d: %v", ErrProtocol, m.GetId(), err)
	}
	if m.GetBudgetNodes() == 0 {
		return nil, fmt.Errorf("%w: lease %d has no budget", ErrProtocol, m.GetId())
	}
	l := &lease{of: of, id: m.GetId(), epoch: m.GetEpoch(), key: key, patient: m.GetPatient(),
		job: engine.Job{State: state, Budget: m.GetBudgetNodes(), Hints: m.GetHints()}}
	if len(m.GetParent()) > 0 {
		_, parent, err := farmv1.ReadKey(of.board, m.GetParent())
		if err != nil {
			return nil, fmt.Errorf("%w: lease %d: above it: %v", ErrProtocol, m.GetId(), err)
		}
		l.job.Parent = &parent
	}
	if l.job.Facts, err = farmv1.ReadFacts(of.board, m.GetFacts()); err != nil {
		return nil, fmt.Errorf("%w: lease %d: %v", ErrProtocol, m.GetId(), err)
	}
	return l, nil
}
