package endgame

import (
	"cmp"
	"math/bits"
)

// layers holds the finished part of a build, by number of squares.
// active[n] and territory[n] of the last layer stay nil: no other layer needs them.
type layers struct {
	layouts   []*layout
	shapes    [][]Set
	active    [][]uint32 // value ids of the algebra, layout.rows a shape
	territory [][]uint8  // codes, layout.territoryRows a shape
}

// value returns the id of a placement on a shape of n squares, whose rank may be negative.
func (l *layers) value(w *worker, n int, shape, rank int32) uint32 {
	neg := rank < 0
	if neg {
		rank = -rank
	}
	lay := l.layouts[n]
	id := l.active[n][int(shape)*lay.rows+lay.row(rank)]
	if neg {
		w.know(id)
		id = w.negs[id]
	}
	return id
}

// code returns the code of a territory on a shape of n squares.
func (l *layers) code(n int, shape, rank int32) code {
	lay := l.layouts[n]
	return codes[l.territory[n][int(shape)*lay.territoryRows+lay.territoryRow(rank)]]
}

// builder values all placements of one shape after another, for one goroutine.
// sums has the values that solver has searched for positions in several parts. solver works without a
// database, since the one that it could use is being made.
type builder struct {
	*worker
	*layers
	geometry
	solver    Solver
	sums      map[sumKey]uint32
	positions int64
}

// sumKey names up to three parts of a position. Four parts that are no integers need twelve squares.
type sumKey [3]uint64

// fillActive values all placements of queens of both sides on shape s.
func (b *builder) fillActive(s Set, rows []uint32) {
	b.place(s, b.shapes)
	lay := b.layouts[b.n]
	all := uint16(1)<<b.n - 1
	p := lay.powers
	rows[0] = 0
	for queens := uint16(1); queens <= all; queens++ {
		if lay.limit > 0 && bits.OnesCount16(queens) > 2*lay.limit {
			continue
		}
		// The rank is positive where the highest queen is black.
		lower := queens &^ (1 << (bits.Len16(queens) - 1))
		for white := lower; ; white = (white - 1) & lower {
			black := queens &^ white
			if lay.limit == 0 || bits.OnesCount16(white) <= lay.limit && bits.OnesCount16(black) <= lay.limit {
				empty := all &^ queens
				rows[lay.row(p[black]-p[white])] = b.worker.value(b.options(black, white, empty),
					b.options(white, black, empty))
				b.positions++
			}
			if white == 0 {
				break
			}
		}
	}
}

// options returns the class of the moves of own as left options. With the colours exchanged it
// returns the class of the right options, as negatives.
// Equal values are joined once: most of a position's sixty options or so have values that others have.
func (b *builder) options(own, opp, empty uint16) uint32 {
	b.now++
	if b.now == 0 { // once in two billion positions: each asks twice
		clear(b.stamp)
		b.now = 1
	}
	n := b.n
	class := uint32(0)
	for q := own; q != 0; q &= q - 1 {
		from := q & -q
		others := own &^ from
		for t := b.targets[bits.TrailingZeros16(q)<<n|int(empty)]; t != 0; t &= t - 1 {
			to := t & -t
			mine := others | to
			// The arrow may cross the square that the queen has left, and land on it.
			for x := b.targets[bits.TrailingZeros16(t)<<n|int(empty&^to|from)]; x != 0; x &= x - 1 {
				var id uint32
				if r := b.without[bits.TrailingZeros16(x)]; len(r) == 1 {
					p := &r[0]
					id = b.layers.value(b.worker, p.n, p.shape, p.weight[mine]-p.weight[opp])
				} else {
					id = b.option(r, mine, opp)
				}
				b.know(id)
				if b.stamp[id] == b.now {
					continue
				}
				b.stamp[id] = b.now
				class = b.join(class, b.classOf(id))
			}
		}
	}
	return class
}

// option returns the value of a position in several parts. Integers, the usual case, are added up. A
// sum of others does not follow from their values, so it is searched.
func (b *builder) option(parts []part, black, white uint16) uint32 {
	whole, count := 0, 0
	rest := uint32(0)
	var key sumKey
	for i := range parts {
		p := &parts[i]
		bl, wh := black&p.mask, white&p.mask
		// Nobody moves in a part without queens.
		if bl|wh == 0 {
			continue
		}
		rank := p.weight[bl] - p.weight[wh]
		id := b.layers.value(b.worker, p.n, p.shape, rank)
		b.know(id)
		if k := b.whol[id]; k != notWhole {
			whole += int(k)
			continue
		}
		rest = id
		key[count%len(key)] = uint64(p.n)<<60 | uint64(p.shape)<<32 | uint64(uint32(rank))
		count++
	}
	if count > 1 {
		rest = b.sum(parts, key, black, white)
	}
	return b.plus(rest, whole)
}

// sum returns the value of the parts that are no integers.
// The integers among the parts stay out of the search: option adds them to the result.
func (b *builder) sum(parts []part, key sumKey, black, white uint16) uint32 {
	if id, ok := b.sums[key]; ok {
		return id
	}
	var bl, wh, em Set
	for i := range parts {
		p := &parts[i]
		if (black|white)&p.mask == 0 {
			continue
		}
		id := b.layers.value(b.worker, p.n, p.shape, p.weight[black&p.mask]-p.weight[white&p.mask])
		if b.whol[id] == notWhole {
			bl |= b.set(black & p.mask)
			wh |= b.set(white & p.mask)
			em |= b.set(p.mask &^ (black | white))
		}
	}
	v, err := b.solver.Value(bl, wh, em)
	if err != nil {
		b.err = cmp.Or(b.err, err)
		return 0
	}
	id := b.intern(v)
	b.know(id)
	b.sums[key] = id
	return id
}

// fillTerritory finds how many moves one side has in shape s, and which blockers it needs for them,
// for all placements of normal queens and blockers.
func (b *builder) fillTerritory(s Set, rows []uint8) {
	b.place(s, b.shapes)
	lay := b.layouts[b.n]
	all := uint16(1)<<b.n - 1
	p := lay.powers
	rows[0] = 0
	for queens := uint16(1); queens <= all; queens++ {
		if lay.limit > 0 && bits.OnesCount16(queens) > lay.limit {
			continue
		}
		for blockers := queens; ; blockers = (blockers - 1) & queens {
			moves, needed := b.territoryMoves(queens&^blockers, blockers, all&^queens)
			// Number the needed blockers among the blockers.
			c := code{moves: uint8(moves)}
			for ; needed != 0; needed &= needed - 1 {
				c.needed |= 1 << bits.OnesCount16(blockers&(needed&-needed-1))
			}
			rows[lay.territoryRow(p[queens&^blockers]+2*p[blockers])] = codeOf[c]
			b.positions++
			if blockers == 0 {
				break
			}
		}
	}
}

// territoryMoves returns the largest number of moves, and a smallest set of blockers that reaches it
// while the other blockers stand still. Of several such sets it returns the smallest as a number.
func (b *builder) territoryMoves(normal, blockers, empty uint16) (moves int, needed uint16) {
	// A blocker that stands still is a burnt square. If the others reach as much as all, it is not
	// needed. More queens never reach less, so every blocker outside a smallest set is not needed.
	needed, least := blockers, 0
	for q := blockers; q != 0; q &= q - 1 {
		k := q & -q
		m, set := b.territoryOf(b.without[bits.TrailingZeros16(k)], normal, blockers&^k)
		if m > least || m == least && better(set, needed) {
			least, needed = m, set
		}
	}
	moves = b.territorySearch(normal, blockers, empty, least)
	if moves > least {
		needed = blockers
	}
	return moves, needed
}

// better orders sets of blockers: fewer first, then smaller.
func better(a, b uint16) bool {
	x, y := bits.OnesCount16(a), bits.OnesCount16(b)
	return x < y || x == y && a < b
}

// territorySearch returns the largest number of moves, which is at least least.
func (b *builder) territorySearch(normal, blockers, empty uint16, least int) int {
	n, most := b.n, bits.OnesCount16(empty)
	for q := normal; q != 0; q &= q - 1 {
		from := q & -q
		others := normal &^ from
		for t := b.targets[bits.TrailingZeros16(q)<<n|int(empty)]; t != 0; t &= t - 1 {
			to := t & -t
			for x := b.targets[bits.TrailingZeros16(t)<<n|int(empty&^to|from)]; x != 0; x &= x - 1 {
				// Each move burns one square, so no side has more moves than there are empty squares.
				if least == most {
					return least
				}
				least = max(least, 1+b.territorySum(b.without[bits.TrailingZeros16(x)], others|to, blockers))
			}
		}
	}
	// A blocker's first move shoots back at its origin. So the squares without k are left, and the
	// blocker is a normal queen among them.
	for q := blockers; q != 0; q &= q - 1 {
		k := bits.TrailingZeros16(q)
		for t := b.targets[k<<n|int(empty)]; t != 0; t &= t - 1 {
			if least == most {
				return least
			}
			least = max(least, 1+b.territorySum(b.without[k], normal|t&-t, blockers&^(q&-q)))
		}
	}
	return least
}

// territorySum returns the moves in the parts of a shape.
func (b *builder) territorySum(parts []part, normal, blockers uint16) (moves int) {
	for i := range parts {
		p := &parts[i]
		if rank := p.weight[normal&p.mask] + 2*p.weight[blockers&p.mask]; rank != 0 {
			moves += int(b.layers.code(p.n, p.shape, rank).moves)
		}
	}
	return moves
}

// territoryOf returns the moves in the parts of a shape and the blockers needed.
func (b *builder) territoryOf(parts []part, normal, blockers uint16) (moves int, needed uint16) {
	for i := range parts {
		p := &parts[i]
		rank := p.weight[normal&p.mask] + 2*p.weight[blockers&p.mask]
		if rank == 0 {
			continue
		}
		c := b.layers.code(p.n, p.shape, rank)
		moves += int(c.moves)
		// The lowest bit of the code belongs to the next blocker in the order of the part's canonical shape.
		for _, a := range p.order {
			if blockers>>a&1 == 0 {
				continue
			}
			needed |= c.needed & 1 << a
			c.needed >>= 1
		}
	}
	return moves, needed
}
