package main

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"math"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"amazonsfarm/master/store"
	"amazonsfarm/master/store/report"
	"amazonsfarm/shared/cli"
)

func TestProcess(t *testing.T) {
	odd := filepath.Join(t.TempDir(), "a) b (c")
	if err := os.Symlink(os.Args[0], odd); err != nil {
		t.Fatal(err)
	}
	c := exec.Command(odd, "-test.run", "^TestBusy$")
	c.Env = append(os.Environ(), "BUSY=1")
	out, err := c.StdoutPipe()
	if err == nil {
		err = c.Start()
	}
	if err != nil {
		t.Fatal(err)
	}
	if line, err := bufio.NewReader(out).ReadString('\n'); line != "busy\n" {
		t.Errorf("%q, %v", line, err)
	}
	if p, err := lookAt(c.Process.Pid); err != nil || !p.Alive || p.CPU < 0.3 || p.CPU > 60 || p.Anon < 1<<20 {
		t.Errorf("a program with an odd name: %+v, %v", p, err)
	}
	_ = c.Process.Kill()
	_ = c.Wait()
	if p, err := lookAt(c.Process.Pid); err != nil || p.Alive {
		t.Errorf("a process that has ended: %+v, %v", p, err)
	}
	p, err := lookAt(os.Getpid())
	if err != nil || !p.Alive || p.Anon < 1<<20 || p.FDs < 3 {
		t.Errorf("%+v, %v", p, err)
	}
	if p, err := lookAt(1 << 30); err != nil || p.Alive {
		t.Errorf("no process: %+v, %v", p, err)
	}
}

// TestBusy is no test but the process that TestProcess looks at: it uses half a second of its processor.
func TestBusy(t *testing.T) {
	if os.Getenv("BUSY") == "" {
		t.Skip("it is for TestProcess")
	}
	var used syscall.Rusage
	for used.Utime.Nano() < int64(time.Second/2) {
		if err := syscall.Getrusage(syscall.RUSAGE_SELF, &used); err != nil {
			t.Fatal(err)
		}
	}
	fmt.Println("busy")
	time.Sleep(time.Minute)
}

// TestClock lets time pass and stand still.
func TestClock(t *testing.T) {
	var c clock
	c.advance(step)
	c.advance(still)
	c.advance(5 * time.Minute)
	if now, stood := c.read(); now != still+2*step || stood != 5*time.Minute-step {
		t.Errorf("%v, stood still for %v", now, stood)
	}
	now, _ := c.read()
	over := make(chan struct{})
	close(over)
	ended, cancel := context.WithCancel(t.Context())
	cancel()
	if !c.until(ended, now, nil) || c.until(t.Context(), now+1, over) || c.until(ended, now+1, nil) {
		t.Error("waiting ends for another reason than it should")
	}
	running, stop := context.WithCancel(t.Context())
	defer stop()
	go c.run(running)
	if !c.until(t.Context(), now+2*step, nil) {
		t.Error("the clock does not run")
	}
}

func TestFit(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	var x [][]float64
	var y []float64
	for range 50 {
		a, b := r.Float64()*4, r.Float64()*10
		x, y = append(x, []float64{a, b}), append(y, 7+3*a-2*b)
	}
	b, most, err := fit(x, y)
	if err != nil || math.Abs(b[0]-7) > 1e-6 || math.Abs(b[1]-3) > 1e-6 || math.Abs(b[2]+2) > 1e-6 || most > 1e-6 {
		t.Errorf("%v, %v off, %v", b, most, err)
	}
	y[10]++
	if _, most, err = fit(x, y); err != nil || most < 0.8 || most > 1 {
		t.Errorf("one point off by 1: %v, %v", most, err)
	}
	for i := range x {
		x[i][1] = 2 * x[i][0]
	}
	if _, _, err := fit(x, y); err == nil {
		t.Error("columns that depend on each other are taken")
	}
	if _, _, err := fit(nil, nil); err == nil {
		t.Error("nothing is taken")
	}
	if median(nil) != 0 || median([]float64{3, 1}) != 2 || median([]float64{5, 1, 2}) != 2 ||
		least([]float64{2, 1}) != 1 || greatest([]float64{2, 3}) != 3 {
		t.Error("median, least and greatest are wrong")
	}
}

// sound is an hour in which nothing is wrong.
func sound() run {
	r := run{Setup: setup{Board: "6x5", Minutes: 60, Passing: 2, TableBytes: 256 * mib, Period: time.Minute,
		Table: "256MiB"}, Final: &final{Code: 130}}
	noise := rand.New(rand.NewPCG(3, 4))
	cpu := 0.0
	for i := range 366 {
		s := sample{Seconds: float64(10 * i), Phase: "run"}
		s.Alive, s.Connected = true, 3
		switch {
		case i < 3:
			s.Phase, s.Seconds, s.Connected = "before", 0, 0
		case i >= 363:
			s.Phase, s.Connected = "after", 0
		case i%6 == 3:
			s.Connected = 2
		}
		n := float64(max(0, min(i, 362)-2))
		if s.Phase == "run" {
			cpu += 5 + 10*noise.Float64()
		}
		s.WorkersCPU, s.CPU = cpu, cpu/20
		s.Nodes, s.Running, s.Results, s.Granted, s.Expired = 50_000*cpu, 0, 10*cpu, 10*cpu+3, n/6
		s.Tree, s.Facts, s.Proved, s.Certificates = 2+500*n, n, 50_000*n, n
		s.Streams, s.Goroutines, s.FDs, s.Threads = s.Connected, 14+5*s.Connected, 13+int(s.Connected), 9
		s.Live = 3*mib + 380*s.Tree + 5*mib*noise.Float64()
		s.Anon, s.File, s.Store = 2*s.Live+bytesPerProved*s.Proved, 40*mib, 25*mib+60_000*n
		if s.Phase == "run" {
			s.Leases = s.Connected
			w := worker{Name: "steady", Seen: true, Joins: 1, Entries: 10_000 * n}
			w.Goroutines, w.FDs, w.Live = 20, 12, 20*mib+bytesPerEntry/2*w.Entries
			w.Anon = 200*mib + 2*w.Live
			s.Workers = []worker{w}
			if i%6 == 3 {
				name, way, code := "passing-"+string(rune('a'+i%26)), ways[i/6%3], []int{0, -1, 130}[i/6%3]
				r.Events = append(r.Events, event{Seconds: s.Seconds, What: "join", Name: name},
					event{Seconds: s.Seconds + 60, What: way, Name: name, Code: code, Took: 1})
			}
		}
		r.Samples = append(r.Samples, s)
	}
	in := store.Info{}
	in.Layout = report.Layout{HeaderBytes: 3 * 4096, ListBytes: 4096, FreeBytes: 1 << 20, BeyondBytes: 100,
		Parts: []report.Part{
			{Kind: "meta", Records: 4, Bytes: 250}, {Kind: "nodes", Records: 10_000, Bytes: 450_000,
				Pages: 900_000 / 4096 * 4096},
			{Kind: "facts", Records: 100, Bytes: 6100, Pages: 8192}, {Kind: "certificates", Records: 90, Bytes: 90 * 57,
				Pages: 8192},
			{Kind: "memories", Records: 64, Bytes: 6 << 20, Pages: 6<<20 + 4096}}}
	for _, p := range in.Layout.Parts {
		in.FileBytes += p.Pages
	}
	in.FileBytes += in.Layout.HeaderBytes + in.Layout.ListBytes + in.Layout.FreeBytes + in.Layout.BeyondBytes
	r.Layouts = []layout{{600, in}, {3600, in}}
	return r
}

// each changes all samples of a run from a time on.
func each(r run, from float64, f func(s *sample, hours float64)) run {
	for i := range r.Samples {
		if s := &r.Samples[i]; s.Phase != "before" && s.Seconds >= from {
			f(s, (s.Seconds-from)/3600)
		}
	}
	return r
}

func steadyOf(s *sample) *worker {
	if len(s.Workers) == 0 {
		return new(worker)
	}
	return &s.Workers[0]
}

// TestAnalyse wants nothing found in a sound hour, and each fault in one that has it.
func TestAnalyse(t *testing.T) {
	a, err := analyse(sound())
	if err != nil {
		t.Fatal(err)
	}
	if a.failed() != 0 || len(a.checks) < 20 {
		t.Errorf("%d of %d checks fail in a sound hour:\n%s", a.failed(), len(a.checks), a.report(sound()))
	}
	for name, c := range map[string]struct {
		change func(r run) run
		want   string // in a check that fails
	}{
		"goroutines by time": {func(r run) run {
			return each(r, 0,
				func(s *sample, h float64) { s.Goroutines += 3 * h })
		}, "goroutines of the master"},
		"goroutines stay": {func(r run) run {
			return each(r, 3620, func(s *sample, _ float64) { s.Goroutines += 3 })
		}, "goroutines of the master without workers"},
		"files by time": {func(r run) run { return each(r, 0, func(s *sample, h float64) { s.FDs += int(4 * h) }) },
			"open files of the master"},
		"streams": {func(r run) run { return each(r, 1800, func(s *sample, h float64) { s.Streams += 2 }) },
			"open work streams"},
		"a lease left": {func(r run) run {
			return each(r, 3620, func(s *sample, _ float64) { s.Leases = 1 })
		}, "without workers no stream"},
		"heap by time": {func(r run) run {
			return each(r, 0, func(s *sample, h float64) { s.Live += 300 * mib * h; s.Anon += 600 * mib * h })
		}, "the master's heap grows"},
		"heap by time, a little": {func(r run) run {
			return each(r, 0, func(s *sample, h float64) { s.Live += 90 * mib * h; s.Anon += 180 * mib * h })
		},
			"the unexplained part of the heap"},
		"resident": {func(r run) run { return each(r, 0, func(s *sample, h float64) { s.Anon += 100 * mib * h }) },
			"resident memory"},
		"slower": {func(r run) run {
			return each(r, 2700, func(s *sample, h float64) { s.Nodes -= 0.15 * 50_000 * 3600 * h })
		}, "nodes for each processor second"},
		"dear results": {func(r run) run {
			return each(r, 2700,
				func(s *sample, h float64) { s.CPU += 1800 * h })
		}, "processor time of the master"},
		"the steady's goroutines": {func(r run) run {
			return each(r, 0,
				func(s *sample, h float64) { steadyOf(s).Goroutines += 6 * h })
		}, "goroutines of the worker that stays"},
		"the steady's files": {func(r run) run {
			return each(r, 0,
				func(s *sample, h float64) { steadyOf(s).FDs += int(8 * h) })
		}, "its open files"},
		"the steady's heap": {func(r run) run {
			return each(r, 0,
				func(s *sample, h float64) { steadyOf(s).Live += 1000 * mib * h })
		}, "its heap"},
		"the steady's memory": {func(r run) run {
			return each(r, 0,
				func(s *sample, h float64) { steadyOf(s).Anon += 900 * mib * h })
		}, "its resident memory"},
		"the steady was cut off": {func(r run) run {
			return each(r, 0,
				func(s *sample, h float64) { steadyOf(s).Joins = 2 })
		}, "it has joined once"},
		"an offence": {func(r run) run {
			return each(r, 0,
				func(s *sample, h float64) { s.Offences = 1 })
		}, "holds nothing against"},
		"leases expire": {func(r run) run {
			return each(r, 0,
				func(s *sample, h float64) { s.Expired = 0.9 * s.Granted })
		}, "leases expire"},
		"the master fails":     {func(r run) run { r.Final.Code = 1; return r }, "the master ends"},
		"the store is damaged": {func(r run) run { r.Final.Checked = "page 3"; return r }, "store check"},
		"no end":               {func(r run) run { r.Final = nil; return r }, "the run ends"},
		"answers are missing":  {func(r run) run { r.Missed = make([]missed, 40); return r }, "look in twenty"},
		"a worker ends badly":  {func(r run) run { r.Events[1].Code = 2; return r }, "a worker ends"},
		"a worker does not end": {func(r run) run { r.Events[1].What = "term without end"; return r },
			"a worker ends"},
		"the store does not add":   {func(r run) run { r.Layouts[0].Info.FileBytes++; return r }, "add up"},
		"records of another size":  {func(r run) run { r.Layouts[1].Info.Layout.Parts[2].Bytes++; return r }, "add up"},
		"nobody looked into it":    {func(r run) run { r.Layouts = nil; return r }, "looked into"},
		"half empty pages":         {func(r run) run { return grown(r, 1, 900_000) }, "pages take"},
		"more free than is in use": {func(r run) run { return grown(r, -1, 200*mib) }, "free and not yet used"},
	} {
		r := c.change(sound())
		a, err := analyse(r)
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		found := false
		for _, check := range a.checks {
			found = found || !check.ok && strings.Contains(check.what, c.want)
		}
		if !found {
			t.Errorf("%s: not found:\n%s", name, a.report(r))
		}
	}
	slow := sound()
	slow.Events[1].Code, slow.Events[1].Took = 1, 31                     // it could not deliver
	slow.Events[3].What, slow.Events[3].Took = "interrupt"+unending, 120 // it was stopped
	for i := range slow.Samples {
		if s := &slow.Samples[i]; s.Seconds >= slow.Events[3].Seconds && s.Seconds <= slow.Events[3].Seconds+200 &&
			len(s.Workers) > 0 {
			s.Workers = append(s.Workers, worker{Name: slow.Events[3].Name, process: process{CPU: 3}})
		}
	}
	if a, err := analyse(slow); err != nil || a.failed() != 0 {
		t.Errorf("workers without a processor: %v\n%s", err, a.report(slow))
	}
	few := sound()
	few.Samples = few.Samples[:10]
	if _, err := analyse(few); err == nil {
		t.Error("ten samples are enough")
	}
}

// grown adds pages to a part of the last look into the store, or free ones.
func grown(r run, part int, bytes int64) run {
	in := &r.Layouts[1].Info
	in.Layout.Parts = append([]report.Part(nil), in.Layout.Parts...)
	if in.FileBytes += bytes; part < 0 {
		in.Layout.FreeBytes += bytes
	} else {
		in.Layout.Parts[part].Pages += bytes
	}
	return r
}

// TestReport wants what a run has written back, and a report with twelve rows.
func TestReport(t *testing.T) {
	r := sound()
	folder := t.TempDir()
	file := filepath.Join(folder, "samples")
	f, err := os.Create(file)
	if err != nil {
		t.Fatal(err)
	}
	out := json.NewEncoder(f)
	put := func(l record) {
		if err := out.Encode(l); err != nil {
			t.Fatal(err)
		}
	}
	put(record{Setup: &r.Setup})
	for _, s := range r.Samples {
		put(record{Sample: &s})
	}
	for _, e := range r.Events {
		put(record{Event: &e})
	}
	for _, l := range r.Layouts {
		put(record{Layout: &l})
	}
	put(record{Missed: &missed{3, "an answer"}})
	put(record{Final: r.Final})
	if err := f.Close(); err != nil {
		t.Fatal(err)
	}
	var text strings.Builder
	report := filepath.Join(folder, "report")
	if err := execute(t.Context(), []string{"--from", file, "--report", report}, &text, io.Discard); err != nil {
		t.Fatalf("%v\n%s", err, text.String())
	}
	if kept, err := os.ReadFile(report); err != nil || string(kept) != text.String() {
		t.Error("the report's file is another one", err)
	}
	table := strings.Split(text.String(), "| minute | workers' s |")[1]
	if rows := strings.Count(strings.Split(table, "\n\n")[0], "\n") - 1; rows != 12 {
		t.Errorf("%d rows:\n%s", rows, text.String())
	}
	for _, want := range []string{"| 60.3 | ", "10000: 450000 in 897024", "| afterwards | 14 | 13 |", "1 of "} {
		if !strings.Contains(text.String(), want) {
			t.Errorf("no %q in\n%s", want, text.String())
		}
	}
	put2 := each(r, 0, func(s *sample, h float64) { s.Goroutines += 9 * h })
	if a, err := analyse(put2); err != nil || a.failed() == 0 ||
		!strings.Contains(a.report(put2), "| **NO** | goroutines") {
		t.Error("a report does not say what fails", err)
	}
}

func TestParse(t *testing.T) {
	o, err := parse([]string{"--minutes", "2", "--bin", "b", "6x6"}, io.Discard)
	if err != nil || o.Board != "6x6" || len(o.FirstMoves) != 0 || o.Period != 10*time.Second ||
		o.every() != 10*time.Second/6 || o.TableBytes != 256*mib {
		t.Errorf("%+v, %v", o, err)
	}
	if o, err = parse([]string{"--bin", "b"}, io.Discard); err != nil || o.Period != time.Minute ||
		o.every() != 10*time.Second || o.FirstMoves[0] != "B1-B4xB3" {
		t.Errorf("%+v, %v", o, err)
	}
	for _, bad := range []string{"", "--minutes 0.1 --bin b", "--minutes x", "--passing 0 --bin b", "--nice 30 --bin b",
		"--table x --bin b", "--period 1ms --bin b", "--none"} {
		if o, err := parse(strings.Fields(bad), io.Discard); !errors.Is(err, cli.ErrUsage) {
			t.Errorf("%q is taken: %+v, %v", bad, o, err)
		}
	}
	if _, err := parse([]string{"-h"}, io.Discard); !errors.Is(err, flag.ErrHelp) {
		t.Error(err)
	}
}

// TestNames wants new names, and now and then one that is free again.
func TestNames(t *testing.T) {
	c := campaign{gone: []string{"early-1"}}
	r := rand.New(rand.NewPCG(1, 0))
	seen := map[string]bool{}
	for range 40 {
		name := c.newName(r)
		if seen[name] {
			t.Fatalf("%s twice", name)
		}
		seen[name] = true
	}
	if !seen["early-1"] || !seen["passing-1"] || len(c.gone) != 0 {
		t.Errorf("%v", seen)
	}
}
