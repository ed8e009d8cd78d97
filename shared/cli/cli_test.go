package cli

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"strings"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"amazonsfarm/shared/amazons"
	"amazonsfarm/shared/eval"

	"github.com/spf13/cobra"
)

func TestParseSize(t *testing.T) {
	for text, want := range map[string]int64{
		"1": 1, "64MiB": 64 << 20, "1G": 1 << 30, "512M": 512 << 20, "512m": 512 << 20, " 2 GiB ": 2 << 30,
		"1.5k": 1536, "3KB": 3000, "1T": 1 << 40, "7b": 7, "2mb": 2e6,
	} {
		got, err := ParseSize(text)
		if err != nil || got != want {
			t.Errorf("ParseSize(%q) = %d, %v; want %d", text, got, err, want)
		}
		s := TableSize{Bytes: got}
		if again, err := ParseSize(s.String()); err != nil || again != got {
			t.Errorf("%q is written as %q, which reads as %d, %v", text, s.String(), again, err)
		}
	}
	for _, text := range []string{"", "0", "-1", "-5MiB", "0G", "M", "12Q", "1e3x", "nan", "inf", "999999999999T",
		"0.1", "1..2"} {
		if got, err := ParseSize(text); !errors.Is(err, ErrSize) {
			t.Errorf("ParseSize(%q) = %d, %v; want ErrSize", text, got, err)
		}
	}
}

func TestFormatSize(t *testing.T) {
	for n, want := range map[int64]string{0: "0 B", 512: "512 B", 64 << 20: "64 MiB", 3 << 29: "1.5 GiB", 1<<40 +
		1: "1.0 TiB", 200<<20 + 7: "200 MiB"} {
		if got := FormatSize(n); got != want {
			t.Errorf("FormatSize(%d) = %q; want %q", n, got, want)
		}
	}
}

func TestExitCode(t *testing.T) {
	cause := errors.New("cause")
	for _, c := range []struct {
		err  error
		want int
	}{
		{nil, 0}, {cause, 1}, {As(ErrVerification, cause), 20}, {fmt.Errorf("deeper: %w", As(ErrLocked, cause)), 11},
		{Usagef("bad %d", 1), 64}, {fmt.Errorf("wait: %w", context.Canceled), 130}, {As(ErrLimit, nil), 3},
	} {
		if got := ExitCode(c.err); got != c.want {
			t.Errorf("ExitCode(%v) = %d; want %d", c.err, got, c.want)
		}
	}
	if own := errors.New("of the program"); ExitCode(fmt.Errorf("deeper: %w", own), Kind{12, []error{own}}) != 12 ||
		ExitCode(As(ErrUsage, own), Kind{12, []error{own}}) != 64 {
		t.Error("a kind of the program, and one that was given")
	}
	if !errors.Is(As(ErrUsage, cause), cause) {
		t.Error("a kind hides its cause")
	}
}

func TestExecute(t *testing.T) {
	build := func() *cobra.Command {
		root := &cobra.Command{Use: "tool"}
		var size TableSize
		work := &cobra.Command{Use: "work", Args: cobra.NoArgs, RunE: func(c *cobra.Command, _ []string) error {
			if err := environment(c.Flags(), func(string) string { return "0" },
				map[string]string{"size": "TOOL_SIZE"}); err != nil {
				return err
			}
			return As(ErrLimit, errors.New("the budget is spent"))
		}}
		work.Flags().Var(&size, "size", "")
		root.AddCommand(work, &cobra.Command{Use: "quiet",
			RunE: func(*cobra.Command, []string) error { return As(ErrVerification, nil) }})
		return root
	}
	for _, c := range []struct {
		args string
		code int
		says string
	}{
		{"work --size 1M", 3, "tool: the budget is spent\n"},
		{"work", 64, "TOOL_SIZE"},
		{"work --size 0", 64, "larger than zero"},
		{"work --size", 64, "--help"},
		{"work extra", 64, "--help"},
		{"nothing", 64, "unknown command"},
		{"work --nothing", 64, "unknown flag"},
		{"quiet", 20, ""},
	} {
		var stderr bytes.Buffer
		code := Execute(context.Background(), build(), strings.Fields(c.args), nil, io.Discard, &stderr)
		if code != c.code || !strings.Contains(stderr.String(), c.says) || strings.Count(stderr.String(), "\n") > 1 ||
			c.says == "" && stderr.Len() > 0 {
			t.Errorf("%q: code %d, says %q; want %d, %q", c.args, code, stderr.String(), c.code, c.says)
		}
	}
}

// full is a stream on a disk without room.
type full struct{}

var errFull = errors.New("no space left")

func (full) Write([]byte) (int, error) { return 0, errFull }

// TestFullOutput: a program that cannot write its help has failed, and was not called wrongly.
func TestFullOutput(t *testing.T) {
	for _, args := range []string{"--help", "help work", "--version", "work --help"} {
		root := &cobra.Command{Use: "tool", Version: "1"}
		root.AddCommand(&cobra.Command{Use: "work", RunE: func(*cobra.Command, []string) error { return nil }})
		var stderr bytes.Buffer
		code := Execute(context.Background(), root, strings.Fields(args), nil, full{}, &stderr)
		if want := "tool: no space left\n"; code != ExitFailed || stderr.String() != want {
			t.Errorf("%q: code %d, says %q; want %d, %q", args, code, stderr.String(), ExitFailed, want)
		}
	}
}

func TestUnknownVariables(t *testing.T) {
	for _, good := range []string{"AMAZONS_STORE=x", "AMAZONS_TEST_PORT=1", "AMAZONS_WORKER_CPUS=2", "HOME=/", "="} {
		if err := checkVariables([]string{good}); err != nil {
			t.Errorf("%s: %v", good, err)
		}
	}
	for _, bad := range []string{"AMAZONS_TABEL=1G", "AMAZONS_CERTS=x", "AMAZONS_LOGLEVEL=", "AMAZONS_="} {
		err := checkVariables([]string{"A=b", bad})
		if ExitCode(err) != ExitUsage || !strings.Contains(err.Error(), "known are AMAZONS_BOARD, ") {
			t.Errorf("%s: %v", bad, err)
		}
	}
}

// TestGroups wants the flags of a command in their groups, in the order in which they were defined.
func TestGroups(t *testing.T) {
	root := &cobra.Command{Use: "tool"}
	c := &cobra.Command{Use: "do", RunE: func(*cobra.Command, []string) error { return nil }}
	c.Flags().Int("zeal", 1, "set the `zeal` "+strings.Repeat("with many words ", 9))
	c.Flags().String("store", "", "keep it in `FILE`")
	c.Flags().Bool("also", false, "do it, too")
	Group(c.Flags(), "Work", "zeal", "also")
	Group(c.Flags(), "Files", "store")
	root.AddCommand(c)
	var out bytes.Buffer
	if code := Execute(t.Context(), root, []string{"do", "--help"}, nil, &out, io.Discard); code != 0 {
		t.Fatal(code)
	}
	last := 0
	for _, want := range []string{"Usage:", "Work:", "--zeal", "--also", "Files:", "--store", "Flags:", "--help",
		"Environment:", "AMAZONS_STORE"} {
		at := strings.Index(out.String(), want)
		if at < last {
			t.Errorf("%s at %d, after %d", want, at, last)
		}
		last = at
	}
	for line := range strings.Lines(out.String()) {
		if len(line) > helpColumns+1 {
			t.Errorf("%d columns: %s", len(line), line)
		}
	}
}

func TestResult(t *testing.T) {
	start, _ := amazons.ParsePosition("5x5")
	other, _ := amazons.ParsePosition("W./.B b")
	for _, c := range []struct {
		p     amazons.Position
		wins  eval.Verdict
		want  string
		field string
	}{
		{start, eval.Won, "first", "board"}, {start, eval.Lost, "second", "board"},
		{other, eval.Won, "black", "position"}, {other, eval.Lost, "white", "position"},
	} {
		r := NewSolveResult(c.p)
		r.Winner = WinnerName(c.p, c.wins)
		var out bytes.Buffer
		if err := r.WriteJSON(&out); err != nil {
			t.Fatal(err)
		}
		var fields map[string]any
		if err := json.Unmarshal(out.Bytes(), &fields); err != nil {
			t.Fatal(err)
		}
		if fields["winner"] != c.want || fields[c.field] == nil || fields["winning_moves"] == nil ||
			strings.Count(out.String(), "\n") != 1 {
			t.Errorf("%v: %s", c.p, out.String())
		}
		if !strings.Contains(r.String(), c.want) {
			t.Errorf("%v: %s", c.p, r)
		}
	}
}

func TestStatusLineTerminal(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var out bytes.Buffer
		s := &StatusLine{w: &out, terminal: true, width: func() int { return 6 }}
		ctx, cancel := context.WithTimeout(t.Context(), 600*time.Millisecond)
		defer cancel()
		n := 0
		s.run(ctx, func() string {
			n++
			fmt.Fprintln(s, "m")
			return fmt.Sprint("number ", n)
		}, nil)
		if want := "m\nnumbe\r\x1b[Km\nnumbe\r\x1b[K"; out.String() != want {
			t.Errorf("got %q; want %q", out.String(), want)
		}
	})
}

func TestStatusLinePlain(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var out bytes.Buffer
		ctx, cancel := context.WithTimeout(t.Context(), 150*time.Second)
		defer cancel()
		NewStatusLine(&out).run(ctx, func() string { return "at work" }, nil)
		if want := "at work\nat work\n"; out.String() != want {
			t.Errorf("got %q; want %q", out.String(), want)
		}
	})
}

// TestShow asks for a line by SIGUSR1 and hides it twice.
func TestShow(t *testing.T) {
	var out bytes.Buffer
	asked := make(chan struct{}, 1)
	hide := NewStatusLine(&out).Show(t.Context(), func() string {
		asked <- struct{}{}
		return "at work"
	})
	if err := syscall.Kill(os.Getpid(), syscall.SIGUSR1); err != nil {
		t.Fatal(err)
	}
	<-asked
	hide()
	hide()
	if want := "at work\n"; out.String() != want {
		t.Errorf("got %q; want %q", out.String(), want)
	}
}

func TestSignals(t *testing.T) {
	drain, abort, stop := Signals(t.Context())
	defer stop()
	if err := syscall.Kill(os.Getpid(), syscall.SIGTERM); err != nil {
		t.Fatal(err)
	}
	<-drain.Done()
	if abort.Err() != nil {
		t.Fatal("the first signal aborted")
	}
	if err := syscall.Kill(os.Getpid(), syscall.SIGINT); err != nil {
		t.Fatal(err)
	}
	<-abort.Done()
}

// TestHangup closes the terminal of a program, and of one that was started to outlive it.
func TestHangup(t *testing.T) {
	for _, outlives := range []bool{false, true} {
		if signal.Reset(syscall.SIGHUP); outlives {
			signal.Ignore(syscall.SIGHUP)
		} else if signal.Ignored(syscall.SIGHUP) {
			continue // these tests were started to outlive their terminal
		}
		drain, _, stop := Signals(t.Context())
		if err := syscall.Kill(os.Getpid(), syscall.SIGHUP); err != nil {
			t.Fatal(err)
		}
		if !outlives {
			<-drain.Done()
		} else if !signal.Ignored(syscall.SIGHUP) {
			t.Error("a program that was to outlive its terminal ends with it")
		}
		stop()
	}
}

// TestReader: an end of the context ends a read that waits.
func TestReader(t *testing.T) {
	in, out := io.Pipe()
	defer out.Close()
	ctx, cancel := context.WithCancel(t.Context())
	r := Reader(ctx, in)
	go out.Write([]byte("text"))
	text := make([]byte, 9)
	if n, err := r.Read(text); string(text[:n]) != "text" || err != nil {
		t.Errorf("%q, %v", text[:n], err)
	}
	time.AfterFunc(10*time.Millisecond, cancel)
	if _, err := r.Read(text); !errors.Is(err, context.Canceled) {
		t.Error(err)
	}
	if text, err := io.ReadAll(Reader(t.Context(), strings.NewReader("all"))); string(text) != "all" || err != nil {
		t.Errorf("%q, %v", text, err)
	}
}
