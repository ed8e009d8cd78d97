package eval

import (
	"math/bits"
	"math/rand/v2"
	"testing"

	"amazonsfarm/shared/amazons"
	"amazonsfarm/shared/cgt"
	"amazonsfarm/shared/endgame"
)

// randomFight draws so many squares of a rectangle, some more than once: two in five for P's
// queens, one for O's, two to be empty. The empty ones that O does not reach are left out.
func randomFight(r *rand.Rand, squares, ranks, files int) (mine, theirs, empty amazons.Set) {
	for range squares {
		square := amazons.Set(1) << (8*r.IntN(ranks) + r.IntN(files))
		switch r.IntN(5) {
		case 0, 1:
			mine |= square
		case 2:
			theirs |= square
		default:
			empty |= square
		}
	}
	theirs &^= mine
	empty &^= mine | theirs
	return mine, theirs, empty & amazons.Flood(theirs, empty)
}

// TestFights compares what fights that are played out one by one say of a small area with its exact
// value.
func TestFights(t *testing.T) {
	r := rand.New(rand.NewPCG(3, 14))
	j := NewJudge(nil, Settings{AreaSearch: 3, SafeMoves: true, TwoSafe: true})
	var solver endgame.Solver
	several, beside := 0, 0
	for range 20000 {
		ranks, files := 4, 5
		if r.IntN(2) == 0 {
			ranks, files = 2, 8 // room for two queens side by side between fights
		}
		mine, theirs, empty := randomFight(r, 12, ranks, files)
		bound := mine & r.Uint64() & r.Uint64()
		var f fights
		if !f.split(mine, bound, theirs, empty) || bits.OnesCount64(empty) > 6 {
			continue
		}
		several++
		if f.bound&^bound != 0 && f.bound != bound|mine {
			beside++
		}
		var sure tally
		j.inFights(mine, bound, theirs, empty, &sure)
		value, err := solver.Guarded(mine, theirs, bound, empty)
		if err != nil {
			t.Fatal(err)
		}
		for _, c := range []struct {
			n      int32
			begins cgt.Side
		}{{sure.n, cgt.Right}, {sure.n + sure.gain, cgt.Left}} {
			if c.begins == cgt.Left && sure.gain == 0 {
				continue
			}
			rest, err := value.AddInt(-int64(c.n / one))
			if err != nil {
				t.Fatal(err)
			}
			if rest.Winner(c.begins) != cgt.Left {
				t.Fatalf("mine %x, bound %x, theirs %x, empty %x: sure of %d where %v begins, the value is %v", mine,
					bound, theirs, empty, c.n/one, c.begins, value)
			}
		}
	}
	t.Logf("%d areas of several fights", several)
	if several < 1000 || beside < 100 {
		t.Errorf("%d areas of several fights, %d with queens of both kinds: the test tests little", several, beside)
	}
}

// TestApart compares what safe moves in each fight of a small area say of who wins it with free
// moves elsewhere, with its exact value.
func TestApart(t *testing.T) {
	r := rand.New(rand.NewPCG(5, 9))
	j := NewJudge(nil, Settings{SafeMoves: true, FirstMove: true})
	var solver endgame.Solver
	won := [2]int{}
	for range 30000 {
		mine, theirs, empty := randomFight(r, 14, 3, 6)
		if bits.OnesCount64(empty) > 7 {
			continue
		}
		bound := mine & r.Uint64() & r.Uint64()
		for k, c := range []struct {
			lack  int32 // what P lacks
			mover cgt.Side
		}{{1, cgt.Right}, {2, cgt.Right}, {2, cgt.Left}, {3, cgt.Left}} {
			begins := c.mover == cgt.Left
			var sure tally
			j.contests(mine, bound, theirs, empty, &sure)
			free := -c.lack - sure.n/one
			sure.n += free * one
			if j.wins(&sure, begins) || !j.apart(&sure, bound, begins) || !j.wins(&sure, begins) {
				continue
			}
			won[k/2]++
			value, err := solver.Guarded(mine, theirs, bound, empty)
			if err != nil {
				t.Fatal(err)
			}
			if value, err = value.AddInt(int64(free)); err != nil {
				t.Fatal(err)
			}
			if value.Winner(c.mover) != cgt.Left {
				t.Fatalf("mine %x, bound %x, theirs %x, empty %x: with %d free moves %v begins and P wins, the value is then %v", mine, bound, theirs, empty, free, c.mover, value)
			}
		}
	}
	t.Logf("won by fights alone: %d where the other side begins, %d where P does", won[0], won[1])
	if min(won[0], won[1]) < 100 {
		t.Error("the test tests little")
	}
}
