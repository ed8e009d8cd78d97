package engine

import (
	"context"
	"flag"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"amazonsfarm/shared/dfpn"
	"amazonsfarm/shared/eval"
	"amazonsfarm/shared/proof"
)

var stressRounds = flag.Int("stress", 12, "rounds of the stress test")

// TestStress solves boards with known winners in tiny tables on one to four cores, with random
// budgets and cancellations at random moments, now and then handing the job over to another engine
// with the first one's hints and facts, and with parts whose making is cancelled, too. The
// parts of all engines together must prove the right answer to the checker. Winners: Müller
// 2001 for 5x5, Song and Müller 2014, table I, for the others.
func TestStress(t *testing.T) {
	boards := []struct {
		name  string
		want  eval.Verdict
		nodes int // about what is needed
	}{{"4x4", eval.Lost, 200}, {"5x4", eval.Won, 200}, {"5x5", eval.Won, 20_000}}
	rounds := *stressRounds
	if testing.Short() {
		rounds = min(rounds, 6)
	}
	for round := range rounds {
		r := rand.New(rand.NewPCG(uint64(round), 1))
		board := boards[round%len(boards)]
		p := position(t, board.name)
		start := func() *Engine {
			return engineFor(t, Config{Board: p.Board, TableBytes: dfpn.MinTableBytes << r.IntN(5), Cores: 1 +
				r.IntN(4),
				MinFactNodes: uint64(1 + r.IntN(100)), MaxFacts: 1 + r.IntN(40), MaxHints: 1 + r.IntN(2000)})
		}
		e := start()
		job := Job{State: p.State()}
		var parts []Part
		var delivered []proof.Fact
		deliver := func(ctx context.Context, facts []proof.Fact) {
			more, err := e.Prove(ctx, facts, nil)
			if err != nil {
				t.Fatal(err)
			}
			parts = append(parts, more...)
			for _, part := range more {
				delivered = append(delivered, part.Facts...)
			}
		}
		for tries := 0; ; tries++ {
			ctx, cancel := context.WithCancel(t.Context())
			job.Budget = uint64(1 + r.IntN(board.nodes))
			if tries > 40 {
				job.Budget = 0 // it must end by itself
			} else if r.IntN(2) == 0 {
				job.Budget = 0
				time.AfterFunc(time.Duration(r.IntN(20*board.nodes))*time.Microsecond, cancel)
			}
			result, err := e.Run(ctx, job, nil)
			if err != nil {
				t.Fatal(err)
			}
			job.Facts, job.Hints = nil, nil
			if r.IntN(2) == 0 { // most of what is asked then stays undone
				time.AfterFunc(time.Duration(r.IntN(2000))*time.Microsecond, cancel)
				deliver(ctx, result.Solved)
			}
			cancel()
			if result.Verdict != eval.Open {
				if result.Verdict != board.want {
					t.Fatalf("round %d: %s is %v for the first player, want %v", round, board.name, result.Verdict,
						board.want)
				}
				break
			}
			if r.IntN(4) == 0 {
				job.Hints, job.Facts = [][]byte{e.Hints()}, delivered
				e = start()
			}
		}
		root := fact(p, board.want)
		deliver(t.Context(), []proof.Fact{root})
		if !slices.ContainsFunc(delivered, func(f proof.Fact) bool { return f.Key == root.Key }) {
			t.Fatalf("round %d: %s was solved but not proved", round, board.name)
		}
		check(t, p, board.want, false, parts...)
	}
}
