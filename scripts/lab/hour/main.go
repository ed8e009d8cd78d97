// Command hour watches a campaign while workers come and go, and says whether throughput and
// memory stay flat, whether goroutines or files leak, and what the store's size is made of.
// scripts/hour builds the programs and calls it.
package main

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"runtime"
	"strings"
	"syscall"
	"time"

	"amazonsfarm/scripts/lab/farm"
	"amazonsfarm/shared/cli"
)

// errFailed says that something did not hold; the report says what.
var errFailed = errors.New("not everything holds")

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	err := execute(ctx, os.Args[1:], os.Stdout, os.Stderr)
	if err == nil || errors.Is(err, flag.ErrHelp) {
		return
	}
	fmt.Fprintf(os.Stderr, "hour: %v\n", err)
	if errors.Is(err, cli.ErrUsage) {
		os.Exit(cli.ExitUsage)
	}
	os.Exit(cli.ExitFailed)
}

// options are what is said on the command line beside a run's setup.
type options struct {
	setup
	bin, from, samples, report string
	nice                       int
}

func parse(args []string, help io.Writer) (options, error) {
	o := options{setup: setup{Board: "6x5", FirstMoves: []string{"B1-B4xB3"}}}
	f := flag.NewFlagSet("hour", flag.ContinueOnError)
	f.SetOutput(help)
	f.Usage = func() {
		fmt.Fprintln(help, "scripts/hour [FLAGS] [BOARD [MOVE...]]\nThe default is 6x5 B1-B4xB3, which nobody "+
			"has solved.")
		f.PrintDefaults()
	}
	f.Float64Var(&o.Minutes, "minutes", 60, "how long workers come and go")
	f.DurationVar(&o.Period, "period", 0, "in each period one worker goes and one comes; 0: a minute, or a twelfth "+
		"of a shorter run; a sample is taken each sixth of it, and a look into the store each ten of them")
	f.DurationVar(&o.Rest, "rest", 150*time.Second,
		"how long to wait without workers before the last samples; shorter than 35s: a session that nobody came "+
			"back to may still be there; than two minutes: the heap may not have been collected")
	f.IntVar(&o.Passing, "passing", 2, "workers that come and go, beside one that stays; each has one core")
	f.StringVar(&o.Table, "table", "256MiB", "table of each worker")
	f.Uint64Var(&o.Seed, "seed", 1, "of the times and ways in which workers come and go")
	f.IntVar(&o.nice, "nice", 15, "niceness of all processes, 0 to 19")
	f.StringVar(&o.bin, "bin", "", "folder of the programs master and worker")
	f.StringVar(&o.from, "from", "", "make the report of this file of samples and run nothing")
	f.StringVar(&o.samples, "samples", "hour.jsonl", "file for all that is seen")
	f.StringVar(&o.report, "report", "", "file for the report; empty: standard output alone")
	if err := f.Parse(args); err != nil {
		if errors.Is(err, flag.ErrHelp) {
			return o, err
		}
		return o, cli.As(cli.ErrUsage, err)
	}
	if f.NArg() > 0 {
		o.Board, o.FirstMoves = f.Arg(0), f.Args()[1:]
	}
	if !(o.Minutes >= 0.5 && o.Minutes <= 7*24*60) {
		return o, cli.Usagef("--minutes %v: from half a minute to a week", o.Minutes)
	}
	o.Period = cmp.Or(o.Period, min(time.Minute, time.Duration(o.Minutes*float64(time.Minute))/12))
	if o.Period < time.Second || o.Rest < 0 {
		return o, cli.Usagef("--period %v, --rest %v: workers can come once a second, and rests are not negative",
			o.Period, o.Rest)
	}
	if o.Passing < 1 || o.Passing > 100 || o.nice < 0 || o.nice > 19 {
		return o, cli.Usagef("--passing %d, --nice %d: from 1 to 100 workers, and a niceness from 0 to 19",
			o.Passing, o.nice)
	}
	var size cli.Size
	if err := size.Set(o.Table); err != nil {
		return o, cli.Usagef("--table: %w", err)
	}
	o.TableBytes = int64(size)
	if o.bin == "" && o.from == "" {
		return o, cli.Usagef("--bin: say where the programs are; scripts/hour does")
	}
	return o, nil
}

func execute(ctx context.Context, args []string, out, progress io.Writer) error {
	o, err := parse(args, progress)
	if err != nil {
		return err
	}
	if o.from == "" {
		o.from = o.samples
		if err := observeCampaign(ctx, o, progress); err != nil {
			return err
		}
	}
	r, err := readRun(o.from)
	if err != nil {
		return err
	}
	a, err := analyse(r)
	if err != nil {
		return err
	}
	text := a.report(r)
	if o.report != "" {
		if err := os.WriteFile(o.report, []byte(text), 0o644); err != nil {
			return err
		}
	}
	if _, err := io.WriteString(out, text); err != nil {
		return err
	}
	if a.failed() > 0 {
		return errFailed
	}
	return nil
}

// observeCampaign runs a campaign in a folder of its own, which stays where something went wrong.
func observeCampaign(ctx context.Context, o options, progress io.Writer) (err error) {
	if err := syscall.Setpriority(syscall.PRIO_PROCESS, 0, o.nice); err != nil {
		return fmt.Errorf("niceness %d: %w", o.nice, err)
	}
	folder, err := os.MkdirTemp("", "hour-*")
	if err != nil {
		return err
	}
	file, err := os.Create(o.samples)
	if err != nil {
		return err
	}
	defer file.Close()
	c := &campaign{setup: o.setup, bin: o.bin, folder: folder, out: json.NewEncoder(file)}
	c.Began, c.Cores = time.Now().UTC(), runtime.NumCPU()
	ticking, still := context.WithCancel(context.Background())
	defer still()
	go c.time.run(ticking)
	defer func() {
		c.stop()
		if err != nil {
			err = fmt.Errorf("%w; stores and logs are in %s", err, folder)
			return
		}
		err = os.RemoveAll(folder)
	}()
	version, err := exec.CommandContext(ctx, filepath.Join(o.bin, "master"), "--version").Output()
	if err != nil {
		return fmt.Errorf("master --version: %w", err)
	}
	c.Build = strings.Join(strings.Fields(string(version)), " ")
	if err := c.write(record{Setup: &c.setup}); err != nil {
		return err
	}
	if err := c.serve(ctx); err != nil {
		return err
	}
	if err := c.quiet(ctx, "before"); err != nil {
		return err
	}
	c.began, _ = c.time.read()
	for i := range c.Passing + 1 {
		name := "steady"
		if i > 0 {
			name = fmt.Sprint("early-", i)
		}
		if err := c.join(name); err != nil {
			return err
		}
	}
	if err := c.watch(ctx, c.roll[0], progress); err != nil {
		return err
	}
	for len(c.roll) > 0 {
		if err := c.leave(c.roll[len(c.roll)-1], "term"); err != nil {
			return err
		}
	}
	if err := c.rest(ctx, c.Rest); err != nil {
		return err
	}
	if err := c.quiet(ctx, "after"); err != nil {
		return err
	}
	return c.end(ctx)
}

// take takes a sample and writes it down.
func (c *campaign) take(phase string) (sample, error) {
	s, err := c.observe(phase)
	if err == nil {
		err = c.write(record{Sample: &s})
	}
	return s, err
}

// quiet takes some samples while there are no workers.
func (c *campaign) quiet(ctx context.Context, phase string) error {
	for range 3 {
		if err := c.rest(ctx, c.every()/2); err != nil {
			return err
		}
		if _, err := c.take(phase); err != nil {
			return err
		}
	}
	return nil
}

// watch takes samples until the time is over, while workers come and go, and tells progress now and
// then how far it is. The worker steady stays
// throughout.
func (c *campaign) watch(ctx context.Context, steady *farm.Process, progress io.Writer) error {
	coming, enough := context.WithCancel(ctx)
	defer enough()
	end := c.began + time.Duration(c.Minutes*float64(time.Minute))
	churned := make(chan error, 1)
	go func() { churned <- c.churn(coming) }()
	const periods = 10 // from one look into the store, by a backup, to the next
	nextStore := c.began + periods*c.Period
	for n := 1; ; n++ {
		at := c.began + time.Duration(n)*c.every()
		if at > end || !c.time.until(ctx, at, nil) {
			break
		}
		if !steady.Alive() {
			return errors.New("the worker that was to stay has ended by itself")
		}
		s, err := c.take("run")
		if err != nil {
			// On a busy machine an answer may take too long; a master that has ended answers none.
			if err := c.miss(err); err != nil {
				return err
			}
			continue
		}
		if n%6 == 0 {
			fmt.Fprintf(progress, "%5.0f s: %.0f nodes, %.0f results, tree %.0f, %.0f facts, %.0f workers, %.0f "+
				"goroutines, live heap %.1f MiB, resident %.1f MiB, store %.1f MiB\n",
				s.Seconds, s.Nodes, s.Results, s.Tree, s.Facts, s.Connected, s.Goroutines, s.Live/mib, s.Anon/mib,
				s.Store/mib)
		}
		if now, _ := c.time.read(); now >= nextStore {
			nextStore += periods * c.Period
			if err := c.lookIntoStore(ctx); err != nil {
				if err := c.miss(err); err != nil {
					return err
				}
			}
		}
	}
	enough()
	if err := <-churned; err != nil {
		return err
	}
	return ctx.Err()
}

// end stops the master, looks into its store and writes down how all ended.
func (c *campaign) end(ctx context.Context) error {
	_, stood := c.time.read()
	last := final{Stood: stood.Seconds()}
	if err := c.master.Cmd.Process.Signal(os.Interrupt); err != nil {
		return err
	}
	if !c.await(c.master, patience) {
		return fmt.Errorf("the master did not end within %v", patience)
	}
	last.Code = c.master.Cmd.ProcessState.ExitCode()
	if err := c.storeInfo(ctx, c.store()); err != nil {
		return err
	}
	if err := farm.Do(ctx, filepath.Join(c.bin, "master"), "store", "check", c.store()); err != nil {
		last.Checked = err.Error()
	}
	return c.write(record{Final: &last})
}

// miss notes what could not be seen, unless it was because the master has ended.
func (c *campaign) miss(err error) error {
	if !c.master.Alive() {
		return fmt.Errorf("the master has ended by itself (%v): %w", c.master.Cmd.ProcessState, err)
	}
	return c.write(record{Missed: &missed{c.seconds(), err.Error()}})
}

// rest waits, unless ctx ends.
func (c *campaign) rest(ctx context.Context, d time.Duration) error {
	now, _ := c.time.read()
	if !c.time.until(ctx, now+d, nil) {
		return ctx.Err()
	}
	return nil
}
