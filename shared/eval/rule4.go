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
	for queens := s.Own; queens != 0; queens &= queens - 1 {
		from := queens & -queens
		at := amazons.Square(bits.TrailingZeros64(queens))
		up := s.Empty | from // the queen is in the air
		reach := amazons.Flood(s.Opp, up)
		narrow := cuts(reach | s.Opp)
		for targets := amazons.QueenTargets(at, s.Empty); targets != 0; targets &= targets - 1 {
			to := targets & -targets
			goal := amazons.Square(bits.TrailingZeros64(targets))
			mine, open, left := s.Own^from^to, up^to, reach&^to
			if narrow&to != 0 {
				left = amazons.Flood(s.Opp, open)
			}
			parting := cuts(left | s.Opp)
			for arrows := amazons.QueenTargets(goal, open); arrows != 0; arrows &= arrows - 1 {
				burnt := arrows & -arrows
				c := left &^ burnt
				if parting&burnt != 0 {
					c = amazons.Flood(s.Opp, open&^burnt)
				}
				if closes(b, amazons.State{Own: s.Opp, Opp: mine, Empty: open &^ burnt}, c) {
					return amazons.Move{From: at, To: goal, Arrow: amazons.Square(bits.TrailingZeros64(arrows))}, true
				}
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
		if need > 2*bits.OnesCount64(touching) ||
			need > 2 && c&^amazons.Fill(c&-c, c|s.Own) == 0 { // one area
			return false
		}
	}
	s, symmetry := s.Canonical(b)
	return loses(s, b.Apply(symmetry, c), SumLeaves)
}
