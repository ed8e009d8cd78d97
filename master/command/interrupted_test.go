package command

import (
	"bytes"
	"context"
	"io"
	"strings"
	"testing"

	"amazonsfarm/master/store"
	"amazonsfarm/shared/cli"
)

// TestInterruptedVerification: programs get the word for an interrupt that people get.
func TestInterruptedVerification(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	const one, parted = "../../shared/proof/testdata/format1.amzcert", "../../deploy/results/6x5/6x5.proof"
	for _, args := range [][]string{{one}, {parted}, {parted, "--remake", "--table", "1MiB"}} {
		var out bytes.Buffer
		c := verifyCommand()
		c.SetArgs(append(args, "--json"))
		c.SetOut(&out)
		c.SetErr(io.Discard)
		err := c.ExecuteContext(ctx)
		if cli.ExitCode(err) != cli.ExitInterrupted || !strings.Contains(out.String(), `interrupted"`) ||
			strings.Contains(out.String(), context.Canceled.Error()) {
			t.Errorf("%v: %v, %.300q", args, err, out.String())
		}
	}
}

// TestInterruptedStore: a command about a store says that it was interrupted, unless its work was done by then.
func TestInterruptedStore(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	for _, given := range []error{nil, ctx.Err()} {
		_, _, err := watched(ctx, storeBackup(), func(store.Progress) (int, error) { return 0, given })
		if given == nil && err != nil || given != nil && (cli.ExitCode(err) != cli.ExitInterrupted ||
			cli.Words(err) != "interrupted") {
			t.Errorf("%v became %v", given, err)
		}
	}
}
