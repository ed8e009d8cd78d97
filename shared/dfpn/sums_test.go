package dfpn

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"testing"

	"amazonsfarm/shared/amazons"
	"amazonsfarm/shared/eval"
	"amazonsfarm/shared/reference"
)

// sumOptions are all ways to add up numbers, and to leave children out.
func sumOptions() []Options {
	var all []Options
	for form := Discounted; form <= Grouped; form++ {
		all = append(all, Options{Sum: form}, Options{Sum: form, SumWeight: 1}, Options{Sum: form, SumWeight: 256, Initial: Constant}, Options{Sum: form, Widening: 2}, Options{Sum: form, Siblings: 1})
	}
	return append(all, Options{Widening: 1}, Options{Siblings: 3, Widening: 5, Slack: -1})
}

func (o Options) describe() string {
	return fmt.Sprintf("%v numbers, %v sum, weight %d, widening %d, siblings %d", o.Initial, o.Sum, o.SumWeight, o.Widening, o.Siblings)
}

// TestSumsAgainstExhaustiveSearch holds that no way to add up numbers changes an answer: on random positions, with tables that forget nearly everything, a judge that
// leaves most to the search, searches that are interrupted, and one to three threads.
func TestSumsAgainstExhaustiveSearch(t *testing.T) {
	r := rand.New(rand.NewPCG(41, 42))
	table := newTable(t, MinTableBytes)
	var exact reference.Fast
	for i := range 60 {
		b := amazons.Board{Width: uint8(3 + r.IntN(4)), Height: uint8(3 + r.IntN(3))}
		s := reference.Scattered(r, b, 1+r.IntN(3), 1+r.IntN(3), 6+r.IntN(4))
		want := eval.Lost
		if exact.Wins(s) {
			want = eval.Won
		}
		for k, o := range sumOptions() {
			o.Board, o.Table, o.Judge, o.Threads = b, table, noJudge, 1+(i+k)%3
			table.Clear()
			search, err := New(o)
			if err != nil {
				t.Fatal(err)
			}
			got := search.Search(t.Context(), s, Limit{Nodes: 20})
			for n := uint64(40); got.Verdict == eval.Open && n < 1_000_000; n += 20 {
				got = search.Search(t.Context(), s, Limit{Nodes: n})
			}
			if got.Verdict != want {
				t.Errorf("%v: %v with %s and %d threads, want %v", amazons.PositionOf(b, s, amazons.White), got.Verdict, o.describe(), o.Threads, want)
			}
		}
	}
}

// TestSumsRepeatThemselves solves a board twice with each: it is lost, and one thread takes the same nodes.
func TestSumsRepeatThemselves(t *testing.T) {
	table := newTable(t, 1<<20)
	p := parse(t, "4x4")
	for _, o := range sumOptions() {
		o.Board, o.Table = p.Board, table
		var results [2]Result
		for i := range results {
			table.Clear()
			s, err := New(o)
			if err != nil {
				t.Fatal(err)
			}
			results[i] = s.Search(t.Context(), p.State(), Limit{Nodes: 1_000_000})
		}
		if results[0].Verdict != eval.Lost || results[0] != results[1] {
			t.Errorf("%s: %+v and then %+v, want lost", o.describe(), results[0], results[1])
		}
	}
}

// TestSumForms adds up the numbers of a few children by hand.
func TestSumForms(t *testing.T) {
	move := func(from, to, arrow amazons.Square) amazons.Move {
		return amazons.Move{From: from, To: to, Arrow: arrow}
	}
	children := []child{
		{phi: 100, delta: 9, move: move(1, 2, 3)},
		{phi: 40, delta: 5, move: move(1, 2, 4)}, // the best
		{phi: 60, delta: 7, move: move(5, 2, 4)},
		{phi: 50, delta: 8, move: move(5, 2, 6)},
	}
	for _, c := range []struct {
		o    Options
		want uint32
	}{
		{Options{SumWeight: 256}, 250},
		{Options{SumWeight: 64}, 100 + 150/4 + 1}, // rounded up
		{Options{Sum: Weak}, 100 + 3*16},
		{Options{Sum: Weak, SumWeight: 64}, 100 + 3*4},
		{Options{Sum: Weak, Initial: Constant}, 100 + 3*8},
		{Options{Sum: Branch}, 40 + 3*16},
		{Options{Sum: Grouped}, 100 + 60},
		{Options{Sum: Grouped, SumWeight: 128}, 100 + 30},
		{Options{Widening: 1, SumWeight: 256}, 40},
		{Options{Widening: 2, SumWeight: 256}, 40 + 60},
		{Options{Widening: 3, SumWeight: 256}, 40 + 60 + 50},
		{Options{Widening: 3, Sum: Weak}, 60 + 2*16},
		{Options{Widening: 3, Sum: Grouped}, 40 + 60},
		{Options{Widening: 4, SumWeight: 256}, 250},
	} {
		sums, err := newSums(&c.o)
		if err != nil {
			t.Fatal(err)
		}
		sel := (&thread{}).choose(children, false)
		if r := newRecounter(&c.o); r != nil {
			r.recount(children, &sel)
		}
		if got := sums.delta(&sel); got != c.want {
			t.Errorf("%s: %d, want %d", c.o.describe(), got, c.want)
		}
		// The child's limit is where the sum reaches the parent's.
		for _, limit := range []uint32{c.want + 1, c.want + 10, c.want + 1000} {
			sel := sel
			x := sums.phiLimit(&sel, limit)
			sel.sum += uint64(x) - uint64(sel.chosen)
			sel.chosen, sel.largest = x, max(sel.largestRest, x)
			if got := sums.delta(&sel); got < limit {
				t.Errorf("%s: phi %d of the child makes %d, less than the limit of %d", c.o.describe(), x, got, limit)
			}
		}
	}
}

func TestSumOptions(t *testing.T) {
	table := newTable(t, MinTableBytes)
	for _, o := range []Options{{Sum: Grouped + 1}, {SumWeight: -1}, {SumWeight: 257}, {Slack: 65537}, {Widening: -1}, {Siblings: -1}} {
		o.Board, o.Table = amazons.Board{Width: 4, Height: 4}, table
		if _, err := New(o); !errors.Is(err, ErrOptions) {
			t.Errorf("%s: %v", o.describe(), err)
		}
	}
	for form, want := range map[Sum]string{Discounted: "discounted", Weak: "weak", Branch: "branch", Grouped: "grouped", 9: "Sum(9)"} {
		if form.String() != want {
			t.Errorf("%v, want %s", form, want)
		}
	}
}
