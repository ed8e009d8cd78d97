package eval

import (
	"math/bits"

	"amazonsfarm/shared/amazons"
)

// A contested area that is too large to be played out often is several fights with queens of P between them. P may promise that each
// such queen shoots back at its origin with its first move; then O never goes from one fight to the other, and each
// may be played out by itself. A queen between two fights moves in one of them only; in the other it is a burnt square.

// maxAssignments is how many ways of giving queens to fights are tried; each queen above that goes to the first fight that it touches.
const maxAssignments = 16

// fights are the parts of a contested area.
type fights struct {
	bound  amazons.Set // queens that shoot back
	theirs amazons.Set
	empty  amazons.Set
	parts  []amazons.Set // O's queens and squares of each fight
	mine   []amazons.Set // P's queens that move in each
	torn   []torn        // P's queens between fights
	ways   int           // of giving them to fights
}

// torn is a queen between fights.
type torn struct {
	queen   amazons.Set
	touched []int // the fights that it may move in
}

// split finds the fights of an area, false if it is a single one. The arguments are those of contested.
func split(mine, bound, theirs, empty amazons.Set) (f fights, ok bool) {
	for todo := theirs | empty; todo != 0; {
		c := fill(todo&-todo, theirs|empty)
		todo &^= c
		f.parts = append(f.parts, c)
	}
	if len(f.parts) < 2 {
		return f, false
	}
	f.bound, f.theirs, f.empty, f.ways = bound, theirs, empty, 1
	f.mine = make([]amazons.Set, len(f.parts))
	between := amazons.Set(0)
	for queens := mine; queens != 0; queens &= queens - 1 {
		q := queens & -queens
		touches := 0
		t := torn{queen: q}
		for i, c := range f.parts {
			if near := amazons.Grow(q) & c; near != 0 {
				touches++
				if near&empty != 0 {
					t.touched = append(t.touched, i)
				}
			}
		}
		if touches > 1 {
			between |= q
		}
		switch {
		case len(t.touched) == 0: // it cannot move before O does, and then need not
		case len(t.touched) == 1 || f.ways*len(t.touched) > maxAssignments:
			f.mine[t.touched[0]] |= q
		default:
			f.torn, f.ways = append(f.torn, t), f.ways*len(t.touched)
		}
	}
	// A queen beside one that closes another fight must not let O through either, if that one left.
	for i := range f.parts {
		others := mine &^ f.mine[i]
		f.bound |= f.mine[i] & amazons.Grow(others)
	}
	f.bound |= between
	return f, true
}

// give returns P's queens of each fight in one way of giving the torn ones to them.
func (f *fights) give(way int) []amazons.Set {
	mine := append([]amazons.Set(nil), f.mine...)
	for _, t := range f.torn {
		n := len(t.touched)
		mine[t.touched[way%n]] |= t.queen
		way /= n
	}
	return mine
}

// largestFight returns the number of empty squares of the largest fight.
func (f *fights) largestFight() int {
	most := 0
	for _, c := range f.parts {
		most = max(most, bits.OnesCount64(c&f.empty))
	}
	return most
}

// inFights adds what P is sure of in a contested area, as contested does, or in its fights, whichever is more.
func (j *Judge) inFights(mine, bound, theirs, empty amazons.Set, t *tally) {
	f, ok := split(mine, bound, theirs, empty)
	if !ok || f.largestFight() > 2*j.set.AreaSearch {
		j.contested(mine, bound, theirs, empty, t)
		return
	}
	add := func(way int, u *tally) {
		if way < 0 {
			j.contested(mine, bound, theirs, empty, u)
			return
		}
		for i, own := range f.give(way) {
			if c := f.parts[i]; c&empty != 0 {
				j.contested(own, own&f.bound, c&theirs, c&empty, u)
			}
		}
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
