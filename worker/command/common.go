// Package command is the commands of the worker, one file a command: flags, checks, wiring and what
// is printed. Each stands on common.go and, where it solves positions, on solver.go; it stands on no
// other command. Commands return errors; main gives them exit codes.
package command

import (
	"bufio"
	"context"
	"embed"
	"errors"
	"fmt"
	"io"
	"os"
	"runtime"
	"slices"
	"strings"

	"amazonsfarm/shared/amazons"
	"amazonsfarm/shared/cli"
	"amazonsfarm/shared/dfpn"
	"amazonsfarm/shared/endgame"
	"amazonsfarm/shared/eval"

	"github.com/spf13/cobra"
)

// All returns the commands of the worker.
func All() []*cobra.Command {
	return []*cobra.Command{runCommand(), solveCommand(), perftCommand(), benchCommand(), dbCommand(),
		valueCommand(), evalCommand(), cli.HealthCommand(defaultHTTP)}
}

//go:embed help/*.txt
var texts embed.FS

// help has the help texts of the commands.
var help = cli.Help{FS: texts}

// defaultHTTP is where the pages of a worker usually are.
const defaultHTTP = "127.0.0.1:9172"

// searchFlags are the flags of all commands that search.
type searchFlags struct {
	cores int
	table cli.TableSize
	judge func() *eval.Judge // a judge with a database for each thread; nil: without one
}

func (f *searchFlags) add(c *cobra.Command, table int64) {
	f.table.Bytes = table
	coresFlag(c, &f.cores)
	c.Flags().Var(&f.table, "table", "remember positions in a table of `SIZE`, "+cli.TableHelp)
}

// checkTable chooses the size of a table that was left open, and refuses a table that the machine
// cannot have.
func checkTable(size *cli.TableSize, w io.Writer) error {
	if err := size.Resolve(w); err != nil {
		return err
	}
	// Trying is the surest test. The table is closed at once: the search makes its own later, where
	// nobody knows any more which flag is to blame.
	t, err := dfpn.NewTable(size.Bytes)
	if err != nil {
		return cli.Usagef("--table %v: %w", size, err)
	}
	return t.Close()
}

// parsePosition reads a position given as one argument or as several.
func parsePosition(args []string) (amazons.Position, error) {
	if slices.Equal(args, []string{"-"}) { // an empty square, as the text of a position
		return amazons.Position{}, cli.Usagef("this command does not read standard input; give a position")
	}
	p, err := amazons.ParsePosition(strings.Join(args, " "))
	if err != nil && len(args) > 1 {
		if _, second := amazons.ParsePosition(args[1]); second == nil {
			return p, cli.Usagef("one position is wanted; worker solve - reads several, one a line")
		}
	}
	if err != nil {
		return p, cli.Usagef("%w", err)
	}
	return p, nil
}

// readyDatabase opens the best database of a folder, or builds the small one where the folder has
// none, and says so on w, since the folder may be a mistyped one. When neither works, it says why on w
// and returns nil: everything works without a database, only more slowly.
func readyDatabase(ctx context.Context, dir string, w io.Writer) (*endgame.DB, error) {
	db, skipped, err := endgame.OpenDir(dir)
	if errors.Is(err, endgame.ErrNone) {
		fmt.Fprintf(w, "worker: building the small database of areas in %s, once\n", dir)
		db, skipped, err = endgame.OpenOrBuild(ctx, dir, endgame.Options{})
	}
	for _, e := range skipped {
		fmt.Fprintf(w, "worker: passed over: %v\n", e)
	}
	if err == nil || ctx.Err() != nil { // Ctrl-C during the build means an end, and not a slower command.
		return db, err
	}
	fmt.Fprintf(w, "worker: going on without a database of areas: %v\n", err)
	return nil, nil
}

// dbFlags say where databases are.
type dbFlags struct{ dir string }

func (f *dbFlags) add(c *cobra.Command) {
	c.Flags().StringVar(&f.dir, "dir", "",
		"use the databases in `FOLDER` (default: amazonsfarm in the user's cache folder)")
}

func (f *dbFlags) folder() (string, error) {
	if f.dir != "" {
		return f.dir, checkFolder("dir", f.dir)
	}
	return endgame.DefaultDir()
}

// checkFolder refuses a file where a flag names a folder of databases.
func checkFolder(flag, dir string) error {
	if info, err := os.Stat(dir); err == nil && !info.IsDir() {
		return cli.Usagef("--%s %s: it is a file; give its folder", flag, dir)
	}
	return nil
}

// show prints a result for people, or as one JSON document.
func show(c *cobra.Command, asJSON bool, r fmt.Stringer) error {
	return cli.Answer(c, asJSON, r, r.String())
}

func jsonFlag(c *cobra.Command, asJSON *bool) {
	c.Flags().BoolVar(asJSON, "json", false, "print one JSON document")
}

func coresFlag(c *cobra.Command, cores *int) {
	cli.Ranged(c.Flags(), c.Flags().IntVar, "cores", cores, runtime.GOMAXPROCS(0), 1, dfpn.MaxThreads, "use `N` cores")
}

// maxLine is more than a line with a position or an area has, in bytes.
const maxLine = 1 << 16

// readLines reads lines. Of one that is too long it gives the beginning and "…", which is no position
// and no area.
func readLines(in io.Reader) *bufio.Scanner {
	scanner, within := bufio.NewScanner(in), false // within a line that is too long
	scanner.Buffer(make([]byte, maxLine), maxLine)
	scanner.Split(func(data []byte, end bool) (n int, line []byte, err error) {
		n, line, err = bufio.ScanLines(data, end)
		full := n == 0 && len(data) == maxLine
		if full {
			n, line = maxLine, append(data[:40:40], "…"...)
		}
		if within {
			line = nil
		}
		within = full || within && n == 0
		return n, line, err
	})
	return scanner
}

// lineText is a line of input without spaces around it and without a byte order mark, which some editors put at the
// begin of a file.
func lineText(line string) string { return strings.TrimSpace(strings.TrimPrefix(line, "\ufeff")) }
