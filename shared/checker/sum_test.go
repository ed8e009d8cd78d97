package checker

import (
	"flag"
	"math/rand/v2"
	"testing"
)

var (
	sumTests = flag.Int("sums", 300_000, "positions for the test of leaf rule 3")
	sumSeed  = flag.Uint64("sum-seed", 21, "seed of these positions")
)

// TestRule3AgainstExhaustiveSearch looks at positions that rules 1 and 2 leave open.
func TestRule3AgainstExhaustiveSearch(t *testing.T) {
	rng := rand.New(rand.NewPCG(*sumSeed, 22))
	sizes := [][2]int{{4, 4}, {4, 5}, {5, 4}, {5, 5}, {4, 6}, {6, 4}, {5, 6}, {6, 6}}
	n := *sumTests
	if testing.Short() {
		n /= 20
	}
	var seen [3]int
	for i := range n {
		size := sizes[i%len(sizes)]
		b := boardOf(size[0], size[1])
		p := b.canonical(randomPosition(rng, size[0], size[1], 4+i%7))
		if b.verdict(p, 2) != Open {
			continue
		}
		got := b.verdict(p, 3)
		seen[got]++
		if got == Open {
			continue
		}
		if won := exhaustive(b, p, map[position]bool{}); won != (got == Won) {
			t.Fatalf("%s: rules say %v, search says won = %v", b.positionText(p, false), got, won)
		}
	}
	t.Logf("open %d, won %d, lost %d", seen[Open], seen[Won], seen[Lost])
	if seen[Won] < n/1000 || seen[Lost] < n/1000 {
		t.Errorf("few positions are decided: the test tests little")
	}
}
