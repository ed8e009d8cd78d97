package dfpn

import (
	"flag"
	"testing"

	"amazonsfarm/shared/endgame"
	"amazonsfarm/shared/eval"
)

var judgeDir = flag.String("db", "", "folder of the database for BenchmarkJudge and TestAblation; empty: none")

// BenchmarkJudge compares searches with and without the judge, with and without a database.
func BenchmarkJudge(b *testing.B) {
	judges := []struct {
		name  string
		judge func() *eval.Judge
	}{
		{"function", func() *eval.Judge { return nil }},
		{"no-database", eval.NewJudge(nil, eval.DefaultSettings()).Clone},
	}
	if *judgeDir != "" {
		db, _, err := endgame.OpenDir(*judgeDir)
		if err != nil {
			b.Fatal(err)
		}
		defer db.Close()
		judges = append(judges, struct {
			name  string
			judge func() *eval.Judge
		}{db.Config().Name(), eval.NewJudge(db, eval.DefaultSettings()).Clone})
	}
	for _, c := range []struct {
		position string
		limit    uint64
	}{{"5x4", 2e6}, {"5x5", 2e6}, {"4x6", 2e6}, {"4x5", 2e6}, {"6x4", 3e5}} {
		p := parse(b, c.position)
		for _, j := range judges {
			b.Run(c.position+"/"+j.name, func(b *testing.B) {
				table := newTable(b, 256<<20)
				s := New(Options{Board: p.Board, Table: table, Judge: j.judge})
				var r Result
				for b.Loop() {
					table.Clear()
					r = s.Search(b.Context(), p.State(), c.limit)
				}
				b.ReportMetric(float64(r.Nodes), "nodes")
				b.ReportMetric(float64(r.Evaluations), "evaluations")
				b.ReportMetric(float64(r.Verdict), "verdict")
				b.ReportMetric(float64(r.Evaluations)*float64(b.N)/b.Elapsed().Seconds(), "evaluations/s")
			})
		}
	}
}
