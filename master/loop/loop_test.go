package loop

import (
	"testing"

	"amazonsfarm/master/tree"
)

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
