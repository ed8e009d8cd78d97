package campaign

import (
	"testing"
	"time"

	"amazonsfarm/master/loop"
)

// TestResultsPerTick: what a master is to take in is said for a second, and ticks are as long as
// heartbeats.
func TestResultsPerTick(t *testing.T) {
	for _, c := range []struct {
		second int
		tick   time.Duration
		want   int
	}{{0, 0, 2000}, {0, 100 * time.Millisecond, 200}, {500, 0, 500}, {500, 2 * time.Second, 1000},
		{1, 10 * time.Millisecond, 1}} {
		config := (&Options{Results: c.second, Loop: loop.Config{Heartbeat: c.tick}}).tree()
		if got := config.WithDefaults().ResultsPerTick; got != c.want {
			t.Errorf("%d a second, a tick of %v: %d a tick, want %d", c.second, c.tick, got, c.want)
		}
	}
}
