package command

import (
	"bytes"
	"context"
	"io"
	"strings"
	"testing"

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
