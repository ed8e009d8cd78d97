package eval

import (
	"math/bits"

	"amazonsfarm/shared/amazons"
)

// Features describe a position that no rule decides, seen by the side to move. A search takes the
// first numbers of a leaf from them. All are numbers of squares.
type Features struct {
	Territory int // empty squares nearer (in queen moves) to the side to move, minus those nearer to the other side
	Shared    int // empty squares equally near to both
	OwnMoves  int // squares the side to move reaches in one queen move
	OppMoves  int // squares the other side reaches in one queen move
	OwnOnly   int // empty squares that the side to move can ever reach and the other side cannot
	OppOnly   int // empty squares that the other side can ever reach and the side to move cannot
}

// Evaluate returns Won or Lost where a static rule decides s, and otherwise Open with the features of
// s. The rules look at empty squares only, so the board is not needed. They are the rules of [Plain],
// applied to s and not to its canonical image (so ties in a walk may break otherwise), and one more
// that the checker does not know:
//
// Safe move (Müller 2001, section 2.3.2): the side not to move, P, has a queen q with three or more
// neighbours that the mover O can reach. A move of O takes away at most two of these squares, one by
// its queen and one by its arrow. So q can answer with a step into a third and shoot back. O has
// then used one move and lost one square more. P wins if its other queens have N-2 plods, where N
// bounds O's moves.
func Evaluate(s amazons.State) (Verdict, Features) {
	var f Features
	v, _, _ := f.evaluate(s)
	return v, f
}

// evaluate is Evaluate, and sets f. Where the verdict is Open, it also returns the squares that each side can ever
// use: own and opp. The features are set where they stay, because a processor that copies what it has just written
// waits for it.
func (f *Features) evaluate(s amazons.State) (v Verdict, own, opp amazons.Set) {
	empty := s.Empty
	own, opp = amazons.QueenReaches(s.Own, s.Opp, empty)
	if own == 0 {
		*f = Features{}
		return Lost, 0, 0
	}

	f.OwnMoves = bits.OnesCount64(own)
	f.OppMoves = bits.OnesCount64(opp)

	// Queen distances of both sides, one layer at a time, while a square is left that neither reached.
	ownNearer, oppNearer := own&^opp, opp&^own
	shared := own & opp
	for undecided := empty &^ (own | opp); undecided != 0; {
		if amazons.Grow(own)&empty == own && amazons.Grow(opp)&empty == opp {
			break
		}
		nextOwn, nextOpp := amazons.QueenReaches(own, opp, empty)
		own, opp = own|nextOwn, opp|nextOpp
		ownNearer |= undecided & own &^ opp
		oppNearer |= undecided & opp &^ own
		shared |= undecided & own & opp
		undecided &^= own | opp
	}
	// All squares that each side can ever use: now steps lead there, too.
	own, opp = amazons.Fill(own, empty), amazons.Fill(opp, empty)
	f.Territory = bits.OnesCount64(ownNearer) - bits.OnesCount64(oppNearer)
	f.Shared = bits.OnesCount64(shared)
	f.OwnOnly = bits.OnesCount64(own &^ opp)
	f.OppOnly = bits.OnesCount64(opp &^ own)

	// The counting lemma. Most positions fail the comparison of the counts.
	if t, n := own&^opp, bits.OnesCount64(opp); bits.OnesCount64(t)+1 >= n && moverWins(s.Own, t, opp, n) {
		return Won, own, opp
	}
	if t, n := opp&^own, bits.OnesCount64(own); bits.OnesCount64(t)+2 >= n && waiterWins(s.Opp, t, own, n) {
		return Lost, own, opp
	}
	return Open, own, opp
}

// moverWins applies rules 2a and 2b of FORMAT.md for the side to move: its queens,
// its territory t, the squares c of the other side and their number n.
func moverWins(queens, t, c amazons.Set, n int) bool {
	near, room := amazons.Grow(c), bits.OnesCount64(t)
	if room >= n+1 && walks(queens, near, t, n+1) {
		return true // 2a
	}
	for free := queens & near; free != 0; free &= free - 1 {
		if walks(queens&^(free&-free), near, t, n-1) {
			return true // 2b
		}
	}
	return false
}

// waiterWins applies rule 2c and the safe move for the side not to move.
func waiterWins(queens, t, c amazons.Set, n int) bool {
	near, room := amazons.Grow(c), bits.OnesCount64(t)
	if room >= n && walks(queens, near, t, n) {
		return true
	}
	for free := queens & near; free != 0; free &= free - 1 {
		q := bits.TrailingZeros64(free)
		if bits.OnesCount64(amazons.Neighbours[q&63]&c) >= 3 && walks(queens&^(free&-free), near, t, n-2) {
			return true
		}
	}
	return false
}
