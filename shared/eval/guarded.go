package eval

import (
	"math/bits"

	"amazonsfarm/shared/amazons"
)

// Guarded search plays out the squares that the other side, O, can use, where there are few. P's
// territories are so many free moves. P keeps its promise ([Judge.side]): blockers used in
// territories stand still, and the others shoot back at their origins with their first moves. So P
// does no better than on the board, and O no worse. The 2014 paper leaves areas of active queens
// with the blocker constraint to future work (section VI). Results are kept by exact squares,
// whatever the rest of the board looks like.

// guarded reports whether P wins by guarded search. The arguments are those of side.
func (j *Judge) guarded(mine, theirs, empty, theirReach amazons.Set, t tally, begins bool) bool {
	inside := empty &^ theirReach
	if inside == 0 || t.n&(one-1) != 0 || t.relaxed != 0 || t.odd ||
		bits.OnesCount64(theirReach) > j.set.GuardedSearch {
		return false
	}
	near := amazons.Grow(theirs | theirReach)
	blockers := mine & near & amazons.Grow(inside|mine&^near)
	moves, used := j.territories(mine, near, blockers, inside)
	free := mine & near &^ used
	n := moves + int(t.n/one)
	// Where P loses if both sides just take turns to use up all squares, P seldom does better.
	odd := bits.OnesCount64(theirReach) & 1
	if begins {
		return n >= 1-odd && j.local(fight{amazons.State{Own: free, Opp: theirs, Empty: theirReach}, free & blockers},
			n) == Won
	}
	return n >= odd && j.local(fight{amazons.State{Own: theirs, Opp: free, Empty: theirReach}, free & blockers},
		-n) == Lost
}
