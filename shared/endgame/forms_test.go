package endgame

import (
	"math/bits"
	"math/rand/v2"
	"os"
	"strconv"
	"testing"

	"amazonsfarm/shared/area"
	"amazonsfarm/shared/cgt"
)

// TestValuesAgainstCanonicalForms values areas, some above the size of the database, in three ways:
// through the database, by search without it, and by canonical forms, whose sums are sums of games
// and not of positions.
func TestValuesAgainstCanonicalForms(t *testing.T) {
	db := database(t)
	arena := cgt.NewArena(cgt.Limits{})
	forms := NewForms(arena)
	with, plain := Solver{DB: db}, Solver{}
	r := rand.New(rand.NewPCG(11, 1))
	above := 0
	for range 4000 {
		n := 2 + r.IntN(db.Squares()+1)
		x := randomArea(r, n, [3]int{1, 1, 1})
		if bits.OnesCount64(x[2]) > 5 {
			continue
		}
		v, err := with.Value(x[0], x[1], x[2])
		if err != nil {
			t.Fatal(err)
		}
		if n > db.Squares() {
			above++
		}
		u, err := plain.Value(x[0], x[1], x[2])
		if err != nil || u != v {
			t.Fatalf("%s: %v with the database, %v without (%v)", area.Text(x[0], x[1], x[2]), v, u, err)
		}
		f, err := forms.Form(x[0], x[1], x[2])
		if err != nil {
			t.Fatal(err)
		}
		if u, err := arena.Value(f); err != nil || u != v {
			t.Fatalf("%s: %v, but %v by its canonical form (%v)", area.Text(x[0], x[1], x[2]), v, u, err)
		}
		// G - G = 0 and G + 0 = G.
		neg, err := arena.Neg(f)
		if err != nil {
			t.Fatal(err)
		}
		if d, err := arena.Add(f, neg); err != nil || d != 0 {
			t.Fatalf("%s: G - G is not 0 (%v)", area.Text(x[0], x[1], x[2]), err)
		}
		if g, err := forms.Form(x[1], x[0], x[2]); err != nil || g != neg {
			t.Fatalf("%s: with colours exchanged it is not the negative (%v)", area.Text(x[0], x[1], x[2]), err)
		}
		if d, err := arena.Add(f, 0); err != nil || d != f {
			t.Fatalf("%s: G + 0 is not G (%v)", area.Text(x[0], x[1], x[2]), err)
		}
	}
	if above < 100 {
		t.Fatal("only", above, "areas above the size of the database")
	}
}

// play tells by plain search whether the side to move wins.
func play(own, opp, empty Set, memo map[[3]Set]bool) bool {
	key := [3]Set{own, opp, empty}
	if w, ok := memo[key]; ok {
		return w
	}
	w := false
	s := state(own, opp, empty)
	for _, m := range s.Moves(nil) {
		c := s.After(m)
		if !play(c.Own, c.Opp, c.Empty, memo) {
			w = true
			break
		}
	}
	memo[key] = w
	return w
}

// TestOrderAgreesWithPlay compares random areas and sums of two with play: G >= H exactly if Black,
// as the second to move, wins G - H; and the values' own word for the winner.
func TestOrderAgreesWithPlay(t *testing.T) {
	db := database(t)
	arena := cgt.NewArena(cgt.Limits{})
	forms := NewForms(arena)
	solver := Solver{DB: db}
	r := rand.New(rand.NewPCG(12, 1))
	var list []cgt.Form
	for range 600 {
		// Two areas in the two halves of the grid, apart from each other.
		g, h := small(r), small(r)
		b, w, e := g[0]|h[0]<<4, g[1]|h[1]<<4, g[2]|h[2]<<4
		fg, err := forms.Form(g[0], g[1], g[2])
		if err != nil {
			t.Fatal(err)
		}
		fh, err := forms.Form(h[1], h[0], h[2]) // the negative of h
		if err != nil {
			t.Fatal(err)
		}
		list = append(list, fg)
		memo := map[[3]Set]bool{}
		blackFirst, whiteFirst := play(b, w, e, memo), play(w, b, e, memo)
		if ge := arena.LessEq(fh, fg); ge == whiteFirst {
			t.Fatalf("%s: at least %v, but White to move wins %v", area.Text(b, w, e), ge, whiteFirst)
		}
		if le := arena.LessEq(fg, fh); le == blackFirst {
			t.Fatalf("%s: at most %v, but Black to move wins %v", area.Text(b, w, e), le, blackFirst)
		}
		v, err := solver.Value(b, w, e)
		if err != nil {
			t.Fatal(err)
		}
		if (v.Winner(cgt.Left) == cgt.Left) != blackFirst || (v.Winner(cgt.Right) == cgt.Right) != whiteFirst {
			t.Fatalf("%s: value %v, play %v %v", area.Text(b, w, e), v, blackFirst, whiteFirst)
		}
	}
	for range 20000 {
		a, b, c := list[r.IntN(len(list))], list[r.IntN(len(list))], list[r.IntN(len(list))]
		if !arena.LessEq(a, a) || arena.LessEq(a, b) && arena.LessEq(b, a) && a != b || arena.LessEq(a, b) &&
			arena.LessEq(b, c) && !arena.LessEq(a, c) {
			t.Fatal("no partial order")
		}
	}
}

// small returns an area in the left 3 files of the grid.
func small(r *rand.Rand) (x [3]Set) {
	for {
		x = randomArea(r, 2+r.IntN(5), [3]int{1, 1, 1})
		s := x[0] | x[1] | x[2]
		k, _, _ := area.Frame(s)
		if s>>k&0xf8f8f8f8f8f8f8f8 == 0 && bits.OnesCount64(x[2]) <= 3 {
			return [3]Set{x[0] >> k, x[1] >> k, x[2] >> k}
		}
	}
}

// TestEveryEntry compares every entry of up to AREAS_ALL squares (3 without it) with plain search, and
// a sample of the others.
func TestEveryEntry(t *testing.T) {
	db := database(t)
	full := 3
	if n, err := strconv.Atoi(os.Getenv("AREAS_ALL")); err == nil {
		full = n
	}
	r := rand.New(rand.NewPCG(15, 1))
	plain := Solver{}
	entries := 0
	for n := 1; n <= db.Squares(); n++ {
		l := db.layers[n]
		share := 1.0
		if n > full {
			share = 2000 / float64(len(l.active))
		}
		for _, shape := range l.shapes {
			for rank := range int64(powers3[n]+1) / 2 {
				if share < 1 && r.Float64() > share {
					continue
				}
				b, w := unrank(shape, rank)
				if l.limit > 0 && (bits.OnesCount64(b) > l.limit || bits.OnesCount64(w) > l.limit) || n > 8 &&
					bits.OnesCount64(b|w) < 3 {
					continue
				}
				got, ok := db.Value(b, w, shape&^(b|w))
				want, err := plain.Value(b, w, shape&^(b|w))
				if err != nil || !ok || got != want {
					t.Fatalf("%s: %v %v, want %v (%v)", area.Text(b, w, shape&^(b|w)), got, ok, want, err)
				}
				entries++
			}
		}
	}
	t.Logf("%d entries equal plain search", entries)
}

// unrank returns the queens of a placement on a shape by its rank in balanced ternary, the lowest
// square first: 1 for a black queen, -1 for a white one.
func unrank(shape Set, rank int64) (black, white Set) {
	for ; shape != 0; shape &= shape - 1 {
		switch rank % 3 {
		case 1, -2:
			black |= shape & -shape
			rank = (rank - 1) / 3
		case -1, 2:
			white |= shape & -shape
			rank = (rank + 1) / 3
		default:
			rank /= 3
		}
	}
	return black, white
}

// size returns the number of squares of an area.
func size(a *area.Area) int { return bits.OnesCount64(a.Squares()) }
