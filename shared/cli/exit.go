package cli

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

// Exit codes of all commands. 2 is never used by us: a Go program that panics exits with it.
const (
	ExitDone         = 0   // done
	ExitFailed       = 1   // failed
	ExitLimit        = 3   // stopped at a limit; can be resumed or tried with a larger one
	ExitNoStore      = 10  // store missing
	ExitLocked       = 11  // store locked by another process
	ExitIncompatible = 12  // incompatible version, rules or database
	ExitVerification = 20  // verification failed
	ExitUsage        = 64  // the command line or an input is wrong
	ExitInterrupted  = 130 // interrupted by a signal
)

// ExitHelp is the paragraph about exit codes in the help of both programs.
const ExitHelp = `Exit codes:
  0    done
  1    failed
  3    stopped at a limit; can be resumed
  10   store missing
  11   store locked by another process
  12   incompatible version, rules or database
  20   verification failed
  64   wrong command line or input
  130  interrupted`

// ExitError is an error that says with which code the process ends.
type ExitError struct {
	Code int   // one of the Exit constants
	Err  error // what is told to the person; nil: nothing
}

// Error returns the text of the wrapped error.
func (e *ExitError) Error() string {
	if e.Err == nil {
		return fmt.Sprintf("exit code %d", e.Code)
	}
	return e.Err.Error()
}

// Unwrap returns the wrapped error.
func (e *ExitError) Unwrap() error { return e.Err }

// Exit gives err an exit code. A nil err ends the process silently with that code.
func Exit(code int, err error) error { return &ExitError{code, err} }

// Usagef returns an error about the command line or an input: exit code 64.
func Usagef(format string, args ...any) error {
	return &ExitError{ExitUsage, fmt.Errorf(format, args...)}
}

// ExitCode returns the code of an error: that of the outermost [ExitError] in it,
// otherwise ExitInterrupted for a cancelled context, ExitFailed for anything else and ExitDone for nil.
func ExitCode(err error) int {
	var exit *ExitError
	switch {
	case err == nil:
		return ExitDone
	case errors.As(err, &exit):
		return exit.Code
	case errors.Is(err, context.Canceled):
		return ExitInterrupted
	}
	return ExitFailed
}

// Execute runs a command tree on args (without the program's name) and returns
// the exit code. Whatever goes wrong before a command's own code runs (unknown command, unknown flag,
// wrong number of arguments) is a usage error. The error, if any, is one line on stderr.
func Execute(ctx context.Context, root *cobra.Command, args []string, stdin io.Reader, stdout, stderr io.Writer) int {
	root.SilenceErrors, root.SilenceUsage = true, true
	root.SetArgs(args)
	root.SetIn(stdin)
	root.SetOut(stdout)
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
		for _, sub := range c.Commands() {
			mark(sub)
		}
	}
	mark(root)
	cmd, err := root.ExecuteContextC(ctx)
	if err == nil {
		return ExitDone
	}
	if !started {
		err = Exit(ExitUsage, fmt.Errorf("%w; see %s --help", err, cmd.CommandPath()))
	}
	var exit *ExitError
	if !errors.As(err, &exit) || exit.Err != nil {
		fmt.Fprintf(stderr, "%s: %v\n", root.Name(), err)
	}
	return ExitCode(err)
}

// environmentAnnotation holds the variables of ReadEnvironment in the annotations of a program's
// first command, as FLAG=VARIABLE, for its man pages.
const environmentAnnotation = "environment"

// ReadEnvironment makes all commands of a program do what [Environment] does, before they begin.
func ReadEnvironment(root *cobra.Command, names map[string]string) {
	var list []string
	for flag, variable := range names {
		list = append(list, flag+"="+variable)
	}
	slices.Sort(list)
	root.Annotations = map[string]string{environmentAnnotation: strings.Join(list, " ")}
	root.PersistentPreRunE = func(c *cobra.Command, _ []string) error {
		return Environment(c.Flags(), os.Getenv,
			names)
	}
}

// Environment gives flags that are not on the command line the value of an
// environment variable, where it is set and not empty. names maps a flag's name to
// the variable; flags that the set lacks are passed over. Errors are usage errors
// that name the variable.
func Environment(flags *pflag.FlagSet, getenv func(string) string, names map[string]string) error {
	var err error
	flags.VisitAll(func(f *pflag.Flag) {
		name, ok := names[f.Name]
		if !ok || f.Changed || err != nil {
			return
		}
		value := getenv(name)
		if value == "" {
			return
		}
		if e := flags.Set(f.Name, value); e != nil {
			var usage *ExitError
			if errors.As(e, &usage) {
				e = usage.Err
			}
			err = Usagef("%s: %w", name, e)
		}
	})
	return err
}
