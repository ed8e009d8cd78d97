// Package program is the program worker: its commands, and which exit code each kind of error has. Two
// mains run it: ./worker, and ./worker/cmd/amazons-worker for installing it under that name.
package program

import (
	"context"
	"io"

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

// kinds gives the errors of the worker's packages the exit codes that the help documents.
// The first kind that matches decides. An error of no kind here or in shared/cli ends with the code of a
// plain failure.
var kinds = []cli.Kind{
	{Code: cli.ExitUsage, Errs: []error{agent.ErrConfig, agent.ErrWrongMaster, engine.ErrConfig, dfpn.ErrTableSize,
		endgame.ErrSize}},
	{Code: cli.ExitIncompatible, Errs: []error{agent.ErrRefused, endgame.ErrVersion, endgame.ErrFormat}},
	{Code: cli.ExitLocked, Errs: []error{endgame.ErrBusy}},
	{Code: cli.ExitNoStore, Errs: []error{endgame.ErrNone}},
	{Code: cli.ExitVerification, Errs: []error{endgame.ErrDamaged}},
}

// Run runs the program with arguments and streams, and returns its exit code.
func Run(args []string, stdin io.Reader, stdout, stderr io.Writer) int {
	root := &cobra.Command{
		Use:   cli.Program("worker"),
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
