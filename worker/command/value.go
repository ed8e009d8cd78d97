package command

import (
	"bufio"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math/bits"
	"strings"
	"sync/atomic"

	"amazonsfarm/shared/area"
	"amazonsfarm/shared/cgt"
	"amazonsfarm/shared/cli"
	"amazonsfarm/shared/endgame"

	"github.com/spf13/cobra"
)

// valueResult is the answer of value as JSON. Numbers are exact: integers or fractions such as -3/4.
type valueResult struct {
	MessageType string `json:"message_type"` // "value", or "error" where the area is not one
	Area        string `json:"area"`
	Canonical   string `json:"canonical,omitempty"` // canonical form, where it is small
	LeftStop    string `json:"left_stop,omitempty"` // a sum that is played has none; nor RightStop, and so on
	RightStop   string `json:"right_stop,omitempty"`
	Mean        string `json:"mean"` // also of a sum that is played
	Temperature string `json:"temperature,omitempty"`
	Kind        string `json:"kind,omitempty"`
	// the infinitesimal beside the mean: zero, star, positive, negative, fuzzy; none if hot
	Tail       string   `json:"tail,omitempty"`
	Bounds     string   `json:"bounds"`
	BlackFirst string   `json:"black_first"` // who wins if Black begins: black or white
	WhiteFirst string   `json:"white_first"`
	Left       cgt.Wall `json:"thermograph_left,omitempty"` // corners of the walls from temperature -1 up
	Right      cgt.Wall `json:"thermograph_right,omitempty"`
	Source     string   `json:"source"` // database or search
	Areas      int      `json:"areas"`  // areas that are not dead
	Error      string   `json:"error,omitempty"`
}

// Limits of what is searched and written.
const (
	valueFormEmpty = 8     // empty squares up to which a canonical form is tried
	valueForms     = 50000 // canonical forms a position may need
	valueText      = 200   // bytes a canonical form may have in print
	valueEmpty     = 14    // empty squares of one area up to which it is searched
)

// errNoArea refuses an empty standard input.
var errNoArea = cli.Usagef("standard input has no area; write one a line, such as ..W/.../..B")

// valueCommand is the command value.
func valueCommand() *cobra.Command {
	var flags dbFlags
	var asJSON, noDB bool
	c := &cobra.Command{
		Use:   "value AREA[+AREA...]|-",
		Short: "Tell what an area is worth: stops, mean, temperature, thermograph, who wins",
		Long:  help.Long("value"),
		Args:  cobra.ExactArgs(1),
		RunE: cli.Interruptible(func(ctx context.Context, c *cobra.Command, args []string) error {
			var searched atomic.Uint64
			v := &valuer{solver: endgame.Solver{Stop: func() error {
				searched.Add(1)
				return ctx.Err()
			}}}
			var in *bufio.Reader // of the areas, if they come from standard input
			// Bad input is refused before the database, which may have to be built.
			if args[0] == "-" {
				in = bufio.NewReader(cli.Reader(ctx, c.InOrStdin()))
				if _, err := in.Peek(1); err == io.EOF {
					return errNoArea
				}
			} else if _, err := parseSum(args[0]); err != nil {
				return err
			}
			if !noDB {
				dir, err := flags.folder()
				if err != nil {
					return err
				}
				db, err := readyDatabase(ctx, dir, c.ErrOrStderr())
				if err != nil {
					return err
				}
				if db != nil {
					defer db.Close()
					v.solver.DB = db
				}
			}
			if in == nil {
				hide := cli.NewStatusLine(c.ErrOrStderr()).Show(ctx, func() string {
					return fmt.Sprintf("searching: %d areas and sums so far", searched.Load())
				})
				r, err := v.value(args[0])
				hide()
				if err != nil {
					return err
				}
				return show(c, asJSON, r)
			}
			return v.lines(ctx, in, c.OutOrStdout(), asJSON)
		}),
	}
	flags.add(c)
	jsonFlag(c, &asJSON)
	c.Flags().BoolVar(&noDB, "no-db", false, "search everything, without a database")
	return c
}

// valuer values areas.
type valuer struct {
	solver endgame.Solver
	forms  *endgame.Forms // of sums; nil: none yet
}

// lines answers each line of in.
func (v *valuer) lines(ctx context.Context, in io.Reader, out io.Writer, asJSON bool) error {
	scan := readLines(in)
	all, bad := 0, 0
	for scan.Scan() && ctx.Err() == nil {
		text := lineText(scan.Text())
		if text == "" {
			continue
		}
		all++
		r, err := v.value(text)
		if ctx.Err() != nil {
			break
		}
		if err != nil {
			bad++
			r = valueResult{MessageType: "error", Area: text, Error: err.Error()}
		}
		if asJSON {
			err = json.NewEncoder(out).Encode(r)
		} else {
			_, err = fmt.Fprintf(out, "%s: %s\n", text, cmp.Or(r.Error, r.line()))
		}
		if err != nil {
			return err
		}
	}
	if err := scan.Err(); ctx.Err() != nil {
		return ctx.Err()
	} else if err != nil {
		return cli.Usagef("read standard input: %w", err)
	}
	switch {
	case all == 0:
		return errNoArea
	case bad > 0:
		return fmt.Errorf("%d of %s could not be valued", bad, cli.Counted(all, "area"))
	}
	return nil
}

// sum is what a text asks for: positions, and the areas that they fall into.
type sum struct {
	names              []string // of the positions, as they are printed
	areas              []area.Area
	black, white, free area.Set // of the last position
	empty              int      // squares of all
}

// parseSum reads positions with a + between them. Errors wrap cli.ErrUsage.
func parseSum(text string) (s sum, err error) {
	queens := area.Set(0)
	for summand := range strings.SplitSeq(text, "+") {
		if s.black, s.white, s.free, err = area.Parse(summand); err != nil {
			return s, cli.Usagef("%w", err)
		}
		var p area.Partition
		p.Basic(s.black, s.white, s.free)
		s.areas, s.names = append(s.areas, p.Areas()...), append(s.names, area.Text(s.black, s.white, s.free))
		queens, s.empty = queens|s.black|s.white, s.empty+bits.OnesCount64(s.free)
	}
	if queens == 0 {
		return s, cli.Usagef("an area without a queen is worth 0: write W and B for queens, such as ..W/.../..B")
	}
	return s, nil
}

// value values one text.
func (v *valuer) value(text string) (valueResult, error) {
	s, err := parseSum(text)
	if err != nil {
		return valueResult{}, err
	}
	areas, b, w, e := s.areas, s.black, s.white, s.free
	r := valueResult{MessageType: "value", Source: "database", Area: strings.Join(s.names, "+"), Areas: len(areas)}
	if v.solver.DB == nil {
		r.Source = "search"
	}
	// All areas are looked at before any is searched. So a sum with one area that is too large is
	// refused at once.
	for _, a := range areas {
		if db := v.solver.DB; db != nil {
			if _, found := db.Find(a.Black, a.White, a.Empty); found {
				continue
			}
		}
		r.Source = "search"
		if n := bits.OnesCount64(a.Empty); n > valueEmpty {
			return r, cli.As(cli.ErrLimit,
				fmt.Errorf("%w: %d empty squares; at most %d", endgame.ErrLarge, n, valueEmpty))
		}
	}
	if len(s.names) > 1 || s.empty > valueEmpty && len(areas) > 1 {
		return v.sum(areas, r)
	}
	x, err := v.worth(b, w, e)
	if err != nil {
		return r, err
	}
	left, right := x.Stops()
	r.LeftStop, r.RightStop = left.String(), right.String()
	r.Mean, r.Temperature = x.Mean().String(), x.Temperature().String()
	r.Kind, r.Tail, r.Bounds = x.Kind().String(), x.Tail().String(), x.Bounds().String()
	r.BlackFirst, r.WhiteFirst = colours[x.Winner(cgt.Left)], colours[x.Winner(cgt.Right)]
	t := x.Thermograph()
	r.Left, r.Right = t.Left, t.Right
	// The canonical form is an extra: where it grows beyond the limits the answer just lacks it.
	if bits.OnesCount64(e) <= valueFormEmpty {
		arena := cgt.NewArena(cgt.Limits{Forms: valueForms, Text: valueText})
		if f, err := endgame.NewForms(arena).Form(b, w, e); err == nil {
			r.Canonical, _ = arena.Text(f)
		}
	}
	return r, nil
}

// worth values a position. One that takes too long is beyond a limit.
func (v *valuer) worth(black, white, empty area.Set) (cgt.Value, error) {
	x, err := v.solver.Value(black, white, empty)
	if errors.Is(err, endgame.ErrLarge) {
		err = cli.As(cli.ErrLimit, err)
	}
	return x, err
}

// colours name the sides of cgt.
var colours = map[cgt.Side]string{cgt.Left: "black", cgt.Right: "white"}

// sum completes the result for a sum of areas. The canonical forms of the areas stay in memory for the next sum, until
// there are too many.
func (v *valuer) sum(areas []area.Area, r valueResult) (valueResult, error) {
	if v.forms == nil {
		v.forms = endgame.NewForms(cgt.NewArena(cgt.Limits{}))
	}
	var bounds cgt.Sum
	var forms []cgt.Form
	mean := cgt.Int(0)
	for _, a := range areas {
		x, err := v.worth(a.Black, a.White, a.Empty)
		if err != nil {
			return r, err
		}
		f, err := v.forms.Form(a.Black, a.White, a.Empty)
		if err != nil {
			v.forms = nil
			return r, cli.As(cli.ErrLimit, err)
		}
		forms, mean = append(forms, f), mean.Add(x.Mean())
		bounds.Add(x.Part())
	}
	for first, winner := range map[cgt.Side]*string{cgt.Left: &r.BlackFirst, cgt.Right: &r.WhiteFirst} {
		won, err := v.forms.Arena.Play(forms, first)
		if err != nil {
			return r, cli.As(cli.ErrLimit, err)
		}
		*winner = colours[won]
	}
	r.Mean, r.Bounds = mean.String(), bounds.Bounds().String()
	return r, nil
}

// line is the result in one line.
func (r valueResult) line() string {
	if r.Kind == "" {
		return fmt.Sprintf("%s, mean %s, %s wins if Black begins, %s if White does", r.Bounds, r.Mean, r.BlackFirst,
			r.WhiteFirst)
	}
	return fmt.Sprintf("%s, %s, stops %s and %s, mean %s, temperature %s", cmp.Or(r.Canonical, r.Bounds),
		r.Kind, r.LeftStop, r.RightStop, r.Mean, r.Temperature)
}

// String is the result for people: a row for each property, without those that say nothing.
func (r valueResult) String() string {
	kind := r.Kind
	if r.Tail != "" && r.Tail != "none" && r.Tail != "zero" {
		kind += ", " + r.Tail
	}
	stops, canonical := "", r.Canonical
	if r.Kind != "" {
		stops = r.LeftStop + " and " + r.RightStop
		canonical = cmp.Or(canonical, "too large to write")
	}
	wall := func(w cgt.Wall) string { return strings.ReplaceAll(w.String(), ")(", ") (") }
	var s strings.Builder
	for _, row := range [][2]string{{"area", r.Area}, {"value", canonical}, {"kind", kind},
		{"stops", stops}, {"mean", r.Mean}, {"temperature", r.Temperature},
		{"bounds", r.Bounds}, {"left wall", wall(r.Left)}, {"right wall", wall(r.Right)},
		{"Black first", r.BlackFirst + " wins"}, {"White first", r.WhiteFirst + " wins"}, {"from", r.Source}} {
		if row[1] != "" {
			fmt.Fprintf(&s, "%-13s %s\n", row[0], row[1])
		}
	}
	return s.String()
}
