package tree

import (
	"fmt"
	"math/rand/v2"
	"runtime"
	"testing"

	"amazonsfarm/shared/numbers"
)

// grown makes a tree of the 6x6 start of at least the given number of nodes, by
// a worker with arbitrary numbers.
func grown(b testing.TB, nodes int, r *rand.Rand) (*Tree, Lease) {
	b.Helper()
	tree, err := New(Config{Root: start(b, 6, 6), SplitAfter: 1, InitialBudget: 1,
		MaxPositions: 1<<32 - 1}, Snapshot{})
	if err != nil {
		b.Fatal(err)
	}
	l := ask(b, tree, "w")
	for tree.graph.Len() < nodes {
		l = turn(b, tree, l, r)
	}
	tree.cfg.SplitAfter = 1 << 62
	return tree, l
}

func turn(b testing.TB, tree *Tree, l Lease, r *rand.Rand) Lease {
	tree.Step(Result{Worker: "w", Lease: l.ID, Epoch: l.Epoch, Key: l.Key, Nodes: 1, Phi: 1 + r.Uint32N(100), Delta: 1 +
		r.Uint32N(100)})
	return take(b, tree.Step(Ready{"w"}))
}

// TestTurnAllocations: what a result and the next grant allocate is a handful of small things,
// whatever the size of the tree.
func TestTurnAllocations(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 1))
	tree, l := grown(t, 10_000, r)
	if n := testing.AllocsPerRun(1000, func() { l = turn(t, tree, l, r) }); n > 12 {
		t.Errorf("%.1f allocations for a result and a grant, want at most 12", n)
	}
}

// BenchmarkTurn is one result and the next grant, by the size of the tree.
func BenchmarkTurn(b *testing.B) {
	for _, nodes := range []int{10_000, 100_000, 1_000_000} {
		b.Run(fmt.Sprintf("6x6/nodes=%d", nodes), func(b *testing.B) {
			r := rand.New(rand.NewPCG(1, 1))
			var before, after runtime.MemStats
			runtime.GC()
			runtime.ReadMemStats(&before)
			tree, l := grown(b, nodes, r)
			runtime.GC()
			runtime.ReadMemStats(&after)
			size := float64(after.HeapAlloc-before.HeapAlloc) / float64(tree.graph.Len())
			b.ReportAllocs()
			for b.Loop() {
				l = turn(b, tree, l, r)
			}
			b.ReportMetric(size, "B/node")
		})
	}
}

// BenchmarkSplit is one result after which a leaf is split, with numbers for each position after
// it, and the next grant, by the size of the tree, which grows in its breadth: 2,000 workers hold
// leases, and no number is much smaller than all others.
func BenchmarkSplit(b *testing.B) {
	for _, nodes := range []int{10_000, 1_000_000, 4_000_000} {
		b.Run(fmt.Sprintf("6x6/nodes=%d", nodes), func(b *testing.B) {
			r := rand.New(rand.NewPCG(1, 1))
			number := func() uint32 { return 1000 + uint32(1000*r.ExpFloat64()) }
			tree, err := New(Config{Root: start(b, 6, 6), SplitAfter: 1, InitialBudget: 1,
				MaxPositions: 1<<32 - 1}, Snapshot{})
			if err != nil {
				b.Fatal(err)
			}
			const workers = 2000
			for i := range workers {
				name := fmt.Sprint("w", i)
				tree.Step(Joined{Worker: name, Slots: 1})
				tree.Step(Ready{name})
			}
			turn, searched := 0, 0
			step := func() {
				name := fmt.Sprint("w", turn%workers)
				turn++
				w := tree.workers[name]
				if len(w.leases) == 0 {
					return // it waits for one
				}
				l := w.leases[0]
				state, err := l.node.Key.State(tree.cfg.Root.Board)
				if err != nil {
					b.Fatal(err)
				}
				var list []numbers.Child
				for _, m := range state.Moves(nil) {
					list = append(list, numbers.Child{Key: state.After(m).CanonicalKey(tree.cfg.Root.Board),
						Phi:   number(),
						Delta: number()})
				}
				result := Result{Worker: name, Lease: l.id, Epoch: tree.epoch, Key: l.node.Key, Nodes: 1, Phi: number(),
					Delta: number(), Children: numbers.Append(nil, list)}
				b.StartTimer()
				tree.Step(result)
				tree.Step(Ready{name})
				b.StopTimer()
				searched++
			}
			b.StopTimer()
			for tree.graph.Len() < nodes {
				step()
			}
			before, begun := tree.graph.Len(), searched
			b.ResetTimer()
			b.StopTimer()
			for range b.N {
				step()
			}
			b.ReportMetric(float64(tree.graph.Len()-before)/float64(searched-begun), "nodes/op")
			b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(tree.graph.Len()-before), "ns/node")
		})
	}
}

// BenchmarkRestore is New from the records of a tree.
func BenchmarkRestore(b *testing.B) {
	tree, _ := grown(b, 100_000, rand.New(rand.NewPCG(1, 1)))
	var s Snapshot
	for n := range tree.graph.All() {
		s.Nodes = append(s.Nodes, tree.graph.RecordOf(n))
	}
	b.ResetTimer()
	for b.Loop() {
		if _, err := New(tree.cfg, s); err != nil {
			b.Fatal(err)
		}
	}
	b.ReportMetric(float64(b.N)*float64(len(s.Nodes))/b.Elapsed().Seconds(), "nodes/s")
}

// BenchmarkFarm is one turn of one of thousands of workers that all hold leases, by the size of the
// tree. One result in eight splits its position.
func BenchmarkFarm(b *testing.B) {
	for _, nodes := range []int{10_000, 1_000_000} {
		b.Run(fmt.Sprintf("6x6/nodes=%d", nodes), func(b *testing.B) {
			const workers = 5000
			r := rand.New(rand.NewPCG(1, 1))
			tree, l := grown(b, nodes, r)
			leases, names := []Lease{l}, []string{"w"}
			for i := range workers - 1 {
				names = append(names, fmt.Sprint("w", i))
				leases = append(leases, ask(b, tree, names[i+1]))
			}
			before, i := tree.graph.Len(), 0
			b.ReportAllocs()
			for b.Loop() {
				w, l := names[i%workers], leases[i%workers]
				tree.cfg.SplitAfter = 1 << 62
				if i%8 == 0 {
					tree.cfg.SplitAfter = 1
				}
				tree.Step(Result{Worker: w, Lease: l.ID, Epoch: l.Epoch, Key: l.Key, Nodes: 1, Phi: 1 +
					r.Uint32N(100), Delta: 1 + r.Uint32N(100)})
				leases[i%workers] = take(b, tree.Step(Ready{w}))
				i++
			}
			b.ReportMetric(float64(tree.graph.Len()-before)/float64(i), "nodes/op")
		})
	}
}

// BenchmarkExplore is the root of a large tree: it must not cost more than a fixed number of looks.
// It also asks for the status.
func BenchmarkExplore(b *testing.B) {
	for _, nodes := range []int{1_000_000, 5_000_000} {
		b.Run(fmt.Sprintf("6x6/nodes=%d", nodes), func(b *testing.B) {
			tree, _ := grown(b, nodes, rand.New(rand.NewPCG(1, 1)))
			s := tree.cfg.Root.State()
			for b.Loop() {
				if at, moves := tree.Explore(s); !at.AtLeast || len(moves) == 0 {
					b.Fatalf("explored %+v and %d moves", at, len(moves))
				}
				if tree.Status().Nodes < nodes {
					b.Fatal("the tree is too small")
				}
			}
		})
	}
}
