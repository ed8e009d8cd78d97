package eval

import (
	"math/bits"

	"amazonsfarm/shared/amazons"
)

// Leaf rule 4, the closing move (proof/FORMAT.md, "The leaf rules"): a move after which rules 1 to 3
// say that the other side loses. [Judge.Closing] looks for moves after which the judge says so, which
// knows more, and only for those that shut squares off.

// closingSquares is the largest number of empty squares with which rule 4 looks for a move. It is a
// part of the rule, and bounds the work of whoever checks a proof.
const closingSquares = 20

// ClosingMove returns a move of s that wins by leaf rule 4; false: there is none. s need not be
// canonical.
func ClosingMove(b amazons.Board, s amazons.State) (amazons.Move, bool) {
	if bits.OnesCount64(s.Empty) > closingSquares {
		return amazons.Move{}, false
	}
	for a := range advances(s) {
		parting := cuts(a.reach | s.Opp)
		arrows := amazons.QueenTargets(a.to, a.empty)
		if shortOf(&a, s.Opp) {
			arrows &= parting
		}
		for ; arrows != 0; arrows &= arrows - 1 {
			burnt := arrows & -arrows
			c := a.reach &^ burnt
			if parting&burnt != 0 {
				c = amazons.Flood(s.Opp, a.empty&^burnt)
			}
			if closes(b, amazons.State{Own: s.Opp, Opp: a.mine, Empty: a.empty &^ burnt}, c) {
				return a.move(burnt), true
			}
		}
	}
	return amazons.Move{}, false
}

// Closes reports whether the move m of s wins by leaf rule 4. s need not be canonical; m may be any
// squares.
func Closes(b amazons.Board, s amazons.State, m amazons.Move) bool {
	if bits.OnesCount64(s.Empty) > closingSquares || !s.Legal(m) {
		return false
	}
	after := s.After(m)
	return closes(b, after, amazons.Flood(after.Own, after.Empty))
}

// closes reports whether own, which is to move in s and reaches the squares c, loses by rules 1 to 3.
func closes(b amazons.Board, s amazons.State, c amazons.Set) bool {
	// Each plod takes a square beyond c, and an area with a safe move is worth two: without so many there
	// is no need to look at the canonical image.
	need := bits.OnesCount64(c) - bits.OnesCount64(s.Empty&^c)
	if need > 0 {
		touching := s.Opp & amazons.Grow(c)
		if need > 2*bits.OnesCount64(touching) || need > 2 && !safeMovesMay(touching, s.Own, c, need, false) {
			return false
		}
	}
	s, symmetry := s.Canonical(b)
	return loses(s, b.Apply(symmetry, c), SumLeaves)
}

// shortOf reports whether P, whose queen has moved, falls short with every arrow that does not part squares of the
// other side: each area in which P has queens is worth two moves at most.
func shortOf(a *advance, theirs amazons.Set) bool {
	need := 2*bits.OnesCount64(a.reach) - bits.OnesCount64(a.empty) - 1 // with an arrow that takes a square of a.reach
	for todo := amazons.Grow(a.mine) & a.reach; todo != 0 && need > 0; need -= 2 {
		todo &^= amazons.Fill(todo&-todo, a.reach|theirs)
	}
	return need > 0
}
