package command

import (
	"errors"
	"flag"
	"math/rand/v2"
	"runtime"
	"slices"
	"strings"
	"testing"

	"amazonsfarm/shared/amazons"
	"amazonsfarm/shared/cli"
)

var allWinners = flag.Bool("all-winners", false, "prove the winner of every position of the bench suite, not of a "+
	"few small ones")

// smallBench are positions of the suite that take an instant.
func smallBench(t *testing.T) []benchPosition {
	t.Helper()
	var small []benchPosition
	for _, p := range benchPositions {
		switch p.name {
		case "5x5", "4x5-opening", "4x7-opening":
			small = append(small, p)
		}
	}
	if len(small) != 3 {
		t.Fatalf("the suite lacks some of the small positions: %+v", small)
	}
	return small
}

// The node count is the signature of the build: the same on every run.
func TestBenchIsDeterministic(t *testing.T) {
	if testing.Short() {
		t.Skip("one goroutine: nothing for the race detector to find")
	}
	job := benchJob{smallBench(t), benchTable, []int{1}, 2} // two runs that differ are an error
	noted := 0
	r, err := bench(t.Context(), job, func(string) { noted++ })
	if err != nil {
		t.Fatal(err)
	}
	var nodes uint64
	for i, p := range r.Positions {
		nodes += p.Nodes
		if p.Name != job.suite[i].name || p.Winner != job.suite[i].winner || p.Nodes == 0 || p.Evaluations == 0 ||
			p.Seconds <= 0 {
			t.Errorf("%+v", p)
		}
	}
	if len(r.Positions) != 3 || r.Signature != nodes || r.Nodes != nodes || r.Runs != 2 || noted != 6 ||
		r.Scaling != nil {
		t.Errorf("%d positions, signature %d, %d nodes, %d searches: %+v", len(r.Positions), r.Signature, nodes, noted,
			r)
	}
	again, err := bench(t.Context(), benchJob{job.suite, benchTable, []int{1, 2}, 1}, func(string) {})
	if err != nil {
		t.Fatal(err)
	}
	if again.Signature != r.Signature {
		t.Errorf("signature %d, then %d", r.Signature, again.Signature)
	}
	if len(again.Scaling) != 1 || again.Scaling[0].Cores != 2 || again.Scaling[0].Speedup <= 0 ||
		len(again.Scaling[0].Positions) != 3 {
		t.Fatalf("scaling: %+v", again.Scaling)
	}
	s := again.Scaling[0]
	if want := float64(s.Nodes) / float64(again.Nodes); s.NodeOverhead != want {
		t.Errorf("node overhead %v, want %v", s.NodeOverhead, want)
	}
	if out := again.String(); !strings.Contains(out, "2 threads: ") || strings.Count(out, "\n") != 7 {
		t.Error(out)
	}
}

// A wrong winner, here because the suite says so, ends the bench.
func TestBenchRefusesAWrongWinner(t *testing.T) {
	suite := smallBench(t)
	suite[1].winner = "white"
	_, err := bench(t.Context(), benchJob{suite, benchTable, []int{1}, 1}, func(string) {})
	if !errors.Is(err, cli.ErrVerification) || !strings.Contains(err.Error(), suite[1].position) {
		t.Errorf("%v, want cli.ErrVerification with the position", err)
	}
	if code := cli.ExitCode(err); code != cli.ExitVerification {
		t.Errorf("exit code %d", code)
	}
}

func TestMedian(t *testing.T) {
	for _, c := range []struct {
		all  []uint64
		want uint64
	}{{[]uint64{7}, 7}, {[]uint64{9, 1}, 5}, {[]uint64{9, 1, 2}, 2}, {[]uint64{4, 1, 100, 2}, 3}} {
		var runs []benchEntry
		for _, n := range c.all {
			runs = append(runs, benchEntry{Nodes: n})
		}
		if got := median(runs, func(e benchEntry) uint64 { return e.Nodes }); got != c.want {
			t.Errorf("median of %d is %d, want %d", c.all, got, c.want)
		}
	}
}

func TestThreadCounts(t *testing.T) {
	for most, want := range map[int][]int{1: {1}, 2: {1, 2}, 3: {1, 2, 3}, 8: {1, 2, 4, 8}, 12: {1, 2, 4, 8, 12}} {
		if got := threadCounts(most); !slices.Equal(got, want) {
			t.Errorf("up to %d: %d, want %d", most, got, want)
		}
	}
}

// A draw says how a position of the suite was drawn: from the start of a board, the given moves,
// then as many plies as said, each the best of eight moves drawn at random, by the number of moves
// that the player then has over the opponent's (position is the exact rule).
// Seeds were taken from 1 on, where the search needed neither an instant nor more than a few
// seconds.
type draw struct {
	board string
	moves []string
	plies int
	seed  uint64
}

// draws say how the positions of the suite came about, but for starting positions.
var draws = map[string]draw{
	"4x5-opening":   {"4x5", nil, 1, 6},
	"5x5-opening":   {"5x5", nil, 1, 3},
	"6x4-opening":   {"6x4", nil, 1, 1},
	"4x7-opening":   {"4x7", []string{"B1-B5xC5"}, 1, 1},
	"5x6-opening-1": {"5x6", []string{"B1-B4xD4"}, 1, 3},
	"5x6-opening-2": {"5x6", []string{"B1-B4xD4"}, 1, 16},
	"6x5-opening":   {"6x5", []string{"B1-B4xB3"}, 1, 5},
	"5x5-middle":    {"5x5", nil, 3, 1},
	"6x4-middle-1":  {"6x4", nil, 2, 9},
	"6x4-middle-2":  {"6x4", nil, 3, 4},
	"4x7-middle-1":  {"4x7", nil, 2, 4},
	"4x7-middle-2":  {"4x7", nil, 3, 8},
	"5x6-middle-1":  {"5x6", nil, 4, 14},
	"5x6-middle-2":  {"5x6", nil, 5, 6},
	"6x5-middle-1":  {"6x5", nil, 5, 3},
	"6x5-middle-2":  {"6x5", nil, 5, 12},
}

// position draws a position: see draw.
func (d draw) position(t *testing.T) amazons.Position {
	t.Helper()
	p, err := amazons.ParsePosition(d.board)
	if err != nil {
		t.Fatal(err)
	}
	for _, text := range d.moves {
		m, err := p.ParseMove(text)
		if err != nil {
			t.Fatal(err)
		}
		p = p.After(m)
	}
	r := rand.New(rand.NewPCG(d.seed, 0))
	for range d.plies {
		moves := p.State().Moves(nil)
		var best amazons.Position
		most := -1 << 30
		for range 8 {
			next := p.After(moves[r.IntN(len(moves))])
			opponent := next.State()
			player := amazons.State{Own: opponent.Opp, Opp: opponent.Own, Empty: opponent.Empty}
			if lead := player.CountMoves() - opponent.CountMoves(); lead > most {
				best, most = next, lead
			}
		}
		p = best
	}
	return p
}

// TestBenchPositions draws the positions again, and holds that the suite has openings and middle
// games of the boards it is for.
func TestBenchPositions(t *testing.T) {
	names := make(map[string]bool)
	boards := make(map[string]bool)
	for _, b := range benchPositions {
		p, err := amazons.ParsePosition(b.position)
		if err != nil {
			t.Fatal(err)
		}
		if names[b.name] || !strings.HasPrefix(b.name, p.Board.String()) {
			t.Errorf("the name %q is taken or of another board", b.name)
		}
		names[b.name] = true
		boards[p.Board.String()] = true
		switch drawn, ok := draws[b.name]; {
		case !ok && !cli.IsStart(p):
			t.Errorf("%s: not said how it was drawn", b.name)
		case ok && drawn.position(t) != p:
			t.Errorf("%s is %v, but drawn is %v", b.name, p, drawn.position(t))
		}
	}
	for _, board := range []string{"4x5", "6x4", "5x5", "4x7", "5x6", "6x5"} {
		if !boards[board] {
			t.Errorf("no position of %s", board)
		}
	}
}

// TestBenchWinners proves the winners that the suite claims.
func TestBenchWinners(t *testing.T) {
	suite := smallBench(t)
	if *allWinners {
		suite = benchPositions
	}
	s, err := newSolver(256<<20, runtime.GOMAXPROCS(0), nil)
	if err != nil {
		t.Fatal(err)
	}
	defer s.close()
	for _, b := range suite {
		p, err := amazons.ParsePosition(b.position)
		if err != nil {
			t.Fatal(err)
		}
		r, err := s.solve(t.Context(), question{position: p, prove: true, verify: true})
		if err != nil || !r.Verified || r.Winner != b.winner {
			t.Errorf("%s: %s wins, verified %v, %v; the suite says %s", b.name, r.Winner, r.Verified, err, b.winner)
		}
	}
}
