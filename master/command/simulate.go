package command

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"math"
	"os"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"amazonsfarm/master/campaign"
	"amazonsfarm/master/simulate"
	"amazonsfarm/shared/amazons"
	"amazonsfarm/shared/cli"
	"amazonsfarm/shared/disk"
	"amazonsfarm/worker/agent"
)

// hintEntries is how many table entries a virtual worker sends with an unsolved position. Half of a
// real worker's 4,096: the tables here are smaller (deploy/docs/results/simulate.md).
const hintEntries = 2048

// simulateFlags are what a simulation is told.
type simulateFlags struct {
	evidence          bool // extraction and checks take time, as measured
	moves             []string
	workers           []int
	config            simulate.Config
	settings          *settings
	record, svg, name string
	asJSON            *bool
	table, tables     cli.Size
}

// simulateCommand is flags, validate and start, like serve. Its settings are those of a master, so that
// what a simulation finds can be served as it is.
func simulateCommand() *cobra.Command {
	f := &simulateFlags{settings: newSettings(), table: 16 << 20, tables: 1 << 30}
	f.settings.farm.Tree.CheckFirst = 0 // all workers are our own
	c := &cobra.Command{
		Use:   "simulate BOARD|POSITION",
		Short: "Run farms of virtual workers in virtual time, and measure their efficiency",
		Long:  help.Long("simulate"),
		Example: `  master simulate 4x5 --workers 1,4,16,64,256 --scale 1000 --initial-budget 200000 \
    --delay 20ms --svg 4x5.svg`,
		Args: cobra.ExactArgs(1),
		RunE: cli.Interruptible(func(ctx context.Context, c *cobra.Command, args []string) error {
			if err := f.validate(c.ErrOrStderr(), args[0]); err != nil {
				return err
			}
			f.name = cmp.Or(f.name, strings.Join(append(args, f.moves...), " "))
			return f.start(ctx, c)
		}),
	}
	x, flags := &f.config, c.Flags()
	flags.StringArrayVar(&f.moves, "first-move", nil, "try only this `MOVE` at the root; may be repeated")
	flags.BoolVar(&x.Lemma, "lemma", false, "judge positions by the counting lemma alone: faster, more nodes")
	flags.Uint64Var(&x.MaxNodes, "nodes", 0, "give up a run after `NODES`, not scaled (exit code 3; default: never)")
	flags.IntSliceVar(&f.workers, "workers", []int{1, 4, 16, 64}, "run `N,...` workers; 1 is always among them")
	flags.Lookup("workers").DefValue = "1,4,16,64"
	cli.Ranged(flags, flags.Float64Var, "speed", &x.Speed, 50_000, 1, 1e12, "search `N` nodes a second in each worker")
	cli.Ranged(flags, flags.Float64Var, "speed-spread", &x.SpeedSpread, 0, 0, 1000,
		"let workers differ by `X`; 1: from half to twice the middle (default 0)")
	flags.Var(&f.table, "table", "give each worker a table of `SIZE`, not scaled")
	flags.Var(&f.tables, "tables", "limit the tables of all workers together to `SIZE`")
	flags.BoolVar(&x.SharedTable, "shared-table", false, "share one table among all workers, as a bound")
	cli.Ranged(flags, flags.IntVar, "prefetch", &x.PrefetchPercent, agent.PrefetchPercent, 0, 100,
		"ask early where the wait takes `N` percent of a lease (0: never)")
	flags.DurationVar(&x.Delay, "delay", 0, "let a message travel for `TIME` one way (default 0)")
	cli.Ranged(flags, flags.Float64Var, "loss-rate", &x.LossRate, 0, 0, 0.5,
		"lose a message, and its connection, with chance `P` (default 0)")
	cli.Ranged(flags, flags.Float64Var, "crash-rate", &x.CrashRate, 0, 0, 3600,
		"let a worker crash `N` times in an hour (default 0)")
	flags.BoolVar(&f.evidence, "evidence", true, "count the time of evidence and its checks")
	flags.Uint64Var(&x.Seed, "seed", 1, "start all chance from `N`")
	cli.Ranged(flags, flags.Uint64Var, "scale", &x.Scale, 100, 1, math.MaxInt64, "let one searched node stand for `N`")
	flags.StringVar(&f.record, "record", "", "keep finished runs in `FILE` and do not repeat them")
	flags.StringVar(&f.svg, "svg", "", "draw the curve into `FILE`")
	flags.StringVar(&f.name, "title", "", "call the picture `TITLE` (default: the question)")
	f.asJSON = cli.JSONFlag(c)
	f.settings.addTo(flags, "initial-budget", "max-budget", "tree-positions")
	cli.Group(flags, "Question", "first-move", "lemma", "nodes")
	cli.Group(flags, "Workers", "workers", "speed", "speed-spread", "table", "tables", "shared-table", "prefetch")
	cli.Group(flags, "World", "delay", "loss-rate", "crash-rate", "evidence", "seed", "scale")
	cli.Group(flags, "Files", "record", "svg", "title", "config")
	cli.Group(flags, "Work", "initial-budget", "max-budget", "tree-positions")
	return c
}

// validate refuses what cannot be simulated and completes the settings. It warns on w where the
// first leases are so short that many workers look better than they are.
// Nothing is divided by Scale here: the settings are those of the farm that is meant, and the package
// simulate divides them.
func (f *simulateFlags) validate(w io.Writer, question string) error {
	q, err := parseQuestion("", question, f.moves, amazons.Position.CheckQueens)
	if err != nil {
		return err
	}
	for _, n := range f.workers {
		if n < 1 || n > maxCores {
			return cli.Usagef("--workers %d: it must be from 1 to %d", n, maxCores)
		}
	}
	if err := errors.Join(f.settings.read(), checkTable("--tables "+f.tables.String(), int64(f.tables), 1),
		cli.CheckOutput("--svg ", f.svg), cli.CheckOutput("--record ", f.record)); err != nil {
		return err
	}
	o, c := &f.settings.farm, &f.config
	o.Tree.Root, o.Tree.FirstMoves, o.Tree.ResultsPerTick = q.root, q.firstMoves, o.Results
	o.Tree.SilentTicks = cmp.Or(o.Tree.SilentTicks, campaign.Silence)
	c.Tree = o.Tree.WithDefaults()
	if f.evidence {
		c.ExtractShare, c.CheckShare = simulate.ExtractShare, simulate.CheckShare
	}
	c.TableBytes, c.TablesBytes, c.HintBytes = int64(f.table), int64(f.tables), o.Loop.HintBytes
	c.HintEntries = hintEntries
	if first := c.Tree.InitialBudget / c.Scale; first < simulate.ShortLease {
		fmt.Fprintf(w, "first leases search %d nodes each (--initial-budget %d over --scale %d): below %d nodes even "+
			"one worker searches more than it would by itself, so many workers look better than they are\n",
			first, c.Tree.InitialBudget, c.Scale, simulate.ShortLease)
	}
	return nil
}

// start runs the farms and prints their curve.
func (f *simulateFlags) start(ctx context.Context, cmd *cobra.Command) error {
	kept, err := simulate.OpenRecord(f.record)
	if err != nil {
		return fmt.Errorf("open record: %w", err)
	}
	line, began := cli.NewStatusLine(cmd.ErrOrStderr()), time.Now()
	hide := line.Show(ctx, func() string { return fmt.Sprintf("simulating: %.0f s", time.Since(began).Seconds()) })
	curve, err := simulate.Draw(ctx, f.config, f.workers, kept, func(c simulate.Curve) {
		r, checked := c.Runs[len(c.Runs)-1], ""
		if r.Confirmed+r.Contradicted > 0 {
			checked = fmt.Sprintf("; %d results confirmed, %d contradicted", r.Confirmed, r.Contradicted)
		}
		fmt.Fprintf(line, "%s: efficiency %.3f, %s%s\n", cli.Counted(r.Workers, "worker"),
			simulate.Efficiency(c.Runs[0], r), r.Answer, checked)
	})
	hide()
	if err != nil && ctx.Err() != nil {
		return cli.As(cli.ErrInterrupted, nil)
	}
	if err != nil {
		return err
	}
	if err := cli.Answer(cmd, *f.asJSON, curve, curve.String()); err != nil || f.svg == "" {
		return err
	}
	return disk.Replace(f.svg, 0o644, func(file *os.File) error { return curve.WriteSVG(file, f.name) })
}
