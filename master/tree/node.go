package tree

import (
	"fmt"
	"math/bits"
	"slices"

	"amazonsfarm/shared/amazons"
	"amazonsfarm/shared/eval"
	"amazonsfarm/shared/numbers"
)

// node is one position of the tree. What is derived from the rest of the tree is kept up to date
// step by step; audit (in the tests) computes it anew and compares. What is read when a worker
// looks for a leaf comes first.
type node struct {
	use        float64 // derived: of the most useful open leaf here or below; see usefulness
	phi, delta uint32  // derived from the children, where it is expanded
	work       uint64  // nodes spent on it as a leaf
	key        amazons.Key

	layer    uint8 // burnt squares; children have one more
	basis    Basis // NoBasis: unsolved
	class    class // derived: what can be granted here or below
	expanded bool  // children are in the tree
	changed  bool  // its record goes with the next Persist
	aside    bool  // leaf set aside after too many losses
	claimed  bool  // leaf whose numbers wait for another search
	queued   bool  // in line to have its numbers computed
	recorded bool  // it has a record, or will have one with the next Persist

	live               int32  // derived: parents that are live and unsolved; the root has one more
	leafPhi, leafDelta uint32 // numbers as a leaf
	tries              int32  // losses and empty returns in a row
	expansion          uint32 // number of its expansion, from 1; 0 of a leaf

	budget   uint64 // of its next lease
	warm     uint32 // serial of the worker that searched it last
	lostBy   uint32 // serial of the worker that lost it last
	lease    *lease // not nil: leased
	children []*node
	shown    []shown // derived: of each child
	parents  []edge
	first    [1]edge            // room for the first parent: many have one
	free     [freeClasses]int32 // derived: children by class
}

// shown is what a node sees of one child. All of it lies side by side, as a node looks at all
// children whenever one changes: some hundreds, which lie anywhere in memory.
type shown struct {
	use        float64
	phi, delta uint32
}

// edge is a parent, and which of its children the node is.
type edge struct {
	node *node
	i    int
}

// show tells the parents of n what they see of it, and puts them in line.
func (t *Tree) show(n *node) {
	for _, p := range n.parents {
		p.node.shown[p.i] = shown{n.use, n.phi, n.delta}
		t.queue(p.node)
	}
}

// class says what can be granted at a leaf, or below an inner node at best.
type class uint8

const (
	locked      class = iota // nothing: solved, leased, or all unsolved children locked
	lastly                   // only leaves that were set aside
	open                     // a leaf
	freeClasses = 3
)

func (n *node) solved() bool { return n.basis != NoBasis }

// outcome returns who wins, as far as it is known.
func (n *node) verdict() eval.Verdict {
	switch {
	case n.basis == NoBasis:
		return eval.Open
	case n.phi == 0:
		return eval.Won
	}
	return eval.Lost
}

// budgetOf returns the nodes of the next lease of a leaf.
func (t *Tree) budgetOf(n *node) uint64 {
	if n.budget == 0 {
		return t.cfg.InitialBudget
	}
	return min(n.budget, t.cfg.MaxBudget)
}

// budgetFor returns the nodes of the next lease of a leaf, work at which is worth so much beside
// the most proving one. Where there are others to search that one, a leaf that is likely not needed
// is looked at for a while only, the first time: with what that shows it is decided again what is.
func (t *Tree) budgetFor(n *node, use float64) uint64 {
	budget := t.budgetOf(n)
	if n.budget > 0 || len(t.roll) < 2 {
		return budget
	}
	part := max(use, float64(t.cfg.ProbePercent)/100)
	return max(1, min(budget, uint64(float64(budget)*part)))
}

// nextBudget returns the nodes of the lease after one of so many.
func (t *Tree) nextBudget(planned uint64) uint64 { return min(plus(planned, planned), t.cfg.MaxBudget) }

// layerOf returns the number of burnt squares of a key: those in both halves.
func layerOf(k amazons.Key) uint8 { return uint8(bits.OnesCount64(k.A & k.B)) }

// add makes the node of a position that is not yet in the tree. It is solved at
// once where the side to move has no move or a fact is known.
func (t *Tree) add(k amazons.Key, canMove bool) *node {
	n := t.nodes.add(k)
	n.layer, n.class, n.use = layerOf(k), open, 1
	n.phi, n.delta, n.leafPhi, n.leafDelta = 1, 1, 1, 1
	n.parents = n.first[:0]
	if !canMove {
		t.solve(n, eval.Lost, ByRules)
	}
	if f, ok := t.facts[k]; ok {
		t.believe(n, f, "")
	}
	return n
}

// child is a position that one move leads to.
type child struct {
	key     amazons.Key
	canMove bool
	hash    uint64 // of key
	node    *node  // nil: not in the tree yet
	// What a search says of it, and its place in the order of the keys: see number.
	phi, delta uint32
	rank       int
}

// known reports whether a search says anything of it.
func (c *child) known() bool { return c.phi != 0 || c.delta != 0 }

// successors returns the canonical positions after the moves of a node, each
// once, in the order of the first move that leads there. The slice is valid
// until the next call.
func (t *Tree) successors(n *node) []child {
	s, err := n.key.State(t.board)
	if err != nil {
		panic(fmt.Sprintf("tree: node %s: %v", keyName(n.key), err)) // every key was checked when it came in
	}
	t.moves = s.Moves(t.moves[:0])
	if n == t.root && len(t.cfg.FirstMoves) > 0 {
		s = t.cfg.Root.State()
		t.moves = append(t.moves[:0], t.cfg.FirstMoves...)
	}
	clear(t.seen)
	t.next = t.next[:0]
	for _, m := range t.moves {
		after := s.After(m)
		k := after.CanonicalKey(t.board)
		if _, ok := t.seen[k]; ok {
			continue
		}
		t.seen[k] = struct{}{}
		t.next = append(t.next, child{key: k, canMove: after.CanMove(), hash: hash(k)})
	}
	t.nodes.warm(t.next)
	for i := range t.next {
		c := &t.next[i]
		c.node = t.nodes.find(c.key, c.hash)
	}
	return t.next
}

// expand puts the given children under a leaf. Those that nobody has searched as
// leaves begin with what is known of them.
func (t *Tree) expand(n *node, next []child) {
	n.children, n.shown = make([]*node, 0, len(next)), make([]shown, 0, len(next))
	t.kept = slices.Grow(t.kept[:0], len(next))[:len(next)]
	clear(t.kept)
	keeps := false
	for i := range next {
		c := &next[i]
		m := c.node
		if m == nil {
			m = t.add(c.key, c.canMove)
		}
		switch {
		case !c.known() || m.expanded || m.solved() || m.work > 0:
		case m.recorded:
			t.setLeaf(m, c.phi, c.delta)
		default: // its numbers are kept with n
			t.begin(m, c.phi, c.delta)
			t.kept[c.rank], keeps = numbers.Child{Phi: c.phi, Delta: c.delta}, true
		}
		m.parents = append(m.parents, edge{n, i})
		n.children, n.shown = append(n.children, m), append(n.shown, shown{m.use, m.phi, m.delta})
		n.free[m.class]++
	}
	if keeps {
		t.encoded = t.encoded[:0]
		for _, c := range t.kept {
			t.encoded = numbers.Put(t.encoded, c.Phi, c.Delta)
		}
		t.begins[n] = string(t.encoded)
	}
	if n.live > 0 && !n.solved() {
		t.frontier--
	}
	n.expanded = true
	n.aside, n.tries = false, 0
	t.expansions++
	n.expansion = uint32(t.expansions)
	t.change(n)
	if n.live > 0 && !n.solved() {
		t.enliven(n)
	}
	t.reclass(n)
	t.queue(n)
}

// number gives children the numbers that an encoding has for them, and reports whether it fits
// them; otherwise nothing changes.
func (t *Tree) number(next []child, encoded []byte) bool {
	if n, err := numbers.Count(encoded); err != nil || n != len(next) {
		return false
	}
	t.order = t.order[:0]
	for i := range next {
		t.order = append(t.order, i)
	}
	slices.SortFunc(t.order, func(a, b int) int { return next[a].key.Compare(next[b].key) })
	for rank, i := range t.order {
		c := &next[i]
		c.rank = rank
		if c.phi, c.delta, encoded, _ = numbers.Next(encoded); c.known() {
			c.phi, c.delta = unproved(c.phi), unproved(c.delta)
		}
	}
	return true
}

// setLeaf gives a leaf the numbers of a search.
func (t *Tree) setLeaf(n *node, phi, delta uint32) {
	if t.begin(n, phi, delta) {
		t.change(n)
	}
}

// begin gives a leaf numbers that are not in its own record, and reports whether they are new.
func (t *Tree) begin(n *node, phi, delta uint32) bool {
	if n.leafPhi == phi && n.leafDelta == delta {
		return false
	}
	n.leafPhi, n.leafDelta = phi, delta
	if !n.solved() {
		n.phi, n.delta = phi, delta
		t.show(n)
	}
	return true
}

// change notes that the record of n goes with the next Persist.
func (t *Tree) change(n *node) {
	if !n.changed {
		n.changed, n.recorded = true, true
		t.changed = append(t.changed, n)
	}
}

// record returns what the store keeps of n.
func (t *Tree) record(n *node) NodeRecord {
	return NodeRecord{Key: n.key, Phi: n.leafPhi, Delta: n.leafDelta, Nodes: n.work, Budget: n.budget,
		Expanded: n.expanded, Expansion: uint64(n.expansion), Children: t.begins[n]}
}

// A node matters while some path of unsolved nodes leads from the root to it.
// live counts the parents on such paths. Each edge of the graph is cut once when
// the node above it is solved or dies, so the cost of closing is paid by the
// expansions, not by the size of the tree.

// enliven counts n, unsolved and now live, for its children.
func (t *Tree) enliven(n *node) {
	for _, c := range n.children {
		c.live++
		if c.live > 1 || c.solved() {
			continue
		}
		if c.expanded {
			t.enliven(c)
		} else {
			t.frontier++
		}
	}
}

// deaden takes n, solved or dead now, back from its children.
func (t *Tree) deaden(n *node) {
	for _, c := range n.children {
		c.live--
		if c.live > 0 || c.solved() {
			continue
		}
		if c.expanded {
			t.deaden(c)
			continue
		}
		t.frontier--
		if c.lease != nil {
			t.closed = append(t.closed, c.lease)
		}
	}
}

// reclass computes the class of n and, where it changes, those above it.
func (t *Tree) reclass(n *node) {
	c := locked
	switch {
	case n.solved():
	case n.expanded:
		for k := open; k > locked; k-- {
			if n.free[k] > 0 {
				c = k
				break
			}
		}
	case n.lease != nil || n.claimed:
	case n.aside:
		c = lastly
	default:
		c = open
	}
	if c == n.class {
		return
	}
	old := n.class
	n.class = c
	if use := 0.0; !n.expanded || c != open {
		if !n.expanded && c == open {
			use = 1
		}
		n.use = use
		t.show(n)
	}
	for _, p := range n.parents {
		p.node.free[old]--
		p.node.free[c]++
		t.reclass(p.node)
	}
}
