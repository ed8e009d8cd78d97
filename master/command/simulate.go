package command

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"strings"

	"github.com/spf13/cobra"

	"amazonsfarm/master/hints"
	"amazonsfarm/master/simulate"
	"amazonsfarm/master/tree"
	"amazonsfarm/shared/cli"
	"amazonsfarm/worker/agent"
)

func simulateCommand() *cobra.Command {
	var (
		moves             []string
		workers           []int
		c                 = simulate.Config{Tree: tree.Config{}.WithDefaults()}
		record, svg, name string
		asJSON            bool
		table, tables     = cli.Size(16 << 20), cli.Size(1 << 30)
		room              = cli.Size(hints.DefaultBytes)
	)
	cmd := &cobra.Command{
		Use:   "simulate BOARD|POSITION",
		Short: "Run farms of many virtual workers in virtual time, and show how much of them is put to use",
		Long: `simulate solves a position once for each number of workers, with the tree that a master runs and with jobs that are really
searched, one after the other, but in virtual time. It prints, for each number of workers, the parallel efficiency: the virtual time of one worker over
the number of workers times theirs. Search overhead, waiting and network delays all count against it.

One searched node stands for --scale nodes of a longer campaign; all settings in nodes and the speed are those of that campaign. The same seed gives
the same run. The answers are not proved and nothing is stored.

Columns: nodes searched by all; overhead, these over those of one worker; share of them that was for positions of the proof (needed); shares of
the workers' time in which they searched (busy) or had asked for work that there was not (starved); share of nodes in leases called back since
their position was closed.

` + cli.ExitHelp,
		Example: "  master simulate 4x5 --workers 1,4,16,64,256,1024 --scale 1000 --initial-budget 200000 --delay 20ms --svg 4x5.svg",
		Args:    cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			q, err := parseQuestion(args[0], moves)
			if err != nil {
				return err
			}
			for _, n := range workers {
				if err := checkCores("workers", n); err != nil {
					return err
				}
			}
			c.Tree.Root, c.Tree.FirstMoves = q.root, q.firstMoves
			c.TableBytes, c.TablesBytes, c.MemoryBytes = int64(table), int64(tables), int64(room)
			if err := checkTable(int64(tables), 1); err != nil {
				return err
			}
			if first := c.Tree.InitialBudget / max(1, c.Scale); first < simulate.ShortLease {
				fmt.Fprintf(cmd.ErrOrStderr(), "first leases search %d nodes each (--initial-budget %d over --scale %d): with less than %d even one worker searches more than it would by itself, so that many look better than they are\n",
					first, c.Tree.InitialBudget, c.Scale, simulate.ShortLease)
			}
			kept := new(simulate.Record)
			if record != "" {
				if kept, err = simulate.OpenRecord(record); err != nil {
					return fmt.Errorf("open record: %w", err)
				}
			}
			ctx, _, stop := cli.Signals(cmd.Context())
			defer stop()
			curve, err := simulate.Draw(ctx, c, workers, kept, func(c simulate.Curve) {
				r := c.Runs[len(c.Runs)-1]
				fmt.Fprintf(cmd.ErrOrStderr(), "%d workers: efficiency %.3f, %s", r.Workers,
					simulate.Efficiency(c.Runs[0], r), r.Answer)
				if r.Confirmed+r.Contradicted > 0 {
					fmt.Fprintf(cmd.ErrOrStderr(), "; %d results confirmed, %d contradicted", r.Confirmed,
						r.Contradicted)
				}
				fmt.Fprintln(cmd.ErrOrStderr())
			})
			switch {
			case errors.Is(err, simulate.ErrConfig) || errors.Is(err, tree.ErrConfig):
				return cli.Usagef("%w", err)
			case ctx.Err() != nil:
				return cli.As(cli.ErrInterrupted, nil)
			case errors.Is(err, simulate.ErrLimit):
				return cli.As(cli.ErrLimit, err)
			case err != nil:
				return err
			}
			if svg != "" {
				if name == "" {
					name = strings.Join(append([]string{args[0]}, moves...), " ")
				}
				f, err := os.Create(svg)
				if err != nil {
					return err
				}
				if err := errors.Join(curve.WriteSVG(f, name), f.Close()); err != nil {
					return err
				}
			}
			if asJSON {
				return json.NewEncoder(cmd.OutOrStdout()).Encode(curve)
			}
			return curve.WriteTable(cmd.OutOrStdout())
		},
	}
	flags := cmd.Flags()
	flags.StringArrayVar(&moves, "first-move", nil, "try only this move at the root; may be given several times")
	flags.IntSliceVar(&workers, "workers", []int{1, 4, 16, 64}, "numbers of virtual workers; 1 is always among them")
	flags.Uint64Var(&c.Seed, "seed", 1, "seed of all chance")
	flags.Uint64Var(&c.Scale, "scale", 100, "nodes that one searched node stands for")
	flags.Float64Var(&c.Speed, "speed", 50_000, "nodes that a worker searches in a second")
	flags.Float64Var(&c.SpeedSpread, "speed-spread", 0, "how different workers are: 1 means half to twice the middle")
	flags.DurationVar(&c.Delay, "delay", 0, "time a message travels one way")
	flags.Float64Var(&c.LossRate, "loss-rate", 0, "chance of a message to be lost, which breaks the worker's connection for a second")
	flags.Float64Var(&c.CrashRate, "crash-rate", 0,
		"crashes of a worker in an hour; it comes back after ten seconds, with an empty table")
	flags.Uint64Var(&c.Slice, "slice", 0, "nodes that a worker searches between two looks at its messages, 0: the initial budget")
	flags.Var(&table, "table", "transposition table of one worker (not scaled)")
	flags.BoolVar(&c.SharedTable, "shared-table", false,
		"one table for all workers, as if all knew at once what one finds: a bound")
	flags.Var(&tables, "tables", "transposition tables of all workers together: those of many workers are smaller")
	flags.IntVar(&c.MemoryEntries, "memory-entries", 2048,
		"table entries that travel with an unsolved position (not scaled)")
	flags.Var(&room, "memories", "the master's room for what travels with unsolved positions (not scaled); smaller: more is searched again when another worker goes on")
	flags.IntVar(&c.PrefetchPercent, "prefetch", agent.PrefetchPercent,
		"percent of a lease's time that the wait for the next one may take before a worker asks for it early, 0: never early")
	flags.BoolVar(&c.Lemma, "lemma", false, "judge positions by the counting lemma alone: faster, with more nodes")
	flags.Uint64Var(&c.MaxNodes, "nodes", 0, "give up a run after so many searched nodes (not scaled), 0: never (exit code 3)")
	flags.Uint64Var(&c.Tree.InitialBudget, "initial-budget", c.Tree.InitialBudget, "nodes of a position's first lease")
	flags.IntVar(&c.Tree.ProbePercent, "probe-percent", c.Tree.ProbePercent,
		"percent of the initial budget that the first lease of a position has at least, where others are more likely to be needed and there is more than one worker")
	flags.IntVar(&c.Tree.CheckFirst, "check-first", 0,
		"results of a new worker that another one has to confirm, 0: none are checked")
	flags.Uint64Var(&c.Tree.MaxBudget, "max-budget", c.Tree.MaxBudget, "most nodes of one lease")
	flags.Uint64Var(&c.Tree.SplitAfter, "split-after", c.Tree.SplitAfter, "nodes spent on a position until it is split")
	flags.IntVar(&c.MaxFacts, "facts-per-message", 256, "most facts that a worker sends at a time")
	flags.IntVar(&c.Tree.MaxPositions, "tree-nodes", c.Tree.MaxPositions,
		"positions in the tree at most (not scaled); with each eighth of them positions have to be searched for longer until they are split")
	flags.IntVar(&c.Tree.ResultsPerTick, "results", c.Tree.ResultsPerTick,
		"results a second beyond which leases get longer")
	flags.StringVar(&record, "record", "", "file that keeps finished runs: those in it are not repeated")
	flags.StringVar(&svg, "svg", "", "draw the curve into this file")
	flags.StringVar(&name, "title", "", "title of the picture (default: the question)")
	flags.BoolVar(&asJSON, "json", false, "answer as one JSON document")
	return cmd
}
