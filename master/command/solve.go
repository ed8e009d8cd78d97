package command

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"golang.org/x/sys/unix"

	"amazonsfarm/master/campaign"
	"amazonsfarm/master/loop"
	"amazonsfarm/master/rpc"
	farmv1 "amazonsfarm/proto/farm/v1"
	"amazonsfarm/shared/amazons"
	"amazonsfarm/shared/cli"
	"amazonsfarm/worker/agent"
)

// loneBudget is the first budget of a worker that is alone, in nodes: some seconds of work. Nobody
// waits for its leases to be split, and what it proves comes in while they run; so a small board is
// one lease, whose evidence is the certificate.
const loneBudget = 1_000_000

// toldAfter is after how long somebody who has pressed Ctrl-C is told what is waited for.
const toldAfter = 2 * time.Second

// solveFlags are what a farm in one process is told, beside the settings, which hold most of it.
type solveFlags struct {
	settings       *settings
	moves          []string
	workers, cores int
	table          cli.TableSize
	level          string
	asJSON         *bool
	makeFolder     bool // for a store whose place nobody chose
}

// solveCommand is flags, validate and start, like serve. The same code runs as in a cluster: the
// workers of this process talk to its master over gRPC in memory.
func solveCommand() *cobra.Command {
	f := &solveFlags{table: cli.TableSize{Bytes: 256 << 20}, settings: newSettings()}
	o := &f.settings.farm
	o.Tree.CheckFirst = 0 // all workers are our own
	var check func(amazons.Position) error
	c := &cobra.Command{
		Use:   "solve BOARD|POSITION",
		Short: "Solve a board or position in this process, and prove the answer",
		Long:  help.Long("solve"),
		Args:  cobra.ExactArgs(1),
		RunE: func(c *cobra.Command, args []string) error {
			line := cli.NewStatusLine(c.ErrOrStderr())
			log, err := cli.Logger(line, f.level)
			if err != nil {
				return err
			}
			if err := f.validate(args[0], line, check); err != nil {
				return err
			}
			return f.start(c, line, log)
		},
	}
	flags := c.Flags()
	f.settings.addCampaign(flags, &f.moves)
	check = cli.AnyPosition(flags)
	flags.StringVar(&o.StoreFile, "store", "", "keep the campaign in `FILE` (default: see above)")
	flags.StringVar(&o.ProofFile, "proof", "", "write the certificate to `FILE` (default: here, or beside --store)")
	cli.Ranged(flags, flags.IntVar, "workers", &f.workers, 1, 1, maxCores,
		"run `N` workers, which share cores and table")
	coresFlag(c, &f.cores)
	flags.Var(&f.table, "table", "use tables of `SIZE` together, "+cli.TableHelp)
	f.asJSON = cli.JSONFlag(c)
	cli.LogLevelFlag(flags, &f.level, "warn")
	f.settings.addTo(flags, "initial-budget", "max-budget", "tree-positions", "min-free")
	cli.Group(flags, "Campaign", "first-move", "rules-only", "nodes", "easy-replies", "any-position")
	cli.Group(flags, "Files", "store", "proof", "config", "min-free")
	cli.Group(flags, "Work", "workers", "cores", "table", "initial-budget", "max-budget", "tree-positions")
	return c
}

// validate refuses what cannot be solved, before anything is opened, and completes the settings.
func (f *solveFlags) validate(question string, line *cli.StatusLine, check func(amazons.Position) error) error {
	q, err := parseQuestion("", question, f.moves, check)
	if err != nil {
		return err
	}
	if err := errors.Join(f.settings.read(), chooseTable(&f.table, line, f.workers)); err != nil {
		return err
	}
	o := &f.settings.farm
	if o.StoreFile == "" {
		if o.StoreFile, err = defaultStore(q, o.RulesOnly); err != nil {
			return err
		}
		f.makeFolder = true
	}
	if o.ProofFile == "" {
		o.ProofFile = campaign.ProofFile(o.StoreFile)
		if f.makeFolder {
			o.ProofFile = besideTheUser(o.ProofFile, line)
		}
	}
	if o.Tree.InitialBudget == 0 && f.workers == 1 {
		// A limit that was given bounds it, or max-budget would refuse a budget that nobody chose.
		o.Tree.InitialBudget = min(loneBudget, cmp.Or(o.Loop.NodeLimit, loneBudget),
			cmp.Or(o.Tree.MaxBudget, loneBudget))
	}
	o.Root, o.FirstMoves, o.Services.Build = q.root, q.firstMoves, agent.Build()
	o.Embedded, o.CheckWorkers = true, f.cores
	return checkFiles(o.StoreFile, o.ProofFile, f.makeFolder)
}

// besideTheUser returns where a certificate goes when nobody has chosen a place: the folder that the user
// works in. Where that cannot be written to, it says so on w and leaves the certificate beside the store.
func besideTheUser(file string, w io.Writer) string {
	if unix.Access(".", unix.W_OK) != nil {
		fmt.Fprintf(w, "this folder cannot be written to, so the certificate goes to %s; "+
			"--proof FILE names another place\n", file)
		return file
	}
	return filepath.Base(file)
}

// start runs the farm until it has an answer or is stopped, and prints the answer.
func (f *solveFlags) start(c *cobra.Command, line *cli.StatusLine, log *slog.Logger) error {
	o := f.settings.farm
	if f.makeFolder {
		if err := os.MkdirAll(filepath.Dir(o.StoreFile), 0o755); err != nil {
			return fmt.Errorf("make the folder for the store: %w; --store FILE names another place", err)
		}
	}
	o.Log = log
	campaign, err := campaign.Open(o)
	if err != nil {
		return err
	}
	defer campaign.Close()
	drain, abort, stop := cli.Signals(c.Context())
	defer stop()

	status, err := rpc.CampaignOf(campaign.Loop, "")
	if err != nil {
		return err
	}
	shown := meter{memory: cli.MemoryUsed}
	hide := line.Show(abort, func() string {
		ctx, cancel := context.WithTimeout(abort, time.Second)
		defer cancel()
		r, err := status.Status(ctx)
		if err != nil {
			return "starting or stopping"
		}
		return shown.line(r)
	})
	over := make(chan struct{})
	context.AfterFunc(drain, func() {
		select {
		case <-time.After(toldAfter):
			fmt.Fprintln(line, "finishing what is under way; press Ctrl-C again to end at once")
		case <-over:
		}
	})
	ended := campaign.RunEmbedded(abort, drain.Done(), agents(f.workers, f.cores, f.table.Bytes))
	close(over)
	hide()

	result := campaign.Result(ended)
	result.Cores, result.TableBytes = f.cores, f.table.Bytes
	if *f.asJSON {
		err = result.WriteJSON(c.OutOrStdout())
	} else {
		_, err = fmt.Fprint(c.OutOrStdout(), result)
	}
	switch {
	case errors.Is(ended, loop.ErrDrained) || abort.Err() != nil:
		return cli.As(cli.ErrInterrupted, nil)
	case errors.Is(ended, loop.ErrLimit):
		return cli.As(cli.ErrLimit, nil)
	case ended == nil && campaign.GivenUp():
		return fmt.Errorf("an operator has ended the campaign in %s for good; name another --store", o.StoreFile)
	}
	return errors.Join(ended, err)
}

// agents shares cores and table among workers.
// The first workers have the cores that do not divide evenly. Each has at least one, also where there
// are more workers than cores.
func agents(workers, cores int, table int64) []agent.Config {
	list := make([]agent.Config, workers)
	for i := range list {
		share := cores / workers
		if i < cores%workers {
			share++
		}
		list[i] = agent.Config{Cores: max(1, share), TableBytes: table / int64(workers)}
	}
	return list
}

// defaultStore returns where the store of a question lies when nobody says: in the user's state
// directory.
// Its name has all that makes one question differ from another. So two questions never share a store,
// and the same command finds its own again.
func defaultStore(q question, rulesOnly bool) (string, error) {
	state := os.Getenv("XDG_STATE_HOME")
	if !filepath.IsAbs(state) {
		home, err := os.UserHomeDir()
		if err != nil {
			return "", cli.Usagef("there is no home directory for the store; use --store FILE")
		}
		state = filepath.Join(home, ".local", "state")
	}
	name := q.root.Board.String()
	if !cli.IsStart(q.root) {
		name += "-position-" + short(q.root.String())
	}
	if len(q.firstMoves) > 0 {
		if all := strings.Join(farmv1.WriteMoves(q.firstMoves), "_"); len(all) <= 60 {
			name += "_" + all
		} else {
			name += "_moves-" + short(all)
		}
	}
	if rulesOnly {
		name += "_rules-only"
	}
	return filepath.Join(state, "amazonsfarm", name+".store"), nil
}

// short names a text by 16 hexadecimal digits of its SHA-256, for file names.
func short(text string) string {
	sum := sha256.Sum256([]byte(text))
	return hex.EncodeToString(sum[:8])
}
