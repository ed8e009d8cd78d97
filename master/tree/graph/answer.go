package graph

import (
	"iter"
	"slices"

	"amazonsfarm/shared/amazons"
	"amazonsfarm/shared/eval"
	"amazonsfarm/shared/proof"
)

// What the answer rests on: the entries of the certificate that the master adds, and the nodes that
// were needed for it.

// WonNodes yields every expanded node that has a lost child: the entries of the
// certificate that the master itself adds. A node comes after those above it.
// Where several children are lost it takes one with a fact, with as little
// work as there is.
func (v View) WonNodes() iter.Seq[proof.Entry] {
	return func(yield func(proof.Entry) bool) {
		queue, met := []*Node{v.g.Root}, map[*Node]bool{v.g.Root: true}
		for len(queue) > 0 {
			n := queue[0]
			queue = queue[1:]
			var best *Node
			for _, c := range n.Children {
				if !met[c] {
					met[c] = true
					queue = append(queue, c)
				}
				if c.Verdict() == eval.Lost && (best == nil || v.cheaper(c, best)) {
					best = c
				}
			}
			if best != nil && !yield(proof.Entry{Key: n.Key, Move: v.moveTo(n, best)}) {
				return
			}
		}
	}
}

// cheaper says that the evidence for a is likely smaller than for b.
func (v View) cheaper(a, b *Node) bool {
	cost := func(n *Node) uint64 {
		if n.Basis == ByRules {
			return 0
		}
		if f, ok := v.g.facts[n.Key]; ok {
			return f.Nodes
		}
		return 1 << 63
	}
	return cost(a) < cost(b)
}

// moveTo returns the first move that leads from n, in the orientation of its
// key, to a child.
func (v View) moveTo(n, c *Node) amazons.Move {
	s, _ := n.Key.State(v.g.board)
	for _, m := range s.Moves(nil) {
		if s.After(m).CanonicalKey(v.g.board) == c.Key {
			return m
		}
	}
	panic("graph: no move leads to a child")
}

// Needed returns the nodes that were spent on positions of a proof, as leaves before they were
// split, and those spent on all positions of the tree. The proof is one of the answer: of a won
// position it has the lost child that took least, of a lost one all children. What a position took
// that another lease has solved on its way, as a fact, is counted where that lease was. Without an
// answer nothing is needed. It looks at the whole tree.
func (v View) Needed() (needed, all uint64) {
	for n := range v.g.index.all() {
		all = Plus(all, n.Nodes)
	}
	if !v.g.Root.Solved() {
		return 0, all
	}
	p := proofTree{cost: map[*Node]uint64{}, in: map[*Node]bool{}}
	p.enter(v.g.Root)
	for n := range p.in {
		needed = Plus(needed, n.Nodes)
	}
	return needed, all
}

// proofTree is the part of a tree that an answer stands on.
type proofTree struct {
	cost map[*Node]uint64 // nodes spent on a solved position and the proof below it; what two ways lead to counts twice
	in   map[*Node]bool
}

// below returns the children of a solved position that its outcome follows from; none where it
// follows from a fact or from the rules.
func (p *proofTree) below(n *Node) []*Node {
	if n.Verdict() == eval.Lost {
		if slices.ContainsFunc(n.Children, func(c *Node) bool { return c.Verdict() != eval.Won }) {
			return nil
		}
		return n.Children
	}
	var best *Node
	for _, c := range n.Children {
		if c.Verdict() == eval.Lost && (best == nil || p.of(c) < p.of(best)) {
			best = c
		}
	}
	if best == nil {
		return nil
	}
	return []*Node{best}
}

// of returns the cost of a solved position.
func (p *proofTree) of(n *Node) uint64 {
	if cost, ok := p.cost[n]; ok {
		return cost
	}
	cost := n.Nodes
	for _, c := range p.below(n) {
		cost = Plus(cost, p.of(c))
	}
	p.cost[n] = cost
	return cost
}

// enter takes a solved position and what it stands on into the proof.
func (p *proofTree) enter(n *Node) {
	if p.in[n] {
		return
	}
	p.in[n] = true
	for _, c := range p.below(n) {
		p.enter(c)
	}
}
