package tree

import (
	"fmt"
	"slices"

	"amazonsfarm/shared/amazons"
	"amazonsfarm/shared/numbers"
)

// scarce reports whether the most useful free leaf is worth little to workers that could have it.
func (t *Tree) scarce() bool {
	return len(t.roll) > 1 && t.root.use*100 < float64(t.cfg.policy.splitBelow)
}

// splits decides whether the leaf of a lease that ended is split. scarce says whether work was scarce
// while the leaf was leased.
func (t *Tree) splits(l *lease, scarce bool) bool {
	n := l.node
	switch {
	case n.solved() || n.live == 0 || n.nodes == 0 || n.unchecked:
		return false
	case n.nodes >= t.splitAfter() || t.cfg.EasyReplies && n.layer <= t.root.layer+1 || l.split:
		return true
	}
	return l.nodes > 0 && (t.starving > 0 || scarce && n.nodes >= t.earlySplit())
}

// splitAfter returns the nodes after which a leaf is split: the setting, doubled with each eighth of
// MaxPositions in use. A long campaign thus fills the tree ever more slowly.
func (t *Tree) splitAfter() uint64 { return doubled(t.cfg.SplitAfter, t.eighths()) }

// earlySplit returns the nodes after which a leaf is split while work is scarce: those of a first
// lease. From half of MaxPositions on they are sixteen times as many with each eighth in use. A
// position that many workers wait for is worth the room as long as there is some.
func (t *Tree) earlySplit() uint64 {
	return doubled(t.cfg.InitialBudget, 4*max(0, t.eighths()-3))
}

// eighths returns how many whole eighths of MaxPositions are in use.
func (t *Tree) eighths() int { return t.index.n * 8 / t.cfg.MaxPositions }

// doubled returns nodes, doubled a number of times.
func doubled(nodes uint64, times int) uint64 {
	for range times {
		nodes = plus(nodes, nodes)
	}
	return nodes
}

// split expands a leaf by one level if the tree has room. Its children begin with a worker's numbers.
func (t *Tree) split(n *node, children []byte) {
	next := t.successors(n)
	fresh := 0
	for _, c := range next {
		if c.node == nil {
			fresh++
		}
	}
	if t.index.n+fresh > t.cfg.MaxPositions {
		t.full = true
		return
	}
	t.number(next, children)
	t.expand(n, next)
}

// child is a position that one move leads to.
type child struct {
	key     amazons.Key
	canMove bool
	hash    uint64 // of key
	node    *node  // nil: not in the tree yet
	// the numbers of a search, and the place in the order of the keys: see number
	phi, delta uint32
	rank       int
}

// known reports whether a search has numbers for the child.
func (c *child) known() bool { return c.phi != 0 || c.delta != 0 }

// successors returns the canonical positions after the moves of a node, each once, in the order of
// the first move that leads there. The slice is valid until the next call.
func (t *Tree) successors(n *node) []child {
	s, err := n.key.State(t.board)
	if err != nil {
		panic(fmt.Sprintf("tree: node %s: %v", keyName(n.key), err)) // every key was checked when it came in
	}
	t.moves = s.Moves(t.moves[:0])
	if n == t.root && t.restricted() {
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
	t.index.warm(t.next)
	for i := range t.next {
		c := &t.next[i]
		c.node = t.index.find(c.key, c.hash)
	}
	return t.next
}

// number gives children the numbers that an encoding has for them, and reports whether it fits
// them. Otherwise nothing changes.
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

// expand puts the given children under a leaf. Children that nobody has searched as leaves begin with
// the numbers that are known of them.
func (t *Tree) expand(n *node, next []child) {
	n.children, n.shown = make([]*node, 0, len(next)), make([]shown, 0, len(next))
	t.begun = slices.Grow(t.begun[:0], len(next))[:len(next)]
	clear(t.begun)
	any := false
	for i := range next {
		c := &next[i]
		m := c.node
		if m == nil {
			m = t.add(c.key, c.canMove)
		}
		switch {
		case !c.known() || m.expanded || m.solved() || m.nodes > 0:
		case m.recorded:
			t.setLeaf(m, c.phi, c.delta)
		default: // its numbers go into the record of n
			t.begin(m, c.phi, c.delta)
			t.begun[c.rank], any = numbers.Child{Phi: c.phi, Delta: c.delta}, true
		}
		m.parents = append(m.parents, edge{n, i})
		n.children, n.shown = append(n.children, m), append(n.shown, shown{m.use, m.phi, m.delta})
		n.free[m.class]++
	}
	if any {
		t.encoded = t.encoded[:0]
		for _, c := range t.begun {
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
