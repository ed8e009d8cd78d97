package eval_test

import (
	"math/bits"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"amazonsfarm/shared/amazons"
	"amazonsfarm/shared/eval"
	"amazonsfarm/shared/testkit/reference"
)

// TestNeeded compares the winner by the moves that are needed with that by all moves, on random
// late positions of several areas.
func TestNeeded(t *testing.T) {
	r := rand.New(rand.NewPCG(*from, 6))
	oneMove, dominated, both := eval.DefaultSettings(), eval.DefaultSettings(), eval.DefaultSettings()
	oneMove.OneMove = true
	dominated.Dominated = 8
	both.OneMove, both.Dominated = true, 8
	rows := []struct {
		name  string
		judge *eval.Judge
		// Positions with fewer moves, of those the ones that the side to move wins, moves that are
		// named, moves left out.
		fewer, won, named, dropped int
	}{
		{name: "one move, database", judge: eval.NewJudge(database(t), oneMove)},
		{name: "one move", judge: eval.NewJudge(nil, oneMove)},
		{name: "dominated", judge: eval.NewJudge(nil, dominated)},
		{name: "both, database", judge: eval.NewJudge(database(t), both)},
		{name: "both", judge: eval.NewJudge(nil, both)},
	}
	var search reference.Fast
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
			for i := range rows {
				row := &rows[i]
				queens, moves := row.judge.Needed(s, nil)
				if queens == s.Own && len(moves) == 0 {
					continue
				}
				left := 0
				wins := false
				for _, m := range s.Moves(nil) {
					needed := queens&m.From.Bit() != 0 || slices.Contains(moves, m)
					if !needed {
						left++
					}
					wins = wins || needed && !search.Wins(s.After(m))
				}
				for k, m := range moves {
					if !s.Legal(m) || queens&m.From.Bit() != 0 || slices.Contains(moves[:k], m) {
						t.Fatalf("%s, %v: queens %x, moves %v", row.name, amazons.PositionOf(b, s, amazons.White),
							queens, moves)
					}
				}
				if queens&^s.Own != 0 || wins != search.Wins(s) {
					t.Fatalf("%s, %v: the needed moves of %x and %v win: %v; all moves: %v", row.name,
						amazons.PositionOf(b, s, amazons.White), queens, moves, wins, !wins)
				}
				if left == 0 {
					continue
				}
				row.fewer++
				row.dropped += left
				row.named += len(moves)
				if wins {
					row.won++
				}
			}
		}
	}
	for _, row := range rows {
		t.Logf("%d positions, both movers, %s: %d with fewer moves, %d of them won, %d moves named, %d left out",
			*judged, row.name, row.fewer, row.won, row.named, row.dropped)
		if row.fewer < *judged/20 || row.won < *judged/100 || row.named < *judged/50 {
			t.Errorf("%s: the test tests little", row.name)
		}
	}
	if rows[0].fewer <= rows[1].fewer || rows[2].dropped <= rows[1].dropped || rows[3].dropped <= rows[2].dropped {
		t.Error("more knowledge does not leave out more moves")
	}
}

// TestNeededIsEasy: one area needs all moves, and nothing is allocated where nothing new is met.
func TestNeededIsEasy(t *testing.T) {
	one, dominated := eval.NewJudge(nil, eval.Settings{OneMove: true}), eval.NewJudge(nil, eval.Settings{Dominated: 6})
	for _, c := range []struct {
		judge            *eval.Judge
		position, queens string
		moves            []string
	}{
		{one, "...W/B..x/..x. w", "D3", nil},                  // one area
		{one, "W..x/xxxx/B..W w", "D1", []string{"A3-B3xA3"}}, // A3 has a territory
		{one, "W.xx/xxxx/B..W b", "A1", nil},                  // White's territory gives Black no move
		{dominated, "...W/B..x/..x. w", "D3", nil},            // one area
		// Two areas hot for both: White takes what is between the queens, and a square more is left
		// for it on the longer side.
		{dominated, "W...Bx/xxxxxx/W....B w", "", []string{"A1-B1xE1", "A3-B3xD3"}},
		// A territory of 3 squares: all moves that leave 2 are alike.
		{dominated, "W...xxx/xxxxxxx/W.....B w", "A1", []string{"A3-B3xA3"}},
	} {
		p, err := amazons.ParsePosition(c.position)
		if err != nil {
			t.Fatal(err)
		}
		s := p.State()
		queens, moves := c.judge.Needed(s, nil)
		var got []string
		for _, m := range moves {
			got = append(got, m.String())
		}
		var from []string
		for q := queens; q != 0; q &= q - 1 {
			from = append(from, amazons.Square(bits.TrailingZeros64(q)).String())
		}
		if strings.Join(from, " ") != c.queens || !slices.Equal(got, c.moves) {
			t.Errorf("%s: queens %v, moves %q, want %s and %q", c.position, from, got, c.queens, c.moves)
		}
		if n := testing.AllocsPerRun(10, func() { moves = moves[:0]; _, moves = c.judge.Needed(s, moves) }); n != 0 {
			t.Errorf("%s: %v allocations", c.position, n)
		}
	}
}
