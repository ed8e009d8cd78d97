package dfpn

import "fmt"

// A child's share in the sum of proof numbers that is its parent's delta, and what follows from it
// for thresholds. A plain sum counts what transpositions share many times over. Counting each only
// once needs the whole graph; the usual ways round it are to count the largest child and little or
// nothing of the rest, which is done here.
const (
	// DefaultSumWeight is Options.SumWeight where none is given: the best of those tried
	// (deploy/docs/results/numbers.md).
	DefaultSumWeight = 20
	// DefaultSlack is Options.Slack where none is given. With no slack the search jumps between two
	// equal children at every step.
	DefaultSlack = 64
)

// sums are how the numbers of children are added up.
type sums struct {
	weight uint64 // of all children but the largest, in units of 1/256; at least 1
	raise  uint64 // of the threshold that the second best child sets, in units of 1/256
}

func newSums(weight, slack int) (sums, error) {
	if weight < 0 || weight > 256 {
		return sums{}, fmt.Errorf("%w: a weight in sums of %d/256: 1 to 256 are possible", ErrOptions, weight)
	}
	if slack > 256*256 {
		return sums{}, fmt.Errorf("%w: a slack of %d/256: at most 65536/256 is possible", ErrOptions, slack)
	}
	if weight == 0 {
		weight = DefaultSumWeight
	}
	if slack == 0 {
		slack = DefaultSlack
	}
	return sums{uint64(weight), uint64(max(slack, 0))}, nil
}

// Sum adds up the phi of children with the weight that searches have where none is given: the
// largest in full, the rest by DefaultSumWeight.
func Sum(largest, rest uint64) uint64 { return weighed(largest, rest, DefaultSumWeight) }

func weighed(largest, rest, weight uint64) uint64 { return largest + (rest*weight+255)>>8 }

// weigh adds up the phi of children: the largest in full, the rest by weight.
func (s sums) weigh(largest uint32, rest uint64) uint32 {
	return uint32(min(weighed(uint64(largest), rest, s.weight), largestUnsolved))
}

// childLimit returns the least phi of one child at which the weighted sum over all children reaches
// limit, where the other children's largest phi and the sum of the rest of theirs are given.
func (s sums) childLimit(limit, largest uint32, rest uint64) uint32 {
	// If the child ends up the largest: x + w*(largest+rest) >= limit.
	if x := int64(limit) - int64((uint64(largest)+rest)*s.weight+255)>>8; x >= int64(largest) {
		return uint32(x)
	}
	// Otherwise it is part of the rest: largest + w*(rest+x) >= limit.
	x := (int64(limit)-int64(largest))<<8/int64(s.weight) - int64(rest)
	return uint32(min(max(x, 1), largestUnsolved))
}

// slack raises the threshold that the second best child sets.
func (s sums) slack(second uint32) uint32 {
	return uint32(min(uint64(second)+uint64(second)*s.raise>>8+1, Infinity))
}
