package tree

import (
	"cmp"
	"fmt"
	"iter"
	"slices"

	"amazonsfarm/shared/amazons"
	"amazonsfarm/shared/eval"
	"amazonsfarm/shared/numbers"
	"amazonsfarm/shared/proof"
)

// Tree is the state machine. It is not safe for concurrent use.
type Tree struct {
	cfg   Config
	board amazons.Board
	epoch uint64
	now   int // ticks since New

	// The graph.
	root       *node
	nodes      index
	dirty      [65][]*node // nodes in line, by layer
	frontier   int
	expansions int
	full       bool
	aside      []*node // set aside, in order; may hold some that are not any more

	facts               map[amazons.Key]proof.Fact // looked up only
	factsWon, factsLost int
	dropped             uint64
	shelf               *shelf

	// The farm.
	workers   map[string]*worker // looked up only
	roll      []*worker          // in the order they joined
	serial    uint32
	waiting   []*worker // one entry per request, oldest first
	leases    map[LeaseID]*lease
	running   []*lease // in the order of their numbers
	lastLease LeaseID
	starving  int  // workers without any lease that wait while no leaf is free
	starved   int  // for so many ticks
	wanted    bool // workers elsewhere would search here
	promised  uint64
	pace      pace
	reach     Reach

	// Trust.
	parties             map[string]*party // looked up only
	present             int               // parties with workers
	absent              []*party          // without, in the order in which they left
	claims              []*claim          // oldest first
	unsettled, requeued uint64            // claims that nothing was learned from; results that are searched again

	paused, draining, settled bool
	stopped                   *Contradiction
	spent                     uint64

	firstMoves []rootMove

	// What the present step has brought so far.
	effects  []Effect
	changed  []*node
	begins   map[*node]string // of the nodes that were expanded: NodeRecord.Children
	newFacts []proof.Fact
	newStop  *Contradiction
	closed   []*lease // of nodes that were solved or died
	began    bool     // the epoch was persisted

	// Buffers.
	moves   []amazons.Move
	seen    map[amazons.Key]struct{}
	next    []child
	order   []int
	kept    []numbers.Child // by their ranks
	encoded []byte
}

type rootMove struct {
	move amazons.Move
	key  amazons.Key
}

// New makes a tree from its settings and from what the store holds. Errors wrap
// ErrConfig or ErrSnapshot. A tree whose facts contradict each other is made,
// but stopped.
func New(cfg Config, restored Snapshot) (*Tree, error) {
	cfg = cfg.WithDefaults()
	if err := cfg.validate(); err != nil {
		return nil, err
	}
	t := &Tree{
		cfg:     cfg,
		board:   cfg.Root.Board,
		epoch:   restored.Epoch + 1,
		facts:   map[amazons.Key]proof.Fact{},
		shelf:   newShelf(cfg.Root.Board, cfg.policy.factsKept),
		workers: map[string]*worker{},
		parties: map[string]*party{},
		leases:  map[LeaseID]*lease{},
		spent:   restored.Spent,
		pace:    pace{searched: restored.Spent, stretch: 1},
		reach:   ReachOf(cfg.Root),
		stopped: restored.Contradiction,
		newStop: restored.Contradiction,
		seen:    map[amazons.Key]struct{}{},
		begins:  map[*node]string{},
	}
	state := cfg.Root.State()
	t.listFirstMoves(state)
	t.root = t.add(state.CanonicalKey(cfg.Root.Board), state.CanMove())
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

// restore puts facts and records of the store into a tree that has only a root.
// What is written here is on disk already, so nothing is left to persist but
// an expansion of the root into given first moves.
func (t *Tree) restore(from Snapshot) error {
	facts := slices.Clone(from.Facts)
	slices.SortFunc(facts, func(a, b proof.Fact) int {
		return cmp.Or(a.Key.Compare(b.Key), cmp.Compare(a.Verdict, b.Verdict))
	})
	for _, f := range facts {
		if why := t.flaw(f); why != "" {
			return fmt.Errorf("%w: fact about %s: %s", ErrSnapshot, keyName(f.Key), why)
		}
		if old, ok := t.facts[f.Key]; ok {
			if old.Verdict != f.Verdict {
				t.contradict(f.Key, Claim{Verdict: old.Verdict, Basis: ByFact, Fact: old},
					Claim{Verdict: f.Verdict, Basis: ByFact, Fact: f})
			}
			continue
		}
		if f.Key == t.root.key {
			t.believe(t.root, f, "")
		}
		t.enter(f)
	}
	records := make(map[amazons.Key]struct{}, len(from.Nodes))
	for _, r := range from.Nodes {
		if _, ok := records[r.Key]; ok {
			return fmt.Errorf("%w: two records of node %s", ErrSnapshot, keyName(r.Key))
		}
		if r.Phi < 1 || r.Phi >= Infinity || r.Delta < 1 || r.Delta >= Infinity {
			return fmt.Errorf("%w: node %s has the numbers of a solved position", ErrSnapshot, keyName(r.Key))
		}
		if !r.Expanded && (r.Children != "" || r.Expansion != 0) {
			return fmt.Errorf("%w: node %s has numbers of children and is not expanded", ErrSnapshot, keyName(r.Key))
		}
		records[r.Key] = struct{}{}
	}
	// Nodes are expanded in the order in which they were: of a child's numbers the latest count.
	// What does not say when it was comes first, those nearer to the root before those below them.
	var expanded []NodeRecord
	for _, r := range from.Nodes {
		if r.Expanded {
			expanded = append(expanded, r)
		}
	}
	slices.SortFunc(expanded, func(a, b NodeRecord) int {
		return cmp.Or(cmp.Compare(a.Expansion, b.Expansion), cmp.Compare(layerOf(a.Key), layerOf(b.Key)),
			a.Key.Compare(b.Key))
	})
	for _, r := range expanded {
		n := t.nodes.get(r.Key)
		if n == nil {
			continue
		}
		next := t.successors(n)
		t.expand(n, next)
		if r.Children == "" {
			continue
		}
		if !t.number(next, []byte(r.Children)) {
			return fmt.Errorf("%w: the record of node %s does not have a pair of numbers for each of its %d children",
				ErrSnapshot, keyName(n.key), len(next))
		}
		for i := range next {
			if c := &next[i]; c.known() {
				t.begin(n.children[i], c.phi, c.delta)
			}
		}
	}
	met := 0
	for _, r := range from.Nodes { // a record of its own counts for more than what a parent's says
		n := t.nodes.get(r.Key)
		if n == nil {
			continue
		}
		met++
		n.work, n.budget, n.recorded = r.Nodes, r.Budget, true
		t.setLeaf(n, r.Phi, r.Delta)
	}
	if met != len(from.Nodes) {
		return fmt.Errorf("%w: of %d node records only %d are reached from the root", ErrSnapshot, len(from.Nodes), met)
	}
	for _, n := range t.changed {
		n.changed = false
	}
	t.changed = nil
	return nil
}

// Step takes one event and returns its effects; Persist, if any, comes first.
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
	case Withdrawn:
		if w := t.workers[e.Worker]; w != nil {
			t.unqueue(w)
		}
	case Forgot:
		if w := t.workers[e.Worker]; w != nil {
			t.serial++
			w.serial, w.knows = t.serial, nil
		}
	case Wanted:
		t.wanted = e.Workers
	case Shared:
		t.shared(e.Facts)
	case Vouched:
		if p := t.parties[e.Party]; p != nil {
			p.agreed++
		}
	case Stopped:
		if t.stopped == nil {
			t.stopped = &e.Contradiction
			t.newStop = t.stopped
		}
	}
	t.propagate()
	t.conclude()
	t.assign()
	return t.flush()
}

// conclude calls back the leases that have lost their purpose.
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
	if t.began && len(t.changed) == 0 && len(t.newFacts) == 0 && t.newStop == nil {
		return effects // spent changes only together with a node
	}
	p := Persist{Facts: t.newFacts, Spent: t.spent, Epoch: t.epoch, Contradiction: t.newStop}
	for _, n := range t.changed {
		n.changed = false
		p.Nodes = append(p.Nodes, t.record(n))
	}
	clear(t.changed)
	clear(t.begins)
	t.changed, t.newFacts, t.newStop, t.began = t.changed[:0], nil, nil, true
	return append([]Effect{p}, effects...)
}

// Fact returns what is known by certificate about a canonical key.
func (t *Tree) Fact(k amazons.Key) (proof.Fact, bool) {
	f, ok := t.facts[k]
	return f, ok
}

// WonNode is a won position whose evidence is the tree's own: Move, in the
// orientation of Key, leads to Child, which is lost.
type WonNode struct {
	Key   amazons.Key
	Move  amazons.Move
	Child amazons.Key // canonical
}

// WonNodes yields every expanded node that has a lost child: the entries of the
// certificate that the master itself adds. A node comes after those above it.
// Where several children are lost it takes one with a fact, with as little
// work as there is.
func (t *Tree) WonNodes() iter.Seq[WonNode] {
	return func(yield func(WonNode) bool) {
		queue, met := []*node{t.root}, map[*node]bool{t.root: true}
		for len(queue) > 0 {
			n := queue[0]
			queue = queue[1:]
			var best *node
			for _, c := range n.children {
				if !met[c] {
					met[c] = true
					queue = append(queue, c)
				}
				if c.verdict() == eval.Lost && (best == nil || t.cheaper(c, best)) {
					best = c
				}
			}
			if best != nil && !yield(WonNode{n.key, t.moveTo(n, best), best.key}) {
				return
			}
		}
	}
}

// Decided reports whether a position is in the tree and solved, or is a fact.
func (t *Tree) Decided(k amazons.Key) bool {
	o, _ := t.known(k)
	return o != eval.Open
}

// Open reports whether a position is in the tree and not solved.
func (t *Tree) Open(k amazons.Key) bool {
	n := t.nodes.get(k)
	return n != nil && n.basis == NoBasis
}

// Above returns k and positions above it in the tree, the nearest first, at most limit of them;
// none if k is not in the tree.
func (t *Tree) Above(k amazons.Key, limit int) []amazons.Key {
	n := t.nodes.get(k)
	if n == nil {
		return nil
	}
	queue, met := []*node{n}, map[*node]bool{n: true}
	for i := 0; i < len(queue) && len(queue) < limit; i++ {
		for _, p := range queue[i].parents {
			if !met[p.node] && len(queue) < limit {
				met[p.node] = true
				queue = append(queue, p.node)
			}
		}
	}
	keys := make([]amazons.Key, len(queue))
	for i, n := range queue {
		keys[i] = n.key
	}
	return keys
}

// cheaper says that the evidence for a is likely smaller than for b.
func (t *Tree) cheaper(a, b *node) bool {
	cost := func(n *node) uint64 {
		if n.basis == ByRules {
			return 0
		}
		if f, ok := t.facts[n.key]; ok {
			return f.Nodes
		}
		return 1 << 63
	}
	return cost(a) < cost(b)
}

// moveTo returns the first move that leads from n, in the orientation of its
// key, to a child.
func (t *Tree) moveTo(n, c *node) amazons.Move {
	s, _ := n.key.State(t.board)
	for _, m := range s.Moves(nil) {
		if s.After(m).CanonicalKey(t.board) == c.key {
			return m
		}
	}
	panic("tree: no move leads to a child")
}
