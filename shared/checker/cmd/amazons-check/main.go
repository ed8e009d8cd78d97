// Command amazons-check verifies proof certificates for the game of Amazons and does nothing else.
// It is the package checker with a command line: the standard library, a zstd decoder, and no other
// part of this module. FORMAT.md in shared/proof says what a certificate is.
package main

import (
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"
	"runtime"
	"runtime/debug"
	"syscall"

	"amazonsfarm/shared/checker"
)

// Exit codes. They are those of the other programs.
const (
	exitValid       = 0
	exitFailed      = 1  // the file could not be read, or memory does not suffice
	exitInvalid     = 20 // the file is no valid certificate
	exitUsage       = 64
	exitInterrupted = 130
)

const usage = `usage: amazons-check [flags] FILE...

Checks each certificate: every position, and every reply to its move. Prints what is proved. Exit codes:
  0    all are valid
  1    a file could not be read, or --max-memory does not suffice
  20   one is not valid; the first position that fails and why is on standard error
  64   wrong command line
  130  interrupted

flags:
`

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	os.Exit(run(ctx, os.Args[1:], os.Stdout, os.Stderr))
}

// answer is what --json prints, a line for each file. Fields may be added, never renamed.
type answer struct {
	MessageType string          `json:"message_type"` // "verification"
	File        string          `json:"file"`
	Verified    bool            `json:"verified"`
	Reason      string          `json:"reason,omitempty"`
	Fault       *checker.Fault  `json:"fault,omitempty"`
	Report      *checker.Report `json:"report,omitempty"`
}

// run is main with its surroundings given. It goes on after a file that is not valid and returns
// the largest exit code.
func run(ctx context.Context, args []string, stdout, stderr io.Writer) int {
	flags := flag.NewFlagSet("amazons-check", flag.ContinueOnError)
	flags.SetOutput(stderr)
	flags.Usage = func() {
		fmt.Fprint(stderr, usage)
		flags.PrintDefaults()
	}
	var o checker.Options
	flags.BoolVar(&o.RulesOnly, "rules-only", false, "allow no leaf rule but that a side without a move has lost")
	flags.IntVar(&o.Workers, "cores", runtime.GOMAXPROCS(0), "`cores` to check with")
	flags.Int64Var(&o.MaxMemory, "max-memory", checker.DefaultMaxMemory,
		"`bytes` for tables of positions, 24 a position of the layers that are needed at a time; a file that needs "+
			"more is not checked")
	asJSON := flags.Bool("json", false, "answer as JSON, one line a file")
	version := flags.Bool("version", false, "print the version and end")
	switch err := flags.Parse(args); {
	case errors.Is(err, flag.ErrHelp):
		return exitValid
	case err != nil:
		return exitUsage
	}
	if *version {
		fmt.Fprintf(stdout, "amazons-check, %s\ncertificates   format %d, with both leaf rules of FORMAT.md\n",
			revision(), checker.Format)
		return exitValid
	}
	if flags.NArg() == 0 || o.Workers < 1 || o.MaxMemory < 1 {
		fmt.Fprintln(stderr, "amazons-check: give a certificate, and numbers above zero; see amazons-check --help")
		return exitUsage
	}
	worst := exitValid
	for _, file := range flags.Args() {
		report, err := checker.CheckFile(ctx, file, o)
		code := exitCode(err)
		worst = max(worst, code)
		if err != nil {
			fmt.Fprintf(stderr, "amazons-check: %s: %v\n", file, err)
		}
		switch {
		case *asJSON:
			a := answer{MessageType: "verification", File: file, Verified: err == nil, Report: report}
			if err != nil {
				a.Reason = err.Error()
				errors.As(err, &a.Fault)
			}
			err = json.NewEncoder(stdout).Encode(a)
		case report != nil:
			_, err = fmt.Fprintf(stdout, "%s: %v", file, report)
		default:
			err = nil
		}
		if err != nil {
			fmt.Fprintf(stderr, "amazons-check: print the answer: %v\n", err)
			return max(worst, exitFailed)
		}
		if code == exitInterrupted {
			break
		}
	}
	return worst
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

// exitCode tells what is wrong with the file from what kept it from being checked.
func exitCode(err error) int {
	var fault *checker.Fault
	switch {
	case err == nil:
		return exitValid
	case errors.Is(err, context.Canceled):
		return exitInterrupted
	case errors.As(err, &fault):
		return exitInvalid
	}
	for _, kind := range []error{checker.ErrNotCertificate, checker.ErrUnsupportedVersion, checker.ErrTruncated,
		checker.ErrTrailing,
		checker.ErrChecksum, checker.ErrHeader, checker.ErrBlock} {
		if errors.Is(err, kind) {
			return exitInvalid
		}
	}
	return exitFailed
}
