// Command master runs a proof campaign: solve does all in one process, serve with workers from
// elsewhere, status, pause, resume, drain and campaign talk to a serving master, health asks
// whether one is ready, store looks after the file of a campaign, certs makes and revokes the
// certificates of a cluster, simulate runs farms in virtual time, verify checks a certificate of a
// proof or a store, and proof shows and exports certificates.
package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"runtime"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"amazonsfarm/master/farm"
	"amazonsfarm/master/rpc"
	"amazonsfarm/master/store"
	"amazonsfarm/shared/amazons"
	"amazonsfarm/shared/checker"
	"amazonsfarm/shared/cli"
	"amazonsfarm/shared/proof"
	"amazonsfarm/worker/agent"
)

func main() {
	os.Exit(run(os.Args[1:], os.Stdin, os.Stdout, os.Stderr))
}

// run is main with its surroundings given.
func run(args []string, stdin io.Reader, stdout, stderr io.Writer) int {
	root := &cobra.Command{
		Use:   "master",
		Short: "Solve boards of the game of Amazons, with a proof",
		Long: `master solves boards of the game of Amazons and proves the answer.

The answer comes with a certificate, a file that an independent checker goes over: what is printed as verified does
not rest on the search. Everything found is kept in a store, so a campaign that was stopped in any way goes on
with the same command.

` + cli.ExitHelp,
	}
	cli.ReadEnvironment(root, map[string]string{
		"store": "AMAZONS_STORE", "proof": "AMAZONS_PROOF", "table": "AMAZONS_TABLE", "cores": "AMAZONS_CORES",
		"workers": "AMAZONS_WORKERS", "listen": "AMAZONS_LISTEN", "http": "AMAZONS_HTTP", "master": "AMAZONS_MASTER",
		"board": "AMAZONS_BOARD", "certs": "AMAZONS_CERTS", "log-level": "AMAZONS_LOG_LEVEL",
		"min-free": "AMAZONS_MIN_FREE",
	})
	root.AddCommand(solveCommand(), serveCommand(), statusCommand(), quarantineCommand(), exploreCommand(),
		proofCommand(), simulateCommand(), campaignCommand(), verifyCommand(), storeCommand(), certsCommand(),
		cli.HealthCommand(defaultHTTP))
	root.AddCommand(controlCommands()...)
	cli.AddPages(root)
	cli.AddVersion(root,
		cli.Part{Name: "rules", Format: rpc.RulesVersion}, cli.Part{Name: "protocol", Format: rpc.ProtocolVersion},
		cli.Part{Name: "certificates", Format: proof.Format}, cli.Part{Name: "stores", Format: store.Format,
			Oldest: store.FormatOldest})
	return cli.Execute(context.Background(), root, args, stdin, stdout, stderr)
}

// exitCode gives the errors of a campaign the exit code that the help documents.
func exitCode(err error) error {
	var exit *cli.ExitError
	if err == nil || errors.As(err, &exit) {
		return err
	}
	for _, kind := range []struct {
		err  error
		code int
	}{
		{farm.ErrVerification, cli.ExitVerification},
		{rpc.ErrContradiction, cli.ExitVerification},
		{store.ErrContradiction, cli.ExitVerification},
		{rpc.ErrLimit, cli.ExitLimit},
		{rpc.ErrDrained, cli.ExitLimit},
		{store.ErrMissing, cli.ExitNoStore},
		{store.ErrLocked, cli.ExitLocked},
		{store.ErrForeign, cli.ExitIncompatible},
		{store.ErrVersion, cli.ExitIncompatible},
		{store.ErrCampaign, cli.ExitIncompatible},
		{store.ErrCorrupt, cli.ExitIncompatible},
		{agent.ErrRefused, cli.ExitIncompatible},
		{agent.ErrConfig, cli.ExitUsage},
	} {
		if errors.Is(err, kind.err) {
			return cli.Exit(kind.code, err)
		}
	}
	return err
}

// certificateError gives the errors of the checker their exit code: whatever it says about the file
// is a failed verification; that the file cannot be read is not.
func certificateError(err error) error {
	var fault *checker.Fault
	if errors.As(err, &fault) {
		return cli.Exit(cli.ExitVerification, fmt.Errorf("%w: %w", farm.ErrVerification, err))
	}
	for _, kind := range []error{checker.ErrNotCertificate, checker.ErrUnsupportedVersion, checker.ErrTruncated,
		checker.ErrTrailing,
		checker.ErrChecksum, checker.ErrHeader, checker.ErrBlock} {
		if errors.Is(err, kind) {
			return cli.Exit(cli.ExitVerification, fmt.Errorf("%w: %w", farm.ErrVerification, err))
		}
	}
	return err
}

// question is what is asked: a position and perhaps first moves.
type question struct {
	root       amazons.Position
	firstMoves []amazons.Move
}

// parseQuestion reads a board or position and first moves, sorted, each once.
func parseQuestion(text string, moves []string) (question, error) {
	p, err := amazons.ParsePosition(text)
	if err != nil {
		return question{}, cli.Usagef("%w", err)
	}
	q := question{root: p}
	for _, t := range moves {
		m, err := p.ParseMove(t)
		if err != nil {
			return question{}, cli.Usagef("--first-move: %w", err)
		}
		if !slices.Contains(q.firstMoves, m) {
			q.firstMoves = append(q.firstMoves, m)
		}
	}
	slices.SortFunc(q.firstMoves, func(a, b amazons.Move) int { return strings.Compare(a.String(), b.String()) })
	return q, nil
}

// checkCores refuses numbers of cores that make no sense.
func checkCores(flag string, n int) error {
	if n < 1 || n > 1<<14 {
		return cli.Usagef("--%s %d: it must be from 1 to %d", flag, n, 1<<14)
	}
	return nil
}

// defaultHTTP is where the pages of a master usually are.
const defaultHTTP = "127.0.0.1:9171"

func allCores() int { return runtime.GOMAXPROCS(0) }
