package area

import (
	"math/bits"

	"amazonsfarm/shared/amazons"
)

// Set is a set of squares on the 8x8 grid, see [amazons.Set].
type Set = amazons.Set

// Kind says who can move in an area.
type Kind uint8

// The kinds of areas (Song and Müller 2014, section II.B).
const (
	Dead    Kind = iota // only queens or only empty squares: nobody moves, and nobody ever will
	Simple              // simple territory: queens of one colour, none of which belongs to another area
	Blocker             // blocker territory: queens of one colour, of which some keep the other side out
	Active              // queens of both colours and an empty square
)

// String returns "dead", "simple", "blocker" or "active".
func (k Kind) String() string {
	switch k {
	case Dead:
		return "dead"
	case Simple:
		return "simple"
	case Blocker:
		return "blocker"
	case Active:
		return "active"
	}
	return "unknown"
}

// Area is a part of a position.
type Area struct {
	Black, White Set // the queens in it, blockers included
	Empty        Set // the empty squares in it
	// Blockers are the queens of Black and White that keep the other side out of some
	// territory. In a blocker territory they are the owner's queens that touch what
	// lies outside it. In an active area they are the queens that are
	// blockers of some territory of the partition.
	Blockers Set
	Kind     Kind
}

// Squares returns all squares of the area.
func (a *Area) Squares() Set { return a.Black | a.White | a.Empty }

// Size returns the number of squares of the area.
func (a *Area) Size() int { return bits.OnesCount64(a.Squares()) }

// Owner returns 1 where only Black has queens in the area, -1 where only White has, else 0.
func (a *Area) Owner() int {
	switch {
	case a.White == 0 && a.Black != 0:
		return 1
	case a.Black == 0 && a.White != 0:
		return -1
	}
	return 0
}

// MaxAreas bounds the areas of one partition. Each has an 8-connected set of empty
// squares that no other area has, and these sets do not touch each other:
// no more than 16 fit on the 8x8 grid.
const MaxAreas = 16

// Partition holds the areas of a position that are not dead. The caller provides
// it, and it may be used again and again. The zero Partition has no areas.
type Partition struct {
	areas [MaxAreas]Area
	n     int
	dead  Set
}

// Areas returns the areas, which hold until the partition is used again.
func (p *Partition) Areas() []Area { return p.areas[:p.n] }

// Dead returns the squares that are in no area of the partition: empty squares that
// no queen can reach and queens that touch no empty square. (In an improved
// partition also queens that touch nothing but queens of the other side.)
func (p *Partition) Dead() Set { return p.dead }

// fill returns the squares of open that are 8-connected to the squares of from,
// which are in open.
func fill(from, open Set) Set {
	for {
		y := amazons.Grow(from) & open
		y = amazons.Grow(y) & open
		if y == from {
			return y
		}
		from = y
	}
}

// Basic finds the basic partition: the 8-connected components of the empty squares
// and the queens. Areas come in the order of their lowest empty squares.
func (p *Partition) Basic(black, white, empty Set) {
	p.n = 0
	all := black | white | empty
	live := Set(0)
	for rest := empty; rest != 0; {
		c := fill(rest&-rest, all)
		rest &^= c
		b, w := c&black, c&white
		if b|w == 0 {
			continue
		}
		live |= c
		a := &p.areas[p.n&(MaxAreas-1)]
		p.n++
		*a = Area{Black: b, White: w, Empty: c & empty, Kind: Simple}
		if b != 0 && w != 0 {
			a.Kind = Active
		}
	}
	p.dead = all &^ live
}

// Improved finds the improved partition of both sides at once (Song and Müller
// 2014, section II.A.3). Let R be what White reaches while no queen of Black
// moves: its queens' squares and all empty squares connected to them over empty
// squares and queens of White. A queen of Black that touches R is a blocker for the empty
// squares outside R that it touches; the other queens of Black are normal. The
// territories of Black are the components of Black's empty squares outside R
// and the normal queens, each with the blockers that touch it. (So two
// territories that only a blocker joins are two areas and share that blocker.)
// The same with the colours exchanged. The active areas are the components of
// what is left: empty squares that both sides reach and the queens that touch what
// the other side reaches.
//
// Two active areas never share a queen. A territory shares its blockers with active areas and other
// territories. A blocker keeps its territory closed if it does not move, or shoots back at its
// origin with its first move; so each blocker may be counted in one of its areas only, and the
// value of an active area as an area of its own says nothing if it holds blockers.
func (p *Partition) Improved(black, white, empty Set) {
	p.n = 0
	reachW := fill(white, empty|white)
	reachB := fill(black, empty|black)
	contested := reachW & reachB & empty
	blackEdge, whiteEdge := black&amazons.Grow(reachW), white&amazons.Grow(reachB)
	live := p.territories(black, 0, blackEdge, empty&reachB&^reachW, true)
	live |= p.territories(white, 0, whiteEdge, empty&reachW&^reachB, false)
	blockers := Set(0)
	for i := range p.areas[:p.n] {
		blockers |= p.areas[i].Blockers
	}
	open := contested | blackEdge | whiteEdge
	for rest := contested; rest != 0; {
		c := fill(rest&-rest, open)
		rest &^= c
		live |= c
		a := &p.areas[p.n&(MaxAreas-1)]
		p.n++
		*a = Area{Black: c & black, White: c & white, Empty: c & empty, Blockers: c & blockers, Kind: Active}
	}
	p.dead = (black | white | empty) &^ live
}

// Guarded finds the improved partition of one side only. blackGuards says which. The territories
// are those of that side as in [Partition.Improved]; everything else, including all that only the
// other side reaches, stays together in the areas where the other side has queens (Active, or
// Simple with the other side as owner).
//
// A bound for the guarding side follows from it: let that side promise that each blocker is either
// used in one territory (its first move goes into that territory and shoots back at its origin) or,
// in the other areas, shoots back at its origin with its first move. Then no move of the other side
// ever enters a territory, so the sum of the territories' values, every blocker counted in one of
// them at the most, and of values of the other areas under the same promise (a blocker counted in a
// territory never moves there, as if its square were burnt) is a value the guarding side is sure
// of. It is no bound for the other side.
func (p *Partition) Guarded(black, white, empty Set, blackGuards bool) {
	p.n = 0
	own, opp := black, white
	if !blackGuards {
		own, opp = white, black
	}
	reach := fill(opp, empty|opp)
	edge := own & amazons.Grow(reach)
	live := p.territories(own, 0, edge, fill(own, empty|own)&empty&^reach, blackGuards)
	blockers := Set(0)
	for i := range p.areas[:p.n] {
		blockers |= p.areas[i].Blockers
	}
	open := reach | edge
	for rest := reach & empty; rest != 0; {
		c := fill(rest&-rest, open)
		rest &^= c
		live |= c
		a := &p.areas[p.n&(MaxAreas-1)]
		p.n++
		*a = Area{Black: c & black, White: c & white, Empty: c & empty, Blockers: c & blockers, Kind: Active}
		if a.Black == 0 || a.White == 0 {
			a.Kind = Simple
		}
	}
	p.dead = (black | white | empty) &^ live
}

// territories appends the territories of one side, whose queens at the edge touch
// what the other side reaches and which alone reaches the squares of inside. It
// returns their squares, without those of the blockers.
func (p *Partition) territories(queens, live, edge, inside Set, black bool) Set {
	body := inside | queens&^edge
	for rest := inside; rest != 0; {
		c := fill(rest&-rest, body)
		rest &^= c
		live |= c
		b := amazons.Grow(c) & edge
		q := c&queens | b
		a := &p.areas[p.n&(MaxAreas-1)]
		p.n++
		*a = Area{White: q, Empty: c & inside, Blockers: b, Kind: Simple}
		if black {
			a.Black, a.White = q, 0
		}
		if b != 0 {
			a.Kind = Blocker
		}
	}
	return live
}
