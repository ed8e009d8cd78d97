package graph

import (
	"slices"
	"testing"

	"amazonsfarm/shared/amazons"
	"amazonsfarm/shared/eval"
	"amazonsfarm/shared/proof"
)

// TestExplore asks about positions of a small tree whose numbers are known.
func TestExplore(t *testing.T) {
	root := position(t, ".B../..../..../..W. w")
	g, s := New(root, nil, 1000), root.State()
	tr := g.View()
	at, moves := tr.Explore(s)
	if !at.InTree || at.Verdict != eval.Open || at.Nodes != 0 || at.AtLeast || len(moves) != s.CountMoves() {
		t.Fatalf("a new tree knows %+v and %d moves of %d", at, len(moves), s.CountMoves())
	}
	// Facts about two of the moves; nodes counted over two layers, a shared position once.
	n := g.Root
	next := g.successors(n)
	for i := range next {
		next[i].Phi, next[i].Delta, next[i].rank = 3, 5, i
	}
	g.expand(n, next)
	a, b := n.Children[0], n.Children[1]
	a.Nodes, b.Nodes = 100, 7
	g.expand(a, g.successors(a))
	a.Children[0].Nodes = 11
	g.facts[n.Children[2].Key] = proof.Fact{Key: n.Children[2].Key, Verdict: eval.Lost, Nodes: 50}
	at, moves = tr.Explore(s)
	if at.Nodes != 118 || at.AtLeast || !at.Expanded {
		t.Errorf("the root has %+v, want 118 nodes", at)
	}
	if m := moves[0].After; m.Key != n.Children[2].Key || m.Verdict != eval.Lost || m.Phi != Infinity || m.Delta != 0 ||
		m.Nodes != 50 || m.Basis != ByFact {
		t.Errorf("the winning move does not come first: %+v", moves[0])
	}
	if m := moves[1].After; m.Key != a.Key || m.Nodes != 111 || !m.Expanded {
		t.Errorf("the open move with most nodes does not come next: %+v", moves[1])
	}
	if m := moves[len(moves)-1]; m.After.Nodes != 0 || m.After.Phi != 3 || m.After.Delta != 5 {
		t.Errorf("the last move is %+v", m)
	}
	for _, looks := range []int{0, 1, len(n.Children) - 1} {
		if nodes, atLeast, looked := nodesBelow(n, looks); !atLeast || looked != looks {
			t.Errorf("with %d looks there are %d nodes after %d", looks, nodes, looked)
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
		if g.Get(q.CanonicalKey(root.Board)) != nil {
			continue
		}
		if at, _ := tr.Explore(q); at.InTree || at.Phi != 1 || at.Verdict != eval.Open || at.Nodes != 0 {
			t.Errorf("a strange position has %+v", at)
		}
		return
	}
	t.Error("every position two moves on is in the tree")
}

// TestExploreGiven: where no given first move wins, nothing is said of the position and of its other moves.
func TestExploreGiven(t *testing.T) {
	root := position(t, ".B../..../..../..W. w")
	s := root.State()
	given := s.Moves(nil)[0]
	g := New(root, []amazons.Move{given}, 1000)
	g.expand(g.Root, g.successors(g.Root))
	key := s.After(given).CanonicalKey(root.Board)
	g.Enter(proof.Fact{Key: key, Verdict: eval.Won}, "")
	g.Propagate()
	if g.Root.Verdict() != eval.Lost {
		t.Fatal("the question is not settled")
	}
	at, moves := g.View().Explore(s)
	if at.Verdict != eval.Open || at.Basis != NoBasis || at.Phi != 1 || at.Delta != 1 || !at.InTree {
		t.Errorf("the position: %+v", at)
	}
	for _, m := range moves {
		if want := m.After.Key == key; (m.After.Verdict == eval.Won) != want || !want && m.After.Verdict != eval.Open {
			t.Errorf("%v: %+v", m.Move, m.After)
		}
	}
	if line := g.View().Line(s, 10); len(line) > 0 {
		t.Errorf("it is played out: %v", line)
	}
}

// TestLine plays out a position whose winning move and one reply to it are known.
func TestLine(t *testing.T) {
	root := position(t, ".B../..../..../..W. w")
	g, s := New(root, nil, 1000), root.State()
	tr := g.View()
	if line := tr.Line(s, 10); len(line) != 0 {
		t.Errorf("an open position is played out by %v", line)
	}
	fact := func(s amazons.State, o eval.Verdict, work uint64) {
		k := s.CanonicalKey(root.Board)
		g.facts[k] = proof.Fact{Key: k, Verdict: o, Nodes: work}
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
