package tree

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"

	"amazonsfarm/shared/amazons"
	"amazonsfarm/shared/eval"
	"amazonsfarm/shared/proof"
)

// TestExplore asks about positions of a small tree whose numbers are known.
func TestExplore(t *testing.T) {
	root := position(t, ".B../..../..../..W. w")
	tr, s := small(t, Config{Root: root}), root.State()
	at, moves := tr.Explore(s)
	if !at.InTree || at.Verdict != eval.Open || at.Effort != (Effort{}) || len(moves) != s.CountMoves() {
		t.Fatalf("a new tree knows %+v and %d moves of %d", at, len(moves), s.CountMoves())
	}
	// Facts about two of the moves; effort counted over two layers, a shared position once.
	n := tr.root
	next := tr.successors(n)
	for i := range next {
		next[i].phi, next[i].delta, next[i].rank = 3, 5, i
	}
	tr.expand(n, next)
	a, b := n.children[0], n.children[1]
	a.nodes, b.nodes = 100, 7
	tr.expand(a, tr.successors(a))
	a.children[0].nodes = 11
	tr.facts[n.children[2].key] = proof.Fact{Key: n.children[2].key, Verdict: eval.Lost, Nodes: 50}
	at, moves = tr.Explore(s)
	if at.Effort != (Effort{Nodes: 118}) || !at.Expanded {
		t.Errorf("the root has %+v, want 118 nodes", at)
	}
	if m := moves[0].After; m.Key != n.children[2].key || m.Verdict != eval.Lost || m.Phi != Infinity || m.Delta != 0 ||
		m.Effort.Nodes != 50 || m.Basis != ByFact {
		t.Errorf("the winning move does not come first: %+v", moves[0])
	}
	if m := moves[1].After; m.Key != a.key || m.Effort.Nodes != 111 || !m.Expanded {
		t.Errorf("the open move with most work does not come next: %+v", moves[1])
	}
	if m := moves[len(moves)-1]; m.After.Effort.Nodes != 0 || m.After.Phi != 3 || m.After.Delta != 5 {
		t.Errorf("the last move is %+v", m)
	}
	for _, looks := range []int{0, 1, len(n.children) - 1} {
		if e, looked := effort(n, looks); !e.AtLeast || looked != looks {
			t.Errorf("with %d looks the effort is %+v after %d", looks, e, looked)
		}
	}
	// All moves of a lost position lose.
	if _, replies := tr.Explore(s.After(moves[0].Move)); len(replies) == 0 || replies[0].After.Verdict != eval.Won ||
		replies[0].After.Basis != ByParent {
		t.Errorf("the replies to the winning move: %+v", replies)
	}
	// What is not in the tree.
	p := root.After(moves[0].Move)
	for _, m := range p.State().Moves(nil) {
		q := p.After(m).State()
		if tr.index.get(q.CanonicalKey(root.Board)) != nil {
			continue
		}
		if at, _ := tr.Explore(q); at.InTree || at.Phi != 1 || at.Verdict != eval.Open || at.Effort.Nodes != 0 {
			t.Errorf("a strange position has %+v", at)
		}
		return
	}
	t.Error("every position two moves on is in the tree")
}

// TestLine plays out a position whose winning move and one reply to it are known.
func TestLine(t *testing.T) {
	root := position(t, ".B../..../..../..W. w")
	tr, s := small(t, Config{Root: root}), root.State()
	if line := tr.Line(s, 10); len(line) != 0 {
		t.Errorf("an open position is played out by %v", line)
	}
	fact := func(s amazons.State, o eval.Verdict, work uint64) {
		k := s.CanonicalKey(root.Board)
		tr.facts[k] = proof.Fact{Key: k, Verdict: o, Nodes: work}
	}
	win := s.Moves(nil)[3]
	lost := s.After(win)
	replies := lost.Moves(nil)
	fact(s, eval.Won, 100)
	fact(lost, eval.Lost, 90)
	fact(lost.After(replies[1]), eval.Won, 10)
	fact(lost.After(replies[5]), eval.Won, 70)
	want := []amazons.Move{win, replies[5]}
	for most := range 4 {
		if line := tr.Line(s, most); !slices.Equal(line, want[:min(most, 2)]) {
			t.Errorf("at most %d moves: %v, want %v", most, line, want[:min(most, 2)])
		}
	}
}

// BenchmarkExplore is the root of a large tree: it must not cost more than a fixed number of looks.
// It also asks for the status.
func BenchmarkExplore(b *testing.B) {
	for _, nodes := range []int{1_000_000, 5_000_000} {
		b.Run(fmt.Sprintf("6x6/nodes=%d", nodes), func(b *testing.B) {
			tree, _ := grown(b, nodes, rand.New(rand.NewPCG(1, 1)))
			s := tree.cfg.Root.State()
			for b.Loop() {
				if at, moves := tree.Explore(s); !at.Effort.AtLeast || len(moves) == 0 {
					b.Fatalf("explored %+v and %d moves", at, len(moves))
				}
				if tree.Status().Nodes < nodes {
					b.Fatal("the tree is too small")
				}
			}
		})
	}
}
