package main

import (
	"context"
	"encoding/json"
	"fmt"
	"time"

	"amazonsfarm/shared/amazons"
	"amazonsfarm/shared/cli"
	"amazonsfarm/shared/dfpn"
	"amazonsfarm/shared/eval"

	"github.com/spf13/cobra"
)

// benchTable is the size of the table of bench. It is part of what the signature depends on.
const benchTable = 64 << 20

// benchPositions are what bench searches, each in an empty table until it is
// solved or the budget is spent. Openings, a hard reply, then positions from random games.
var benchPositions = []struct {
	position string
	nodes    uint64
}{
	{"4x4", 100_000},
	{"5x4", 100_000},
	{"4x5", 50_000},
	{"5x5", 50_000},
	{"4x6", 50_000},
	{"6x4", 50_000},
	// After B1-B4xD4, the first player's winning move on 5x6 (Song and Müller 2014).
	{".B.B./B...B/.W.x./...../W...W/...W. b", 30_000},
	{"6x6", 20_000},
	{"xxx.../B..Bxx/.x.B.B/..WWxW/x...W. w", 30_000},
	{".x..Bx/Bx.WW./...Bxx/Bxx.x./.xx.../.xW.Wx w", 40_000},
	{"....x.B./B.xxB.xB/.xWx.xW./.WW.x... w", 40_000},
}

// benchResult is the answer of bench as JSON.
type benchResult struct {
	MessageType    string       `json:"message_type"` // "bench"
	Cores          int          `json:"cores"`
	Nodes          uint64       `json:"nodes"` // in all: with one core, the signature of the build
	Evaluations    uint64       `json:"evaluations"`
	Seconds        float64      `json:"seconds"`
	NodesPerSecond float64      `json:"nodes_per_second"`
	Positions      []benchEntry `json:"positions"`
}

type benchEntry struct {
	Position    string  `json:"position"`
	Budget      uint64  `json:"budget"`
	Verdict     string  `json:"verdict"` // won, lost or open, for the side to move
	Nodes       uint64  `json:"nodes"`
	Evaluations uint64  `json:"evaluations"`
	Seconds     float64 `json:"seconds"`
}

func benchCommand() *cobra.Command {
	var asJSON bool
	var cores int
	c := &cobra.Command{
		Use:   "bench",
		Short: "Search fixed positions; the number of nodes is the signature of the build",
		Long: `bench searches fixed positions, each in an empty table of 64 MiB. With one core the number of nodes is the same on
every run and machine: two builds with the same number search alike. With more cores it varies.`,
		Args: cobra.NoArgs,
		RunE: func(c *cobra.Command, _ []string) error {
			if cores < 1 || cores > dfpn.MaxThreads {
				return cli.Usagef("--cores %d: it must be from 1 to %d", cores, dfpn.MaxThreads)
			}
			ctx, _, stop := cli.Signals(c.Context())
			defer stop()
			r, err := bench(ctx, cores)
			if err != nil {
				return exitCode(err)
			}
			out := c.OutOrStdout()
			if asJSON {
				return json.NewEncoder(out).Encode(r)
			}
			for _, p := range r.Positions {
				fmt.Fprintf(out, "%-42s %-4s %9d nodes %10d evaluations %6.2f s\n", p.Position, p.Verdict, p.Nodes, p.Evaluations, p.Seconds)
			}
			_, err = fmt.Fprintf(out, "%d nodes, %d evaluations, %.2f s, %.0f nodes/s, %.0f evaluations/s\n",
				r.Nodes, r.Evaluations, r.Seconds, r.NodesPerSecond, float64(r.Evaluations)/r.Seconds)
			return err
		},
	}
	c.Flags().BoolVar(&asJSON, "json", false, "print one JSON document")
	c.Flags().IntVar(&cores, "cores", 1, "threads of each search")
	return c
}

func bench(ctx context.Context, cores int) (benchResult, error) {
	out := benchResult{MessageType: "bench", Cores: cores}
	s, err := newSolver(benchTable, cores, nil)
	if err != nil {
		return out, err
	}
	defer s.close()
	for _, b := range benchPositions {
		p, err := amazons.ParsePosition(b.position)
		if err != nil {
			return out, err
		}
		search, err := s.searcher(p.Board)
		if err != nil {
			return out, err
		}
		begun := time.Now()
		e := benchEntry{Position: b.position, Budget: b.nodes}
		var r dfpn.Result
		for r.Verdict == eval.Open && e.Nodes < b.nodes && ctx.Err() == nil {
			r = search.Search(ctx, p.State(), dfpn.Limit{Nodes: b.nodes - e.Nodes})
			e.Nodes += r.Nodes
			e.Evaluations += r.Evaluations
		}
		if ctx.Err() != nil {
			return out, ctx.Err()
		}
		e.Seconds, e.Verdict = time.Since(begun).Seconds(), r.Verdict.String()
		out.Positions = append(out.Positions, e)
		out.Nodes += e.Nodes
		out.Evaluations += e.Evaluations
		out.Seconds += e.Seconds
	}
	out.NodesPerSecond = float64(out.Nodes) / out.Seconds
	return out, nil
}
