package eval_test

import (
	"context"
	"flag"
	"math/bits"
	"math/rand/v2"
	"os"
	"path/filepath"
	"reflect"
	"runtime"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"amazonsfarm/shared/amazons"
	"amazonsfarm/shared/endgame"
	"amazonsfarm/shared/eval"
	"amazonsfarm/shared/testkit/reference"
)

var (
	judged = flag.Int("judged", 8000, "random late positions in TestJudgeAgainstSearch; each is judged for "+
		"both movers")
	judgeDir = flag.String("db", "", "folder of a database for the tests of the judge; empty: a tiny one is built")
	from     = flag.Uint64("seed", 1, "seed of TestJudgeAgainstSearch")
)

var opened = sync.OnceValues(func() (*endgame.DB, error) {
	if *judgeDir != "" {
		db, _, err := endgame.OpenDir(*judgeDir)
		return db, err
	}
	dir, err := os.MkdirTemp("", "eval")
	if err != nil {
		return nil, err
	}
	defer os.RemoveAll(dir)
	name := filepath.Join(dir, "tiny.db")
	if err := endgame.Build(context.Background(), name, endgame.Config{Full: 5}, endgame.Options{}); err != nil {
		return nil, err
	}
	return endgame.Open(name)
})

func database(t testing.TB) *endgame.DB {
	db, err := opened()
	if err != nil {
		t.Fatal(err)
	}
	return db
}

// anyPosition returns a position of a board from 3x3 to 6x6 with 3 to 12 empty squares and two to
// four queens a side, as many or not: placed at random, played at random from such a position, or
// played greedily (most room for the own side) from the starting position.
func anyPosition(r *rand.Rand) (amazons.Board, amazons.State) {
	for {
		b := amazons.Board{Width: uint8(3 + r.IntN(4)), Height: uint8(3 + r.IntN(4))}
		empties := 3 + r.IntN(10)
		if empties > 9 && r.IntN(3) > 0 {
			empties = 3 + r.IntN(7) // exhaustive search is slow beyond
		}
		kind := r.IntN(3)
		var s amazons.State
		if kind == 2 && min(b.Width, b.Height) >= 4 {
			s = reference.Start(b)
		} else {
			kind = min(kind, 1)
			own, opp := 2+r.IntN(3), 2+r.IntN(3)
			room := b.Squares() - own - opp
			if kind == 0 {
				room = min(room, empties)
			}
			if room < 3 {
				continue
			}
			s = reference.Scattered(r, b, own, opp, room)
		}
		for bits.OnesCount64(s.Empty) > empties {
			moves := s.Moves(nil)
			if len(moves) == 0 {
				break
			}
			m := moves[r.IntN(len(moves))]
			if kind == 2 {
				best := -1000
				for range 12 {
					c := moves[r.IntN(len(moves))]
					_, f := eval.Evaluate(s.After(c))
					if g := -f.Territory*4 - f.OwnMoves + f.OppMoves; g > best {
						m, best = c, g
					}
				}
			}
			s = s.After(m)
		}
		if n := bits.OnesCount64(s.Empty); n >= 3 && n <= 12 {
			return b, s
		}
	}
}

// TestJudgeAgainstSearch compares every verdict of the judge, with and without a database and with
// parts switched off, with exhaustive search.
func TestJudgeAgainstSearch(t *testing.T) {
	db := database(t)
	var seen [3]atomic.Int64
	var base, plain, closing atomic.Int64 // decided by the function Evaluate; by the judge without a database
	var wg sync.WaitGroup
	threads := runtime.GOMAXPROCS(0)
	const chunk = 500
	var next atomic.Int64
	for range threads {
		wg.Go(func() {
			full, bare := eval.NewJudge(db, eval.FullSettings()), eval.NewJudge(nil, eval.DefaultSettings())
			var search reference.Fast
			var odd []*eval.Judge
			r0 := rand.New(rand.NewPCG(*from, 1<<32))
			for f := range reflect.TypeFor[eval.Settings]().Fields() {
				s := eval.DefaultSettings()
				part := reflect.ValueOf(&s).Elem().FieldByIndex(f.Index)
				if part.Kind() == reflect.Bool {
					part.SetBool(!part.Bool())
				} else {
					part.SetInt(int64(r0.IntN(8)))
				}
				odd = append(odd, eval.NewJudge(db, s))
			}
			for {
				part := int(next.Add(1)) - 1
				if part*chunk >= *judged || t.Failed() {
					return
				}
				r := rand.New(rand.NewPCG(*from, uint64(part)))
				for range chunk {
					b, s := anyPosition(r)
					for _, s := range []amazons.State{s, swap(s)} {
						var f, g eval.Features
						v, w := full.Evaluate(s, &f), bare.Evaluate(s, &g)
						seen[v].Add(1)
						o := odd[r.IntN(len(odd))].Verdict(s)
						if e, h := eval.Evaluate(s); h != f || h != g {
							t.Errorf("%v: features %+v and %+v, want %+v", amazons.PositionOf(b, s, amazons.White), f,
								g, h)
						} else if e != eval.Open {
							base.Add(1)
						}
						if w != eval.Open {
							plain.Add(1)
						}
						for _, j := range []*eval.Judge{full, bare, odd[r.IntN(len(odd))]}[r.IntN(3):][:1] {
							if m, ok := j.Closing(s); ok {
								closing.Add(1)
								if !s.Legal(m) || search.Wins(s.After(m)) {
									t.Errorf("%v: %v does not win", amazons.PositionOf(b, s, amazons.White), m)
									return
								}
							}
						}
						if v == eval.Open && w == eval.Open && o == eval.Open {
							continue
						}
						truth := eval.Lost
						if search.Wins(s) {
							truth = eval.Won
						}
						for k, v := range []eval.Verdict{v, w, o} {
							if v != eval.Open && v != truth {
								who := []string{"the judge", "the judge without database", "a judge with a part off"}[k]
								t.Errorf("%v: %s says %v, search says %v", amazons.PositionOf(b, s, amazons.White),
									who, v, truth)
								return
							}
						}
					}
				}
			}
		})
	}
	wg.Wait()
	n := float64(2**judged) / 100
	t.Logf("%d positions, both movers: open %d, won %d, lost %d, 0 wrong; decided %.1f %%, without database %.1f "+
		"%%, by the function Evaluate %.1f %%; %d closing moves",
		*judged, seen[0].Load(), seen[1].Load(), seen[2].Load(), float64(seen[1].Load()+seen[2].Load())/n,
		float64(plain.Load())/n, float64(base.Load())/n, closing.Load())
	if seen[1].Load()+seen[2].Load() <= base.Load() ||
		min(seen[0].Load(), seen[1].Load(), seen[2].Load(), closing.Load()) < int64(*judged/50) {
		t.Errorf("verdicts %v %v %v: the test tests little", seen[0].Load(), seen[1].Load(), seen[2].Load())
	}
}

// searched returns the positions of testdata/search.txt, which a search evaluated.
func searched(t testing.TB) []amazons.State {
	text, err := os.ReadFile("testdata/search.txt")
	if err != nil {
		t.Fatal(err)
	}
	var out []amazons.State
	for line := range strings.Lines(string(text)) {
		if strings.HasPrefix(line, "#") {
			continue
		}
		p, err := amazons.ParsePosition(line)
		if err != nil {
			t.Fatal(err)
		}
		out = append(out, p.State())
	}
	return out
}

// BenchmarkJudge evaluates positions from real searches. The share decided does not depend on the
// clock.
func BenchmarkJudge(b *testing.B) {
	states := searched(b)
	db := database(b)
	for _, c := range []struct {
		name  string
		judge *eval.Judge
	}{
		{"function", nil},
		{"no-database", eval.NewJudge(nil, eval.DefaultSettings())},
		{"database-" + db.Config().Name(), eval.NewJudge(db, eval.DefaultSettings())},
	} {
		b.Run(c.name, func(b *testing.B) {
			decided := 0
			for _, s := range states {
				if v := c.judge.Verdict(s); v != eval.Open {
					decided++
				}
			}
			b.ReportAllocs()
			i := 0
			for b.Loop() {
				if i++; i == len(states) {
					i = 0
				}
				c.judge.Verdict(states[i])
			}
			b.ReportMetric(100*float64(decided)/float64(len(states)), "%decided")
		})
	}
}
