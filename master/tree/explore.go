package tree

import (
	"cmp"
	"slices"

	"amazonsfarm/shared/amazons"
	"amazonsfarm/shared/eval"
	"amazonsfarm/shared/proof"
)

// Effort is how many nodes of search lie behind a position.
type Effort struct {
	Nodes uint64 // of the position and all those below it in the tree, each counted once
	// AtLeast says that the tree below was too large to be counted to the end.
	AtLeast bool
}

// Position is what the tree knows of one position.
type Position struct {
	Key        amazons.Key  // canonical
	InTree     bool         // false: nothing is known but perhaps a fact
	Verdict    eval.Verdict // for its side to move
	Basis      Basis        // why; NoBasis while Outcome is eval.Open
	Phi, Delta uint32       // for its side to move; 1 and 1 where nothing is known
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

// exploreLooks bounds how often one Explore looks at a child to count efforts, whatever the size of
// the tree: some five milliseconds. Half of it is for the position itself, the rest is shared among
// its moves, so that one large move does not leave the others without a count.
const exploreLooks = 100_000

// Explore returns what is known of a position, in its own orientation, and of those after each of
// its moves: first the moves that win, then those that are open, then those that lose; among these,
// the most effort first, and in the order of squares where that is equal.
func (t *Tree) Explore(s amazons.State) (Position, []Move) {
	at, looked := t.position(s.CanonicalKey(t.board), exploreLooks/2)
	left := exploreLooks - looked
	legal := s.Moves(nil)
	moves := make([]Move, 0, len(legal))
	for i, m := range legal {
		after, looked := t.position(s.After(m).CanonicalKey(t.board), left/(len(legal)-i))
		left -= looked
		if at.Verdict == eval.Lost && after.Verdict == eval.Open {
			// No node of its own says so, but all moves of a lost position lose.
			after.Verdict, after.Basis = eval.Won, ByParent
			after.Phi, after.Delta = numbersOf(eval.Won)
		}
		moves = append(moves, Move{m, after})
	}
	rank := [...]int{eval.Lost: 0, eval.Open: 1, eval.Won: 2}
	slices.SortFunc(moves, func(a, b Move) int {
		return cmp.Or(
			cmp.Compare(rank[a.After.Verdict], rank[b.After.Verdict]),
			cmp.Compare(b.After.Effort.Nodes, a.After.Effort.Nodes),
			cmp.Compare(a.Move.From, b.Move.From), cmp.Compare(a.Move.To, b.Move.To),
			cmp.Compare(a.Move.Arrow, b.Move.Arrow))
	})
	return at, moves
}

// Line returns how a decided position is played out, as far as the tree knows: the winner plays a
// winning move, the loser the one with most work behind it. It has at most most moves, ends early
// where the next position is not known, and is empty for an undecided position. The first move for
// a side that wins is the refutation of the move before.
func (t *Tree) Line(s amazons.State, most int) []amazons.Move {
	var line []amazons.Move
	outcome, _ := t.known(s.CanonicalKey(t.board))
	for outcome != eval.Open && len(line) < most {
		want := eval.Lost // for the other side, after a winning move
		if outcome == eval.Lost {
			want = eval.Won
		}
		found, best := uint64(0), amazons.Move{}
		any := false
		for _, m := range s.Moves(nil) {
			if o, work := t.known(s.After(m).CanonicalKey(t.board)); o == want && (!any || work > found) {
				any, found, best = true, work, m
			}
		}
		if !any {
			break
		}
		line, s, outcome = append(line, best), s.After(best), want
	}
	return line
}

// known returns the outcome of a position and the work on it alone, without a look at what is below it.
func (t *Tree) known(k amazons.Key) (eval.Verdict, uint64) {
	if f, ok := t.facts[k]; ok {
		return f.Verdict, f.Nodes
	}
	if n := t.index.get(k); n != nil {
		return n.verdict(), n.nodes
	}
	return eval.Open, 0
}

// position returns what is known of a position, and how many children it has looked at, at most looks.
func (t *Tree) position(k amazons.Key, looks int) (p Position, looked int) {
	p = Position{Key: k, Phi: 1, Delta: 1}
	if n := t.index.get(k); n != nil {
		p.InTree, p.Verdict, p.Basis, p.Phi, p.Delta = true, n.verdict(), n.basis, n.phi, n.delta
		p.Expanded, p.Leased, p.Aside = n.expanded, n.lease != nil, n.aside
		p.Effort, looked = effort(n, looks)
	}
	if f, ok := t.facts[k]; ok {
		p.Verdict, p.Basis = f.Verdict, ByFact
		p.Phi, p.Delta = numbersOf(f.Verdict)
		p.Effort.Nodes = max(p.Effort.Nodes, f.Nodes)
	}
	return p, looked
}

// effort adds up the work of n and what is below it. It looks at no more children than looks says,
// and returns at how many it did.
func effort(n *node, looks int) (e Effort, looked int) {
	if len(n.children) == 0 {
		return Effort{Nodes: n.nodes}, 0
	}
	seen := map[*node]struct{}{n: {}}
	stack := []*node{n}
	for len(stack) > 0 {
		n := stack[len(stack)-1]
		stack = stack[:len(stack)-1]
		e.Nodes = plus(e.Nodes, n.nodes)
		for _, c := range n.children {
			if looked == looks {
				e.AtLeast = true
				return e, looked
			}
			looked++
			if len(c.children) == 0 && c.nodes == 0 {
				continue
			}
			if _, ok := seen[c]; ok {
				continue
			}
			seen[c] = struct{}{}
			stack = append(stack, c)
		}
	}
	return e, looked
}

// Fact returns what is known by certificate about a canonical key.
func (t *Tree) Fact(k amazons.Key) (proof.Fact, bool) {
	f, ok := t.facts[k]
	return f, ok
}

// Decided reports whether a position is in the tree and solved, or is a fact.
func (t *Tree) Decided(k amazons.Key) bool {
	o, _ := t.known(k)
	return o != eval.Open
}

// Open reports whether a position is in the tree and not solved.
func (t *Tree) Open(k amazons.Key) bool {
	n := t.index.get(k)
	return n != nil && n.basis == NoBasis
}

// Above returns k and positions above it in the tree, the nearest first, at most limit of them;
// none if k is not in the tree.
func (t *Tree) Above(k amazons.Key, limit int) []amazons.Key {
	n := t.index.get(k)
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
