// Command chaos runs campaigns of a master and three workers, each a process of its own, under
// troubles that a seed decides: processes that are killed or stopped, connections that are cut or
// stand still, messages that come late or twice, a full disk. Each campaign has to end with the
// known answer and a certificate that the independent checker accepts, and whatever the master has
// acknowledged has to be in its store, whenever one looks. scripts/chaos builds the programs and
// calls it.
package main

import (
	"bytes"
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"sync"
	"syscall"
	"time"

	"amazonsfarm/shared/amazons"

	"golang.org/x/sync/errgroup"
)

func main() {
	ok, err := run(os.Args[1:], os.Stdout)
	if err != nil {
		fmt.Fprintf(os.Stderr, "chaos: %v\n", err)
	}
	if err != nil || !ok {
		os.Exit(1)
	}
}

// settings are those of all runs.
type settings struct {
	programs
	folder  string
	board   string
	seed    uint64
	runs    int
	jobs    int
	disk    int // MiB; 0: no small disks
	verbose bool
	plan    bool
}

func run(args []string, out io.Writer) (ok bool, err error) {
	var s settings
	flags := flag.NewFlagSet("chaos", flag.ContinueOnError)
	flags.StringVar(&s.master, "master", "", "program of the master")
	flags.StringVar(&s.worker, "worker", "", "program of the worker")
	flags.StringVar(&s.checker, "checker", "", "program of the checker")
	flags.StringVar(&s.folder, "folder", "", "folder for stores and logs; those of runs that went well are removed")
	flags.Uint64Var(&s.seed, "seed", 1, "of the first run; each has the next one")
	flags.IntVar(&s.runs, "runs", 100, "campaigns")
	flags.IntVar(&s.jobs, "jobs", 3, "campaigns at a time; they mostly wait")
	flags.IntVar(&s.disk, "disk", 0, "MiB of a disk of its own for each campaign, which fills up, 0: none; mounts "+
		"need a namespace of our own")
	flags.BoolVar(&s.verbose, "v", false, "say what happens and when")
	flags.BoolVar(&s.plan, "plan", false, "print what the seeds decide, and end")
	if err := flags.Parse(args); err != nil {
		return false, err
	}
	s.board = flags.Arg(0)
	if _, ok := boards[s.board]; s.board != "" && !ok {
		return false, fmt.Errorf("%q: give one of %v", s.board, known)
	}
	if s.runs < 1 || s.jobs < 1 {
		return false, errors.New("give at least one run, and one at a time")
	}
	if s.plan {
		for i := range s.runs {
			fmt.Fprintln(out, draw(s.seed+uint64(i), s.board))
		}
		return true, nil
	}
	return s.all(out)
}

// all plays all runs and sums up.
func (s settings) all(out io.Writer) (bool, error) {
	if s.disk == 0 {
		fmt.Fprintln(out, "there is no small disk here: none fills up")
	}
	began := time.Now()
	var mu sync.Mutex
	var results []*result
	group, ctx := errgroup.WithContext(context.Background())
	group.SetLimit(s.jobs)
	for i := range s.runs {
		group.Go(func() error {
			if ctx.Err() != nil {
				return nil // another run could not be played
			}
			r, log, err := s.one(s.seed + uint64(i))
			if err != nil {
				return err
			}
			mu.Lock()
			defer mu.Unlock()
			if s.verbose || r.wrong != nil {
				out.Write(log)
			}
			fmt.Fprintln(out, r)
			results = append(results, r)
			return nil
		})
	}
	err := group.Wait()
	good, stopped, wrong, skipped := 0, 0, 0, 0
	var done [kinds]int
	masters, pauses := 0, 0
	var messages, twice, old, late int64
	facts, certificates, two := 0, 0, 0
	for _, r := range results {
		switch {
		case r.wrong != nil:
			wrong++
		case r.stopped != "":
			stopped++
		default:
			good++
		}
		for k, n := range r.done {
			done[k] += n
		}
		masters += r.masters
		pauses += r.pauses
		skipped += r.skipped
		messages += r.counts.sent.Load()
		twice += r.counts.twice.Load() + r.counts.again.Load()
		old += r.counts.old.Load()
		late += r.counts.late.Load()
		for i := range r.facts {
			facts += r.facts[i]
			certificates += r.certs[i]
		}
		if r.Second != "" {
			two++
		}
	}
	fmt.Fprintf(out, "%d runs, %d of them of two campaigns: %d right and verified, %d stopped with a reason, %d "+
		"wrong; %.0f s\n", good+stopped+wrong, two, good, stopped, wrong, time.Since(began).Seconds())
	fmt.Fprintf(out, "troubles:")
	for k := range kinds {
		fmt.Fprintf(out, " %d %v,", done[k], k)
	}
	fmt.Fprintf(out, " %d left out; the master was killed %d times and paused %d times for want of room; of %d "+
		"messages %d came once more, %d were old ones, %d late\n", skipped, masters, pauses, messages, twice, old, late)
	fmt.Fprintf(out, "acknowledged and found: %d facts, %d certificates\n", facts, certificates)
	return wrong == 0, err
}

// one plays the run of a seed. Its folder stays where something is wrong.
func (s settings) one(seed uint64) (*result, []byte, error) {
	folder := filepath.Join(s.folder, fmt.Sprintf("seed-%d", seed))
	disk := filepath.Join(folder, "disk")
	if err := os.MkdirAll(disk, 0o700); err != nil {
		return nil, nil, err
	}
	if s.disk > 0 {
		if err := syscall.Mount("tmpfs", disk, "tmpfs", 0, fmt.Sprintf("size=%dm", s.disk)); err != nil {
			return nil, nil, fmt.Errorf("mount a small disk: %w", err)
		}
	}
	var log bytes.Buffer
	c := &campaign{result: &result{plan: draw(seed, s.board)}, programs: s.programs, folder: folder, disk: disk,
		small: s.disk > 0, log: &log}
	r := c.run()
	if r.wrong != nil {
		_ = os.WriteFile(filepath.Join(folder, "log"), log.Bytes(), 0o600)
		if s.disk > 0 { // the disk goes with the namespace
			_ = os.CopyFS(filepath.Join(folder, "kept"), os.DirFS(disk))
		}
	}
	if s.disk > 0 {
		if err := syscall.Unmount(disk, 0); err != nil {
			return nil, nil, fmt.Errorf("unmount a small disk: %w", err)
		}
	}
	if r.wrong == nil {
		if err := os.RemoveAll(folder); err != nil {
			return nil, nil, err
		}
	}
	return r, log.Bytes(), nil
}

// startOf returns the text of a board's start.
func startOf(board string) string {
	p, err := amazons.ParsePosition(board)
	if err != nil {
		panic(err) // one of ours
	}
	return p.String()
}
