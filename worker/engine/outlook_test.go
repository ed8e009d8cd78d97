package engine

import (
	"testing"

	"amazonsfarm/shared/eval"
)

// TestOutlook holds that an outlook shows of a position what a search knows: each move once, moves that
// were not searched without numbers, and how much of the work has led to decisions.
func TestOutlook(t *testing.T) {
	if testing.Short() {
		t.Skip("one goroutine: nothing for the race detector to find")
	}
	p := position(t, "..B../...../B...W/...../..W.. w")
	e := engineFor(t, Config{Board: p.Board, Cores: 1, TableBytes: 64 << 20})
	if o := e.outlook(p.State()); o.Evidence != 0 {
		t.Errorf("before any search, %.2f of it is evidence", o.Evidence)
	}
	searched := 0
	for range 400 {
		r, err := e.Run(t.Context(), Job{State: p.State(), Budget: 500}, nil)
		if err != nil {
			t.Fatal(err)
		}
		o := e.outlook(p.State())
		if n := len(p.State().Moves(nil)); len(o.Children) != n {
			t.Fatalf("%d moves of %d", len(o.Children), n)
		}
		if r.Verdict != eval.Open {
			if won := r.Verdict == eval.Won; won != (o.Phi == 0) || o.Evidence < 0.5 {
				t.Errorf("the position is %v, the outlook %d/%d, %.2f evidence", r.Verdict, o.Phi, o.Delta, o.Evidence)
			}
			break
		}
		n := 0
		for _, c := range o.Children {
			if c.Phi+c.Delta > 0 {
				n++
			}
		}
		searched = max(searched, n)
		if o.Phi == 0 || o.Delta == 0 || o.Evidence < 0 || o.Evidence > 1 {
			t.Errorf("of an open position: %d/%d, %.2f evidence", o.Phi, o.Delta, o.Evidence)
		}
	}
	if searched == 0 {
		t.Error("no move was searched")
	}
}
