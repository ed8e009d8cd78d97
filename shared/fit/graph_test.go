package main

import (
	"bytes"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"amazonsfarm/shared/amazons"
	"amazonsfarm/shared/eval"
	"amazonsfarm/shared/reference"
)

var graphSettings = []string{"fitted", "fitted,sum=256", "fitted,weak", "fitted,branch,sum=64", "fitted,sets", "constant", "constant,weak", "constant,branch", "constant,sets"}

func mustParseGraphSetting(t *testing.T, text string) graphSetting {
	t.Helper()
	s, err := parseGraphSetting(text)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// TestGraphAgainstExhaustiveSearch solves small random positions with every setting.
func TestGraphAgainstExhaustiveSearch(t *testing.T) {
	r := rand.New(rand.NewPCG(51, 52))
	var exact reference.Fast
	plain := eval.NewJudge(nil, eval.Settings{})
	for range 100 {
		b := amazons.Board{Width: uint8(3 + r.IntN(4)), Height: uint8(3 + r.IntN(3))}
		s := reference.Scattered(r, b, 1+r.IntN(3), 1+r.IntN(3), 6+r.IntN(4))
		want := eval.Lost
		if exact.Wins(s) {
			want = eval.Won
		}
		for _, text := range graphSettings {
			if got := newGraph(b, plain, mustParseGraphSetting(t, text)).solve(t.Context(), s, 100_000); got != want {
				t.Errorf("%v: %v with %s, want %v", amazons.PositionOf(b, s, amazons.White), got, text, want)
			}
		}
	}
}

// TestSets holds what proof sets promise in graphs that are not solved yet: each leaf once, only leaves, and the sum of their numbers; that somewhere a
// plain sum counts leaves twice; and that it never is the smaller one.
func TestSets(t *testing.T) {
	judge := eval.NewJudge(nil, eval.DefaultSettings())
	for _, c := range []struct {
		position   string
		setting    string
		expansions uint64
	}{
		{"5x5", "constant,sets", 1000},
		{"....B./B..x.B/W..BWW/.W..x. w", "constant,sets", 5000},
		{"....B./B..x.B/W..BWW/.W..x. w", "fitted,sets", 5000},
	} {
		p, err := amazons.ParsePosition(c.position)
		if err != nil {
			t.Fatal(err)
		}
		g := newGraph(p.Board, judge, mustParseGraphSetting(t, c.setting))
		if v := g.solve(t.Context(), p.State(), c.expansions); v != eval.Open {
			t.Fatalf("%s: solved: %v", c.position, v)
		}
		byArrows := make([]int32, len(g.nodes))
		for i := range byArrows {
			byArrows[i] = int32(i)
		}
		slices.SortStableFunc(byArrows, func(a, b int32) int { return int(g.nodes[b].arrows) - int(g.nodes[a].arrows) })
		sums := slices.Clone(g.nodes)
		double := 0
		for _, n := range byArrows {
			x, y := &g.nodes[n], &sums[n]
			if !x.expanded || g.verdict(n) != eval.Open {
				continue
			}
			y.phi, y.delta = graphInfinity, 0
			for _, child := range x.children {
				y.phi = min(y.phi, sums[child].delta)
				y.delta += sums[child].phi
			}
			if x.phi > y.phi || x.delta > y.delta {
				t.Fatalf("%s: node %d: %d and %d by sets, %d and %d by sums", c.position, n, x.phi, x.delta, y.phi, y.delta)
			}
			if x.delta < y.delta {
				double++
			}
			checkSet(t, g, n, x.toWin, x.phi, 0)
			checkSet(t, g, n, x.toLose, x.delta, 1)
		}
		t.Logf("%s, %s: after %d expansions phi and delta are %d and %d, and would be %d and %d by sums; %d nodes differ",
			c.position, c.setting, g.expansions, g.nodes[0].phi, g.nodes[0].delta, sums[0].phi, sums[0].delta, double)
		if double == 0 {
			t.Errorf("%s: no leaf was counted twice by sums", c.position)
		}
	}
}

// checkSet compares the number of node n with the leaves of its set. Leaves as many arrows from n as odd, or not, have their side to move win.
func checkSet(t *testing.T, g *graph, n int32, set []int32, want uint64, odd uint8) {
	t.Helper()
	seen := make(map[int32]bool)
	var sum uint64
	for _, leaf := range set {
		y := &g.nodes[leaf]
		if seen[leaf] || y.expanded {
			t.Fatalf("node %d: leaf %d is met twice or is none", n, leaf)
		}
		seen[leaf] = true
		if (y.arrows-g.nodes[n].arrows)%2 == odd {
			sum += y.phi
		} else {
			sum += y.delta
		}
	}
	if sum != want {
		t.Fatalf("node %d: the leaves make %d, its number is %d", n, sum, want)
	}
}

// TestCompareGraphs prints a row for each setting, notices a wrong verdict, and refuses what is no setting.
func TestCompareGraphs(t *testing.T) {
	positions, err := positionsOf([]string{"4x4", "5x4"})
	if err != nil {
		t.Fatal(err)
	}
	positions[0].verdict, positions[1].verdict = "lost", "won"
	var settings []graphSetting
	for _, text := range graphSettings {
		settings = append(settings, mustParseGraphSetting(t, text))
	}
	var out bytes.Buffer
	if err := compareGraphs(t.Context(), positions, settings, 10_000, &out); err != nil {
		t.Fatal(err)
	}
	if lines := strings.Count(out.String(), "\n"); lines != 2+len(settings) {
		t.Errorf("%d lines:\n%s", lines, out.String())
	}
	positions[0].verdict = "won"
	if err := compareGraphs(t.Context(), positions, settings[:1], 10_000, &out); err == nil {
		t.Error("a wrong verdict was not noticed")
	}
	for _, bad := range []string{"", "sets", "mobility,sets", "fitted,grouped", "fitted,slack=3", "fitted,widening=2", "fitted,siblings=2"} {
		if s, err := parseGraphSetting(bad); err == nil {
			t.Errorf("%q is taken for %+v", bad, s)
		}
	}
}
