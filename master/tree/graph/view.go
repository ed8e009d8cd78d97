package graph

import (
	"cmp"
	"slices"

	"amazonsfarm/shared/amazons"
	"amazonsfarm/shared/eval"
	"amazonsfarm/shared/proof"
)

// View is what others may ask of a graph; it changes nothing.
type View struct{ g *Graph }

// View returns the view of a graph.
func (g *Graph) View() View { return View{g} }

// Position is what the graph knows of one position.
type Position struct {
	Key        amazons.Key  // canonical
	InTree     bool         // false: nothing is known but perhaps a fact
	Verdict    eval.Verdict // for its side to move
	Basis      Basis        // why; NoBasis while Verdict is Open
	Phi, Delta uint32       // for its side to move; 1 and 1 where nothing is known
	Nodes      uint64       // searched on it and on all positions below it in the tree, each counted once
	AtLeast    bool         // Nodes is not all: the tree below is too large to count to the end
	Expanded   bool         // its successors are in the tree
	Leased     bool         // a worker has it
	Aside      bool         // set aside after too many failed tries
}

// Move is one move of a position and what is known of the position after it.
type Move struct {
	Move  amazons.Move
	After Position // seen by the other side
}

// FirstMove is a move of the root and the position after it. If the root is symmetric, several of them
// share their Key.
type FirstMove struct {
	Move       amazons.Move // in the root's own orientation
	Key        amazons.Key  // of the position after it, canonical
	Verdict    eval.Verdict // of that position for its side to move: Lost means that Move wins
	Phi, Delta uint32       // of that position
	Nodes      uint64       // searched on that position itself
	Leased     bool
	Expanded   bool
}

// exploreLooks bounds how many children one Explore looks at to count nodes: some five milliseconds.
// Half is for the position itself. Its moves share the rest, so that one large move does not leave the
// others without a count.
const exploreLooks = 100_000

// Explore returns what is known of a position, in its own orientation, and of those after each of its
// moves. Moves that win come first, then open ones, then those that lose; among these, the most nodes
// first, then in the order of squares.
func (v View) Explore(s amazons.State) (Position, []Move) {
	at, looked := v.position(s.CanonicalKey(v.g.board), exploreLooks/2)
	left := exploreLooks - looked
	legal := s.Moves(nil)
	moves := make([]Move, 0, len(legal))
	for i, m := range legal {
		after, looked := v.position(s.After(m).CanonicalKey(v.g.board), left/(len(legal)-i))
		left -= looked
		if at.Verdict == eval.Lost && after.Verdict == eval.Open {
			// No node of its own says so, but all moves of a lost position lose.
			after.Verdict, after.Basis = eval.Won, ByParent
			after.Phi, after.Delta = NumbersOf(eval.Won)
		}
		moves = append(moves, Move{m, after})
	}
	rank := [...]int{eval.Lost: 0, eval.Open: 1, eval.Won: 2}
	slices.SortFunc(moves, func(a, b Move) int {
		return cmp.Or(
			cmp.Compare(rank[a.After.Verdict], rank[b.After.Verdict]),
			cmp.Compare(b.After.Nodes, a.After.Nodes),
			a.Move.Compare(b.Move))
	})
	return at, moves
}

// Line returns how a decided position is played out, as far as the graph knows. The winner plays a
// winning move, the loser the move with most nodes behind it. The line has at most most moves, and
// ends early where the next position is not known. It is empty for an undecided position.
func (v View) Line(s amazons.State, most int) []amazons.Move {
	var line []amazons.Move
	verdict, _ := v.known(s.CanonicalKey(v.g.board))
	for verdict != eval.Open && len(line) < most {
		want := eval.Lost // for the other side, after a winning move
		if verdict == eval.Lost {
			want = eval.Won
		}
		found, best := uint64(0), amazons.Move{}
		any := false
		for _, m := range s.Moves(nil) {
			o, nodes := v.known(s.After(m).CanonicalKey(v.g.board))
			if o == want && (!any || nodes > found) {
				any, found, best = true, nodes, m
			}
		}
		if !any {
			break
		}
		line, s, verdict = append(line, best), s.After(best), want
	}
	return line
}

// known returns the verdict of a position and the nodes searched on it alone.
func (v View) known(k amazons.Key) (eval.Verdict, uint64) {
	if f, ok := v.g.facts[k]; ok {
		return f.Verdict, f.Nodes
	}
	if n := v.g.Get(k); n != nil && !v.unasked(n) {
		return n.Verdict(), n.Nodes
	}
	return eval.Open, 0
}

// unasked reports whether a node is a root of which no given first move wins: nobody asked about the others, so
// nothing is known of the position.
func (v View) unasked(n *Node) bool {
	return n == v.g.Root && v.g.Restricted() && n.Verdict() == eval.Lost
}

// position returns what is known of a position, and how many children it has looked at, at most looks.
func (v View) position(k amazons.Key, looks int) (p Position, looked int) {
	p = Position{Key: k, Phi: 1, Delta: 1}
	if n := v.g.Get(k); n != nil {
		p.InTree = true
		if !v.unasked(n) {
			p.Verdict, p.Basis, p.Phi, p.Delta = n.Verdict(), n.Basis, n.Phi, n.Delta
		}
		p.Expanded, p.Leased, p.Aside = n.Expanded, n.Lease != 0, n.Aside
		p.Nodes, p.AtLeast, looked = nodesBelow(n, looks)
	}
	if f, ok := v.g.facts[k]; ok {
		p.Verdict, p.Basis = f.Verdict, ByFact
		p.Phi, p.Delta = NumbersOf(f.Verdict)
		p.Nodes = max(p.Nodes, f.Nodes)
	}
	return p, looked
}

// nodesBelow adds up the nodes of n and of what is below it. It looks at no more children than looks
// says, and returns whether some are left, and at how many it looked.
func nodesBelow(n *Node, looks int) (nodes uint64, atLeast bool, looked int) {
	if len(n.Children) == 0 {
		return n.Nodes, false, 0
	}
	seen := map[*Node]struct{}{n: {}}
	stack := []*Node{n}
	for len(stack) > 0 {
		n := stack[len(stack)-1]
		stack = stack[:len(stack)-1]
		nodes = Plus(nodes, n.Nodes)
		for _, c := range n.Children {
			if looked == looks {
				return nodes, true, looked
			}
			looked++
			if len(c.Children) == 0 && c.Nodes == 0 {
				continue
			}
			if _, ok := seen[c]; ok {
				continue
			}
			seen[c] = struct{}{}
			stack = append(stack, c)
		}
	}
	return nodes, false, looked
}

// FirstMoves returns the moves of the root, or the given first moves, in increasing order.
func (v View) FirstMoves() []FirstMove {
	state := v.g.root.State()
	moves := slices.Clone(v.g.given)
	if len(moves) == 0 {
		moves = state.Moves(nil)
	}
	slices.SortFunc(moves, amazons.Move.Compare)
	moves = slices.Compact(moves)
	out := make([]FirstMove, 0, len(moves))
	for _, m := range moves {
		f := FirstMove{Move: m, Key: state.After(m).CanonicalKey(v.g.board), Phi: 1, Delta: 1}
		if n := v.g.Get(f.Key); n != nil {
			f.Verdict, f.Phi, f.Delta, f.Nodes = n.Verdict(), n.Phi, n.Delta, n.Nodes
			f.Leased, f.Expanded = n.Lease != 0, n.Expanded
		} else if fact, ok := v.g.facts[f.Key]; ok {
			f.Verdict = fact.Verdict
			f.Phi, f.Delta = NumbersOf(f.Verdict)
		}
		out = append(out, f)
	}
	return out
}

// Fact returns the fact about a canonical key.
func (v View) Fact(k amazons.Key) (proof.Fact, bool) {
	f, ok := v.g.facts[k]
	return f, ok
}

// Decided reports whether a position is in the tree and solved, or has a fact.
func (v View) Decided(k amazons.Key) bool {
	verdict, _ := v.known(k)
	return verdict != eval.Open
}

// Open reports whether a position is in the tree and not solved.
func (v View) Open(k amazons.Key) bool {
	n := v.g.Get(k)
	return n != nil && !n.Solved()
}

// Above returns k and positions above it in the tree, the nearest first, at most limit of them. It is
// empty if k is not in the tree.
func (v View) Above(k amazons.Key, limit int) []amazons.Key {
	n := v.g.Get(k)
	if n == nil {
		return nil
	}
	queue, met := []*Node{n}, map[*Node]bool{n: true}
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
		keys[i] = n.Key
	}
	return keys
}
