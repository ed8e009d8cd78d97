package area

import (
	"math/bits"
	"math/rand/v2"
	"testing"

	"amazonsfarm/shared/amazons"
)

// games returns positions of random games from the start on a board, as a search meets them.
func games(b *testing.B, size string, from, to int) [][3]Set {
	board, err := amazons.ParseBoard(size)
	if err != nil {
		b.Fatal(err)
	}
	start, err := amazons.Start(board)
	if err != nil {
		b.Fatal(err)
	}
	r := rand.New(rand.NewPCG(6, 1))
	var out [][3]Set
	for range 300 {
		s := start.State()
		black := false // White moves first
		for ply := 0; ; ply++ {
			if ply >= from && ply < to {
				x := [3]Set{s.Own, s.Opp, s.Empty}
				if !black {
					x[0], x[1] = x[1], x[0]
				}
				out = append(out, x)
			}
			moves := s.Moves(nil)
			if len(moves) == 0 {
				break
			}
			s = s.After(moves[r.IntN(len(moves))])
			black = !black
		}
	}
	return out
}

func BenchmarkPartition(b *testing.B) {
	x := games(b, "5x6", 6, 20)
	var p Partition
	b.Run("basic/5x6", func(b *testing.B) {
		for i := range b.N {
			g := &x[i%len(x)]
			p.Basic(g[0], g[1], g[2])
		}
	})
}

func BenchmarkCanonical(b *testing.B) {
	var areas []Area
	var p Partition
	for _, g := range games(b, "5x6", 6, 20) {
		p.Basic(g[0], g[1], g[2])
		for _, a := range p.Areas() {
			if bits.OnesCount64(a.Squares()) <= 9 {
				areas = append(areas, a)
			}
		}
	}
	b.ResetTimer()
	for i := range b.N {
		a := &areas[i%len(areas)]
		Canonical(a.Black, a.White, a.Empty)
	}
}
