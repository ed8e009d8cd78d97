package eval

import (
	"math/bits"

	"amazonsfarm/shared/amazons"
)

// Needed says which moves of s must be looked at to find out who wins: all moves of queens, and one more, where ok. The others win only if
// one of these does. Areas that are worth a whole number are what it is about: a search need not look at more than one move for all of
// them together (Müller 2001, section 3). A nil Judge, and one without the setting, needs all moves.
//
// Why: let x be the sum of the areas that are worth whole numbers, and G the rest. If G is not a number, then the side to move, Left, wins by a move in G or not at all (number avoidance; Berlekamp,
// Conway and Guy, Winning Ways, chapter 6). If G is a number and Left wins, then G+x > 0. Were G no whole number, it had a
// move to no less than the next whole number below. Were it a whole number above 0, it had a move to one less. Both leave at least 0. There remain
// G a whole number of at most 0 and x above 0: then some area is worth k > 0, and has a move to at least k-1. One such move of
// one such area will do.
func (j *Judge) Needed(s amazons.State) (queens amazons.Set, extra amazons.Move, ok bool) {
	if j == nil || !j.set.OneMove {
		return s.Own, extra, false
	}
	all := s.Own | s.Opp | s.Empty
	first := s.Own & amazons.Grow(s.Empty)
	c := fill(first&-first, all)
	if c&s.Own == s.Own && c&s.Empty == s.Empty {
		return s.Own, extra, false
	}
	queens = s.Own
	kept := amazons.Set(0) // queens of an area worth more than 0 all of whose moves are kept
	for todo := first; todo != 0; {
		c := fill(todo&-todo, all)
		todo &^= c
		mine, theirs, empty := c&s.Own, c&s.Opp, c&s.Empty
		if theirs == 0 {
			if n := bits.OnesCount64(empty); walks(mine, 0, empty, n) {
				queens &^= mine
				if !ok {
					extra, ok = firstPlod(mine, empty), true
				}
			}
			continue
		}
		v, found := j.find(mine, theirs, empty)
		if !found || v.own.flags|v.opp.flags != 0 || v.own.n != -v.opp.n || v.own.n&(one-1) != 0 {
			continue
		}
		queens &^= mine
		if v.own.n > 0 {
			kept = mine
		}
	}
	if !ok {
		queens |= kept
	}
	return queens, extra, ok
}

// firstPlod returns the first step of the walk by which walks fills the squares t.
func firstPlod(queens, t amazons.Set) amazons.Move {
	at := amazons.Square(bits.TrailingZeros64(queens & amazons.Grow(t)))
	steps := amazons.Neighbours[at] & t
	to, fewest := 0, 9
	for ; steps != 0; steps &= steps - 1 {
		next := bits.TrailingZeros64(steps)
		if around := bits.OnesCount64(amazons.Neighbours[next&63] & t); around < fewest {
			to, fewest = next, around
		}
	}
	return amazons.Move{From: at, To: amazons.Square(to), Arrow: at}
}
