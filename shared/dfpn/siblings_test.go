package dfpn

import (
	"testing"

	"amazonsfarm/shared/amazons"
	"amazonsfarm/shared/eval"
)

// TestSearchBelow: a position that is searched below another one takes fewer nodes in all than by
// itself where the table has the proofs of its siblings, and the same verdict.
func TestSearchBelow(t *testing.T) {
	start, err := amazons.Start(amazons.Board{Width: 5, Height: 5})
	if err != nil {
		t.Fatal(err)
	}
	first, err := start.ParseMove("B1-B3xD3") // it wins, so each reply is refuted
	if err != nil {
		t.Fatal(err)
	}
	parent := start.After(first).State()
	var alone, below uint64
	a, b := newSearcher(t, start.Board, newTable(t, 64<<20), 1), newSearcher(t, start.Board, newTable(t, 64<<20), 1)
	for _, m := range parent.Moves(nil) {
		x, y := a.Search(t.Context(), parent.After(m), 0), b.SearchBelow(t.Context(), &parent, parent.After(m), 0)
		if x.Verdict != eval.Won || y.Verdict != eval.Won {
			t.Fatalf("after %v: %v alone, %v below", m, x.Verdict, y.Verdict)
		}
		alone, below = alone+x.Nodes, below+y.Nodes
	}
	if below >= alone {
		t.Errorf("%d nodes below, %d alone", below, alone)
	}
	t.Logf("%d nodes alone, %d below", alone, below)
}
