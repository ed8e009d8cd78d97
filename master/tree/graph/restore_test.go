package graph

import "testing"

// TestRestoreOutOfOrder: where records were lost, a position may have a larger number than one below it. All are
// reached still, and the next expansion has the largest number.
func TestRestoreOutOfOrder(t *testing.T) {
	root := position(t, ".B../..../..../..W. w")
	g := New(root, nil, 1000)
	expand := func(g *Graph, n *Node) *Node {
		next := g.successors(n)
		for i := range next {
			next[i].rank = i
		}
		g.expand(n, next)
		return n.Children[0]
	}
	last := expand(g, expand(g, expand(g, g.Root)))
	records := g.Take()
	if len(records) != 3 || last.Expanded {
		t.Fatalf("%d records", len(records))
	}
	for i := range records {
		records[i].Expansion = 10 - records[i].Expansion
	}
	again := New(root, nil, 1000)
	if err := again.Restore(records); err != nil || again.Expanded != 3 {
		t.Fatal(err, again.Expanded)
	}
	n := again.Get(last.Key)
	if n == nil {
		t.Fatal("the last position is not reached")
	}
	if expand(again, n); n.expansion != 10 {
		t.Errorf("the next expansion has number %d", n.expansion)
	}
	again.Propagate()
	if err := again.Audit(); err != nil {
		t.Error(err)
	}
}
