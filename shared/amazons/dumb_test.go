package amazons

import (
	"flag"
	"fmt"
	"os"
	"slices"
	"testing"

	"pgregory.net/rapid"
)

// TestMain asks rapid for more cases than its 100: they are cheap here.
func TestMain(m *testing.M) {
	if err := flag.Set("rapid.checks", "1000"); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(2)
	}
	os.Exit(m.Run())
}

// What follows does everything square by square on a slice of letters, as slowly
// and plainly as possible. The fast functions are compared with it.

// dumb is a board of letters, dumb[rank][file]: 'O' own queen, 'P' opponent's
// queen, 'x' burnt, '.' empty.
type dumb [][]byte

type point struct{ file, rank int }

var eightSteps = []point{{1, 0}, {1, 1}, {0, 1}, {-1, 1}, {-1, 0}, {-1, -1}, {0, -1}, {1, -1}}

// dumbOf spells out a state.
func dumbOf(b Board, s State) dumb {
	var d dumb
	for r := range int(b.Height) {
		var row []byte
		for f := range int(b.Width) {
			switch i := 8*r + f; {
			case s.Own>>i&1 == 1:
				row = append(row, 'O')
			case s.Opp>>i&1 == 1:
				row = append(row, 'P')
			case s.Empty>>i&1 == 1:
				row = append(row, '.')
			default:
				row = append(row, 'x')
			}
		}
		d = append(d, row)
	}
	return d
}

func (d dumb) copy() dumb {
	var c dumb
	for _, row := range d {
		c = append(c, slices.Clone(row))
	}
	return c
}

func (d dumb) on(p point) bool {
	return p.rank >= 0 && p.rank < len(d) && p.file >= 0 && p.file < len(d[p.rank])
}

// find lists the squares with a letter, rank by rank.
func (d dumb) find(letter byte) (out []point) {
	for r, row := range d {
		for f, c := range row {
			if c == letter {
				out = append(out, point{f, r})
			}
		}
	}
	return out
}

// slides lists where a queen on p goes over empty squares.
func (d dumb) slides(p point) (out []point) {
	for _, step := range eightSteps {
		q := point{p.file + step.file, p.rank + step.rank}
		for d.on(q) && d[q.rank][q.file] == '.' {
			out = append(out, q)
			q = point{q.file + step.file, q.rank + step.rank}
		}
	}
	return out
}

// play returns the board after a move, still with the letters of the side that moved.
func (d dumb) play(from, to, arrow point) dumb {
	c := d.copy()
	c[from.rank][from.file] = '.'
	c[to.rank][to.file] = 'O'
	c[arrow.rank][arrow.file] = 'x'
	return c
}

// swap exchanges the sides.
func (d dumb) swap() dumb {
	c := d.copy()
	for _, p := range d.find('O') {
		c[p.rank][p.file] = 'P'
	}
	for _, p := range d.find('P') {
		c[p.rank][p.file] = 'O'
	}
	return c
}

type dumbMove struct{ from, to, arrow point }

func (d dumb) moves() (out []dumbMove) {
	for _, from := range d.find('O') {
		for _, to := range d.slides(from) {
			moved := d.copy()
			moved[from.rank][from.file] = '.'
			moved[to.rank][to.file] = 'O'
			for _, arrow := range moved.slides(to) {
				out = append(out, dumbMove{from, to, arrow})
			}
		}
	}
	return out
}

// images lists the images under the symmetries, in the order of their numbers.
func (d dumb) images() (out []dumb) {
	h, w := len(d), len(d[0])
	for sym := range 8 {
		if sym >= 4 && w != h {
			break
		}
		c := d.copy()
		for r := range h {
			for f := range w {
				g, q := f, r
				if sym&1 != 0 {
					g = w - 1 - f
				}
				if sym&2 != 0 {
					q = h - 1 - r
				}
				if sym&4 != 0 {
					g, q = q, g
				}
				c[q][g] = d[r][f]
			}
		}
		out = append(out, c)
	}
	return out
}

// key is the key of FORMAT.md.
func (d dumb) key() (k Key) {
	i := 0
	for _, row := range d {
		for _, c := range row {
			if c == 'O' || c == 'x' {
				k.A += 1 << i
			}
			if c == 'P' || c == 'x' {
				k.B += 1 << i
			}
			i++
		}
	}
	return k
}

func (p point) square() Square { return Square(8*p.rank + p.file) }

func (m dumbMove) move() Move { return Move{m.from.square(), m.to.square(), m.arrow.square()} }

func setOfPoints(points []point) (x Set) {
	for _, p := range points {
		x |= 1 << (8*p.rank + p.file)
	}
	return x
}

func pointOf(s Square) point { return point{int(s) % 8, int(s) / 8} }

// drawBoard draws a board of any size.
func drawBoard(t *rapid.T) Board {
	b, err := NewBoard(rapid.IntRange(1, 8).Draw(t, "width"), rapid.IntRange(1, 8).Draw(t, "height"))
	if err != nil {
		t.Fatal(err)
	}
	return b
}

// drawState draws any state of a board, with any number of queens. It shrinks
// towards the empty board.
func drawState(t *rapid.T, b Board) State {
	// How often each letter comes decides how long the lines are.
	letters := rapid.SampledFrom([]string{".xOP", ".......xOP", "...xxxxxxxxOP", "......OP", "..x"}).Draw(t, "letters")
	cells := rapid.SliceOfN(rapid.SampledFrom([]byte(letters)), b.Squares(), b.Squares()).Draw(t, "cells")
	var s State
	for i, c := range cells {
		bit := Set(1) << (8*(i/int(b.Width)) + i%int(b.Width))
		switch c {
		case '.':
			s.Empty |= bit
		case 'O':
			s.Own |= bit
		case 'P':
			s.Opp |= bit
		}
	}
	return s
}

// drawSets draws two sets of squares of a board, which may overlap.
func drawSets(t *rapid.T, b Board) (x, y Set) {
	kinds := rapid.SampledFrom([][]int{{0, 1, 2, 3}, {0, 0, 0, 0, 1}, {0, 0, 0, 0, 0, 0, 0, 1, 2, 3},
		{0, 0, 0, 1, 2}}).Draw(t, "kinds")
	cells := rapid.SliceOfN(rapid.SampledFrom(kinds), b.Squares(), b.Squares()).Draw(t, "cells")
	for i, c := range cells {
		bit := Set(1) << (8*(i/int(b.Width)) + i%int(b.Width))
		switch c {
		case 0:
			y |= bit
		case 1:
			x |= bit
		case 3:
			x |= bit
			y |= bit
		}
	}
	return x, y
}
