package eval

import (
	"math/bits"
	"math/rand/v2"
	"testing"

	"amazonsfarm/shared/amazons"
)

// TestCuts compares cuts with counting the parts of each ring.
func TestCuts(t *testing.T) {
	r := rand.New(rand.NewPCG(4, 2))
	found := 0
	for range 2000 {
		x := r.Uint64() | r.Uint64()&r.Uint64()
		var want amazons.Set
		for squares := x; squares != 0; squares &= squares - 1 {
			square := squares & -squares
			ring := amazons.Grow(square) &^ square & x
			if ring != 0 && amazons.Fill(ring&-ring, ring) != ring {
				want |= square
			}
		}
		if got := cuts(x); got != want {
			t.Fatalf("%016x: got %016x, want %016x", x, got, want)
		}
		found += bits.OnesCount64(want)
	}
	if found < 10000 {
		t.Error("only", found, "cuts")
	}
}
