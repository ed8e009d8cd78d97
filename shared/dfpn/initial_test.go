package dfpn

import (
	"testing"

	"amazonsfarm/shared/amazons"
	"amazonsfarm/shared/eval"
)

// TestFirstNumbers solves small boards with several first numbers: they change the work, never the
// answer.
func TestFirstNumbers(t *testing.T) {
	table := newTable(t, 64<<20)
	forms := map[string]func(amazons.State, amazons.Move, eval.Features) (phi, delta uint32){
		"fitted":   nil,
		"constant": func(amazons.State, amazons.Move, eval.Features) (phi, delta uint32) { return 8, 8 },
		"mobility": func(_ amazons.State, _ amazons.Move, f eval.Features) (phi, delta uint32) {
			return 8, uint32(8 * f.OwnMoves)
		},
		"territory": func(_ amazons.State, _ amazons.Move, f eval.Features) (phi, delta uint32) {
			return uint32(1 + max(0, 8-f.Territory)), uint32(1 + max(0, 8+f.Territory)*f.OwnMoves)
		},
	}
	for board, want := range map[string]eval.Verdict{"4x4": eval.Lost, "5x4": eval.Won, "4x6": eval.Won} {
		p := parse(t, board)
		for name, first := range forms {
			if board == "4x6" && (name == "constant" || testing.Short()) { // it takes seconds
				continue
			}
			table.Clear()
			s := New(Options{Board: p.Board, Table: table, FirstNumbers: first})
			r := s.Search(t.Context(), p.State(), 5_000_000)
			t.Logf("%s, %s: %v, %d nodes, %d evaluations", board, name, r.Verdict, r.Nodes, r.Evaluations)
			if r.Verdict != want {
				t.Errorf("%s, %s: %v, want %v", board, name, r.Verdict, want)
			}
		}
	}
}
