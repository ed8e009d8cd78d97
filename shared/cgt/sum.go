package cgt

// Part describes one game of a Sum: its bounds, and where a star is all that relaxes them.
type Part struct {
	Bounds
	// LowerStar says that the game is at least its lower number plus star, UpperStar that it is at
	// most its upper number plus star, whatever the strengths of these bounds.
	LowerStar, UpperStar bool
	// Fuzzy says that the game is a number plus a fuzzy infinitesimal: Lower.N is
	// Upper.N, and each side has a first move that leaves no less (for Right: no more) than that.
	Fuzzy bool
	// Hot says that the numbers are the stops of a hot game: a first move of Left leads to a game
	// whose lower bound is Upper.N, relaxed, and one of Right to the mirror image.
	Hot bool
}

// Part returns the part of a game with this Value.
func (v Value) Part() Part {
	tail := v.Tail()
	return Part{
		Bounds:    v.Bounds(),
		LowerStar: v.AtLeastStar(),
		UpperStar: v.AtMostStar(),
		Fuzzy:     tail == Star || tail == Fuzzy,
		Hot:       tail == NoTail,
	}
}

// Sum adds up parts, each once, and says who wins their sum where the rules below tell. The zero
// value is the empty sum.
//
// The rules are those of Song and Müller 2014, sections II.D, IV.C.1 and IV.C.2, with a further use of
// stars. These are the rules for Left; Right's are their mirror images. n is the sum of the lower
// numbers:
//
//   - Left wins if n > 0.
//   - A game that is at least its number plus star counts as just that where its
//     bound is relaxed, so that two of these, stars or not, make an exact bound (section IV.C.2
//     has this for star itself). If then no relaxed bound is left, the sum is at least n plus an
//     even or odd number of stars. Where it is odd, a part whose bound is tightened, but which
//     is at least its number plus star as well, can make it even.
//   - If n = 0 and no relaxed bound is left, Left wins if Right begins and the number
//     of stars is or can be made even, and if Left begins and it is odd or a bound is tightened.
//   - If n = 0, Left begins and the one relaxed bound left belongs to a fuzzy part, she moves
//     there, and wins if the rest is won with Right to begin.
//   - If Left begins and n plus the width of some hot part's bounds is above 0, she moves
//     there, and wins.
type Sum struct {
	lower, upper tally
	width        Dyadic // the largest of a hot part
}

// tally is a Sum from one side. For Right, all signs are turned.
type tally struct {
	n         Dyadic
	odd       bool // the number of stars
	tightened bool
	spare     bool // a tightened bound could also be a star
	relaxed   int  // the others
	fuzzy     bool // one of those is of a fuzzy part
}

// add adds one side of a part.
func (t *tally) add(n Dyadic, s Strength, star, fuzzy bool) {
	t.n = t.n.Add(n)
	switch {
	case s == Tightened:
		t.tightened = true
		t.spare = t.spare || star
	case s == Relaxed && star:
		t.odd = !t.odd
	case s == Relaxed:
		t.relaxed++
		t.fuzzy = t.fuzzy || fuzzy
	}
}

// wins reports whether the side whose tally it is wins, if it begins or not.
func (t *tally) wins(begins bool, width Dyadic) bool {
	if t.n.Sign() > 0 || begins && t.n.Add(width).Sign() > 0 {
		return true
	}
	if t.n.Sign() < 0 {
		return false
	}
	atLeast := !t.odd || t.spare // the rest is >= 0 but for relaxed bounds
	switch {
	case t.relaxed == 0 && begins:
		return t.odd || t.tightened
	case t.relaxed == 0:
		return atLeast
	case t.relaxed == 1:
		return begins && t.fuzzy && atLeast
	}
	return false
}

// Add adds a part. It panics where a number is out of range.
func (s *Sum) Add(p Part) {
	s.lower.add(p.Lower.N, p.Lower.Strength, p.LowerStar, p.Fuzzy)
	s.upper.add(p.Upper.N.Neg(), p.Upper.Strength, p.UpperStar, p.Fuzzy)
	if p.Hot {
		if w := p.Width(); s.width.Less(w) {
			s.width = w
		}
	}
}

// Winner returns the winner of the sum when mover (Left or Right) begins, or Nobody where the rules do
// not tell.
func (s *Sum) Winner(mover Side) Side {
	if s.lower.wins(mover == Left, s.width) {
		return Left
	}
	if s.upper.wins(mover == Right, s.width) {
		return Right
	}
	return Nobody
}

// Bounds returns bounds of the sum.
func (s *Sum) Bounds() Bounds {
	return Bounds{s.lower.bound(1), s.upper.bound(-1)}
}

// bound returns the bound that the tally makes, for sign 1 of Left and for -1 of Right.
func (t *tally) bound(sign int) Bound {
	b := Bound{N: t.n}
	if sign < 0 {
		b.N = t.n.Neg()
	}
	switch {
	case t.relaxed > 0 || t.odd && !t.spare:
		b.Strength = Relaxed
	case t.tightened && !t.odd:
		b.Strength = Tightened
	}
	return b
}
