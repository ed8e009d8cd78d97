// Command master solves boards of the game of Amazons and proves the answers.
//
//	master solve BOARD            a whole farm in one process
//	master serve --store FILE     a farm whose workers run elsewhere
//	master status|explore|campaign|pause|resume|drain|quarantine|health
//	                              talk to a serving master
//	master verify|proof FILE      check a certificate, or look at it
//	master store|certs            look after stores and credentials
//	master simulate BOARD         farms in virtual time
//
// The commands are in package command. This file wires them, and says which exit code each kind of
// error has.
package main

import (
	"context"
	"io"
	"os"

	"github.com/spf13/cobra"

	"amazonsfarm/master/archive"
	"amazonsfarm/master/campaign"
	"amazonsfarm/master/command"
	"amazonsfarm/master/credentials"
	"amazonsfarm/master/loop"
	"amazonsfarm/master/remake"
	"amazonsfarm/master/simulate"
	"amazonsfarm/master/store"
	"amazonsfarm/master/store/record"
	"amazonsfarm/master/tree"
	farmv1 "amazonsfarm/proto/farm/v1"
	"amazonsfarm/shared/cli"
	"amazonsfarm/shared/proof"
	"amazonsfarm/worker/agent"
)

func main() {
	os.Exit(run(os.Args[1:], os.Stdin, os.Stdout, os.Stderr))
}

// kinds gives the errors of the master's packages the exit codes that the help documents.
var kinds = []cli.Kind{
	{Code: cli.ExitVerification, Errs: []error{campaign.ErrVerification, store.ErrContradiction, remake.ErrRefuted,
		proof.ErrNotCertificate, proof.ErrTruncated, proof.ErrChecksum, proof.ErrCorrupt,
		proof.ErrMissing}},
	{Code: cli.ExitLimit, Errs: []error{loop.ErrLimit, loop.ErrDrained, simulate.ErrLimit, proof.ErrTooLarge,
		remake.ErrNodes}},
	{Code: cli.ExitNoStore, Errs: []error{store.ErrMissing}},
	{Code: cli.ExitLocked, Errs: []error{store.ErrLocked}},
	{Code: cli.ExitIncompatible, Errs: []error{store.ErrForeign, store.ErrVersion, store.ErrCampaign, store.ErrCorrupt,
		archive.ErrForeign, archive.ErrVersion, proof.ErrVersion, agent.ErrRefused}},
	{Code: cli.ExitUsage, Errs: []error{agent.ErrConfig, simulate.ErrConfig, tree.ErrConfig, credentials.ErrMissing,
		credentials.ErrExists, credentials.ErrRequest, credentials.ErrUnknown}},
}

// run is main with its surroundings given.
func run(args []string, stdin io.Reader, stdout, stderr io.Writer) int {
	root := &cobra.Command{
		Use:   "master",
		Short: "Solve boards of the game of Amazons, with a proof",
		Long: `master solves boards of the game of Amazons and proves the answer.

The answer comes with a certificate, a file that an independent checker verifies: a
verified answer does not rest on the search. The store keeps everything found, so the
same command continues a campaign that was stopped in any way.

` + cli.ExitHelp,
	}
	cli.ReadEnvironment(root)
	root.AddCommand(command.All()...)
	cli.AddPages(root)
	cli.AddVersion(root, cli.Part{Name: "rules", Format: farmv1.RulesVersion},
		cli.Part{Name: "protocol", Format: farmv1.ProtocolVersion},
		cli.Part{Name: "certificates", Format: proof.Format}, cli.Part{Name: "stores", Format: record.Format})
	return cli.Execute(context.Background(), root, args, stdin, stdout, stderr, kinds...)
}
