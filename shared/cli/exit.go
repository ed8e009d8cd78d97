package cli

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/spf13/cobra"
)

// Exit codes of all commands. 2 is never used by us: a Go program that panics exits with it.
const (
	ExitDone         = 0   // done
	ExitFailed       = 1   // failed
	ExitLimit        = 3   // stopped at a limit; can be resumed or tried with a larger one
	ExitNoStore      = 10  // store missing
	ExitLocked       = 11  // store locked by another process
	ExitIncompatible = 12  // another version, rules, campaign or database; damaged; or refused by the master
	ExitVerification = 20  // verification failed
	ExitUsage        = 64  // the command line or an input is wrong
	ExitInterrupted  = 130 // interrupted by a signal
)

// ExitHelp is the paragraph about exit codes in the help of both programs.
const ExitHelp = `Exit codes:
  0    done
  1    failed
  3    stopped at a limit, or parts of a proof are not there; can be resumed
  10   store missing
  11   store locked by another process
  12   another version, rules, campaign or database; damaged; or refused by the master
  20   verification failed
  64   wrong command line or input
  130  interrupted`

// Kinds of errors that both programs know. A command returns an error of a kind, and only main
// says which exit code the kind has; see [Execute].
var (
	ErrLimit        = errors.New("stopped at a limit")          // a larger limit, or the same command, goes on
	ErrNoStore      = errors.New("store missing")               // a file or folder to work on is not there
	ErrLocked       = errors.New("store locked")                // another process works on it
	ErrIncompatible = errors.New("incompatible")                // of another version, other rules or another build
	ErrVerification = errors.New("not verified")                // the checker, or a checksum, says no
	ErrUsage        = errors.New("wrong command line or input") // nothing was begun
	ErrInterrupted  = errors.New("interrupted")                 // by a signal
)

// Kind is the errors that end a program with one exit code.
type Kind struct {
	Code int     // one of the Exit constants
	Errs []error // judged with errors.Is
}

// common are the kinds of this package.
var common = []Kind{
	{ExitLimit, []error{ErrLimit}}, {ExitNoStore, []error{ErrNoStore}}, {ExitLocked, []error{ErrLocked}},
	{ExitIncompatible, []error{ErrIncompatible}}, {ExitVerification, []error{ErrVerification}},
	{ExitUsage, []error{ErrUsage}}, {ExitInterrupted, []error{ErrInterrupted}},
}

// kindError is an error of a kind, with a text of its own.
type kindError struct{ kind, err error }

// Error returns the text of the error behind the kind, which is all that people need to read.
func (e *kindError) Error() string {
	if e.err == nil {
		return ""
	}
	return e.err.Error()
}

// Unwrap returns the error behind the text. The kind is found by [ExitCode] and by Is.
func (e *kindError) Unwrap() error { return e.err }

func (e *kindError) Is(target error) bool { return target == e.kind }

// As gives err one of the kinds above; the text stays that of err. With a nil err the process ends
// with the code of the kind and prints nothing.
func As(kind, err error) error { return &kindError{kind, err} }

// Usagef returns an error about the command line or an input: one of the kind ErrUsage.
func Usagef(format string, args ...any) error { return As(ErrUsage, fmt.Errorf(format, args...)) }

// ExitCode returns the code of an error: that of the first kind above that [As] gave it, otherwise of
// the first of kinds that matches, otherwise ExitInterrupted for a cancelled context, ExitFailed for
// anything else and ExitDone for nil.
func ExitCode(err error, kinds ...Kind) int {
	if err == nil {
		return ExitDone
	}
	for _, k := range slices.Concat(common, kinds) {
		if slices.ContainsFunc(k.Errs, func(kind error) bool { return errors.Is(err, kind) }) {
			return k.Code
		}
	}
	if errors.Is(err, context.Canceled) {
		return ExitInterrupted
	}
	return ExitFailed
}

// Words returns the text of an error, with "interrupted" for the end of a context at a signal.
func Words(err error) string {
	text := err.Error()
	if ExitCode(err) == ExitInterrupted {
		text = strings.ReplaceAll(text, context.Canceled.Error(), ErrInterrupted.Error())
	}
	return text
}

// Execute runs a command tree on args (without the program's name) and returns the exit code; kinds
// are those of the program beside those of this package, the first match decides. Whatever goes
// wrong before a command's own code runs (unknown command, unknown flag, wrong number of arguments)
// is a usage error. The error, if any, is one line on stderr.
func Execute(ctx context.Context, root *cobra.Command, args []string, stdin io.Reader, stdout, stderr io.Writer,
	kinds ...Kind) int {
	root.SilenceErrors, root.SilenceUsage = true, true
	root.SetFlagErrorFunc(explainFlag)
	root.SetHelpCommand(helpCommand())
	root.InitDefaultHelpCmd()
	useGroups(root)
	root.SetArgs(args)
	root.SetIn(stdin)
	out := &output{Writer: stdout}
	root.SetOut(out)
	root.SetErr(stderr)
	started := false
	var mark func(c *cobra.Command)
	mark = func(c *cobra.Command) {
		if run := c.RunE; run != nil {
			c.RunE = func(c *cobra.Command, args []string) error {
				started = true
				return run(c, args)
			}
		}
		explainArguments(c)
		for _, sub := range c.Commands() {
			mark(sub)
		}
	}
	mark(root)
	cmd, err := root.ExecuteContextC(ctx)
	switch {
	case out.err != nil && (err == nil || !started): // of a help text, say, of which nobody looks at errors
		err = out.err
	case err == nil:
		return ExitDone
	case !started:
		err = Usagef("%w; see %s --help", suggest(err), cmd.CommandPath())
	}
	code, text := ExitCode(err, kinds...), strings.ReplaceAll(Words(err), "\n", "; ")
	if text != "" {
		fmt.Fprintf(stderr, "%s: %s\n", root.Name(), text)
	}
	return code
}

// output is the standard output of a program. It keeps the first error.
type output struct {
	io.Writer
	err error
}

func (o *output) Write(p []byte) (n int, err error) {
	n, err = o.Writer.Write(p)
	o.err = cmp.Or(o.err, err)
	return n, err
}
