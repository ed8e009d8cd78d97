package tree

import (
	"slices"

	"amazonsfarm/shared/eval"
)

// Needed returns the nodes that were spent on positions of a proof, as leaves before they were
// split, and those spent on all positions of the tree. The proof is one of the answer: of a won
// position it has the lost child that took least, of a lost one all children. What a position took
// that another lease has solved on its way, as a fact, is counted where that lease was. Without an
// answer nothing is needed. It looks at the whole tree.
func (t *Tree) Needed() (needed, all uint64) {
	for n := range t.nodes.all() {
		all = plus(all, n.work)
	}
	if !t.root.solved() {
		return 0, all
	}
	p := proofTree{cost: map[*node]uint64{}, in: map[*node]bool{}}
	p.enter(t.root)
	for n := range p.in {
		needed = plus(needed, n.work)
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
	cost := n.work
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
