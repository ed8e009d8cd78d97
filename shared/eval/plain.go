package eval

import (
	"math/bits"

	"amazonsfarm/shared/amazons"
)

// Plain applies the leaf rules of a certificate to s: rule 1, and rule 2 in its cases 2a, 2b and 2c
// (proof/FORMAT.md, "The two leaf rules"; Müller 2001, sections 2.1 to 2.3). Won and Lost hold on any
// board and with any number of queens. Most positions are Open.
//
// For an answer in a proof, s must be canonical ([amazons.State.Canonical]), since the checker looks
// at the canonical image. Walks break ties by square number, so one image of a position may be Open
// where another is decided. Two images are never Won and Lost.
func Plain(s amazons.State) Verdict {
	empty := s.Empty
	if amazons.Grow(s.Own)&empty == 0 {
		return Lost // rule 1
	}

	// Own to move, own is P: c is what the opponent can ever enter while own only plods, and n the
	// number of moves that the opponent has left at most.
	c := amazons.Flood(s.Opp, empty)
	t := empty &^ c
	n, room := bits.OnesCount64(c), bits.OnesCount64(t)
	if room+1 >= n && moverWins(s.Own, t, c, n) {
		return Won // 2a or 2b
	}

	// Own to move, the opponent is P.
	c = amazons.Flood(s.Own, empty)
	t = empty &^ c
	n, room = bits.OnesCount64(c), bits.OnesCount64(t)
	if room >= n && walks(s.Opp, amazons.Grow(c), t, n) {
		return Lost // 2c
	}
	return Open
}

// walks reports whether the greedy walk of queens inside t makes at least want plods. near holds
// the squares that touch C: the queens on them walk last. Within both groups the order is that of
// the square numbers, which is the same on the 8x8 grid as in FORMAT.md.
func walks(queens, near, t amazons.Set, want int) bool {
	if want <= 0 {
		return true
	}
	left := t
	for _, group := range [2]amazons.Set{queens &^ near, queens & near} {
		for ; group != 0; group &= group - 1 {
			at := bits.TrailingZeros64(group)
			for {
				steps := amazons.Neighbours[at&63] & left
				if steps == 0 {
					break
				}
				at = bits.TrailingZeros64(steps)
				if steps &= steps - 1; steps != 0 {
					fewest := bits.OnesCount64(amazons.Neighbours[at&63] & left)
					for ; steps != 0; steps &= steps - 1 {
						to := bits.TrailingZeros64(steps)
						if around := bits.OnesCount64(amazons.Neighbours[to&63] & left); around < fewest {
							at, fewest = to, around
						}
					}
				}
				left &^= 1 << (at & 63)
				if want--; want == 0 {
					return true
				}
			}
		}
	}
	return false
}
