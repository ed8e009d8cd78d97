package checker

import "math/bits"

// Leaf rule 3, the sum of areas (FORMAT.md, "The leaf rules"). As in rule 2, P's queens inside t only
// plod, and O stays in c. Here c falls into areas, and P may be sure of a move in some of them too:
// a queen of P that stands at the edge of c and made no plod inside t can step into c.

// area is a part of c that touches no other, with the queens that can move in it: P's free queens, O's queens and
// squares of c.
type area struct{ mine, theirs, empty uint64 }

// winsSum reports whether the side P with the queens mine wins by rule 3. P is to move if it begins.
func (b *board) winsSum(mine, theirs, c, t uint64, begins bool) bool {
	touching := mine & b.grow(c)
	first := 0
	if begins {
		first = 1
	}
	if b.most(mine, c, t)+first < 0 {
		return false
	}
	plods, walked := b.plods(mine, touching, t)
	if b.sum(plods, touching&^walked, theirs, c, begins) {
		return true
	}
	for ; walked != 0; walked &= walked - 1 {
		// One queen may be worth more in c.
		plods, others := b.plods(mine&^(walked&-walked), touching, t)
		if b.sum(plods, touching&^others, theirs, c, begins) {
			return true
		}
	}
	return false
}

// most bounds what the sum of areas may be for P: a plod for each square of t, two moves for each queen that
// touches c, which has a safe move then, and a move of O for each square of c.
func (b *board) most(mine, c, t uint64) int {
	return bits.OnesCount64(t) + 2*bits.OnesCount64(mine&b.grow(c)) - bits.OnesCount64(c)
}

// sum reports whether the plods and what P is sure of in the areas of c are enough.
func (b *board) sum(plods int, free, theirs, c uint64, begins bool) bool {
	// The areas are found by flooding over c and the queens that may move in it, so two pieces of c
	// that a queen could join are one area. In each of them O has at most a move a square, which
	// counts against P. A safe move is worth two: P makes one, and the square that it takes is one
	// that O no longer has.
	first := 0
	if begins {
		first = 1
	}
	if plods+2*bits.OnesCount64(free)+first < bits.OnesCount64(c) {
		return false // not even with a safe move for each queen
	}
	var areas [16]uint64 // of the four squares of a block of two by two, no two are in different areas
	var safe [16]bool
	n, total := 0, plods-bits.OnesCount64(c)
	for rest := c; rest != 0; n++ {
		squares := b.flood(rest&-rest, c|theirs|free) | rest&-rest
		rest &^= squares
		areas[n] = squares
		if safe[n] = b.safe(squares&free, squares&theirs, squares&c); safe[n] {
			total += 2
		}
	}
	if !begins {
		return total >= 0
	}
	if total >= 1 {
		return true
	}
	// P moves first, and one more would be enough. A first move into an area takes a square of it from
	// O, and then O is to move, so that no lead is needed any more. That area is counted anew, and the
	// others as they are.
	for i, squares := range areas[:n] {
		// P's first move is one more; after it, P may still have a safe move in this area.
		a := area{squares & free, squares & theirs, squares & c}
		after := total + 1
		if safe[i] {
			after -= 2
		}
		if a.mine != 0 && (after >= 0 || after+2 >= 0 && b.keepsSafe(a)) {
			return true
		}
	}
	return false
}

// keepsSafe reports whether P has a plod into the area after which it has a safe move there.
func (b *board) keepsSafe(a area) bool {
	for q := a.mine; q != 0; q &= q - 1 {
		for to := b.neighbours[bits.TrailingZeros64(q)&63] & a.empty; to != 0; to &= to - 1 {
			if b.safe(a.mine&^(q&-q)|to&-to, a.theirs, a.empty&^(to&-to)) {
				return true
			}
		}
	}
	return false
}

// safe reports whether P has a safe move: after each move of O in the area, a queen of mine still
// touches an empty square of it. A move of O takes two squares, that of its queen and that of its arrow, and opens
// the one that the queen leaves.
func (b *board) safe(mine, theirs, empty uint64) bool {
	near := b.grow(mine)
	if n := bits.OnesCount64(near & empty); n == 0 || n > 2 {
		return n > 2
	}
	for q := theirs; q != 0; q &= q - 1 {
		to := b.queenLines(bits.TrailingZeros64(q), b.full&^empty)
		open := empty | q&-q
		left := near & open // what O has to take
		for arrows := left; arrows != 0; arrows &= arrows - 1 {
			arrow := arrows & -arrows
			rest := left &^ arrow
			if rest&(rest-1) != 0 || rest&^to != 0 {
				continue // while the arrow takes that square, the queen cannot take the rest
			}
			if rest == 0 && to&arrow != 0 {
				return false // the queen takes it, and shoots back
			}
			from := to & b.queenLines(bits.TrailingZeros64(arrow), b.full&^open) // where the arrow may come from
			if rest == 0 && from != 0 || rest&from != 0 {
				return false
			}
		}
	}
	return true
}
