package amazons

import (
	"errors"
	"fmt"
	"iter"
	"math/bits"
	"strconv"
	"strings"
)

// ErrBoard is wrapped by every error about a board's size.
var ErrBoard = errors.New("not a board")

// Set is a set of squares: bit 8*rank+file, rank and file counted from 0.
type Set = uint64

// Square is the number of a square, 8*rank+file: 0 is A1, 1 is B1, 8 is A2.
type Square uint8

// NoSquare is not the number of any square.
const NoSquare Square = 64

// Bit returns the set that holds only s.
func (s Square) Bit() Set { return 1 << (s & 63) }

// File returns the file of s, 0 for A.
func (s Square) File() int { return int(s & 7) }

// Rank returns the rank of s, 0 for the lowest.
func (s Square) Rank() int { return int(s >> 3) }

// String returns the canonical name of s, such as "B4".
func (s Square) String() string {
	if s >= NoSquare {
		return "??"
	}
	return string([]byte{'A' + byte(s&7), '1' + byte(s>>3)})
}

// Squares returns the squares of a set by increasing number.
func Squares(x Set) iter.Seq[Square] {
	return func(yield func(Square) bool) {
		for ; x != 0 && yield(Square(bits.TrailingZeros64(x))); x &= x - 1 {
		}
	}
}

// Names returns the names of the squares of a set by increasing number.
func Names(x Set) []string {
	names := []string{}
	for s := range Squares(x) {
		names = append(names, s.String())
	}
	return names
}

// Board is the size of a board. The zero Board is not a board.
type Board struct {
	Width, Height uint8 // files and ranks, 1..8 each
}

// MaxSide is the largest number of files and of ranks.
const MaxSide = 8

// NewBoard returns the board with the given number of files and ranks, 1..8
// each, or an error that wraps ErrBoard.
func NewBoard(width, height int) (Board, error) {
	if width < 1 || width > MaxSide || height < 1 || height > MaxSide {
		return Board{}, fmt.Errorf("%w: %dx%d: width and height must be 1 to %d", ErrBoard, width, height, MaxSide)
	}
	return Board{uint8(width), uint8(height)}, nil
}

// ParseBoard reads a board's size such as "5x6" (files x ranks); upper case X
// is accepted. Errors wrap ErrBoard.
func ParseBoard(text string) (Board, error) {
	w, h, ok := strings.Cut(strings.ToLower(strings.TrimSpace(text)), "x")
	if ok {
		width, err1 := strconv.Atoi(w)
		height, err2 := strconv.Atoi(h)
		if err1 == nil && err2 == nil {
			return NewBoard(width, height)
		}
	}
	return Board{}, fmt.Errorf("%w: %s: write WIDTHxHEIGHT, such as 5x6", ErrBoard, quote(text))
}

// String returns the canonical form, such as "5x6".
func (b Board) String() string { return fmt.Sprintf("%dx%d", b.Width, b.Height) }

// Valid reports whether both sides are 1..8.
func (b Board) Valid() bool {
	return b.Width >= 1 && b.Width <= MaxSide && b.Height >= 1 && b.Height <= MaxSide
}

// Squares returns the number of squares.
func (b Board) Squares() int { return int(b.Width) * int(b.Height) }

// Mask returns the set of all squares of the board.
func (b Board) Mask() Set {
	row := Set(1)<<(b.Width&63) - 1
	return row * (fileA >> (8 * (8 - b.Height) & 63))
}

// Square returns the square with the given file and rank, counted from 0. The
// caller keeps them on the board.
func (b Board) Square(file, rank int) Square { return Square(8*rank + file) }

// Contains reports whether s is a square of the board.
func (b Board) Contains(s Square) bool {
	return s < NoSquare && s.File() < int(b.Width) && s.Rank() < int(b.Height)
}

const (
	fileA Set = 0x0101010101010101
	fileH Set = 0x8080808080808080
)

// lines[s] holds, for the file and the two diagonals through s, the squares of
// the 8x8 grid on that line, without s.
var lines [64]struct{ file, rising, falling Set }

// rankTargets[64*f+o] holds the files a queen on file f reaches along its rank,
// the blocking square included, where o tells which of the files B..G are blocked
// (a blocker on A or H changes nothing: the rank ends there).
var rankTargets [8 * 64]uint8

// Neighbours[s] holds the squares of the 8x8 grid that touch s.
var Neighbours [64]Set

// init fills the tables square by square, in the plainest way. It takes microseconds, and a mistake
// in a table that was written down would be harder to see.
func init() {
	line := func(s, df, dr int) (x Set) {
		for _, sign := range []int{1, -1} {
			f, r := s&7+sign*df, s>>3+sign*dr
			for f >= 0 && f < 8 && r >= 0 && r < 8 {
				x |= 1 << (8*r + f)
				f, r = f+sign*df, r+sign*dr
			}
		}
		return x
	}
	for s := range 64 {
		lines[s].file = line(s, 0, 1)
		lines[s].rising = line(s, 1, 1)
		lines[s].falling = line(s, -1, 1)
		Neighbours[s] = Grow(1<<s) &^ (1 << s)
	}
	for f := range 8 {
		for o := range 64 {
			var x uint8
			for _, step := range []int{1, -1} {
				for g := f + step; g >= 0 && g < 8; g += step {
					x |= 1 << g
					if o<<1>>g&1 != 0 {
						break
					}
				}
			}
			rankTargets[64*f+o] = x
		}
	}
}

// QueenTargets returns the squares of empty that a queen (or an arrow) on s
// reaches along the eight queen lines, over squares of empty only. It does not
// matter whether s itself is in empty. Squares from 64 up count modulo 64.
func QueenTargets(s Square, empty Set) Set {
	// On a line, subtracting twice the queen from the blocked squares borrows
	// from the first blocker above her: exactly the squares on the way change.
	// The way down is the way up on the board with its ranks reversed, which is
	// a reversal of bytes, and turns a file or a diagonal round. A rank would
	// need a reversal of bits, so ranks are looked up.
	s &= 63
	blocked := ^empty
	l := &lines[s]
	up := uint64(2) << s
	down := uint64(2) << (s ^ 56) // the same square, ranks reversed
	o := blocked & l.file
	t := ((o - up) ^ bits.ReverseBytes64(bits.ReverseBytes64(o)-down)) & l.file
	o = blocked & l.rising
	t |= ((o - up) ^ bits.ReverseBytes64(bits.ReverseBytes64(o)-down)) & l.rising
	o = blocked & l.falling
	t |= ((o - up) ^ bits.ReverseBytes64(bits.ReverseBytes64(o)-down)) & l.falling
	rank := s & 56
	t |= Set(rankTargets[uint(s&7)<<6|uint(blocked>>rank>>1&63)]) << rank
	return t & empty
}

// Grow returns x together with every square of the 8x8 grid that touches it.
func Grow(x Set) Set {
	x |= (x&^fileH)<<1 | (x&^fileA)>>1
	return x | x<<8 | x>>8
}

// Flood returns the squares of empty that are reached from the squares next to
// from by steps between touching squares of empty (8-connected). A square of
// from is in the result exactly if it is in empty.
func Flood(from, empty Set) Set {
	x := Grow(from) & empty
	for {
		y := Grow(x) & empty
		if y == x {
			return x
		}
		x = y
	}
}

// Fill returns the squares of open that are 8-connected to the squares of from, which are in open.
func Fill(from, open Set) Set {
	for {
		y := Grow(from) & open
		y = Grow(y) & open
		if y == from {
			return y
		}
		from = y
	}
}

// QueenReach returns the squares of empty that one queen move from some square
// of from reaches: the union of [QueenTargets] over the squares of from, without
// from itself. A square of from is thus never in the result, not even where it is
// in empty and another square of from reaches it. It is passed over if it is in
// empty and blocks if it is not, as any other square does.
func QueenReach(from, empty Set) Set {
	// Squares that would be entered by wrapping round the edge of the grid are taken out first.
	east, west := empty&^fileA, empty&^fileH
	t := fillUp(from, east, 1) | fillDown(from, west, 1) | fillUp(from, empty, 8) | fillDown(from, empty, 8)
	t |= fillUp(from, east, 9) | fillDown(from, west, 9) | fillUp(from, west, 7) | fillDown(from, east, 7)
	return t &^ from
}

// fillUp returns from and the squares that it reaches in steps up by so many numbers, each over open.
// It doubles its reach three times: g grows by 1, 2 and 4 steps, and p holds the squares whose last 1, 2
// or 4 steps are all over open.
func fillUp(from, open Set, step uint) (g Set) {
	g, p := from, open
	g |= p & (g << step)
	p &= p << step
	g |= p & (g << (2 * step))
	p &= p << (2 * step)
	return g | p&(g<<(4*step))
}

// fillDown is fillUp in the other direction.
func fillDown(from, open Set, step uint) (g Set) {
	g, p := from, open
	g |= p & (g >> step)
	p &= p >> step
	g |= p & (g >> (2 * step))
	p &= p >> (2 * step)
	return g | p&(g>>(4*step))
}

// MirrorFiles returns the mirror image of a set, left-right, on the 8x8 grid.
func MirrorFiles(x Set) Set {
	x = x>>1&0x5555555555555555 | x&0x5555555555555555<<1
	x = x>>2&0x3333333333333333 | x&0x3333333333333333<<2
	return x>>4&0x0f0f0f0f0f0f0f0f | x&0x0f0f0f0f0f0f0f0f<<4
}

// flipFiles mirrors a set left-right on a board of the given width.
func flipFiles(x Set, width uint8) Set { return MirrorFiles(x) >> ((8 - width) & 63) }

// flipRanks mirrors a set top-bottom on a board of the given height.
func flipRanks(x Set, height uint8) Set {
	return bits.ReverseBytes64(x) >> ((8 * (8 - height)) & 63)
}

// Transpose returns the image of a set on the 8x8 grid with files and ranks exchanged.
func Transpose(x Set) Set {
	t := (x ^ x>>7) & 0x00aa00aa00aa00aa
	x ^= t ^ t<<7
	t = (x ^ x>>14) & 0x0000cccc0000cccc
	x ^= t ^ t<<14
	t = (x ^ x>>28) & 0x00000000f0f0f0f0
	return x ^ t ^ t<<28
}

// Symmetry is one of the symmetries of a board: bit 0 mirrors left-right, bit 1
// mirrors top-bottom, bit 2 (square boards only) then exchanges files and ranks.
type Symmetry uint8

// Symmetries returns the number of symmetries of the board: 4, or 8 where it is square.
func (b Board) Symmetries() int {
	if b.Width == b.Height {
		return 8
	}
	return 4
}

// Apply returns the image of x under s.
func (b Board) Apply(s Symmetry, x Set) Set {
	if s&1 != 0 {
		x = flipFiles(x, b.Width)
	}
	if s&2 != 0 {
		x = flipRanks(x, b.Height)
	}
	if s&4 != 0 {
		x = Transpose(x)
	}
	return x
}

// ApplySquare returns the image of square q under s.
func (b Board) ApplySquare(s Symmetry, q Square) Square {
	f, r := q.File(), q.Rank()
	if s&1 != 0 {
		f = int(b.Width) - 1 - f
	}
	if s&2 != 0 {
		r = int(b.Height) - 1 - r
	}
	if s&4 != 0 {
		f, r = r, f
	}
	return Square(8*r + f)
}

// Inverse returns the symmetry that undoes s.
func (s Symmetry) Inverse() Symmetry {
	if s&4 == 0 {
		return s
	}
	// Mirrors first, then the exchange: undone by the exchange followed by the
	// mirrors, which is the mirrors with their bits swapped, then the exchange.
	return 4 | s&1<<1 | s&2>>1
}
