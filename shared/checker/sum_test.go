package checker

import (
	"flag"
	"math/rand/v2"
	"testing"
)

var (
	sumTests = flag.Int("sums", 300_000, "positions for the tests of leaf rules 3 and 4")
	sumSeed  = flag.Uint64("sum-seed", 21, "seed of these positions")
)

// TestRule3AgainstExhaustiveSearch looks at positions that rules 1 and 2 leave open.
func TestRule3AgainstExhaustiveSearch(t *testing.T) {
	seen, n := lastRule(t, 3, *sumTests)
	if seen[Won] < n/1000 || seen[Lost] < n/1000 {
		t.Errorf("few positions are decided: the test tests little")
	}
}

// TestRule4AgainstExhaustiveSearch looks at positions that rules 1 to 3 leave open.
func TestRule4AgainstExhaustiveSearch(t *testing.T) {
	// It decides so many that most are searched to the end.
	if seen, n := lastRule(t, 4, *sumTests/30); seen[Won] < n/20 || seen[Lost] > 0 {
		t.Errorf("few positions are decided, or rule 4 calls one lost: the test tests little")
	}
}

// lastRule compares the last of so many rules with exhaustive search on random positions that the others
// leave open. It returns their verdicts, and how many positions were drawn.
func lastRule(t *testing.T, rules, draw int) (seen [3]int, n int) {
	rng := rand.New(rand.NewPCG(*sumSeed, 22))
	sizes := [][2]int{{4, 4}, {4, 5}, {5, 4}, {5, 5}, {4, 6}, {6, 4}, {5, 6}, {6, 6}}
	n = draw
	if testing.Short() {
		n /= 20
	}
	for i := range n {
		size := sizes[i%len(sizes)]
		b := boardOf(size[0], size[1])
		p := b.canonical(randomPosition(rng, size[0], size[1], 4+i%7))
		if b.verdict(p, rules-1) != Open {
			continue
		}
		got := b.verdict(p, rules)
		seen[got]++
		if got == Open {
			continue
		}
		if won := exhaustive(b, p, map[position]bool{}); won != (got == Won) {
			t.Fatalf("%s: rules say %v, search says won = %v", b.positionText(p, false), got, won)
		}
	}
	t.Logf("open %d, won %d, lost %d", seen[Open], seen[Won], seen[Lost])
	return seen, n
}
