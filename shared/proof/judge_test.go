package proof_test

import (
	"testing"

	"amazonsfarm/shared/dfpn"
	"amazonsfarm/shared/eval"
	"amazonsfarm/shared/proof"
)

// TestProofsOfJudgedSearches extracts proofs from searches with parts of the judge that stop above
// the leaf rules: a lost position needs all replies refuted, also those at which the search never
// looked.
func TestProofsOfJudgedSearches(t *testing.T) {
	all := eval.DefaultSettings()
	all.GuardedSearch = 6
	closing := eval.Settings{Guarded: true, SafeMoves: true, Closing: true}
	for name, set := range map[string]eval.Settings{"all": all, "closing": closing} {
		for _, text := range []string{"4x4", "5x4", "W..x...W/xxxx..../B..xB..B/...x.... w",
			"W..x..W/...x.../xxxxB../B..x..B b"} {
			p := position(t, text)
			table, err := dfpn.NewTable(16 << 20)
			if err != nil {
				t.Fatal(err)
			}
			defer table.Close()
			judge := eval.NewJudge(nil, set)
			searcher := dfpn.New(dfpn.Options{Board: p.Board, Table: table, Judge: judge.Clone})
			search, err := dfpn.NewWitness(searcher)
			if err != nil {
				t.Fatal(err)
			}
			defer search.Close()
			r := search.Search(t.Context(), p.State(), 300000)
			if r.Verdict == eval.Open {
				t.Fatalf("%s: %s is not solved", name, text)
			}
			c := build(t, p.Board, p.State(), r.Verdict, search, eval.CountLeaves)
			c.Roots = []proof.Root{proof.RootOf(p, r.Verdict)}
			verify(t, c)
			t.Logf("%s, %s: %v in %d nodes; %d entries", name, text, r.Verdict, r.Nodes, c.Set.Len())
		}
	}
}
