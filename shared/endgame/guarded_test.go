package endgame

import (
	"math/bits"
	"math/rand/v2"
	"testing"

	"amazonsfarm/shared/amazons"
	"amazonsfarm/shared/area"
	"amazonsfarm/shared/cgt"
)

// guardedForms is the definition: canonical forms by plain recursion over whole positions, in which
// the first move of each blocker shoots back.
type guardedForms struct {
	t     *testing.T
	arena *cgt.Arena
	memo  map[[4]Set]cgt.Form
}

func (g *guardedForms) form(black, white, blockers, empty Set) cgt.Form {
	key := [4]Set{black, white, blockers, empty}
	if f, ok := g.memo[key]; ok {
		return f
	}
	var options [2][]cgt.Form
	for side, own := range []Set{black, white} {
		for q := own; q != 0; q &= q - 1 {
			from := q & -q
			for t := amazons.QueenTargets(amazons.Square(bits.TrailingZeros64(q)), empty); t != 0; t &= t - 1 {
				to := t & -t
				open := empty&^to | from
				for x := amazons.QueenTargets(amazons.Square(bits.TrailingZeros64(t)), open); x != 0; x &= x - 1 {
					if blockers&from != 0 && x&-x != from {
						continue
					}
					b, w := black, white
					if side == 0 {
						b = b&^from | to
					} else {
						w = w&^from | to
					}
					options[side] = append(options[side], g.form(b, w, blockers&^from, open&^(x&-x)))
				}
			}
		}
	}
	f, err := g.arena.Form(options[0], options[1])
	if err != nil {
		g.t.Fatal(err)
	}
	g.memo[key] = f
	return f
}

// TestGuarded holds what guardedAreas promises against
// canonical forms: the position is at least the sum of its territories, each blocker counted in one
// of them or none, and of the rest with the other blockers bound to shoot back.
func TestGuarded(t *testing.T) {
	db := database(t)
	r := rand.New(rand.NewPCG(14, 1))
	split, tight := 0, 0
	for range 2500 {
		x := randomArea(r, 4+r.IntN(6), [3]int{3, 2, 4})
		black, white, empty := x[0], x[1], x[2]
		if bits.OnesCount64(empty) > 5 {
			continue
		}
		g := guardedForms{t, cgt.NewArena(cgt.Limits{}), map[[4]Set]cgt.Form{}}
		areas := guardedAreas(black, white, empty)
		sum, used, rest := cgt.Form(0), Set(0), Set(0)
		whole := 0
		for _, a := range areas {
			if a.White == 0 {
				use := a.blockers &^ used & r.Uint64()
				n, ok := using(db, a.Black&^a.blockers, a.blockers, a.Empty, use)
				if !ok {
					whole = -1000
				}
				whole += n
				used |= use
			} else {
				rest |= a.Squares()
			}
		}
		if whole < 0 || whole == 0 && used == 0 {
			continue
		}
		split++
		rest &^= used
		var promise cgt.Form
		var err error
		for range whole { // n+1 is {n|}
			if promise, err = g.arena.Form([]cgt.Form{promise}, nil); err != nil {
				t.Fatal(err)
			}
		}
		edge := black & rest // all queens of Black there that are blockers of a territory
		blockers := Set(0)
		for _, a := range areas {
			blockers |= a.blockers
		}
		if sum, err = g.arena.Add(promise, g.form(black&rest, white&rest, edge&blockers, empty&rest)); err != nil {
			t.Fatal(err)
		}
		all := g.form(black, white, 0, empty)
		if !g.arena.LessEq(sum, all) {
			t.Fatalf("%s: the parts promise more than the whole", area.Text(black, white, empty))
		}
		if sum == all {
			tight++
		}
	}
	if split < 100 {
		t.Fatal("only", split, "positions with territories")
	}
	t.Logf("%d positions with territories, the parts equal the whole in %d", split, tight)
}
