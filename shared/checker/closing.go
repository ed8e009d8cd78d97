package checker

import "math/bits"

// Leaf rule 4, the closing move (FORMAT.md, "The leaf rules"): a move after which rules 1 to 3 say that the
// other side loses.

// closingSquares is the largest number of empty squares with which rule 4 is looked at. So its work has a
// limit.
const closingSquares = 20

// hints are closing moves that were found last, the latest one first: mostly one move answers many of the
// other side's. They save time, and change no verdict.
type hints [4]move

// closes reports whether the side to move wins p, canonical or not, by rule 4.
func (b *board) closes(p position, h *hints) bool {
	if bits.OnesCount64(b.full&^p.occupied()) > closingSquares {
		return false
	}
	for i, m := range h {
		if b.legal(p, m) && b.closed(p.play(m)) {
			copy(h[1:], h[:i])
			h[0] = m
			return true
		}
	}
	for queens := p.own(); queens != 0; queens &= queens - 1 {
		from := bits.TrailingZeros64(queens)
		without := p.occupied() &^ (1 << from)
		for targets := b.queenLines(from, p.occupied()); targets != 0; targets &= targets - 1 {
			to := bits.TrailingZeros64(targets)
			for arrows := b.queenLines(to, without); arrows != 0; arrows &= arrows - 1 {
				m := move{uint8(from), uint8(to), uint8(bits.TrailingZeros64(arrows))}
				if b.closed(p.play(m)) {
					copy(h[1:], h[:])
					h[0] = m
					return true
				}
			}
		}
	}
	return false
}

// closed reports whether the side to move loses p, canonical or not, by rules 1 to 3.
func (b *board) closed(p position) bool {
	if b.stuck(p) {
		return true
	}
	// Most moves fall short by far. Then there is no need of the canonical image.
	c, t := b.split(p.own(), p)
	return b.most(p.opponent(), c, t) >= 0 && b.losing(b.canonical(p), 3) != 0
}
