package command

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"time"

	"amazonsfarm/shared/cli"
	"amazonsfarm/shared/endgame"

	"github.com/spf13/cobra"
)

// dbCommand is the command db with build, check and info.
func dbCommand() *cobra.Command {
	c := &cobra.Command{
		Use:   "db",
		Short: "Build, check and describe the databases of small areas",
		Long:  help.Long("db"),
		Args:  cobra.NoArgs,
		RunE:  func(c *cobra.Command, _ []string) error { return c.Help() },
	}
	c.AddCommand(dbBuildCommand(), dbCheckCommand(), dbInfoCommand())
	return c
}

// dbBuildResult is the answer of db build as JSON.
type dbBuildResult struct {
	MessageType string  `json:"message_type"` // "db_build"
	File        string  `json:"file"`
	Size        string  `json:"size"`
	Config      string  `json:"config"`
	Bytes       int64   `json:"bytes"`
	Values      int     `json:"values"`
	Positions   int64   `json:"positions"` // valued in this run
	Seconds     float64 `json:"seconds"`
}

// String is the result for people.
func (r dbBuildResult) String() string {
	return fmt.Sprintf("%s: %s (%s), %s, %d distinct values, %.1f s\n", r.File, r.Size, r.Config,
		cli.FormatSize(r.Bytes), r.Values, r.Seconds)
}

func dbBuildCommand() *cobra.Command {
	var flags dbFlags
	var size string
	var cores int
	var asJSON bool
	c := &cobra.Command{
		Use:   "build",
		Short: "Build a database; one that was cut off goes on from where it was",
		Long:  help.Long("db-build"),
		Args:  cobra.NoArgs,
		RunE: cli.Interruptible(func(ctx context.Context, c *cobra.Command, _ []string) error {
			config, err := endgame.ParseSize(size)
			if err != nil {
				return cli.Usagef("--size: %w", err)
			}
			dir, err := flags.folder()
			if err != nil {
				return err
			}
			if err := os.MkdirAll(dir, 0o777); err != nil {
				return err
			}
			r := dbBuildResult{MessageType: "db_build", File: filepath.Join(dir, config.FileName()),
				Size: config.Name(), Config: config.String()}
			begun := time.Now()
			r.Positions, err = buildDatabase(ctx, r.File, config, cores, c.ErrOrStderr())
			if err != nil {
				return err
			}
			r.Seconds = time.Since(begun).Seconds()
			// The file is opened again, so an answer is only given for a database that can be read.
			db, err := endgame.Open(r.File)
			if err != nil {
				return err
			}
			defer db.Close()
			r.Bytes, r.Values = db.Bytes(), db.Values()
			return show(c, asJSON, r)
		}),
	}
	flags.add(c)
	c.Flags().StringVar(&size, "size", "small", "hold the areas of `SIZE`: small, medium, large or a SPEC")
	coresFlag(c, &cores)
	jsonFlag(c, &asJSON)
	return c
}

// buildDatabase builds with a status line on w and returns how many positions it valued.
func buildDatabase(ctx context.Context, name string, config endgame.Config, cores int, w io.Writer) (int64, error) {
	// The build reports from its goroutines and the status line reads from its own, so what they share
	// is an atomic.
	var last atomic.Pointer[endgame.Progress]
	hide := cli.NewStatusLine(w).Show(ctx, func() string { return progressText(config, last.Load()) })
	err := endgame.Build(ctx, name, config, endgame.Options{Workers: cores,
		Progress: func(p endgame.Progress) { last.Store(&p) }})
	hide()
	if p := last.Load(); p != nil {
		return p.Positions, err
	}
	return 0, err
}

// progressText is the status line of a build.
func progressText(config endgame.Config, p *endgame.Progress) string {
	if p == nil {
		return fmt.Sprintf("building the %s database", config.Name())
	}
	what := "writing"
	switch p.Stage {
	case "active":
		what = fmt.Sprintf("areas of %d squares", p.Squares)
	case "territory":
		what = fmt.Sprintf("territories of %d squares", p.Squares)
	}
	return fmt.Sprintf("building the %s database: %.0f %%, %s, %d positions, %.0f s",
		config.Name(), 100*float64(p.Done)/float64(max(p.All, 1)), what, p.Positions, p.Elapsed.Seconds())
}

// openDatabase opens the file given as an argument, or the best database of the folder.
func openDatabase(args []string, flags *dbFlags, w io.Writer) (*endgame.DB, error) {
	if len(args) > 0 {
		db, err := endgame.Open(args[0])
		if errors.Is(err, os.ErrNotExist) {
			err = cli.As(cli.ErrNoStore, err)
		}
		return db, err
	}
	dir, err := flags.folder()
	if err != nil {
		return nil, err
	}
	return openFolder(dir, w)
}

// openFolder opens the best database of a folder.
func openFolder(dir string, w io.Writer) (*endgame.DB, error) {
	db, skipped, err := endgame.OpenDir(dir)
	switch {
	case err != nil && len(skipped) > 0: // a file that cannot be used tells more than that there is no database
		return nil, skipped[0]
	case errors.Is(err, endgame.ErrNone):
		return nil, fmt.Errorf("%w; %s db build --dir %s makes one", err, cli.Program("worker"), cli.Quoted(dir))
	}
	for _, e := range skipped {
		fmt.Fprintf(w, "worker: passed over: %v\n", e)
	}
	return db, err
}

// dbCheckResult is the answer of db check as JSON.
type dbCheckResult struct {
	MessageType string  `json:"message_type"` // "db_check"
	File        string  `json:"file"`
	Config      string  `json:"config"`
	Sum         string  `json:"sum"` // SHA-256 of the header and the list of checksums
	Bytes       int64   `json:"bytes"`
	Seconds     float64 `json:"seconds"`
}

// String is the result for people.
func (r dbCheckResult) String() string {
	return fmt.Sprintf("%s: whole (%s, %s)\n", r.File, r.Config, cli.FormatSize(r.Bytes))
}

func dbCheckCommand() *cobra.Command {
	return dbFileCommand("check", "Compare all checksums of a database", func(db *endgame.DB) (fmt.Stringer, error) {
		begun := time.Now()
		err := db.Check()
		return dbCheckResult{MessageType: "db_check", File: db.Name(), Config: db.Config().String(),
			Sum: fmt.Sprintf("%x", db.Sum()), Bytes: db.Bytes(), Seconds: time.Since(begun).Seconds()}, err
	})
}

// dbFileCommand is a command about one database: the file given, or the best one of the folder.
func dbFileCommand(name, short string, answer func(*endgame.DB) (fmt.Stringer, error)) *cobra.Command {
	var flags dbFlags
	var asJSON bool
	c := &cobra.Command{
		Use:   name + " [FILE]",
		Short: short,
		Args:  cobra.MaximumNArgs(1),
		RunE: func(c *cobra.Command, args []string) error {
			db, err := openDatabase(args, &flags, c.ErrOrStderr())
			if err != nil {
				return err
			}
			defer db.Close()
			r, err := answer(db)
			if err != nil {
				return err
			}
			return show(c, asJSON, r)
		},
	}
	flags.add(c)
	jsonFlag(c, &asJSON)
	return c
}

// dbInfoResult is the answer of db info as JSON.
type dbInfoResult struct {
	MessageType string           `json:"message_type"` // "db_info"
	File        string           `json:"file"`
	Size        string           `json:"size"`
	Config      string           `json:"config"`
	Version     int              `json:"version"`
	Sum         string           `json:"sum"` // SHA-256 of the header and the list of checksums
	Bytes       int64            `json:"bytes"`
	Values      int              `json:"values"`  // distinct values
	Escapes     int              `json:"escapes"` // entries whose value's number does not fit 16 bits
	Layers      []endgame.Layer  `json:"layers"`
	Defects     []endgame.Defect `json:"defects"` // one queen alone in an area
}

// String is the result for people.
func (r dbInfoResult) String() string {
	var s strings.Builder
	fmt.Fprintf(&s, "file      %s\nsize      %s (%s), version %d\nsum       %s\nbytes     %d\nvalues    %d "+
		"distinct, %d entries by escape\n\n", r.File, r.Size, r.Config, r.Version, r.Sum, r.Bytes, r.Values, r.Escapes)
	fmt.Fprintf(&s, "squares  queens a side   shapes  active entries  territories      bytes\n")
	entries := uint64(0)
	for _, l := range r.Layers {
		limit := "any"
		if l.Limit > 0 {
			limit = fmt.Sprintf("up to %d", l.Limit)
		}
		entries += l.Active + l.Territories
		fmt.Fprintf(&s, "%7d  %13s  %7d  %14d  %11d  %9d\n", l.Squares, limit, l.Shapes, l.Active,
			l.Territories, l.Bytes)
	}
	fmt.Fprintf(&s, "in all %d entries, %.2f bytes an entry\n\n", entries, float64(r.Bytes)/float64(entries))
	fmt.Fprintf(&s, "One queen alone in an area:\nsquares    areas up to shifts  up to symmetry  defective  "+
		"largest defect\n")
	defective, largest := 0, 0
	for _, d := range r.Defects {
		defective += d.Regions
		largest = max(largest, d.Largest)
		fmt.Fprintf(&s, "%7d  %20d  %14d  %9d  %14d\n", d.Squares, d.Fixed, d.Shapes, d.Regions, d.Largest)
	}
	fmt.Fprintf(&s, "in all %d defective areas, largest defect %d\n", defective, largest)
	return s.String()
}

func dbInfoCommand() *cobra.Command {
	return dbFileCommand("info", "Tell what a database holds, and the table of defects",
		func(db *endgame.DB) (fmt.Stringer, error) {
			defects, err := db.Defects()
			return dbInfoResult{MessageType: "db_info", File: db.Name(), Size: db.Config().Name(),
				Config: db.Config().String(), Version: endgame.Version, Sum: fmt.Sprintf("%x", db.Sum()),
				Bytes: db.Bytes(), Values: db.Values(), Escapes: db.Escapes(), Layers: db.Layers(),
				Defects: defects}, err
		})
}
