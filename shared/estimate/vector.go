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

// Fill sets v to the vector of s, where f are its features by the static evaluation. It sets one element at a time,
// because to copy a whole vector a processor has to wait until all of its elements are in memory.
func (v *Vector) Fill(s amazons.State, f *eval.Features) {
	free := amazons.Grow(s.Empty)
	own, opp := amazons.Grow(s.Own)&s.Empty, amazons.Grow(s.Opp)&s.Empty
	// A constant.
	v[0] = 1
	// Empty squares nearer in queen moves, minus those nearer to the other side.
	v[1] = int32(f.Territory)
	// Empty squares, and those of them that are equally near to both sides.
	v[2] = count(s.Empty)
	v[3] = int32(f.Shared)
	// Empty squares that only one side can ever reach.
	v[4] = int32(f.OwnOnly)
	v[5] = int32(f.OppOnly)
	// Mobility: squares one queen move away, as 16 times the binary logarithm of their number. The
	// other side may have none, so there it is one more than their number.
	v[6] = logarithms[f.OwnMoves&63]
	v[7] = logarithms[(f.OppMoves+1)&63]
	// Liberties: empty squares that touch a queen.
	v[8] = count(own)
	v[9] = count(opp)
	// Neighbourhood: empty squares within two king's moves of a queen.
	v[10] = count(amazons.Grow(own) & s.Empty)
	v[11] = count(amazons.Grow(opp) & s.Empty)
	// Free queens: those that touch an empty square.
	v[12] = count(s.Own & free)
	v[13] = count(s.Opp & free)
}

// dot returns the sum of all elements, each times its weight. Written out it takes half the time of a loop.
func (v *Vector) dot(w *[Size]int64) int64 {
	return w[0]*int64(v[0]) + w[1]*int64(v[1]) + w[2]*int64(v[2]) + w[3]*int64(v[3]) + w[4]*int64(v[4]) +
		w[5]*int64(v[5]) + w[6]*int64(v[6]) + w[7]*int64(v[7]) + w[8]*int64(v[8]) + w[9]*int64(v[9]) +
		w[10]*int64(v[10]) + w[11]*int64(v[11]) + w[12]*int64(v[12]) + w[13]*int64(v[13])
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
