package engine

import "testing"

// TestRememberIsRare holds that a memory is made only when enough was searched since the last one: going through a large table after each of
// many short leases would take most of the time.
func TestRememberIsRare(t *testing.T) {
	p := position(t, "..B../...../B...W/...../..W.. w")
	e := engineFor(t, Config{Board: p.Board, Cores: 1, MaxMemory: 100, TableBytes: 64 << 20})
	var nodes, made, last uint64
	for range 400 {
		r, err := e.Run(t.Context(), Job{State: p.State(), Budget: 100}, nil)
		if err != nil {
			t.Fatal(err)
		}
		nodes += r.Nodes
		due := (nodes-last)*entriesPerNode >= e.table.Entries()
		if memory := e.Remember(); due != (memory != nil) {
			t.Fatalf("%d nodes after the last memory, %d entries: due %v, %d bytes", nodes-last, e.table.Entries(), due, len(memory))
		}
		if due {
			last = nodes
			made++
		}
		if r.Verdict != 0 {
			break
		}
	}
	if made < 2 || made*entriesPerNode > nodes {
		t.Errorf("%d memories for %d nodes", made, nodes)
	}
}
