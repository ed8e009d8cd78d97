package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"

	"amazonsfarm/shared/amazons"
	"amazonsfarm/shared/dfpn"
	"amazonsfarm/shared/eval"
)

// setting is a way to search, as compare takes it: the name of initial numbers, and then, after commas, the name of a form of
// sums and any of sum=N, slack=N, widening=N and siblings=N.
type setting struct {
	text    string
	options dfpn.Options // without board and table
}

func parseSetting(text string) (setting, error) {
	out := setting{text: text}
	parts := strings.Split(text, ",")
	initials := []dfpn.Initial{dfpn.Constant, dfpn.Mobility, dfpn.Territory, dfpn.Fitted}
	i := slices.IndexFunc(initials, func(i dfpn.Initial) bool { return i.String() == parts[0] })
	if i < 0 {
		return out, fmt.Errorf("%q is no form of initial numbers: constant, mobility, territory and fitted are", parts[0])
	}
	out.options.Initial = initials[i]
	sums := []dfpn.Sum{dfpn.Discounted, dfpn.Weak, dfpn.Branch, dfpn.Grouped}
	numbers := map[string]*int{"sum": &out.options.SumWeight, "slack": &out.options.Slack, "widening": &out.options.Widening, "siblings": &out.options.Siblings}
	for _, part := range parts[1:] {
		if i := slices.IndexFunc(sums, func(s dfpn.Sum) bool { return s.String() == part }); i >= 0 {
			out.options.Sum = sums[i]
			continue
		}
		key, value, _ := strings.Cut(part, "=")
		if numbers[key] == nil {
			return out, fmt.Errorf("%q is no setting: discounted, weak, branch, grouped, sum=N, slack=N, widening=N and siblings=N are", part)
		}
		n, err := strconv.Atoi(value)
		if err != nil {
			return out, fmt.Errorf("%q is no setting: %w", part, err)
		}
		*numbers[key] = n
	}
	return out, nil
}

// effort is what one search took.
type effort struct {
	verdict            eval.Verdict
	nodes, evaluations uint64
	took               time.Duration
}

// comparison is a table with a row for each setting. Ratios are geometric means over the positions, against the first row.
type comparison struct {
	first []effort
}

// print prints the row of a setting, whose searches took what is given, and before the first row the head of the table.
func (c *comparison) print(w io.Writer, name string, efforts []effort) {
	if c.first == nil {
		c.first = efforts
		fmt.Fprintf(w, "| numbers | nodes | evaluations | seconds of search | nodes, ratio | evaluations, ratio | unsolved |\n| --- | --- | --- | --- | --- | --- | --- |\n")
	}
	var nodes, evaluations uint64
	var nodeRatio, evaluationRatio float64
	var all time.Duration
	open := 0
	for i, e := range efforts {
		nodes += e.nodes
		evaluations += e.evaluations
		all += e.took
		nodeRatio += math.Log(float64(e.nodes) / float64(c.first[i].nodes))
		evaluationRatio += math.Log(float64(e.evaluations) / float64(c.first[i].evaluations))
		if e.verdict == eval.Open {
			open++
		}
	}
	n := float64(len(efforts))
	fmt.Fprintf(w, "| %s | %d | %d | %.1f | %.3f | %.3f | %d |\n", name, nodes, evaluations, all.Seconds(), math.Exp(nodeRatio/n), math.Exp(evaluationRatio/n), open)
}

// check returns an error if a verdict found with a setting is not the position's.
func (p suitePosition) check(got eval.Verdict, setting string) error {
	if p.verdict != "" && got != eval.Open && got.String() != p.verdict {
		return fmt.Errorf("%v is %v with %s, not %s", p.position, got, setting, p.verdict)
	}
	return nil
}

// compare solves all positions with each setting, one thread each and two positions at a time, and prints a table.
func compare(ctx context.Context, positions []suitePosition, settings []setting, most uint64, tableBytes int64, w io.Writer) error {
	var rows comparison
	for _, s := range settings {
		efforts := make([]effort, len(positions))
		if err := inParallel(ctx, tableBytes, len(positions), func(table *dfpn.Table, i int) error {
			options := s.options
			options.Board, options.Table = positions[i].position.Board, table
			search, err := dfpn.New(options)
			if err != nil {
				return err
			}
			begun := time.Now()
			r := search.Search(ctx, positions[i].position.State(), dfpn.Limit{Nodes: most})
			efforts[i] = effort{r.Verdict, r.Nodes, r.Evaluations, time.Since(begun)}
			return errors.Join(positions[i].check(r.Verdict, s.text), ctx.Err())
		}); err != nil {
			return err
		}
		rows.print(w, s.text, efforts)
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
