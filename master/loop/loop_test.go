package loop

import "testing"

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
