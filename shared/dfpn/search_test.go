package dfpn

import (
	"bufio"
	"context"
	"errors"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"amazonsfarm/shared/amazons"
	"amazonsfarm/shared/eval"
	"amazonsfarm/shared/testkit/reference"
)

func newTable(t testing.TB, size int64) *Table {
	t.Helper()
	table, err := NewTable(size)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := table.Close(); err != nil {
			t.Error(err)
		}
	})
	return table
}

func newSearcher(t testing.TB, b amazons.Board, table *Table, threads int) *Searcher {
	t.Helper()
	return New(Options{Board: b, Table: table, Threads: threads})
}

func parse(t testing.TB, text string) amazons.Position {
	t.Helper()
	p, err := amazons.ParsePosition(text)
	if err != nil {
		t.Fatal(err)
	}
	return p
}

// TestStartingPositions solves the boards whose winners are known. The
// expectations are those of README.md, where 4x5 corrects the literature; each was
// confirmed by exhaustive search or, for 5x5 and 4x6, by the papers.
func TestStartingPositions(t *testing.T) {
	for _, threads := range []int{1, 2} {
		table := newTable(t, 64<<20)
		for board, want := range map[string]eval.Verdict{
			"4x4": eval.Lost, "4x5": eval.Lost, "5x4": eval.Won, "5x5": eval.Won, "4x6": eval.Won,
		} {
			if testing.Short() && (board == "4x5" || threads == 1) { // for the race detector
				continue
			}
			p := parse(t, board)
			table.Clear()
			r := newSearcher(t, p.Board, table, threads).Search(t.Context(), p.State(), 0)
			t.Logf("%s, %d threads: %v, %d nodes, %d evaluations", board, threads, r.Verdict, r.Nodes, r.Evaluations)
			if r.Verdict != want {
				t.Errorf("%s with %d threads: the side to move is %v, want %v", board, threads, r.Verdict, want)
			}
		}
	}
}

// TestOneThreadIsDeterministic holds what "worker bench" rests on: the node count is the signature of
// a build.
func TestOneThreadIsDeterministic(t *testing.T) {
	if testing.Short() {
		t.Skip("one thread has no races")
	}
	p := parse(t, "5x5")
	var first Result
	for i, size := range []int64{32 << 20, 32 << 20, 32 << 20} {
		table := newTable(t, size)
		s := newSearcher(t, p.Board, table, 1)
		if i == 2 { // a used and cleared table is as good as a new one
			s.Search(t.Context(), p.State(), 20000)
			table.Clear()
		}
		r := s.Search(t.Context(), p.State(), 0)
		if i == 0 {
			first = r
		}
		if r != first {
			t.Errorf("run %d: %+v, want %+v", i, r, first)
		}
	}
}

// TestAgainstExhaustiveSearch solves random positions with tiny tables that
// forget nearly everything, with budgets that interrupt the search again and again, and with
// several threads.
func TestAgainstExhaustiveSearch(t *testing.T) {
	r := rand.New(rand.NewPCG(11, 12))
	table := newTable(t, MinTableBytes)
	for range 300 {
		b := amazons.Board{Width: uint8(3 + r.IntN(4)), Height: uint8(3 + r.IntN(3))}
		s := reference.Scattered(r, b, 1+r.IntN(3), 1+r.IntN(3), 4+r.IntN(6))
		want := eval.Lost
		if reference.Wins(b, s) {
			want = eval.Won
		}
		table.Clear()
		search := newSearcher(t, b, table, 1+r.IntN(3))
		budget := uint64(r.IntN(50)) // 0 is no limit
		got := search.Search(t.Context(), s, budget)
		for i := 0; got.Verdict == eval.Open && i < 100000; i++ {
			got = search.Search(t.Context(), s, budget+uint64(i))
		}
		if got.Verdict != want {
			t.Fatalf("%v: search says %v, want %v", amazons.PositionOf(b, s, amazons.White), got.Verdict, want)
		}
		if v, _ := search.Probe(s); v != want {
			t.Errorf("%v: solved as %v, but Probe says %v", amazons.PositionOf(b, s, amazons.White), want, v)
		}
	}
}

// TestOracleOutcomes solves every position of the oracle for both movers.
func TestOracleOutcomes(t *testing.T) {
	if testing.Short() {
		t.Skip("one goroutine: nothing for the race detector to find")
	}
	file, err := os.Open(filepath.Join("..", "..", "..", "shared", "oracle", "outcomes.tsv"))
	if errors.Is(err, os.ErrNotExist) {
		t.Skip("the oracle is not beside this checkout: ../shared/oracle/outcomes.tsv")
	}
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	table := newTable(t, 16<<20)
	lines := bufio.NewScanner(file)
	lines.Scan() // header
	n := 0
	for lines.Scan() {
		f := strings.Split(lines.Text(), "\t")
		p := parse(t, f[3])
		table.Clear() // hashes of different boards may be equal
		s := newSearcher(t, p.Board, table, 1)
		for i, mover := range []amazons.Colour{amazons.Black, amazons.White} {
			p.ToMove = mover
			want := eval.Lost
			if f[4+i] == "win" {
				want = eval.Won
			}
			if got := s.Search(t.Context(), p.State(), 0).Verdict; got != want {
				t.Errorf("%s: %v: %v for the side to move, the oracle says %v", f[0], p, got, want)
			}
			n++
		}
	}
	if err := lines.Err(); err != nil {
		t.Fatal(err)
	}
	t.Logf("%d outcomes agree unless named above", n)
	if n < 5000 {
		t.Errorf("only %d outcomes: is the file whole?", n)
	}
}

func TestLimits(t *testing.T) {
	p := parse(t, "6x6")
	s := newSearcher(t, p.Board, newTable(t, 8<<20), 1)
	if r := s.Search(t.Context(), p.State(), 777); r.Nodes != 777 || r.Verdict != eval.Open {
		t.Errorf("%+v, want 777 nodes and no verdict", r)
	}
	for _, threads := range []int{1, 2} {
		s := newSearcher(t, p.Board, newTable(t, 8<<20), threads)
		ctx, cancel := context.WithCancel(t.Context())
		start := time.Now()
		time.AfterFunc(20*time.Millisecond, cancel)
		r := s.Search(ctx, p.State(), 0)
		if took := time.Since(start); r.Verdict != eval.Open || took > 2*time.Second {
			t.Errorf("%d threads: cancelled after 20 ms, came back after %v with %v", threads, took, r.Verdict)
		}
		if _, err := s.Solve(ctx, p.State()); !errors.Is(err, context.Canceled) {
			t.Errorf("Solve in a cancelled context: %v", err)
		}
	}
}

func TestInsertAndChildren(t *testing.T) {
	p := parse(t, "5x5")
	s := newSearcher(t, p.Board, newTable(t, 1<<20), 1)
	m, err := p.ParseMove("B1-B3xD3")
	if err != nil {
		t.Fatal(err)
	}
	s.Insert(p.State().After(m), eval.Lost, 1234)
	s.Insert(p.State(), eval.Open, 1)
	if v, _ := s.Probe(p.State()); v != eval.Open {
		t.Errorf("an open fact was taken: %v", v)
	}
	lostChildren := 0
	for _, c := range s.Children(p.State()) {
		if c.Verdict == eval.Lost {
			lostChildren++
			if c.Nodes != 1234 {
				t.Errorf("%v: %d nodes, want 1234", c.Move, c.Nodes)
			}
		}
	}
	if lostChildren != 2 { // the move and its mirror image
		t.Errorf("%d children are lost, want 2", lostChildren)
	}
	if r := s.Search(t.Context(), p.State(), 0); r.Verdict != eval.Won || r.Nodes != 1 {
		t.Errorf("with a lost child known: %+v, want won in one node", r)
	}
}

// TestOnSolved holds that every verdict reported is true and heavy enough.
func TestOnSolved(t *testing.T) {
	p := parse(t, "4x4")
	truth := reference.New(p.Board)
	for _, threads := range []int{1, 3} {
		type solved struct {
			s amazons.State
			v eval.Verdict
		}
		found := make(chan solved, 1<<14)
		s := New(Options{Board: p.Board, Table: newTable(t, 1<<20), Threads: threads, MinSolvedNodes: 5,
			OnSolved: func(s amazons.State, v eval.Verdict, nodes uint64) {
				if nodes < 5 {
					t.Errorf("reported with %d nodes", nodes)
				}
				found <- solved{s, v}
			}})
		s.Search(t.Context(), p.State(), 0)
		close(found)
		n := 0
		for f := range found {
			n++
			if f.s.Arrows(p.Board) >= 3 && truth.Wins(f.s) != (f.v == eval.Won) {
				t.Fatalf("%v reported as %v", amazons.PositionOf(p.Board, f.s, amazons.White), f.v)
			}
		}
		if n == 0 {
			t.Error("nothing was reported")
		}
	}
}

// TestChildLimit holds that childLimit is the least phi at which the sum reaches the limit.
func TestChildLimit(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 1))
	for range 200000 {
		rest := uint64(r.IntN(1 << uint(r.IntN(14))))
		largest := uint32(r.IntN(1<<uint(r.IntN(14)))) + 1
		if rest > 0 && r.IntN(2) == 0 {
			largest = uint32(rest) + 1
		}
		limit := uint32(1 + r.IntN(1<<16))
		sum := func(phi uint32) uint32 {
			top := max(largest, phi)
			return weigh(top, rest+uint64(largest)+uint64(phi)-uint64(top))
		}
		x := childLimit(limit, largest, rest)
		if sum(x) < limit {
			t.Fatalf("childLimit(%d, %d, %d) = %d reaches only %d", limit, largest, rest, x, sum(x))
		}
		// One grain below the weight's rounding must not reach it (nothing is below 1).
		if low := int64(x) - 256/SumWeight - 1; low >= 1 && sum(uint32(low)) >= limit {
			t.Fatalf("childLimit(%d, %d, %d) = %d, but %d reaches %d already", limit, largest, rest, x, low,
				sum(uint32(low)))
		}
	}
}

// Numbers that run into their limit must not stop the search or decide anything.
func TestSaturation(t *testing.T) {
	if got := weigh(largestUnsolved, 1<<40); got != largestUnsolved {
		t.Errorf("a sum of unsolved children is %d, want it clamped to %d", got, largestUnsolved)
	}
	if slack(Infinity) != Infinity || slack(largestUnsolved) != Infinity {
		t.Error("slack leaves the range")
	}
	p := parse(t, "B...B/...../W...W/x.x.x w")
	s := newSearcher(t, p.Board, newTable(t, 1<<20), 1)
	table := s.o.Table
	for _, c := range s.Children(p.State()) { // every child looks as hard as can be
		table.put(c.State.Hash(p.Board), pack(largestUnsolved, largestUnsolved, 1))
	}
	if r := s.Search(t.Context(), p.State(), 5_000_000); r.Verdict == eval.Open {
		t.Errorf("stuck: %+v", r)
	}
}

// BenchmarkSearch reports counts that do not depend on the clock beside the speed.
func BenchmarkSearch(b *testing.B) {
	for _, name := range []string{"5x5", "4x5", "4x6", "6x6/first-20000-nodes"} {
		b.Run(name, func(b *testing.B) {
			board, limited, _ := strings.Cut(name, "/")
			limit := uint64(0)
			if limited != "" {
				limit = 20000
			}
			p := parse(b, board)
			table := newTable(b, 256<<20)
			s := newSearcher(b, p.Board, table, 1)
			var r Result
			for b.Loop() {
				table.Clear()
				r = s.Search(b.Context(), p.State(), limit)
			}
			b.ReportMetric(float64(r.Nodes), "nodes")
			b.ReportMetric(float64(r.Evaluations), "evaluations")
			perSecond := float64(b.N) / b.Elapsed().Seconds()
			b.ReportMetric(float64(r.Nodes)*perSecond, "nodes/s")
			b.ReportMetric(float64(r.Evaluations)*perSecond, "evaluations/s")
		})
	}
}

// TestVirtual: a child that others search counts for more where the side to move seems to lose, so
// that threads part, for a little more where nothing is clear, for a little less where it surely
// seems to win; and it is never solved by that.
func TestVirtual(t *testing.T) {
	for _, c := range []struct {
		delta uint32
		busy  uint8
		n     numbers
		want  uint32
	}{
		{1000, 1, numbers{20, 10}, 2008},
		{1000, 3, numbers{20, 10}, 4024},
		{1000, 1, numbers{10, 10}, 1008},
		{1000, 2, numbers{10, 29}, 1016},
		{1000, 1, numbers{10, 30}, 997},
		{1000, 3, numbers{10, 30}, 997},
		{1, 1, numbers{10, 30}, 1},
		{1, 1, numbers{10, 10}, 2},
		{largestUnsolved, 255, numbers{20, 10}, largestUnsolved},
		{largestUnsolved, 1, numbers{10, 10}, largestUnsolved},
		{1000, 1, numbers{1 << 22, Infinity - 1}, 997},
	} {
		if got := virtual(c.delta, c.busy, c.n.leaning()); got != c.want {
			t.Errorf("delta %d with %d threads in a node of numbers %v counts as %d, want %d", c.delta, c.busy, c.n,
				got, c.want)
		}
	}
}
