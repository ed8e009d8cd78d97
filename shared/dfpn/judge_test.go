package dfpn

import (
	"flag"
	"fmt"
	"reflect"
	"testing"
	"time"

	"amazonsfarm/shared/endgame"
	"amazonsfarm/shared/eval"
)

var (
	judgeDir = flag.String("db", "", "folder of the database for BenchmarkJudge and TestAblation; empty: none")
	ablation = flag.Bool("ablation", false, "run TestAblation")
)

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
				s, err := New(Options{Board: p.Board, Table: table, Judge: j.judge})
				if err != nil {
					b.Fatal(err)
				}
				var r Result
				for b.Loop() {
					table.Clear()
					r = s.Search(b.Context(), p.State(), Limit{Nodes: c.limit})
				}
				b.ReportMetric(float64(r.Nodes), "nodes")
				b.ReportMetric(float64(r.Evaluations), "evaluations")
				b.ReportMetric(float64(r.Verdict), "verdict")
				b.ReportMetric(float64(r.Evaluations)*float64(b.N)/b.Elapsed().Seconds(), "evaluations/s")
			})
		}
	}
}

// TestAblation prints what each part of the judge is worth, in nodes and in time, on boards and on twenty replies to a first
// move on 5x6 (after Song and Müller 2014, figure 13). It runs only if -ablation is given.
func TestAblation(t *testing.T) {
	if !*ablation {
		t.Skip("only with -ablation")
	}
	var db *endgame.DB
	if *judgeDir != "" {
		var err error
		if db, _, err = endgame.OpenDir(*judgeDir); err != nil {
			t.Fatal(err)
		}
		defer db.Close()
	}
	type row struct {
		name  string
		judge func() *eval.Judge
	}
	rows := []row{{"function", func() *eval.Judge { return nil }}, {"all", eval.NewJudge(db, eval.DefaultSettings()).Clone}, {"no database", eval.NewJudge(nil, eval.DefaultSettings()).Clone}}
	v := reflect.ValueOf(eval.DefaultSettings())
	for i := range v.NumField() {
		s := eval.DefaultSettings()
		reflect.ValueOf(&s).Elem().Field(i).SetZero()
		rows = append(rows, row{"without " + v.Type().Field(i).Name, eval.NewJudge(db, s).Clone})
	}
	sets := []struct {
		name      string
		positions []string
		limit     uint64
	}{{"4x5", []string{"4x5"}, 2e6}, {"5x5", []string{"5x5"}, 2e6}, {"4x6", []string{"4x6"}, 2e6}, {"5x6 x20", nil, 20000}}
	first := parse(t, ".B.B./B...B/.W.x./...../W...W/...W. b")
	moves := first.State().Moves(nil)
	for i := range 20 {
		sets[3].positions = append(sets[3].positions, first.After(moves[i*len(moves)/20]).String())
	}
	table := newTable(t, 256<<20)
	for _, r := range rows {
		line := fmt.Sprintf("%-22s", r.name)
		for _, set := range sets {
			nodes, solved := uint64(0), 0
			var spent time.Duration
			for _, text := range set.positions {
				p := parse(t, text)
				s, err := New(Options{Board: p.Board, Table: table, Judge: r.judge})
				if err != nil {
					t.Fatal(err)
				}
				table.Clear()
				begun := time.Now()
				res := s.Search(t.Context(), p.State(), Limit{Nodes: set.limit})
				spent += time.Since(begun)
				nodes += res.Nodes
				if res.Verdict != eval.Open {
					solved++
				}
			}
			line += fmt.Sprintf("  %s: %7d nodes %6.3f s %2d solved", set.name, nodes, spent.Seconds(), solved)
		}
		fmt.Println(line)
	}
}
