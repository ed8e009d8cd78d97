package tree

import "amazonsfarm/shared/eval"

// What follows from a leaf is computed upward: first the nodes above it are put in line, then
// propagate computes them layer by layer, each at most once.

// solve fixes the outcome of an unsolved node.
func (t *Tree) solve(n *node, o eval.Verdict, b Basis) {
	n.phi, n.delta = numbersOf(o)
	n.basis = b
	if n.live > 0 {
		if n.expanded {
			t.deaden(n)
		} else {
			t.frontier--
		}
	}
	if n.lease != nil {
		t.closed = append(t.closed, n.lease)
	}
	t.reclass(n)
	t.show(n)
}

// show tells the parents of n what they see of it, and puts them in line.
func (t *Tree) show(n *node) {
	for _, p := range n.parents {
		p.node.shown[p.i] = shown{n.use, n.phi, n.delta}
		t.queue(p.node)
	}
}

// queue puts n in line to have its numbers computed.
func (t *Tree) queue(n *node) {
	if !n.queued {
		n.queued = true
		t.dirty[n.layer] = append(t.dirty[n.layer], n)
	}
}

// propagate computes the numbers of all nodes in line, and of their ancestors as far as something
// changes. A parent has one burnt square less, so one pass from the deepest layer up is enough.
func (t *Tree) propagate() {
	for layer := len(t.dirty) - 1; layer >= 0; layer-- {
		for _, n := range t.dirty[layer] {
			n.queued = false
			t.compute(n)
		}
		clear(t.dirty[layer])
		t.dirty[layer] = t.dirty[layer][:0]
	}
}

// compute brings the numbers of n in line with its children. If n is solved already, both outcomes
// are compared.
func (t *Tree) compute(n *node) {
	if !n.expanded {
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
	if n == t.root && t.restricted() && derived == eval.Won {
		if f, ok := t.facts[n.key]; ok && f.Verdict == eval.Lost {
			t.contradict(n.key, Claim{Verdict: eval.Lost, Basis: ByFact, Fact: f}, Claim{Verdict: eval.Won, Basis: ByChildren})
		}
	}
	if n.solved() {
		if derived != eval.Open && derived != n.verdict() {
			t.contradict(n.key, t.claimOf(n), Claim{Verdict: derived, Basis: ByChildren})
		}
		return
	}
	if derived != eval.Open {
		t.solve(n, derived, ByChildren)
		return
	}
	changed := phi != n.phi || delta != n.delta
	n.phi, n.delta = phi, delta
	if use := t.usefulness(n); use != n.use {
		n.use, changed = use, true
	}
	if changed {
		t.show(n)
	}
}

// restricted reports whether the question is about given first moves only. Then the root is "lost"
// in the tree when none of them wins, which proves nothing about the position: facts about it are
// kept, but do not solve the root.
func (t *Tree) restricted() bool { return len(t.cfg.FirstMoves) > 0 }

// A node matters while some path of unsolved nodes leads from the root to it. live counts the parents
// on such paths. Each edge of the graph is cut once, when the node above it is solved or dies. So
// expansions pay for closing, and its cost does not grow with the tree.

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

// deaden subtracts n, solved or dead now, from its children's live parents.
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

// classOf returns the class of n, as its state and its children's classes have it.
func classOf(n *node) class {
	switch {
	case n.solved():
		return locked
	case n.expanded && n.free[open] > 0:
		return open
	case n.expanded && n.free[lastly] > 0:
		return lastly
	case n.expanded || n.lease != nil || n.unchecked:
		return locked
	case n.aside:
		return lastly
	}
	return open
}

// reclass computes the class of n and, if it changes, of the nodes above.
func (t *Tree) reclass(n *node) {
	old, c := n.class, classOf(n)
	if c == old {
		return
	}
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
