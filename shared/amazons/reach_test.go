package amazons

import (
	"math/rand/v2"
	"testing"
)

// TestQueenReaches compares both sides at once with one after the other, on random sets of the whole grid and on
// positions of boards.
func TestQueenReaches(t *testing.T) {
	r := rand.New(rand.NewPCG(8, 64))
	for i := range 1_000_000 {
		s := State{
			Own:   r.Uint64() & r.Uint64() & r.Uint64() & r.Uint64(),
			Opp:   r.Uint64() & r.Uint64() & r.Uint64(),
			Empty: r.Uint64() | r.Uint64(),
		}
		if i%2 == 0 {
			board := Board{Width: uint8(3 + r.IntN(6)), Height: uint8(3 + r.IntN(6))}.Mask()
			s = State{Own: s.Own & board, Opp: s.Opp &^ s.Own & board, Empty: s.Empty &^ (s.Own | s.Opp) & board}
		}
		own, opp := QueenReaches(s.Own, s.Opp, s.Empty)
		wantOwn, wantOpp := QueenReach(s.Own, s.Empty), QueenReach(s.Opp, s.Empty)
		if own != wantOwn || opp != wantOpp {
			t.Fatalf("%+v: got %016x and %016x, want %016x and %016x", s, own, opp, wantOwn, wantOpp)
		}
	}
}
