package proof_test

import (
	"math/rand/v2"
	"testing"

	"amazonsfarm/shared/amazons"
	"amazonsfarm/shared/checker"
	"amazonsfarm/shared/eval"
	"amazonsfarm/shared/testkit/reference"
)

// TestLeafRulesAgree compares the two implementations of the leaf rules, ours and the checker's, on
// boards of all sizes, with none to five queens a side.
func TestLeafRulesAgree(t *testing.T) {
	if testing.Short() {
		t.Skip("one goroutine: nothing for the race detector to find")
	}
	r := rand.New(rand.NewPCG(11, 12))
	var seen [3]int
	closing := 0
	for i := range 256_000 {
		b := amazons.Board{Width: uint8(1 + i%8), Height: uint8(1 + i/8%8)}
		n := b.Squares()
		own, opp := min(n, r.IntN(6)), 0
		opp = min(n-own, r.IntN(6))
		s, _ := reference.Scattered(r, b, own, opp, min(n-own-opp, r.IntN(n+1))).Canonical(b)
		k := s.Key(b)
		got, want := eval.Plain(b, s, eval.SumLeaves), checker.LeafVerdict(int(b.Width), int(b.Height), k.A, k.B, 3)
		if got.String() != want.String() {
			t.Fatalf("%v: eval says %v, the checker %v", amazons.PositionOf(b, s, amazons.White), got, want)
		}
		all := eval.Plain(b, s, eval.ClosingLeaves)
		if want := checker.LeafVerdict(int(b.Width), int(b.Height), k.A, k.B, 4); all.String() != want.String() {
			t.Fatalf("%v: with rule 4 eval says %v, the checker %v", amazons.PositionOf(b, s, amazons.White), all, want)
		}
		if all != got {
			closing++
			if m, ok := eval.ClosingMove(b, s); !ok || !eval.Closes(b, s, m) {
				t.Fatalf("%v: the closing move is %v", amazons.PositionOf(b, s, amazons.White), m)
			}
		}
		seen[got]++
		if stuck := checker.LeafVerdict(int(b.Width), int(b.Height), k.A, k.B,
			1) == checker.Lost; stuck == s.CanMove() {
			t.Fatalf("%v: the checker's rule 1 says %v", amazons.PositionOf(b, s, amazons.White), stuck)
		}
	}
	t.Logf("open %d, won %d, lost %d; %d of the open ones are won by rule 4", seen[0], seen[1], seen[2], closing)
	if closing < 1000 {
		t.Error("few closing moves: the test tests little")
	}
}
