package eval_test

import (
	"math/bits"
	"math/rand/v2"
	"testing"

	"amazonsfarm/shared/amazons"
	"amazonsfarm/shared/eval"
	"amazonsfarm/shared/reference"
)

// TestNeeded compares the winner by the moves that are needed with that by all moves, on random late positions of several areas.
func TestNeeded(t *testing.T) {
	r := rand.New(rand.NewPCG(*from, 6))
	set := eval.DefaultSettings()
	set.OneMove = true
	judges := []*eval.Judge{eval.NewJudge(database(t), set), eval.NewJudge(nil, set)}
	var search reference.Fast
	var fewer, extras, dropped, won [2]int
	for range *judged {
		b, s := anyPosition(r)
		// More arrows make more areas.
		for range r.IntN(3) {
			if squares := s.Empty; bits.OnesCount64(squares) > 4 {
				for range r.IntN(bits.OnesCount64(squares)) {
					squares &= squares - 1
				}
				s.Empty &^= squares & -squares
			}
		}
		for _, s := range []amazons.State{s, swap(s)} {
			for i, j := range judges {
				queens, extra, ok := j.Needed(s)
				if queens&^s.Own != 0 || ok && !s.Legal(extra) {
					t.Fatalf("%v: queens %x, move %v", amazons.PositionOf(b, s, amazons.White), queens, extra)
				}
				if queens == s.Own && !ok {
					continue
				}
				wins := ok && !search.Wins(s.After(extra))
				if ok {
					extras[i]++
				}
				left := 0
				for _, m := range s.Moves(nil) {
					if queens&m.From.Bit() == 0 {
						left++
					} else if !wins {
						wins = !search.Wins(s.After(m))
					}
				}
				if left == 0 {
					continue
				}
				if wins != search.Wins(s) {
					t.Fatalf("%v: the needed moves of %x and %v, %v, win: %v; all moves: %v", amazons.PositionOf(b, s, amazons.White), queens, extra, ok, wins, !wins)
				}
				fewer[i]++
				dropped[i] += left
				if wins {
					won[i]++
				}
			}
		}
	}
	t.Logf("%d positions, both movers: with database %d with fewer moves (%d dropped), %d of them won, %d with one move more; without %d (%d), %d, %d",
		*judged, fewer[0], dropped[0], won[0], extras[0], fewer[1], dropped[1], won[1], extras[1])
	if fewer[1] < *judged/20 || fewer[0] <= fewer[1] || extras[1] < *judged/50 || won[1] < *judged/100 {
		t.Error("the test tests little")
	}
}

// TestNeededIsEasy: one area needs all moves, and nothing is allocated.
func TestNeededIsEasy(t *testing.T) {
	j := eval.NewJudge(nil, eval.Settings{OneMove: true})
	for _, c := range []struct{ position, queens, extra string }{
		{"...W/B..x/..x. w", "D3", ""},         // one area
		{"W..x/xxxx/B..W w", "D1", "A3-B3xA3"}, // A3 has a territory
		{"W.xx/xxxx/B..W b", "A1", ""},         // White's territory gives Black no move
	} {
		p, err := amazons.ParsePosition(c.position)
		if err != nil {
			t.Fatal(err)
		}
		s := p.State()
		queens, extra, ok := j.Needed(s)
		got := ""
		if ok {
			got = extra.String()
		}
		if bits.OnesCount64(queens) != 1 || amazons.Square(bits.TrailingZeros64(queens)).String() != c.queens || got != c.extra {
			t.Errorf("%s: queens %x, move %q", c.position, queens, got)
		}
		if n := testing.AllocsPerRun(10, func() { j.Needed(s) }); n != 0 {
			t.Errorf("%s: %v allocations", c.position, n)
		}
	}
}
