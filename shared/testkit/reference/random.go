package reference

import (
	"math/bits"
	"math/rand/v2"

	"amazonsfarm/shared/amazons"
)

// Scattered returns a position with own and opp queens at random places of the board and as many
// empty squares as asked for; the other squares are burnt. Where the board has too few squares,
// empty ones are missing first, then queens of the other side.
func Scattered(r *rand.Rand, b amazons.Board, own, opp, empties int) amazons.State {
	var s amazons.State
	for i, p := range r.Perm(b.Squares()) {
		bit := b.UnpackSquare(uint8(p)).Bit()
		switch {
		case i < own:
			s.Own |= bit
		case i < own+opp:
			s.Opp |= bit
		case i < own+opp+empties:
			s.Empty |= bit
		}
	}
	return s
}

// Read returns the position of a board that bytes stand for, one byte a square from A1 on: for 0
// and 1 modulo 6 a queen of the side to move or of the other side, at most queens of each; for 2
// and 3 an empty square, at most so many. All other squares are burnt. Fuzz tests make their
// positions from it.
func Read(data []byte, b amazons.Board, queens, empties int) amazons.State {
	var s amazons.State
	for i, c := range data[:min(len(data), b.Squares())] {
		to, most := &s.Empty, empties
		switch c % 6 {
		case 0:
			to, most = &s.Own, queens
		case 1:
			to, most = &s.Opp, queens
		case 4, 5:
			continue
		}
		if bits.OnesCount64(*to) < most {
			*to |= b.UnpackSquare(uint8(i)).Bit()
		}
	}
	return s
}

// Played returns what random moves make of s: it has at most so many empty squares, or the side to
// move has no move.
func Played(r *rand.Rand, s amazons.State, empties int) amazons.State {
	for bits.OnesCount64(s.Empty) > empties {
		moves := s.Moves(nil)
		if len(moves) == 0 {
			break
		}
		s = s.After(moves[r.IntN(len(moves))])
	}
	return s
}

// Start returns the starting position of a board of 4x4 or more.
func Start(b amazons.Board) amazons.State {
	p, err := amazons.Start(b)
	if err != nil {
		panic(err)
	}
	return p.State()
}

// Late returns a position of a board from 4x4 to 6x6 with two or more queens a side and two to nine
// empty squares: half of them scattered, half reached by random play from the starting position
// (and with more empty squares where the game ended early).
func Late(r *rand.Rand) (amazons.Board, amazons.State) {
	b := amazons.Board{Width: uint8(4 + r.IntN(3)), Height: uint8(4 + r.IntN(3))}
	empties := 2 + r.IntN(8)
	if r.IntN(2) == 0 {
		return b, Scattered(r, b, 2+r.IntN(3), 2+r.IntN(3), min(empties, b.Squares()-8))
	}
	return b, Played(r, Start(b), empties)
}

// Region returns a random 8-connected set of n squares of a board, n from 1 to the number of its
// squares.
func Region(r *rand.Rand, b amazons.Board, n int) amazons.Set {
	x := b.UnpackSquare(uint8(r.IntN(b.Squares()))).Bit()
	for bits.OnesCount64(x) < n {
		near := amazons.Grow(x) & b.Mask() &^ x
		for range r.IntN(bits.OnesCount64(near)) {
			near &= near - 1
		}
		x |= near & -near
	}
	return x
}
