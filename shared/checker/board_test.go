package checker

import (
	"math/bits"
	"math/rand/v2"
	"testing"
)

func TestMovesAgainstDumb(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 2))
	forSizes(t, func(t *testing.T, w, h int) {
		b := boardOf(w, h)
		for range 4 {
			p := randomPosition(rng, w, h, 30)
			want := dumbOf(w, h, p).moves()
			if got := b.allMoves(p); len(got) != len(want) {
				t.Fatalf("%dx%d %s: %d moves, want %d", w, h, b.positionText(p, false), len(got), len(want))
			}
			if b.stuck(p) != (len(want) == 0) {
				t.Fatalf("%dx%d %s: stuck %v with %d moves", w, h, b.positionText(p, false), b.stuck(p), len(want))
			}
			for m, after := range want {
				if why := b.illegal(p, m); why != "" || p.play(m) != after {
					t.Fatalf("%dx%d %s %s: %q, %v, want %v", w, h, b.positionText(p, false), b.moveText(m), why,
						p.play(m), after)
				}
			}
			for range 200 { // any other move is illegal
				m := move{uint8(rng.IntN(b.squares + 1)), uint8(rng.IntN(b.squares + 1)),
					uint8(rng.IntN(b.squares + 1))}
				if _, legal := want[m]; legal != (b.illegal(p, m) == "") {
					t.Fatalf("%dx%d %s %s: %q", w, h, b.positionText(p, false), b.moveText(m), b.illegal(p, m))
				}
			}
		}
	})
}

func TestCanonicalAgainstDumb(t *testing.T) {
	rng := rand.New(rand.NewPCG(3, 4))
	forSizes(t, func(t *testing.T, w, h int) {
		b := boardOf(w, h)
		for range 6 {
			p := randomPosition(rng, w, h, 40)
			d := dumbOf(w, h, p)
			want := d.canonical().words()
			for _, e := range d.images() {
				if got := b.canonical(e.words()); got != want {
					t.Fatalf("%dx%d %s: canonical %v, want %v", w, h, b.positionText(p, false), got, want)
				}
			}
		}
	})
}

func TestFloodAgainstDumb(t *testing.T) {
	rng := rand.New(rand.NewPCG(5, 6))
	forSizes(t, func(t *testing.T, w, h int) {
		b := boardOf(w, h)
		for range 10 {
			p := randomPosition(rng, w, h, 40)
			c, rest := b.split(p.own(), p)
			d := dumbOf(w, h, p).flood('o')
			for i := range b.squares {
				ch := d.cell[i/w][i%w]
				if (c>>i&1 != 0) != (ch == 'c') || (rest>>i&1 != 0) != (ch == '.') {
					t.Fatalf("%dx%d %s: flood %x rest %x, want %q", w, h, b.positionText(p, false), c, rest, d.cell)
				}
			}
		}
	})
}

// TestRepliesAgainstDumb holds that the fast way to make canonical replies in lost gives the
// canonical forms of the replies: with exactly these in the table and without rule 2 the position
// is lost, and with one left out it is not.
func TestRepliesAgainstDumb(t *testing.T) {
	rng := rand.New(rand.NewPCG(7, 8))
	forSizes(t, func(t *testing.T, w, h int) {
		v := &verifier{board: boardOf(w, h)}
		for range 4 {
			p := randomPosition(rng, w, h, 20)
			if rng.IntN(4) == 0 && w > 2 && h > 3 {
				p = startPosition(w, h) // symmetric: ties
			}
			replies := map[position]bool{}
			moves := dumbOf(w, h, p).moves()
			for _, q := range moves {
				replies[dumbOf(w, h, q).canonical().words()] = true
			}
			check := func(without position) bool {
				next := newTable(tableSlots(int64(len(replies)), 1<<40))
				for q := range replies {
					if q != without {
						next.add(q)
					}
				}
				_, lost := v.lost(p, next, nil)
				return lost
			}
			before := v.counts.Replies
			if !check(position{}) {
				t.Fatalf("%dx%d %s: not lost with all replies in the table", w, h, v.positionText(p, false))
			}
			if n := v.counts.Replies - before; n != int64(len(moves)) {
				t.Fatalf("%dx%d %s: %d replies, want %d", w, h, v.positionText(p, false), n, len(moves))
			}
			tries := 0
			for q := range replies {
				if tries++; tries > 5 {
					break
				}
				if check(q) {
					t.Fatalf("%dx%d %s: lost without the reply %v", w, h, v.positionText(p, false), q)
				}
			}
		}
	})
}

func TestPerft(t *testing.T) {
	// From the project's table of counts, on which two move generators agree.
	for _, c := range []struct {
		w, h int
		want []int
	}{
		{4, 4, []int{88, 4336, 139500}}, {4, 5, []int{170, 18704, 1504390}}, {5, 4, []int{170, 19114}},
		{4, 6, []int{256, 46264}},
		{6, 4, []int{256, 46584}}, {4, 7, []int{350, 90206}}, {5, 5, []int{260, 50422}}, {5, 6, []int{410, 129436}},
		{6, 5, []int{410, 128094}}, {5, 7, []int{504, 201822}}, {7, 5, []int{504, 202248}}, {6, 6, []int{544, 238532}},
	} {
		b := boardOf(c.w, c.h)
		var perft func(p position, depth int) int
		perft = func(p position, depth int) (n int) {
			moves := b.allMoves(p)
			if depth == 1 {
				return len(moves)
			}
			for _, m := range moves {
				n += perft(p.play(m), depth-1)
			}
			return n
		}
		for i, want := range c.want {
			if got := perft(startPosition(c.w, c.h), i+1); got != want {
				t.Errorf("%dx%d perft %d: %d, want %d", c.w, c.h, i+1, got, want)
			}
		}
	}
}

func TestText(t *testing.T) {
	b := boardOf(5, 6)
	p := startPosition(5, 6)
	if got, want := b.positionText(p, false), ".B.B./B...B/...../...../W...W/.W.W. w"; got != want {
		t.Errorf("start is %q, want %q", got, want)
	}
	m := move{1, 16, 18}
	if got, want := b.moveText(m), "B1-B4xD4"; got != want {
		t.Errorf("move is %q, want %q", got, want)
	}
	if got, want := b.positionText(p.play(m), true), ".B.B./B...B/.W.x./...../W...W/...W. b"; got != want {
		t.Errorf("after %s: %q, want %q", b.moveText(m), got, want)
	}
	if got, want := b.squareText(30), "square 30"; got != want {
		t.Errorf("outside: %q, want %q", got, want)
	}
}

func TestTable(t *testing.T) {
	rng := rand.New(rand.NewPCG(9, 10))
	for _, n := range []int{0, 1, 2, 3, 1000} {
		table := newTable(tableSlots(int64(n), 1<<40))
		in := map[position]bool{}
		for range n {
			p := position{rng.Uint64N(60) + 1, rng.Uint64N(60)}
			if !in[p] {
				in[p] = true
				table.add(p)
			}
		}
		for a := range uint64(70) {
			for b := range uint64(70) {
				if p := (position{a, b}); table.has(p) != in[p] {
					t.Fatalf("%d entries: has(%v) = %v", n, p, table.has(p))
				}
			}
		}
	}
	if (*table)(nil).has(position{1, 0}) || newTable(tableSlots(1, 1<<40)).has(position{}) {
		t.Error("something is in a table without entries")
	}
}

// TestTableSpreads puts positions into tables that are few bits apart, or that all begin at one slot under the hash
// that tables had before they had keys: searches stay short.
func TestTableSpreads(t *testing.T) {
	const n = 1 << 16
	for name, make := range map[string]func(i uint64) position{
		"counting":  func(i uint64) position { return position{i + 1, i >> 8} },
		"high bits": func(i uint64) position { return position{(i + 1) << 40, i << 20} },
		"attack": func(i uint64) position {
			return position{bits.RotateLeft64((i+1)*0x9e3779b97f4a7c15, 32) ^ 1234567, i + 1}
		},
		"one word": func(i uint64) position { return position{1 << 35, i} },
	} {
		table := newTable(tableSlots(n, 1<<40))
		for i := range uint64(n) {
			table.add(make(i))
		}
		far := 0
		for i, p := range table.slots {
			if p.a != 0 {
				far += (i - int(table.home(p)) + len(table.slots)) % len(table.slots)
			}
		}
		if mean := float64(far) / n; mean > 2 { // 1 is expected where two thirds are filled
			t.Errorf("%s: a position lies %.1f slots from its first one in the mean", name, mean)
		}
	}
}

// TestNoStart: a board with a side below 4 has no starting position, so no root is it.
func TestNoStart(t *testing.T) {
	for _, c := range []struct {
		w, h int
		p    position
		want bool
	}{
		{3, 3, position{}, false}, {4, 3, position{}, false}, {5, 4, position{}, false},
		{5, 4, startPosition(5, 4), true},
	} {
		if r := boardOf(c.w, c.h).rootReports([]root{{position: c.p}}); r[0].Start != c.want {
			t.Errorf("%dx%d: %+v", c.w, c.h, r[0])
		}
	}
}
