package main

import (
	"context"
	"fmt"
	"io"
	"math"
	"strconv"
	"strings"
	"time"

	"amazonsfarm/shared/amazons"
	"amazonsfarm/shared/dfpn"
	"amazonsfarm/shared/eval"
)

// setting is a way to search, as compare takes it: NAME or NAME,sum=N,slack=N.
type setting struct {
	text       string
	initial    dfpn.Initial
	sum, slack int
}

func parseSetting(text string) (setting, error) {
	out := setting{text: text}
	parts := strings.Split(text, ",")
	found := false
	for _, i := range []dfpn.Initial{dfpn.Constant, dfpn.Mobility, dfpn.Territory, dfpn.Fitted} {
		if i.String() == parts[0] {
			out.initial, found = i, true
		}
	}
	if !found {
		return out, fmt.Errorf("%q is no form of initial numbers: constant, mobility, territory and fitted are",
			parts[0])
	}
	for _, part := range parts[1:] {
		key, value, _ := strings.Cut(part, "=")
		n, err := strconv.Atoi(value)
		switch {
		case err != nil:
			return out, fmt.Errorf("%q is no setting: %w", part, err)
		case key == "sum":
			out.sum = n
		case key == "slack":
			out.slack = n
		default:
			return out, fmt.Errorf("%q is no setting: sum=N and slack=N are", part)
		}
	}
	return out, nil
}

// compare solves all positions with each setting, one thread each and two positions at a time, and
// prints a table. Ratios are geometric means over the positions, against the first setting.
func compare(ctx context.Context, positions []suitePosition, settings []setting, most uint64, tableBytes int64,
	w io.Writer) error {
	fmt.Fprintf(w, "| numbers | nodes | evaluations | seconds of search | nodes, ratio | evaluations, ratio | unsolved |\n| --- | --- | --- | --- | --- | --- | --- |\n")
	var first []dfpn.Result
	for _, s := range settings {
		results := make([]dfpn.Result, len(positions))
		took := make([]time.Duration, len(positions))
		if err := inParallel(ctx, tableBytes, len(positions), func(table *dfpn.Table, i int) error {
			search, err := dfpn.New(dfpn.Options{Board: positions[i].position.Board, Table: table, Initial: s.initial,
				SumWeight: s.sum, Slack: s.slack})
			if err != nil {
				return err
			}
			begun := time.Now()
			results[i] = search.Search(ctx, positions[i].position.State(), dfpn.Limit{Nodes: most})
			took[i] = time.Since(begun)
			if want := positions[i].verdict; want != "" && results[i].Verdict != eval.Open &&
				results[i].Verdict.String() != want {
				return fmt.Errorf("%v is %v with %s, not %s", positions[i].position, results[i].Verdict, s.text, want)
			}
			return ctx.Err()
		}); err != nil {
			return err
		}
		if first == nil {
			first = results
		}
		var nodes, evaluations uint64
		var nodeRatio, evaluationRatio float64
		var all time.Duration
		open := 0
		for i, r := range results {
			nodes += r.Nodes
			evaluations += r.Evaluations
			all += took[i]
			nodeRatio += math.Log(float64(r.Nodes) / float64(first[i].Nodes))
			evaluationRatio += math.Log(float64(r.Evaluations) / float64(first[i].Evaluations))
			if r.Verdict == eval.Open {
				open++
			}
		}
		n := float64(len(positions))
		fmt.Fprintf(w, "| %s | %d | %d | %.1f | %.3f | %.3f | %d |\n", s.text, nodes, evaluations, all.Seconds(),
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
