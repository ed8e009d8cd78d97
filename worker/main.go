// Command worker searches for a master, or on its own.
//
//	worker run --master ADDR              work for a master until its campaign is over
//	worker solve POSITION|BOARD|-         who wins one position, or one a line, with a verified certificate
//	worker eval POSITION                  judge a position without search and say why
//	worker value AREA|-                   what an area is worth
//	worker perft BOARD|POSITION DEPTH     count sequences of moves
//	worker bench                          fixed searches; the node count is the signature of the build
//	worker db build|check|info            databases of small areas
//
// `worker --help` lists the exit codes, and the help of each command the environment variables that
// stand in for its flags.
package main

import (
	"context"
	"io"
	"os"

	"amazonsfarm/shared/cli"
	"amazonsfarm/shared/dfpn"
	"amazonsfarm/shared/endgame"
	"amazonsfarm/shared/proof"
	"amazonsfarm/worker/agent"
	"amazonsfarm/worker/command"
	"amazonsfarm/worker/engine"

	farmv1 "amazonsfarm/proto/farm/v1"
	"github.com/spf13/cobra"
)

func main() {
	os.Exit(run(os.Args[1:], os.Stdin, os.Stdout, os.Stderr))
}

// kinds gives the errors of the worker's packages the exit codes that the help documents.
var kinds = []cli.Kind{
	{Code: cli.ExitUsage, Errs: []error{agent.ErrConfig, agent.ErrWrongMaster, engine.ErrConfig, dfpn.ErrTableSize, dfpn.ErrOptions,
		endgame.ErrSize}},
	{Code: cli.ExitIncompatible, Errs: []error{agent.ErrRefused, endgame.ErrVersion, endgame.ErrFormat}},
	{Code: cli.ExitLocked, Errs: []error{endgame.ErrBusy}},
	{Code: cli.ExitNoStore, Errs: []error{endgame.ErrNone}},
	{Code: cli.ExitVerification, Errs: []error{endgame.ErrDamaged}},
}

// run is main with its surroundings given.
func run(args []string, stdin io.Reader, stdout, stderr io.Writer) int {
	root := &cobra.Command{
		Use:   "worker",
		Short: "Search positions of the game of Amazons, for a master or alone",
		Long: `worker searches positions of the game of Amazons: for a master that solves a board with
many workers (run), or alone (solve).

` + cli.ExitHelp,
	}
	cli.ReadEnvironment(root)
	root.AddCommand(command.All()...)
	cli.AddPages(root)
	cli.AddVersion(root,
		cli.Part{Name: "rules", Format: farmv1.RulesVersion},
		cli.Part{Name: "protocol", Format: farmv1.ProtocolVersion},
		cli.Part{Name: "certificates", Format: proof.Format}, cli.Part{Name: "databases", Format: endgame.Version})
	return cli.Execute(context.Background(), root, args, stdin, stdout, stderr, kinds...)
}
