package endgame

import (
	"math/bits"
	"math/rand/v2"
	"testing"

	"amazonsfarm/shared/amazons"
	"amazonsfarm/shared/area"
	"amazonsfarm/shared/testkit/reference"
)

// onePlayer is a territory by definition: plain recursion over the moves of its owner.
type onePlayer map[[3]Set]int

func (o onePlayer) moves(normal, blockers, empty Set) int {
	key := [3]Set{normal, blockers, empty}
	if n, ok := o[key]; ok {
		return n
	}
	best := 0
	for q := normal | blockers; q != 0; q &= q - 1 {
		from := q & -q
		for t := amazons.QueenTargets(amazons.Square(bits.TrailingZeros64(q)), empty); t != 0; t &= t - 1 {
			to := t & -t
			if blockers&from != 0 {
				best = max(best, 1+o.moves(normal|to, blockers&^from, empty&^to))
				continue
			}
			open := empty&^to | from
			for x := amazons.QueenTargets(amazons.Square(bits.TrailingZeros64(t)), open); x != 0; x &= x - 1 {
				best = max(best, 1+o.moves(normal&^from|to, blockers, open&^(x&-x)))
			}
		}
	}
	o[key] = best
	return best
}

// randomArea returns a connected area of n squares somewhere on the grid, its squares dealt to
// three sets by the given weights.
func randomArea(r *rand.Rand, n int, weights [3]int) (sets [3]Set) {
	for s := reference.Region(r, amazons.Board{Width: 8, Height: 8}, n); s != 0; s &= s - 1 {
		k := r.IntN(weights[0] + weights[1] + weights[2])
		i := 0
		for k >= weights[i] {
			k -= weights[i]
			i++
		}
		sets[i] |= s & -s
	}
	return sets
}

func TestTerritoriesAgainstPlainSearch(t *testing.T) {
	db := database(t)
	r := rand.New(rand.NewPCG(9, 1))
	spared := 0
	for range 4000 {
		x := randomArea(r, 1+r.IntN(db.Squares()), [3]int{1, 2, 3})
		normal, blockers, empty := x[0], x[1], x[2]
		moves, needed, ok := db.Territory(normal, blockers, empty)
		if !ok {
			if l := db.Config().limit(bits.OnesCount64(normal | blockers | empty)); l > 0 &&
				bits.OnesCount64(normal|blockers) > l {
				continue
			}
			t.Fatalf("%s not found", area.Text(normal, blockers, empty))
		}
		o := onePlayer{}
		if want := o.moves(normal, blockers, empty); moves != want {
			t.Fatalf("%s: %d moves, want %d", area.Text(normal, blockers, empty), moves, want)
		}
		if needed&^blockers != 0 {
			t.Fatalf("%s: needed %x are no blockers", area.Text(normal, blockers, empty), needed)
		}
		// Which blockers suffice, by trying all sets of them.
		fewest := 64
		for set := blockers; ; set = (set - 1) & blockers {
			m := o.moves(normal, set, empty)
			if m == moves {
				fewest = min(fewest, bits.OnesCount64(set))
			}
			if set == needed && m != moves {
				t.Fatalf("%s: with %x only %d moves, want %d", area.Text(normal, blockers, empty), needed, m, moves)
			}
			if using, ok := using(db, normal, blockers, empty, set); !ok || using != m {
				t.Fatalf("%s using %x: %d %v, want %d", area.Text(normal, blockers, empty), set, using, ok, m)
			}
			if set == 0 {
				break
			}
		}
		if bits.OnesCount64(needed) != fewest {
			t.Fatalf("%s: %x needed, but %d suffice", area.Text(normal, blockers, empty), needed, fewest)
		}
		if needed != blockers {
			spared++
		}
		if blockers == 0 {
			if id, ok := db.Find(normal, 0, empty); !ok || db.Entry(id).Value.Mean().Floor() != int64(moves) {
				t.Fatalf("%s: as a game it is %v", area.Text(normal, blockers, empty), db.Entry(id).Value)
			}
		}
	}
	if spared == 0 {
		t.Fatal("no blocker ever spared")
	}
}

// TestBlockersHold plays whole positions: what the territories of one side promise, minus one move
// of the other side for each square it reaches, is never more than the true right stop.
func TestBlockersHold(t *testing.T) {
	db := database(t)
	r := rand.New(rand.NewPCG(10, 1))
	solver := Solver{DB: db}
	tested := 0
	for range 3000 {
		x := randomArea(r, 6+r.IntN(3), [3]int{3, 2, 4})
		sum, ok := 0, true
		used := Set(0)
		for _, a := range guardedAreas(x[0], x[1], x[2]) {
			switch {
			case a.White != 0:
				sum -= bits.OnesCount64(a.Empty)
			case a.blockers != 0:
				free := a.blockers &^ used
				n, ok2 := using(db, a.Black&^a.blockers, a.blockers, a.Empty, free)
				if !ok2 {
					ok = false
					break
				}
				sum += n
				used |= a.blockers
				tested++
			default:
				n, _, ok2 := db.Territory(a.Black, 0, a.Empty)
				ok = ok && ok2
				sum += n
			}
		}
		if !ok {
			continue
		}
		v, err := solver.Value(x[0], x[1], x[2])
		if err != nil {
			t.Fatal(err)
		}
		if _, right := v.Stops(); right.Floor() < int64(sum) {
			t.Fatalf("%s: right stop %v, but the territories promise %d", area.Text(x[0], x[1], x[2]), right, sum)
		}
	}
	if tested < 50 {
		t.Fatal("only", tested, "blocker territories")
	}
}

// TestDefects compares with an earlier database of others: one queen in a region of up to 7 squares has a
// defect of 3 at most, and 1,138 regions have a defect somewhere.
func TestDefects(t *testing.T) {
	db := database(t)
	rows, err := db.Defects()
	if err != nil {
		t.Fatal(err)
	}
	largest, defective := 0, 0
	for _, d := range rows[:min(len(rows), 7)] {
		largest = max(largest, d.Largest)
		defective += d.Regions
	}
	if db.Squares() >= 7 && (largest != 3 || defective != 1138) {
		t.Fatalf("largest defect %d, %d defective regions; want 3 and 1138", largest, defective)
	}
	t.Logf("%+v", rows)
}

func state(own, opp, empty Set) amazons.State {
	return amazons.State{Own: own, Opp: opp, Empty: empty}
}
