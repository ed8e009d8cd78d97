package main

import (
	"context"
	"fmt"
	"io"
	"math"
	"time"

	"amazonsfarm/shared/amazons"
	"amazonsfarm/shared/dfpn"
	"amazonsfarm/shared/eval"
)

// compare solves all positions with each form of first numbers, one thread each and two positions
// at a time, and prints a table. Ratios are geometric means over the positions, against the first
// form. The names are those of forms.
func compare(ctx context.Context, positions []suitePosition, names []string, most uint64, tableBytes int64,
	w io.Writer) error {
	fmt.Fprintf(w, "| numbers | nodes | evaluations | seconds of search | nodes, ratio | evaluations, ratio | "+
		"unsolved |\n| --- | --- | --- | --- | --- | --- | --- |\n")
	var base []dfpn.Result
	for _, name := range names {
		results := make([]dfpn.Result, len(positions))
		took := make([]time.Duration, len(positions))
		if err := inParallel(ctx, tableBytes, len(positions), func(table *dfpn.Table, i int) error {
			search := dfpn.New(dfpn.Options{Board: positions[i].position.Board, Table: table,
				FirstNumbers: forms[name]})
			begun := time.Now()
			results[i] = search.Search(ctx, positions[i].position.State(), most)
			took[i] = time.Since(begun)
			if want := positions[i].verdict; want != "" && results[i].Verdict != eval.Open &&
				results[i].Verdict.String() != want {
				return fmt.Errorf("%v is %v with %s, not %s", positions[i].position, results[i].Verdict, name, want)
			}
			return ctx.Err()
		}); err != nil {
			return err
		}
		if base == nil {
			base = results
		}
		var nodes, evaluations uint64
		var nodeRatio, evaluationRatio float64
		var all time.Duration
		open := 0
		for i, r := range results {
			nodes += r.Nodes
			evaluations += r.Evaluations
			all += took[i]
			nodeRatio += math.Log(float64(r.Nodes) / float64(base[i].Nodes))
			evaluationRatio += math.Log(float64(r.Evaluations) / float64(base[i].Evaluations))
			if r.Verdict == eval.Open {
				open++
			}
		}
		n := float64(len(positions))
		fmt.Fprintf(w, "| %s | %d | %d | %.1f | %.3f | %.3f | %d |\n", name, nodes, evaluations, all.Seconds(),
			math.Exp(nodeRatio/n), math.Exp(evaluationRatio/n), open)
	}
	return nil
}

// positionsOf reads a suite, or takes a position as it is.
func positionsOf(names []string) ([]suitePosition, error) {
	var out []suitePosition
	for _, name := range names {
		if p, err := amazons.ParsePosition(name); err == nil {
			out = append(out, suitePosition{position: p})
			continue
		}
		ps, err := readSuite(name)
		if err != nil {
			return nil, err
		}
		out = append(out, ps...)
	}
	return out, nil
}
