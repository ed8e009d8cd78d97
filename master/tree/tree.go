package tree

import (
	"errors"

	"amazonsfarm/master/tree/offers"
	"amazonsfarm/master/tree/reach"
	"amazonsfarm/shared/amazons"
	"amazonsfarm/shared/eval"
	"amazonsfarm/shared/numbers"
	"amazonsfarm/shared/proof"
)

// ErrConfig is wrapped by every error about a setting.
var ErrConfig = errors.New("bad tree setting")

// ErrSnapshot is wrapped by every error about what the store gave back.
var ErrSnapshot = errors.New("snapshot does not fit the campaign")

// Tree is the state machine. It is not safe for concurrent use.
type Tree struct {
	cfg   Config
	board amazons.Board
	epoch uint64
	now   int // ticks since New

	// The graph.
	root       *node
	index      index
	dirty      [65][]*node // nodes in line, by layer
	frontier   int
	expansions int
	full       bool
	aside      []*node // set aside, in order; may hold some that are not any more

	facts               map[amazons.Key]proof.Fact // looked up only
	factsWon, factsLost int
	dropped             uint64
	offers              *offers.List
	reach               reach.Reach

	// The farm.
	workers   map[string]*worker // looked up only
	roll      []*worker          // in the order they joined
	serial    uint32
	waiting   []*worker // one entry per request, oldest first
	leases    map[LeaseID]*lease
	running   []*lease // in the order of their numbers
	lastLease LeaseID
	starving  int    // workers without any lease that wait while no leaf is free
	starved   int    // for so many ticks
	elsewhere bool   // workers of other campaigns would rather search here
	nodes     uint64 // of ended leases, and of running ones as far as they are charged
	promised  uint64 // what is left of the running leases' budgets
	pace      pace

	// Trust.
	parties             map[string]*party // looked up only
	present             int               // parties with workers
	absent              []*party          // without, in the order in which they left
	unchecked           []*unchecked      // oldest first
	unsettled, requeued uint64            // results that nothing was learned from; that are searched again

	paused, draining, settled bool
	stopped                   *Contradiction

	firstMoves []rootMove

	// What the present step has brought so far.
	effects  []Effect
	changed  []*node
	begins   map[*node]string // of the nodes that were expanded: NodeRecord.Children
	newFacts []proof.Fact
	newStop  *Contradiction
	closed   []*lease // of nodes that were solved or died
	epochOut bool     // the epoch was persisted

	// Buffers.
	moves   []amazons.Move
	seen    map[amazons.Key]struct{}
	next    []child
	order   []int
	begun   []numbers.Child // by their ranks
	encoded []byte
}

type rootMove struct {
	move amazons.Move
	key  amazons.Key
}

// New makes a tree from its settings and from what the store holds. Errors wrap ErrConfig or
// ErrSnapshot. A tree whose facts contradict each other is made, but stopped.
func New(cfg Config, restored Snapshot) (*Tree, error) {
	cfg = cfg.WithDefaults()
	if err := cfg.validate(); err != nil {
		return nil, err
	}
	board, state := cfg.Root.Board, cfg.Root.State()
	root := state.CanonicalKey(board)
	t := &Tree{
		cfg:     cfg,
		board:   board,
		epoch:   restored.Epoch + 1,
		facts:   map[amazons.Key]proof.Fact{},
		offers:  offers.New(board, cfg.policy.factsKept),
		reach:   reach.Below(board, root),
		workers: map[string]*worker{},
		parties: map[string]*party{},
		leases:  map[LeaseID]*lease{},
		nodes:   restored.Spent,
		pace:    pace{searched: restored.Spent, stretch: 1},
		stopped: restored.Contradiction,
		newStop: restored.Contradiction,
		seen:    map[amazons.Key]struct{}{},
		begins:  map[*node]string{},
	}
	t.listFirstMoves(state)
	t.root = t.add(root, state.CanMove())
	t.root.live = 1
	if !t.root.solved() {
		t.frontier = 1
	}
	if err := t.restore(restored); err != nil {
		return nil, err
	}
	if t.restricted() && !t.root.expanded {
		t.expand(t.root, t.successors(t.root))
	}
	t.propagate()
	t.closed = nil
	return t, nil
}

// Step applies one event and returns its effects; Persist, if any, comes first.
func (t *Tree) Step(ev Event) []Effect {
	switch e := ev.(type) {
	case Joined:
		t.joined(e)
	case Left:
		t.left(e)
	case Ready:
		t.ready(e)
	case Progress:
		t.progress(e)
	case Result:
		t.result(e)
	case Proved:
		t.proved(e)
	case Tick:
		t.tick(e.Elsewhere)
	case Distrusted:
		t.distrust(e.Party)
	case Pause:
		t.paused = true
	case Resume:
		t.paused = false
	case Drain:
		t.draining = true
	case RequestsWithdrawn:
		if w := t.workers[e.Worker]; w != nil {
			t.unqueue(w)
		}
	case TableCleared:
		if w := t.workers[e.Worker]; w != nil {
			t.serial++
			w.serial, w.known = t.serial, nil
		}
	case WorkersElsewhere:
		t.elsewhere = e.Waiting
	case PoolFacts:
		t.poolFacts(e.Facts)
	case PartyConfirmed:
		if p := t.parties[e.Party]; p != nil {
			p.confirmed++
		}
	case PoolContradiction:
		t.poolContradiction(e.Contradiction)
	}
	t.propagate()
	t.conclude()
	t.assign()
	return t.flush()
}

// conclude cancels the leases that have lost their purpose.
func (t *Tree) conclude() {
	switch {
	case t.stopped != nil:
		if t.newStop != nil {
			t.emit(*t.newStop)
		}
		t.cancelAll(CancelStopped)
	case t.root.solved():
		if !t.settled {
			t.settled = true
			t.emit(t.answer())
		}
		t.cancelAll(CancelOver)
	case t.draining:
		t.cancelAll(CancelDrain)
	}
	for _, l := range t.closed {
		if t.leases[l.id] == l && (l.node.solved() || l.node.live == 0) {
			t.cancel(l, CancelClosed)
		}
	}
	t.closed = t.closed[:0]
}

// answer returns the answer of a campaign whose root is solved.
func (t *Tree) answer() Settled {
	if t.restricted() && t.root.verdict() == eval.Lost {
		return Settled{NoGivenMoveWins: true}
	}
	return Settled{Verdict: t.root.verdict()}
}

func (t *Tree) emit(e Effect) { t.effects = append(t.effects, e) }

func (t *Tree) refuse(worker string, l LeaseID, why string) {
	t.emit(Refused{Worker: worker, Lease: l, Why: why})
}

// flush returns the effects of the step, with what must be durable first.
func (t *Tree) flush() []Effect {
	effects := t.effects
	t.effects = nil
	if t.epochOut && len(t.changed) == 0 && len(t.newFacts) == 0 && t.newStop == nil {
		return effects // the nodes searched change only together with a record
	}
	p := Persist{Facts: t.newFacts, Spent: t.nodes, Epoch: t.epoch, Contradiction: t.newStop}
	for _, n := range t.changed {
		n.changed = false
		p.Nodes = append(p.Nodes, t.record(n))
	}
	clear(t.changed)
	clear(t.begins)
	t.changed, t.newFacts, t.newStop, t.epochOut = t.changed[:0], nil, nil, true
	return append([]Effect{p}, effects...)
}
