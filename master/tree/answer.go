package tree

import (
	"iter"
	"slices"

	"amazonsfarm/shared/amazons"
	"amazonsfarm/shared/eval"
)

// What the answer rests on: the entries of the certificate that the master adds, and the nodes that
// were needed for it.

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

// Needed returns the nodes that were spent on positions of a proof, as leaves before they were
// split, and those spent on all positions of the tree. The proof is one of the answer: of a won
// position it has the lost child that took least, of a lost one all children. What a position took
// that another lease has solved on its way, as a fact, is counted where that lease was. Without an
// answer nothing is needed. It looks at the whole tree.
func (t *Tree) Needed() (needed, all uint64) {
	for n := range t.index.all() {
		all = plus(all, n.nodes)
	}
	if !t.root.solved() {
		return 0, all
	}
	p := proofTree{cost: map[*node]uint64{}, in: map[*node]bool{}}
	p.enter(t.root)
	for n := range p.in {
		needed = plus(needed, n.nodes)
	}
	return needed, all
}

// proofTree is the part of a tree that an answer stands on.
type proofTree struct {
	cost map[*node]uint64 // nodes spent on a solved position and the proof below it; what two ways lead to counts twice
	in   map[*node]bool
}

// below returns the children of a solved position that its outcome follows from; none where it
// follows from a fact or from the rules.
func (p *proofTree) below(n *node) []*node {
	if n.verdict() == eval.Lost {
		if slices.ContainsFunc(n.children, func(c *node) bool { return c.verdict() != eval.Won }) {
			return nil
		}
		return n.children
	}
	var best *node
	for _, c := range n.children {
		if c.verdict() == eval.Lost && (best == nil || p.of(c) < p.of(best)) {
			best = c
		}
	}
	if best == nil {
		return nil
	}
	return []*node{best}
}

// of returns the cost of a solved position.
func (p *proofTree) of(n *node) uint64 {
	if cost, ok := p.cost[n]; ok {
		return cost
	}
	cost := n.nodes
	for _, c := range p.below(n) {
		cost = plus(cost, p.of(c))
	}
	p.cost[n] = cost
	return cost
}

// enter takes a solved position and what it stands on into the proof.
func (p *proofTree) enter(n *node) {
	if p.in[n] {
		return
	}
	p.in[n] = true
	for _, c := range p.below(n) {
		p.enter(c)
	}
}
