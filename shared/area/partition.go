package area

import (
	"amazonsfarm/shared/amazons"
)

// Set is a set of squares on the 8x8 grid, see [amazons.Set].
type Set = amazons.Set

// Kind says who can move in an area.
type Kind uint8

// The kinds of areas (Song and Müller 2014, section II.B).
const (
	Dead   Kind = iota // only queens or only empty squares: nobody moves, and nobody ever will
	Simple             // queens of one colour and an empty square
	Active             // queens of both colours and an empty square
)

// String returns "dead", "simple" or "active".
func (k Kind) String() string { return [...]string{"dead", "simple", "active"}[k] }

// Area is a part of a position.
type Area struct {
	Black, White Set // the queens in it
	Empty        Set // the empty squares in it
	Kind         Kind
}

// Squares returns all squares of the area.
func (a *Area) Squares() Set { return a.Black | a.White | a.Empty }

// MaxAreas bounds the areas of one partition. Each has an 8-connected set of empty
// squares that no other area has, and these sets do not touch each other:
// no more than 16 fit on the 8x8 grid.
const MaxAreas = 16

// Partition holds the areas of a position that are not dead. Its memory can be reused for another
// position. The zero Partition has no areas.
type Partition struct {
	areas [MaxAreas]Area
	n     int
}

// Areas returns the areas. They are valid until the Partition is used again.
func (p *Partition) Areas() []Area { return p.areas[:p.n] }

// Basic finds the basic partition: the 8-connected components of the empty squares
// and the queens. Areas come in the order of their lowest empty squares.
func (p *Partition) Basic(black, white, empty Set) {
	p.n = 0
	all := black | white | empty
	for rest := empty; rest != 0; {
		c := amazons.Fill(rest&-rest, all)
		rest &^= c
		b, w := c&black, c&white
		if b|w == 0 {
			continue
		}
		a := &p.areas[p.n&(MaxAreas-1)]
		p.n++
		*a = Area{Black: b, White: w, Empty: c & empty, Kind: Simple}
		if b != 0 && w != 0 {
			a.Kind = Active
		}
	}
}
