package cgt

import (
	"testing"

	"amazonsfarm/shared/amazons"

	"pgregory.net/rapid"
)

// TestSumSound: what a Sum says of its winner and bounds is true, by canonical forms; the rules for
// bounds alone never say more.
func TestSumSound(t *testing.T) {
	a := NewArena(Limits{})
	asked, byBounds, bySum := 0, 0, 0
	check(t, 30, func(t *rapid.T) {
		total := Form(0)
		var sum, plain Sum
		var bounds Bounds
		shift := Dyadic{}
		for range rapid.IntRange(1, 4).Draw(t, "games") {
			f := drawForm(t, a, rapid.SampledFrom([]int{1, 2, 0}).Draw(t, "depth"), "f")
			v := must[Value](t)(a.Value(f))
			if rapid.Bool().Draw(t, "move to 0") { // so that sums are close
				shift = shift.Sub(v.Mean())
			}
			total = must[Form](t)(a.Add(total, f))
			sum.Add(v.Part())
			plain.Add(Part{Bounds: v.Bounds()})
			bounds = bounds.Add(v.Bounds())
		}
		n := must[Value](t)(NumberValue(shift))
		total = must[Form](t)(a.Add(total, must[Form](t)(a.Number(shift))))
		sum.Add(n.Part())
		plain.Add(n.Part())
		bounds = bounds.Add(NumberBounds(shift))
		if ok, _ := holds(t, a, total, sum.Bounds()); !ok || plain.Bounds() != bounds {
			text, _ := a.Text(total)
			t.Fatalf("%s is not within %v (bounds alone: %v and %v)", text, sum.Bounds(), plain.Bounds(), bounds)
		}
		for _, mover := range []Side{Left, Right} {
			asked++
			w := sum.Winner(mover)
			if w != Nobody {
				bySum++
				if w != a.Winner(total, mover) {
					text, _ := a.Text(total)
					t.Fatalf("%s: not %v wins when %v begins", text, w, mover)
				}
			}
			b := bounds.Winner(mover)
			if b != Nobody {
				byBounds++
			}
			if b != Nobody && b != w || plain.Winner(mover) != b {
				t.Fatalf("%v when %v begins: %v by bounds, %v and %v by sums", bounds, mover, b, plain.Winner(mover), w)
			}
		}
	})
	t.Logf("of %d winners, bounds alone tell %d, sums %d", asked, byBounds, bySum)
}

// TestPaperStars: the cases of section IV.C.2 and what stars add to them.
func TestPaperStars(t *testing.T) {
	a := NewArena(Limits{})
	for _, row := range []struct {
		games       []string
		left, right Side // who wins when Left, when Right begins
	}{
		{[]string{"*"}, Left, Right},
		{[]string{"*", "*"}, Right, Left},
		{[]string{"*", "*", "*"}, Left, Right},
		{[]string{"*2"}, Left, Right},
		{[]string{"*2", "*"}, Nobody, Nobody},
		{[]string{"^", "*"}, Left, Nobody}, // fuzzy in truth
		{[]string{"^", "*2"}, Left, Nobody},
		{[]string{"^", "*", "*2"}, Nobody, Nobody},
		{[]string{"^2", "*"}, Left, Left}, // double up is above star
		{[]string{"^2", "*", "*2"}, Left, Nobody},
		{[]string{"^*", "*"}, Nobody, Left},  // up
		{[]string{"^*", "^*"}, Nobody, Left}, // double up
		{[]string{"v*", "*"}, Right, Nobody},
		{[]string{"{2|1*}", "-1"}, Left, Left},
		{[]string{"{5|-2}", "1"}, Left, Right},
		{[]string{"{5|-2}", "-6"}, Right, Right},
	} {
		var s Sum
		for _, g := range row.games {
			s.Add(must[Value](t)(a.Value(must[Form](t)(a.Parse(g)))).Part())
		}
		if l, r := s.Winner(Left), s.Winner(Right); l != row.left || r != row.right {
			t.Errorf("%v: %v, %v; want %v, %v", row.games, l, r, row.left, row.right)
		}
	}
}

// TestOracleSums: the winner of each whole position of the oracle whose areas are small, from the
// Values of these, is that of the oracle wherever the rules tell.
func TestOracleSums(t *testing.T) {
	const most = 5 // empty squares of an area; with 7 the test takes a minute
	p := player{known: map[amazons.State]judged{}}
	asked, byBounds, bySum := 0, 0, 0
	for i, row := range oracleRows(t, "outcomes.tsv") {
		if testing.Short() && i%10 != 0 {
			continue
		}
		s := area(t, row["board"])
		var sum Sum
		var bounds Bounds
		small, areas := true, 0
		for left := s.Empty | s.Own | s.Opp; left != 0 && small; {
			first := left & -left
			part := first | amazons.Flood(first, left)
			left &^= part
			sub := amazons.State{Own: s.Own & part, Opp: s.Opp & part, Empty: s.Empty & part}
			if small = popcount(sub.Empty) <= most; small {
				v := p.judge(t, sub).value
				sum.Add(v.Part())
				bounds = bounds.Add(v.Bounds())
				areas++
			}
		}
		if !small || areas < 2 {
			continue
		}
		clear(p.known)
		for _, mover := range []Side{Left, Right} {
			asked++
			column := map[Side]string{Left: "black_first", Right: "white_first"}[mover]
			want := mover
			if row[column] == "loss" {
				want = mover.Other()
			}
			if w := bounds.Winner(mover); w != Nobody {
				byBounds++
			}
			if w := sum.Winner(mover); w != Nobody {
				bySum++
				if w != want {
					t.Errorf("%s: %v wins when %v begins, the oracle says %v", row["board"], w, mover, want)
				}
			}
		}
	}
	t.Logf("of %d winners of sums of at least two areas of at most %d squares, bounds alone tell %d, sums %d", asked,
		most, byBounds, bySum)
}

func popcount(x amazons.Set) (n int) {
	for ; x != 0; x &= x - 1 {
		n++
	}
	return n
}
