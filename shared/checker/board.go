package checker

import (
	"math/bits"
	"sync"
)

// maxSide is the largest number of files or ranks of a board: 64 squares fit one word.
const maxSide = 8

// board holds the fixed tables of one board size. A set of squares is a word in which bit i stands
// for square i; square i = width*(rank-1) + (file-1), as in the certificate. All tables are built
// from coordinates in newBoard.
type board struct {
	width, height, squares int

	full       uint64        // all squares
	notFirst   uint64        // all squares but those of file A
	notLast    uint64        // all squares but those of the last file
	neighbours [64]uint64    // the squares that touch a square, diagonally too
	rays       [8][64]uint64 // from a square to the edge; directions 0..3 go up in number, d+4 back from d

	symmetries int           // 4, or 8 on a square board; number 0 is the identity
	image      [8][64]uint64 // image[s][i] is the bit of the square to which symmetry s takes square i

	// groupImage[s][g][x] is the image of the squares x of group g, where a group is groupBits
	// squares in a row: the same as image, for several squares at a time.
	groupImage [8][(64 + groupBits - 1) / groupBits][1 << groupBits]uint64
}

const groupBits = 6

// directions in (file, rank) steps. The first four raise the square number, the last four lower it.
var directions = [8][2]int{{1, 0}, {-1, 1}, {0, 1}, {1, 1}, {-1, 0}, {1, -1}, {0, -1}, {-1, -1}}

var boards [maxSide + 1][maxSide + 1]struct {
	once sync.Once
	b    *board
}

// boardOf returns the tables of a size, built once; nil where a side is not 1..8.
func boardOf(width, height int) *board {
	if width < 1 || width > maxSide || height < 1 || height > maxSide {
		return nil
	}
	c := &boards[width][height]
	c.once.Do(func() { c.b = newBoard(width, height) })
	return c.b
}

// newBoard fills the tables from files and ranks alone, in the plainest way: a reader can compare
// each line with a board on paper. Everything that the checker believes of the geometry stands
// here. The symmetries are numbered by three bits: 1 mirrors the files, 2 mirrors the ranks, and 4,
// on square boards only, exchanges files and ranks after that.
func newBoard(width, height int) *board {
	b := &board{width: width, height: height, squares: width * height, symmetries: 4}
	if width == height {
		b.symmetries = 8
	}
	bit := func(file, rank int) uint64 { return 1 << (width*rank + file) }
	for i := range b.squares {
		file, rank := i%width, i/width
		b.full |= 1 << i
		if file > 0 {
			b.notFirst |= 1 << i
		}
		if file < width-1 {
			b.notLast |= 1 << i
		}
		for d, step := range directions {
			for f, r := file+step[0], rank+step[1]; f >= 0 && f < width && r >= 0 && r < height; f, r = f+step[0], r+
				step[1] {
				if b.rays[d][i] == 0 {
					b.neighbours[i] |= bit(f, r)
				}
				b.rays[d][i] |= bit(f, r)
			}
		}
		for s := range b.symmetries {
			f, r := file, rank
			if s&1 != 0 {
				f = width - 1 - f
			}
			if s&2 != 0 {
				r = height - 1 - r
			}
			if s&4 != 0 {
				f, r = r, f
			}
			b.image[s][i] = bit(f, r)
		}
	}
	for s := range b.symmetries {
		for i := range b.squares {
			group := &b.groupImage[s][i/groupBits]
			for x := range group {
				if x>>(i%groupBits)&1 != 0 {
					group[x] |= b.image[s][i]
				}
			}
		}
	}
	return b
}

// queenLines returns the squares that a queen (or an arrow) on square from reaches over squares
// that are not occupied. On each of the four lines through the square these lie between the nearest
// occupied square with a higher number and the nearest with a lower one.
func (b *board) queenLines(from int, occupied uint64) uint64 {
	var reached uint64
	for d := range 4 {
		up, down := b.rays[d][from&63], b.rays[d+4][from&63]
		above := up & occupied
		above &= -above // the nearest above, 0: none
		below := 63 - bits.LeadingZeros64(down&occupied|1)
		// The difference of two powers of two has all bits from the smaller one to below the larger one.
		reached |= (up | down) & (above - 1<<(below&63))
	}
	return reached &^ occupied
}

// grow returns x together with all squares that touch a square of x.
func (b *board) grow(x uint64) uint64 {
	row := x | x<<1&b.notFirst | x>>1&b.notLast
	up := uint(b.width) & 63
	return (row | row<<up | row>>up) & b.full
}

// flood returns the squares of empty that steps between touching squares of empty reach from the
// squares of queens.
func (b *board) flood(queens, empty uint64) uint64 {
	reached := b.grow(queens) & empty
	for {
		next := b.grow(reached) & empty
		if next == reached {
			return reached
		}
		reached = next
	}
}

// imageOf returns the set of squares to which symmetry s takes the squares of x.
func (b *board) imageOf(s int, x uint64) uint64 {
	var y uint64
	for g := 0; x != 0; g++ {
		y |= b.groupImage[s][g][x%(1<<groupBits)]
		x >>= groupBits
	}
	return y
}

// position is a position as the certificate writes it (FORMAT.md, "Positions"), seen by the side to
// move: a square is empty (in neither word), an own queen (in a), an opponent's queen (in b) or
// burnt (in both).
type position struct{ a, b uint64 }

func (p position) own() uint64      { return p.a &^ p.b }
func (p position) opponent() uint64 { return p.b &^ p.a }
func (p position) occupied() uint64 { return p.a | p.b }

// arrows is the number of burnt squares, the layer of the position.
func (p position) arrows() int { return bits.OnesCount64(p.a & p.b) }

// less is the order of positions in the certificate.
func (p position) less(q position) bool { return p.a < q.a || p.a == q.a && p.b < q.b }

// play returns the position after a move of the side to move, seen by the other side, which is then
// to move. The move must be legal.
func (p position) play(m move) position {
	moved := p.a ^ 1<<m.from ^ 1<<m.to | 1<<m.arrow
	return position{a: p.b | 1<<m.arrow, b: moved}
}

// canonical returns the image of p with the smallest a, and among those the one with the smallest b.
func (b *board) canonical(p position) position {
	best := p
	for s := 1; s < b.symmetries; s++ {
		if q := (position{a: b.imageOf(s, p.a)}); q.a <= best.a {
			q.b = b.imageOf(s, p.b)
			if q.less(best) {
				best = q
			}
		}
	}
	return best
}

// move is a queen's move and its arrow, as square numbers.
type move struct{ from, to, arrow uint8 }

// legal reports whether m is a legal move of the side to move in p.
func (b *board) legal(p position, m move) bool {
	return p.own()>>m.from&1 != 0 && b.queenLines(int(m.from), p.occupied())>>m.to&1 != 0 &&
		b.queenLines(int(m.to), p.occupied()&^(1<<m.from))>>m.arrow&1 != 0
}

// illegal says why m is not a legal move of the side to move in p; it returns "" for a legal move.
func (b *board) illegal(p position, m move) string {
	n := uint8(b.squares)
	switch {
	case m.from >= n || m.to >= n || m.arrow >= n:
		return "a square of the move is outside the board"
	case b.legal(p, m):
		return ""
	case p.own()>>m.from&1 == 0:
		return "no queen of the side to move stands on " + b.squareText(m.from)
	case b.queenLines(int(m.from), p.occupied())>>m.to&1 == 0:
		return "no free queen line leads from " + b.squareText(m.from) + " to " + b.squareText(m.to)
	}
	return "no free queen line leads the arrow from " + b.squareText(m.to) + " to " + b.squareText(m.arrow)
}
