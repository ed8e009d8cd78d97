package checker

import "math/bits"

// Verdict is what the leaf rules say about a position: for the side to move it is won, lost, or
// they leave it open.
type Verdict int8

// The verdicts of the leaf rules.
const (
	Open Verdict = iota // no leaf rule decides the position
	Won                 // the side to move wins
	Lost                // the side to move loses
)

// String returns "open", "won" or "lost".
func (v Verdict) String() string { return [...]string{"open", "won", "lost"}[v] }

// LeafVerdict applies the leaf rules of a certificate (FORMAT.md, "The leaf rules") to the
// position with the words a and b in the certificate's packing, on a board of width files and
// height ranks. It canonicalises first. rules is the number of leaf rules allowed, 1 to 4, in their order. A
// side that is not 1..8, or a bit outside the board, gives Open. It is exported so that the tests of other
// implementations can compare themselves with this one.
func LeafVerdict(width, height int, a, b uint64, rules int) Verdict {
	bd := boardOf(width, height)
	if bd == nil || (a|b)&^bd.full != 0 {
		return Open
	}
	return bd.verdict(bd.canonical(position{a, b}), rules)
}

// verdict applies the leaf rules to a canonical position. Rule 1 alone never gives Won.
func (b *board) verdict(p position, rules int) Verdict {
	switch {
	case b.stuck(p):
		return Lost
	case b.winning(p, rules) != 0:
		return Won
	case b.losing(p, rules) != 0:
		return Lost
	case rules >= 4 && b.closes(p, new(hints)):
		return Won
	}
	return Open
}

// winning returns the number of the first of rules 2 and 3 by which the side to move wins, 0 if it is none of
// those allowed.
func (b *board) winning(p position, rules int) int {
	if rules < 2 {
		return 0
	}
	switch c, t := b.split(p.opponent(), p); {
	case b.wonByCount(p, c, t):
		return 2
	case rules >= 3 && b.winsSum(p.own(), p.opponent(), c, t, true):
		return 3
	}
	return 0
}

// losing is winning for the other side, of a position in which the side to move is not stuck.
func (b *board) losing(p position, rules int) int {
	if rules < 2 {
		return 0
	}
	switch c, t := b.split(p.own(), p); {
	case b.lostByCount(p, c, t):
		return 2
	case rules >= 3 && b.winsSum(p.opponent(), p.own(), c, t, false):
		return 3
	}
	return 0
}

// stuck is leaf rule 1: the side to move has no legal move. A queen has a move exactly if a square
// that touches it is empty, because it can shoot back at the square it came from.
func (b *board) stuck(p position) bool { return b.grow(p.own())&^p.occupied() == 0 }

// Leaf rule 2, the counting lemma. P is the side that is shown to win, O the other; c is what O's
// queens can flood, t the other empty squares. While P only plods inside t (a queen steps to a
// touching square and shoots at the square it came from), nothing ever opens for O. So O stays in c
// and its own squares, and burns one of them with each move: it has at most |c| moves left. A P
// with enough plods has the last move. The position must be canonical: ties in a walk are broken by
// square number.

// lostByCount is case 2c: O is to move, and P has a plod for each move of O.
func (b *board) lostByCount(p position, c, t uint64) bool {
	n := bits.OnesCount64(c)
	return n <= bits.OnesCount64(t) && b.walks(p.opponent(), c, t, n)
}

// wonByCount is cases 2a and 2b: P is to move. In 2a it has one plod more than O has moves. In 2b
// one of its queens that touches c steps into c and shoots back first: a move made, and a square of
// c taken; the others plod.
func (b *board) wonByCount(p position, c, t uint64) bool {
	n, room := bits.OnesCount64(c), bits.OnesCount64(t)
	if n <= room-1 && b.walks(p.own(), c, t, n+1) { // 2a
		return true
	}
	if n > room+1 {
		return false
	}
	for q := p.own() & b.grow(c); q != 0; q &= q - 1 { // 2b
		if b.walks(p.own()&^(q&-q), c, t, n-1) {
			return true
		}
	}
	return false
}

// split returns the empty squares that the queens given can ever reach, and the other empty squares.
func (b *board) split(queens uint64, p position) (c, t uint64) {
	empty := b.full &^ p.occupied()
	c = b.flood(queens, empty)
	return c, empty &^ c
}

// walks reports whether the greedy walk of the queens inside t has at least want plods.
func (b *board) walks(queens, c, t uint64, want int) bool {
	n, _ := b.plods(queens, queens&b.grow(c), t)
	return n >= want
}

// plods is the greedy walk of the queens inside t: first those that do not touch c, then the touching
// ones, each group by square number. Each queen in turn steps to the unvisited square of t that touches
// it and has the fewest unvisited squares of t around it (ties: the smallest number), until there is
// none. It returns all plods, and the touching queens that made one.
func (b *board) plods(queens, touching, t uint64) (n int, walked uint64) {
	unvisited := t
	for _, group := range [2]uint64{queens &^ touching, queens & touching} {
		for ; group != 0; group &= group - 1 {
			before := n
			for at := b.step(bits.TrailingZeros64(group), unvisited); at >= 0; at = b.step(at, unvisited) {
				unvisited &^= 1 << at
				n++
			}
			if n > before {
				walked |= group & -group & touching
			}
		}
	}
	return n, walked
}

// step returns where a walking queen goes on from a square: the unvisited square next to it that has
// the fewest unvisited squares around it; among equals the one with the smallest number; -1: nowhere.
func (b *board) step(at int, unvisited uint64) int {
	next, fewest := -1, 9
	for near := b.neighbours[at&63] & unvisited; near != 0; near &= near - 1 {
		square := bits.TrailingZeros64(near)
		if around := bits.OnesCount64(b.neighbours[square&63] & unvisited); around < fewest {
			next, fewest = square, around
		}
	}
	return next
}
