package main

import (
	"context"
	"errors"
	"io"
	"os"
	"runtime"
	"strings"

	"amazonsfarm/shared/amazons"
	"amazonsfarm/shared/cli"
	"amazonsfarm/shared/dfpn"
	"amazonsfarm/shared/endgame"
	"amazonsfarm/shared/eval"
	"amazonsfarm/shared/proof"
	"amazonsfarm/worker/agent"
	"amazonsfarm/worker/engine"

	farmv1 "amazonsfarm/proto/farm/v1"
	"github.com/spf13/cobra"
)

func main() {
	os.Exit(run(os.Args[1:], os.Stdin, os.Stdout, os.Stderr))
}

// run is main with its surroundings given.
func run(args []string, stdin io.Reader, stdout, stderr io.Writer) int {
	root := &cobra.Command{
		Use:   "worker",
		Short: "Search positions of the game of Amazons, for a master or alone",
		Long: `worker searches positions of the game of Amazons: for a master that solves a board with many workers (run), or
alone (solve).

` + cli.ExitHelp,
	}
	cli.ReadEnvironment(root)
	root.AddCommand(runCommand(), solveCommand(), perftCommand(), benchCommand(), dbCommand(), valueCommand(),
		evalCommand(), cli.HealthCommand(defaultHTTP))
	cli.AddPages(root)
	cli.AddVersion(root,
		cli.Part{Name: "rules", Format: farmv1.RulesVersion}, cli.Part{Name: "protocol", Format: farmv1.ProtocolVersion},
		cli.Part{Name: "certificates", Format: proof.Format}, cli.Part{Name: "databases", Format: endgame.Version})
	return cli.Execute(context.Background(), root, args, stdin, stdout, stderr)
}

// exitCode gives the errors of searches and of the agent the exit code that the help documents.
func exitCode(err error) error {
	var exit *cli.ExitError
	if err == nil || errors.As(err, &exit) {
		return err
	}
	if errors.Is(err, context.Canceled) {
		return cli.Exit(cli.ExitInterrupted, errors.New("interrupted"))
	}
	for _, kind := range []struct {
		err  error
		code int
	}{
		{errVerification, cli.ExitVerification},
		{agent.ErrRefused, cli.ExitIncompatible},
		{agent.ErrConfig, cli.ExitUsage},
		{engine.ErrConfig, cli.ExitUsage},
		{dfpn.ErrTableSize, cli.ExitUsage},
		{dfpn.ErrOptions, cli.ExitUsage},
	} {
		if errors.Is(err, kind.err) {
			return cli.Exit(kind.code, err)
		}
	}
	return err
}

// searchFlags are the flags of all commands that search.
type searchFlags struct {
	cores int
	table cli.TableSize
	judge func() *eval.Judge // nil: the search's own
}

func (f *searchFlags) add(c *cobra.Command, cores int, table int64) {
	f.table.Bytes = table
	c.Flags().IntVar(&f.cores, "cores", cores, "threads of the search")
	c.Flags().Var(&f.table, "table", "size of the transposition table, "+cli.TableHelp)
}

// check refuses what cannot be had before anything else is done, and says on w how large the table
// is where that was left open.
func (f *searchFlags) check(w io.Writer) error {
	if f.cores < 1 || f.cores > dfpn.MaxThreads {
		return cli.Usagef("--cores %d: it must be from 1 to %d", f.cores, dfpn.MaxThreads)
	}
	return checkTable(&f.table, w)
}

// checkTable chooses the size of a table where that was left open, and refuses one that cannot be had.
func checkTable(size *cli.TableSize, w io.Writer) error {
	if err := size.Resolve(w); err != nil {
		return err
	}
	t, err := dfpn.NewTable(size.Bytes)
	if err != nil {
		return cli.Usagef("--table %v: %w", size, err)
	}
	return t.Close()
}

// parsePosition reads a position given as one argument or as several.
func parsePosition(args []string) (amazons.Position, error) {
	p, err := amazons.ParsePosition(strings.Join(args, " "))
	if err != nil {
		return p, cli.Usagef("%w", err)
	}
	return p, nil
}

// defaultHTTP is where the pages of a worker usually are.
const defaultHTTP = "127.0.0.1:9172"

func allCores() int { return runtime.GOMAXPROCS(0) }
