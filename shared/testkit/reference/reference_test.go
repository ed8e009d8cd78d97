package reference

import (
	"math/bits"
	"math/rand/v2"
	"testing"

	"amazonsfarm/shared/amazons"
)

// TestKnownPositions searches positions whose winner is plain to see, and 4x4.
func TestKnownPositions(t *testing.T) {
	var fast Fast
	for _, c := range []struct {
		position string
		won      bool
		why      string
	}{
		{"WB w", false, "no move"},
		{"W.B w", true, "takes the only square"},
		{"W.x.B w", false, "one move each"},
		{"W..x.B w", true, "two moves against one"},
		{"W..x..B b", false, "two moves each"},
		{"4x4", false, "Song and Müller 2014, table I"},
	} {
		p, err := amazons.ParsePosition(c.position)
		if err != nil {
			t.Fatal(err)
		}
		if got := Wins(p.Board, p.State()); got != c.won {
			t.Errorf("%s (%s): the side to move wins: %v, want %v", c.position, c.why, got, c.won)
		}
		if got := fast.Wins(p.State()); got != c.won {
			t.Errorf("%s (%s): the fast search says %v, want %v", c.position, c.why, got, c.won)
		}
	}
}

// TestRead reads a board of three by two, with more queens and empty squares than are taken, and
// more bytes than squares.
func TestRead(t *testing.T) {
	b := amazons.Board{Width: 3, Height: 2}
	s := Read([]byte{6, 1, 0, 2, 9, 3, 0, 1}, b, 1, 2)
	if want := (amazons.State{Own: 1 << 0, Opp: 1 << 1, Empty: 1<<8 | 1<<9}); s != want {
		t.Errorf("got %+v, want %+v", s, want)
	}
	if s := Read([]byte{4, 11, 0, 255}, b, 5, 5); s != (amazons.State{Own: 1 << 2, Empty: 1 << 8}) {
		t.Errorf("burnt squares: got %+v", s)
	}
}

// TestFast compares the two searches.
func TestFast(t *testing.T) {
	r := rand.New(rand.NewPCG(8, 8))
	var fast Fast
	won := 0
	for range 200 {
		b, s := Late(r)
		want := Wins(b, s)
		if want {
			won++
		}
		if fast.Wins(s) != want {
			t.Fatalf("%v: the plain search says won=%v", amazons.PositionOf(b, s, amazons.White), want)
		}
	}
	if won < 40 || won > 160 {
		t.Errorf("%d of 200 positions are won: the test tests little", won)
	}
}

// TestLeaves stops a search where the side to move has no move, which is where it would stop
// anyway: only the work differs.
func TestLeaves(t *testing.T) {
	r := rand.New(rand.NewPCG(8, 9))
	for range 50 {
		b, s := Late(r)
		all := New(b)
		stopped := NewWithLeaves(b, func(s amazons.State) (won, decided bool) { return false, !s.CanMove() })
		x, y := all.Solve(s), stopped.Solve(s)
		if x.Won != y.Won || x.Nodes < y.Nodes || all.Positions() < stopped.Positions() {
			t.Fatalf("%v: %+v and %+v", amazons.PositionOf(b, s, amazons.White), x, y)
		}
		if got, known := all.Known(s); !known || got != x {
			t.Fatalf("%v: remembered as %+v, %v, want %+v", amazons.PositionOf(b, s, amazons.White), got, known, x)
		}
		if _, known := New(b).Known(s); known {
			t.Fatal("a new search knows something")
		}
	}
}

// TestRandom holds what the random positions promise.
func TestRandom(t *testing.T) {
	r := rand.New(rand.NewPCG(8, 10))
	legal := func(b amazons.Board, s amazons.State) bool {
		return s.Own&s.Opp|s.Own&s.Empty|s.Opp&s.Empty == 0 && (s.Own|s.Opp|s.Empty)&^b.Mask() == 0
	}
	for range 2000 {
		b := amazons.Board{Width: uint8(1 + r.IntN(8)), Height: uint8(1 + r.IntN(8))}
		own, opp, empties := r.IntN(4), r.IntN(4), r.IntN(20)
		s := Scattered(r, b, own, opp, empties)
		count := [3]int{bits.OnesCount64(s.Own), bits.OnesCount64(s.Opp), bits.OnesCount64(s.Empty)}
		n := b.Squares()
		if want := [3]int{min(own, n), min(opp, max(0, n-own)), min(empties, max(0, n-own-opp))}; count != want ||
			!legal(b, s) {
			t.Fatalf("%v: %+v has %v squares, want %v", b, s, count, want)
		}
		size := 1 + r.IntN(n)
		x := Region(r, b, size)
		if bits.OnesCount64(x) != size || x&^b.Mask() != 0 || amazons.Flood(x&-x, x)|x&-x != x {
			t.Fatalf("%v: %x is no region of %d squares", b, x, size)
		}
	}
	for range 500 {
		b, s := Late(r)
		if !legal(b, s) || b.Width < 4 || b.Width > 6 || b.Height < 4 || b.Height > 6 || bits.OnesCount64(s.Own) < 2 ||
			bits.OnesCount64(s.Opp) < 2 ||
			bits.OnesCount64(s.Empty) > 9 && s.CanMove() {
			t.Fatalf("%v: %+v is not late", b, s)
		}
	}
}
