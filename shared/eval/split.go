package eval

import (
	"math/bits"

	"amazonsfarm/shared/amazons"
)

// A contested area that queens of P hold together is several fights that overlap in these queens. P
// may promise that each such queen shoots back at its origin with its first move; then O never goes
// from one fight to the other, and what P is sure of in each adds up. A queen between two fights
// moves in one of them only; in the other it is a burnt square. Müller 2001, section 2.3.3, has one
// safe move of each player for an area, and Song and Müller 2014, section IV.A.5, too: here there
// is one for each fight.

// maxFights is how many fights an area is taken apart into. One of more fights is left as it is.
const maxFights = 8

// maxAssignments is how many ways of giving queens to fights are tried; each queen above that goes
// to the first fight that it touches.
const maxAssignments = 16

// fights are the parts of a contested area. A judge uses one of them again and again.
type fights struct {
	bound  amazons.Set // queens that shoot back
	theirs amazons.Set
	empty  amazons.Set
	n      int
	parts  [maxFights]amazons.Set // O's queens and squares of each fight
	mine   [maxFights]amazons.Set // P's queens that move in each
	safe   [maxFights]bool        // whether P has a safe move there: giveSafely
	torns  int
	torn   [maxTorn + 1]torn // P's queens between fights, and room for one that is not
	ways   int               // of giving them to fights
}

// maxTorn is how many queens can be torn: each doubles the ways at least.
const maxTorn = 4

// torn is a queen between fights.
type torn struct {
	queen   amazons.Set
	touched int // how many fights it may move in
	where   [maxFights]int8
}

// split finds the fights of an area, false if it is a single one or of too many. The arguments are
// those of contested.
func (f *fights) split(mine, bound, theirs, empty amazons.Set) bool {
	if !f.cut(theirs, empty) {
		return false
	}
	f.share(mine, bound)
	return true
}

// cut finds the squares of the fights, false if there is a single one or too many.
func (f *fights) cut(theirs, empty amazons.Set) bool {
	f.n, f.theirs, f.empty = 0, theirs, empty
	for todo := theirs | empty; todo != 0; f.n++ {
		if f.n == maxFights {
			return false
		}
		c := fill(todo&-todo, theirs|empty)
		todo &^= c
		f.parts[f.n], f.mine[f.n] = c, 0
	}
	return f.n > 1
}

// share gives the queens to the fights that they touch, but for torn ones.
func (f *fights) share(mine, bound amazons.Set) {
	empty := f.empty
	f.bound, f.ways, f.torns = bound, 1, 0
	for queens := mine; queens != 0; queens &= queens - 1 {
		q := queens & -queens
		around := amazons.Neighbours[bits.TrailingZeros64(q)&63]
		touches := 0
		t := &f.torn[f.torns]
		t.queen, t.touched = q, 0
		for i, c := range f.parts[:f.n] {
			if near := around & c; near != 0 {
				touches++
				if near&empty != 0 {
					t.where[t.touched] = int8(i)
					t.touched++
				}
			}
		}
		if touches > 1 {
			f.bound |= q
		}
		switch {
		case t.touched == 0: // it cannot move before O does, and then need not
		case t.touched == 1 || f.ways*t.touched > maxAssignments:
			f.mine[t.where[0]] |= q
		default:
			f.torns, f.ways = f.torns+1, f.ways*t.touched
		}
	}
	// A queen beside one that closes another fight must not let O through either, if that one left.
	for i := range f.n {
		others := mine &^ f.mine[i]
		f.bound |= f.mine[i] & amazons.Grow(others)
	}
}

// give sets own to P's queens of each fight in one way of giving the torn ones to them.
func (f *fights) give(way int, own *[maxFights]amazons.Set) {
	*own = f.mine
	for i := range f.torn[:f.torns] {
		t := &f.torn[i]
		own[t.where[way%t.touched]&(maxFights-1)] |= t.queen
		way /= t.touched
	}
}

// giveSafely gives each torn queen to a fight where it brings P a safe move, or else to the first
// one without, and returns in how many fights P then has one.
func (f *fights) giveSafely() (n int) {
	for i := range f.n {
		c := f.contest(i)
		if f.safe[i] = c.mine != 0 && safeMove(c.mine, c.theirs, c.empty); f.safe[i] {
			n++
		}
	}
	for k := range f.torn[:f.torns] {
		t := &f.torn[k]
		to := -1
		for _, i := range t.where[:t.touched] {
			if i &= maxFights - 1; f.safe[i] {
				continue
			}
			if c := f.contest(int(i)); safeMove(c.mine|t.queen, c.theirs, c.empty) {
				to, f.safe[i] = int(i), true
				n++
				break
			}
			if to < 0 {
				to = int(i)
			}
		}
		f.mine[max(to, 0)] |= t.queen
	}
	return n
}

// contest returns one of the fights.
func (f *fights) contest(i int) contest {
	c := f.parts[i]
	return contest{mine: f.mine[i], theirs: c & f.theirs, empty: c & f.empty}
}

// begun reports whether P has a first move in a fight without a safe move that brings one.
func (f *fights) begun() bool {
	for i := range f.n {
		if c := f.contest(i); !f.safe[i] && c.keepsSafe() {
			return true
		}
	}
	return false
}

// largestFight returns the number of empty squares of the largest fight.
func (f *fights) largestFight() int {
	most := 0
	for _, c := range f.parts[:f.n] {
		most = max(most, bits.OnesCount64(c&f.empty))
	}
	return most
}

// inFights adds what P is sure of in a contested area, as contested does, or in its fights,
// whichever is more.
func (j *Judge) inFights(mine, bound, theirs, empty amazons.Set, t *tally) {
	var f fights
	if !f.split(mine, bound, theirs, empty) || f.largestFight() > 2*j.set.AreaSearch {
		j.contested(mine, bound, theirs, empty, t)
		return
	}
	add := func(way int, u *tally) {
		if way < 0 {
			j.contested(mine, bound, theirs, empty, u)
			return
		}
		var own [maxFights]amazons.Set
		f.give(way, &own)
		j.each(&f, &own, u)
	}
	traced, opens := j.trace, j.opens
	j.trace = nil
	best, most := -1, tally{}
	for way := -1; way < f.ways; way++ {
		var u tally
		if add(way, &u); way < 0 || u.n > most.n || u.n == most.n && u.gain > most.gain {
			best, most = way, u
		}
		j.opens = opens
	}
	j.trace = traced
	add(best, t)
}

// each adds what P is sure of in each fight, where its queens own move.
func (j *Judge) each(f *fights, own *[maxFights]amazons.Set, t *tally) {
	for i, c := range f.parts[:f.n] {
		if c&f.empty != 0 {
			j.contested(own[i], own[i]&f.bound, c&f.theirs, c&f.empty, t)
		}
	}
}

// apart takes the contested areas apart that contests has just added to t, where P has a safe move
// in each, if one more would win. It reports false where that brings nothing.
func (j *Judge) apart(t *tally, blockers amazons.Set, begins bool) bool {
	// Fights that bring two more are one in some hundreds. If P begins, it wins with less by a
	// first move that keeps the one that it has.
	if n := t.n + 2*one; !j.thorough() && (n < 0 && !begins || begins && (n > 0 || n+one+t.width < 0)) {
		return false
	}
	any := false
	f := &j.fights
	for i := j.opens - 1; i >= 0; i-- {
		c := j.open[i]
		if able := c.mine & amazons.Grow(c.empty); !c.safe || able&(able-1) == 0 || !f.cut(c.theirs, c.empty) {
			continue
		}
		f.share(c.mine, c.mine&blockers)
		if f.giveSafely() < 2 && !(begins && f.begun()) {
			continue
		}
		any = true
		j.trace.apart(&c)
		j.opens--
		j.open[i] = j.open[j.opens]
		t.n -= c.counted
		j.each(f, &f.mine, t)
	}
	return any
}
