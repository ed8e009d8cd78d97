package engine

import (
	"encoding/binary"
	"testing"
)

// TestHintsArePaidFor holds that hints have no more entries than what was searched pays for:
// making them after each of many short leases would take most of the time. And none is so small
// that it had better not take the place of another.
func TestHintsArePaidFor(t *testing.T) {
	if testing.Short() {
		t.Skip("one goroutine: nothing for the race detector to find")
	}
	p := position(t, "..B../...../B...W/...../..W.. w")
	for _, most := range []int{100, 3000} {
		e := engineFor(t, Config{Board: p.Board, Cores: 1, MaxHints: most, TableBytes: 64 << 20})
		var nodes, made, entries uint64
		for range 150 {
			r, err := e.Run(t.Context(), Job{State: p.State(), Budget: 1000}, nil)
			if err != nil {
				t.Fatal(err)
			}
			if nodes += r.Nodes; r.Verdict != 0 {
				break
			}
			hints := e.Hints()
			if hints == nil {
				continue
			}
			const before = len("AMZMEM1\n") + 2
			n, _ := binary.Uvarint(hints[before:])
			made, entries = made+1, entries+n
			if n > uint64(most) || n < min(uint64(most), leastHints) {
				t.Errorf("hints of %d entries, with at most %d", n, most)
			}
			if entries*nodesPerEntry > nodes {
				t.Fatalf("%d entries for %d nodes", entries, nodes)
			}
		}
		if made < 2 {
			t.Errorf("hints %d times for %d nodes", made, nodes)
		}
	}
}
