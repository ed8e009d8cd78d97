package estimate

import (
	"math"
	"math/rand/v2"
	"testing"

	"amazonsfarm/shared/amazons"
	"amazonsfarm/shared/eval"
)

func randomState(r *rand.Rand) amazons.State {
	b := amazons.Board{Width: uint8(3 + r.IntN(6)), Height: uint8(3 + r.IntN(6))}
	own, opp := 1+r.IntN(4), 1+r.IntN(4)
	var s amazons.State
	for i, p := range r.Perm(b.Squares()) {
		bit := b.UnpackSquare(uint8(p)).Bit()
		switch {
		case i < own:
			s.Own |= bit
		case i < own+opp:
			s.Opp |= bit
		case r.IntN(3) > 0:
			s.Empty |= bit
		}
	}
	return s
}

// near counts the squares of s at king's distance 1, and 1 to 2, from queens over empty squares,
// and the queens with a square at distance 1, one square at a time.
func near(queens, empty amazons.Set) (one, two, free int32) {
	distance := map[int]int{}
	frontier := []int{}
	steps := func(from int) (out []int) {
		for to := range 64 {
			if df, dr := from%8-to%8, from/8-to/8; to != from && df*df <= 1 && dr*dr <= 1 && empty>>to&1 != 0 {
				out = append(out, to)
			}
		}
		return out
	}
	for q := range 64 {
		if queens>>q&1 == 0 {
			continue
		}
		if len(steps(q)) > 0 {
			free++
		}
		frontier = append(frontier, q)
	}
	for d := 1; d <= 2; d++ {
		var next []int
		for _, from := range frontier {
			for _, to := range steps(from) {
				if distance[to] == 0 {
					distance[to] = d
					next = append(next, to)
				}
			}
		}
		frontier = next
	}
	for _, d := range distance {
		if d == 1 {
			one++
		}
		two++
	}
	return one, two, free
}

// TestVector compares the elements that are not features of package eval with their definitions.
func TestVector(t *testing.T) {
	r := rand.New(rand.NewPCG(21, 22))
	for range 3000 {
		s := randomState(r)
		if !s.CanMove() {
			continue
		}
		_, f := eval.Evaluate(s)
		var got Vector
		got.Fill(s, &f)
		var want Vector
		want[0], want[1], want[3], want[4], want[5] = 1, int32(f.Territory), int32(f.Shared), int32(f.OwnOnly),
			int32(f.OppOnly)
		for sq := range 64 {
			want[2] += int32(s.Empty >> sq & 1)
		}
		want[6] = int32(math.Round(16 * math.Log2(float64(f.OwnMoves))))
		want[7] = int32(math.Round(16 * math.Log2(float64(f.OppMoves)+1)))
		want[8], want[10], want[12] = near(s.Own, s.Empty)
		want[9], want[11], want[13] = near(s.Opp, s.Empty)
		if got != want {
			t.Fatalf("%+v: %v, want %v", s, got, want)
		}
	}
}

// TestNumbers compares the numbers with the formula in floating point, and holds that they are in
// the range of unsolved positions.
func TestNumbers(t *testing.T) {
	r := rand.New(rand.NewPCG(23, 24))
	for range 5000 {
		s := randomState(r)
		if !s.CanMove() {
			continue
		}
		_, f := eval.Evaluate(s)
		phi, delta := Numbers(s, &f)
		weigh := func(w Vector) float64 {
			sum := 0.0
			var v Vector
			v.Fill(s, &f)
			for i, x := range v {
				sum += float64(w[i]) * float64(x) / (1 << FractionBits)
			}
			return sum
		}
		w := table[Band(s)]
		p := 1 / (1 + math.Exp2(-min(max(weigh(w.Odds), -16), 16)))
		for _, c := range []struct {
			name    string
			got     uint32
			work, p float64
		}{{"phi", phi, weigh(w.Won), p}, {"delta", delta, weigh(w.Lost), 1 - p}} {
			want := c.work*workShare/256 - math.Log2(c.p)*oddsShare/256
			want = math.Log2(unit) + min(max(want, 0), largest/stepsPerDoubling)
			if got := math.Log2(float64(c.got)); math.Abs(got-want) > 0.06 {
				t.Fatalf("%+v: %s is 2^%.3f, want 2^%.3f", s, c.name, got, want)
			}
			if c.got < 1 || c.got > 1<<24-2 {
				t.Fatalf("%+v: %s is %d", s, c.name, c.got)
			}
		}
	}
}

func TestBand(t *testing.T) {
	for n, want := range map[int]int{0: 0, 9: 0, 10: 1, 13: 1, 14: 2, 60: 2} {
		if got := Band(amazons.State{Empty: 1<<n - 1}); got != want {
			t.Errorf("%d empty squares are in band %d, want %d", n, got, want)
		}
	}
}

var sink uint32

func BenchmarkNumbers(b *testing.B) {
	p, err := amazons.ParsePosition(".B.Bx/B..../.W.x./....B/W...W/...W. w")
	if err != nil {
		b.Fatal(err)
	}
	s := p.State()
	_, f := eval.Evaluate(s)
	b.ReportAllocs()
	for b.Loop() {
		phi, delta := Numbers(s, &f)
		sink += phi + delta
	}
}
