package checker

import (
	"bytes"
	"context"
	"math/rand/v2"
	"testing"
)

// BenchmarkCheck verifies whole certificates on one core.
func BenchmarkCheck(b *testing.B) {
	for _, c := range []struct {
		name  string
		w, h  int
		text  string
		rules int
	}{
		{"4x4Start", 4, 4, ".BB./B..B/W..W/.WW.", 3},
		{"4x4StartRulesOnly", 4, 4, ".BB./B..B/W..W/.WW.", 1},
		{"5x5After3", 5, 5, ".B.B./Bx..B/.x.x./W...W/.W.W.", 3},
	} {
		b.Run(c.name, func(b *testing.B) {
			f := newProver(c.w, c.h, c.rules).prove(root{position: fromText(c.w, c.h, c.text)}).write()
			var entries, replies int64
			b.ReportAllocs()
			for b.Loop() {
				r, err := Check(context.Background(), bytes.NewReader(f), int64(len(f)), Options{Workers: 1})
				if err != nil {
					b.Fatal(err)
				}
				entries += r.Entries
				replies += r.Replies
			}
			b.ReportMetric(float64(entries)/b.Elapsed().Seconds(), "entries/s")
			b.ReportMetric(float64(replies)/float64(entries), "replies/entry")
		})
	}
}

// BenchmarkEntries5x5 verifies single entries in the middle of a 5x5 game, all of whose replies are
// in the table of the next layer but one, among filler positions: the cost of making and looking up
// canonical replies.
func BenchmarkEntries5x5(b *testing.B) {
	v := &verifier{board: boardOf(5, 5), rules: 3}
	rng := rand.New(rand.NewPCG(1, 1))
	const filler = 4 << 20
	deeper := newTable(tableSlots(filler+(1<<20), 1<<40))
	for range filler {
		deeper.add(position{rng.Uint64()&v.full | 1, rng.Uint64() & v.full})
	}
	var entries []entry
	for len(entries) < 1000 {
		p := startPosition(5, 5)
		for p.arrows() < 7 && !v.stuck(p) {
			moves := v.allMoves(p)
			p = p.play(moves[rng.IntN(len(moves))])
		}
		p = v.canonical(p)
		if v.stuck(p) {
			continue
		}
		moves := v.allMoves(p)
		e := entry{p, moves[rng.IntN(len(moves))]}
		after := p.play(e.move)
		replies := v.allMoves(after)
		if len(replies) < 40 || len(replies) > 80 || v.losing(v.canonical(after), 2) != 0 {
			continue
		}
		for _, m := range replies {
			deeper.add(v.canonical(after.play(m)))
		}
		entries = append(entries, e)
	}
	n := 0
	v.counts = Counts{}
	b.ReportAllocs()
	for b.Loop() {
		e := entries[n%len(entries)]
		if f := v.check(e, 0, e.arrows(), deeper, nil); f != nil {
			b.Fatal(f)
		}
		n++
	}
	b.ReportMetric(float64(n)/b.Elapsed().Seconds(), "entries/s")
	b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(v.counts.Replies), "ns/reply")
}

// BenchmarkLeafRule applies the leaf rules to late positions of 6x6.
func BenchmarkLeafRule(b *testing.B) {
	rng := rand.New(rand.NewPCG(2, 2))
	bd := boardOf(6, 6)
	var late []position
	for range 1000 {
		late = append(late, bd.canonical(randomPosition(rng, 6, 6, 16)))
	}
	n := 0
	for b.Loop() {
		bd.verdict(late[n%len(late)], 3)
		n++
	}
}
