package graph

import "amazonsfarm/shared/eval"

// What follows from a leaf is computed upward: first the nodes above it are put in line, then
// Propagate computes them layer by layer, each at most once.

// solve fixes the outcome of an unsolved node.
func (g *Graph) solve(n *Node, o eval.Verdict, b Basis) {
	n.Phi, n.Delta = NumbersOf(o)
	n.Basis = b
	if n.Live > 0 {
		if n.Expanded {
			g.deaden(n)
		} else {
			g.Frontier--
		}
	}
	if n.Lease != 0 {
		g.Closed = append(g.Closed, n)
	}
	g.Reclass(n)
	g.show(n)
}

// show tells the parents of n what they see of it, and puts them in line.
func (g *Graph) show(n *Node) {
	for _, p := range n.parents {
		p.node.shown[p.i] = shown{n.Use, n.Phi, n.Delta}
		g.queue(p.node)
	}
}

// queue puts n in line to have its numbers computed.
func (g *Graph) queue(n *Node) {
	if !n.queued {
		n.queued = true
		g.dirty[n.Layer] = append(g.dirty[n.Layer], n)
	}
}

// Propagate computes the numbers of all nodes in line, and of their ancestors as far as something
// changes. A parent has one burnt square less, so one pass from the deepest layer up is enough.
func (g *Graph) Propagate() {
	for layer := len(g.dirty) - 1; layer >= 0; layer-- {
		for _, n := range g.dirty[layer] {
			n.queued = false
			g.compute(n)
		}
		clear(g.dirty[layer])
		g.dirty[layer] = g.dirty[layer][:0]
	}
}

// compute brings the numbers of n in line with its children. If n is solved already, both outcomes
// are compared.
func (g *Graph) compute(n *Node) {
	if !n.Expanded {
		return
	}
	phi, delta := combine(n)
	derived := eval.Open
	switch {
	case phi == 0:
		derived = eval.Won
	case delta == 0:
		derived = eval.Lost
	}
	if n == g.Root && g.Restricted() && derived == eval.Won {
		if f, ok := g.facts[n.Key]; ok && f.Verdict == eval.Lost {
			g.contradict(n.Key, claimOfFact(f, ""), Claim{Verdict: eval.Won, Basis: ByChildren})
		}
	}
	if n.Solved() {
		if derived != eval.Open && derived != n.Verdict() {
			g.contradict(n.Key, g.claimOf(n), Claim{Verdict: derived, Basis: ByChildren})
		}
		return
	}
	if derived != eval.Open {
		g.solve(n, derived, ByChildren)
		return
	}
	changed := phi != n.Phi || delta != n.Delta
	n.Phi, n.Delta = phi, delta
	if use := g.usefulness(n); use != n.Use {
		n.Use, changed = use, true
	}
	if changed {
		g.show(n)
	}
}

// A node matters while some path of unsolved nodes leads from the root to it. live counts the parents
// on such paths. Each edge of the graph is cut once, when the node above it is solved or dies. So
// expansions pay for closing, and its cost does not grow with the tree.

// enliven counts n, unsolved and now live, for its children.
func (g *Graph) enliven(n *Node) {
	for _, c := range n.Children {
		c.Live++
		if c.Live > 1 || c.Solved() {
			continue
		}
		if c.Expanded {
			g.enliven(c)
		} else {
			g.Frontier++
		}
	}
}

// deaden subtracts n, solved or dead now, from its children's live parents.
func (g *Graph) deaden(n *Node) {
	for _, c := range n.Children {
		c.Live--
		if c.Live > 0 || c.Solved() {
			continue
		}
		if c.Expanded {
			g.deaden(c)
			continue
		}
		g.Frontier--
		if c.Lease != 0 {
			g.Closed = append(g.Closed, c)
		}
	}
}

// classOf returns the class of n, as its state and its children's classes have it.
func classOf(n *Node) Class {
	switch {
	case n.Solved():
		return Locked
	case n.Expanded && n.free[Open] > 0:
		return Open
	case n.Expanded && n.free[Lastly] > 0:
		return Lastly
	case n.Expanded || n.Lease != 0 || n.Unchecked:
		return Locked
	case n.Aside:
		return Lastly
	}
	return Open
}

// Reclass computes the class of n and, if it changes, of the nodes above.
func (g *Graph) Reclass(n *Node) {
	old, c := n.Class, classOf(n)
	if c == old {
		return
	}
	n.Class = c
	if use := 0.0; !n.Expanded || c != Open {
		if !n.Expanded && c == Open {
			use = 1
		}
		n.Use = use
		g.show(n)
	}
	for _, p := range n.parents {
		p.node.free[old]--
		p.node.free[c]++
		g.Reclass(p.node)
	}
}
