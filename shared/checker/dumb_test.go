package checker

// A deliberately dumb second implementation, square by square, against which the board code and the
// leaf rules are tested.

import (
	"math/rand/v2"
	"strings"
	"testing"
)

// dumb is a position as rows of characters: '.', 'o' own queen, 'p' opponent, 'x'. cell[rank][file].
type dumb struct {
	w, h int
	cell [][]byte
}

func dumbOf(w, h int, p position) dumb {
	d := dumb{w: w, h: h}
	for r := range h {
		row := make([]byte, w)
		for f := range w {
			i := w*r + f
			row[f] = ".opx"[p.a>>i&1+2*(p.b>>i&1)]
		}
		d.cell = append(d.cell, row)
	}
	return d
}

func (d dumb) words() position {
	var p position
	for r := range d.h {
		for f := range d.w {
			switch i := d.w*r + f; d.cell[r][f] {
			case 'o':
				p.a |= 1 << i
			case 'p':
				p.b |= 1 << i
			case 'x':
				p.a |= 1 << i
				p.b |= 1 << i
			}
		}
	}
	return p
}

func (d dumb) at(f, r int) byte {
	if f < 0 || f >= d.w || r < 0 || r >= d.h {
		return '#'
	}
	return d.cell[r][f]
}

func (d dumb) copy() dumb {
	e := dumb{w: d.w, h: d.h}
	for _, row := range d.cell {
		e.cell = append(e.cell, append([]byte(nil), row...))
	}
	return e
}

func (d dumb) lines(f, r int) (to [][2]int) {
	for df := -1; df <= 1; df++ {
		for dr := -1; dr <= 1; dr++ {
			for n := 1; (df != 0 || dr != 0) && d.at(f+n*df, r+n*dr) == '.'; n++ {
				to = append(to, [2]int{f + n*df, r + n*dr})
			}
		}
	}
	return to
}

// moves returns each legal move of the own queens and the position after it, seen by the other side.
func (d dumb) moves() map[move]position {
	all := map[move]position{}
	for r := range d.h {
		for f := range d.w {
			if d.cell[r][f] != 'o' {
				continue
			}
			for _, to := range d.lines(f, r) {
				e := d.copy()
				e.cell[r][f], e.cell[to[1]][to[0]] = '.', 'o'
				for _, c := range e.lines(to[0], to[1]) {
					g := e.copy()
					g.cell[c[1]][c[0]] = 'x'
					g.swap()
					all[move{uint8(d.w*r + f), uint8(d.w*to[1] + to[0]), uint8(d.w*c[1] + c[0])}] = g.words()
				}
			}
		}
	}
	return all
}

func (d dumb) swap() {
	for _, row := range d.cell {
		for f, c := range row {
			switch c {
			case 'o':
				row[f] = 'p'
			case 'p':
				row[f] = 'o'
			}
		}
	}
}

func (d dumb) images() (all []dumb) {
	for _, flipRank := range []bool{false, true} {
		for _, flipFile := range []bool{false, true} {
			e := d.copy()
			for r := range d.h {
				for f := range d.w {
					sr, sf := r, f
					if flipRank {
						sr = d.h - 1 - r
					}
					if flipFile {
						sf = d.w - 1 - f
					}
					e.cell[r][f] = d.cell[sr][sf]
				}
			}
			all = append(all, e)
			if d.w == d.h {
				g := e.copy()
				for r := range d.h {
					for f := range d.w {
						g.cell[r][f] = e.cell[f][r]
					}
				}
				all = append(all, g)
			}
		}
	}
	return all
}

func (d dumb) canonical() dumb {
	best := d
	for _, e := range d.images() {
		p, q := e.words(), best.words()
		if p.a < q.a || p.a == q.a && p.b < q.b {
			best = e
		}
	}
	return best
}

func (d dumb) around(f, r int) (all [][2]int) {
	for dr := -1; dr <= 1; dr++ { // rank by rank: in increasing square number
		for df := -1; df <= 1; df++ {
			if (df != 0 || dr != 0) && d.at(f+df, r+dr) != '#' {
				all = append(all, [2]int{f + df, r + dr})
			}
		}
	}
	return all
}

// flood marks with 'c' the empty squares that the queens of the side given reach.
func (d dumb) flood(side byte) dumb {
	e := d.copy()
	var step func(f, r int)
	step = func(f, r int) {
		for _, n := range e.around(f, r) {
			if e.cell[n[1]][n[0]] == '.' {
				e.cell[n[1]][n[0]] = 'c'
				step(n[0], n[1])
			}
		}
	}
	for r := range d.h {
		for f := range d.w {
			if d.cell[r][f] == side {
				step(f, r)
			}
		}
	}
	return e
}

func (d dumb) count(c byte) (n int) {
	for _, row := range d.cell {
		n += strings.Count(string(row), string(c))
	}
	return n
}

// walk follows FORMAT.md word by word on a flooded board; except is a queen left out, or {-1,-1}.
func (d dumb) walk(side byte, except [2]int) (n int) {
	e := d.copy()
	touches := func(f, r int) bool {
		for _, n := range e.around(f, r) {
			if e.cell[n[1]][n[0]] == 'c' {
				return true
			}
		}
		return false
	}
	free := func(f, r int) (all [][2]int) {
		for _, n := range e.around(f, r) {
			if e.cell[n[1]][n[0]] == '.' {
				all = append(all, n)
			}
		}
		return all
	}
	for _, second := range []bool{false, true} {
		for r := range d.h {
			for f := range d.w {
				if d.cell[r][f] != side || except == [2]int{f, r} || touches(f, r) != second {
					continue
				}
				for at := [2]int{f, r}; ; {
					next := free(at[0], at[1])
					if len(next) == 0 {
						break
					}
					best := next[0]
					for _, s := range next {
						if len(free(s[0], s[1])) < len(free(best[0], best[1])) {
							best = s
						}
					}
					at = best
					e.cell[at[1]][at[0]] = 'v'
					n++
				}
			}
		}
	}
	return n
}

// verdict applies so many rules, 3 or 4.
func (d dumb) verdict(rules int) Verdict {
	d = d.canonical()
	if len(d.moves()) == 0 {
		return Lost
	}
	nobody := [2]int{-1, -1}
	theirs := d.flood('p')
	n := theirs.count('c')
	if theirs.walk('o', nobody) >= n+1 {
		return Won
	}
	for r := range d.h {
		for f := range d.w {
			touches := false
			for _, s := range theirs.around(f, r) {
				touches = touches || theirs.cell[s[1]][s[0]] == 'c'
			}
			if d.cell[r][f] == 'o' && touches && theirs.walk('o', [2]int{f, r})+1 >= n {
				return Won
			}
		}
	}
	mine := d.flood('o')
	switch {
	case mine.walk('p', nobody) >= mine.count('c'):
		return Lost
	case theirs.sum('o', true):
		return Won
	case mine.sum('p', false):
		return Lost
	}
	if rules > 3 && d.count('.') <= 20 {
		for _, after := range d.moves() {
			if dumbOf(d.w, d.h, after).verdict(3) == Lost {
				return Won
			}
		}
	}
	return Open
}

// sum is rule 3 of FORMAT.md word by word on a flooded board, for the side p.
func (d dumb) sum(p byte, begins bool) bool {
	nobody := [2]int{-1, -1}
	spared := append([][2]int{nobody}, d.walkers(p, nobody)...)
	for _, q := range spared {
		plods := d.walk(p, q)
		walkers := d.walkers(p, q)
		total, areas := plods, d.areas(p, walkers)
		for _, a := range areas {
			total += a.value(p)
		}
		if !begins && total >= 0 || begins && total >= 1 {
			return true
		}
		for _, a := range areas {
			if !begins || a.count(p) == 0 {
				continue
			}
			rest := total - a.value(p) + 1 - a.count('c')
			if rest >= 0 || rest+2 >= 0 && a.safeAfterPlod(p) {
				return true
			}
		}
	}
	return false
}

// walkers returns the queens of p next to C that make a plod in the walk of all but except.
func (d dumb) walkers(p byte, except [2]int) (all [][2]int) {
	var queens [][2]int
	for r := range d.h {
		for f := range d.w {
			for _, n := range d.around(f, r) {
				if d.cell[r][f] == p && d.cell[n[1]][n[0]] == 'c' && [2]int{f, r} != except {
					queens = append(queens, [2]int{f, r})
					break
				}
			}
		}
	}
	// A queen walks if the plods of those up to it are more than of those before it.
	e := d.copy()
	for _, q := range queens {
		e.cell[q[1]][q[0]] = 'x'
	}
	before := e.walk(p, except)
	for _, q := range queens {
		e.cell[q[1]][q[0]] = p
		if n := e.walk(p, except); n > before {
			all, before = append(all, q), n
		}
	}
	return all
}

// areas returns a board for each area of C, on which all else is burnt.
func (d dumb) areas(p byte, walkers [][2]int) (all []dumb) {
	o := byte('o' + 'p' - p)
	e := d.copy()
	for _, q := range walkers {
		e.cell[q[1]][q[0]] = 'x'
	}
	for r := range d.h { // P's queens that do not touch C are in no area
		for f := range d.w {
			touches := false
			for _, n := range d.around(f, r) {
				touches = touches || d.cell[n[1]][n[0]] == 'c'
			}
			if d.cell[r][f] == p && !touches {
				e.cell[r][f] = 'x'
			}
		}
	}
	done := map[[2]int]bool{}
	for r := range d.h {
		for f := range d.w {
			if e.cell[r][f] != 'c' || done[[2]int{f, r}] {
				continue
			}
			in := map[[2]int]bool{{f, r}: true}
			for todo := [][2]int{{f, r}}; len(todo) > 0; todo = todo[1:] {
				for _, n := range e.around(todo[0][0], todo[0][1]) {
					if c := e.cell[n[1]][n[0]]; (c == 'c' || c == p || c == o) && !in[n] {
						in[n] = true
						todo = append(todo, n)
					}
				}
			}
			a := e.copy()
			for r := range d.h {
				for f := range d.w {
					if at := [2]int{f, r}; !in[at] {
						a.cell[r][f] = 'x'
					} else {
						done[at] = true
					}
				}
			}
			all = append(all, a)
		}
	}
	return all
}

// value is what an area counts for p.
func (d dumb) value(p byte) int {
	if d.safe(p) {
		return 2 - d.count('c')
	}
	return -d.count('c')
}

// safe says that p has a move in an area after each move of the other side there.
func (d dumb) safe(p byte) bool {
	canStep := func(e dumb) bool {
		for r := range e.h {
			for f := range e.w {
				for _, n := range e.around(f, r) {
					if c := e.cell[n[1]][n[0]]; e.cell[r][f] == p && (c == 'c' || c == '.') {
						return true
					}
				}
			}
		}
		return false
	}
	// As a position in which the other side is to move.
	e := d.copy()
	for r, row := range e.cell {
		for f, c := range row {
			switch {
			case c == 'c':
				e.cell[r][f] = '.'
			case c == p:
				e.cell[r][f] = 'p'
			case c != 'x':
				e.cell[r][f] = 'o'
			}
		}
	}
	p = 'p'
	if !canStep(e) {
		return false
	}
	p = 'o' // seen by the side that then is to move
	for _, after := range e.moves() {
		if !canStep(dumbOf(e.w, e.h, after)) {
			return false
		}
	}
	return true
}

// safeAfterPlod says that p has a plod in an area after which it has a safe move there.
func (d dumb) safeAfterPlod(p byte) bool {
	for r := range d.h {
		for f := range d.w {
			for _, n := range d.around(f, r) {
				if d.cell[r][f] != p || d.cell[n[1]][n[0]] != 'c' {
					continue
				}
				e := d.copy()
				e.cell[r][f], e.cell[n[1]][n[0]] = 'x', p
				if e.safe(p) {
					return true
				}
			}
		}
	}
	return false
}

// randomPosition returns a position with 2 to 4 queens a side where the board has room, and at most
// maxEmpty empty squares, which lie scattered or, half of the time, grow around the queens.
func randomPosition(rng *rand.Rand, w, h, maxEmpty int) position {
	b := boardOf(w, h)
	var p position
	order := rng.Perm(b.squares)
	queens := min(2+rng.IntN(3), b.squares/3)
	empty := min(rng.IntN(maxEmpty+1), b.squares-2*queens)
	if rng.IntN(2) == 0 { // a clump: everything near a square first
		centre := order[0]
		seen := uint64(1) << centre
		order = order[:1]
		for seen != b.full {
			ring := b.grow(seen) &^ seen
			seen |= ring
			var next []int
			for i := range b.squares {
				if ring>>i&1 != 0 {
					next = append(next, i)
				}
			}
			rng.Shuffle(len(next), func(i, j int) { next[i], next[j] = next[j], next[i] })
			order = append(order, next...)
		}
		head := order[:min(len(order), 2*queens+empty+rng.IntN(3))]
		rng.Shuffle(len(head), func(i, j int) { head[i], head[j] = head[j], head[i] })
	}
	for n, i := range order {
		switch {
		case n < queens:
			p.a |= 1 << i
		case n < 2*queens:
			p.b |= 1 << i
		case n >= 2*queens+empty:
			p.a |= 1 << i
			p.b |= 1 << i
		}
	}
	return p
}

// startPosition is the start of the game on (1,2)-points, white to move.
func startPosition(w, h int) position {
	bit := func(f, r int) uint64 { return 1 << (w*r + f) }
	return position{
		a: bit(1, 0) | bit(w-2, 0) | bit(0, 1) | bit(w-1, 1),
		b: bit(1, h-1) | bit(w-2, h-1) | bit(0, h-2) | bit(w-1, h-2),
	}
}

// allMoves lists the legal moves with the board code under test.
func (b *board) allMoves(p position) (all []move) {
	for from := range b.squares {
		if p.own()>>from&1 == 0 {
			continue
		}
		for to := range b.squares {
			if b.queenLines(from, p.occupied())>>to&1 == 0 {
				continue
			}
			lines := b.queenLines(to, p.occupied()&^(1<<from))
			for c := range b.squares {
				if lines>>c&1 != 0 {
					all = append(all, move{uint8(from), uint8(to), uint8(c)})
				}
			}
		}
	}
	return all
}

// forSizes runs f for every size of board.
func forSizes(t *testing.T, f func(t *testing.T, w, h int)) {
	for w := 1; w <= maxSide; w++ {
		for h := 1; h <= maxSide; h++ {
			f(t, w, h)
		}
	}
}
