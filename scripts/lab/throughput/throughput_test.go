package main

import (
	"bytes"
	"errors"
	"math"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"time"

	"amazonsfarm/scripts/lab/farm"
	"amazonsfarm/shared/amazons"
	"amazonsfarm/shared/checker"
	"amazonsfarm/shared/cli"
	"amazonsfarm/shared/proof"
)

// loaded loads a real master for seconds, and returns the table.
func loaded(t *testing.T, s settings) string {
	t.Helper()
	if testing.Short() {
		t.Skip("takes seconds and builds the master")
	}
	s.master = filepath.Join(t.TempDir(), "master")
	if out, err := exec.Command("go", "build", "-C", "../../..", "-o", s.master,
		"./master").CombinedOutput(); err != nil {
		t.Fatalf("build the master: %v\n%s", err, out)
	}
	if err := s.validate(); err != nil {
		t.Fatal(err)
	}
	var out, log bytes.Buffer
	if err := s.run(t.Context(), &out, &log); err != nil {
		t.Fatalf("%v\n%s%s", err, out.String(), log.String())
	}
	return out.String()
}

// TestThroughput loads a real master for seconds. What it asks for is far below what any machine
// does: that nothing acknowledged is lost, and that the tree grows. On a machine that does much
// else leases may be lost.
func TestThroughput(t *testing.T) {
	out := loaded(t, settings{
		board: "6x6", workers: 60, connections: 20, work: 100 * time.Millisecond, stretch: 1, returns: 3,
		results: 2400, limit: time.Minute, window: time.Second, floor: 10, refused: 100, parts: 6000,
	})
	for _, want := range []string{"60 workers on 20 connections", "| **all but the start** |", "a waiting worker: ",
		" refused; killed then, the store holds ", "| parts checked |"} {
		if !strings.Contains(out, want) {
			t.Errorf("the table lacks %q:\n%s", want, out)
		}
	}
}

// TestPace: a real master makes leases longer where more results come than it is to take in.
func TestPace(t *testing.T) {
	out := loaded(t, settings{
		board: "6x6", workers: 60, connections: 20, work: 100 * time.Millisecond, stretch: 100, returns: 1,
		limit: 12 * time.Second, window: 4 * time.Second, refused: 100, pace: 50,
	})
	rows := regexp.MustCompile(`(?m)^\| \d+ \| \d+ \| (\d+) \|`).FindAllStringSubmatch(out, -1)
	if len(rows) < 3 {
		t.Fatalf("%d rows in the table, want 3:\n%s", len(rows), out)
	}
	// 600 a second are offered, and 50 welcome.
	if rate, err := strconv.Atoi(rows[len(rows)-1][1]); err != nil || rate < 10 || rate > 120 {
		t.Errorf("%d results a second in the end (%v), want about 50:\n%s", rate, err, out)
	}
}

func TestValidate(t *testing.T) {
	good := settings{master: "m", board: "6x6", workers: 400, work: time.Second, stretch: 1, returns: 8,
		limit: time.Second, window: time.Second}
	for part, change := range map[string]func(*settings){
		"":              func(*settings) {},
		"--board":       func(s *settings) { s.board = "9x9x9" },
		"--master":      func(s *settings) { s.master = "" },
		"--workers":     func(s *settings) { s.workers = 0 },
		"--connections": func(s *settings) { s.connections = 1 },
		"--window":      func(s *settings) { s.window = 0 },
		"--returns":     func(s *settings) { s.returns = 0 },
		"--stretch":     func(s *settings) { s.stretch = 2 },
		"--parts":       func(s *settings) { s.parts = -1 },
		"--positions":   func(s *settings) { s.positions = -1 },
	} {
		s := good
		change(&s)
		err := s.validate()
		if part == "" {
			if err != nil || s.connections != 400 {
				t.Errorf("good settings: %v, %d connections", err, s.connections)
			}
			continue
		}
		if err == nil || !strings.Contains(err.Error(), part) {
			t.Errorf("%s: %v", part, err)
		}
	}
}

// TestParts: each part is another one, and the checker accepts each with its two claims.
func TestParts(t *testing.T) {
	board, err := amazons.ParseBoard("5x5")
	if err != nil {
		t.Fatal(err)
	}
	e, err := prepare(t.Context(), board, 700, func(int64) {})
	if err != nil {
		t.Fatal(err)
	}
	known := map[proof.ID]bool{}
	claimed := map[amazons.Key]bool{}
	for i := range e.all {
		p, err := e.take()
		if err != nil {
			t.Fatalf("part %d of %d: %v", i, e.all, err)
		}
		known[p.ID], claimed[p.Facts[1].Key] = true, true
		if i%100 > 0 {
			continue
		}
		r, err := checker.Check(t.Context(), bytes.NewReader(p.Data), int64(len(p.Data)), checker.Options{Part: true})
		if err != nil || len(r.Roots) != len(p.Facts) {
			t.Errorf("part %d: %v, %v", i, r, err)
		}
	}
	if int64(len(known)) != e.all || len(claimed) < len(known)*9/10 {
		t.Errorf("%d parts with %d claims of %d", len(known), len(claimed), e.all)
	}
	if _, err := e.take(); !errors.Is(err, errNoMore) {
		t.Errorf("one more than there are: %v", err)
	}
}

func TestUsage(t *testing.T) {
	var out, log bytes.Buffer
	if code := cli.Execute(t.Context(), command(), []string{"--workers", "0"}, strings.NewReader(""), &out,
		&log); code != cli.ExitUsage {
		t.Errorf("exit code %d: %s", code, log.String())
	}
}

func TestReadGauges(t *testing.T) {
	text := `# HELP x y
process_cpu_seconds_total 1.5
process_resident_memory_bytes 2e+06
go_memstats_heap_inuse_bytes 3
go_memstats_stack_inuse_bytes 4
go_memstats_alloc_bytes_total 5
go_memstats_mallocs_total 6
amazons_master_tree_positions 8
amazons_master_store_commit_duration_seconds_count 9
amazons_master_store_commit_duration_seconds_sum 0.25
amazons_master_batch_events_bucket{le="1"} 3
amazons_master_batch_events_count 10
amazons_master_batch_events_sum 11
`
	read := func(text string) (gauges, error) {
		figures, err := farm.ParseMetrics(strings.NewReader(text))
		if err != nil {
			t.Fatal(err)
		}
		return readGauges(figures)
	}
	g, err := read(text)
	if err != nil || g.cpu != 1.5 || g.resident != 2e6 || g.positions != 8 || g.commitSeconds != 0.25 ||
		g.events != 11 {
		t.Errorf("%+v, %v", g, err)
	}
	if _, err := read(strings.Replace(text, "tree_positions", "positions", 1)); err == nil ||
		!strings.Contains(err.Error(), "amazons_master_tree_positions") {
		t.Errorf("a missing figure: %v", err)
	}
}

func TestQuantile(t *testing.T) {
	var times []time.Duration
	for i := range 200 {
		times = append(times, time.Duration(199-i))
	}
	if q := quantile(times, 0.5); q != 100 {
		t.Errorf("half: %d", q)
	}
	if q := quantile(times, 0.99); q != 198 {
		t.Errorf("99 of 100: %d", q)
	}
	if quantile(nil, 0.5) != 0 {
		t.Error("of none")
	}
}

// TestJudge: each thing that a run may miss is told.
func TestJudge(t *testing.T) {
	began := time.Now()
	run := func() measured {
		m := measured{results: 1000, nodes: 5000}
		m.kept.Nodes = 5000
		for i := range 3 {
			from := gauges{at: began.Add(time.Duration(i) * time.Second), positions: float64(100 * i)}
			to := gauges{at: from.at.Add(time.Second), positions: from.positions + 100}
			m.windows = append(m.windows, window{from: from, to: to,
				tally: tally{results: 500, leases: []time.Duration{20 * time.Millisecond}}})
		}
		return m
	}
	s := settings{workers: 10, floor: 400, latest: 30 * time.Millisecond, refused: 1}
	m := run()
	if err := s.judge(m); err != nil {
		t.Errorf("a good run: %v", err)
	}
	if busy := s.busy(m); len(busy) != 1 {
		t.Errorf("%d windows count, want the last alone", len(busy))
	}
	if w := total(m.windows); w.results != 1500 || math.Abs(w.rate()-500) > 0.01 {
		t.Errorf("in all %d results, %v a second", w.results, w.rate())
	}
	for part, change := range map[string]func(*measured){
		"lost":               func(m *measured) { m.kept.Nodes = 4999 },
		"refused":            func(m *measured) { m.refused, m.refusal = 11, "why" },
		"ended before":       func(m *measured) { m.windows = m.windows[:1] },
		"results a second":   func(m *measured) { m.windows[2].results = 399 },
		"1 of 100 leases to": func(m *measured) { m.windows[2].leases = []time.Duration{time.Second} },
	} {
		m := run()
		change(&m)
		if err := s.judge(m); err == nil || !strings.Contains(err.Error(), part) {
			t.Errorf("%s: %v", part, err)
		}
	}
}
