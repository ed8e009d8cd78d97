package eval

import (
	"math/bits"
	"math/rand/v2"
	"testing"

	"amazonsfarm/shared/amazons"
	"amazonsfarm/shared/cgt"
)

// bindingValues holds values of positions, with P as Left, in which the first move of each bound
// queen of P shoots back at its origin. They are computed by plain recursion over the moves.
type bindingValues map[[4]amazons.Set]cgt.Value

func (x bindingValues) of(t *testing.T, mine, theirs, bound, empty amazons.Set) cgt.Value {
	key := [4]amazons.Set{mine, theirs, bound, empty}
	if v, ok := x[key]; ok {
		return v
	}
	var left, right []cgt.Value
	s := amazons.State{Own: mine, Opp: theirs, Empty: empty}
	for m := range s.AllMoves() {
		if after := s.After(m); bound&m.From.Bit() == 0 || m.Arrow == m.From {
			left = append(left, x.of(t, after.Opp, after.Own, bound&^m.From.Bit(), after.Empty))
		}
	}
	s.Own, s.Opp = theirs, mine
	for m := range s.AllMoves() {
		after := s.After(m)
		right = append(right, x.of(t, after.Own, after.Opp, bound, after.Empty))
	}
	v, err := new(cgt.Combiner).Combine(left, right)
	if err != nil {
		t.Fatal(err)
	}
	x[key] = v
	return v
}

// sure returns the largest whole number that is a lower bound of an area's value for P by local
// search, and the largest one after a first move of P. P's queens are mine. Each queen of bound shoots
// back at its origin with its first move; this rule binds P alone.
func sure(j *Judge, mine, bound, theirs, empty amazons.Set) (n, first int) {
	waits := fight{amazons.State{Own: theirs, Opp: mine, Empty: empty}, bound}
	begins := fight{amazons.State{Own: mine, Opp: theirs, Empty: empty}, bound}
	// The area is worth n at least if the other side, to move, loses with n free moves.
	n = -bits.OnesCount64(amazons.Flood(theirs, empty))
	for j.local(waits, n+1) == Lost {
		n++
	}
	for first = n; j.local(begins, -first-1) == Won; {
		first++
	}
	return n, first
}

// TestSure compares what local search says of small areas, some of P's queens bound to shoot back
// with their first moves, with their exact values: the largest n that the value is at least, and
// the largest that P secures by moving first.
func TestSure(t *testing.T) {
	r := rand.New(rand.NewPCG(11, 12))
	j := NewJudge(nil, Settings{})
	exact := bindingValues{}
	gains, unlike := 0, 0
	for range 3000 {
		var mine, bound, theirs, empty amazons.Set
		for range 4 + r.IntN(6) {
			square := amazons.Set(1) << (8*r.IntN(3) + r.IntN(4))
			switch r.IntN(5) {
			case 0:
				mine |= square
			case 1:
				mine, bound = mine|square, bound|square
			case 2:
				theirs |= square
			default:
				empty |= square
			}
		}
		theirs &^= mine
		empty &^= mine | theirs
		if bits.OnesCount64(empty) > 6 {
			continue
		}
		value := exact.of(t, mine, theirs, bound, empty)
		// above reports whether the value minus n is won by P with the other side, or with P
		// itself, to begin.
		above := func(n int, begins cgt.Side) bool {
			rest, err := value.AddInt(int64(-n))
			if err != nil {
				t.Fatal(err)
			}
			return rest.Winner(begins) == cgt.Left
		}
		n, first := sure(j, mine, bound, theirs, empty)
		if !above(n, cgt.Right) || above(n+1, cgt.Right) {
			t.Fatalf("mine %x, bound %x, theirs %x, empty %x: sure of %d, the value is %v", mine, bound, theirs, empty,
				n, value)
		}
		if first > n && !above(first, cgt.Left) || above(first+1, cgt.Left) {
			t.Fatalf("mine %x, bound %x, theirs %x, empty %x: sure of %d after a first move, the value is %v", mine,
				bound, theirs, empty, first, value)
		}
		if first > n {
			gains++
		}
		if free, freeFirst := sure(j, mine, 0, theirs, empty); free != n || freeFirst != first {
			unlike++
		}
	}
	if gains < 300 || unlike < 50 {
		t.Errorf("%d gains, and bound queens matter in %d areas: the test tests little", gains, unlike)
	}
}
