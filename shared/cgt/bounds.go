package cgt

import (
	"strings"
)

// Side is a player, or nobody.
type Side uint8

// The players. In Amazons Left is Black and Right is White.
const (
	Nobody Side = iota // also: not known
	Left
	Right
)

// Other returns the other player; Nobody stays.
func (s Side) Other() Side { return [...]Side{Nobody: Nobody, Left: Right, Right: Left}[s] }

// String returns "nobody", "left" or "right".
func (s Side) String() string { return [...]string{"nobody", "left", "right"}[s] }

// Strength says what a bound promises about its number n (Song and Müller 2014, section
// II.D). Read for a lower bound; for an upper one all signs turn.
type Strength uint8

// The strengths, for a lower bound n of a game G.
const (
	Exact     Strength = iota // G >= n
	Tightened                 // G > n, so G cannot be n
	Relaxed                   // G > n - e for every number e > 0; G may be below n or confused with it
)

// Bound is a number and what it promises.
type Bound struct {
	N        Dyadic
	Strength Strength
}

// Add returns the sum of two lower or of two upper bounds by the three rules of section
// II.D: relaxed if one of them is, else tightened if one of them is, else exact. It
// panics where the number is out of range.
func (b Bound) Add(o Bound) Bound {
	return Bound{b.N.Add(o.N), max(b.Strength, o.Strength)}
}

// Bounds are a lower and an upper bound of a game. The zero value bounds the game 0.
type Bounds struct {
	Lower, Upper Bound
}

// NumberBounds returns the bounds of the number n itself, exact on both sides.
func NumberBounds(n Dyadic) Bounds {
	return Bounds{Bound{n, Exact}, Bound{n, Exact}}
}

// Add returns bounds of the sum of two games from bounds of each. It panics where a
// number is out of range.
func (b Bounds) Add(o Bounds) Bounds {
	return Bounds{b.Lower.Add(o.Lower), b.Upper.Add(o.Upper)}
}

// Neg returns the bounds of the negative.
func (b Bounds) Neg() Bounds {
	return Bounds{
		Bound{b.Upper.N.Neg(), b.Upper.Strength},
		Bound{b.Lower.N.Neg(), b.Lower.Strength},
	}
}

// Width returns the upper number minus the lower one. It panics where that is out of range.
func (b Bounds) Width() Dyadic { return b.Upper.N.Sub(b.Lower.N) }

// String returns the notation of the paper with e for epsilon, such as "[3, -1+e]",
// "(0, +e]" or "[-3/2, 5/16]".
func (b Bounds) String() string {
	var sb strings.Builder
	sb.WriteByte("[(["[b.Lower.Strength])
	sb.WriteString(b.Lower.text("-e"))
	sb.WriteString(", ")
	sb.WriteString(b.Upper.text("+e"))
	sb.WriteByte("])]"[b.Upper.Strength])
	return sb.String()
}

// text writes the number with an epsilon behind it where the bound is relaxed.
func (b Bound) text(e string) string {
	switch {
	case b.Strength != Relaxed:
		return b.N.String()
	case b.N == Dyadic{}:
		return e
	}
	return b.N.String() + e
}
