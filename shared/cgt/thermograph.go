package cgt

import "strings"

// Corner is a point at which a wall of a thermograph bends.
type Corner struct {
	Value       Dyadic `json:"value"`
	Temperature Dyadic `json:"temperature"`
}

// String returns "(value,temperature)", such as "(1/2,-1)".
func (c Corner) String() string {
	return "(" + c.Value.String() + "," + c.Temperature.String() + ")"
}

// Wall is one wall of a thermograph: its corners from temperature -1 up. Between
// corners it is straight, with a slope of 0 or 1 in value by temperature; from
// the last corner on it is vertical. No corner is superfluous, so where a wall is vertical
// when the mast begins, its last corner lies below the foot of the mast.
type Wall []Corner

// String returns the corners one after the other.
func (w Wall) String() string {
	var sb strings.Builder
	for _, c := range w {
		sb.WriteString(c.String())
	}
	return sb.String()
}

// Thermograph is the picture of a game at all taxes from -1 up (see the package comment).
// The walls end at the same value, the mean; the higher of their last corners is the
// foot of the mast, at the temperature of the game.
type Thermograph struct {
	Left, Right Wall
}

// Thermograph returns the thermograph.
func (v Value) Thermograph() Thermograph {
	var in room
	l, r, scale := v.walls(&in)
	wall := func(c climb, sign int64) Wall {
		w := make(Wall, len(c))
		for i, p := range c {
			w[i] = Corner{reduce(sign*p.v, scale), reduce(p.t, scale)}
		}
		return w
	}
	return Thermograph{wall(l, 1), wall(r, -1)}
}

// String returns "left wall | right wall".
func (t Thermograph) String() string { return t.Left.String() + " | " + t.Right.String() }
