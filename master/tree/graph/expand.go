package graph

import (
	"fmt"
	"slices"

	"amazonsfarm/shared/amazons"
	"amazonsfarm/shared/numbers"
)

// Split expands a leaf by one level. Its children begin with a worker's numbers, as far as the encoding
// fits. It reports whether the graph, of at most limit positions, has room; if not, nothing changes.
func (g *Graph) Split(n *Node, numbers []byte, limit int) bool {
	next := g.successors(n)
	fresh := 0
	for _, c := range next {
		if c.node == nil {
			fresh++
		}
	}
	if g.index.n+fresh > limit {
		return false
	}
	g.number(next, numbers)
	g.expand(n, next)
	return true
}

// child is a position that one move leads to.
type child struct {
	Key     amazons.Key
	canMove bool
	hash    uint64 // of key
	node    *Node  // nil: not in the tree yet
	// the numbers of a search, and the place in the order of the keys: see number
	Phi, Delta uint32
	rank       int
}

// known reports whether a search has numbers for the child.
func (c *child) known() bool { return c.Phi != 0 || c.Delta != 0 }

// successors returns the canonical positions after the moves of a node, each once, in the order of
// the first move that leads there. The slice is valid until the next call.
func (g *Graph) successors(n *Node) []child {
	s, err := n.Key.State(g.board)
	if err != nil {
		panic(fmt.Sprintf("graph: node %s: %v", NameOf(n.Key), err)) // every key was checked when it came in
	}
	g.moves = s.Moves(g.moves[:0])
	if n == g.Root && g.Restricted() {
		s = g.root.State()
		g.moves = append(g.moves[:0], g.given...)
	}
	clear(g.seen)
	g.next = g.next[:0]
	for _, m := range g.moves {
		after := s.After(m)
		k := after.CanonicalKey(g.board)
		if _, ok := g.seen[k]; ok {
			continue
		}
		g.seen[k] = struct{}{}
		g.next = append(g.next, child{Key: k, canMove: after.CanMove(), hash: hash(k)})
	}
	g.index.warm(g.next)
	for i := range g.next {
		c := &g.next[i]
		c.node = g.index.find(c.Key, c.hash)
	}
	return g.next
}

// number gives children the numbers that an encoding has for them, and reports whether it fits
// them. Otherwise nothing changes.
func (g *Graph) number(next []child, encoded []byte) bool {
	if n, err := numbers.Count(encoded); err != nil || n != len(next) {
		return false
	}
	g.order = g.order[:0]
	for i := range next {
		g.order = append(g.order, i)
	}
	slices.SortFunc(g.order, func(a, b int) int { return next[a].Key.Compare(next[b].Key) })
	for rank, i := range g.order {
		c := &next[i]
		c.rank = rank
		if c.Phi, c.Delta, encoded, _ = numbers.Next(encoded); c.known() {
			c.Phi, c.Delta = Unproved(c.Phi), Unproved(c.Delta)
		}
	}
	return true
}

// expand puts the given children under a leaf. Children that nobody has searched as leaves begin with
// the numbers that are known of them.
func (g *Graph) expand(n *Node, next []child) {
	n.Children, n.shown = make([]*Node, 0, len(next)), make([]shown, 0, len(next))
	g.begun = slices.Grow(g.begun[:0], len(next))[:len(next)]
	clear(g.begun)
	any := false
	for i := range next {
		c := &next[i]
		m := c.node
		if m == nil {
			m = g.add(c.Key, c.canMove)
		}
		switch {
		case !c.known() || m.Expanded || m.Solved() || m.Nodes > 0:
		case m.recorded:
			g.SetLeaf(m, c.Phi, c.Delta)
		default: // its numbers go into the record of n
			g.begin(m, c.Phi, c.Delta)
			g.begun[c.rank], any = numbers.Child{Phi: c.Phi, Delta: c.Delta}, true
		}
		m.parents = append(m.parents, edge{n, i})
		n.Children, n.shown = append(n.Children, m), append(n.shown, shown{m.Use, m.Phi, m.Delta})
		n.free[m.Class]++
	}
	if any {
		g.encoded = g.encoded[:0]
		for _, c := range g.begun {
			g.encoded = numbers.Put(g.encoded, c.Phi, c.Delta)
		}
		g.begins[n] = string(g.encoded)
	}
	if n.Live > 0 && !n.Solved() {
		g.Frontier--
	}
	n.Expanded = true
	n.Aside, n.Tries = false, 0
	g.Expanded++
	g.expansions++
	n.expansion = g.expansions
	g.Changed(n)
	if n.Live > 0 && !n.Solved() {
		g.enliven(n)
	}
	g.Reclass(n)
	g.queue(n)
}
