package dfpn

import (
	"testing"

	"amazonsfarm/shared/amazons"
	"amazonsfarm/shared/eval"
)

// A thread gives the same numbers for a position whatever it evaluated before, also where another
// position had the same slot.
func TestRecent(t *testing.T) {
	p, err := amazons.ParsePosition("6x5")
	if err != nil {
		t.Fatal(err)
	}
	judge := eval.NewJudge(nil, eval.DefaultSettings())
	th := &thread{judge: judge, recent: new(recent)}
	asked := uint64(0)
	for range 2 {
		for m := range p.State().AllMoves() {
			for reply := range p.State().After(m).AllMoves() {
				st := p.State().After(m).After(reply)
				hash := st.Hash(p.Board)
				want := static(judge, st)
				crowd := hash &^ recentMask // all of them in slot 0
				if got := th.evaluate(st, hash); got != want {
					t.Fatalf("%v: %v, want %v", st, got, want)
				}
				if got := th.evaluate(st, crowd); got != want {
					t.Fatalf("%v in a crowded slot: %v, want %v", st, got, want)
				}
				asked += 2
			}
		}
	}
	if th.evaluations != asked {
		t.Errorf("%d evaluations counted of %d", th.evaluations, asked)
	}
}
