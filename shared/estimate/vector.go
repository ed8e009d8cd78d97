package estimate

import (
	"math"
	"math/bits"

	"amazonsfarm/shared/amazons"
	"amazonsfarm/shared/eval"
)

// Size is the number of elements of a Vector.
const Size = 14

// Vector is what the table weighs of a position, seen by the side to move.
type Vector [Size]int32

// Of returns the vector of s, where f are its features by the static evaluation.
func Of(s amazons.State, f *eval.Features) Vector {
	free := amazons.Grow(s.Empty)
	own, opp := amazons.Grow(s.Own)&s.Empty, amazons.Grow(s.Opp)&s.Empty
	return Vector{
		// A constant.
		1,
		// Empty squares nearer in queen moves, minus those nearer to the other side.
		int32(f.Territory),
		// Empty squares, and those of them that are equally near to both sides.
		count(s.Empty),
		int32(f.Shared),
		// Empty squares that only one side can ever reach.
		int32(f.OwnOnly),
		int32(f.OppOnly),
		// Mobility: squares one queen move away, as 16 times the binary logarithm of their number. The
		// other side may have none, so there it is one more than their number.
		logarithms[f.OwnMoves&63],
		logarithms[(f.OppMoves+1)&63],
		// Liberties: empty squares that touch a queen.
		count(own),
		count(opp),
		// Neighbourhood: empty squares within two king's moves of a queen.
		count(amazons.Grow(own) & s.Empty),
		count(amazons.Grow(opp) & s.Empty),
		// Free queens: those that touch an empty square.
		count(s.Own & free),
		count(s.Opp & free),
	}
}

func count(x amazons.Set) int32 { return int32(bits.OnesCount64(x)) }

// logarithms are 16 times the binary logarithms of 1 to 63, rounded. No position has more squares
// to move to, as a queen stands somewhere.
var logarithms = func() (t [64]int32) {
	for i := 1; i < len(t); i++ {
		t[i] = int32(math.Round(16 * math.Log2(float64(i))))
	}
	return t
}()

// Bands is the number of stages of a game that have weights of their own.
const Bands = 3

// Band returns the stage of a game: 0 with fewer than 10 empty squares, 1 with 10 to 13, 2 with more.
func Band(s amazons.State) int {
	switch n := bits.OnesCount64(s.Empty); {
	case n < 10:
		return 0
	case n < 14:
		return 1
	}
	return 2
}
