package area

import (
	"math/bits"
	"math/rand/v2"
	"testing"

	"amazonsfarm/shared/amazons"
)

// random returns a random position: a window of the grid, with about the given share of burnt squares.
func random(r *rand.Rand) (black, white, empty Set) {
	b := amazons.Board{Width: uint8(1 + r.IntN(8)), Height: uint8(1 + r.IntN(8))}
	burnt := r.IntN(10)
	queens := 1 + r.IntN(6)
	for rest := b.Mask(); rest != 0; rest &= rest - 1 {
		s := rest & -rest
		switch {
		case r.IntN(10) < burnt:
		case r.IntN(10) >= queens:
			empty |= s
		case r.IntN(2) == 0:
			black |= s
		default:
			white |= s
		}
	}
	return black, white, empty
}

// cells is the dumb view of a position: a letter for each square.
type cells [8][8]byte

func view(black, white, empty Set) (c cells) {
	for s := range 64 {
		switch bit := Set(1) << s; {
		case black&bit != 0:
			c[s/8][s%8] = 'B'
		case white&bit != 0:
			c[s/8][s%8] = 'W'
		case empty&bit != 0:
			c[s/8][s%8] = '.'
		}
	}
	return c
}

// reach marks what is reached from the squares that start by steps to squares that pass.
func (c cells) reach(start, pass func(byte) bool) (out Set) {
	var walk func(r, f int)
	walk = func(r, f int) {
		if out>>(8*r+f)&1 != 0 {
			return
		}
		out |= 1 << (8*r + f)
		for dr := -1; dr <= 1; dr++ {
			for df := -1; df <= 1; df++ {
				if y, x := r+dr, f+df; y >= 0 && y < 8 && x >= 0 && x < 8 && pass(c[y][x]) {
					walk(y, x)
				}
			}
		}
	}
	for r := range 8 {
		for f := range 8 {
			if start(c[r][f]) {
				walk(r, f)
			}
		}
	}
	return out
}

// component returns the squares connected to the lowest one of those in x.
func component(x Set) Set {
	c := view(x, 0, 0)
	s := bits.TrailingZeros64(x)
	c[s/8][s%8] = 'S'
	return c.reach(func(b byte) bool { return b == 'S' }, func(b byte) bool { return b == 'B' })
}

func TestBasicAgainstDumb(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 1))
	var p Partition
	for range 20000 {
		black, white, empty := random(r)
		p.Basic(black, white, empty)
		var want []Area
		for rest := black | white | empty; rest != 0; {
			c := component(rest)
			rest &^= c
			a := Area{Black: c & black, White: c & white, Empty: c & empty, Kind: Active}
			switch {
			case a.Empty == 0 || a.Black|a.White == 0:
				continue
			case a.Black == 0 || a.White == 0:
				a.Kind = Simple
			}
			want = append(want, a)
		}
		same(t, &p, want)
	}
}

// same compares areas as sets: the dumb version finds them in another order.
func same(t *testing.T, p *Partition, want []Area) {
	t.Helper()
	got := map[Area]bool{}
	for _, a := range p.Areas() {
		got[a] = true
	}
	if len(got) != len(want) || len(p.Areas()) != len(want) {
		t.Fatalf("%d areas, want %d", len(p.Areas()), len(want))
	}
	for _, a := range want {
		if !got[a] {
			t.Fatalf("missing area %+v in %+v", a, p.Areas())
		}
	}
}

// images returns the 16 images of an area in the lower left corner, by coordinates.
func images(black, white, empty Set) (out [][3]Set) {
	for sym := range 16 {
		move := func(x Set) (y Set) {
			for s := range 64 {
				if x>>s&1 == 0 {
					continue
				}
				f, r := s%8, s/8
				if sym&1 != 0 {
					f = 7 - f
				}
				if sym&2 != 0 {
					r = 7 - r
				}
				if sym&4 != 0 {
					f, r = r, f
				}
				y |= 1 << (8*r + f)
			}
			return y
		}
		b, w, e := move(black), move(white), move(empty)
		if sym&8 != 0 {
			b, w = w, b
		}
		all := b | w | e
		for all&0x0101010101010101 == 0 {
			all, b, w, e = all>>1, b>>1, w>>1, e>>1
		}
		for all&0xff == 0 {
			all, b, w, e = all>>8, b>>8, w>>8, e>>8
		}
		out = append(out, [3]Set{all, b, w})
	}
	return out
}

func TestCanonicalAgainstDumb(t *testing.T) {
	r := rand.New(rand.NewPCG(4, 1))
	for range 30000 {
		black, white, empty := random(r)
		if r.IntN(2) == 0 { // small ones are symmetric more often
			m := Set(0x0707) << r.IntN(40)
			black, white, empty = black&m, white&m, empty&m
		}
		if black|white|empty == 0 {
			continue
		}
		f := Canonical(black, white, empty)
		wide := func(x Set) bool { // at least as wide as high
			files, ranks := 0, 0
			for i := range 8 {
				if x>>i&0x0101010101010101 != 0 {
					files = i + 1
				}
				if x>>(8*i)&0xff != 0 {
					ranks = i + 1
				}
			}
			return files >= ranks
		}
		best := [3]Set{^Set(0)}
		found := false
		for _, x := range images(black, white, empty) {
			if !wide(x[0]) {
				continue
			}
			if !found || x[0] < best[0] || x[0] == best[0] && (x[1] > best[1] || x[1] == best[1] && x[2] > best[2]) {
				best, found = x, true
			}
		}
		if got := [3]Set{f.Shape, f.Black, f.White}; got != best {
			t.Fatalf("%x %x %x: canonical %x, want %x", black, white, empty, got, best)
		}
		b, w := f.Squares(f.Black), f.Squares(f.White)
		if f.Negated {
			b, w = w, b
		}
		if b != black || w != white || f.Squares(f.Shape) != black|white|empty {
			t.Fatalf("%x %x %x: the way back leads to %x %x", black, white, empty, b, w)
		}
		if k := f.Key(); ^(k.A&k.B) != f.Shape || k.A&f.Shape != f.Black || k.B&f.Shape != f.White {
			t.Fatal("the key does not lead back")
		}
	}
}

// TestFixedCounts counts regions up to shifts by their free shapes: a region has as many
// images as symmetries lead to different ones. The numbers are those of the polyplets, A006770 (fixed) and
// A030222 (free) of the OEIS.
func TestFixedCounts(t *testing.T) {
	limit := 8
	if testing.Short() {
		limit = 7
	}
	// 9x9 would not be needed: regions of up to 8 squares fit the grid.
	level := map[Set]bool{1: true}
	for n, want := range []int{1, 4, 20, 110, 638, 3832, 23592, 147941}[:limit] {
		if len(level) != want {
			t.Fatalf("%d squares: %d fixed regions, want %d", n+1, len(level), want)
		}
		free := map[Set]bool{}
		for s := range level {
			free[CanonicalShape(s)] = true
		}
		if want := []int{1, 2, 5, 22, 94, 524, 3031, 18770}[n]; len(free) != want {
			t.Fatalf("%d squares: %d free regions, want %d", n+1, len(free), want)
		}
		next := map[Set]bool{}
		for s := range level {
			// Shifted by one, a region has room on all sides; one that is 8 long cannot grow within
			// the grid there.
			for _, shift := range []int{0, 1, 8, 9} {
				x := s << shift
				if bits.OnesCount64(x) != n+1 || x>>shift != s || shift&1 != 0 && s&0x8080808080808080 != 0 {
					continue
				}
				for rest := amazons.Grow(x) &^ x; rest != 0; rest &= rest - 1 {
					y := x | rest&-rest
					for y&0x0101010101010101 == 0 {
						y >>= 1
					}
					for y&0xff == 0 {
						y >>= 8
					}
					next[y] = true
				}
			}
		}
		level = next
	}
}

func TestNoAllocations(t *testing.T) {
	r := rand.New(rand.NewPCG(5, 1))
	black, white, empty := random(r)
	var p Partition
	if n := testing.AllocsPerRun(100, func() {
		p.Basic(black, white, empty)
		Canonical(black, white, empty)
	}); n != 0 {
		t.Fatal(n, "allocations")
	}
}
