package endgame

import "testing"

// TestShapeCounts counts the free and the fixed regions, and those of 9 and 10 squares that fit on
// the 8x8 grid. Regions are polyplets: the numbers up to 8 squares are those of A006770 of the OEIS;
// those of 9 and 10 have been found here only.
func TestShapeCounts(t *testing.T) {
	limit := 9
	if !testing.Short() {
		limit = 10
	}
	var s []Set
	for i, want := range []int{1, 4, 20, 110, 638, 3832, 23592, 147941, 927862, -1}[:limit] {
		n := i + 1
		if s = grow(s); len(s) != shapeCounts[n] {
			t.Errorf("%d squares: %d shapes, want %d", n, len(s), shapeCounts[n])
		}
		if want < 0 || testing.Short() && n > 8 {
			continue
		}
		fixed := 0
		for _, x := range s {
			fixed += images(x)
		}
		if fixed != want {
			t.Errorf("%d squares: %d fixed regions, want %d", n, fixed, want)
		}
	}
}
