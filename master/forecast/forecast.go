// Package forecast estimates the work of a question from short searches.
//
// The work of a proof is a sum over a tree: where the side to move wins, one move has to be searched to
// the end; where it loses, all. [Run] follows random lines through that tree, as Knuth's estimator does
// (Estimating the Efficiency of Backtrack Programs, 1975). Each position on a line gets a short search.
// A solved one ends the line, and its nodes are what the line found. Otherwise the line goes on: after
// the move with the smallest disproof number where the side to move should win, and where it should lose
// after a random move, a hard one more often than an easy one. The proof numbers say how hard a
// move is, and the line counts as many times as its choices were unlikely.
//
// Two things make the sum differ from the real work: positions that are met twice are counted twice, and
// moves that turn out wrong are not counted. [Factor] stands for both. It was measured on small boards.
//
// # How far to believe it
//
// Two things are unknown. One is chance: another seed follows other lines. [Estimate] has bounds
// for that, by drawing lines from those that were followed, again and again. The other is whether
// Factor holds for this board, and no resampling shows that. Forecasts of boards that are known by
// now were wrong by a factor of up to 80, mostly too high. The results page lists each of them.
package forecast

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"math"
	"math/bits"
	"math/rand/v2"
	"slices"

	"amazonsfarm/shared/amazons"
	"amazonsfarm/shared/dfpn"
	"amazonsfarm/shared/eval"
)

// ErrNodes is returned where the nodes do not suffice for two lines.
var ErrNodes = errors.New("too few nodes for a forecast")

// What turns nodes into hours and bytes. deploy/docs/results/forecast.md says where each was measured.
const (
	// Factor is the real work of a question over what the lines find.
	Factor = 1.5
	// NodesPerSecond is what one core expands on boards of 30 squares.
	NodesPerSecond = 80_000
	// BytesPerNode is the size of the parts that a farm keeps.
	BytesPerNode = 3.7
)

// short is the share of all nodes that one search takes at most: a forecast has some hundred searches.
const short = 200

// Options are the settings of [Run]; all are required.
type Options struct {
	Nodes      uint64 // of all searches together
	Seed       uint64
	TableBytes int64
}

// Report is a forecast, also as programs read it: fields may be added, never renamed. Nodes are positions that a
// search expands.
type Report struct {
	MessageType string    `json:"message_type"` // "forecast"
	Board       string    `json:"board"`
	Root        string    `json:"root"`
	Likely      string    `json:"likely"` // won or lost for the side to move, or for the first moves; no proof
	Spent       uint64    `json:"nodes"`  // of the forecast itself
	Seed        uint64    `json:"seed"`
	Solved      bool      `json:"solved,omitempty"` // the first short search solved it
	Won         *Estimate `json:"if_won,omitempty"`
	Lost        *Estimate `json:"if_lost,omitempty"`
}

// Estimate is the work of a proof that the side to move wins, or that it loses.
type Estimate struct {
	Nodes float64 `json:"forecast_nodes"`
	// Low and High hold two thirds of the forecasts that other seeds would give, by resampling the lines.
	Low       float64 `json:"low_nodes"`
	High      float64 `json:"high_nodes"`
	Lines     int     `json:"lines"`
	CoreHours float64 `json:"core_hours"`
	Bytes     float64 `json:"part_bytes"`
}

// String returns the forecast in a few lines for people.
func (r Report) String() string {
	s := fmt.Sprintf("question       %s: seems %s; %d nodes searched, seed %d\n", r.Root, r.Likely, r.Spent, r.Seed)
	if r.Solved {
		return s + "solved         at once\n"
	}
	for _, e := range []struct {
		name string
		*Estimate
	}{{"if won ", r.Won}, {"if lost", r.Lost}} {
		if e.Estimate != nil {
			s += fmt.Sprintf("%s        %.3g nodes, %.3g to %.3g by chance alone: %.3g core hours, "+
				"%.3g bytes of parts; %d lines\n", e.name, e.Nodes, e.Low, e.High, e.CoreHours, e.Bytes, e.Lines)
		}
	}
	return s + "basis          with 400,000 nodes, forecasts of known boards were wrong by factors of up to 80, " +
		"mostly too high\n"
}

// forecaster is a forecast under way.
type forecaster struct {
	board  amazons.Board
	search *dfpn.Searcher
	table  *dfpn.Table
	random *rand.Rand
	each   uint64
}

// Run makes a forecast. With first moves, it is about showing that the best of them wins, or that all of
// them lose. Errors: those of the table, ctx's, ErrNodes.
func Run(ctx context.Context, p amazons.Position, firstMoves []amazons.Move, o Options) (r Report, err error) {
	r = Report{MessageType: "forecast", Board: p.Board.String(), Root: p.String(), Seed: o.Seed}
	f := &forecaster{board: p.Board, random: rand.New(rand.NewPCG(o.Seed, 0)), each: max(1, o.Nodes/short)}
	if f.table, err = dfpn.NewTable(o.TableBytes); err != nil {
		return r, err
	}
	defer f.table.Close()
	f.search = dfpn.New(dfpn.Options{Board: p.Board, Table: f.table})
	root := p.State()
	if len(firstMoves) > 0 {
		best, likely, solved := f.best(ctx, root, firstMoves)
		if r.Likely, r.Solved = likely.String(), solved; !solved {
			r.Won, err = f.estimate(ctx, best, o.Nodes)
		}
		r.Spent = f.search.Nodes()
		return r, err
	}
	first := f.look(ctx, root)
	switch {
	case first.Verdict != eval.Open:
		r.Likely, r.Solved, r.Spent = first.Verdict.String(), true, f.search.Nodes()
		return r, nil
	case first.Phi <= first.Delta:
		r.Likely = eval.Won.String()
	default:
		r.Likely = eval.Lost.String()
	}
	if r.Won, err = f.easiest(ctx, root, o.Nodes/2); err == nil {
		r.Lost, err = f.estimate(ctx, root, o.Nodes)
	}
	r.Spent = f.search.Nodes()
	return r, err
}

// candidates is how many moves of a root that should be won are compared.
const candidates = 8

// easiest estimates the work of the move of a won position that seems to take least. Those with the
// smallest disproof numbers get lines in turns; the half with the smaller means stays, until one is left.
// The first move decides more of the work than all later ones, and a short search chooses it badly.
func (f *forecaster) easiest(ctx context.Context, root amazons.State, until uint64) (*Estimate, error) {
	type candidate struct {
		dfpn.Child
		lines []float64
	}
	f.look(ctx, root)
	var all []*candidate
	for _, c := range f.open(root) {
		all = append(all, &candidate{Child: c})
	}
	slices.SortStableFunc(all, func(a, b *candidate) int { return cmp.Compare(a.Delta, b.Delta) })
	all = all[:min(len(all), candidates)]
	// A move that a short search refutes is none.
	all = slices.DeleteFunc(all, func(c *candidate) bool { return f.look(ctx, c.State).Verdict == eval.Won })
	for ; len(all) > 0; all = all[:len(all)/2] {
		end := f.search.Nodes() + (until-min(until, f.search.Nodes()))/uint64(bits.Len(uint(len(all))))
		for more := true; more && ctx.Err() == nil; more = f.search.Nodes() < end && len(all[0].lines) < mostLines {
			for _, c := range all {
				c.lines = append(c.lines, f.line(ctx, c.State))
			}
		}
		if len(all) == 1 {
			return f.estimated(ctx, all[0].lines)
		}
		slices.SortStableFunc(all, func(a, b *candidate) int { return cmp.Compare(mean(a.lines), mean(b.lines)) })
	}
	return nil, fmt.Errorf("%w: short searches refute every move", ErrNodes)
}

// mostLines bounds the lines of an estimate. Those of a small question take no more than a few nodes each, and
// further ones would tell nothing new.
const mostLines = 5000

// estimate follows lines from a position that should be lost, until so many nodes are spent in all.
func (f *forecaster) estimate(ctx context.Context, root amazons.State, until uint64) (*Estimate, error) {
	var lines []float64
	for f.search.Nodes() < until && len(lines) < mostLines && ctx.Err() == nil {
		lines = append(lines, f.line(ctx, root))
	}
	return f.estimated(ctx, lines)
}

// estimated makes an estimate of lines.
func (f *forecaster) estimated(ctx context.Context, lines []float64) (*Estimate, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	if len(lines) < 2 {
		return nil, fmt.Errorf("%w: %d lines", ErrNodes, len(lines))
	}
	e := &Estimate{Nodes: Factor * mean(lines), Lines: len(lines)}
	e.Low, e.High = f.spread(lines)
	e.CoreHours, e.Bytes = e.Nodes/NodesPerSecond/3600, e.Nodes*BytesPerNode
	return e, nil
}

// look searches a position shortly, from an empty table.
func (f *forecaster) look(ctx context.Context, s amazons.State) dfpn.Result {
	f.table.Clear()
	return f.search.Search(ctx, s, f.each)
}

// best returns the position after the given first move that seems best, whether that move likely wins, and whether
// this is sure: short searches have shown that it wins, or that none of the moves does.
func (f *forecaster) best(ctx context.Context, s amazons.State, moves []amazons.Move) (best amazons.State,
	likely eval.Verdict, solved bool) {
	likely, solved = eval.Lost, true
	least := uint32(math.MaxUint32)
	for _, m := range moves {
		c := s.After(m)
		switch r := f.look(ctx, c); {
		case r.Verdict == eval.Lost:
			return c, eval.Won, true
		case r.Verdict == eval.Open && r.Delta < least:
			best, least, likely, solved = c, r.Delta, eval.Lost, false
			if r.Delta <= r.Phi {
				likely = eval.Won
			}
		}
	}
	return best, likely, solved
}

// open returns the positions after the moves of one that was searched, as far as they are open. Moves that lead to
// one position but for a symmetry are one.
func (f *forecaster) open(s amazons.State) (list []dfpn.Child) {
	met := map[amazons.Key]bool{}
	for _, c := range f.search.Children(s) {
		if k := c.State.CanonicalKey(f.board); c.Verdict == eval.Open && !met[k] {
			met[k] = true
			list = append(list, c)
		}
	}
	return list
}

// line follows one random line from a position that the side to move should lose. It returns the nodes at its end, as
// many times as the choices on it were unlikely.
func (f *forecaster) line(ctx context.Context, s amazons.State) float64 {
	weight := 1.0
	for won := false; ; won = !won {
		r := f.look(ctx, s)
		if r.Verdict != eval.Open || ctx.Err() != nil {
			return weight * float64(max(r.Nodes, 1))
		}
		open := f.open(s)
		if len(open) == 0 {
			return weight * float64(max(r.Nodes, 1))
		}
		var next dfpn.Child
		if won {
			next = slices.MinFunc(open, func(a, b dfpn.Child) int { return cmp.Compare(a.Delta, b.Delta) })
		} else {
			total := 0.0
			for _, c := range open {
				total += float64(c.Phi)
			}
			at := f.random.Float64() * total
			for _, c := range open {
				if next = c; at < float64(c.Phi) {
					break
				}
				at -= float64(c.Phi)
			}
			weight *= total / float64(next.Phi)
		}
		s = next.State
	}
}

// mean returns the arithmetic mean. A few lines carry most of the sum, so it varies a lot by
// chance.
func mean(x []float64) float64 {
	sum := 0.0
	for _, v := range x {
		sum += v
	}
	return sum / float64(len(x))
}

// spread resamples the lines and returns the sixth and the last sixth of the means.
func (f *forecaster) spread(lines []float64) (low, high float64) {
	const rounds = 600
	var means []float64
	for range rounds {
		again := make([]float64, len(lines))
		for i := range again {
			again[i] = lines[f.random.IntN(len(lines))]
		}
		means = append(means, Factor*mean(again))
	}
	slices.Sort(means)
	return means[rounds/6], means[rounds*5/6]
}
