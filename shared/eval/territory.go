package eval

import (
	"math/bits"

	"amazonsfarm/shared/amazons"
)

// territories returns how many moves P is sure of on the squares inside, which only P can use, and
// the blockers that P needs for them. near holds what touches squares of the other side.
func (j *Judge) territories(mine, near, blockers, inside amazons.Set) (moves int, used amazons.Set) {
	normal := mine &^ near
	for todo := inside; todo != 0; {
		c, n, needed, _ := j.territory(todo, normal, blockers, inside, used)
		todo &^= c
		moves += n
		used |= needed
	}
	return moves, used
}

// territory returns the territory with the lowest square of todo: its squares, how many moves P is
// sure of there without the blockers used before, which blockers these moves need, and whether the
// database says so.
func (j *Judge) territory(todo, normal, blockers, inside, before amazons.Set) (c amazons.Set, moves int,
	used amazons.Set, known bool) {
	if j.db != nil && j.set.Territories {
		// Territories that share a blocker are one area of the database, if it is small enough.
		// None of these blockers was used before: a territory that was counted alone was too large,
		// and so is every union with it.
		c = amazons.Fill(todo&-todo, inside|normal|blockers)
		if c&before == 0 {
			if n, needed, ok := j.db.Territory(c&normal, c&blockers, c&inside); ok {
				return c, n, needed, true
			}
		}
	}
	c = amazons.Fill(todo&-todo, inside|normal)
	edge := amazons.Grow(c) & blockers &^ before
	if j.db != nil && j.set.Territories {
		// The others stand still: they are not in the area.
		if n, needed, ok := j.db.Territory(c&normal, edge, c&inside); ok {
			return c | edge, n, needed, true
		}
	}
	moves, used = walk(c&normal, edge, c&inside)
	return c | edge, moves, used, false
}

// walk returns how many plods the queens make in t by a greedy walk, and which blockers moved. The
// normal queens walk first.
func walk(normal, blockers, t amazons.Set) (moves int, used amazons.Set) {
	for _, group := range [2]amazons.Set{normal, blockers} {
		for ; group != 0 && t != 0; group &= group - 1 {
			at := bits.TrailingZeros64(group)
			for begun := false; ; begun = true {
				steps := amazons.Neighbours[at&63] & t
				if steps == 0 {
					break
				}
				if !begun {
					used |= group & -group & blockers
				}
				at = nextStep(steps, t)
				t &^= 1 << (at & 63)
				moves++
			}
		}
	}
	return moves, used
}
