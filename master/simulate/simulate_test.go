package simulate

import (
	"bytes"
	"context"
	"encoding/xml"
	"errors"
	"io"
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"amazonsfarm/master/tree"
	"amazonsfarm/shared/amazons"
)

// question returns a small campaign that still needs hundreds of leases.
func question(t *testing.T, board string) Config {
	t.Helper()
	root, err := amazons.ParsePosition(board)
	if err != nil {
		t.Fatal(err)
	}
	return Config{
		Tree: tree.Config{Root: root}, Seed: 1, Scale: 5000, Delay: 20 * time.Millisecond,
		Lemma:      true,
		TableBytes: 1 << 18, HintEntries: 64, MaxNodes: 2_000_000,
	}
}

func run(t *testing.T, c Config) Result {
	t.Helper()
	r, err := Run(context.Background(), c)
	if err != nil {
		t.Fatal(err)
	}
	return r
}

// TestRepeatable: the seed and the settings decide about every event.
func TestRepeatable(t *testing.T) {
	c := question(t, "4x4")
	c.Workers, c.SpeedSpread, c.LossRate, c.CrashRate = 6, 1, 0.01, 100
	first, second := run(t, c), run(t, c)
	if first != second {
		t.Errorf("the same run has two results:\n%+v\n%+v", first, second)
	}
	c.Seed++
	if other := run(t, c); other.Trace == first.Trace {
		t.Error("another seed has the same trace")
	}
}

// TestEvidence: workers extract evidence and check it for the shares of their search that are asked for.
func TestEvidence(t *testing.T) {
	c := question(t, "5x4")
	c.Workers = 4
	free := run(t, c)
	c.ExtractShare, c.CheckShare = ExtractShare, CheckShare
	r := run(t, c)
	if free.Extracting != 0 || free.Checking != 0 {
		t.Errorf("free evidence takes %v and %v of the time", free.Extracting, free.Checking)
	}
	if got := r.Checking / r.Busy; math.Abs(got-CheckShare) > 0.001 {
		t.Errorf("checks take %v of the search's time, want %v", got, CheckShare)
	}
	// A worker that proves nothing any more extracts nothing either.
	if got := r.Extracting / r.Busy; got < 0.7*ExtractShare || got > ExtractShare+0.001 {
		t.Errorf("extraction takes %v of the search's time, want nearly %v", got, ExtractShare)
	}
	if r.Answer != free.Answer || r.Busy+r.Extracting+r.Checking > 1 {
		t.Errorf("%+v", r)
	}
}

// TestSlowEvidence: a worker that extracts for longer than it may be silent keeps its lease, and one whose lease is
// cancelled meanwhile stops soon and goes on.
func TestSlowEvidence(t *testing.T) {
	c := question(t, "4x5")
	c.Lemma, c.Workers = false, 4
	free := run(t, c)
	c.ExtractShare = 4
	if r := run(t, c); r.Answer != free.Answer || r.Extracting < 2*r.Busy || r.Leases > 4*free.Leases {
		t.Errorf("%+v, where evidence takes no time %+v", r, free)
	}
}

// TestAnswers: whatever fails, a campaign ends with the right answer (4x4 is lost and 5x4 won for
// the first player).
func TestAnswers(t *testing.T) {
	for name, spoil := range map[string]func(*Config){
		"one":          func(c *Config) { c.Workers = 1 },
		"many":         func(c *Config) { c.Workers = 40 },
		"shared table": func(c *Config) { c.SharedTable = true },
		"far":          func(c *Config) { c.Delay = 800 * time.Millisecond },
		"prefetching":  func(c *Config) { c.Delay, c.PrefetchPercent = 800*time.Millisecond, 1 },
		"lossy":        func(c *Config) { c.LossRate = 0.1 },
		"mortal":       func(c *Config) { c.CrashRate = 1000; c.Restart = time.Second },
		"all at once": func(c *Config) {
			c.Delay, c.LossRate, c.CrashRate, c.SpeedSpread, c.PrefetchPercent = 300*time.Millisecond, 0.05, 500, 3, 1
		},
	} {
		for board, want := range map[string]string{"4x4": "settled: lost", "5x4": "settled: won"} {
			c := question(t, board)
			c.Workers = 8
			spoil(&c)
			r := run(t, c)
			if r.Answer != want {
				t.Errorf("%s, %s: %s, want %s", board, name, r.Answer, want)
			}
			if c.LossRate > 0 && r.Steps > 200 && r.Breaks == 0 || c.CrashRate >= 1000 && r.Seconds > 20 &&
				r.Crashes == 0 {
				t.Errorf("%s, %s: nothing failed: %+v", board, name, r)
			}
			if r.Busy <= 0 || r.Busy > 1+1e-9 || r.Starved < 0 || r.Busy+r.Starved > 1+1e-6 {
				t.Errorf("%s, %s: shares of time: %+v", board, name, r)
			}
		}
	}
}

// TestLoneWorkerIsBusy: with one worker and no delay all time is search, at the worker's speed.
func TestLoneWorkerIsBusy(t *testing.T) {
	c := question(t, "4x4")
	c.Delay = 0
	r := run(t, c)
	if want := float64(r.Nodes) / 50_000; math.Abs(r.Seconds-want) > 1e-3 || r.Busy < 0.999 {
		t.Errorf("%+v: want %v seconds", r, want)
	}
}

// TestPrefetch: workers that are far away wait less if they ask early, and not at all for leases
// beside which the way is short.
func TestPrefetch(t *testing.T) {
	c := question(t, "4x5")
	c.Workers, c.Scale, c.Delay = 4, 500, 100*time.Millisecond
	waiting := run(t, c)
	c.PrefetchPercent = 3
	early := run(t, c)
	if early.Busy < waiting.Busy+(1-waiting.Busy)/20 {
		t.Errorf("asking early, busy for %.3f of the time; else for %.3f", early.Busy, waiting.Busy)
	}
	c.Delay = time.Millisecond
	near := run(t, c)
	c.PrefetchPercent = 0
	if never := run(t, c); near.Trace != never.Trace {
		t.Errorf("with a master nearby it asks early:\n%+v\n%+v", near, never)
	}
}

// TestHints: what tables know travels as far as there is room at the master.
func TestMemories(t *testing.T) {
	c := question(t, "4x4")
	c.Workers, c.Scale, c.TableBytes = 4, 500, 1<<20
	kept := run(t, c)
	c.HintBytes = 1
	dropped := run(t, c)
	c.HintEntries, c.HintBytes = 0, 0
	none := run(t, c)
	if dropped.Trace != none.Trace {
		t.Errorf("without room: %+v\nwithout hints: %+v", dropped, none)
	}
	if kept.Trace == none.Trace {
		t.Errorf("hints change nothing: %+v", kept)
	}
}

// TestDraw: a curve begins with one worker, is repeated from its record, and its picture is well
// formed.
func TestDraw(t *testing.T) {
	file := filepath.Join(t.TempDir(), "record")
	c := question(t, "5x4")
	var curves [2]Curve
	for i := range curves {
		record, err := OpenRecord(file)
		if err != nil {
			t.Fatal(err)
		}
		if curves[i], err = Draw(context.Background(), c, []int{4, 2}, record, nil); err != nil {
			t.Fatal(err)
		}
		if i == 0 { // a crash while writing
			data, _ := os.ReadFile(file)
			if err := os.WriteFile(file, append(data, "{\"wor"...), 0o644); err != nil {
				t.Fatal(err)
			}
		}
	}
	if len(curves[0].Runs) != 3 || curves[0].Runs[0].Workers != 1 || curves[0].Runs[2].Workers != 4 ||
		curves[1].Runs[2] != curves[0].Runs[2] {
		t.Errorf("curves %+v", curves)
	}
	if data, _ := os.ReadFile(file); bytes.Count(data, []byte("\n")) != 3 || !bytes.HasSuffix(data, []byte("\n")) {
		t.Errorf("record:\n%s", data)
	}
	if table := curves[0].String(); strings.Count(table, "\n") != 4 {
		t.Errorf("table:\n%s", table)
	}
	var svg bytes.Buffer
	if err := curves[0].WriteSVG(&svg, "a <title> & more"); err != nil {
		t.Fatal(err)
	}
	for d := xml.NewDecoder(&svg); ; {
		if _, err := d.Token(); errors.Is(err, io.EOF) {
			break
		} else if err != nil {
			t.Fatal(err)
		}
	}
	if err := os.WriteFile(file, []byte("nonsense\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	if _, err := OpenRecord(file); err == nil {
		t.Error("nonsense was read as a record")
	}
}

// TestErrors: bad settings are named, and limits end a run.
func TestErrors(t *testing.T) {
	for want, spoil := range map[string]func(*Config){
		"times":  func(c *Config) { c.Delay = -1 },
		"tables": func(c *Config) { c.Workers, c.TablesBytes = 100, 1<<20 },
	} {
		c := question(t, "4x4")
		spoil(&c)
		if _, err := Run(context.Background(), c); !errors.Is(err, ErrConfig) || !strings.Contains(err.Error(), want) {
			t.Errorf("want %q: %v", want, err)
		}
	}
	c := question(t, "5x5")
	c.MaxNodes = 100
	if _, err := Run(context.Background(), c); !errors.Is(err, ErrLimit) {
		t.Errorf("limit: %v", err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	if _, err := Run(ctx, c); !errors.Is(err, context.Canceled) {
		t.Errorf("cancelled: %v", err)
	}
}
