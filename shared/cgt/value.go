package cgt

import (
	"fmt"
	"strings"
)

// Value is a summary of a game: its thermograph, and how it compares with a star at its stops. The
// package comment says what a Value determines. Games with the same summary have equal Values under
// ==, so a Value can be a map key. The zero Value is the value of the game 0.
type Value struct {
	code string // the canonical bytes, but "" for 0
}

// Kind is the coarse class of a game.
type Kind uint8

// The kinds. A Value determines them exactly.
const (
	Number Kind = iota // equal to a number; temperature below 0
	// not 0, but between all negative and all positive numbers; temperature 0, mean 0
	Infinitesimal
	NumberPlusInfinitesimal // a number other than 0 plus an Infinitesimal; temperature 0
	Hot                     // left stop above right stop; temperature above 0
)

// String returns "number", "infinitesimal", "number+infinitesimal" or "hot".
func (k Kind) String() string {
	return [...]string{"number", "infinitesimal", "number+infinitesimal", "hot"}[k]
}

// Tail is the class of a game minus its mean, where that difference is 0 or infinitesimal (Song
// and Müller 2014, section II.D.2, with star told from the other fuzzy ones).
type Tail uint8

// The tails. A Value determines them exactly.
const (
	Zero     Tail = iota // the game is its mean, a number
	Star                 // the game is its mean plus star
	Positive             // above its mean, by an infinitesimal
	Negative             // below its mean, by an infinitesimal
	Fuzzy                // confused with its mean, but not that plus star
	NoTail               // hot
)

// String returns "zero", "star", "positive", "negative", "fuzzy" or "none".
func (t Tail) String() string {
	return [...]string{"zero", "star", "positive", "negative", "fuzzy", "none"}[t]
}

// Mean returns the value of the mast.
func (v Value) Mean() Dyadic {
	var in room
	l, _, scale := v.walls(&in)
	return reduce(l[len(l)-1].v, scale)
}

// Temperature returns the temperature of the foot of the mast, at least -1.
func (v Value) Temperature() Dyadic {
	var in room
	l, r, scale := v.walls(&in)
	return reduce(max(l[len(l)-1].t, r[len(r)-1].t), scale)
}

// Stops returns the left and the right stop: the values of the walls at temperature 0.
func (v Value) Stops() (left, right Dyadic) {
	var in room
	l, r, scale := v.walls(&in)
	return reduce(l.at(0), scale), reduce(-r.at(0), scale)
}

// Kind returns the coarse class.
func (v Value) Kind() Kind {
	t := v.Temperature()
	switch {
	case t.Sign() < 0:
		return Number
	case t.Sign() > 0:
		return Hot
	case v.Mean() == Dyadic{}:
		return Infinitesimal
	}
	return NumberPlusInfinitesimal
}

// Tail returns the class of the game minus its mean.
func (v Value) Tail() Tail {
	var in room
	l, r, _ := v.walls(&in)
	switch t := max(l[len(l)-1].t, r[len(r)-1].t); {
	case t < 0:
		return Zero
	case t > 0:
		return NoTail
	case l[len(l)-1].t < 0:
		return Negative
	case r[len(r)-1].t < 0:
		return Positive
	case v.code[0]&(atMostStar|atLeastStar) == atMostStar|atLeastStar:
		return Star
	}
	return Fuzzy
}

// AtMostStar reports whether the game is no number and at most its left stop plus star.
func (v Value) AtMostStar() bool { return v.code != "" && v.code[0]&atMostStar != 0 }

// AtLeastStar reports whether the game is no number and at least its right stop plus star.
func (v Value) AtLeastStar() bool { return v.code != "" && v.code[0]&atLeastStar != 0 }

// Floor returns the greatest integer that is at most the game: its right wall at temperature -1.
func (v Value) Floor() int64 {
	var in room
	_, r, scale := v.walls(&in)
	return -r[0].v >> scale
}

// Ceil returns the least integer that is at least the game: its left wall at temperature
// -1.
func (v Value) Ceil() int64 {
	var in room
	l, _, scale := v.walls(&in)
	return l[0].v >> scale
}

// Winner returns who wins the game alone when mover (Left or Right) begins.
func (v Value) Winner(mover Side) Side {
	if mover == Left && v.Ceil() > 0 || mover == Right && v.Floor() >= 0 {
		return Left
	}
	return Right
}

// Bounds returns the best bounds by a number on either side (Song and Müller 2014, sections
// II.D.1 and II.D.2). Numbers are bounded by themselves; n plus an
// infinitesimal by (n, n+e], [n-e, n) or [n-e, n+e] as that is positive, negative
// or fuzzy; hot games by their stops.
//
// A stop of a hot game is relaxed where the wall is diagonal below temperature 0. Where
// it is vertical, the paper takes the bound as exact; but a hot game is no number, so it is
// never equal to its bound, and the bound is tightened here.
func (v Value) Bounds() Bounds {
	var in room
	l, r, scale := v.walls(&in)
	if max(l[len(l)-1].t, r[len(r)-1].t) < 0 {
		return NumberBounds(reduce(l[len(l)-1].v, scale))
	}
	bound := func(c climb, n int64) Bound {
		s := c.at(0)
		b := Bound{reduce(n*s, scale), Tightened}
		// Just below 0 the wall goes on to the next corner, at a scale with that corner.
		if climbBelow(c) {
			b.Strength = Relaxed
		}
		return b
	}
	return Bounds{Lower: bound(r, -1), Upper: bound(l, 1)}
}

// climbBelow reports whether the wall is diagonal just below temperature 0.
func climbBelow(c climb) bool {
	for i := len(c) - 1; i > 0; i-- {
		if c[i-1].t < 0 {
			return c[i].t >= 0 && c[i].v != c[i-1].v
		}
	}
	return false
}

// Neg returns the Value of the negative.
func (v Value) Neg() Value {
	if v.code == "" {
		return v
	}
	var c Combiner
	var scale int
	var in room
	c.right, c.left, scale = v.walls(&in)
	f := v.code[0]
	return c.encode(flags(f&atLeastStar != 0, f&atMostStar != 0), scale)
}

// AddInt returns the Value of the game plus the integer n. (Adding other numbers moves the
// walls above temperature 0 alike, but not below.) It fails with an error that wraps
// ErrOverflow.
func (v Value) AddInt(n int64) (Value, error) {
	var c Combiner
	var scale int
	var in room
	c.left, c.right, scale = v.walls(&in)
	if !fits(n, scale) || !fits(c.left[0].v+n<<scale, 0) || !fits(c.right[0].v-n<<scale, 0) {
		return Value{}, overflow(fmt.Sprintf("a wall moved by %d", n))
	}
	for i := range c.left {
		c.left[i].v += n << scale
	}
	for i := range c.right {
		c.right[i].v -= n << scale
	}
	head := byte(0)
	if v.code != "" {
		head = v.code[0] & (atMostStar | atLeastStar)
	}
	return c.encode(head, scale), nil
}

// Compare orders Values totally, by their canonical bytes; it is not the order of games.
func (v Value) Compare(o Value) int { return strings.Compare(v.bytes(), o.bytes()) }
