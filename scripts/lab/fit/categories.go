package main

import (
	"math/bits"

	"amazonsfarm/shared/amazons"
)

// categories are the move categories of Higashiuchi and Grimbergen (Table 1) that can be told from
// a position and a move. Categories 6, 8 and 9 speak of the move before, which a position that is
// reached in many ways does not have; 7 is here in the form that a position has.
type categories struct {
	queenBlocks  int  // 1: opposing queens that the queen gets in the way of, up to 3
	arrowBlocks  int  // 2: opposing queens that the arrow gets in the way of, up to 3
	queenTouches bool // 3: the queen moves beside an opposing queen
	arrowTouches bool // 4: the arrow is shot beside an opposing queen
	twice        bool // 5: both get in the way of the same opposing queen
	besides      bool // 7: the queen stood beside an opposing queen
	idle         bool // 10: the queen was in no opposing queen's way
}

// categorize returns the categories of the move m from s.
func categorize(s amazons.State, m amazons.Move) categories {
	after := s.After(m)
	byQueen := seeing(s.Opp, s.Empty, m.To)
	byArrow := seeing(s.Opp, after.Empty, m.Arrow)
	return categories{
		queenBlocks:  min(3, bits.OnesCount64(byQueen)),
		arrowBlocks:  min(3, bits.OnesCount64(byArrow)),
		queenTouches: amazons.Neighbours[m.To]&s.Opp != 0,
		arrowTouches: amazons.Neighbours[m.Arrow]&s.Opp != 0,
		twice:        byQueen&byArrow != 0,
		besides:      amazons.Neighbours[m.From]&s.Opp != 0,
		idle:         seeing(s.Opp, s.Empty, m.From) == 0,
	}
}

// seeing returns those of queens that reach the square x in one move if it is empty.
func seeing(queens, empty amazons.Set, x amazons.Square) amazons.Set {
	var out amazons.Set
	for ; queens != 0; queens &= queens - 1 {
		q := queens & -queens
		if amazons.QueenTargets(amazons.Square(bits.TrailingZeros64(q)), empty|x.Bit())&x.Bit() != 0 {
			out |= q
		}
	}
	return out
}

// floats returns the categories as elements for a regression.
func (c categories) floats() []float64 {
	out := []float64{float64(c.queenBlocks), float64(c.arrowBlocks)}
	for _, b := range c.flags() {
		x := 0.0
		if b {
			x = 1
		}
		out = append(out, x)
	}
	return out
}

func (c categories) flags() []bool {
	return []bool{c.queenTouches, c.arrowTouches, c.twice, c.besides, c.idle}
}
