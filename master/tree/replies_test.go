package tree

import (
	"testing"

	"amazonsfarm/master/tree/graph"
	"amazonsfarm/shared/amazons"
	"amazonsfarm/shared/numbers"
)

// TestEasyReplies holds that the first moves are split after their first lease, and that the reply
// with the smallest phi, not the smallest delta, is leased then, and not one that an archive says is refuted.
func TestEasyReplies(t *testing.T) {
	root := position(t, ".BB./B..B/..../..../W..W/.WW. w")
	move := root.State().Moves(nil)[0]
	for _, easy := range []bool{false, true} {
		tr := small(t, Config{Root: root, FirstMoves: []amazons.Move{move}, EasyReplies: easy})
		var lease Lease
		step := func(ev Event) {
			t.Helper()
			for _, e := range tr.Step(ev) {
				if g, ok := e.(Grant); ok {
					lease = g.Lease
				}
			}
		}
		step(Joined{Worker: "w", Slots: 1})
		next := func() *graph.Node {
			t.Helper()
			lease = Lease{}
			step(Ready{Worker: "w"})
			n := tr.graph.Get(lease.Key)
			if n == nil {
				t.Fatal("nothing was leased")
			}
			return n
		}
		// Results that leave the position open; its children get a falling phi and a rising delta.
		open := func(n *graph.Node) {
			t.Helper()
			r := Result{Worker: "w", Lease: lease.ID, Epoch: lease.Epoch, Key: lease.Key, Phi: 10, Delta: 10,
				Nodes: lease.Budget}
			var list []numbers.Child
			state, _ := n.Key.State(root.Board)
			seen := map[amazons.Key]bool{}
			for _, m := range state.Moves(nil) {
				if k := state.After(m).CanonicalKey(root.Board); !seen[k] {
					i := len(seen)
					seen[k] = true
					c := numbers.Child{Key: k, Phi: uint32(1000 - i), Delta: uint32(100 + i)}
					if i == 0 {
						c.Phi, c.Delta = graph.ClaimNumbers(true)
					}
					list = append(list, c)
				}
			}
			r.Children = numbers.Append(nil, list)
			step(r)
		}
		n := next()
		if n.Layer != tr.graph.Root.Layer+1 { // the root of given first moves is expanded from the start
			t.Fatalf("the first lease is in layer %d", n.Layer)
		}
		open(n)
		if !easy {
			if next() != n {
				t.Error("the first move was split early")
			}
			continue
		}
		reply := next()
		if reply.Layer != tr.graph.Root.Layer+2 || graph.IsClaim(reply.Phi, reply.Delta) {
			t.Fatalf("the second lease is in layer %d, numbers %d and %d", reply.Layer, reply.Phi, reply.Delta)
		}
		for _, c := range n.Children {
			if graph.IsClaim(c.Phi, c.Delta) {
				continue
			}
			if c.Phi < reply.Phi {
				t.Errorf("phi %d was leased, there is %d", reply.Phi, c.Phi)
			}
			if c.Delta > reply.Delta {
				t.Errorf("delta %d was leased: that is not the largest", reply.Delta)
			}
		}
	}
}
