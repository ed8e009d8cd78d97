package proof_test

import (
	"bytes"
	"context"
	"errors"
	"math/rand/v2"
	"runtime"
	"testing"

	"amazonsfarm/shared/amazons"
	"amazonsfarm/shared/dfpn"
	"amazonsfarm/shared/eval"
	"amazonsfarm/shared/proof"
	"amazonsfarm/shared/testkit/reference"
)

// build proves s with its true verdict and returns the certificate.
func build(t testing.TB, b amazons.Board, s amazons.State, claim eval.Verdict, search proof.Searcher,
	leaves eval.Leaves) proof.Certificate {
	t.Helper()
	builder := proof.NewBuilder(b, proof.BuilderOptions{Leaves: leaves}, search)
	if err := builder.Prove(context.Background(), s, claim); err != nil {
		t.Fatal(err)
	}
	c := proof.Certificate{Board: b, Leaves: leaves, Roots: []proof.Root{{State: s, Claim: claim}},
		Set: builder.Take()}
	if builder.Proved() < c.Set.Len() || builder.Take().Len() != 0 {
		t.Fatalf("%d positions proved, but %d entries", builder.Proved(), c.Set.Len())
	}
	return c
}

// counted counts the searches that a builder asks for.
type counted struct {
	proof.Searcher
	n int
}

func (c *counted) Solve(ctx context.Context, s amazons.State) (eval.Verdict, error) {
	c.n++
	return c.Searcher.Solve(ctx, s)
}

// TestBuilder proves random late positions, won and lost ones, from searchers of all kinds.
// Whatever the searcher does, the result is a valid certificate.
func TestBuilder(t *testing.T) {
	if testing.Short() {
		t.Skip("one goroutine: nothing for the race detector to find")
	}
	r := rand.New(rand.NewPCG(5, 6))
	entries, researches, games := 0, 0, [3]int{}
	for i := range 240 {
		b := amazons.Board{Width: uint8(3 + r.IntN(4)), Height: uint8(3 + r.IntN(3))}
		s := reference.Scattered(r, b, 1+r.IntN(3), 1+r.IntN(3), 5+r.IntN(4))
		leaves := eval.Leaves(i % 4)
		x := newExact(b, i%2 == 0)
		v := x.wins(s)
		games[v]++
		for kind, search := range []proof.Searcher{
			x,
			forgetful{x, r, 0.5},
			forgetful{x, r, 1},
			lying{x, 2},
			lying{x, 1},
			newExact(b, true), // knows nothing yet
			poisoned{x, 10},
		} {
			asked := &counted{Searcher: search}
			c := build(t, b, s, v, asked, leaves)
			verify(t, c)
			entries += c.Set.Len()
			researches += asked.n
			if kind == 0 && leaves != eval.MoveLeaves && i%2 == 0 && asked.n != 0 {
				t.Errorf("%d searches where all was known", asked.n)
			}
			if kind == 6 {
				continue // it may find no disproof
			}
			err := proof.NewBuilder(b, proof.BuilderOptions{Leaves: leaves}, search).Prove(context.Background(),
				s, v.Other())
			if !errors.Is(err, proof.ErrNotProved) {
				t.Fatalf("the opposite of the truth: %v", err)
			}
		}
	}
	t.Logf("%d entries, %d searches, %d won, %d lost", entries, researches, games[eval.Won], games[eval.Lost])
	if entries < 10000 || researches < 1000 || games[eval.Won] < 20 || games[eval.Lost] < 20 {
		t.Error("the test tests too little")
	}
}

// TestBuilderSmallBoards proves whole small games, with two and more queens a side.
func TestBuilderSmallBoards(t *testing.T) {
	for _, c := range []struct {
		position  string
		want      eval.Verdict
		rulesOnly bool
	}{
		{"B.B/.../W.W w", eval.Open, true},
		{"B..B/..x./W.../.W.. w", eval.Open, false},
		{"BBx./..../.x../..WW b", eval.Open, false},
		{"B.BB/...x/WW.. w", eval.Open, true},
		{"BBB./...W/.... b", eval.Open, false},
		{"4x4", eval.Lost, false}, // the paper's table I, and exhaustive search
	} {
		p := position(t, c.position)
		x := newExact(p.Board, true)
		v := x.wins(p.State())
		if c.want != eval.Open && v != c.want {
			t.Fatalf("%s: %v, want %v", c.position, v, c.want)
		}
		cert := build(t, p.Board, p.State(), v, x, eval.LeavesOf(c.rulesOnly))
		cert.Roots[0] = proof.RootOf(p, v)
		data := verify(t, cert)
		pruned, missing, err := proof.Prune(context.Background(), cert, nil)
		if err != nil || len(missing) > 0 || pruned.Set.Len() > cert.Set.Len() {
			t.Fatalf("%s: prune: %d of %d entries, missing %v, %v", c.position, pruned.Set.Len(), cert.Set.Len(),
				missing,
				err)
		}
		t.Logf("%s %v: %d nodes, %d entries, %d bytes, %d after pruning", c.position, v, x.Nodes(), cert.Set.Len(),
			len(data), pruned.Set.Len())
		cert.Set = pruned.Set
		verify(t, cert)
	}
}

// TestBuilderSearch takes a proof from the df-pn search with a table that is far too small for it.
func TestBuilderSearch(t *testing.T) {
	p := position(t, "5x5")
	table, err := dfpn.NewTable(1 << 20)
	if err != nil {
		t.Fatal(err)
	}
	defer table.Close()
	search := dfpn.New(dfpn.Options{Board: p.Board, Table: table})
	v, err := search.Solve(context.Background(), p.State())
	if err != nil || v != eval.Won { // Müller 2001
		t.Fatal(v, err)
	}
	c := build(t, p.Board, p.State(), v, search, eval.SumLeaves)
	data := verify(t, c)
	t.Logf("%d entries, %d bytes", c.Set.Len(), len(data))
}

// TestBuilderParallel extracts proofs with several goroutines, from a table that is large enough
// and from one that is not.
func TestBuilderParallel(t *testing.T) {
	for _, c := range []struct {
		board string
		table int64
		won   bool // Müller 2001
	}{{"4x4", 1 << 20, false}, {"5x5", 1 << 24, true}, {"5x5", 1 << 20, true}, {"5x4", 1 << 20, true}} {
		for _, goroutines := range []int{2, 5} {
			p := position(t, c.board)
			table, err := dfpn.NewTable(c.table)
			if err != nil {
				t.Fatal(err)
			}
			search := dfpn.New(dfpn.Options{Board: p.Board, Table: table, Threads: 2})
			v, err := search.Solve(context.Background(), p.State())
			if err != nil || (v == eval.Won) != c.won {
				t.Fatal(c.board, v, err)
			}
			var witnesses []*dfpn.Witness
			for range goroutines {
				w, err := dfpn.NewWitness(search)
				if err != nil {
					t.Fatal(err)
				}
				witnesses = append(witnesses, w)
			}
			builder := proof.NewBuilder(p.Board, proof.BuilderOptions{}, witnesses...)
			if c.board == "4x4" {
				if err := builder.Prove(context.Background(), p.State(), v.Other()); !errors.Is(err,
					proof.ErrNotProved) {
					t.Errorf("%s: the false claim gave %v", c.board, err)
				}
			}
			canceled, cancel := context.WithCancel(context.Background())
			cancel()
			if err := builder.Prove(canceled, p.State(), v); !errors.Is(err, context.Canceled) {
				t.Errorf("%s: with a context that has ended: %v", c.board, err)
			}
			if err := builder.Prove(context.Background(), p.State(), v); err != nil {
				t.Fatal(c.board, err)
			}
			set := builder.Take()
			if builder.Proved() <= set.Len() {
				t.Errorf("%s: %d entries, %d proved", c.board, set.Len(), builder.Proved())
			}
			verify(t, proof.Certificate{Board: p.Board, Roots: []proof.Root{proof.RootOf(p, v)}, Set: set})
			for _, w := range witnesses {
				if err := w.Close(); err != nil {
					t.Error(err)
				}
			}
			if err := table.Close(); err != nil {
				t.Error(err)
			}
		}
	}
}

// TestPartsOfWorkers proves some positions of a game one after the other, as workers do, and puts the
// parts together.
func TestPartsOfWorkers(t *testing.T) {
	p := position(t, "4x4")
	b := p.Board
	x := newExact(b, true)
	v := x.wins(p.State())
	facts := make(map[amazons.Key]eval.Verdict)
	options := proof.BuilderOptions{Known: func(k amazons.Key) eval.Verdict { return facts[k] }}
	var parts []proof.Certificate
	add := func(builder *proof.Builder, p amazons.Position, claim eval.Verdict) {
		t.Helper()
		if err := builder.Prove(context.Background(), p.State(), claim); err != nil {
			t.Fatal(err)
		}
		facts[p.State().CanonicalKey(b)] = claim
		c := proof.Certificate{Board: b, Roots: []proof.Root{proof.RootOf(p, claim)}, Set: builder.Take()}
		data, err := proof.Encode(c)
		if err != nil {
			t.Fatal(err)
		}
		if c, err = proof.Read(bytes.NewReader(data), int64(len(data))); err != nil {
			t.Fatal(err)
		}
		parts = append(parts, c)
	}
	// Two builders work at every fifth position after one and two moves in turn; the root comes last.
	builders := []*proof.Builder{proof.NewBuilder(b, options, x),
		proof.NewBuilder(b, options, forgetful{x, rand.New(rand.NewPCG(1, 1)), 0.3})}
	for i, m := range p.State().Moves(nil) {
		if i%5 != 0 {
			continue
		}
		after := p.After(m)
		for j, m := range after.State().Moves(nil) {
			if j%5 == 0 {
				q := after.After(m)
				add(builders[j/5%2], q, x.wins(q.State()))
			}
		}
		add(builders[i/5%2], after, x.wins(after.State()))
	}
	add(proof.NewBuilder(b, options, x), p, v)

	last := parts[len(parts)-1]
	_, missing, err := proof.Prune(context.Background(), last, nil)
	if err != nil || len(missing) == 0 {
		t.Fatalf("the last part alone lacks nothing: the test tests nothing (%v)", err)
	}
	replies := make(map[amazons.Key]bool) // to positions that the facts call lost
	for k, claim := range facts {
		if s, _ := k.State(b); claim == eval.Lost {
			for _, m := range s.Moves(nil) {
				replies[s.After(m).CanonicalKey(b)] = true
			}
		}
	}
	for _, k := range missing {
		if facts[k] != eval.Won && !replies[k] {
			t.Errorf("missing %v is not owed to a fact", k)
		}
	}
	all := merge(parts...)
	if len(all.Roots) != len(parts) {
		t.Errorf("%d roots of %d parts", len(all.Roots), len(parts))
	}
	verify(t, all)
	all.Roots = last.Roots
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(3))
	pruned, missing, err := proof.Prune(context.Background(), all, nil)
	if err != nil || len(missing) > 0 {
		t.Fatalf("missing %v, %v", missing, err)
	}
	t.Logf("%d parts, %d entries together, %d needed", len(parts), all.Set.Len(), pruned.Set.Len())
	if pruned.Set.Len() >= all.Set.Len() {
		t.Error("pruning took nothing away")
	}
	all.Set = pruned.Set
	verify(t, all)

	// Without any one of the entries something is missing.
	n := 0
	for gone := range pruned.Set.All() {
		if n++; n%97 != 0 {
			continue
		}
		less := new(proof.Set)
		for e := range pruned.Set.All() {
			if e != gone {
				less.Add(e)
			}
		}
		_, missing, err := proof.Prune(context.Background(), proof.Certificate{Board: b, Roots: all.Roots, Set: less},
			nil)
		if err != nil || len(missing) != 1 || missing[0] != gone.Key {
			t.Fatalf("without %v: missing %v, %v", gone, missing, err)
		}
	}
}

// TestBuilderErrors asks for what cannot be had.
func TestBuilderErrors(t *testing.T) {
	ctx := context.Background()
	p := position(t, "4x4")
	b, s := p.Board, p.State()
	x := newExact(b, true)
	v := x.wins(s)

	broken := errors.New("broken")
	for _, c := range []struct {
		name   string
		search proof.Searcher
		want   []error
	}{
		{"open", silent{}, []error{proof.ErrUnsolved}},
		{"error", silent{err: broken}, []error{proof.ErrUnsolved, broken}},
	} {
		builder := proof.NewBuilder(b, proof.BuilderOptions{}, c.search)
		for _, claim := range []eval.Verdict{eval.Won, eval.Lost} {
			err := builder.Prove(ctx, s, claim)
			for _, want := range c.want {
				if !errors.Is(err, want) {
					t.Errorf("%s: %v, want %v", c.name, err, want)
				}
			}
			t.Log(err)
		}
	}
	builder := proof.NewBuilder(b, proof.BuilderOptions{}, x)
	if err := builder.Prove(ctx, s, eval.Open); !errors.Is(err, proof.ErrNotProved) {
		t.Errorf("claim open: %v", err)
	}
	cancelled, cancel := context.WithCancel(ctx)
	cancel()
	if err := builder.Prove(cancelled, s, v); !errors.Is(err, context.Canceled) {
		t.Errorf("cancelled: %v", err)
	}
	err := builder.Prove(ctx, s, v.Other())
	if !errors.Is(err, proof.ErrNotProved) {
		t.Errorf("a false claim: %v", err)
	}
	t.Log(err)
	// After all that the truth can still be proved, and what was found on the way is no harm.
	if err := builder.Prove(ctx, s, v); err != nil {
		t.Error(err)
	}
	verify(t, proof.Certificate{Board: b, Roots: []proof.Root{proof.RootOf(p, v)}, Set: builder.Take()})
	if n := builder.Take().Len(); n != 0 {
		t.Errorf("%d entries taken twice", n)
	}

	full := proof.NewBuilder(b, proof.BuilderOptions{MaxEntries: 10}, x)
	if err := full.Prove(ctx, s, v); !errors.Is(err, proof.ErrFull) {
		t.Errorf("full: %v", err)
	}
	if n := full.Proved(); n > 10 || n == 0 {
		t.Errorf("%d positions where 10 are allowed", n)
	}
}

// merge unites certificates for one board, with the roots of all.
func merge(certs ...proof.Certificate) proof.Certificate {
	out := proof.Certificate{Board: certs[0].Board, Leaves: eval.MoveLeaves, Set: new(proof.Set)}
	for _, c := range certs {
		out.Roots = append(out.Roots, c.Roots...)
		out.Leaves = min(out.Leaves, c.Leaves)
		out.Set.Merge(c.Set)
	}
	return out
}
