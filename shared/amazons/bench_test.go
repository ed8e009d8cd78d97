package amazons

import (
	"fmt"
	"math/rand/v2"
	"testing"
)

// benchStates are the positions that benchmarks are named by: the board, then
// how many moves were played from its starting position (by a fixed stream of
// random numbers).
var benchStates = []struct {
	board string
	plies int
}{
	{"5x5", 8},
	{"5x6", 0},
	{"5x6", 6},
	{"5x6", 14},
	{"6x5", 10},
	{"6x6", 0},
	{"6x6", 10},
	{"6x6", 20},
	{"8x8", 16},
}

// eachBenchState runs f once per benchmark position.
func eachBenchState(b *testing.B, f func(b *testing.B, board Board, s State)) {
	for _, row := range benchStates {
		p, err := ParsePosition(row.board)
		if err != nil {
			b.Fatal(err)
		}
		path := randomLine(p, row.plies, rand.New(rand.NewPCG(1, 2)))
		b.Run(fmt.Sprintf("%s/ply=%d", row.board, row.plies), func(b *testing.B) {
			f(b, p.Board, path[len(path)-1].State())
		})
	}
}

// randomLine plays at most n random moves from p and returns p and every
// position after them.
func randomLine(p Position, n int, r *rand.Rand) []Position {
	line := []Position{p}
	for range n {
		moves := p.State().Moves(nil)
		if len(moves) == 0 {
			break
		}
		p = p.After(moves[r.IntN(len(moves))])
		line = append(line, p)
	}
	return line
}

// relatives returns 4096 states that a benchmark goes round, so that the
// processor cannot learn the branches of a single one: the states after two
// moves from s, in the order in which a search meets them, family by family.
func relatives(s State) []State {
	r := rand.New(rand.NewPCG(3, 4))
	var out []State
	for len(out) < 4096 {
		t := s
		if moves := s.Moves(nil); len(moves) > 0 {
			t = s.After(moves[r.IntN(len(moves))])
		}
		moves := t.Moves(nil)
		for _, m := range moves {
			out = append(out, t.After(m))
		}
		if len(moves) == 0 {
			out = append(out, t)
		}
	}
	return out[:4096]
}

// sink keeps the compiler from dropping the work that is measured.
var sink uint64

func BenchmarkQueenTargets(b *testing.B) {
	eachBenchState(b, func(b *testing.B, board Board, s State) {
		var x Set
		i := 0
		squares := board.Squares()
		list := make([]Square, 64)
		for i := range list {
			list[i] = board.UnpackSquare(uint8(i * 7 % squares))
		}
		states := relatives(s)
		for b.Loop() {
			x += QueenTargets(list[i&63], states[i>>6&4095].Empty)
			i++
		}
		sink += x
	})
}

func BenchmarkQueenReach(b *testing.B) {
	eachBenchState(b, func(b *testing.B, _ Board, s State) {
		var x Set
		i := 0
		states := relatives(s)
		for b.Loop() {
			t := &states[i&4095]
			x += QueenReach(t.Own, t.Empty)
			i++
		}
		sink += x
	})
}

func BenchmarkQueenReaches(b *testing.B) {
	eachBenchState(b, func(b *testing.B, _ Board, s State) {
		var x Set
		i := 0
		states := relatives(s)
		for b.Loop() {
			t := &states[i&4095]
			own, opp := QueenReaches(t.Own, t.Opp, t.Empty)
			x += own ^ opp
			i++
		}
		sink += x
	})
}

func BenchmarkFlood(b *testing.B) {
	eachBenchState(b, func(b *testing.B, _ Board, s State) {
		var x Set
		i := 0
		states := relatives(s)
		for b.Loop() {
			t := &states[i&4095]
			x += Flood(t.Own, t.Empty)
			i++
		}
		sink += x
	})
}

func BenchmarkHash(b *testing.B) {
	eachBenchState(b, func(b *testing.B, board Board, s State) {
		var x uint64
		i := 0
		states := relatives(s)
		for b.Loop() {
			x += states[i&4095].Hash(board)
			i++
		}
		sink += x
	})
}

func BenchmarkCanonical(b *testing.B) {
	eachBenchState(b, func(b *testing.B, board Board, s State) {
		var x uint64
		i := 0
		states := relatives(s)
		for b.Loop() {
			c, _ := states[i&4095].Canonical(board)
			x += c.Own
			i++
		}
		sink += x
	})
}

func BenchmarkCanonicalKey(b *testing.B) {
	eachBenchState(b, func(b *testing.B, board Board, s State) {
		var x uint64
		i := 0
		states := relatives(s)
		for b.Loop() {
			x += states[i&4095].CanonicalKey(board).A
			i++
		}
		sink += x
	})
}

func BenchmarkAfter(b *testing.B) {
	eachBenchState(b, func(b *testing.B, _ Board, s State) {
		moves := s.Moves(nil)
		if len(moves) == 0 {
			b.Skip("no move")
		}
		var x uint64
		i := 0
		for b.Loop() {
			x += s.After(moves[i]).Empty
			if i++; i == len(moves) {
				i = 0
			}
		}
		sink += x
	})
}

func BenchmarkMoves(b *testing.B) {
	eachBenchState(b, func(b *testing.B, _ Board, s State) {
		moves := s.Moves(nil)
		n := 0
		for b.Loop() {
			moves = s.Moves(moves[:0])
			n += len(moves)
		}
		b.ReportMetric(float64(n)/b.Elapsed().Seconds(), "moves/s")
	})
}

func BenchmarkCountMoves(b *testing.B) {
	eachBenchState(b, func(b *testing.B, _ Board, s State) {
		n := 0
		for b.Loop() {
			n += s.CountMoves()
		}
		b.ReportMetric(float64(n)/b.Elapsed().Seconds(), "moves/s")
	})
}

// BenchmarkPerft counts every position of perft 2 from the start, generation
// and After together.
func BenchmarkPerft(b *testing.B) {
	for _, board := range []string{"5x5", "5x6", "6x6"} {
		p, err := ParsePosition(board)
		if err != nil {
			b.Fatal(err)
		}
		b.Run(board+"/depth=2", func(b *testing.B) {
			var n uint64
			for b.Loop() {
				n += p.State().Perft(2)
			}
			b.ReportMetric(float64(n)/b.Elapsed().Seconds(), "moves/s")
		})
	}
}
