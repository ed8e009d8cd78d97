package offers

import (
	"math/rand/v2"
	"slices"
	"testing"

	"amazonsfarm/shared/amazons"
	"amazonsfarm/shared/proof"
)

// TestList compares a list with a sorted slice: what stays depends on the facts alone, and no two
// share a slot.
func TestList(t *testing.T) {
	r := rand.New(rand.NewPCG(3, 4))
	for _, size := range []int{1, 10, 2 * blockLength, 5 * blockLength} {
		l := New(amazons.Board{Width: 4, Height: 4}, size)
		var all []proof.Fact
		for i := range 8 * blockLength {
			f := proof.Fact{Key: amazons.Key{A: uint64(i), B: uint64(i)}, Nodes: 1 + r.Uint64N(3000)}
			all = append(all, f)
			l.Add(f)
		}
		slices.SortFunc(all, Compare)
		var kept []proof.Fact
		slots := map[int]bool{}
		for e := range l.all {
			kept = append(kept, e.fact)
			slots[e.slot] = true
		}
		if !slices.Equal(kept, all[:size]) || len(slots) != size || l.Len() != size {
			t.Errorf("size %d: %d facts in %d slots, which are not those with most nodes in their order", size,
				len(kept), len(slots))
		}
	}
}
