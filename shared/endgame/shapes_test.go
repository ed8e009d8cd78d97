package endgame

import "testing"

// The numbers of free regions are those of seed 004 (to 7 squares) and of AMAZONS.md.
func TestShapeCounts(t *testing.T) {
	var s []Set
	for n, want := range []int{1, 2, 5, 22, 94, 524, 3031, 18770} {
		if s = grow(s); len(s) != want {
			t.Fatalf("%d squares: %d shapes, want %d", n+1, len(s), want)
		}
	}
}
func TestShapeCounts9(t *testing.T) {
	var s []Set
	for range 10 {
		s = grow(s)
		t.Log(len(s))
	}
}
