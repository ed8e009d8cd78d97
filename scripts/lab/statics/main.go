// Command statics plays games against itself and tells how many of their positions are decided
// without search, by databases and by search, as tables II and III of Song and Müller, "An Enhanced
// Solver for the Game of Amazons" (2014) do. scripts/statics builds and runs it.
package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"runtime"

	"amazonsfarm/shared/amazons"
	"amazonsfarm/shared/cli"
	"amazonsfarm/shared/dfpn"
	"amazonsfarm/shared/endgame"
	"amazonsfarm/shared/testkit/selfplay"

	"github.com/spf13/cobra"
)

func main() {
	ctx, _, stop := cli.Signals(context.Background())
	code := cli.Execute(ctx, command(), os.Args[1:], os.Stdin, os.Stdout, os.Stderr)
	stop()
	os.Exit(code)
}

// request is the command line.
type request struct {
	settings
	table   cli.Size
	lowest  int // -1: that of the paper
	folders []string
	open    string
	record  string
}

func command() *cobra.Command {
	r := request{table: 64 << 20}
	c := &cobra.Command{
		Use:   "statics [BOARD...]",
		Short: "Self-play games: how many positions are decided without search, by databases, by search",
		Long: `statics plays games from the starting positions of boards (6x5 and 6x6 if none is given) and judges every position of every game: by the
static rules without a database, with each database, and by a search of so many nodes from an empty table with the last
database. It prints a table for each board, a row for each number of moves played, beside tables II and III of "An Enhanced
Solver for the Game of Amazons" (2014); ! marks what is below the paper's share. The same command prints the same tables on every
machine; only the last line of each tells of times. Searches begin with the positions after the most moves. Interrupted while it searches,
it prints the tables with what was found so far.

` + cli.ExitHelp,
		RunE: func(c *cobra.Command, args []string) error {
			if len(args) == 0 {
				args = []string{"6x5", "6x6"}
			}
			return r.run(c.Context(), args, c.OutOrStdout(), c.ErrOrStderr())
		},
	}
	r.play = selfplay.DefaultSettings()
	f := c.Flags()
	f.IntVar(&r.games, "games", 100, "games on each board")
	f.Uint64Var(&r.seed, "seed", 1, "seed of the first game; the next games have the next numbers")
	f.IntVar(&r.play.Plies, "plies", r.play.Plies, "plies that the players look ahead at least")
	f.IntVar(&r.play.Evaluations, "evaluations", r.play.Evaluations,
		"positions evaluated for a move up to which the players look a ply further")
	f.IntVar(&r.play.Margin, "margin", r.play.Margin,
		fmt.Sprintf("points that a move may be worse than the best and still be played; a square of territory is %d",
			selfplay.Square))
	f.IntVar(&r.lowest, "moves", -1, "moves played before the first position that counts (default: the move before "+
		"the paper's last row)")
	f.StringArrayVar(&r.folders, "db", nil, "folder of a database, for each a column (default: amazonsfarm in the "+
		"user's cache folder; built if it is not there)")
	f.IntVar(&r.local, "local", 10, "empty squares up to which the static evaluation plays out an area, or all "+
		"that is left; the search uses its own 5 and 0. The paper plays out areas of less than 9 squares, "+
		"queens counted")
	f.Uint64Var(&r.nodes, "nodes", 20_000, "nodes of each search; 0: no search")
	f.Var(&r.table, "table", "memory of each thread's search; the paper's 2^22 entries are 64MiB")
	f.IntVar(&r.cores, "cores", runtime.GOMAXPROCS(0), "threads; each judges its own positions")
	f.StringVar(&r.record, "record", "", "file that keeps what was searched, for one board; a measurement that was "+
		"interrupted, or one with more nodes, goes on from it")
	f.BoolVar(&r.enough, "like-paper", false, "search no further in a row that has the paper's share; what it says "+
		"is then the least the share can be")
	f.StringVar(&r.open, "open", "", "file for the positions that no static rule decides: game, moves, what search "+
		"says, its nodes, position")
	return c
}

// validate reads the boards and says what is wrong with the command line.
func (r *request) validate(args []string) ([]amazons.Board, error) {
	switch {
	case r.games < 1 || r.games > 1_000_000:
		return nil, cli.Usagef("--games %d: 1 to 1000000 are possible", r.games)
	case r.record != "" && len(args) != 1:
		return nil, cli.Usagef("--record keeps the searches of one board; name one, such as 6x6")
	case r.lowest < -1:
		return nil, cli.Usagef("--moves %d: 0 or more are possible", r.lowest)
	case r.local < 0 || r.local > 16:
		return nil, cli.Usagef("--local %d: 0 to 16 are possible; more would take hours", r.local)
	case r.cores < 1 || r.cores > dfpn.MaxThreads:
		return nil, cli.Usagef("--cores %d: 1 to %d are possible", r.cores, dfpn.MaxThreads)
	case r.table < dfpn.MinTableBytes:
		return nil, cli.Usagef("--table %v: at least %d bytes are needed", &r.table, dfpn.MinTableBytes)
	}
	if err := r.play.Validate(); err != nil {
		return nil, cli.Usagef("%w", err)
	}
	var boards []amazons.Board
	for _, text := range args {
		b, err := amazons.ParseBoard(text)
		if err != nil {
			return nil, cli.Usagef("%w", err)
		}
		if _, err := amazons.Start(b); err != nil {
			return nil, cli.Usagef("%w", err)
		}
		boards = append(boards, b)
	}
	return boards, nil
}

// openDatabases opens the databases of the folders, or the one in the user's cache folder, which is
// built if it is missing.
func (r *request) openDatabases(ctx context.Context) error {
	if len(r.folders) > 0 {
		for _, dir := range r.folders {
			db, _, err := endgame.OpenDir(dir)
			if errors.Is(err, endgame.ErrNone) {
				return cli.As(cli.ErrNoStore, err)
			}
			if err != nil {
				return err
			}
			r.databases = append(r.databases, db)
		}
		return nil
	}
	dir, err := endgame.DefaultDir()
	if err != nil {
		return err
	}
	db, _, err := endgame.OpenOrBuild(ctx, dir, endgame.Options{Workers: r.cores})
	if err != nil {
		return err
	}
	r.databases = append(r.databases, db)
	return nil
}

func (r *request) run(ctx context.Context, args []string, stdout, stderr io.Writer) (err error) {
	boards, err := r.validate(args)
	if err != nil {
		return err
	}
	if err := r.openDatabases(ctx); err != nil {
		return err
	}
	defer func() {
		for _, db := range r.databases {
			err = errors.Join(err, db.Close())
		}
	}()
	var names []string
	for _, db := range r.databases {
		names = append(names, db.Config().Name())
	}
	var open io.Writer = io.Discard
	if r.open != "" {
		f, err := os.Create(r.open)
		if err != nil {
			return err
		}
		defer func() { err = errors.Join(err, f.Close()) }()
		open = f
	}
	for _, b := range boards {
		s := r.settings
		s.tableBytes = int64(r.table)
		if r.record != "" {
			head, err := s.head(ctx, b)
			if err != nil {
				return err
			}
			if s.record, err = openRecord(r.record, head); err != nil {
				return err
			}
		}
		if s.lowest = r.lowest; r.lowest < 0 {
			s.lowest = max(lowest(b.String())-1, 0)
		}
		all, err := watched(ctx, b, s, stderr)
		err = errors.Join(err, s.record.Close())
		if all == nil {
			return err
		}
		writeTable(stdout, b.String(), all, names, s.nodes > 0)
		writeCosts(stdout, all, s.nodes)
		fmt.Fprintln(stdout)
		if err := errors.Join(err, writeOpen(open, all)); err != nil {
			return err
		}
	}
	return nil
}

// watched is measure with a status line.
func watched(ctx context.Context, b amazons.Board, s settings, w io.Writer) ([]judged, error) {
	var p progress
	hide := cli.NewStatusLine(w).Show(ctx, func() string {
		return fmt.Sprintf("%v: %d of %d games played, %d of %d positions judged, %d of %d searched",
			b, p.played.Load(), s.games, p.judged.Load(), p.all.Load(), p.searched.Load(), p.open.Load())
	})
	defer hide()
	return measure(ctx, b, s, &p)
}
