package dfpn

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"flag"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"amazonsfarm/shared/amazons"
	"amazonsfarm/shared/checker"
	"amazonsfarm/shared/eval"
	"amazonsfarm/shared/proof"
	"amazonsfarm/shared/testkit/reference"
)

var (
	stressPositions = flag.Int("stress", 300, "positions of the stress test")
	stressSeed      = flag.Uint64("stress-seed", 1,
		"what the positions, tables, budgets and cancellations of the stress test are drawn from")
	stressFirst = flag.Int("stress-first", 0, "number of the first position of the stress test")
)

// A stressed position is one whose winner is known otherwise than by the search under stress.
type stressed struct {
	board amazons.Board
	state amazons.State
	want  eval.Verdict
	exact *reference.Fast // the exhaustive search that knows it; nil if something else does
	from  string
}

// TestStress solves random positions under the worst conditions: tables that forget nearly
// everything, one to four threads, node budgets, cancellations at random moments, searches that go
// on in the same table or in another one that got the first one's hints, and two searches over one
// table. No answer may be wrong: not that of the search, not that of Probe, not one told to
// OnSolved; and a certificate extracted from such a table must stand before the checker.
//
// Positions come from three places: random ones with an exhaustive answer, those of the oracle, and
// middle games whose answer was proved by a certificate from a large table. With one thread a
// position and the seed repeat everything but cancellations by the clock.
func TestStress(t *testing.T) {
	oracle := oracleOutcomes(t)
	large := newTable(t, 16<<20) // for drawing positions
	exact := new(reference.Fast)
	var count struct{ exhaustive, oracle, middle, stretches, cancelled, facts, certificates int }
	positions := *stressPositions
	if testing.Short() {
		positions = min(positions, 50)
	}
	for i := *stressFirst; i < *stressFirst+positions; i++ {
		r := rand.New(rand.NewPCG(*stressSeed, uint64(i)))
		var p stressed
		switch x := r.IntN(100); {
		case x < 15:
			p = middleGame(t, r, large)
			count.middle++
		case x < 30 && len(oracle) > 0:
			p = oracle[r.IntN(len(oracle))]
			count.oracle++
		default:
			p = exhausted(t, r, large, exact)
			count.exhaustive++
		}
		s := &stress{p: p, r: r}
		if err := s.run(t); err != nil {
			t.Fatalf("%s %v, %s for the side to move: %v\nrun it again: go test ./shared/dfpn -run TestStress "+
				"-stress-seed %d -stress-first %d -stress 1",
				p.from, amazons.PositionOf(p.board, p.state, amazons.White), p.want, err, *stressSeed, i)
		}
		count.stretches += s.stretches
		count.cancelled += s.cancelled
		count.facts += s.checked
		count.certificates += s.certificates
	}
	t.Logf("seed %d: %+v", *stressSeed, count)
	if n := positions; n >= 50 && (count.cancelled < n/10 || count.stretches < n || count.facts < n ||
		count.certificates < n/20) {
		t.Errorf("the stress was small: %+v", count)
	}
}

// exhausted draws a small random position, mostly one that is not decided at a glance.
func exhausted(t *testing.T, r *rand.Rand, table *Table, exact *reference.Fast) stressed {
	t.Helper()
	p := stressed{want: eval.Lost, exact: exact, from: "random"}
	for range 20 {
		p.board = amazons.Board{Width: uint8(3 + r.IntN(4)), Height: uint8(3 + r.IntN(3))}
		p.state = reference.Scattered(r, p.board, 1+r.IntN(3), 1+r.IntN(3), 5+r.IntN(4))
		table.Clear()
		s := New(Options{Board: p.board, Table: table, Judge: noJudge})
		if s.Search(t.Context(), p.state, 30).Verdict == eval.Open {
			break
		}
	}
	if exact.Wins(p.state) {
		p.want = eval.Won
	}
	return p
}

// noJudge leaves the search with the counting lemma alone, so that it has more to do.
func noJudge() *eval.Judge { return nil }

// middleGame draws a position of a small board after some random moves, solves it in a large table
// and has the proof checked.
func middleGame(t *testing.T, r *rand.Rand, table *Table) stressed {
	t.Helper()
	for {
		p := parse(t, []string{"4x4", "4x5", "5x4", "4x6", "5x5"}[r.IntN(5)])
		for range 2 + r.IntN(3) {
			if moves := p.State().Moves(nil); len(moves) > 0 {
				p = p.After(moves[r.IntN(len(moves))])
			}
		}
		table.Clear()
		s := newSearcher(t, p.Board, table, 1)
		found := s.Search(t.Context(), p.State(), 5_000)
		if found.Verdict == eval.Open || found.Nodes < 50 {
			continue
		}
		if err := certify(t.Context(), s, p.State(), found.Verdict); err != nil {
			t.Fatalf("%v: %v", p, err)
		}
		return stressed{board: p.Board, state: p.State(), want: found.Verdict, from: "middle game"}
	}
}

// oracleOutcomes reads the oracle, every position for both movers; none if it is not beside this
// checkout.
func oracleOutcomes(t *testing.T) []stressed {
	t.Helper()
	file, err := os.Open(filepath.Join("..", "..", "..", "shared", "oracle", "outcomes.tsv"))
	if errors.Is(err, os.ErrNotExist) {
		t.Log("without the oracle, which is not beside this checkout: ../shared/oracle/outcomes.tsv")
		return nil
	}
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	var all []stressed
	lines := bufio.NewScanner(file)
	lines.Scan() // header
	for lines.Scan() {
		f := strings.Split(lines.Text(), "\t")
		p := parse(t, f[3])
		for i, mover := range []amazons.Colour{amazons.Black, amazons.White} {
			p.ToMove = mover
			want := eval.Lost
			if f[4+i] == "win" {
				want = eval.Won
			}
			all = append(all, stressed{board: p.Board, state: p.State(), want: want, from: "oracle " + f[0]})
		}
	}
	if err := lines.Err(); err != nil {
		t.Fatal(err)
	}
	return all
}

// certify extracts a certificate and has it checked.
func certify(ctx context.Context, s *Searcher, st amazons.State, v eval.Verdict) error {
	w, err := NewWitness(s)
	if err != nil {
		return err
	}
	defer w.Close()
	builder := proof.NewBuilder(s.o.Board, proof.BuilderOptions{}, w)
	if err := builder.Prove(ctx, st, v); err != nil {
		return fmt.Errorf("extract: %w", err)
	}
	data, err := proof.Encode(proof.Certificate{Board: s.o.Board, Roots: []proof.Root{{State: st, Claim: v}},
		Set: builder.Take()})
	if err != nil {
		return err
	}
	if _, err := checker.Check(ctx, bytes.NewReader(data), int64(len(data)), checker.Options{Workers: 1}); err != nil {
		return fmt.Errorf("check: %w", err)
	}
	return nil
}

// stress is one position under stress.
type stress struct {
	p stressed
	r *rand.Rand

	mu     sync.Mutex
	facts  []reported   // told to OnSolved, some of them
	solved atomic.Int64 // told to OnSolved since the search began
	stopAt atomic.Int64 // cancel when so many were told; 0: never
	cancel atomic.Value // of func()

	stretches, cancelled, checked, certificates int
}

// reported is what OnSolved was told.
type reported struct {
	state amazons.State
	won   bool
}

// maxStretches is how often a search is interrupted; then it must end by itself.
const maxStretches = 60

// stressDeadline is how long a search without a limit may take: very much longer than it needs.
const stressDeadline = 5 * time.Minute

func (s *stress) run(t *testing.T) error {
	table, err := NewTable(s.tableBytes())
	if err != nil {
		return err
	}
	defer func() { table.Close() }()
	search := s.searcher(table)
	var got Result
	for got.Verdict == eval.Open {
		s.stretches++
		switch x := s.r.IntN(12); {
		case s.stretches >= maxStretches:
			ctx, cancel := context.WithTimeout(t.Context(), stressDeadline)
			got = search.Search(ctx, s.p.state, 0)
			cancel()
			if got.Verdict == eval.Open {
				return fmt.Errorf("no answer within %v, after %d nodes", stressDeadline, got.Nodes)
			}
		case x == 0 && s.p.exact != nil:
			if got, err = s.two(t.Context(), search, table); err != nil {
				return err
			}
		case x == 1:
			if search, table, err = s.move(search, table); err != nil {
				return err
			}
		case x == 2:
			table.Clear()
		case x < 7:
			got = search.Search(t.Context(), s.p.state, 1+uint64(s.r.IntN(1<<s.r.IntN(10))))
		default:
			got = s.interrupted(t.Context(), search)
		}
	}
	if got.Verdict != s.p.want {
		return fmt.Errorf("the search says %v", got.Verdict)
	}
	if v, _ := search.Probe(s.p.state); v != s.p.want && v != eval.Open {
		return fmt.Errorf("Probe says %v", v)
	}
	for _, f := range s.facts {
		if s.p.exact != nil {
			s.checked++
			if s.p.exact.Wins(f.state) != f.won {
				return fmt.Errorf("%v was reported as won: %v", amazons.PositionOf(s.p.board, f.state, amazons.White),
					f.won)
			}
		}
	}
	if s.r.IntN(8) == 0 {
		s.certificates++
		return certify(t.Context(), search, s.p.state, s.p.want)
	}
	return nil
}

func (s *stress) tableBytes() int64 {
	if s.r.IntN(4) > 0 {
		return MinTableBytes
	}
	return MinTableBytes << s.r.IntN(4)
}

func (s *stress) searcher(table *Table) *Searcher {
	o := Options{Board: s.p.board, Table: table, Threads: 1 + s.r.IntN(4), OnSolved: s.note,
		MinSolvedNodes: uint64(s.r.IntN(4))}
	if s.r.IntN(2) == 0 {
		o.Judge = noJudge
	}
	return New(o)
}

// note keeps what the search reports, and cancels it at the moment that was drawn.
func (s *stress) note(st amazons.State, v eval.Verdict, _ uint64) {
	if at := s.stopAt.Load(); s.solved.Add(1) == at && at > 0 {
		s.cancel.Load().(context.CancelFunc)()
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if len(s.facts) < 200 {
		s.facts = append(s.facts, reported{st, v == eval.Won})
	}
}

// interrupted searches until a context ends: before the search begins, some microseconds later, or
// when so many positions were reported.
func (s *stress) interrupted(ctx context.Context, search *Searcher) Result {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	s.solved.Store(0)
	switch s.r.IntN(6) {
	case 0:
		cancel()
	case 1, 2:
		defer time.AfterFunc(time.Duration(s.r.IntN(1<<s.r.IntN(12)))*time.Microsecond, cancel).Stop()
	default:
		s.cancel.Store(cancel)
		s.stopAt.Store(1 + int64(s.r.IntN(1<<s.r.IntN(8))))
		defer s.stopAt.Store(0)
	}
	got := search.Search(ctx, s.p.state, 0)
	if got.Verdict == eval.Open {
		s.cancelled++
	}
	return got
}

// two searches the position and one of its children at the same time, with two searchers over one
// table.
func (s *stress) two(ctx context.Context, search *Searcher, table *Table) (Result, error) {
	moves := s.p.state.Moves(nil)
	if len(moves) == 0 {
		return search.Search(ctx, s.p.state, 0), nil
	}
	st := s.p.state.After(moves[s.r.IntN(len(moves))])
	want := eval.Lost
	if s.p.exact.Wins(st) {
		want = eval.Won
	}
	other := s.searcher(table)
	limit := uint64(s.r.IntN(1000))
	var beside Result
	var wg sync.WaitGroup
	wg.Go(func() { beside = other.Search(ctx, st, 0) })
	got := search.Search(ctx, s.p.state, limit)
	wg.Wait()
	if beside.Verdict != want {
		return got, fmt.Errorf("a second search over the same table says %v of %v", beside.Verdict,
			amazons.PositionOf(s.p.board, st, amazons.White))
	}
	return got, nil
}

// move goes on in another table that gets the hints of this one.
func (s *stress) move(search *Searcher, table *Table) (*Searcher, *Table, error) {
	hints := search.Hints(s.p.state, 1+s.r.IntN(2000))
	next, err := NewTable(s.tableBytes())
	if err != nil {
		return nil, table, err
	}
	if err := table.Close(); err != nil {
		return nil, next, err
	}
	if _, err := next.AddHints(s.p.board, hints, false); err != nil {
		return nil, next, err
	}
	return s.searcher(next), next, nil
}

// TestSmallTables solves boards in tables of a 64th of the usual 256 MiB and much smaller ones: the
// answer is right and comes in bounded work. When this was written, 5x5 took 10,291 nodes in 4 MiB
// and in 256 MiB and 16,478 in 64 KiB, which holds 4096 entries; 4x5 took 43,331, 43,331 and
// 86,995.
func TestSmallTables(t *testing.T) {
	for _, c := range []struct {
		board string // winners: see TestStartingPositions
		want  eval.Verdict
	}{{"5x5", eval.Won}, {"4x5", eval.Lost}} {
		if testing.Short() && c.board == "4x5" {
			continue // half a minute under the race detector
		}
		p := parse(t, c.board)
		whole := newSearcher(t, p.Board, newTable(t, 256<<20), 1).Search(t.Context(), p.State(), 0)
		for _, size := range []int64{4 << 20, 1 << 20, 256 << 10, MinTableBytes} {
			for _, threads := range []int{1, 2} {
				if testing.Short() && threads == 1 {
					continue // for the race detector
				}
				r := newSearcher(t, p.Board, newTable(t, size), threads).Search(t.Context(), p.State(),
					8*whole.Nodes)
				t.Logf("%s, %d KiB, %d threads: %v, %d nodes, %.2f of those in 256 MiB", c.board, size>>10, threads,
					r.Verdict, r.Nodes, float64(r.Nodes)/float64(whole.Nodes))
				if r.Verdict != c.want {
					t.Errorf("%s in %d KiB with %d threads: %+v, want %v", c.board, size>>10, threads, r, c.want)
				}
			}
		}
	}
}
