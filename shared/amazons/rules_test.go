package amazons

import (
	"cmp"
	"math/bits"
	"math/rand/v2"
	"slices"
	"testing"

	"pgregory.net/rapid"
)

// onlyEmpty returns the dumb board on which x is empty and all else is burnt.
func onlyEmpty(b Board, x Set) dumb { return dumbOf(b, State{Empty: x}) }

func TestQueenTargetsIsASlideInEightDirections(t *testing.T) {
	r := rand.New(rand.NewPCG(5, 6))
	for range 400 {
		// The first sets are dense, later ones sparse; the board is 8x8, since
		// smaller boards are those with the rest not empty.
		empty := r.Uint64()
		switch r.IntN(4) {
		case 0:
			empty |= r.Uint64() | r.Uint64()
		case 1:
			empty &= Board{uint8(1 + r.IntN(8)), uint8(1 + r.IntN(8))}.Mask()
		case 2:
			empty = ^(r.Uint64() & r.Uint64() & r.Uint64() & r.Uint64())
		}
		d := onlyEmpty(Board{8, 8}, empty)
		for s := range NoSquare {
			if got, want := QueenTargets(s, empty), setOfPoints(d.slides(pointOf(s))); got != want {
				t.Fatalf("QueenTargets(%v, %#x) = %#x, want %#x", s, empty, got, want)
			}
		}
	}
	for s := range NoSquare {
		if got, want := QueenTargets(s, ^Set(0)), QueenTargets(s, ^s.Bit()); got != want {
			t.Errorf("%v in empty makes a difference: %#x, not %#x", s, got, want)
		}
		if QueenTargets(s, 0) != 0 {
			t.Errorf("%v reaches something on a full board", s)
		}
	}
}

func TestQueenReachIsTheUnionOfTargetsWithoutFrom(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		b := drawBoard(t)
		from, empty := drawSets(t, b)
		d := onlyEmpty(b, empty)
		var want Set
		for s := range Squares(from) {
			want |= setOfPoints(d.slides(pointOf(s)))
		}
		want &^= from
		if got := QueenReach(from, empty); got != want {
			t.Fatalf("QueenReach(%#x, %#x) = %#x, want %#x", from, empty, got, want)
		}
	})
}

// The corner cases of QueenReach's comment, on one rank: queens on A1 and C1.
func TestQueenReachBetweenSquaresOfFrom(t *testing.T) {
	a, bb, c, d := Set(1), Set(2), Set(4), Set(8)
	tests := []struct {
		name              string
		from, empty, want Set
	}{
		{"queens in nobody's way", a | c, bb | d, bb | d},
		{"a queen blocks another", a | bb, c | d, c | d},
		{"a burnt square blocks", a, c | d, 0},
		{"an empty square of from is passed over, but not in the result", a | c, bb | c | d, bb | d},
		{"its own square is not reached by going away and coming back", a, a | bb, bb},
		{"nothing from nowhere", 0, a | bb | c, 0},
	}
	for _, test := range tests {
		if got := QueenReach(test.from, test.empty); got != test.want {
			t.Errorf("%s: %04b, want %04b", test.name, got, test.want)
		}
	}
}

func TestGrowAndNeighbours(t *testing.T) {
	full := onlyEmpty(Board{8, 8}, ^Set(0))
	neighbours := func(s Square) (x Set) {
		p := pointOf(s)
		for _, step := range eightSteps {
			if q := (point{p.file + step.file, p.rank + step.rank}); full.on(q) {
				x |= q.square().Bit()
			}
		}
		return x
	}
	for s := range NoSquare {
		if got, want := Neighbours[s], neighbours(s); got != want {
			t.Errorf("Neighbours[%v] = %#x, want %#x", s, got, want)
		}
	}
	rapid.Check(t, func(t *rapid.T) {
		x := rapid.Uint64().Draw(t, "x") & rapid.Uint64().Draw(t, "y")
		want := x
		for s := range Squares(x) {
			want |= neighbours(s)
		}
		if got := Grow(x); got != want {
			t.Fatalf("Grow(%#x) = %#x, want %#x", x, got, want)
		}
	})
}

func TestFloodIsAWalkOverTouchingSquares(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		b := drawBoard(t)
		from, empty := drawSets(t, b)
		d := onlyEmpty(b, empty)
		seen := map[point]bool{}
		var todo []point
		for s := range Squares(from) {
			// A square of from that is empty is entered from the start, as Grow
			// includes it.
			if p := pointOf(s); d[p.rank][p.file] == '.' && !seen[p] {
				seen[p] = true
			}
			todo = append(todo, pointOf(s))
		}
		for len(todo) > 0 {
			p := todo[0]
			todo = todo[1:]
			for _, step := range eightSteps {
				q := point{p.file + step.file, p.rank + step.rank}
				if d.on(q) && d[q.rank][q.file] == '.' && !seen[q] {
					seen[q] = true
					todo = append(todo, q)
				}
			}
		}
		var want Set
		for p := range seen {
			want |= p.square().Bit()
		}
		if got := Flood(from, empty); got != want {
			t.Fatalf("Flood(%#x, %#x) = %#x, want %#x", from, empty, got, want)
		}
	})
}

func compareMoves(a, b Move) int {
	return cmp.Or(cmp.Compare(a.From, b.From), cmp.Compare(a.To, b.To), cmp.Compare(a.Arrow, b.Arrow))
}

func TestMovesAreTheDumbMoves(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		b := drawBoard(t)
		s := drawState(t, b)
		d := dumbOf(b, s)
		var want []Move
		for _, m := range d.moves() {
			want = append(want, m.move())
		}
		slices.SortFunc(want, compareMoves)
		got := s.Moves(nil)
		if !slices.Equal(got, want) {
			t.Fatalf("%v moves of %+v:\n got %v\nwant %v", b, s, got, want)
		}
		if all := slices.Collect(s.AllMoves()); !slices.Equal(all, want) {
			t.Fatalf("%v all moves of %+v:\n got %v\nwant %v", b, s, all, want)
		}
		n := 0
		for m := range s.AllMoves() { // breaking off goes no further
			if m != want[n] {
				t.Fatalf("move %d is %v, want %v", n, m, want[n])
			}
			if n++; n > len(want)/2 {
				break
			}
		}
		if n := s.CountMoves(); n != len(want) {
			t.Fatalf("CountMoves = %d, want %d", n, len(want))
		}
		if s.Perft(0) != 1 || s.Perft(1) != uint64(len(want)) {
			t.Fatalf("Perft(0), Perft(1) = %d, %d, want 1, %d", s.Perft(0), s.Perft(1), len(want))
		}
		if s.CanMove() != (len(want) > 0) {
			t.Fatalf("CanMove = %v with %d moves", s.CanMove(), len(want))
		}
		if kept := s.Moves([]Move{{1, 2, 3}}); kept[0] != (Move{1, 2, 3}) || !slices.Equal(kept[1:], want) {
			t.Fatalf("Moves does not append to what it is given")
		}
	})
}

func TestAfterPlaysAndBeforeTakesBack(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		b := drawBoard(t)
		s := drawState(t, b)
		d := dumbOf(b, s)
		toMove := Colour(rapid.IntRange(0, 1).Draw(t, "colour"))
		p := PositionOf(b, s, toMove)
		if p.State() != s {
			t.Fatalf("PositionOf(...).State() = %+v, want %+v", p.State(), s)
		}
		for _, m := range d.moves() {
			after := s.After(m.move())
			if got, want := dumbOf(b, after), d.play(m.from, m.to, m.arrow).swap(); got.key() != want.key() {
				t.Fatalf("after %v: %q, want %q", m.move(), got, want)
			}
			if got, want := after.Arrows(b), s.Arrows(b)+1; got != want {
				t.Fatalf("after %v there are %d burnt squares, want %d", m.move(), got, want)
			}
			if back := after.Before(m.move()); back != s {
				t.Fatalf("taking %v back: %+v, want %+v", m.move(), back, s)
			}
			if q := p.After(m.move()); q.State() != after || q.ToMove == toMove || q.Arrows() != p.Arrows()+1 {
				t.Fatalf("position after %v: %v, state %+v, want %+v", m.move(), q, q.State(), after)
			}
		}
	})
}

func TestLegalIsMembershipInMoves(t *testing.T) {
	// Every triple of squares on small boards, the squares around them and
	// NoSquare included.
	r := rand.New(rand.NewPCG(7, 8))
	for range 30 {
		b := Board{uint8(1 + r.IntN(4)), uint8(1 + r.IntN(4))}
		s := randomState(b, r)
		legal := map[Move]bool{}
		for _, m := range dumbOf(b, s).moves() {
			legal[m.move()] = true
		}
		for from := range NoSquare + 2 {
			for to := range NoSquare + 2 {
				for arrow := Square(0); arrow < NoSquare+2; arrow += 1 + Square(r.IntN(3)) {
					if m := (Move{from, to, arrow}); s.Legal(m) != legal[m] {
						t.Fatalf("%v: Legal(%v) = %v in %+v", b, m, !legal[m], s)
					}
				}
			}
		}
		for m := range legal {
			if !s.Legal(m) {
				t.Fatalf("%v: %v is not legal in %+v", b, m, s)
			}
		}
	}
}

// randomState fills a board with any mixture of queens and burnt squares.
func randomState(b Board, r *rand.Rand) (s State) {
	burn := r.IntN(4)
	for i := range b.Squares() {
		bit := b.UnpackSquare(uint8(i)).Bit()
		switch r.IntN(4 + burn) {
		case 0:
			s.Own |= bit
		case 1:
			s.Opp |= bit
		case 2, 3:
			s.Empty |= bit
		}
	}
	return s
}

func TestSymmetries(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		b := drawBoard(t)
		s := drawState(t, b)
		images := dumbOf(b, s).images()
		if b.Symmetries() != len(images) {
			t.Fatalf("%v has %d symmetries, want %d", b, b.Symmetries(), len(images))
		}
		for i, want := range images {
			sym := Symmetry(i)
			image := s.Apply(b, sym)
			if dumbOf(b, image).key() != want.key() || image.Empty&^b.Mask() != 0 {
				t.Fatalf("%v: image %d of %+v is %+v, want %q", b, i, s, image, want)
			}
			if back := image.Apply(b, sym.Inverse()); back != s {
				t.Fatalf("%v: image %d under its inverse %d is %+v, want %+v", b, i, sym.Inverse(), back, s)
			}
			for q := range Squares(b.Mask()) {
				to := b.ApplySquare(sym, q)
				if !b.Contains(to) || to.Bit() != b.Apply(sym, q.Bit()) || b.ApplySquare(sym.Inverse(), to) != q {
					t.Fatalf("%v: image %d of %v is %v", b, i, q, to)
				}
			}
			for _, m := range s.Moves(nil) {
				moved := b.ApplyMove(sym, m)
				if !image.Legal(moved) || image.After(moved) != s.After(m).Apply(b, sym) {
					t.Fatalf("%v: image %d does not carry %v to %v", b, i, m, moved)
				}
			}
		}
	})
}

func TestCanonicalIsTheSmallestImage(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		b := drawBoard(t)
		s := drawState(t, b)
		if rapid.Bool().Draw(t, "symmetric") {
			// Ties between images come up.
			s.Empty |= b.Apply(1, s.Own|s.Opp)
			s.Own &^= s.Empty
			s.Opp &^= s.Empty
		}
		images := dumbOf(b, s).images()
		smallest, first := images[0].key(), 0
		for i, d := range images {
			if k := d.key(); k.A < smallest.A || k.A == smallest.A && k.B < smallest.B {
				smallest, first = k, i
			}
		}
		canonical, sym := s.Canonical(b)
		if canonical.Key(b) != smallest || s.CanonicalKey(b) != smallest {
			t.Fatalf("%v: the canonical key of %+v is %x by Canonical, %x by CanonicalKey, want %x",
				b, s, canonical.Key(b), s.CanonicalKey(b), smallest)
		}
		if int(sym) != first || s.Apply(b, sym) != canonical {
			t.Fatalf("%v: symmetry %d leads to %+v, want %d to %+v", b, sym, s.Apply(b, sym), first, canonical)
		}
		if again, id := canonical.Canonical(b); again != canonical || id != 0 {
			t.Fatalf("%v: the canonical state %+v has the canonical image %+v (symmetry %d)", b, canonical, again, id)
		}
		for i := range images {
			image := s.Apply(b, Symmetry(i))
			if other, _ := image.Canonical(b); other != canonical || image.Hash(b) != s.Hash(b) {
				t.Fatalf("%v: image %d has the canonical state %+v and hash %x, want %+v and %x",
					b, i, other, image.Hash(b), canonical, s.Hash(b))
			}
		}
	})
}

func TestSymmetricStates(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		b := drawBoard(t)
		s := drawState(t, b)
		if rapid.Bool().Draw(t, "symmetric") {
			sym := Symmetry(rapid.IntRange(0, b.Symmetries()-1).Draw(t, "symmetry"))
			for range 4 { // no symmetry has a longer orbit
				image := s.Apply(b, sym)
				s = State{Own: s.Own & image.Own, Opp: s.Opp & image.Opp, Empty: s.Empty & image.Empty}
			}
		}
		images := dumbOf(b, s).images()
		want := false
		for _, image := range images[1:] {
			want = want || image.key() == images[0].key()
		}
		if got := s.Symmetric(b); got != want {
			t.Fatalf("%v: Symmetric of %+v is %v", b, s, got)
		}
	})

	// Two moves of a state without symmetries can still lead to one canonical state.
	p := mustPosition(t, "W..../xxxxx w")
	one, _ := mustPlay(t, p, "A2-C2xA2")
	two, _ := mustPlay(t, p, "A2-C2xE2")
	if p.State().Symmetric(p.Board) || one.State().CanonicalKey(p.Board) != two.State().CanonicalKey(p.Board) {
		t.Errorf("%v and %v are not mirror images after %v", one, two, p)
	}
}

func TestHashTellsCanonicalPositionsApart(t *testing.T) {
	const sample = 200_000
	r := rand.New(rand.NewPCG(11, 12))
	for _, board := range []string{"4x4", "5x6", "6x6"} {
		start := mustPosition(t, board)
		b := start.Board
		byHash := make(map[uint64]Key, sample/2)
		differing, ones := 0, [64]int{}
		for n := 0; n < sample/3; {
			s := start.State()
			for range 1 + r.IntN(12) {
				moves := s.Moves(nil)
				if len(moves) == 0 {
					break
				}
				s = s.After(moves[r.IntN(len(moves))])
			}
			// Neighbours in the tree differ in few bits: the hard case.
			for _, m := range s.Moves(nil) {
				child := s.After(m)
				h, k := child.Hash(b), child.CanonicalKey(b)
				if other, ok := byHash[h]; ok && other != k {
					t.Fatalf("%s: keys %x and %x have the same hash %x", board, other, k, h)
				} else if !ok {
					byHash[h] = k
					differing++
					for i := range 64 {
						ones[i] += int(h >> i & 1)
					}
				}
				n++
			}
		}
		// Tables index by some of the bits, so each shall be set half of the time.
		for i, n := range ones {
			if share := float64(n) / float64(differing); share < 0.47 || share > 0.53 {
				t.Errorf("%s: bit %d of the hash is set in a share of %.3f of %d positions", board, i, share, differing)
			}
		}
	}
}

func TestKeysAreExact(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		b := drawBoard(t)
		s := drawState(t, b)
		k := s.Key(b)
		if want := dumbOf(b, s).key(); k != want {
			t.Fatalf("%v: key %x, want %x", b, k, want)
		}
		if back, err := k.State(b); err != nil || back != s {
			t.Fatalf("%v: state of key %x: %+v, %v, want %+v", b, k, back, err, s)
		}
		bytes := k.Bytes()
		if back, err := KeyFromBytes(bytes[:]); err != nil || back != k {
			t.Fatalf("key of bytes %x: %x, %v, want %x", bytes, back, err, k)
		}
		for _, x := range []Set{s.Own, s.Opp, s.Empty, b.Mask()} {
			if back := b.Unpack(b.Pack(x)); back != x {
				t.Fatalf("%v: Unpack(Pack(%#x)) = %#x", b, x, back)
			}
			if got := bits.OnesCount64(b.Pack(x)); got != bits.OnesCount64(x) {
				t.Fatalf("%v: Pack(%#x) has %d squares", b, x, got)
			}
		}
	})
}

func TestPackDropsWhatIsNotOnTheBoard(t *testing.T) {
	r := rand.New(rand.NewPCG(13, 14))
	for w := 1; w <= 8; w++ {
		for h := 1; h <= 8; h++ {
			b := Board{uint8(w), uint8(h)}
			for range 50 {
				x := r.Uint64()
				var packed uint64
				var onBoard Set
				for f := range w {
					for rank := range h {
						s := b.Square(f, rank)
						if !b.Contains(s) || b.Mask()&s.Bit() == 0 {
							t.Fatalf("%v: %v is not on the board", b, s)
						}
						i := b.PackSquare(s)
						if int(i) != w*rank+f || b.UnpackSquare(i) != s {
							t.Fatalf("%v: %v has the number %d, which is %v", b, s, i, b.UnpackSquare(i))
						}
						if x&s.Bit() != 0 {
							packed |= 1 << i
							onBoard |= s.Bit()
						}
					}
				}
				if got := b.Pack(x); got != packed {
					t.Fatalf("%v: Pack(%#x) = %#x, want %#x", b, x, got, packed)
				}
				noise := r.Uint64()
				if n := b.Squares(); n < 64 {
					noise = noise >> n << n
				} else {
					noise = 0
				}
				if got := b.Unpack(packed | noise); got != onBoard {
					t.Fatalf("%v: Unpack(%#x) = %#x, want %#x", b, packed|noise, got, onBoard)
				}
			}
			if n := bits.OnesCount64(b.Mask()); n != w*h || n != b.Squares() || !b.Valid() {
				t.Fatalf("%v: mask has %d squares", b, n)
			}
			if b.UnpackSquare(uint8(w*h)) != NoSquare {
				t.Errorf("%v: square number %d is on the board", b, w*h)
			}
		}
	}
}

func TestBytesSortAsKeys(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		word := rapid.OneOf(rapid.Uint64(), rapid.Uint64Range(0, 3))
		k := Key{word.Draw(t, "a"), word.Draw(t, "b")}
		o := Key{word.Draw(t, "c"), word.Draw(t, "d")}
		kb, ob := k.Bytes(), o.Bytes()
		if got, want := k.Compare(o), slices.Compare(kb[:], ob[:]); got != want {
			t.Fatalf("%x compares with %x as %d, their bytes as %d", k, o, got, want)
		}
		if (k.Compare(o) == 0) != (k == o) || k.Compare(o) != -o.Compare(k) {
			t.Fatalf("%x and %x: not an order", k, o)
		}
	})
}

// Before undoes After: it returns the state from which m led to s.
func (s State) Before(m Move) State {
	from, to := m.From.Bit(), m.To.Bit()
	return State{Own: s.Opp ^ from ^ to, Opp: s.Own, Empty: (s.Empty | m.Arrow.Bit()) ^ from ^ to}
}
