// Package command is the commands of the master, one file a command: flags, checks, wiring, print.
//
// A command stands on the common ground and on no other command: common.go has questions, files and
// what is printed, progress.go says how far a campaign is, remote.go calls a serving master, settings.go
// has what an operator may turn. A
// test in package main holds this order.
//
// The commands that run a farm (solve, serve, simulate) have one shape: a struct of their flags,
// validate, which opens nothing, and start. Help texts lie in the folder help. Commands return
// errors of the kinds in shared/cli or of the packages that they call; main gives them exit codes.
//
// To add a command that asks a master, name the method of the control service, the request and how
// the answer is shown, and give the three to calling: it connects, checks the credential, bounds the
// time, turns errors into sentences, and prints a document or a text. A new setting of the master is
// one line in settings.go, with its range; it is then a key of the settings file, a line of "master
// help settings", and a flag where a command names it in addTo.
package command

import (
	"bytes"
	"cmp"
	"context"
	"embed"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/spf13/cobra"

	"amazonsfarm/master/document"
	"amazonsfarm/master/store"
	"amazonsfarm/master/tree/graph"
	"amazonsfarm/shared/amazons"
	"amazonsfarm/shared/cli"
	"amazonsfarm/shared/dfpn"
	"amazonsfarm/shared/disk"
)

// All returns the commands of the master.
func All() []*cobra.Command {
	return append(controlCommands(), solveCommand(), serveCommand(), statusCommand(), quarantineCommand(),
		exploreCommand(), proofCommand(), webCommand(), simulateCommand(), campaignCommand(), verifyCommand(),
		storeCommand(), evidenceCommand(), importCommand(), forecastCommand(),
		certsCommand(), settingsTopic(), cli.HealthCommand(defaultHTTP))
}

//go:embed help/*.txt
var texts embed.FS

// help has the help texts of the commands.
var help = cli.Help{FS: texts}

// question is what is asked: a position and perhaps first moves.
type question struct {
	root       amazons.Position
	firstMoves []amazons.Move
}

// parseQuestion reads a board or position and first moves, sorted, each once. Errors about the position begin with
// where. check says which positions are not taken: amazons.Position.CheckQueens for the commands without
// --any-position.
func parseQuestion(where, text string, moves []string, check func(amazons.Position) error) (question, error) {
	p, err := amazons.ParsePosition(text)
	if err != nil {
		return question{}, cli.Usagef("%s%w", where, cmp.Or(fileGiven(text), err))
	}
	if err := check(p); err != nil {
		return question{}, cli.Usagef("%s%w", where, err)
	}
	q := question{root: p}
	if q.firstMoves, err = p.ParseMoves(moves); err != nil {
		return question{}, cli.Usagef("--first-move: %w", err)
	}
	slices.SortFunc(q.firstMoves, func(a, b amazons.Move) int { return strings.Compare(a.String(), b.String()) })
	return q, nil
}

// fileGiven says that a file was given where a question is wanted, nil where the text names none.
func fileGiven(text string) error {
	info, err := os.Stat(text)
	switch {
	case err != nil:
		return nil
	case info.IsDir():
		return fmt.Errorf("%s is a folder; give a board such as 5x6, or a position", text)
	case isProof(text):
		return fmt.Errorf("%s is a certificate; %s verify %s checks it", text, cli.Program("master"), cli.Quoted(text))
	}
	return fmt.Errorf("%s is a file; give a board such as 5x6, or a position", text)
}

// defaultHTTP is where the pages of a master usually are.
const defaultHTTP = "127.0.0.1:9171"

// maxCores bounds the cores of a process and the workers in it.
const maxCores = 1 << 14

// coresFlag defines --cores. The default is what the Go runtime may use, limits of control groups
// included.
func coresFlag(c *cobra.Command, cores *int) {
	cli.Ranged(c.Flags(), c.Flags().IntVar, "cores", cores, runtime.GOMAXPROCS(0), 1, dfpn.MaxThreads, "use `N` cores")
}

// storeGiven reports whether --store is on the command line. AMAZONS_STORE is for the commands that
// work on a store; where a command can read something else, what is given beats the variable.
func storeGiven(c *cobra.Command) bool { return given(c, "store", "AMAZONS_STORE") }

// errOneProof is the error about two certificates, or none.
var errOneProof = cli.Usagef("give a certificate or --store FILE, one of them")

// given reports whether a flag is on the command line, and not its variable alone.
func given(c *cobra.Command, flag, variable string) bool {
	f := c.Flags().Lookup(flag)
	return f.Changed && f.Value.String() != os.Getenv(variable)
}

// isFolder reports whether there is a folder of that name.
func isFolder(file string) bool {
	info, err := os.Stat(file)
	return err == nil && info.IsDir()
}

// isStore reports whether a file is a database of the kind that a store is, whatever is in it.
func isStore(file string) bool {
	return beginsWith(file, 16, []byte{0xed, 0xda, 0x0c, 0xed}) // bbolt's mark, behind the header of its first page
}

// isProof reports whether a file begins as a certificate or a manifest does.
func isProof(file string) bool { return beginsWith(file, 0, []byte("AMZ")) }

// beginsWith reports whether a file has a mark at a place near its beginning.
func beginsWith(file string, at int64, mark []byte) bool {
	f, err := disk.Open(file)
	if err != nil {
		return false
	}
	defer f.Close()
	got := make([]byte, len(mark))
	_, err = f.ReadAt(got, at)
	return err == nil && bytes.Equal(got, mark)
}

// chooseTable chooses the size of tables where the user leaves it to this machine, and checks it as checkTable does.
func chooseTable(t *cli.TableSize, w io.Writer, workers int) error {
	if err := t.Resolve(w); err != nil {
		return err
	}
	return checkTable("--table "+t.String(), t.Bytes, workers)
}

// checkTable refuses tables that do not fit this machine or are too small to share. given is the flag with its value.
func checkTable(given string, bytes int64, workers int) error {
	if smallest := int64(dfpn.MinTableBytes); bytes/int64(workers) < smallest {
		return cli.Usagef("%s: each of %d workers needs at least %s", given, workers, cli.FormatSize(smallest))
	}
	t, err := dfpn.NewTable(bytes)
	if err != nil {
		return cli.Usagef("%s: %w", given, err)
	}
	return t.Close()
}

// checkFiles says before anything is done that the store or the certificate could not be written.
// willMake says that the folder of the store is made later.
func checkFiles(storeFile, proof string, willMake bool) error {
	if isProof(storeFile) {
		return cli.Usagef("--store %s: it is a certificate; name a store", storeFile)
	}
	for _, f := range []struct{ where, file string }{{"--store ", storeFile}, {"--proof ", proof}} {
		if folder := filepath.Dir(f.file); willMake && folder == filepath.Dir(storeFile) && !isFolder(folder) {
			continue
		}
		if err := cli.CheckOutput(f.where, f.file); err != nil {
			return err
		}
	}
	a, errA := filepath.Abs(storeFile)
	b, errB := filepath.Abs(proof)
	if errA == nil && errB == nil && a == b {
		return cli.Usagef("store and certificate would be one file, %s; give --store another name", storeFile)
	}
	return nil
}

// numberText writes a proof or disproof number. The largest stands for a proved result.
func numberText(x uint32) string {
	if x >= graph.Infinity {
		return "inf"
	}
	return fmt.Sprint(x)
}

// count writes a large number with a unit.
func count(n uint64) string {
	switch {
	case n >= 10_000_000_000:
		return fmt.Sprintf("%.1f G", float64(n)/1e9)
	case n >= 10_000_000:
		return fmt.Sprintf("%.1f M", float64(n)/1e6)
	case n >= 10_000:
		return fmt.Sprintf("%.1f k", float64(n)/1e3)
	}
	return fmt.Sprint(n)
}

// view is how a position and its moves are shown: as text, as JSON, or as a picture.
type view struct {
	top   int
	json  *bool
	asSVG bool
}

// add defines the flags of a view.
func (v *view) add(c *cobra.Command) {
	v.json = cli.JSONFlag(c)
	cli.Ranged(c.Flags(), c.Flags().IntVar, "top", &v.top, 20, 0, cli.Most, "show `N` moves as text (0: all)")
	c.Flags().BoolVar(&v.asSVG, "svg", false, "print a picture of the board")
	c.PreRunE = func(*cobra.Command, []string) error {
		if v.asSVG && *v.json {
			return cli.Usagef("--json and --svg: choose one")
		}
		return nil
	}
}

// show prints a position. A picture marks the last move, if there is one.
func (v *view) show(c *cobra.Command, p amazons.Position, last *amazons.Move, document any, text string) error {
	if v.asSVG {
		return p.WriteSVG(c.OutOrStdout(), last)
	}
	return cli.Answer(c, *v.json, document, text)
}

// boardText is the board in text. It marks the last move, if there is one, like the picture.
func boardText(p amazons.Position, last *amazons.Move) string {
	if last == nil {
		return p.Text()
	}
	return p.TextMarked(*last)
}

// movesReport counts the moves of a position by what they do, and lists them in a table: row is what it
// says of a move beside that.
func movesReport[T any](top int, header string, moves []document.Move[T], row func(document.Move[T]) []any) string {
	counts := map[string]int{}
	var rows [][]any
	for _, m := range moves {
		counts[m.Wins]++
		rows = append(rows, append([]any{m.Move, m.Wins}, row(m)...))
	}
	s := fmt.Sprintf("moves          %d: %d win, %d open, %d lose\n", len(moves), counts["wins"], counts["open"],
		counts["loses"])
	if len(moves) == 0 {
		return s
	}
	return s + "\n" + table(top, "move|outcome|"+header, rows)
}

// group is a command that only holds others; by itself it prints its help.
func group(use, short string, commands ...*cobra.Command) *cobra.Command {
	c := &cobra.Command{Use: use, Short: short, Long: help.Long(use), Args: cobra.NoArgs,
		RunE: func(c *cobra.Command, _ []string) error { return c.Help() }}
	c.AddCommand(commands...)
	return c
}

// table lays rows out in columns below a header. Of more rows than top it shows the first and says
// how many are left; 0 shows all.
func table(top int, header string, rows [][]any) string {
	var s strings.Builder
	w := tabwriter.NewWriter(&s, 0, 0, 2, ' ', 0)
	fmt.Fprintln(w, strings.ReplaceAll(header, "|", "\t"))
	left := 0
	if top > 0 && len(rows) > top {
		rows, left = rows[:top], len(rows)-top
	}
	for _, row := range rows {
		for i, cell := range row {
			cell = cmp.Or(cell, "-")
			if i > 0 {
				fmt.Fprint(w, "\t")
			}
			fmt.Fprint(w, cell)
		}
		fmt.Fprintln(w)
	}
	w.Flush()
	if left > 0 {
		fmt.Fprintf(&s, "and %d more (--top 0 shows all)\n", left)
	}
	return s.String()
}

// atLeast writes a number that may be a lower bound.
func atLeast(n uint64, more bool) string {
	if more {
		return fmt.Sprintf("%d or more", n)
	}
	return fmt.Sprint(n)
}

// showTime says what is done and since when, until hide is called: for work that does not count its steps. hide may be
// called again, and has to be called before anything is printed.
func showTime(ctx context.Context, c *cobra.Command, what string) (hide func()) {
	began := time.Now()
	return cli.NewStatusLine(c.ErrOrStderr()).Show(ctx, func() string {
		return fmt.Sprintf("%s: %.0f s", what, time.Since(began).Seconds())
	})
}

// answering has a command do something, until a signal ends it, and print what that returns: its text, or with --json
// itself as a document.
func answering[T fmt.Stringer](c *cobra.Command, do func(context.Context, *cobra.Command, []string) (T, error)) {
	asJSON := cli.JSONFlag(c)
	c.RunE = cli.Interruptible(func(ctx context.Context, c *cobra.Command, args []string) error {
		r, err := do(ctx, c, args)
		if err != nil {
			return err
		}
		return cli.Answer(c, *asJSON, r, r.String())
	})
}

// copyError gives errors of the commands that make files their kind.
func copyError(err error) error {
	if errors.Is(err, store.ErrCorrupt) {
		return cli.As(cli.ErrVerification, err)
	}
	return err
}
