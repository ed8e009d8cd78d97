package loop

import (
	"testing"
	"time"

	"amazonsfarm/shared/proof"
)

func TestRecent(t *testing.T) {
	var r recent
	serial := uint64(0)
	for n := range 30 {
		facts := make([]proof.Fact, n%7)
		for i := range facts {
			serial++
			facts[i].Nodes = serial
		}
		r.add(time.Time{}, 5, facts)
		if len(r.list) > 5 || serial >= 5 && len(r.list) < 5 {
			t.Fatalf("%d facts kept of %d", len(r.list), serial)
		}
		for i, l := range r.list {
			if want := serial - uint64(len(r.list)-1-i); l.serial != want || l.fact.Nodes != want {
				t.Fatalf("fact %d of %d is number %d with work %d, want %d", i, len(r.list), l.serial, l.fact.Nodes,
					want)
			}
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
