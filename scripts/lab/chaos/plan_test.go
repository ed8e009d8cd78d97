package main

import (
	"fmt"
	"slices"
	"testing"
	"time"
)

// TestPlan wants a plan to follow from its seed, other seeds to give other plans, each with a
// master that dies, and all kinds of troubles among a hundred.
func TestPlan(t *testing.T) {
	seen := map[string]bool{}
	var often [kinds]int
	for seed := range uint64(100) {
		p := draw(seed, "")
		if again := draw(seed, ""); fmt.Sprint(p) != fmt.Sprint(again) {
			t.Errorf("seed %d gives %v and %v", seed, p, again)
		}
		seen[fmt.Sprint(p)] = true
		if !slices.ContainsFunc(p.List, func(t trouble) bool { return t.Kind == kill && t.Target == 0 }) {
			t.Errorf("the master lives: %v", p)
		}
		for _, x := range p.List {
			often[x.Kind]++
			if x.For <= 0 || x.For > 5*time.Second || x.Target < 0 || x.Target > workers || x.Target == 0 &&
				(x.Kind == cut || x.Kind == hold || x.Kind == lose) ||
				(x.Kind == hold || x.Kind == lose) && !x.Up && !x.Down {
				t.Errorf("seed %d: %v", seed, x)
			}
		}
		if n := len(p.campaigns()); (n == 2) != (seed%3 == 0) || n == 2 && p.Second == p.Board {
			t.Errorf("seed %d has the campaigns %v", seed, p.campaigns())
		}
		if q := draw(seed, "5x5"); q.Board != "5x5" || fmt.Sprint(q.List) != fmt.Sprint(p.List) {
			t.Errorf("with another board seed %d gives %v", seed, q)
		}
	}
	if len(seen) != 100 || slices.Contains(often[:], 0) {
		t.Errorf("%d plans; troubles %v", len(seen), often)
	}
}

// TestDice wants the same fates for the same seed, and as many of each as the plan says.
func TestDice(t *testing.T) {
	n := noise{Twice: 100, Again: 50, Old: 20, Late: 300, Most: time.Second}
	a, b, other := newDice(1, 2, 0, n), newDice(1, 2, 0, n), newDice(1, 2, 1, n)
	var twice, again, old, late, same int
	for range 10_000 {
		f := a.throw()
		if g := b.throw(); f != g {
			t.Fatalf("%v and %v", f, g)
		}
		if f == other.throw() {
			same++
		}
		for count, yes := range map[*int]bool{&twice: f.twice, &again: f.again, &old: f.old > 0, &late: f.late > 0} {
			if yes {
				*count++
			}
		}
		if f.late > n.Most || f.old > remembered || f.later > 2*time.Second {
			t.Fatal(f)
		}
	}
	for _, c := range []struct{ got, want int }{{twice, 1000}, {again, 500}, {old, 200}, {late, 3000}} {
		if c.got < c.want*4/5 || c.got > c.want*6/5 {
			t.Errorf("%d, want about %d", c.got, c.want)
		}
	}
	if same > 100 {
		t.Errorf("the other direction has %d equal fates", same)
	}
}
