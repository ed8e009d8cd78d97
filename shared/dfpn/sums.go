package dfpn

// delta of a position is a sum over the phi of its children: to prove a loss, every reply must be
// refuted. A plain sum counts many times over what transpositions share. Counting each position
// once needs the whole graph. So the largest child counts in full and the others for little.
const (
	// SumWeight is the weight of all children but the largest, in units of 1/256: the best of the
	// weights tried (deploy/docs/results/numbers.md).
	SumWeight = 20
	// raise is by how much the threshold that the second best child sets is raised, in units of
	// 1/256. More means fewer nodes searched again, but longer in the wrong place. Without it the
	// search jumps between two equal children at every step.
	raise = 64
)

// Sum adds up the phi of children: the largest in full, the sum of the rest by a small weight.
func Sum(largest, rest uint64) uint64 { return largest + (rest*SumWeight+255)>>8 }

// weigh is Sum for one position in the search.
func weigh(largest uint32, rest uint64) uint32 {
	return uint32(min(Sum(uint64(largest), rest), largestUnsolved))
}

// childLimit returns the least phi of one child at which the weighted sum over all children reaches
// limit. The other children's largest phi and the sum of the rest of theirs are given.
func childLimit(limit, largest uint32, rest uint64) uint32 {
	// If the child ends up the largest: x + w*(largest+rest) >= limit.
	if x := int64(limit) - int64((uint64(largest)+rest)*SumWeight+255)>>8; x >= int64(largest) {
		return uint32(x)
	}
	// Otherwise it is part of the rest: largest + w*(rest+x) >= limit.
	x := (int64(limit)-int64(largest))<<8/int64(SumWeight) - int64(rest)
	return uint32(min(max(x, 1), largestUnsolved))
}

// slack raises the threshold that the second best child sets.
func slack(second uint32) uint32 {
	return uint32(min(uint64(second)+uint64(second)*raise>>8+1, Infinity))
}
