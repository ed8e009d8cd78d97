package tree

import (
	"fmt"
	"math/rand/v2"
	"runtime"
	"testing"

	"amazonsfarm/shared/amazons"
)

// grown makes a tree of the 6x6 start of at least the given number of nodes, by
// a worker with arbitrary numbers.
func grown(b *testing.B, nodes int, r *rand.Rand) (*Tree, Lease) {
	b.Helper()
	tree, err := New(Config{Board: amazons.Board{Width: 6, Height: 6}, SplitAfter: 1, InitialBudget: 1, MaxNodes: 1 << 40}, Snapshot{})
	if err != nil {
		b.Fatal(err)
	}
	l := ask(b, tree, "w")
	for len(tree.byKey) < nodes {
		l = turn(b, tree, l, r)
	}
	tree.cfg.SplitAfter = 1 << 62
	return tree, l
}

func turn(b *testing.B, tree *Tree, l Lease, r *rand.Rand) Lease {
	tree.Step(Result{Worker: "w", Lease: l.ID, Epoch: l.Epoch, Key: l.Key, Nodes: 1, Phi: 1 + r.Uint32N(100), Delta: 1 + r.Uint32N(100)})
	return take(b, tree.Step(Ready{"w"}))
}

// BenchmarkTurn is one result and the next grant, by the size of the tree.
func BenchmarkTurn(b *testing.B) {
	for _, nodes := range []int{1_000, 30_000, 1_000_000} {
		b.Run(fmt.Sprintf("6x6/nodes=%d", nodes), func(b *testing.B) {
			r := rand.New(rand.NewPCG(1, 1))
			var before, after runtime.MemStats
			runtime.GC()
			runtime.ReadMemStats(&before)
			tree, l := grown(b, nodes, r)
			runtime.GC()
			runtime.ReadMemStats(&after)
			size := float64(after.HeapAlloc-before.HeapAlloc) / float64(len(tree.byKey))
			b.ResetTimer()
			for b.Loop() {
				l = turn(b, tree, l, r)
			}
			b.ReportMetric(size, "B/node")
		})
	}
}

// BenchmarkSplit is one result after which a leaf is split, and the next grant.
func BenchmarkSplit(b *testing.B) {
	r := rand.New(rand.NewPCG(1, 1))
	tree, l := grown(b, 1000, r)
	tree.cfg.SplitAfter = 1
	before := len(tree.byKey)
	n := 0
	for b.Loop() {
		l = turn(b, tree, l, r)
		n++
	}
	b.ReportMetric(float64(len(tree.byKey)-before)/float64(n), "nodes/op")
}

// BenchmarkRestore is New from the records of a tree.
func BenchmarkRestore(b *testing.B) {
	tree, _ := grown(b, 100_000, rand.New(rand.NewPCG(1, 1)))
	var s Snapshot
	for _, n := range tree.byKey {
		s.Nodes = append(s.Nodes, n.record())
	}
	b.ResetTimer()
	for b.Loop() {
		if _, err := New(tree.cfg, s); err != nil {
			b.Fatal(err)
		}
	}
	b.ReportMetric(float64(b.N)*float64(len(s.Nodes))/b.Elapsed().Seconds(), "nodes/s")
}

// BenchmarkFarm is one turn of one of a thousand workers that all hold leases.
func BenchmarkFarm(b *testing.B) {
	r := rand.New(rand.NewPCG(1, 1))
	tree, l := grown(b, 30_000, r)
	leases := []Lease{l}
	names := []string{"w"}
	for i := range 999 {
		names = append(names, fmt.Sprint("w", i))
		leases = append(leases, ask(b, tree, names[i+1]))
	}
	i := 0
	for b.Loop() {
		l := leases[i%1000]
		tree.Step(Result{Worker: names[i%1000], Lease: l.ID, Epoch: l.Epoch, Key: l.Key, Nodes: 1, Phi: 1 + r.Uint32N(100), Delta: 1 + r.Uint32N(100)})
		leases[i%1000] = take(b, tree.Step(Ready{names[i%1000]}))
		i++
	}
}
