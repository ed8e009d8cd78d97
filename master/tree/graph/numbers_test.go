package graph

import (
	"math/rand/v2"
	"testing"

	"amazonsfarm/shared/amazons"
	"amazonsfarm/shared/dfpn"
)

func position(tb testing.TB, text string) amazons.Position {
	tb.Helper()
	p, err := amazons.ParsePosition(text)
	if err != nil {
		tb.Fatal(err)
	}
	return p
}

// TestCombine compares with the formula in rational numbers.
func TestCombine(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	for range 1000 {
		n := &Node{}
		var sum, largest uint64
		least := Infinity
		for range 1 + r.IntN(20) {
			c := shown{Phi: 1 + r.Uint32N(1000), Delta: 1 + r.Uint32N(1000)}
			n.shown = append(n.shown, c)
			sum += uint64(c.Phi)
			largest = max(largest, uint64(c.Phi))
			least = min(least, c.Delta)
		}
		phi, delta := combine(n)
		parts := 256*largest + dfpn.SumWeight*(sum-largest)
		if phi != least || uint64(delta)*256 < parts || uint64(delta)*256 >= parts+256 {
			t.Fatalf("%d/%d from sum %d, largest %d", phi, delta, sum, largest)
		}
	}
}

// TestWorth: where a loss is likely all children are about as useful as the best; where a win is
// likely a child is worth the less the harder it is than the best.
func TestWorth(t *testing.T) {
	g := New(position(t, ".B../..../..../..W. w"), nil, 100)
	for _, c := range []struct {
		phi, delta, child uint32
		least, most       float64
	}{
		{phi: 5, delta: 5, child: 5, least: 1, most: 1},
		{phi: 10_000, delta: 1, child: 40_000, least: 0.99, most: 1},
		{phi: 1, delta: 10_000, child: 1, least: 1, most: 1},
		{phi: 10, delta: 100_000, child: 11, least: 0.68, most: 0.7},
		{phi: 1, delta: 10_000, child: 2, least: 0.07, most: 0.08},
		{phi: 1, delta: 10_000, child: 100, least: 0.009, most: 0.01},
	} {
		n := &Node{Phi: c.phi, Delta: c.delta}
		if w := Worth(n, c.child, g.Chance(n)); w < c.least || w > c.most {
			t.Errorf("%+v: %v", c, w)
		}
	}
}
