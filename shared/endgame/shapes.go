package endgame

import (
	"slices"

	"amazonsfarm/shared/amazons"
	"amazonsfarm/shared/area"
)

// Set is a set of squares on the 8x8 grid, see [amazons.Set].
type Set = amazons.Set

// grow returns the canonical shapes with one square more than the given ones, in increasing order.
// Together they are all 8-connected sets of squares of the 8x8 grid, up to shifts and the 8
// symmetries.
func grow(shapes []Set) []Set {
	if len(shapes) == 0 {
		return []Set{1}
	}
	out := make([]Set, 0, 8*len(shapes))
	for _, s := range shapes {
		_, w, h := area.Frame(s)
		for dx := 0; dx < 2 && w+dx <= 8; dx++ {
			for dy := 0; dy < 2 && h+dy <= 8; dy++ {
				t := s << (dx + 8*dy)
				for rest := amazons.Grow(t) &^ t; rest != 0; rest &= rest - 1 {
					out = append(out, area.CanonicalShape(t|rest&-rest))
				}
			}
		}
		// Sorting now and then keeps the duplicates, about nine in ten, from piling up.
		if len(out) > 1<<20 && len(out) == cap(out) {
			slices.Sort(out)
			out = slices.Compact(out)
		}
	}
	slices.Sort(out)
	return slices.Clip(slices.Compact(out))
}
