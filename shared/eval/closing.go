package eval

import (
	"math/bits"

	"amazonsfarm/shared/amazons"
)

// Closing looks for a first move of the side to move, P, that closes squares off. After it P wins
// with the other side, O, to begin, by the sum of P's territories and contested areas ([Judge],
// without the values of areas as they stand). It is rule 1 of Müller 2001 (section 2.3) for whole
// regions; small boards are mostly won by such moves. Closing tries every square that a queen of P
// can reach, but only arrows that may cut O off, and one arrow where the queen alone does.
//
// The move is legal. Closing costs as much as several evaluations. [Judge.Evaluate] calls it where
// the lead is large, a search before it expands a position for the first time. A judge that is nil
// or without the setting finds nothing.
func (j *Judge) Closing(s amazons.State) (amazons.Move, bool) {
	if j == nil || !j.set.Closing {
		return amazons.Move{}, false
	}
	empties := bits.OnesCount64(s.Empty)
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
			arrows := amazons.QueenTargets(goal, open)
			for try := arrows & cuts(left|s.Opp); try != 0; try &= try - 1 {
				burnt := try & -try
				if after := amazons.Flood(s.Opp, open&^burnt); j.closed(mine, s.Opp, open&^burnt, after, empties-1) {
					return amazons.Move{From: at, To: goal, Arrow: amazons.Square(bits.TrailingZeros64(try))}, true
				}
			}
			if narrow&to == 0 || left == reach&^to {
				continue
			}
			// The queen closes squares off alone. Any arrow will do that takes a square from O.
			arrows &= left
			if x := arrows &^ amazons.Grow(mine); x != 0 {
				arrows = x
			}
			if burnt := arrows & -arrows; arrows != 0 && j.closed(mine, s.Opp, open&^burnt, left&^burnt, empties-1) {
				return amazons.Move{From: at, To: goal, Arrow: amazons.Square(bits.TrailingZeros64(arrows))}, true
			}
		}
	}
	return amazons.Move{}, false
}

// closed reports whether P wins if O begins. O reaches the squares reach; there are so many empties.
func (j *Judge) closed(mine, theirs, empty, reach amazons.Set, empties int) bool {
	if 2*bits.OnesCount64(reach) > empties+2*bits.OnesCount64(mine&amazons.Grow(reach)) {
		return false
	}
	return j.side(mine, theirs, empty&(reach|amazons.Flood(mine, empty)), reach, tally{}, false)
}

// cuts returns the squares of x that may hold x together: those whose ring of eight squares has more
// than one 8-connected part in x.
func cuts(x amazons.Set) amazons.Set {
	const fileA, fileH = 0x0101010101010101, 0x8080808080808080
	west, east := x&^fileA>>1, x&^fileH<<1
	// A square has its neighbour to the east in x if x shifted west holds the square, and so on.
	e, w, n, s := west, east, x>>8, x<<8
	ne, nw, se, sw := west>>8, east>>8, west<<8, east<<8
	// One term for each side that is not in x while the corner after it or the next side is. The
	// number of terms is the number of parts (Yokoi's number for eight neighbours).
	a, b := ^e&(ne|n), ^n&(nw|w)
	c, d := ^w&(sw|s), ^s&(se|e)
	return x & (a&b | c&d | (a|b)&(c|d))
}
