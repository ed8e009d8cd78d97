package command

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"amazonsfarm/master/farm"
	"amazonsfarm/master/rpc"
	"amazonsfarm/master/store"
	"amazonsfarm/shared/cli"
	"amazonsfarm/worker/agent"
)

// loneBudget is the first budget of a worker that is alone, in nodes: some seconds of work. Nobody
// waits for its leases to be split, and what it proves comes in while they run; so a small board is
// one lease, whose evidence is the certificate.
const loneBudget = 1_000_000

func solveCommand() *cobra.Command {
	var (
		moves             []string
		storeFile, proof  string
		workers, cores    int
		nodes             uint64
		rulesOnly, asJSON bool
		level             string
		table             = cli.TableSize{Bytes: 256 << 20}
		settings          farm.Options
		bounds            limitFlags
		easy              bool
		minFree           = cli.Size(store.DefaultMinFreeBytes)
	)
	c := &cobra.Command{
		Use:   "solve BOARD|POSITION",
		Short: "Solve a board or position in this process, and prove the answer",
		Long: `solve runs a whole farm in this process: a master, its store, and workers on all cores, over the same
protocol as on many machines. It ends with the winner, the winning first moves found, and a certificate that the
independent checker has gone over.

Without --store a store is made in $XDG_STATE_HOME/amazonsfarm (or ~/.local/state/amazonsfarm) and named in the
output. The same command again goes on where it was stopped, or answers at once when all is done. The first SIGINT
or SIGTERM calls the search back and keeps what it found (exit code 130), the second ends at once; both leave the
store good.

A position is its ranks from the top joined by "/", then the side to move: ".B.B./B...B/...../...../W...W/.W.W. w".

` + cli.ExitHelp,
		Args: cobra.ExactArgs(1),
		RunE: func(c *cobra.Command, args []string) error {
			q, err := parseQuestion(args[0], moves)
			if err != nil {
				return err
			}
			if err := checkCores("cores", cores); err != nil {
				return err
			}
			if err := checkCores("workers", workers); err != nil {
				return err
			}
			if err := bounds.check(); err != nil {
				return err
			}
			line := cli.NewStatusLine(c.ErrOrStderr())
			if err := table.Resolve(line); err != nil {
				return err
			}
			if err := checkTable(table.Bytes, workers); err != nil {
				return err
			}
			log, err := cli.Logger(line, level)
			if err != nil {
				return err
			}
			madeFolder := false
			if storeFile == "" {
				if storeFile, err = defaultStore(q, rulesOnly); err != nil {
					return err
				}
				madeFolder = true
			}
			if proof == "" {
				proof = farm.ProofFile(storeFile)
			}
			if err := checkFiles(storeFile, proof, madeFolder); err != nil {
				return err
			}
			if madeFolder {
				if err := os.MkdirAll(filepath.Dir(storeFile), 0o755); err != nil {
					return fmt.Errorf("make the folder for the store: %w", err)
				}
			}
			o := settings
			if o.InitialBudget == 0 && workers == 1 {
				o.InitialBudget = loneBudget
				if nodes > 0 {
					o.InitialBudget = min(o.InitialBudget, nodes)
				}
				if o.MaxBudget > 0 {
					o.InitialBudget = min(o.InitialBudget, o.MaxBudget)
				}
			}
			o.Root, o.FirstMoves, o.RulesOnly, o.StoreFile, o.ProofFile = q.root, q.firstMoves, rulesOnly, storeFile,
				proof
			o.Build, o.MaxNodes, o.EasyReplies, o.MinFreeBytes, o.CheckWorkers = agent.Build(), nodes, easy,
				int64(minFree), cores
			o.Embedded, o.Alone, o.Log = true, true, log
			f, err := farm.Open(o)
			if err != nil {
				return err
			}
			defer f.Close()
			drain, abort, stop := cli.Signals(c.Context())
			defer stop()

			hide := line.Show(abort, func() string { return statusText(abort, f.Master) })
			ended := f.RunEmbedded(abort, drain.Done(), agents(workers, cores, table.Bytes))
			hide()

			result := f.Result(ended)
			result.Cores, result.TableBytes = cores, table.Bytes
			if asJSON {
				err = result.WriteJSON(c.OutOrStdout())
			} else {
				_, err = fmt.Fprint(c.OutOrStdout(), result)
			}
			if errors.Is(ended, rpc.ErrDrained) || abort.Err() != nil {
				return cli.As(cli.ErrInterrupted, nil)
			}
			if errors.Is(ended, rpc.ErrLimit) {
				return cli.As(cli.ErrLimit, nil)
			}
			return errors.Join(ended, err)
		},
	}
	flags := c.Flags()
	flags.StringArrayVar(&moves, "first-move", nil, "try only this move at the root; may be given several times")
	flags.StringVar(&storeFile, "store", "", "store of the campaign; made if it is not there")
	flags.StringVar(&proof, "proof", "", "file for the certificate (default: beside the store)")
	flags.IntVar(&workers, "workers", 1, "workers; they share cores and table")
	flags.IntVar(&cores, "cores", allCores(), "cores for all workers together")
	flags.Var(&table, "table", "transposition tables of all workers together, "+cli.TableHelp)
	flags.Uint64Var(&nodes, "nodes", 0, "stop after about so many expanded positions in all, 0: never (exit code 3)")
	flags.BoolVar(&rulesOnly, "rules-only", false, "prove by the rules of the game alone, without the counting lemma")
	flags.BoolVar(&asJSON, "json", false, "answer as one JSON document")
	cli.LogLevelFlag(flags, &level, "warn")
	bounds.addTree(flags, &settings)
	flags.Var(&minFree, "min-free", minFreeHelp)
	flags.BoolVar(&easy, "easy-replies", false, "settle the replies to first moves one by one, the easiest first: for lists of replies")
	return c
}

// agents shares cores and table among workers.
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
		var texts []string
		for _, m := range q.firstMoves {
			texts = append(texts, m.String())
		}
		if all := strings.Join(texts, "_"); len(all) <= 60 {
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

func short(text string) string {
	sum := sha256.Sum256([]byte(text))
	return hex.EncodeToString(sum[:8])
}

// statusText is the status line of a campaign.
func statusText(ctx context.Context, m *rpc.Master) string {
	ctx, cancel := context.WithTimeout(ctx, time.Second)
	defer cancel()
	v, err := m.View(ctx)
	if err != nil {
		return "starting or stopping"
	}
	t := v.Tree
	nodes := t.Spent + t.Running
	text := fmt.Sprintf("%s: %s nodes in %s", v.State, count(nodes), (time.Duration(v.Seconds) * time.Second).String())
	if v.State == rpc.StateRunning || v.State == rpc.StatePaused {
		text += fmt.Sprintf(", proof number %d, disproof number %d, %d facts, %d of %d leased",
			t.Phi, t.Delta, t.FactsWon+t.FactsLost, t.Leased, t.Frontier)
	}
	settled := 0
	for _, f := range t.FirstMoves {
		if f.Verdict != 0 {
			settled++
		}
	}
	if len(t.FirstMoves) > 0 {
		text += fmt.Sprintf(", first moves %d/%d", settled, len(t.FirstMoves))
	}
	return text
}
