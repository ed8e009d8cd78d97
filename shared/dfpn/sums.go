package dfpn

import "fmt"

// Sum says how the phi of the children, each about the work of closing that child, make up their parent's delta. A plain sum is far too
// large: it counts what transpositions share more than once and, probably, replies to a position are so much alike that what
// closes the hardest closes most of the others soon. shared/estimate/NUMBERS.md compares the forms, and the plain sum with one that counts each open leaf
// once, which needs the whole graph and is hardly better.
//
// A sibling that is counted without its phi counts as much as the easiest leaf does, 16 or, with other initial numbers than Fitted, 8.
type Sum uint8

// The forms of sums.
const (
	// Discounted is the largest phi, and the rest by weight. With the full weight it is the plain sum of df-pn (Nagai 2002).
	Discounted Sum = iota
	// Weak is the largest phi, and one for each other child, by weight: weak proof numbers (Ueda, Hashimoto, Hashimoto and Iida 2008).
	Weak
	// Branch is the phi of the child that is searched next, and one for each other child, by weight. With constant initial numbers
	// that counts the branches off the path to the leaf where the search goes on. It is made after the branch numbers of Okabe (2005), as
	// they are told of elsewhere: his paper was not at hand. He searches with a threshold for branches alone; here they stand
	// where the sum does, and phi stays the least delta.
	Branch
	// Grouped is Discounted over groups of children, those in which the same queen goes to the same square and which differ in the arrow
	// only. A group counts its largest phi; its other children count when that one is closed.
	Grouped
)

// String returns the name of a form.
func (s Sum) String() string {
	switch s {
	case Discounted:
		return "discounted"
	case Weak:
		return "weak"
	case Branch:
		return "branch"
	case Grouped:
		return "grouped"
	}
	return fmt.Sprintf("Sum(%d)", uint8(s))
}

const (
	// DefaultSumWeight is Options.SumWeight where none is given, with Discounted: the best of those tried (shared/estimate/NUMBERS.md).
	DefaultSumWeight = 20
	// DefaultSlack is Options.Slack where none is given. With no slack the search jumps between two equal children at every step.
	DefaultSlack = 64

	wholeWeight = 256
)

// sums are how the numbers of children are added up.
type sums struct {
	form   Sum
	weight uint64 // of all children but one, in units of 1/256; at least 1
	raise  uint64 // of the threshold that the second best child sets, in units of 1/256
	unit   uint64 // what a sibling that is only counted adds, in units of 1/256
}

func newSums(o *Options) (sums, error) {
	switch {
	case o.Sum > Grouped:
		return sums{}, fmt.Errorf("%w: there is no sum of form %d", ErrOptions, uint8(o.Sum))
	case o.SumWeight < 0 || o.SumWeight > wholeWeight:
		return sums{}, fmt.Errorf("%w: a weight in sums of %d/256: 1 to 256 are possible", ErrOptions, o.SumWeight)
	case o.Slack > 256*256:
		return sums{}, fmt.Errorf("%w: a slack of %d/256: at most 65536/256 is possible", ErrOptions, o.Slack)
	case o.Widening < 0:
		return sums{}, fmt.Errorf("%w: %d children in a sum: 0 for all, or 1 and more are possible", ErrOptions, o.Widening)
	case o.Siblings < 0:
		return sums{}, fmt.Errorf("%w: %d siblings at a time: 0 for all, or 1 and more are possible", ErrOptions, o.Siblings)
	}
	s := sums{form: o.Sum, weight: uint64(o.SumWeight), raise: uint64(max(o.Slack, 0))}
	if s.weight == 0 {
		s.weight = wholeWeight
		if s.form == Discounted {
			s.weight = DefaultSumWeight
		}
	}
	if o.Slack == 0 {
		s.raise = DefaultSlack
	}
	s.unit = s.weight * uint64(o.Initial.least())
	return s, nil
}

// delta adds up the phi of the children.
func (s *sums) delta(sel *selection) uint32 {
	switch s.form {
	case Weak:
		return clamp(uint64(sel.largest) + s.siblings(sel))
	case Branch:
		return clamp(uint64(sel.chosen) + s.siblings(sel))
	}
	return s.weigh(sel.largest, sel.sum-uint64(sel.largest))
}

// phiLimit returns the phi of the child that is searched next at which delta reaches limit.
func (s *sums) phiLimit(sel *selection, limit uint32) uint32 {
	switch s.form {
	case Weak, Branch:
		return uint32(max(int64(limit)-int64(s.siblings(sel)), 1))
	}
	return s.childLimit(limit, sel.largestRest, sel.sum-uint64(sel.chosen)-uint64(sel.largestRest))
}

// siblings returns what all children but one add where they are only counted.
func (s *sums) siblings(sel *selection) uint64 {
	return (uint64(sel.counted-1)*s.unit + wholeWeight - 1) / wholeWeight
}

// weigh adds up the phi of children: the largest in full, the rest by weight.
func (s *sums) weigh(largest uint32, rest uint64) uint32 {
	return clamp(uint64(largest) + (rest*s.weight+255)>>8)
}

func clamp(x uint64) uint32 { return uint32(min(x, largestUnsolved)) }

// childLimit returns the least phi of one child at which the weighted sum over
// all children reaches limit, where the other children's largest phi and the sum of the rest of theirs are given.
func (s *sums) childLimit(limit, largest uint32, rest uint64) uint32 {
	// If the child ends up the largest: x + w*(largest+rest) >= limit.
	if x := int64(limit) - int64((uint64(largest)+rest)*s.weight+255)>>8; x >= int64(largest) {
		return uint32(x)
	}
	// Otherwise it is part of the rest: largest + w*(rest+x) >= limit.
	x := (int64(limit)-int64(largest))<<8/int64(s.weight) - int64(rest)
	return uint32(min(max(x, 1), largestUnsolved))
}

// slack raises the threshold that the second best child sets.
func (s *sums) slack(second uint32) uint32 {
	return uint32(min(uint64(second)+uint64(second)*s.raise>>8+1, Infinity))
}
