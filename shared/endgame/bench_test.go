package endgame

import (
	"fmt"
	"math/bits"
	"math/rand/v2"
	"os"
	"testing"

	"amazonsfarm/shared/amazons"
	"amazonsfarm/shared/area"
)

// searchedAreas returns the areas of the positions that short searches from positions of 5x6 games
// would look up: games are played with a queen-distance eye from the start, and at each position
// from move 10 on all children of all of a sample of children are partitioned.
func searchedAreas(t testing.TB, squares int) (out []area.Area) {
	start, err := amazons.Start(amazons.Board{Width: 5, Height: 6})
	if err != nil {
		t.Fatal(err)
	}
	r := rand.New(rand.NewPCG(8, 1))
	var p area.Partition
	for game := 0; game < 40; game++ {
		s := start.State()
		black := false
		for ply := 0; ; ply++ {
			moves := s.Moves(nil)
			if len(moves) == 0 {
				break
			}
			if ply >= 8 {
				for range 6 {
					c := s.After(moves[r.IntN(len(moves))])
					for _, m := range c.Moves(nil) {
						d := c.After(m)
						b, w := d.Own, d.Opp
						if !black {
							b, w = w, b
						}
						p.Basic(b, w, d.Empty)
						for _, a := range p.Areas() {
							if size(&a) <= squares {
								out = append(out, a)
							}
						}
					}
				}
			}
			// The best of twelve random moves for the mover's share of nearer squares.
			best, most := moves[0], -99
			for range 12 {
				m := moves[r.IntN(len(moves))]
				c := s.After(m)
				own, opp := amazons.QueenReach(c.Opp, c.Empty), amazons.QueenReach(c.Own, c.Empty)
				if v := bits.OnesCount64(own&^opp) - bits.OnesCount64(opp&^own); v > most {
					best, most = m, v
				}
			}
			s = s.After(best)
			black = !black
		}
	}
	r.Shuffle(len(out), func(i, j int) { out[i], out[j] = out[j], out[i] })
	return out
}

func BenchmarkFind(b *testing.B) {
	db := database(b)
	areas := searchedAreas(b, db.Squares())
	b.ResetTimer()
	found := 0
	for i := range b.N {
		a := &areas[i%len(areas)]
		if _, ok := db.Find(a.Black, a.White, a.Empty); ok {
			found++
		}
	}
	b.ReportMetric(float64(b.N)/b.Elapsed().Seconds()/1e6, "Mareas/s")
	b.ReportMetric(float64(found)/float64(b.N), "found")
	b.ReportMetric(float64(len(areas)), "areas")
}

// BenchmarkFindAndEntry asks for the entry, too, as an evaluation does.
func BenchmarkFindAndEntry(b *testing.B) {
	db := database(b)
	areas := searchedAreas(b, db.Squares())
	b.ResetTimer()
	hot := 0
	for i := range b.N {
		a := &areas[i%len(areas)]
		if id, ok := db.Find(a.Black, a.White, a.Empty); ok && db.Entry(id).Value.Temperature().Sign() > 0 {
			hot++
		}
	}
	b.ReportMetric(float64(b.N)/b.Elapsed().Seconds()/1e6, "Mareas/s")
}

// BenchmarkFindParallel has all cores look up.
func BenchmarkFindParallel(b *testing.B) {
	db := database(b)
	areas := searchedAreas(b, db.Squares())
	b.ResetTimer()
	b.RunParallel(func(pb *testing.PB) {
		for i := rand.IntN(len(areas)); pb.Next(); i++ {
			a := &areas[i%len(areas)]
			db.Find(a.Black, a.White, a.Empty)
		}
	})
	b.ReportMetric(float64(b.N)/b.Elapsed().Seconds()/1e6, "Mareas/s")
}

func BenchmarkTerritory(b *testing.B) {
	db := database(b)
	type query struct{ normal, blockers, empty Set }
	var q []query
	for _, a := range searchedAreas(b, 64) {
		for _, a := range guardedAreas(a.Black, a.White, a.Empty) {
			if a.White == 0 && a.size() <= db.Squares() {
				q = append(q, query{a.Black &^ a.blockers, a.blockers, a.Empty})
			}
		}
	}
	b.ResetTimer()
	for i := range b.N {
		x := &q[i%len(q)]
		db.Territory(x.normal, x.blockers, x.empty)
	}
	b.ReportMetric(float64(b.N)/b.Elapsed().Seconds()/1e6, "Mterritories/s")
}

func BenchmarkOpen(b *testing.B) {
	name := os.Getenv("AREAS_DB")
	if name == "" {
		b.Skip("set AREAS_DB")
	}
	for range b.N {
		db, err := Open(name)
		if err != nil {
			b.Fatal(err)
		}
		db.Close()
	}
}

// BenchmarkSolver values areas that the database lacks, of up to three squares more than its
// largest, with nothing remembered.
func BenchmarkSolver(b *testing.B) {
	db := database(b)
	var above []area.Area
	for _, a := range searchedAreas(b, db.Squares()+3) {
		if _, ok := db.Find(a.Black, a.White, a.Empty); !ok && a.Kind == area.Active {
			above = append(above, a)
		}
	}
	for _, remember := range []bool{false, true} {
		b.Run(fmt.Sprintf("remember=%v", remember), func(b *testing.B) {
			s := Solver{DB: db}
			for i := range b.N {
				a := &above[i%len(above)]
				if !remember {
					s.Forget()
				}
				if _, err := s.Value(a.Black, a.White, a.Empty); err != nil {
					b.Fatal(err)
				}
			}
			b.ReportMetric(float64(len(above)), "areas")
		})
	}
}
