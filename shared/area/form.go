package area

import (
	"math/bits"

	"amazonsfarm/shared/amazons"
)

// Form is an area as it stands in the canonical place: all areas that arise from one another by
// shifts, by the 8 symmetries of the square and by exchanging the colours have the same Shape,
// Black and White. The three sets together are an exact key.
//
// The shape lies in the lower left corner of the 8x8 grid, touches both edges and is at least as
// wide as high; among the images that do, it is the smallest as a number. Among the placements on
// that shape (and the two colourings), Black is the largest as a number, then White. So the highest
// queen is always black.
type Form struct {
	Shape        Set  // all squares
	Black, White Set  // the queens
	Negated      bool // the colours were exchanged: the value of the area is the negative of the form's

	// The area was shifted down by shift, transposed where bit 2 of motion is set,
	// then mirrored left-right (bit 0) within left, then top-bottom (bit 1) within down.
	motion            uint8
	shift, left, down uint8
}

// Squares returns the squares of the area that lie on the squares x of the form.
func (f *Form) Squares(x Set) Set {
	if f.motion&2 != 0 {
		x = bits.ReverseBytes64(x << f.down)
	}
	if f.motion&1 != 0 {
		x = amazons.MirrorFiles(x << f.left)
	}
	if f.motion&4 != 0 {
		x = amazons.Transpose(x)
	}
	return x << f.shift
}

// Key is a Form in 16 bytes, without loss: A holds the black queens and all squares that are not
// in the shape, B the white queens and all squares that are not in the shape.
type Key struct{ A, B uint64 }

// Key returns the exact key of the form.
func (f Form) Key() Key { return Key{f.Black | ^f.Shape, f.White | ^f.Shape} }

// Canonical returns the canonical form of the area with the given squares. The
// three sets are disjoint and not all empty; they need not be connected.
func Canonical(black, white, empty Set) Form {
	shape := black | white | empty
	by, w, h := Frame(shape)
	shift := uint(by) & 63
	shape, black, white = shape>>shift, black>>shift, white>>shift
	turned := uint8(0)
	if h > w {
		shape, black, white = amazons.Transpose(shape), amazons.Transpose(black), amazons.Transpose(white)
		w, h = h, w
		turned = 4
	}
	left, down := uint(8-w)&63, uint(64-8*h)&63
	f := Form{Shape: shape, Black: black, White: white, motion: turned, shift: uint8(shift), left: uint8(left),
		down: uint8(down)}
	if black < white {
		f.Black, f.White, f.Negated = white, black, true
	}
	x1 := amazons.MirrorFiles(shape) >> left
	if x1 <= f.Shape {
		f.improve(x1, amazons.MirrorFiles(black)>>left, amazons.MirrorFiles(white)>>left, turned|1)
	}
	x2 := bits.ReverseBytes64(shape) >> down
	if x2 <= f.Shape {
		f.improve(x2, bits.ReverseBytes64(black)>>down, bits.ReverseBytes64(white)>>down, turned|2)
	}
	x3 := bits.ReverseBytes64(x1) >> down
	if x3 <= f.Shape {
		f.improve(x3, bits.ReverseBytes64(amazons.MirrorFiles(black)>>left)>>down,
			bits.ReverseBytes64(amazons.MirrorFiles(white)>>left)>>down, turned|3)
	}
	if w != h {
		return f
	}
	shape = amazons.Transpose(shape)
	if shape <= f.Shape {
		f.improve(shape, amazons.Transpose(black), amazons.Transpose(white), 4)
	}
	x1 = amazons.MirrorFiles(shape) >> left
	if x1 <= f.Shape {
		f.improve(x1, amazons.MirrorFiles(amazons.Transpose(black))>>left,
			amazons.MirrorFiles(amazons.Transpose(white))>>left, 5)
	}
	x2 = bits.ReverseBytes64(shape) >> down
	if x2 <= f.Shape {
		f.improve(x2, bits.ReverseBytes64(amazons.Transpose(black))>>down,
			bits.ReverseBytes64(amazons.Transpose(white))>>down, 6)
	}
	x3 = bits.ReverseBytes64(x1) >> down
	if x3 <= f.Shape {
		f.improve(x3, bits.ReverseBytes64(amazons.MirrorFiles(amazons.Transpose(black))>>left)>>down,
			bits.ReverseBytes64(amazons.MirrorFiles(amazons.Transpose(white))>>left)>>down, 7)
	}
	return f
}

// improve replaces the image by another one of a smaller shape, or of the same shape
// and a greater placement.
func (f *Form) improve(shape, black, white Set, motion uint8) {
	negated := black < white
	if negated {
		black, white = white, black
	}
	if shape < f.Shape || black > f.Black || black == f.Black && white > f.White {
		f.Shape, f.Black, f.White, f.Negated, f.motion = shape, black, white, negated, motion
	}
}

// CanonicalShape returns the canonical form of a set of squares, not empty: the Shape that
// [Canonical] gives every area on them.
func CanonicalShape(shape Set) Set { return Canonical(0, 0, shape).Shape }

// Component returns the 8-connected component of the lowest square of shape, which is not empty.
func Component(shape Set) Set { return amazons.Fill(shape&-shape, shape) }
