package endgame

import (
	"math/bits"
	"slices"

	"amazonsfarm/shared/amazons"
	"amazonsfarm/shared/area"
)

// geometry describes one shape to the builder. The squares of the shape have numbers from 0 to n-1,
// in increasing order on the grid. A set of them is the low n bits of a word.
// A builder puts one shape after another into the same geometry. targets has n*2^n words and each part
// 2^n weights, so new memory for each shape would keep the garbage collector busy.
type geometry struct {
	shape Set
	n     int
	grid  [maxSquares]Set // the squares on the 8x8 grid

	// targets[a<<n|empty] are the squares a queen on a reaches over empty ones.
	targets []uint16
	// without[k] are the components of the shape without square k.
	without [maxSquares][]part
}

// part is a connected part of a shape, as an area of the database.
type part struct {
	mask  uint16 // its squares in the shape
	n     int
	shape int32 // index among the shapes of n squares
	// weight[s] is the sum of 3^i over the squares of the set s that are in the part,
	// i being their numbers in the canonical shape.
	weight []int32
	// order lists its squares in the shape in the order of the canonical shape.
	order []uint8
}

// set returns the squares of the grid of a set of squares of the shape.
func (g *geometry) set(s uint16) (out Set) {
	for ; s != 0; s &= s - 1 {
		out |= g.grid[bits.TrailingZeros16(s)]
	}
	return out
}

// place makes g describe shape s, given the shapes of fewer squares. It reuses the memory of g.
func (g *geometry) place(s Set, shapes [][]Set) {
	g.shape, g.n = s, bits.OnesCount64(s)
	i := 0
	for rest := s; rest != 0; rest &= rest - 1 {
		g.grid[i] = rest & -rest
		i++
	}
	g.trace()
	for k := range g.n {
		g.remove(k, shapes)
	}
}

// local returns the numbers within the shape of squares of the shape.
func (g *geometry) local(x Set) (out uint16) {
	for ; x != 0; x &= x - 1 {
		out |= 1 << bits.OnesCount64(g.shape&(x&-x-1))
	}
	return out
}

// trace fills targets. A ray from a reaches a square exactly if all its squares up to that one are
// empty. So each square of a ray is added to all sets of empty squares that hold the ray up to it.
func (g *geometry) trace() {
	n := g.n
	size := 1 << n
	g.targets = slices.Grow(g.targets[:0], n*size)[:n*size]
	clear(g.targets)
	steps := [8][2]int{{1, 0}, {-1, 0}, {0, 1}, {0, -1}, {1, 1}, {-1, -1}, {1, -1}, {-1, 1}}
	for a := range n {
		row := g.targets[a*size : (a+1)*size]
		sq := bits.TrailingZeros64(g.grid[a])
		for _, d := range steps {
			ray := uint16(0)
			for f, r := sq&7+d[0], sq>>3+d[1]; f >= 0 && f < 8 && r >= 0 && r < 8 && g.shape>>(8*r+f)&1 != 0; f, r = f+
				d[0], r+d[1] {
				// All sets of empty squares that hold the ray up to here have this target.
				b := uint16(1) << bits.OnesCount64(g.shape&(1<<(8*r+f)-1))
				ray |= b
				rest := uint16(size-1) &^ ray
				for m := rest; ; m = (m - 1) & rest {
					row[m|ray] |= b
					if m == 0 {
						break
					}
				}
			}
		}
	}
}

// remove fills without[k].
// These are the areas that an arrow on square k leaves behind.
func (g *geometry) remove(k int, shapes [][]Set) {
	old := g.without[k]
	parts := old[:0]
	for rest := g.shape &^ g.grid[k]; rest != 0; {
		c := area.Component(rest)
		rest &^= c
		var p part
		// The part that was in this place for the shape before lends its memory.
		if len(parts) < len(old) {
			p = old[len(parts)]
		}
		g.part(&p, c, shapes)
		parts = append(parts, p)
	}
	g.without[k] = parts
}

// part makes p describe the component c of the shape.
func (g *geometry) part(p *part, c Set, shapes [][]Set) {
	p.mask, p.n = g.local(c), bits.OnesCount64(c)
	canonical := area.CanonicalShape(c)
	// It is always found: shapes has all connected shapes that fit the grid, and c lies within one that does.
	i, _ := slices.BinarySearch(shapes[p.n], canonical)
	p.shape = int32(i)
	move := mapping(c, canonical)
	size := 1 << g.n
	p.weight, p.order = slices.Grow(p.weight[:0], size)[:size], slices.Grow(p.order[:0], p.n)[:p.n]
	// one has the weight of each square alone. The last loop adds them up for all sets, each from the
	// same set without its lowest square.
	var one [maxSquares]int32
	for rest := p.mask; rest != 0; rest &= rest - 1 {
		a := bits.TrailingZeros16(rest)
		i := bits.OnesCount64(canonical & (move(g.grid[a]) - 1))
		p.order[i] = uint8(a)
		one[a] = powers3[i]
	}
	p.weight[0] = 0
	for s := 1; s < size; s++ {
		p.weight[s] = p.weight[s&(s-1)] + one[bits.TrailingZeros16(uint16(s))]
	}
}

var grid8 = amazons.Board{Width: 8, Height: 8}

// mapping returns a motion, a symmetry of the grid and a shift, that carries shape to its canonical form.
// A symmetric shape has several such motions, and each of them will do: placements that a symmetry of
// the shape carries into each other have the same value.
func mapping(shape, canonical Set) func(Set) Set {
	for sym := range amazons.Symmetry(8) {
		x := grid8.Apply(sym, shape)
		if shift, _, _ := area.Frame(x); x>>shift == canonical {
			return func(x Set) Set { return grid8.Apply(sym, x) >> shift }
		}
	}
	panic("endgame: no motion to the canonical shape")
}
