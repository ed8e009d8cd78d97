package eval_test

import (
	"flag"
	"math/bits"
	"math/rand/v2"
	"testing"

	"amazonsfarm/shared/amazons"
	"amazonsfarm/shared/eval"
	"amazonsfarm/shared/testkit/reference"
)

var positions = flag.Int("positions", 20000, "random late positions in TestEvaluateAgainstSearch; each is judged "+
	"for both movers")

func swap(s amazons.State) amazons.State {
	return amazons.State{Own: s.Opp, Opp: s.Own, Empty: s.Empty}
}

// TestEvaluateAgainstSearch compares every verdict of the static evaluation,
// the safe move included, with exhaustive search.
func TestEvaluateAgainstSearch(t *testing.T) {
	r := rand.New(rand.NewPCG(20260101, 7))
	var seen [3]int
	var search reference.Fast
	beyond := 0 // decided by Evaluate, not by the leaf rules
	for range *positions {
		b, s := reference.Late(r)
		for _, s := range []amazons.State{s, swap(s)} {
			v, _ := eval.Evaluate(s)
			seen[v]++
			if v == eval.Open {
				continue
			}
			if won := search.Wins(s); won != (v == eval.Won) {
				t.Fatalf("%v: the evaluation says %v, search says won=%v", amazons.PositionOf(b, s, amazons.White), v,
					won)
			}
			if eval.Plain(b, s, eval.CountLeaves) == eval.Open {
				beyond++
			}
		}
	}
	t.Logf("%d positions, both movers: open %d, won %d, lost %d; %d decided beyond the leaf rules; 0 wrong", *positions,
		seen[0], seen[1], seen[2], beyond)
	if beyond == 0 || min(seen[eval.Open], seen[eval.Won], seen[eval.Lost]) < *positions/50 {
		t.Errorf("verdicts %v, %d beyond the leaf rules: the test tests little", seen, beyond)
	}
}

// TestSafeMove has a position the leaf rules leave open and the safe move decides, and its
// neighbours that it must not decide.
func TestSafeMove(t *testing.T) {
	for _, c := range []struct {
		why, position string
		want          eval.Verdict
	}{
		{"Black on B1 touches all three squares White can use, and has one plod elsewhere", "Wxxxx/...xB/xBxx. w",
			eval.Lost},
		{"without the plod elsewhere two moves are not enough to count on", "Wxxxx/...xB/xBxxx w", eval.Open},
		{"Black touches only two of the three", "Wxxxx/...xB/Bxxx. w", eval.Open},
	} {
		p, err := amazons.ParsePosition(c.position)
		if err != nil {
			t.Fatal(err)
		}
		if v := eval.Plain(p.Board, p.State(), eval.CountLeaves); v != eval.Open {
			t.Errorf("%s: the leaf rules decide it: %v", c.position, v)
		}
		got, _ := eval.Evaluate(p.State())
		if got != c.want {
			t.Errorf("%s (%s): got %v, want %v", c.position, c.why, got, c.want)
		}
		if won := reference.Wins(p.Board, p.State()); got != eval.Open && won != (got == eval.Won) {
			t.Errorf("%s: the evaluation says %v, search says won=%v", c.position, got, won)
		}
	}
}

// TestFeatures compares the territory with a plain breadth-first computation.
func TestFeatures(t *testing.T) {
	r := rand.New(rand.NewPCG(5, 6))
	for range 3000 {
		_, s := reference.Late(r)
		v, f := eval.Evaluate(s)
		if amazons.QueenReach(s.Own, s.Empty) == 0 {
			if v != eval.Lost {
				t.Fatalf("%+v cannot move and is %v", s, v)
			}
			continue
		}
		own, opp := distances(s.Own, s.Empty), distances(s.Opp, s.Empty)
		var want eval.Features
		for sq := range 64 {
			if s.Empty>>sq&1 == 0 {
				continue
			}
			switch {
			case own[sq] < opp[sq]:
				want.Territory++
			case own[sq] > opp[sq]:
				want.Territory--
			case own[sq] < 100:
				want.Shared++
			}
			switch {
			case own[sq] < 100 && opp[sq] == 100:
				want.OwnOnly++
			case own[sq] == 100 && opp[sq] < 100:
				want.OppOnly++
			}
			if own[sq] == 1 {
				want.OwnMoves++
			}
			if opp[sq] == 1 {
				want.OppMoves++
			}
		}
		if f != want {
			t.Fatalf("%+v: features %+v, want %+v", s, f, want)
		}
	}
}

// distances returns the number of queen moves from any queen to each empty square, 100 where there
// is no way.
func distances(queens, empty amazons.Set) [64]int {
	var d [64]int
	for i := range d {
		d[i] = 100
	}
	frontier := queens
	for n := 1; frontier != 0; n++ {
		var next amazons.Set
		for ; frontier != 0; frontier &= frontier - 1 {
			for to := amazons.QueenTargets(amazons.Square(bits.TrailingZeros64(frontier)),
				empty); to != 0; to &= to - 1 {
				if sq := bits.TrailingZeros64(to); d[sq] == 100 {
					d[sq] = n
					next |= 1 << sq
				}
			}
		}
		frontier = next
	}
	return d
}

// FuzzEvaluate judges positions made from arbitrary bytes for both movers against exhaustive search.
func FuzzEvaluate(f *testing.F) {
	f.Add(uint8(5), uint8(5), []byte{0, 1, 2, 3, 0, 1, 2, 3, 0, 1, 2})
	f.Add(uint8(6), uint8(4), []byte("amazons on a small board"))
	var search reference.Fast
	f.Fuzz(func(t *testing.T, width, height uint8, squares []byte) {
		b := amazons.Board{Width: 4 + width%3, Height: 4 + height%3}
		s := reference.Read(squares, b, 4, 9)
		for _, s := range []amazons.State{s, swap(s)} {
			if v, _ := eval.Evaluate(s); v != eval.Open && search.Wins(s) != (v == eval.Won) {
				t.Errorf("%v: the evaluation says %v, search says otherwise", amazons.PositionOf(b, s, amazons.White),
					v)
			}
		}
	})
}

// BenchmarkEvaluate runs over positions of random play; the share decided does not depend on the clock.
func BenchmarkEvaluate(b *testing.B) {
	r := rand.New(rand.NewPCG(3, 4))
	states := make([]amazons.State, 4096)
	for i := range states {
		_, states[i] = reference.Late(r)
	}
	b.ReportAllocs()
	decided := 0
	for i := 0; b.Loop(); i++ {
		if v, _ := eval.Evaluate(states[i&4095]); v != eval.Open {
			decided++
		}
	}
	b.ReportMetric(100*float64(decided)/float64(b.N), "%decided")
}
