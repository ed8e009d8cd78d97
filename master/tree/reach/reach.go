// Package reach tells which positions may come after another one.
//
// Two facts make this cheap. Arrows stay where they are, so a later position has all burnt squares
// of an earlier one, and more. And canonical positions hide which image they are, so all images of
// the earlier position are compared. The answer errs on one side: a position that is said to be out
// of reach is out of reach for certain, and one within reach may still not be.
package reach

import (
	"math/bits"

	"amazonsfarm/shared/amazons"
)

// Reach tells which positions may come after one position. It knows necessary conditions only: squares
// once burnt stay burnt, and no queen is taken.
type Reach struct {
	key    amazons.Key
	layer  int
	queens [2]int    // of the side to move, and of the other
	burnt  [8]uint64 // packed, in each orientation of the board
	images int
}

// Below returns what may come after the position of a key.
func Below(b amazons.Board, k amazons.Key) Reach {
	burnt := Burnt(k)
	r := Reach{key: k, layer: bits.OnesCount64(burnt), images: b.Symmetries(),
		queens: [2]int{bits.OnesCount64(k.A &^ burnt), bits.OnesCount64(k.B &^ burnt)}}
	squares := b.Unpack(burnt)
	for i := range r.images {
		r.burnt[i] = b.Pack(b.Apply(amazons.Symmetry(i), squares))
	}
	return r
}

// Burnt returns the burnt squares of a key, packed as in the key.
func Burnt(k amazons.Key) uint64 { return k.A & k.B }

// Burns reports whether a position with these burnt squares, packed as in its key, may come after the one
// of r, or be it, as far as they tell: it has all squares of some image of r.
func (r *Reach) Burns(burnt uint64) bool {
	for _, image := range r.burnt[:r.images] {
		if image&^burnt == 0 {
			return true
		}
	}
	return false
}

// Has reports whether a canonical position of the board is the one of r, or may come after it.
func (r *Reach) Has(k amazons.Key) bool {
	burnt := Burnt(k)
	layer := bits.OnesCount64(burnt)
	if layer <= r.layer {
		return k == r.key
	}
	own, opp := r.queens[0], r.queens[1]
	if (layer-r.layer)%2 == 1 {
		own, opp = opp, own
	}
	return bits.OnesCount64(k.A&^burnt) == own && bits.OnesCount64(k.B&^burnt) == opp && r.Burns(burnt)
}
