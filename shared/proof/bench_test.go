package proof_test

import (
	"bytes"
	"context"
	"os"
	"testing"

	"amazonsfarm/shared/amazons"
	"amazonsfarm/shared/checker"
	"amazonsfarm/shared/dfpn"
	"amazonsfarm/shared/eval"
	"amazonsfarm/shared/proof"
)

// solved is a board that has been solved once for all benchmarks: its name is in PROOF_BENCH_BOARD,
// 4x5 by default.
var solved struct {
	search  *dfpn.Searcher
	root    proof.Root
	board   amazons.Board
	cert    proof.Certificate
	encoded []byte
}

func solve(b *testing.B) {
	b.Helper()
	if solved.search != nil {
		return
	}
	name := os.Getenv("PROOF_BENCH_BOARD")
	if name == "" {
		name = "4x5"
	}
	p := position(b, name)
	table, err := dfpn.NewTable(1 << 30)
	if err != nil {
		b.Fatal(err)
	}
	search := dfpn.New(dfpn.Options{Board: p.Board, Table: table, Threads: 2})
	v, err := search.Solve(context.Background(), p.State())
	if err != nil || v == eval.Open {
		b.Fatal(v, err)
	}
	b.Logf("%s %v: %+v", name, v, search.Progress())
	solved.search, solved.root, solved.board = search, proof.RootOf(p, v), p.Board
	builder := proof.NewBuilder(p.Board, proof.BuilderOptions{}, search)
	if err := builder.Prove(context.Background(), p.State(), v); err != nil {
		b.Fatal(err)
	}
	solved.cert = proof.Certificate{Board: p.Board, Roots: []proof.Root{solved.root}, Set: builder.Take()}
	if solved.encoded, err = proof.Encode(solved.cert); err != nil {
		b.Fatal(err)
	}
	if _, err := checker.Check(context.Background(), bytes.NewReader(solved.encoded), int64(len(solved.encoded)),
		checker.Options{}); err != nil {
		b.Fatal(err)
	}
	b.Logf("%d entries, %d positions proved", solved.cert.Set.Len(), builder.Proved())
}

// rate reports entries per second.
func rate(b *testing.B, entries int) {
	b.ReportMetric(float64(entries)*float64(b.N)/b.Elapsed().Seconds(), "entries/s")
}

func BenchmarkProve(b *testing.B) {
	solve(b)
	n := 0
	for b.Loop() {
		builder := proof.NewBuilder(solved.board, proof.BuilderOptions{}, solved.search)
		if err := builder.Prove(context.Background(), solved.root.State, solved.root.Claim); err != nil {
			b.Fatal(err)
		}
		n = builder.Take().Len()
	}
	rate(b, n)
}

func BenchmarkWrite(b *testing.B) {
	solve(b)
	for b.Loop() {
		if _, err := proof.Encode(solved.cert); err != nil {
			b.Fatal(err)
		}
	}
	rate(b, solved.cert.Set.Len())
	b.ReportMetric(float64(len(solved.encoded))/float64(solved.cert.Set.Len()), "bytes/entry")
}

func BenchmarkRead(b *testing.B) {
	solve(b)
	for b.Loop() {
		if _, err := read(solved.encoded); err != nil {
			b.Fatal(err)
		}
	}
	rate(b, solved.cert.Set.Len())
}

func BenchmarkMerge(b *testing.B) {
	solve(b)
	half, err := read(solved.encoded)
	if err != nil {
		b.Fatal(err)
	}
	for b.Loop() {
		merge(solved.cert, half)
	}
	rate(b, 2*solved.cert.Set.Len())
}

func BenchmarkPrune(b *testing.B) {
	solve(b)
	n := 0
	for b.Loop() {
		pruned, missing, err := proof.Prune(context.Background(), solved.cert, nil)
		if err != nil || len(missing) > 0 {
			b.Fatal(missing, err)
		}
		n = pruned.Set.Len()
	}
	rate(b, solved.cert.Set.Len())
	b.ReportMetric(float64(n)/float64(solved.cert.Set.Len()), "kept")
}

func BenchmarkCheck(b *testing.B) {
	solve(b)
	for b.Loop() {
		if _, err := checker.Check(context.Background(), bytes.NewReader(solved.encoded), int64(len(solved.encoded)),
			checker.Options{}); err != nil {
			b.Fatal(err)
		}
	}
	rate(b, solved.cert.Set.Len())
}
