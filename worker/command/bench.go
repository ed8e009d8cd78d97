package command

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"sync/atomic"
	"time"

	"amazonsfarm/shared/amazons"
	"amazonsfarm/shared/cli"
	"amazonsfarm/shared/dfpn"
	"amazonsfarm/shared/eval"

	"github.com/spf13/cobra"
)

// maxBenchRuns is the largest number of runs of bench: hours.
const maxBenchRuns = 1000

// benchResult is the answer of bench as JSON. The figures outside Scaling are those of one thread.
type benchResult struct {
	MessageType string `json:"message_type"` // "bench"
	Cores       int    `json:"cores"`        // of the figures outside scaling: 1
	Runs        int    `json:"runs"`
	TableBytes  int64  `json:"table_bytes"`
	Signature   uint64 `json:"signature"` // the nodes of one thread in all
	benchFigures
	Scaling []benchScaling `json:"scaling,omitempty"` // with more than one core asked for
}

// benchFigures are the figures of the suite: medians over the runs for each position, and the sums
// of these.
type benchFigures struct {
	Nodes          uint64       `json:"nodes"`
	Evaluations    uint64       `json:"evaluations"`
	Seconds        float64      `json:"seconds"`
	NodesPerSecond float64      `json:"nodes_per_second"`
	Positions      []benchEntry `json:"positions"`
}

// benchEntry holds the figures of one position.
type benchEntry struct {
	Name           string  `json:"name"`
	Position       string  `json:"position"`
	Winner         string  `json:"winner"` // first or second, or white or black where it is not a starting position
	Nodes          uint64  `json:"nodes"`
	Evaluations    uint64  `json:"evaluations"`
	Seconds        float64 `json:"seconds"`
	NodesPerSecond float64 `json:"nodes_per_second"`
}

// benchScaling compares a number of threads with one.
type benchScaling struct {
	Cores        int     `json:"cores"`
	Speedup      float64 `json:"speedup"`       // seconds of one thread over these
	NodeOverhead float64 `json:"node_overhead"` // nodes over those of one thread
	benchFigures
}

func benchCommand() *cobra.Command {
	var asJSON bool
	var cores, runs int
	table := cli.TableSize{Bytes: benchTable}
	c := &cobra.Command{
		Use:   "bench",
		Short: "Search fixed positions; the number of nodes is the signature of the build",
		Long:  help.Long("bench"),
		Args:  cobra.NoArgs,
		RunE: cli.Interruptible(func(ctx context.Context, c *cobra.Command, _ []string) error {
			if err := checkTable(&table, c.ErrOrStderr()); err != nil {
				return err
			}
			r, err := benchShown(ctx, c.ErrOrStderr(), benchJob{benchPositions, table.Bytes, threadCounts(cores), runs})
			if err != nil {
				return err
			}
			return show(c, asJSON, r)
		}),
	}
	jsonFlag(c, &asJSON)
	cli.Ranged(c.Flags(), c.Flags().IntVar, "cores", &cores, 1, 1, dfpn.MaxThreads, "search with up to `N` threads")
	cli.Ranged(c.Flags(), c.Flags().IntVar, "runs", &runs, 1, 1, maxBenchRuns,
		"search the suite `N` times with each number of threads")
	c.Flags().Var(&table, "table", "use a table of `SIZE`, "+cli.TableHelp)
	return c
}

// threadCounts returns 1, 2, 4, ... and most.
func threadCounts(most int) []int {
	var counts []int
	for n := 1; n < most; n *= 2 {
		counts = append(counts, n)
	}
	return append(counts, most)
}

// benchJob is what to search and how.
// The first number of threads is the one that the others are compared with, and its nodes are the
// signature. So it is always 1.
type benchJob struct {
	suite      []benchPosition
	tableBytes int64
	threads    []int // the first is 1
	runs       int
}

// benchShown runs a job and shows on w how far it is.
func benchShown(ctx context.Context, w io.Writer, job benchJob) (benchResult, error) {
	var doing atomic.Pointer[string]
	note := func(text string) { doing.Store(&text) }
	note("starting")
	hide := cli.NewStatusLine(w).Show(ctx, func() string { return *doing.Load() })
	defer hide()
	return bench(ctx, job, note)
}

// bench runs a job, the numbers of threads in turn in every run, and calls note before each search.
// Errors wrap cli.ErrVerification where a winner is wrong; where one thread did not repeat itself, they say
// so.
func bench(ctx context.Context, job benchJob, note func(string)) (benchResult, error) {
	// All numbers of threads have a turn in each run. A machine that is slow for a while then spoils one
	// run of each, and not all runs of one.
	measured := make([][][]benchEntry, len(job.threads)) // by number of threads, position, run
	for i := range measured {
		measured[i] = make([][]benchEntry, len(job.suite))
	}
	for run := range job.runs {
		for i, threads := range job.threads {
			s, err := newSolver(job.tableBytes, threads, nil)
			if err != nil {
				return benchResult{}, err
			}
			for j, p := range job.suite {
				note(fmt.Sprintf("run %d of %d, %s, %s", run+1, job.runs, cli.Counted(threads, "thread"), p.name))
				var e benchEntry
				if e, err = s.bench(ctx, p); err != nil {
					// The loop ends here and not the function: the solver has to be closed first.
					break
				}
				if all := measured[i][j]; threads == 1 && run > 0 && e.Nodes != all[0].Nodes {
					err = fmt.Errorf("node counts of one thread differ between runs: %s: %d, then %d", p.name,
						all[0].Nodes, e.Nodes)
					break
				}
				measured[i][j] = append(measured[i][j], e)
			}
			if err = errors.Join(err, s.close()); err != nil {
				return benchResult{}, err
			}
		}
	}
	out := benchResult{MessageType: "bench", Cores: 1, Runs: job.runs, TableBytes: job.tableBytes,
		benchFigures: summarize(measured[0])}
	out.Signature = out.Nodes
	for i, threads := range job.threads[1:] {
		f := summarize(measured[1+i])
		out.Scaling = append(out.Scaling, benchScaling{threads, out.Seconds / f.Seconds,
			float64(f.Nodes) / float64(out.Nodes), f})
	}
	return out, nil
}

// bench searches one position in an empty table.
// Emptying the table is not in its seconds.
func (s *solver) bench(ctx context.Context, b benchPosition) (benchEntry, error) {
	e := benchEntry{Name: b.name, Position: b.position}
	p, err := amazons.ParsePosition(b.position)
	if err != nil {
		return e, err
	}
	search, err := s.searcher(p.Board)
	if err != nil {
		return e, err
	}
	begun := time.Now()
	r := search.Search(ctx, p.State(), 0)
	e.Seconds = time.Since(begun).Seconds()
	if r.Verdict == eval.Open {
		return e, ctx.Err()
	}
	e.Nodes, e.Evaluations, e.NodesPerSecond = r.Nodes, r.Evaluations, float64(r.Nodes)/e.Seconds
	e.Winner = cli.WinnerName(p, r.Verdict)
	if e.Winner != b.winner {
		return e, cli.As(cli.ErrVerification, fmt.Errorf(
			"verification failed: %s, %s: the search says that %s wins, but %s does", b.name, b.position, e.Winner,
			b.winner))
	}
	return e, nil
}

// summarize takes the medians over the runs of each position.
// The sums are of these medians. So they need not be those of any one run.
func summarize(positions [][]benchEntry) benchFigures {
	var f benchFigures
	for _, runs := range positions {
		e := runs[0]
		e.Nodes = median(runs, func(e benchEntry) uint64 { return e.Nodes })
		e.Evaluations = median(runs, func(e benchEntry) uint64 { return e.Evaluations })
		e.Seconds = median(runs, func(e benchEntry) float64 { return e.Seconds })
		e.NodesPerSecond = float64(e.Nodes) / e.Seconds
		f.Positions = append(f.Positions, e)
		f.Nodes += e.Nodes
		f.Evaluations += e.Evaluations
		f.Seconds += e.Seconds
	}
	f.NodesPerSecond = float64(f.Nodes) / f.Seconds
	return f
}

// median returns the middle value; of two, their mean.
func median[T uint64 | float64](runs []benchEntry, value func(benchEntry) T) T {
	var all []T
	for _, e := range runs {
		all = append(all, value(e))
	}
	slices.Sort(all)
	n := len(all)
	return (all[(n-1)/2] + all[n/2]) / 2
}

// String is the result for people.
func (r benchResult) String() string {
	const row = "%-14s %-7s %9d %12d %8.2f %9.0f\n"
	var s strings.Builder
	fmt.Fprintf(&s, "%-14s %-7s %9s %12s %8s %9s\n", "position", "winner", "nodes", "evaluations", "seconds", "nodes/s")
	for _, p := range r.Positions {
		fmt.Fprintf(&s, row, p.Name, p.Winner, p.Nodes, p.Evaluations, p.Seconds, p.NodesPerSecond)
	}
	fmt.Fprintf(&s, row, "all", "", r.Nodes, r.Evaluations, r.Seconds, r.NodesPerSecond)
	for _, t := range r.Scaling {
		fmt.Fprintf(&s, "%d threads: %.2f s, %.2f times as fast as one; %d nodes, %.3f times those of one\n", t.Cores,
			t.Seconds, t.Speedup, t.Nodes, t.NodeOverhead)
	}
	fmt.Fprintf(&s, "signature %d (one thread, table of %s)\n", r.Signature, cli.FormatSize(r.TableBytes))
	return s.String()
}
