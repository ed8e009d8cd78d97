package eval

import (
	"math/bits"

	"amazonsfarm/shared/amazons"
)

// Leaves says which leaf rules a proof may use (proof/FORMAT.md, "The leaf rules"). The smaller, the
// more rules, and the smaller the proof.
type Leaves uint8

const (
	ClosingLeaves Leaves = iota // rules 1 to 4
	SumLeaves                   // rules 1, 2 and 3
	CountLeaves                 // rules 1 and 2
	MoveLeaves                  // rule 1 alone
)

// LeavesOf returns the leaf rules of a proof: rule 1 alone, or all.
func LeavesOf(rulesOnly bool) Leaves {
	if rulesOnly {
		return MoveLeaves
	}
	return ClosingLeaves
}

// Plain applies the leaf rules of a certificate to s: rule 1, rule 2 in its cases 2a, 2b and 2c,
// rule 3, and rule 4 (proof/FORMAT.md, "The leaf rules"; Müller 2001, sections 2.1 to 2.3; Song and
// Müller 2014, section IV), as far as allowed. Won and Lost hold on any board and with any number of
// queens. Most positions are Open.
//
// For an answer in a proof, s must be canonical ([amazons.State.Canonical]), since the checker looks
// at the canonical image. Walks break ties by square number, so one image of a position may be Open
// where another is decided. Two images are never Won and Lost.
func Plain(b amazons.Board, s amazons.State, allowed Leaves) Verdict {
	v := plain(s, allowed)
	if v == Open && allowed == ClosingLeaves {
		if _, ok := ClosingMove(b, s); ok {
			return Won
		}
	}
	return v
}

// plain is Plain without rule 4.
func plain(s amazons.State, allowed Leaves) Verdict {
	empty := s.Empty
	if amazons.Grow(s.Own)&empty == 0 {
		return Lost // rule 1
	}
	if allowed == MoveLeaves {
		return Open
	}

	switch {
	case Wins(s, allowed): // own is P
		return Won
	case loses(s, amazons.Flood(s.Own, empty), allowed): // the opponent is P
		return Lost
	}
	return Open
}

// Wins reports whether own, which is to move, wins by rules 2 and 3, as far as allowed: [Plain] then says Won. A queen
// of own can move.
func Wins(s amazons.State, allowed Leaves) bool {
	if allowed == MoveLeaves {
		return false
	}
	// c is what the opponent can ever enter while own only plods, and n the number of moves that the opponent has
	// left at most.
	c := amazons.Flood(s.Opp, s.Empty)
	t := s.Empty &^ c
	n, room := bits.OnesCount64(c), bits.OnesCount64(t)
	return room+1 >= n && moverWins(s.Own, t, c, n) || // 2a or 2b
		allowed <= SumLeaves && winsSum(s.Own, s.Opp, c, t, true)
}

// loses reports whether own, which is to move, loses by 2c or 3a. It reaches the squares c.
func loses(s amazons.State, c amazons.Set, allowed Leaves) bool {
	t := s.Empty &^ c
	n, room := bits.OnesCount64(c), bits.OnesCount64(t)
	return room >= n && walks(s.Opp, amazons.Grow(c), t, n) ||
		allowed <= SumLeaves && winsSum(s.Opp, s.Own, c, t, false)
}

// walks reports whether the greedy walk of queens inside t makes at least want plods. near holds
// the squares that touch C: the queens on them walk last. Within both groups the order is that of
// the square numbers, which is the same on the 8x8 grid as in FORMAT.md.
func walks(queens, near, t amazons.Set, want int) bool {
	moves, _ := walk(queens&^near, queens&near, t)
	return moves >= want
}

// nextStep returns the step of a greedy walk on the squares left: the one with the fewest of them
// around it, the lowest of several. There is at least one.
func nextStep(steps, left amazons.Set) (at int) {
	at = bits.TrailingZeros64(steps)
	if steps &= steps - 1; steps != 0 {
		fewest := bits.OnesCount64(amazons.Neighbours[at&63] & left)
		for ; steps != 0; steps &= steps - 1 {
			to := bits.TrailingZeros64(steps)
			if around := bits.OnesCount64(amazons.Neighbours[to&63] & left); around < fewest {
				at, fewest = to, around
			}
		}
	}
	return at
}

// winsSum is leaf rule 3 for the side P with the queens mine. c holds the squares that the other side
// can ever enter while P plods, t the other empty squares. P is to move if it begins.
func winsSum(mine, theirs, c, t amazons.Set, begins bool) bool {
	touching := mine & amazons.Grow(c)
	most := bits.OnesCount64(t) + 2*bits.OnesCount64(touching) - bits.OnesCount64(c)
	if most < 0 && !(begins && most == -1) {
		return false
	}
	plods, walked := walk(mine&^touching, touching, t)
	if sumOfAreas(plods, touching&^walked, theirs, c, begins) {
		return true
	}
	for ; walked != 0; walked &= walked - 1 {
		plods, others := walk(mine&^touching, touching&^(walked&-walked), t)
		if sumOfAreas(plods, touching&^others, theirs, c, begins) {
			return true
		}
	}
	return false
}

// sumOfAreas reports whether the plods and what P is sure of in the areas of c are enough.
func sumOfAreas(plods int, free, theirs, c amazons.Set, begins bool) bool {
	most := plods + 2*bits.OnesCount64(free) - bits.OnesCount64(c)
	if most < 0 && !(begins && most == -1) {
		return false
	}
	var areas [16]amazons.Set // each block of two by two squares has one of at most one area
	n, total, safe := 0, plods-bits.OnesCount64(c), 0
	for todo := c; todo != 0; n++ {
		area := amazons.Fill(todo&-todo, c|theirs|free)
		todo &^= area
		areas[n&15] = area
		if safeMove(area&free, area&theirs, area&c) {
			total += 2
			safe |= 1 << n
		}
	}
	if !begins || total > 0 {
		return total >= 0
	}
	for i, area := range areas[:n] {
		a := contest{mine: area & free, theirs: area & theirs, empty: area & c}
		after := total + 1 - safe>>i&1*2 // the first move takes a square, and a safe move is counted anew
		if a.mine != 0 && (after >= 0 || after+2 >= 0 && a.keepsSafe()) {
			return true
		}
	}
	return false
}
