// Command throughput loads a real master with synthetic workers: it starts "master serve" as a
// process of its own, connects workers to it by gRPC over TCP, has them answer leases with made-up
// open results after some time, and tells what the master made of it. scripts/throughput builds and
// runs it.
package main

import (
	"cmp"
	"context"
	"fmt"
	"io"
	"os"
	"time"

	"amazonsfarm/scripts/lab/farm"
	"amazonsfarm/shared/amazons"
	"amazonsfarm/shared/cli"

	"github.com/spf13/cobra"
)

func main() {
	ctx, _, stop := cli.Signals(context.Background())
	code := cli.Execute(ctx, command(), os.Args[1:], os.Stdin, os.Stdout, os.Stderr)
	stop()
	os.Exit(code)
}

// settings are the command line.
type settings struct {
	master      string // the program
	board       string
	workers     int
	connections int // 0: one for each worker
	work        time.Duration
	stretch     uint64 // how many times as long leases may be as they are at first
	returns     uint64 // results of a leaf until it is split
	results     uint64
	positions   int
	parts       int64 // prepared for the workers, one a result; 0: results bring none
	limit       time.Duration
	window      time.Duration
	store       string
	floor       float64
	latest      time.Duration
	refused     float64 // percent
	dearer      float64
	pace        int      // results a second that the master is to have, 0: its default
	serveFlags  []string // more of the master's command line
}

func command() *cobra.Command {
	var s settings
	c := &cobra.Command{
		Use:   "throughput [--workers N] [--results N] [--positions N] [-- FLAG...]",
		Short: "How many results a second a master takes in, and what each costs as its tree grows",
		Long: `throughput starts "master serve" as a process of its own with a new store and connects
synthetic workers to it, by gRPC over TCP on this machine. Each joins, asks for a lease,
keeps it for about the time of --work, with a heartbeat a second, and brings an open
result with arbitrary numbers for the position and for each position after it; nothing
is searched. So the tree grows as in a campaign that settles nothing. What the master
costs is told apart from what the workers cost, which share its processors.

A result counts when its acknowledgement has come. In the end the master is killed
(SIGKILL), and its store has to hold all the nodes of what was acknowledged. What
follows -- goes to "master serve" as it is.

` + cli.ExitHelp,
		RunE: func(c *cobra.Command, args []string) error {
			s.serveFlags = args
			if err := s.validate(); err != nil {
				return err
			}
			return s.run(c.Context(), c.OutOrStdout(), c.ErrOrStderr())
		},
	}
	f := c.Flags()
	f.StringVar(&s.master, "master", "", "the master's program")
	f.StringVar(&s.board, "board", "6x6", "board of the campaign")
	f.IntVar(&s.workers, "workers", 5000, "workers")
	f.IntVar(&s.connections, "connections", 0, "connections that they share, 0: one for each, as in a farm; at "+
		"most 200 workers on each")
	f.DurationVar(&s.work, "work", 2*time.Second, "time a worker spends on a lease, half of it to one and a half")
	f.Uint64Var(&s.stretch, "stretch", 1, "how many times as long the master may make leases where more results "+
		"come than it is to take in; a worker then needs as much longer; beyond 1 only with --returns 1")
	f.IntVar(&s.pace, "pace", 0, "results a second above which the master makes leases longer, 0: its default")
	f.Uint64Var(&s.returns, "returns", 8, "results of a position until it is split; 8 is what the master's own "+
		"settings come to")
	f.Uint64Var(&s.results, "results", 100_000, "end after so many results, 0: never")
	f.IntVar(&s.positions, "positions", 0, "end when the tree has so many positions, 0: never")
	f.Int64Var(&s.parts, "parts", 0, "prepare so many parts of proofs, and let each result bring one; the workers "+
		"check those that the master asks them to (0: results bring none)")
	f.DurationVar(&s.limit, "seconds", 30*time.Minute, "end after so long")
	f.DurationVar(&s.window, "window", 10*time.Second, "time for each line of the table")
	f.StringVar(&s.store, "store", "", "folder for the store (default: a temporary one)")
	f.Float64Var(&s.floor, "floor", 0, "fail below so many results a second, 0: never")
	f.DurationVar(&s.latest, "latest", 0, "fail where 1 of 100 leases takes longer to come, 0: never")
	f.Float64Var(&s.refused, "refused", 1, "fail where more of 100 results are refused; a few leases may be lost "+
		"when all workers begin at once")
	f.Float64Var(&s.dearer, "dearer", 0, "fail where a result costs more than so many times as much in the last tenth "+
		"of the time as in the first, 0: never")
	return c
}

// mostShare is the number of streams of workers on one connection; the master allows 256 calls.
const mostShare = 200

func (s *settings) validate() error {
	board, err := amazons.ParseBoard(s.board)
	if err == nil {
		_, err = amazons.Start(board)
	}
	s.connections = cmp.Or(s.connections, s.workers)
	switch {
	case err != nil:
		return cli.Usagef("--board: %w", err)
	case s.master == "":
		return cli.Usagef("--master: name the program; scripts/throughput builds it")
	case s.workers < 1 || s.workers > 10_000:
		return cli.Usagef("--workers %d: 1 to 10000 are possible", s.workers)
	case s.connections < 1 || s.connections > s.workers || s.workers > mostShare*s.connections:
		return cli.Usagef("--connections %d: for %d workers, %d to %d are possible", s.connections, s.workers,
			(s.workers+mostShare-1)/mostShare, s.workers)
	case s.work <= 0 || s.window < 100*time.Millisecond || s.limit <= 0:
		return cli.Usagef("--work, --window and --seconds are times, --window at least 100ms")
	case s.returns < 1 || s.returns > 1<<20:
		return cli.Usagef("--returns %d: 1 to 1048576 are possible", s.returns)
	case s.stretch < 1 || s.stretch > 1<<20 || s.stretch > 1 && s.returns > 1:
		return cli.Usagef("--stretch %d with --returns %d: 1 to 1048576 is possible, beyond 1 with --returns 1, as "+
			"leases double with each return", s.stretch, s.returns)
	case s.parts < 0 || s.parts > 100_000_000:
		return cli.Usagef("--parts %d: 0 to 100000000 are possible", s.parts)
	case s.positions < 0:
		return cli.Usagef("--positions %d: it is not negative", s.positions)
	}
	return nil
}

// budget is the nodes of every lease: the largest that the master grants, so that it does not
// double; with --stretch the least.
const budget = 5_000_000

// serve starts the master with leases of one size, and a split after so many of them. The tree has
// room for so much more that the master does not begin to put splits off.
func (s *settings) serve(ctx context.Context, store string, log io.Writer) (*farm.Process, error) {
	room := max(8*s.positions, 40_000_000) + 1
	text := fmt.Sprintf("probe-percent: 100\nsplit-after: %d\n", budget*s.returns)
	if s.pace > 0 {
		text += fmt.Sprintf("results-per-second: %d\n", s.pace)
	}
	return farm.Serve(ctx, log, s.master, store, text, append([]string{"--board", s.board, "--allow-other-builds",
		"--log-level", "warn", "--initial-budget", fmt.Sprint(uint64(budget)), "--max-budget",
		fmt.Sprint(budget * s.stretch), "--tree-positions", fmt.Sprint(room)}, s.serveFlags...)...)
}
