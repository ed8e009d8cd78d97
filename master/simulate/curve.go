package simulate

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"slices"
	"strings"
	"text/tabwriter"

	farmv1 "amazonsfarm/proto/farm/v1"
)

// Curve is what runs with several numbers of workers show about one question.
type Curve struct {
	MessageType string   `json:"message_type"` // "simulate"
	Settings    string   `json:"settings"`     // what was asked and how, in words
	Runs        []Result `json:"runs"`         // the first has one worker; by number of workers
}

// Settings returns a line that names everything a run depends on but its number of workers.
func Settings(c Config) string {
	t := c.Tree
	t.FirstMoves = nil
	return fmt.Sprintf("%s %s seed=%d scale=%d speed=%v spread=%v delay=%v loss=%v crashes=%v restart=%v "+
		"table=%d/%d/%v hints=%d/%d prefetch=%d lemma=%v evidence=%v/%v tree=%+v",
		t.Root, strings.Join(farmv1.WriteMoves(c.Tree.FirstMoves), ","), c.Seed, c.Scale, c.Speed, c.SpeedSpread,
		c.Delay, c.LossRate, c.CrashRate, c.Restart, c.TableBytes, c.TablesBytes, c.SharedTable, c.HintEntries,
		c.HintBytes, c.PrefetchPercent, c.Lemma, c.ExtractShare, c.CheckShare, t)
}

// Record keeps finished runs in a file, a JSON line each, so that a curve that was interrupted goes
// on and a picture of it can be made again without searching. The zero Record keeps nothing.
type Record struct {
	file string
	runs []recorded
}

type recorded struct {
	Settings string `json:"settings"`
	Result
}

// OpenRecord reads a record; a file that is not there is an empty one, and without a name nothing is kept. A last line
// that was not written to its end is passed over.
func OpenRecord(file string) (*Record, error) {
	r := &Record{file: file}
	data, err := os.ReadFile(file)
	if errors.Is(err, fs.ErrNotExist) {
		return r, nil
	}
	if err != nil {
		return nil, err
	}
	lines := strings.Split(string(data), "\n")
	for i, line := range lines[:len(lines)-1] {
		var run recorded
		if err := json.Unmarshal([]byte(line), &run); err != nil {
			return nil, fmt.Errorf("%s:%d: it is not a line of a record: %w", file, i+1, err)
		}
		r.runs = append(r.runs, run)
	}
	if tail := lines[len(lines)-1]; tail != "" {
		return r, os.Truncate(file, int64(len(data)-len(tail)))
	}
	return r, nil
}

// find returns a run that the record has. Settings are compared as text: whatever differs is
// another run.
func (r *Record) find(settings string, workers int) (Result, bool) {
	i := slices.IndexFunc(r.runs, func(run recorded) bool { return run.Settings == settings && run.Workers == workers })
	if i < 0 {
		return Result{}, false
	}
	return r.runs[i].Result, true
}

// add keeps a run, and appends it to the file at once: an hour of simulation is not lost by a
// signal.
func (r *Record) add(settings string, result Result) error {
	run := recorded{settings, result}
	r.runs = append(r.runs, run)
	if r.file == "" {
		return nil
	}
	line, err := json.Marshal(run)
	if err != nil {
		return err
	}
	f, err := os.OpenFile(r.file, os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o644)
	if err != nil {
		return err
	}
	_, err = f.Write(append(line, '\n'))
	return errors.Join(err, f.Close())
}

// Draw runs c with each number of workers, and with one, unless the record has the run. told, if
// given, hears of each run in its turn.
func Draw(ctx context.Context, c Config, workers []int, record *Record, told func(Curve)) (Curve, error) {
	workers = append([]int{1}, workers...)
	slices.Sort(workers)
	curve := Curve{MessageType: "simulate", Settings: Settings(c)}
	for _, n := range slices.Compact(workers) {
		r, ok := record.find(curve.Settings, n)
		if !ok {
			c.Workers = n
			var err error
			if r, err = Run(ctx, c); err != nil {
				return curve, fmt.Errorf("simulate %d workers: %w", n, err)
			}
			if err := record.add(curve.Settings, r); err != nil {
				return curve, fmt.Errorf("write record: %w", err)
			}
		}
		curve.Runs = append(curve.Runs, r)
		if told != nil {
			told(curve)
		}
	}
	return curve, nil
}

// String is the curve as a table for people.
func (c Curve) String() string {
	var text strings.Builder
	w := tabwriter.NewWriter(&text, 0, 0, 2, ' ', tabwriter.AlignRight)
	fmt.Fprintln(w, "workers\tefficiency\tseconds\tnodes\toverhead\tneeded\tbusy\t"+
		"extracting\tchecking\tstarved\tclosed\tleases\ttree\t")
	for _, r := range c.Runs {
		one := c.Runs[0]
		overhead, needed := "-", "-" // without nodes; a record of an earlier build does not say what was needed
		if one.Nodes > 0 {
			overhead = fmt.Sprintf("%.2f", Overhead(one, r))
		}
		if r.Needed > 0 {
			needed = fmt.Sprintf("%.3f", r.Needed)
		}
		fmt.Fprintf(w, "%d\t%.3f\t%.1f\t%d\t%s\t%s\t%.3f\t%.3f\t%.3f\t%.3f\t%.3f\t%d\t%d\t\n",
			r.Workers, Efficiency(one, r), r.Seconds, r.Nodes, overhead, needed, r.Busy, r.Extracting,
			r.Checking, r.Starved, r.Closed, r.Leases, r.TreeNodes)
	}
	_ = w.Flush()
	return text.String()
}
