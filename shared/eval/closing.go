package eval

import (
	"iter"
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
	for a := range advances(s) {
		arrows := amazons.QueenTargets(a.to, a.empty)
		for try := arrows & cuts(a.reach|s.Opp); try != 0; try &= try - 1 {
			burnt := try & -try
			empty := a.empty &^ burnt
			if j.closed(a.mine, s.Opp, empty, amazons.Flood(s.Opp, empty), empties-1) {
				return a.move(burnt), true
			}
		}
		if !a.parts {
			continue
		}
		// The queen closes squares off alone. Any arrow will do that takes a square from O.
		arrows &= a.reach
		if x := arrows &^ amazons.Grow(a.mine); x != 0 {
			arrows = x
		}
		burnt := arrows & -arrows
		if burnt != 0 && j.closed(a.mine, s.Opp, a.empty&^burnt, a.reach&^burnt, empties-1) {
			return a.move(burnt), true
		}
	}
	return amazons.Move{}, false
}

// advance is a queen that has moved and has yet to shoot.
type advance struct {
	from, to amazons.Square
	mine     amazons.Set // the queens of the side that moves
	empty    amazons.Set
	reach    amazons.Set // what O reaches, if the arrow takes nothing
	parts    bool        // the queen has shut squares off from O
}

// move is the whole move, with an arrow to one square.
func (a *advance) move(burnt amazons.Set) amazons.Move {
	return amazons.Move{From: a.from, To: a.to, Arrow: amazons.Square(bits.TrailingZeros64(burnt))}
}

// advances yields each move of a queen of own, without its arrow.
func advances(s amazons.State) iter.Seq[advance] {
	return func(yield func(advance) bool) {
		for queens := s.Own; queens != 0; queens &= queens - 1 {
			from := queens & -queens
			at := amazons.Square(bits.TrailingZeros64(queens))
			up := s.Empty | from // the queen is in the air
			reach := amazons.Flood(s.Opp, up)
			narrow := cuts(reach | s.Opp)
			for targets := amazons.QueenTargets(at, s.Empty); targets != 0; targets &= targets - 1 {
				to := targets & -targets
				a := advance{from: at, to: amazons.Square(bits.TrailingZeros64(targets)), mine: s.Own ^ from ^ to,
					empty: up ^ to, reach: reach &^ to}
				if narrow&to != 0 {
					a.reach = amazons.Flood(s.Opp, a.empty)
					a.parts = a.reach != reach&^to
				}
				if !yield(a) {
					return
				}
			}
		}
	}
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
