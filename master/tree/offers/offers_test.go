package offers

import (
	"math/rand/v2"
	"slices"
	"testing"

	"amazonsfarm/master/tree/reach"
	"amazonsfarm/shared/amazons"
	"amazonsfarm/shared/proof"
)

// TestList compares a list with a sorted slice: what stays depends on the facts alone.
func TestList(t *testing.T) {
	r := rand.New(rand.NewPCG(3, 4))
	for _, size := range []int{1, 10, 500, 1300} {
		l := New(amazons.Board{Width: 4, Height: 4}, size)
		var all, kept []proof.Fact
		for i := range 2000 {
			f := proof.Fact{Key: amazons.Key{A: uint64(i), B: uint64(i)}, Nodes: 1 + r.Uint64N(3000)}
			all = append(all, f)
			l.Add(f)
		}
		slices.SortFunc(all, compare)
		for _, e := range l.slots {
			kept = append(kept, e.fact)
		}
		slices.SortFunc(kept, compare)
		if err := l.Audit(); err != nil || !slices.Equal(kept, all[:size]) || l.Len() != size {
			t.Errorf("size %d: %d facts, which are not those with most nodes: %v", size, len(kept), err)
		}
	}
}

// TestPick has workers ask a full list for what lies below positions of random games, and holds the answers against a
// plain search of all facts.
func TestPick(t *testing.T) {
	r := rand.New(rand.NewPCG(5, 6))
	start, err := amazons.ParsePosition("4x5")
	if err != nil {
		t.Fatal(err)
	}
	b := start.Board
	const size, limit = 300, 7
	l := New(b, size)
	workers := make([]Known, 3)
	told := make([]map[amazons.Key]bool, len(workers))
	for w := range told {
		told[w] = map[amazons.Key]bool{}
	}
	var fresh []proof.Fact
	// plain returns what a worker is to get of some facts, in their order.
	plain := func(w int, k amazons.Key, facts []proof.Fact) (out []proof.Fact) {
		below := reach.Below(b, k)
		for _, f := range facts {
			if e := l.byKey[f.Key]; e == nil || e.fact != f || told[w][f.Key] || f.Key == k || !below.Has(f.Key) {
				continue
			}
			if out = append(out, f); len(out) == limit {
				break
			}
		}
		return out
	}
	got := 0
	for turn := range 3000 {
		var way []amazons.Key
		for s := start.State(); ; {
			moves := s.Moves(nil)
			if len(moves) == 0 {
				break
			}
			s = s.After(moves[r.IntN(len(moves))])
			way = append(way, s.CanonicalKey(b))
		}
		for _, k := range way[r.IntN(len(way)):] {
			if l.byKey[k] == nil {
				f := proof.Fact{Key: k, Nodes: 1 + r.Uint64N(100), Verdict: 1}
				l.Add(f)
				fresh = append(fresh, f)
				for w := range told {
					delete(told[w], k) // it may have been on the list before
				}
			}
		}
		w, k := r.IntN(len(workers)), way[r.IntN(min(len(way), 3))]
		if turn%2 == 0 {
			k = start.State().CanonicalKey(b)
		}
		var all []proof.Fact
		for _, e := range l.slots {
			all = append(all, e.fact)
		}
		want, have := plain(w, k, all), []proof.Fact(nil)
		if turn%3 == 0 {
			want, have = plain(w, k, fresh), l.Fresh(nil, &workers[w], k, limit)
			l.Settle()
			fresh = nil
		} else {
			have = l.Pick(&workers[w], k, limit)
		}
		if err := l.Audit(); err != nil || !slices.Equal(have, want) {
			t.Fatalf("turn %d: got %v, want %v; %v", turn, have, want, err)
		}
		for _, f := range have {
			told[w][f.Key] = true
		}
		got += len(have)
	}
	if got < 1000 {
		t.Errorf("only %d facts were handed out", got)
	}
}

// BenchmarkPick is the question of one of 500 workers, which know all of a full list, or nothing.
func BenchmarkPick(b *testing.B) {
	r := rand.New(rand.NewPCG(5, 6))
	start, err := amazons.ParsePosition("6x6")
	if err != nil {
		b.Fatal(err)
	}
	const size = 16_384
	l := New(start.Board, size)
	var leases []amazons.Key
	for l.Len() < size {
		s := start.State()
		for ply := range 24 {
			moves := s.Moves(nil)
			if len(moves) == 0 {
				break
			}
			s = s.After(moves[r.IntN(len(moves))])
			k := s.CanonicalKey(start.Board)
			switch {
			case ply == 1:
				leases = append(leases, k)
			case ply > 12 && l.byKey[k] == nil:
				l.Add(proof.Fact{Key: k, Nodes: 1000 + r.Uint64N(100_000), Verdict: 1})
			}
		}
	}
	workers := make([]Known, 500)
	for i := range workers {
		l.Pick(&workers[i], start.State().CanonicalKey(start.Board), size)
	}
	b.Run("knows=all", func(b *testing.B) {
		for i := 0; b.Loop(); i++ {
			l.Pick(&workers[i%len(workers)], leases[i%len(leases)], 4096)
		}
	})
	b.Run("knows=nothing", func(b *testing.B) {
		for i := 0; b.Loop(); i++ {
			w := &workers[i%len(workers)]
			clear(*w)
			l.Pick(w, leases[i%len(leases)], 4096)
		}
	})
}
