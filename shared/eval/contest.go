package eval

import (
	"math/bits"

	"amazonsfarm/shared/amazons"
)

// contest is an area in which side P is sure of few moves of its own, and the other side O makes all
// other moves.
type contest struct {
	// P's queens that may move here, none of which is used elsewhere; O's queens; O's squares
	mine, theirs, empty amazons.Set

	counted int32 // what the tally counts
}

// contests adds to t what P is sure of in the squares theirReach of the other side. free holds P's
// queens that may move there.
func (j *Judge) contests(free, blockers, theirs, theirReach amazons.Set, t *tally) {
	j.opens = 0
	for todo := theirReach; todo != 0; {
		c := amazons.Fill(todo&-todo, theirs|theirReach|free)
		todo &^= c
		j.contested(c&free, c&free&blockers, c&theirs, c&theirReach, t)
	}
}

// wins reports whether P wins by the tally and, if it begins, a first move.
func (j *Judge) wins(t *tally, begins bool) bool {
	if !begins {
		j.trace.sum(t, ruleBounds, t.second())
		return t.second()
	}
	why := t.first(&j.set)
	if why == ruleNone && j.begin(t) {
		why = ruleFirst
	}
	j.trace.sum(t, why, why != ruleNone)
	return why != ruleNone
}

// begin reports whether P, to move, wins by a first move in a contested area. After the move P must
// win the sum with the other side to begin.
func (j *Judge) begin(t *tally) bool {
	if !j.set.FirstMove {
		return false
	}
	for i := range j.opens {
		c := &j.open[i]
		// The move takes a square from the other side, and there may be a safe move after it.
		n := t.n - c.counted + (1-int32(bits.OnesCount64(c.empty)))*one
		if t.secondWith(n) && amazons.Grow(c.mine)&c.empty != 0 {
			j.trace.begins(c.empty)
			return true
		}
		if j.set.SafeMoves && t.secondWith(n+2*one) && c.keepsSafe() {
			j.trace.begins(c.empty)
			return true
		}
	}
	return false
}

// keepsSafe reports whether P has a plod after which it still has a safe move.
func (c *contest) keepsSafe() bool {
	for q := c.mine; q != 0; q &= q - 1 {
		from := q & -q
		for to := amazons.Neighbours[bits.TrailingZeros64(q)&63] & c.empty; to != 0; to &= to - 1 {
			step := to & -to
			if safeMove(c.mine&^from|step, c.theirs, c.empty&^step) {
				return true
			}
		}
	}
	return false
}

// contested adds to t what P is sure of in one area. empty holds its squares, all of which O can use,
// mine P's queens that may move there, and bound the blockers among them.
func (j *Judge) contested(mine, bound, theirs, empty amazons.Set, t *tally) {
	size := int32(bits.OnesCount64(empty))
	n := -size * one
	safe := mine != 0 && j.set.SafeMoves && safeMove(mine, theirs, empty)
	if safe {
		n += 2 * one
	}
	if int(size) < j.largest && j.set.Databases {
		// The area without its blockers may be in the database, in one or several parts.
		found, ok := j.parts(mine&^bound, theirs, empty)
		if ok && (found.n > n || found.n == n && found.relaxed == 0 && !found.odd) {
			t.join(found)
			j.trace.contested(mine, theirs, empty, found, "database", mine&^bound)
			return
		}
	}
	t.n += n
	if j.trace != nil {
		source, queens := safeSource(mine, theirs, empty, safe)
		j.trace.contested(mine, theirs, empty, tally{n: n}, source, queens)
	}
	if mine != 0 {
		j.open[j.opens&63] = contest{mine, theirs, empty, n}
		j.opens++
	}
}

// parts adds up the values of the areas that the squares make, P being Left.
func (j *Judge) parts(mine, theirs, empty amazons.Set) (t tally, ok bool) {
	squares := mine | theirs | empty
	for todo := empty; todo != 0; {
		c := amazons.Fill(todo&-todo, squares)
		todo &^= c
		v, ok := j.find(c&mine, c&theirs, c&empty)
		if !ok {
			return t, false
		}
		t.add(v.own)
	}
	return t, true
}

// safeMovesMay reports whether P may gain need moves by safe moves of the queens free, two moves in each area of c.
// False is sure, true is not. P may use some of these queens elsewhere, and the others may join areas.
func safeMovesMay(free, theirs, c amazons.Set, need int, begins bool) bool {
	var areas [16]amazons.Set // each block of two by two squares has one of at most one area
	n := 0
	for todo := amazons.Grow(free) & c; todo != 0; n++ {
		areas[n&15] = amazons.Fill(todo&-todo, c|theirs)
		todo &^= areas[n&15]
	}
	// An area that has no safe move with all of these queens has none with some of them. But P may have one in two
	// such areas that a queen joins, and in one of them by its first move.
	unsafe := 2*n - (need+1)&^1
	if begins {
		unsafe++
	}
	for i := 0; i < n && 0 <= unsafe && unsafe < n-i; i++ {
		if !safeMove(free, theirs&areas[i&15], c&areas[i&15]) {
			unsafe--
		}
	}
	return unsafe >= 0
}

// safeMove reports whether P has a move in an area after every move of O there. Each of P's queens
// mine may step to a touching square and shoot back; O moves freely. Rules 2 to 6 are special cases
// (Müller 2001, section 2.3.2; Song and Müller 2014, section IV.A.5). A move of O takes two squares,
// where its queen and its arrow end. It frees one, unless the queen shot back.
func safeMove(mine, theirs, empty amazons.Set) bool {
	near := amazons.Grow(mine)
	steps := near & empty
	if steps == 0 {
		return false
	}
	a := steps & -steps
	rest := steps &^ a
	if rest == 0 {
		// O's queen ends on a and shoots back, or its arrow ends there.
		at := amazons.Square(bits.TrailingZeros64(a))
		for q := theirs; q != 0; q &= q - 1 {
			from := q & -q
			to := amazons.QueenTargets(amazons.Square(bits.TrailingZeros64(q)), empty)
			if to&a != 0 {
				return false
			}
			if near&from == 0 && to&amazons.QueenTargets(at, empty|from) != 0 {
				return false
			}
		}
		return true
	}
	if rest&(rest-1) != 0 {
		return true
	}
	b := rest
	at := amazons.Square(bits.TrailingZeros64(a))
	for q := theirs &^ near; q != 0; q &= q - 1 {
		from := q & -q
		if amazons.QueenTargets(at, empty|from)&b != 0 &&
			amazons.QueenTargets(amazons.Square(bits.TrailingZeros64(q)), empty)&steps != 0 {
			return false
		}
	}
	return true
}
