package eval

import "amazonsfarm/shared/cgt"

// one is the number 1 in the fixed point of a tally.
const one = 1 << 16

// lower is a lower bound of a game for one side: a number in units of 1/one, and what else of a
// [cgt.Part] counts in a sum. For the other side the game is negated.
type lower struct {
	n     int32
	width int32 // 0, or of a hot game how much more a first move secures, relaxed
	flags uint8
}

// The flags of a lower bound.
const (
	tightened = 1 << iota // the game is above the number
	relaxed               // the game is at least the number but for an infinitesimal
	star                  // the game is at least the number plus star
	fuzzy                 // the game is the number plus a fuzzy infinitesimal
)

// value is a game as both sides see it: own is Left.
type value struct{ own, opp lower }

// valueOf converts the bounds of a part. A number that is no multiple of a unit is rounded down; the
// bound is then tightened.
func valueOf(p cgt.Part) value {
	own, exactOwn := lowerOf(p.Lower, p.LowerStar, p.Fuzzy)
	opp, exactOpp := lowerOf(cgt.Bound{N: p.Upper.N.Neg(), Strength: p.Upper.Strength}, p.UpperStar, p.Fuzzy)
	if p.Hot && exactOwn && exactOpp {
		own.width = -opp.n - own.n
		opp.width = own.width
	}
	return value{own, opp}
}

// lowerOf converts one bound, and reports whether its number is exact.
func lowerOf(b cgt.Bound, isStar, isFuzzy bool) (l lower, exact bool) {
	num, exp := b.N.Fraction()
	if exp > 16 || b.N.Floor() >= 1<<13 || b.N.Floor() <= -1<<13 {
		// Such values are rare: a whole number below will do.
		return lower{n: int32(min(b.N.Floor()-1, 1<<13)) * one, flags: tightened}, false
	}
	l.n = int32(num << (16 - exp))
	switch b.Strength {
	case cgt.Tightened:
		l.flags = tightened
	case cgt.Relaxed:
		l.flags = relaxed
	}
	if isStar {
		l.flags |= star
	}
	if isFuzzy {
		l.flags |= fuzzy
	}
	return l, true
}

// tally adds up lower bounds for one side, by the rules of [cgt.Sum]. It works in integers, because
// the search makes a tally for most of its positions.
//
// An example: a star, an area worth 1 and one worth at least -1, tightened. The numbers add up to 0,
// one star is left over, and the bound is tightened. If the side begins, it takes the star and wins.
// If the other side begins, the tally tells nothing: the third area may be -1 plus up. From up the
// other side moves to star, and two stars are worth 0.
type tally struct {
	n         int32
	width     int32 // the largest
	relaxed   int16 // relaxed bounds that are no stars
	odd       bool  // the number of stars
	tightened bool
	spare     bool // a tightened bound may also be taken as a star
	fuzzy     bool // one of the relaxed bounds is of a fuzzy game
}

// add adds a lower bound.
func (t *tally) add(l lower) {
	t.n += l.n
	t.width = max(t.width, l.width)
	if l.flags == 0 {
		return
	}
	switch {
	case l.flags&tightened != 0:
		t.tightened = true
		t.spare = t.spare || l.flags&star != 0
	case l.flags&(relaxed|star) == relaxed|star:
		t.odd = !t.odd
	case l.flags&relaxed != 0:
		t.relaxed++
		t.fuzzy = t.fuzzy || l.flags&fuzzy != 0
	}
}

// join adds another tally.
func (t *tally) join(u tally) {
	t.n += u.n
	t.width = max(t.width, u.width)
	t.relaxed += u.relaxed
	t.odd = t.odd != u.odd
	t.tightened = t.tightened || u.tightened
	t.spare = t.spare || u.spare
	t.fuzzy = t.fuzzy || u.fuzzy
}

// second reports whether the side wins if the other begins.
func (t *tally) second() bool { return t.secondWith(t.n) }

// secondWith is second if the numbers add up to n.
func (t *tally) secondWith(n int32) bool {
	return n > 0 || n == 0 && t.relaxed == 0 && (!t.odd || t.spare)
}

// rule says why a side wins.
type rule uint8

const (
	ruleNone      rule = iota
	ruleBounds         // the sum of the bounds is above 0, or 0 and the other side begins
	ruleTightened      // the sum is 0 and tightened
	ruleStar           // a first move in a star
	ruleFuzzy          // a first move in the one fuzzy infinitesimal
	ruleHot            // a first move in a hot area
	ruleFirst          // a first move in an area that is contested
)

// first returns why the side wins if it begins, ruleNone if it is not known to win.
func (t *tally) first(s *Settings) rule {
	if t.n > 0 {
		return ruleBounds
	}
	if s.HotLookahead && t.n+t.width > 0 && t.width > 0 {
		return ruleHot
	}
	if t.n < 0 {
		return ruleNone
	}
	switch {
	case t.relaxed == 0 && t.tightened:
		return ruleTightened
	case t.relaxed == 0 && t.odd && s.Stars:
		return ruleStar
	case t.relaxed == 1 && t.fuzzy && (!t.odd || t.spare) && s.Stars:
		return ruleFuzzy
	}
	return ruleNone
}
