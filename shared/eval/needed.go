package eval

import (
	"math/bits"

	"amazonsfarm/shared/amazons"
)

// Needed says which moves of s must be looked at to find out who wins: all moves of queens, and
// those that it appends to moves. The others win only if one of these does. It is about positions
// of several areas, which share no queen and no square; in a single area, and for a nil Judge or
// one without the settings, all moves are needed.
//
// With OneMove, a search need not look at more than one move for all areas together that are worth
// a whole number (Müller 2001, section 3). Why: let x be the sum of the areas that are worth whole
// numbers, and G the rest. If G is not a number, then the side to move, Left, wins by a move in G
// or not at all (number avoidance; Berlekamp, Conway and Guy, Winning Ways, chapter 6). If G is a
// number and Left wins, then G+x > 0. Were G no whole number, it had a move to no less than the
// next whole number below. Were it a whole number above 0, it had a move to one less. Both leave at
// least 0. There remain G a whole number of at most 0 and x above 0: then some area is worth k > 0,
// and has a move to at least k-1. One such move of one such area will do.
//
// With Dominated, no move is needed in a small area that is no better there than another
// ([Judge.undominated]).
func (j *Judge) Needed(s amazons.State, moves []amazons.Move) (queens amazons.Set, needed []amazons.Move) {
	if j == nil || !j.set.OneMove && j.set.Dominated == 0 {
		return s.Own, moves
	}
	all := s.Own | s.Opp | s.Empty
	first := s.Own & amazons.Grow(s.Empty)
	c := fill(first&-first, all)
	if c&s.Own == s.Own && c&s.Empty == s.Empty {
		return s.Own, moves
	}
	queens = s.Own
	found := false           // whether moves has one in an area worth a whole number
	whole := amazons.State{} // an area worth more than 0
	for todo := first; todo != 0; {
		c := fill(todo&-todo, all)
		todo &^= c
		a := amazons.State{Own: c & s.Own, Opp: c & s.Opp, Empty: c & s.Empty}
		if j.set.OneMove {
			if a.Opp == 0 && walks(a.Own, 0, a.Empty, bits.OnesCount64(a.Empty)) {
				queens &^= a.Own
				if !found {
					moves, found = append(moves, firstPlod(a.Own, a.Empty)), true
				}
				continue
			}
			if n, ok := j.whole(a); ok {
				queens &^= a.Own
				if n > 0 {
					whole = a
				}
				continue
			}
		}
		if best, ok := j.undominated(a); ok {
			queens &^= a.Own
			moves = append(moves, best...)
		}
	}
	if !found && whole.Own != 0 {
		if best, ok := j.undominated(whole); ok {
			return queens, append(moves, best...)
		}
		queens |= whole.Own
	}
	return queens, moves
}

// whole returns the whole number that an area is worth to the side to move, if it is known to be
// worth one.
func (j *Judge) whole(a amazons.State) (n int32, ok bool) {
	if v, ok := j.find(a.Own, a.Opp, a.Empty); ok {
		return v.own.n, v.own.flags|v.opp.flags == 0 && v.own.n == -v.opp.n && v.own.n&(one-1) == 0
	}
	return 0, false
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
