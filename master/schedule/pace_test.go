package schedule

import (
	"fmt"
	"testing"

	"amazonsfarm/master/tree"
)

// TestPace: what a master can take in is of all campaigns together, however the workers are divided
// among them.
func TestPace(t *testing.T) {
	const workers, welcome = 40, 10 // each worker searches 100 nodes a tick, so there would be 40 results
	for _, shares := range [][]int{{1}, {1, 1}, {3, 1}, {1, 1, 1, 1}} {
		f := newFarm(t, 1)
		f.welcome = welcome
		for i, share := range shares {
			f.add(Campaign{Number: uint32(i + 1), Pool: 1, Share: share}, start)
		}
		var names []string
		for i := range workers {
			names = append(names, fmt.Sprint("w", i))
		}
		f.join(names...)
		left := map[string]uint64{}
		results := 0
		tick := func() {
			for _, w := range names {
				for nodes := uint64(100); nodes > 0 && len(f.held[w]) > 0; {
					g := f.held[w][0]
					if left[w] == 0 {
						left[w] = g.Budget
					}
					some := min(nodes, left[w])
					nodes, left[w] = nodes-some, left[w]-some
					if left[w] > 0 {
						f.step(g.campaign, tree.Progress{Worker: w, Lease: g.ID, Epoch: g.Epoch,
							Nodes: g.Budget - left[w]})
						continue
					}
					f.finish(w)
					results++
				}
			}
			f.step(0, tree.Tick{})
		}
		settle := func(what string) {
			for range 60 {
				tick()
			}
			results = 0
			for range 40 {
				tick()
			}
			if got := float64(results) / 40; got < 0.8*welcome || got > 1.25*welcome {
				t.Errorf("shares %v, %s: %.1f results a tick, want %d", shares, what, got, welcome)
			}
		}
		settle("all at work")
		for number, c := range f.trees {
			if s := c.Status().Stretch; s < 2 || s > 8 {
				t.Errorf("shares %v: the leases of campaign %d are stretched by %.2f, want 4", shares, number, s)
			}
		}
		// When all campaigns but one are gone, the others do not count any more.
		for i := range shares[1:] {
			f.step(uint32(i+2), tree.Pause{})
		}
		settle("all but one paused")
	}
}
