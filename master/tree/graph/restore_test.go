package graph

import "testing"

// TestRestoreClaims: a reply that an archive says is refuted comes last, and its parent is not the harder to refute
// for it. The numbers of older stores are read as those of today.
func TestRestoreClaims(t *testing.T) {
	root := position(t, ".B../..../..../..W. w")
	whole := New(root, nil, 1000)
	whole.expand(whole.Root, whole.successors(whole.Root))
	whole.Propagate()
	claimed := whole.Root.Children[0].Key
	records := whole.Take()
	records = records[:1:1]
	phi, delta := ClaimNumbers(true)
	for _, phi := range []uint32{phi, claimLate} {
		g := New(root, nil, 1000)
		if err := g.Restore(append(records, Record{Key: claimed, Phi: phi, Delta: delta})); err != nil {
			t.Fatal(err)
		}
		c := g.Get(claimed)
		if !IsClaim(c.Phi, c.Delta) || !c.ClaimedWon() || g.Root.ClaimedWon() ||
			g.Root.Delta > whole.Root.Delta || g.Root.Phi != 1 {
			t.Errorf("the claimed reply has %d and %d, its parent %d and %d", c.Phi, c.Delta, g.Root.Phi, g.Root.Delta)
		}
		for _, o := range g.Root.Children {
			if o != c && o.Delta >= c.Delta {
				t.Errorf("an open reply has delta %d, the claimed one %d", o.Delta, c.Delta)
			}
		}
	}
	g := New(root, nil, 1000)
	phi, delta = ClaimNumbers(false)
	err := g.Restore(append(records, Record{Key: claimed, Phi: phi, Delta: delta}))
	if err != nil || !g.Root.ClaimedWon() {
		t.Errorf("with a move that is claimed to win: %d and %d, %v", g.Root.Phi, g.Root.Delta, err)
	}
}

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
