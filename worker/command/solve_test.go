package command

import (
	"context"
	"io"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"amazonsfarm/shared/amazons"
	"amazonsfarm/shared/cli"

	"github.com/spf13/cobra"
	"golang.org/x/sys/unix"
)

// TestProofFileFolder: a search whose certificate goes nowhere needs no folder that it may write to.
func TestProofFileFolder(t *testing.T) {
	folder := t.TempDir()
	if err := os.Chmod(folder, 0o555); err != nil {
		t.Fatal(err)
	}
	t.Chdir(folder)
	said := make(chan error)
	go func() {
		runtime.LockOSThread() // for good: this thread alone becomes nobody, and ends with the goroutine
		if os.Getuid() == 0 {
			unix.RawSyscall(unix.SYS_SETREUID, 65534, ^uintptr(0), 0)
		}
		said <- checkProofFile(question{})
		said <- checkProofFile(question{proofFile: "p"})
	}()
	if err := <-said; err != nil {
		t.Errorf("no file: %v", err)
	}
	if err := <-said; err == nil || !strings.Contains(err.Error(), "nothing can be written to the folder .") {
		t.Errorf("a file: %v", err)
	}
}

// TestProofFileOfAnother: a certificate takes the place of one about the same question, and of no other.
func TestProofFileOfAnother(t *testing.T) {
	name := filepath.Join(t.TempDir(), "p")
	start, err := amazons.ParsePosition("4x4")
	if err != nil {
		t.Fatal(err)
	}
	moves, err := start.ParseMoves([]string{"B1-B2xB1"})
	if err != nil {
		t.Fatal(err)
	}
	solver, err := newSolver(1<<20, 1, nil)
	if err != nil {
		t.Fatal(err)
	}
	defer solver.close()
	whole := question{position: start, prove: true, proofFile: name}
	one := question{position: start, firstMoves: moves, prove: true, proofFile: name}
	after := question{position: start.After(moves[0]), prove: true, proofFile: name}
	for _, c := range []struct {
		there, asked question
		fits         bool
	}{
		{one, whole, false}, {one, one, true}, {one, after, true},
		{whole, whole, true}, {whole, one, true}, {whole, after, false},
	} {
		if _, err := solver.solve(t.Context(), c.there); err != nil {
			t.Fatal(err)
		}
		if err := checkProofFile(c.asked); err == nil != c.fits {
			t.Errorf("there %v, first moves %v; asked %v, first moves %v: %v", c.there.position, c.there.firstMoves,
				c.asked.position, c.asked.firstMoves, err)
		}
	}
}

// TestTooLongLine: a line that is too long is answered with an error, and those before and after it as ever.
func TestTooLongLine(t *testing.T) {
	c, out := solveCommand(), new(strings.Builder)
	c.SetIn(strings.NewReader(strings.Repeat("4x4\n", 9) + "4x4" + strings.Repeat(" ", maxLine) +
		"b\n4x4\n" + strings.Repeat("x", 3*maxLine)))
	c.SetOut(out)
	c.SetErr(io.Discard)
	c.SetArgs([]string{"-", "--no-proof", "--table", "4MiB"})
	err := c.ExecuteContext(t.Context())
	if err == nil || !strings.Contains(err.Error(), "2 lines were not answered") {
		t.Error(err)
	}
	if n := strings.Count(out.String(), `"winner":"second"`); n != 10 {
		t.Errorf("%d answers:\n%s", n, out)
	}
}

// written is called with each write.
type written func()

func (f written) Write(p []byte) (int, error) {
	f()
	return len(p), nil
}

// TestInterruptedLines: a signal ends a command that waits for its next line, once the others are answered.
func TestInterruptedLines(t *testing.T) {
	for _, x := range []struct {
		c    *cobra.Command
		line string
		args []string
	}{
		{solveCommand(), "4x4\n", []string{"-", "--no-proof", "--table", "4MiB"}},
		{valueCommand(), "W.B\n", []string{"-", "--no-db"}},
	} {
		ctx, cancel := context.WithCancel(t.Context())
		in, line := io.Pipe()
		defer line.Close()
		go io.WriteString(line, x.line)
		x.c.SetIn(in)
		x.c.SetOut(written(cancel))
		x.c.SetErr(io.Discard)
		x.c.SetArgs(x.args)
		if err := x.c.ExecuteContext(ctx); cli.ExitCode(err) != cli.ExitInterrupted {
			t.Errorf("%s: %v", x.c.Name(), err)
		}
	}
}
