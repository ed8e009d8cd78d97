package eval

import (
	"math/rand/v2"
	"testing"

	"amazonsfarm/shared/cgt"
)

// TestTally compares tallies of random parts with cgt.Sum: a tally decides what the sum decides, as
// one side and as the other.
func TestTally(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 1))
	set := DefaultSettings()
	decided := 0
	for range 20000 {
		var s cgt.Sum
		var own, opp tally
		for range 1 + r.IntN(4) {
			lo, err := cgt.NewDyadic(int64(r.IntN(17)-8), r.IntN(3))
			if err != nil {
				t.Fatal(err)
			}
			p := cgt.Part{Bounds: cgt.NumberBounds(lo)}
			switch r.IntN(6) {
			case 0: // hot
				w, err := cgt.NewDyadic(int64(1+r.IntN(4)), r.IntN(3))
				if err != nil {
					t.Fatal(err)
				}
				p.Upper.N = lo.Add(w)
				p.Lower.Strength, p.Upper.Strength, p.Hot = cgt.Strength(r.IntN(3)), cgt.Strength(r.IntN(3)), true
			case 1: // star
				p.Lower.Strength, p.Upper.Strength = cgt.Relaxed, cgt.Relaxed
				p.LowerStar, p.UpperStar, p.Fuzzy = true, true, true
			case 2: // another fuzzy one
				p.Lower.Strength, p.Upper.Strength, p.Fuzzy = cgt.Relaxed, cgt.Relaxed, true
				p.LowerStar = r.IntN(2) == 0
			case 3: // positive
				p.Lower.Strength, p.Upper.Strength = cgt.Tightened, cgt.Relaxed
				p.LowerStar = r.IntN(2) == 0
			case 4: // negative
				p.Lower.Strength, p.Upper.Strength = cgt.Relaxed, cgt.Tightened
				p.UpperStar = r.IntN(2) == 0
			}
			v := valueOf(p)
			s.Add(p)
			own.add(v.own)
			opp.add(v.opp)
		}
		for _, mover := range []cgt.Side{cgt.Left, cgt.Right} {
			left, right := own.second(), opp.second()
			if mover == cgt.Left {
				left = own.first(&set) != ruleNone
			} else {
				right = opp.first(&set) != ruleNone
			}
			got := cgt.Nobody
			switch {
			case left:
				got = cgt.Left
			case right:
				got = cgt.Right
			}
			if want := s.Winner(mover); got != want {
				t.Fatalf("%v begins %v: %+v %+v: got %v, want %v", mover, s.Bounds(), own, opp, got, want)
			}
			if got != cgt.Nobody {
				decided++
			}
		}
	}
	if decided < 10000 {
		t.Error("only", decided, "decided")
	}
}
