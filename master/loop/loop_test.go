package loop

import (
	"strings"
	"testing"

	"amazonsfarm/master/tree"
	"amazonsfarm/master/tree/graph"
	"amazonsfarm/shared/amazons"
	"amazonsfarm/shared/eval"
)

// TestDecide: an answer says of first moves what the tree does not know of them, and nothing of those that may win too.
func TestDecide(t *testing.T) {
	root, err := amazons.ParsePosition("4x4")
	if err != nil {
		t.Fatal(err)
	}
	moves, err := root.ParseMoves([]string{"B1-B2xB1", "B1-B2xA1", "C1-C2xC1"})
	if err != nil {
		t.Fatal(err)
	}
	wins := &Conclusion{WinningMoves: []string{"B1-B2xA1"}}
	for _, c := range []struct {
		status     tree.Status
		conclusion *Conclusion
		want       string // of the positions after the moves; the tree knows the last one
	}{
		{tree.Status{}, nil, "open open won"},
		{tree.Status{Verdict: eval.Won}, nil, "open open won"},
		{tree.Status{Verdict: eval.Won}, wins, "open lost won"},
		{tree.Status{Verdict: eval.Lost}, new(Conclusion), "won won won"},
		{tree.Status{NoGivenMoveWins: true}, nil, "won won won"},
	} {
		v := View{Tree: c.status, Conclusion: c.conclusion}
		for _, m := range moves {
			v.Tree.FirstMoves = append(v.Tree.FirstMoves, graph.FirstMove{Move: m, Phi: 1, Delta: 1})
		}
		v.Tree.FirstMoves[2].Verdict = eval.Won
		v.decide()
		var got []string
		for _, f := range v.Tree.FirstMoves {
			got = append(got, f.Verdict.String())
		}
		if text := strings.Join(got, " "); text != c.want {
			t.Errorf("%+v: %s, want %s", c, text, c.want)
		}
	}
}

// TestTickTurn: a tick waits for what was there before it, and for nothing else.
func TestTickTurn(t *testing.T) {
	var turn tickTurn
	for i, step := range []struct {
		due   int // messages that wait when a tick is due; -1: none is
		taken int
		want  bool
	}{
		{-1, 5, false},
		{0, 0, true},
		{0, 3, true}, // they came after it
		{-1, 1, false},
		{10, 4, false},
		{50, 4, false}, // one with that before
		{-1, 2, true},
		{-1, 9, false},
		{7, 7, true},
	} {
		if step.due >= 0 {
			turn.due(step.due)
		}
		if got := turn.after(step.taken); got != step.want {
			t.Errorf("step %d: tick %v, want %v", i, got, step.want)
		}
	}
}

// TestPhaseOfAnotherCampaign: a worker without a lease counts only for the campaign for which it delivers.
func TestPhaseOfAnotherCampaign(t *testing.T) {
	l := new(Loop)
	l.crew.byName = map[string]*Session{"w": {phase: Phase{Name: "delivering", Done: 3, Total: 9}, phaseIn: 1}}
	for number, want := range map[uint32]string{1: "delivering", 2: ""} {
		c := &campaign{About: &About{Number: number}}
		if p := l.phaseOf(c, []tree.WorkerStatus{{Name: "w"}}); p.Name != want {
			t.Errorf("campaign %d: %+v", number, p)
		}
	}
}
