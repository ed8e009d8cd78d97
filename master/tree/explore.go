package tree

import (
	"cmp"
	"slices"

	"amazonsfarm/shared/amazons"
)

// Effort is how many nodes of search lie behind a position.
type Effort struct {
	Nodes uint64 // of the position and all those below it in the tree, each counted once
	// AtLeast says that the tree below was too large to be counted to the end.
	AtLeast bool
}

// Position is what the tree knows of one position.
type Position struct {
	Key        amazons.Key // canonical
	InTree     bool        // false: nothing is known but perhaps a fact
	Outcome    Outcome     // for its side to move
	Basis      Basis       // why; NoBasis while Outcome is Unknown
	Phi, Delta uint32      // for its side to move; 1 and 1 where nothing is known
	Effort     Effort
	Expanded   bool // its successors are in the tree
	Leased     bool // a worker has it
	Aside      bool // set aside after too many losses
}

// Move is one move of a position and what is known of the position after it.
type Move struct {
	Move  amazons.Move
	After Position // seen by the other side
}

// exploreVisits bounds the positions that one Explore goes over to count efforts: some ten milliseconds.
const exploreVisits = 200_000

// Explore returns what is known of a position, in its own orientation, and of those after each of its moves: first the moves that
// win, then those that are open, then those that lose; among these, the most effort first, and in the order of squares where that is equal.
func (t *Tree) Explore(s amazons.State) (Position, []Move) {
	visits := exploreVisits
	at := t.position(s.CanonicalKey(t.cfg.Board), &visits)
	var moves []Move
	for _, m := range s.Moves(nil) {
		after := t.position(s.After(m).CanonicalKey(t.cfg.Board), &visits)
		if at.Outcome == Lost && after.Outcome == Unknown {
			// No node of its own says so, but all moves of a lost position lose.
			after.Outcome, after.Basis, after.Phi, after.Delta = Won, ByParent, 0, Infinity
		}
		moves = append(moves, Move{m, after})
	}
	rank := [...]int{Lost: 0, Unknown: 1, Won: 2}
	slices.SortFunc(moves, func(a, b Move) int {
		return cmp.Or(
			cmp.Compare(rank[a.After.Outcome], rank[b.After.Outcome]),
			cmp.Compare(b.After.Effort.Nodes, a.After.Effort.Nodes),
			cmp.Compare(a.Move.From, b.Move.From), cmp.Compare(a.Move.To, b.Move.To), cmp.Compare(a.Move.Arrow, b.Move.Arrow))
	})
	return at, moves
}

func (t *Tree) position(k amazons.Key, visits *int) Position {
	p := Position{Key: k, Phi: 1, Delta: 1}
	if n := t.byKey[k]; n != nil {
		p.InTree, p.Outcome, p.Basis, p.Phi, p.Delta = true, n.outcome(), n.basis, n.phi, n.delta
		p.Expanded, p.Leased, p.Aside = n.expanded, n.lease != nil, n.aside
		p.Effort = effort(n, visits)
	}
	if f, ok := t.facts[k]; ok {
		p.Outcome, p.Basis = f.Outcome, ByFact
		p.Phi, p.Delta = 0, Infinity
		if f.Outcome == Lost {
			p.Phi, p.Delta = Infinity, 0
		}
		p.Effort.Nodes = max(p.Effort.Nodes, f.Work)
	}
	return p
}

// effort adds up the work of n and what is below it, visiting no more nodes than visits says, which it counts down.
func effort(n *node, visits *int) (e Effort) {
	if len(n.children) == 0 {
		return Effort{Nodes: n.work}
	}
	seen := map[*node]struct{}{n: {}}
	stack := []*node{n}
	for len(stack) > 0 {
		n := stack[len(stack)-1]
		stack = stack[:len(stack)-1]
		e.Nodes = plus(e.Nodes, n.work)
		for _, c := range n.children {
			if len(c.children) == 0 && c.work == 0 {
				continue
			}
			if _, ok := seen[c]; ok {
				continue
			}
			if *visits--; *visits < 0 {
				e.AtLeast = true
				return e
			}
			seen[c] = struct{}{}
			stack = append(stack, c)
		}
	}
	return e
}
