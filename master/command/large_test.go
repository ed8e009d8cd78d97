package command

import (
	"bytes"
	"path/filepath"
	"strings"
	"testing"

	"github.com/spf13/cobra"

	"amazonsfarm/shared/proof"
)

// TestLargeProof looks at a proof in parts that is too large to be read whole, move by move, and exports a part of it.
func TestLargeProof(t *testing.T) {
	folder := t.TempDir()
	run := func(c *cobra.Command, args ...string) (out, said string) {
		t.Helper()
		var stdout, stderr bytes.Buffer
		c.SetArgs(args)
		c.SetOut(&stdout)
		c.SetErr(&stderr)
		if err := c.ExecuteContext(t.Context()); err != nil {
			t.Fatalf("%v: %v", args, err)
		}
		return stdout.String(), stderr.String()
	}
	whole, name := filepath.Join(folder, "whole.proof"), filepath.Join(folder, "parts.proof")
	run(solveCommand(), "4x4", "--store", filepath.Join(folder, "s.db"), "--proof", whole, "--cores", "1",
		"--table", "16MiB")
	run(proofCommand(), "split", whole, name, "--positions", "10")
	defer func(n int64) { wholePositions = n }(wholePositions)
	wholePositions = 30
	way := []string{"show", name}
	for range 6 {
		out, said := run(proofCommand(), way...)
		if !strings.HasPrefix(said, "the proof is large: read ") || strings.Contains(out, "value          open") ||
			strings.Contains(out, "side to move, by citation") {
			t.Fatalf("%v: %s%s", way, said, out)
		}
		_, line, _ := strings.Cut(out, "\nplay           ")
		move, _, _ := strings.Cut(line, "\n")
		move, _, _ = strings.Cut(move, " ")
		if move == "" {
			break
		}
		way = append(way, move)
	}
	if len(way) < 4 {
		t.Errorf("the line of play ends after %v", way)
	}
	out, _ := run(proofCommand(), "export", name, "--depth", "2")
	if !strings.Contains(out, `"reason":"citation","cut":true`) || strings.Contains(out, `"cut":0`) {
		t.Errorf("the export does not say what it lacks: %.600s", out)
	}
	if _, err := proof.ReadWhole(t.Context(), name, wholePositions); err == nil {
		t.Error("the proof is not large")
	}
}
