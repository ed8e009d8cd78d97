package eval_test

import (
	"fmt"
	"math/rand/v2"
	"testing"

	"amazonsfarm/shared/amazons"
	"amazonsfarm/shared/eval"
	"amazonsfarm/shared/testkit/reference"
)

// TestPlainAgainstSearch compares the leaf rules with exhaustive search on random late positions
// with one to four queens a side, equal in number or not, canonical or not.
func TestPlainAgainstSearch(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	var search reference.Fast
	var seen [3]int
	for i := range 100000 {
		b := amazons.Board{Width: uint8(3 + r.IntN(4)), Height: uint8(3 + r.IntN(3))}
		own, opp := 1+r.IntN(4), 1+r.IntN(4)
		if i%4 != 0 {
			own, opp = max(2, own), max(2, opp)
		}
		empties := min(b.Squares()-own-opp, 1+r.IntN(6+i%4))
		if empties < 1 {
			continue
		}
		s := reference.Scattered(r, b, own, opp, empties)
		v := eval.Plain(b, s, eval.ClosingLeaves)
		seen[v]++
		if v == eval.Open {
			continue
		}
		if won := search.Wins(s); won != (v == eval.Won) {
			t.Fatalf("%v: the rules say %v, search says won=%v", amazons.PositionOf(b, s, amazons.White), v, won)
		}
	}
	t.Logf("open %d, won %d, lost %d", seen[0], seen[1], seen[2])
	for v, n := range seen {
		if n < 10000 {
			t.Errorf("only %d positions are %v: the test tests little", n, eval.Verdict(v))
		}
	}
}

// TestPlainRules has positions for each rule.
func TestPlainRules(t *testing.T) {
	for _, c := range []struct {
		rule, position string
		want           eval.Verdict
	}{
		{"1", "Wx./xx./..B w", eval.Lost},
		{"1, though the opponent cannot move either", "WxB w", eval.Lost},
		{"2a", "W..x.B w", eval.Won},
		{"2a wants one square more; 2c decides", "W.x.B w", eval.Lost},
		{"2b: takes the only square", "xW.Bx w", eval.Won},
		{"2b with the other queen's room", "W.xW..B/xxxxxxx w", eval.Won},
		{"2c", "W.xx..B w", eval.Lost},
		{"none: an open fight", ".B.B./B...B/...../...../W...W/.W.W. w", eval.Open},
	} {
		p, err := amazons.ParsePosition(c.position)
		if err != nil {
			t.Fatal(err)
		}
		s, _ := p.State().Canonical(p.Board)
		if got := eval.Plain(p.Board, s, eval.SumLeaves); got != c.want {
			t.Errorf("rule %s: %s: got %v, want %v", c.rule, c.position, got, c.want)
		}
	}
}

func TestVerdictText(t *testing.T) {
	for v, want := range map[eval.Verdict]string{eval.Open: "open", eval.Won: "won", eval.Lost: "lost", 7: "open"} {
		if v.String() != want {
			t.Errorf("%d: %q, want %q", v, v, want)
		}
	}
	if eval.Won.Other() != eval.Lost || eval.Lost.Other() != eval.Won || eval.Open.Other() != eval.Open {
		t.Error("Other does not exchange won and lost")
	}
}

func BenchmarkPlain(b *testing.B) {
	board := amazons.Board{Width: 5, Height: 6}
	r := rand.New(rand.NewPCG(3, 4))
	for _, empties := range []int{6, 10, 14, 18} {
		states := make([]amazons.State, 4096)
		for i := range states {
			states[i], _ = reference.Played(r, reference.Start(board), empties).Canonical(board)
		}
		b.Run(fmt.Sprintf("5x6/empty=%d", empties), func(b *testing.B) {
			b.ReportAllocs()
			decided := 0
			for i := 0; b.Loop(); i++ {
				if eval.Plain(board, states[i&4095], eval.SumLeaves) != eval.Open {
					decided++
				}
			}
			b.ReportMetric(100*float64(decided)/float64(b.N), "%decided")
		})
	}
}
