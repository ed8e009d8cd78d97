package tree

import (
	"errors"
	"fmt"

	"amazonsfarm/master/tree/graph"
	"amazonsfarm/master/tree/offers"
	"amazonsfarm/master/tree/reach"
	"amazonsfarm/shared/eval"
	"amazonsfarm/shared/proof"
)

// ErrConfig is wrapped by every error about a setting.
var ErrConfig = errors.New("bad tree setting")

// ErrSnapshot is wrapped by every error about what the store gave back.
var ErrSnapshot = graph.ErrRecords

// NodeRecord is what the store keeps of one position.
type NodeRecord = graph.Record

// Snapshot is what the store holds: the last record of each position, every fact, the last counters.
// The order of the slices does not matter. The zero Snapshot begins a campaign.
type Snapshot struct {
	Nodes         []NodeRecord
	Facts         []proof.Fact
	Spent         uint64         // nodes searched in all returned and lost leases
	Epoch         uint64         // of the last tree that could grant leases
	Contradiction *Contradiction // not nil: the campaign was stopped by it
}

// Tree is the state machine. It is not safe for concurrent use.
type Tree struct {
	cfg   Config
	epoch uint64
	now   int // ticks since New

	// View is what is known of positions and facts.
	graph.View
	graph  *graph.Graph
	full   bool    // a split was not possible because of MaxPositions
	aside  []aside // leaves set aside, in order; may hold some that are not any more
	offers *offers.List
	reach  reach.Reach

	// The farm.
	workers   map[string]*worker // looked up only
	roll      []*worker          // in the order they joined
	serial    uint32
	waiting   []*worker // one entry per request, oldest first
	leases    map[LeaseID]*lease
	running   []*lease // in the order of their numbers
	lastLease LeaseID
	starving  int // workers without any lease that wait while no leaf is free
	held      int // workers without any lease that wait for checks of their results
	// unattended is the tick until which results are not checked, because earlier ones waited in vain.
	unattended int
	starved    int    // for so many ticks
	elsewhere  bool   // workers of other campaigns would rather search here
	nodes      uint64 // of ended leases, and of running ones as far as they are charged
	promised   uint64 // what is left of the running leases' budgets
	pace       pace

	// Trust.
	parties             map[string]*party // looked up only
	present             int               // parties that work
	absent              []*party          // without, in the order in which they left
	unchecked           []*unchecked      // oldest first
	unsettled, requeued uint64            // results that nothing was learned from; that are searched again

	paused, draining, settled bool

	// What the present step has brought so far.
	effects  []Effect
	newFacts []proof.Fact
	epochOut bool // the epoch was persisted
	stopOut  bool // the contradiction was persisted
}

// New makes a tree from its settings and from what the store holds. Errors wrap ErrConfig or
// ErrSnapshot. A tree whose facts contradict each other is made, but stopped.
func New(cfg Config, restored Snapshot) (*Tree, error) {
	cfg = cfg.WithDefaults()
	if cfg.MaxBudget < cfg.InitialBudget { // the other settings have ranges where people give them
		return nil, fmt.Errorf("%w: MaxBudget %d is less than InitialBudget %d", ErrConfig, cfg.MaxBudget,
			cfg.InitialBudget)
	}
	g := graph.New(cfg.Root, cfg.FirstMoves, cfg.MaxFacts)
	t := &Tree{
		cfg:     cfg,
		epoch:   restored.Epoch + 1,
		View:    g.View(),
		graph:   g,
		offers:  offers.New(cfg.Root.Board, cfg.policy.factsKept),
		reach:   reach.Below(cfg.Root.Board, g.Root.Key),
		workers: map[string]*worker{},
		parties: map[string]*party{},
		leases:  map[LeaseID]*lease{},
		nodes:   restored.Spent,
		pace:    pace{searched: restored.Spent, stretch: 1},
	}
	g.Contradiction = (*graph.Contradiction)(restored.Contradiction)
	facts, err := g.RestoreFacts(restored.Facts)
	if err != nil {
		return nil, err
	}
	for _, f := range facts {
		t.offers.Add(f)
	}
	if err := g.Restore(restored.Nodes); err != nil {
		return nil, err
	}
	return t, nil
}

// Step applies one event and returns its effects; Persist, if any, comes first.
func (t *Tree) Step(ev Event) []Effect {
	ev.apply(t)
	t.graph.Propagate()
	t.conclude()
	t.assign()
	return t.flush()
}

// conclude cancels the leases that have lost their purpose.
func (t *Tree) conclude() {
	switch {
	case t.graph.Contradiction != nil:
		if !t.stopOut {
			t.emit(Contradiction(*t.graph.Contradiction))
		}
		t.cancelAll(CancelStopped)
	case t.graph.Root.Solved():
		if !t.settled {
			t.settled = true
			t.emit(t.Answer())
		}
		t.cancelAll(CancelOver)
	case t.draining:
		t.cancelAll(CancelDrain)
	}
	for _, n := range t.graph.Closed {
		if l := t.leaseAt(n); l != nil && !n.Matters() {
			t.cancel(l, CancelClosed)
		}
	}
	t.graph.Closed = t.graph.Closed[:0]
}

// Answer returns the answer of a campaign whose root is solved.
func (t *Tree) Answer() Settled {
	if t.graph.Restricted() && t.graph.Root.Verdict() == eval.Lost {
		return Settled{NoGivenMoveWins: true}
	}
	return Settled{Verdict: t.graph.Root.Verdict()}
}

func (t *Tree) emit(e Effect) { t.effects = append(t.effects, e) }

func (t *Tree) refuse(worker string, l LeaseID, why string) {
	t.emit(Refused{Worker: worker, Lease: l, Why: why})
}

// flush returns the effects of the step, with what must be durable first.
func (t *Tree) flush() []Effect {
	effects := t.effects
	t.effects = nil
	p := Persist{Nodes: t.graph.Take(), Facts: t.newFacts, Spent: t.nodes, Epoch: t.epoch}
	if t.graph.Contradiction != nil && !t.stopOut {
		p.Contradiction, t.stopOut = (*Contradiction)(t.graph.Contradiction), true
	}
	if t.epochOut && len(p.Nodes) == 0 && len(p.Facts) == 0 && p.Contradiction == nil {
		return effects // the nodes searched change only together with a record
	}
	t.newFacts, t.epochOut = nil, true
	return append([]Effect{p}, effects...)
}
