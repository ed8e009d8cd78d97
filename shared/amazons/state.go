package amazons

import (
	"iter"
	"math/bits"
	"slices"
)

// State is a position from the view of the side to move. Squares of the board
// that are in none of the three sets are burnt.
type State struct {
	Own   Set // queens of the side to move
	Opp   Set // queens of the other side
	Empty Set // empty squares
}

// Move is a queen's move and its arrow.
type Move struct {
	From  Square // where the queen stood
	To    Square // where it stands now
	Arrow Square // the square it burnt; may equal From
}

// After returns the state after move m, seen by the other side. m must be legal.
func (s State) After(m Move) State {
	from, to := m.From.Bit(), m.To.Bit()
	return State{Own: s.Opp, Opp: s.Own ^ from ^ to, Empty: (s.Empty ^ from ^ to) &^ m.Arrow.Bit()}
}

// Legal reports whether the side to move may play m.
func (s State) Legal(m Move) bool {
	return max(m.From, m.To, m.Arrow) < NoSquare &&
		s.Own&m.From.Bit() != 0 &&
		QueenTargets(m.From, s.Empty)&m.To.Bit() != 0 &&
		QueenTargets(m.To, s.Empty|m.From.Bit())&m.Arrow.Bit() != 0
}

// CanMove reports whether the side to move has a legal move: some queen of it
// has an empty neighbour (it can step there and shoot back).
func (s State) CanMove() bool { return Grow(s.Own)&s.Empty != 0 }

// Moves appends every legal move to dst, in increasing order of queen, target and arrow square.
func (s State) Moves(dst []Move) []Move { return slices.AppendSeq(dst, s.AllMoves()) }

// AllMoves returns every legal move, in the order of Moves. It takes no memory.
func (s State) AllMoves() iter.Seq[Move] {
	return func(yield func(Move) bool) {
		for queens := s.Own; queens != 0; queens &= queens - 1 {
			from := Square(bits.TrailingZeros64(queens))
			open := s.Empty | from.Bit()
			for targets := QueenTargets(from, s.Empty); targets != 0; targets &= targets - 1 {
				to := Square(bits.TrailingZeros64(targets))
				for arrows := QueenTargets(to, open); arrows != 0; arrows &= arrows - 1 {
					if !yield(Move{from, to, Square(bits.TrailingZeros64(arrows))}) {
						return
					}
				}
			}
		}
	}
}

// CountMoves returns the number of legal moves.
func (s State) CountMoves() int {
	n := 0
	for queens := s.Own; queens != 0; queens &= queens - 1 {
		from := Square(bits.TrailingZeros64(queens))
		open := s.Empty | from.Bit()
		for targets := QueenTargets(from, s.Empty); targets != 0; targets &= targets - 1 {
			n += bits.OnesCount64(QueenTargets(Square(bits.TrailingZeros64(targets)), open))
		}
	}
	return n
}

// Perft returns the number of move sequences of the given length (in moves of one side each).
func (s State) Perft(depth int) uint64 {
	switch {
	case depth <= 0:
		return 1
	case depth == 1:
		return uint64(s.CountMoves())
	}
	var n uint64
	for m := range s.AllMoves() {
		n += s.After(m).Perft(depth - 1)
	}
	return n
}

// planes returns the two words of FORMAT.md on the 8x8 grid: own or burnt, and opponent or burnt.
func (s State) planes(b Board) (Set, Set) {
	mask := b.Mask()
	return mask &^ (s.Opp | s.Empty), mask &^ (s.Own | s.Empty)
}

// fromPlanes undoes planes: burnt squares are in both words, queens in one, and empty squares in
// none.
func fromPlanes(b Board, a, c Set) State {
	return State{Own: a &^ c, Opp: c &^ a, Empty: b.Mask() &^ (a | c)}
}

// canonicalPlanes returns the planes of the canonical image and the first
// symmetry that leads there. The second plane is only mirrored where the first
// ties or improves. The moves of one position mostly agree on which image that
// is, so the branches predict well; computing all images without branches and a
// loop over the symmetries were both slower.
func (s State) canonicalPlanes(b Board) (Set, Set, Symmetry) {
	// A mirror of a board that is smaller than the grid has to be shifted back into the corner.
	a0, c0 := s.planes(b)
	a, c, sym := a0, c0, Symmetry(0)
	files, ranks := (8-b.Width)&63, 8*(8-b.Height)&63
	a1 := MirrorFiles(a0) >> files
	a2 := bits.ReverseBytes64(a0) >> ranks
	a3 := bits.ReverseBytes64(a1) >> ranks
	if a1 <= a {
		if y := MirrorFiles(c0) >> files; a1 < a || y < c {
			a, c, sym = a1, y, 1
		}
	}
	if a2 <= a {
		if y := bits.ReverseBytes64(c0) >> ranks; a2 < a || y < c {
			a, c, sym = a2, y, 2
		}
	}
	if a3 <= a {
		if y := bits.ReverseBytes64(MirrorFiles(c0)>>files) >> ranks; a3 < a || y < c {
			a, c, sym = a3, y, 3
		}
	}
	if b.Width != b.Height {
		return a, c, sym
	}
	// Exchanging files and ranks turns a left-right mirror before it into a
	// top-bottom mirror after it: one transposition serves all four.
	a4 := Transpose(a0)
	a5 := bits.ReverseBytes64(a4) >> ranks
	a6 := MirrorFiles(a4) >> files
	a7 := bits.ReverseBytes64(a6) >> ranks
	if a4 <= a {
		if y := Transpose(c0); a4 < a || y < c {
			a, c, sym = a4, y, 4
		}
	}
	if a5 <= a {
		if y := bits.ReverseBytes64(Transpose(c0)) >> ranks; a5 < a || y < c {
			a, c, sym = a5, y, 5
		}
	}
	if a6 <= a {
		if y := MirrorFiles(Transpose(c0)) >> files; a6 < a || y < c {
			a, c, sym = a6, y, 6
		}
	}
	if a7 <= a {
		if y := bits.ReverseBytes64(MirrorFiles(Transpose(c0))>>files) >> ranks; a7 < a || y < c {
			a, c, sym = a7, y, 7
		}
	}
	return a, c, sym
}

// Canonical returns the image of s under the symmetries of the board that has
// the smallest key, and the symmetry that leads from s to it.
func (s State) Canonical(b Board) (State, Symmetry) {
	a, c, sym := s.canonicalPlanes(b)
	return fromPlanes(b, a, c), sym
}

// Apply returns the image of s under a symmetry of the board.
func (s State) Apply(b Board, m Symmetry) State {
	return State{Own: b.Apply(m, s.Own), Opp: b.Apply(m, s.Opp), Empty: b.Apply(m, s.Empty)}
}

// ApplyMove returns the image of m under a symmetry of the board.
func (b Board) ApplyMove(s Symmetry, m Move) Move {
	return Move{b.ApplySquare(s, m.From), b.ApplySquare(s, m.To), b.ApplySquare(s, m.Arrow)}
}

// Hash returns a 64-bit hash of the canonical image of s: equal for all
// symmetric images. It is not the position itself: a fact that leaves the
// search carries a [Key].
func (s State) Hash(b Board) uint64 {
	a, c, _ := s.canonicalPlanes(b)
	return mix(a, c)
}

// mix hashes two words by two multiplications of 64 by 64 bits, each of which spreads every bit of
// one word over both halves of the product.
func mix(a, c uint64) uint64 {
	hi, lo := bits.Mul64(a^0x9e3779b97f4a7c15, c^0xd1342543de82ef95)
	hi, lo = bits.Mul64(hi^a^0xa0761d6478bd642f, lo^c^0xe7037ed1a0b428db)
	return hi ^ lo
}

// Burnt returns the burnt squares.
func (s State) Burnt(b Board) Set { return b.Mask() &^ (s.Own | s.Opp | s.Empty) }

// Arrows returns the number of burnt squares.
func (s State) Arrows(b Board) int { return bits.OnesCount64(s.Burnt(b)) }
