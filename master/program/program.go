// Package program is the program master: its commands, and which exit code each kind of error has. Two
// mains run it: ./master, and ./master/cmd/amazons-master for installing it under that name.
//
// This is the one place that knows all commands and all kinds of errors at once. Packages below
// name their errors and know no exit code, so a new kind is one line here and one in the help.
package program

import (
	"context"
	"io"

	"github.com/spf13/cobra"

	"amazonsfarm/master/archive"
	"amazonsfarm/master/campaign"
	"amazonsfarm/master/command"
	"amazonsfarm/master/credentials"
	"amazonsfarm/master/evidence"
	"amazonsfarm/master/loop"
	"amazonsfarm/master/remake"
	"amazonsfarm/master/simulate"
	"amazonsfarm/master/store"
	"amazonsfarm/master/store/record"
	"amazonsfarm/master/tree"
	farmv1 "amazonsfarm/proto/farm/v1"
	"amazonsfarm/shared/checker"
	"amazonsfarm/shared/cli"
	"amazonsfarm/shared/disk"
	"amazonsfarm/shared/proof"
	"amazonsfarm/worker/agent"
)

// kinds gives the errors of the master's packages the exit codes that the help documents.
var kinds = []cli.Kind{
	// Both wrap ErrNotCertificate, so they come before it.
	{Code: cli.ExitUsage, Errs: []error{proof.ErrInParts, proof.ErrOneFile}},
	{Code: cli.ExitVerification, Errs: []error{campaign.ErrVerification, store.ErrContradiction, remake.ErrRefuted,
		loop.ErrOwn, proof.ErrNotCertificate, proof.ErrTruncated, proof.ErrChecksum, proof.ErrCorrupt,
		proof.ErrMissing}},
	{Code: cli.ExitLimit, Errs: []error{loop.ErrLimit, loop.ErrDrained, simulate.ErrLimit, proof.ErrTooLarge,
		proof.ErrNotWhole, checker.ErrAbsent, store.ErrDropped, remake.ErrNodes}},
	{Code: cli.ExitNoStore, Errs: []error{store.ErrMissing}},
	{Code: cli.ExitLocked, Errs: []error{store.ErrLocked}},
	{Code: cli.ExitIncompatible, Errs: []error{store.ErrForeign, store.ErrVersion, store.ErrCampaign, store.ErrCorrupt,
		archive.ErrForeign, archive.ErrVersion, proof.ErrVersion, agent.ErrRefused}},
	{Code: cli.ExitUsage, Errs: []error{agent.ErrConfig, simulate.ErrConfig, tree.ErrConfig, evidence.ErrPlace,
		checker.ErrState, disk.ErrExists, credentials.ErrMissing, credentials.ErrExists, credentials.ErrRequest,
		credentials.ErrUnknown}},
}

// Run runs the program with arguments and streams, and returns its exit code.
func Run(args []string, stdin io.Reader, stdout, stderr io.Writer) int {
	root := &cobra.Command{
		Use:   cli.Program("master"),
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
