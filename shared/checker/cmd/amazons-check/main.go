// Command amazons-check verifies proof certificates for the game of Amazons and does nothing else.
// It is the package checker with a command line: the standard library, a zstd decoder, and no other
// part of this module. FORMAT.md in shared/proof says what a certificate is.
package main

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"math"
	"math/rand/v2"
	"os"
	"os/signal"
	"path/filepath"
	"runtime"
	"runtime/debug"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"time"

	"amazonsfarm/shared/checker"
)

// Exit codes. They are those of the other programs.
const (
	exitValid       = 0
	exitFailed      = 1  // the file could not be read, or memory does not suffice
	exitAbsent      = 3  // nothing is wrong, but parts of a proof are not there
	exitInvalid     = 20 // the file is no valid certificate
	exitUsage       = 64
	exitInterrupted = 130
)

// maxCores bounds the goroutines of a check, which have some memory each.
const maxCores = 1024

// gravity has the codes of a file, from the best to the worst. The program ends with the worst of its files.
var gravity = []int{exitValid, exitAbsent, exitFailed, exitUsage, exitInvalid, exitInterrupted}

const usage = `usage: amazons-check FILE... [flags]

Checks each certificate: every position, and every reply to its move. Prints what is
proved. Every ten seconds it says on standard error how far it is. FILE may be the
manifest NAME.proof of a proof in parts: then the parts in NAME.parts are checked. "-" is
standard input, which is held in memory, up to --max-memory.
Exit codes:
  0    all are valid; with --sample or --shard: so are the parts that were to be checked
  1    a file could not be read, or --max-memory does not suffice
  3    parts of a proof are not in its folder: what is there was checked and holds
  20   one is not valid; the first position that fails and why is on standard error
  64   wrong command line
  130  interrupted

flags:
`

func main() {
	signals := []os.Signal{os.Interrupt, syscall.SIGTERM, syscall.SIGHUP}
	if signal.Ignored(syscall.SIGHUP) { // it was started to outlive its terminal
		signals = signals[:2]
	}
	ctx, stop := signal.NotifyContext(context.Background(), signals...)
	defer stop()
	os.Exit(run(ctx, os.Args[1:], os.Stdout, os.Stderr))
}

// readSize reads a number of bytes, alone or with K, M, G, T or KiB, MiB, GiB, TiB behind it.
func readSize(text string) (int64, error) {
	digits := strings.TrimRight(text, "KMGTiB")
	unit := strings.TrimSuffix(text[len(digits):], "iB")
	shift, known := map[string]int{"": 0, "K": 10, "M": 20, "G": 30, "T": 40}[unit]
	n, err := strconv.ParseInt(digits, 10, 64)
	if !known || text == digits+"iB" || err != nil || n > math.MaxInt64>>shift {
		return 0, errors.New("give a number of bytes, such as 4294967296 or 4GiB")
	}
	return n << shift, nil
}

// answer is what --json prints, a line for each file. Fields may be added, never renamed.
// Where a sample, a shard or a single part holds, Verified is false and there is no Reason: no fault was
// found, and nothing is proved by that alone.
type answer struct {
	MessageType string          `json:"message_type"` // "verification"
	File        string          `json:"file"`
	Verified    bool            `json:"verified"`
	Reason      string          `json:"reason,omitempty"`
	Fault       *checker.Fault  `json:"fault,omitempty"`
	Report      *checker.Report `json:"report,omitempty"`
}

// command is a command line that was read.
type command struct {
	options checker.Options
	asJSON  bool
	files   []string
	text    string // what --help or --version asks for, in place of checking
}

// read reads a command line.
func read(args []string) (c command, err error) {
	flags := flag.NewFlagSet("amazons-check", flag.ContinueOnError)
	// The package flag would print its own message and the whole usage. Main says one line instead.
	flags.SetOutput(io.Discard)
	o := &c.options
	flags.BoolVar(&o.RulesOnly, "rules-only", false, "allow no leaf rule but that a side without a move has lost")
	flags.IntVar(&o.Workers, "cores", runtime.GOMAXPROCS(0), "`cores` to check with")
	o.MaxMemory = checker.DefaultMaxMemory
	flags.Func("max-memory", "`bytes` for tables, such as 4GiB, the default: 24 a position of the layers\n"+
		"that are needed at a time; a file that needs more is not checked",
		func(text string) (err error) { o.MaxMemory, err = readSize(text); return err })
	flags.BoolVar(&o.Part, "part", false, "check a single part of a proof: it holds if the positions that it cites do")
	flags.Var(&o.Sample, "sample", "check a random `share` of the parts, such as 1%")
	flags.Uint64Var(&o.Seed, "seed", rand.Uint64N(1<<32), "`number` that chooses the sample")
	flags.Lookup("seed").DefValue = "random"
	flags.Var(&o.Shard, "shard", "check one `shard` of the parts, such as 3/16")
	flags.Var(&o.States, "state",
		"note checked parts in `file`, and skip those noted\nthere or in more files after commas")
	flags.BoolVar(&c.asJSON, "json", false, "answer as JSON, one line a file")
	version := flags.Bool("version", false, "print the version and end")
	// Flags may stand before, between and behind files.
	for rest := args; ; c.files, rest = append(c.files, rest[0]), rest[1:] {
		if err := flags.Parse(rest); errors.Is(err, flag.ErrHelp) {
			var list strings.Builder
			flags.SetOutput(&list)
			flags.PrintDefaults()
			c.text = usage + strings.ReplaceAll(list.String(), "  -", "  --")
			return c, nil
		} else if err != nil {
			// Package flag only says that a text is no number.
			return c, errors.New(strings.Replace(err.Error(), "parse error", "write a whole number", 1))
		}
		// Parse stops at the first file, at "-", and behind "--".
		if n := len(rest) - flags.NArg(); n > 0 && rest[n-1] == "--" {
			c.files = append(c.files, flags.Args()...)
			break
		}
		if rest = flags.Args(); len(rest) == 0 {
			break
		}
	}
	seed := false
	flags.Visit(func(f *flag.Flag) { seed = seed || f.Name == "seed" })
	isFolder := func(name string) bool {
		info, err := os.Stat(name)
		return err == nil && info.IsDir()
	}
	switch folder := slices.IndexFunc(c.files, isFolder); {
	case *version:
		c.text = fmt.Sprintf("amazons-check, %s\ncertificates   formats 1 to %d, with the leaf rules of FORMAT.md\n",
			revision(), checker.Format)
	case o.Workers < 1 || o.Workers > maxCores || o.MaxMemory < 1:
		err = fmt.Errorf("--cores must be from 1 to %d and --max-memory above zero", maxCores)
	case len(c.files) == 0:
		err = errors.New("give a certificate, such as 5x5.proof")
	case seed && o.Sample == 0:
		err = errors.New("--seed chooses a sample; give --sample as well")
	case folder >= 0:
		name := filepath.Clean(c.files[folder])
		err = fmt.Errorf("%s is a folder; give a certificate or a manifest, such as %s.proof", c.files[folder],
			strings.TrimSuffix(name, filepath.Ext(name)))
	}
	return c, err
}

// run is main with its surroundings given. It goes on after a file that is not valid and returns
// the largest exit code.
func run(ctx context.Context, args []string, stdout, stderr io.Writer) int {
	c, err := read(args)
	if err != nil {
		fmt.Fprintf(stderr, "amazons-check: %v; see amazons-check --help\n", err)
		return exitUsage
	}
	if c.text != "" {
		if _, err := io.WriteString(stdout, c.text); err != nil {
			fmt.Fprintf(stderr, "amazons-check: print the answer: %v\n", err)
			return exitFailed
		}
		return exitValid
	}
	// A part that is not there is no fault. Missing tells it afterwards, and the exit code is another
	// one.
	c.options.Progress, c.options.Absent = progress(stderr), true
	worst := exitValid
	for _, file := range c.files {
		report, err := checker.CheckFile(ctx, file, c.options)
		if err == nil {
			err = report.Missing()
		}
		code := exitCode(err)
		worst = gravity[max(slices.Index(gravity, code), slices.Index(gravity, worst))]
		if err != nil {
			fmt.Fprintln(stderr, visible("amazons-check: "+file+": "+words(err), file))
		}
		if err := c.print(stdout, file, report, err); err != nil {
			fmt.Fprintf(stderr, "amazons-check: print the answer: %v\n", err)
			return cmp.Or(worst, exitFailed)
		}
		// The context stays cancelled, so all further files would end like this.
		if code == exitInterrupted {
			break
		}
	}
	return worst
}

// words returns the text of an error, with "interrupted" for the end of the context.
func words(err error) string {
	return strings.ReplaceAll(err.Error(), context.Canceled.Error(), "interrupted")
}

// print says what was found in a file: the report, if there is one, and as JSON also why it does not hold.
func (c *command) print(stdout io.Writer, file string, report *checker.Report, fault error) error {
	if c.asJSON {
		valid := fault == nil && report.Complete()
		a := answer{MessageType: "verification", File: file, Verified: valid, Report: report}
		if fault != nil {
			a.Reason = words(fault)
			errors.As(fault, &a.Fault)
		}
		return json.NewEncoder(stdout).Encode(a)
	}
	if report == nil {
		return nil
	}
	_, err := io.WriteString(stdout, visible(fmt.Sprintf("%s: %v", file, report), file))
	return err
}

// visible returns a text about a file in which its name, and that of its folder of parts, hide nothing. A stranger's
// file may have a name with lines that look like an answer.
func visible(text, file string) string {
	stem := strings.TrimSuffix(file, ".proof")
	return strings.ReplaceAll(text, stem, strings.Trim(strconv.Quote(stem), `"`))
}

// revision names the source that this program was built from, as far as that is known.
func revision() string {
	name := "unknown revision"
	if info, ok := debug.ReadBuildInfo(); ok {
		for _, s := range info.Settings {
			if s.Key == "vcs.revision" {
				name = "revision " + s.Value
			}
			if s.Key == "vcs.modified" && s.Value == "true" {
				name += " with changes"
			}
		}
	}
	return name + ", " + runtime.Version()
}

// progress tells every ten seconds how far a check has come.
// It serves several files: where Elapsed is less than the last time, the check of another file has begun.
func progress(w io.Writer) func(checker.Progress) {
	var last time.Duration
	return func(p checker.Progress) {
		if last = min(last, p.Elapsed); p.Elapsed-last >= 10*time.Second {
			last = p.Elapsed
			fmt.Fprintf(w, "%v: %v\n", p.Elapsed.Round(time.Second), p)
		}
	}
}

// exitCode tells what is wrong with the file from what kept it from being checked.
// run returns the largest of them, so a file that is not valid outweighs one that lacks parts.
func exitCode(err error) int {
	switch {
	case err == nil:
		return exitValid
	case errors.Is(err, context.Canceled):
		return exitInterrupted
	case errors.Is(err, checker.ErrAbsent):
		return exitAbsent
	case checker.Invalid(err):
		return exitInvalid
	case errors.Is(err, checker.ErrOneFile), errors.Is(err, checker.ErrState):
		return exitUsage
	}
	return exitFailed
}
