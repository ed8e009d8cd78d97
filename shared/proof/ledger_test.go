package proof_test

import (
	"context"
	"errors"
	"math/rand/v2"
	"testing"

	"amazonsfarm/shared/dfpn"
	"amazonsfarm/shared/eval"
	"amazonsfarm/shared/proof"
)

// TestLedger gives a ledger the fragments of a real proof in order, and false ones between them.
func TestLedger(t *testing.T) {
	p := position(t, "4x4")
	b := p.Board
	table, err := dfpn.NewTable(1 << 22)
	if err != nil {
		t.Fatal(err)
	}
	defer table.Close()
	search, err := dfpn.New(dfpn.Options{Board: b, Table: table})
	if err != nil {
		t.Fatal(err)
	}
	if v, err := search.Solve(context.Background(), p.State()); err != nil || v != eval.Lost { // DESIGN, section 6
		t.Fatal(v, err)
	}
	builder := proof.NewBuilder(b, search, proof.BuilderOptions{})
	ledger := proof.NewLedger(b, eval.SumLeaves, 0)
	ctx := context.Background()
	r := rand.New(rand.NewPCG(4, 4))
	all, refused := 0, 0
	for _, m := range p.State().Moves(nil) {
		s := p.State().After(m)
		if err := builder.Prove(ctx, s, eval.Won); err != nil {
			t.Fatal(err)
		}
		c := proof.Certificate{Board: b, Roots: []proof.Root{{State: s, ToMove: p.ToMove.Other(), Claim: eval.Won}},
			Set: builder.Take()}
		all += c.Set.Len()

		// False fragments: the wrong claim, an entry less, an entry with another move.
		wrong := c
		wrong.Roots = []proof.Root{{State: s, ToMove: p.ToMove.Other(), Claim: eval.Lost}}
		if err := ledger.Verify(ctx, wrong, 2); !errors.Is(err, proof.ErrNotProved) {
			t.Errorf("the false claim after %v: %v", m, err)
		}
		if n := c.Set.Len(); n > 0 {
			drop, at := r.IntN(n), 0
			less, other := new(proof.Set), new(proof.Set)
			for e := range c.Set.All() {
				if at != drop {
					less.Add(e)
					other.Add(e)
				} else {
					st, err := e.Key.State(b)
					if err != nil {
						t.Fatal(err)
					}
					moves := st.Moves(nil)
					e.Move = moves[r.IntN(len(moves))]
					other.Add(e)
				}
				at++
			}
			for _, set := range []*proof.Set{less, other} {
				bad := c
				bad.Set = set
				err := ledger.Verify(ctx, bad, 1)
				if err == nil {
					continue // nothing needs the entry, or the other move wins too; the checker below decides
				}
				refused++
				if !errors.Is(err, proof.ErrNotProved) {
					t.Errorf("a false fragment: %v", err)
				}
			}
		}
		if err := ledger.Verify(ctx, c, 2); err != nil {
			t.Fatalf("after %v: %v", m, err)
		}
		if err := ledger.Remember(c); err != nil {
			t.Fatal(err)
		}
		if err := ledger.Verify(ctx, proof.Certificate{Board: b, Roots: c.Roots}, 1); err != nil {
			t.Errorf("what is remembered is not known: %v", err)
		}
	}
	root := proof.Certificate{Board: b, Roots: []proof.Root{proof.RootOf(p, eval.Lost)}}
	if err := ledger.Verify(ctx, root, 1); err != nil {
		t.Errorf("the root does not follow: %v", err)
	}
	if err := proof.NewLedger(b, eval.SumLeaves, 0).Verify(ctx, root, 1); !errors.Is(err, proof.ErrNotProved) {
		t.Errorf("an empty ledger takes the root: %v", err)
	}
	if refused < 20 {
		t.Errorf("only %d false fragments were refused", refused)
	}
	t.Logf("%d entries, %d remembered, %d false fragments refused", all, ledger.Positions(), refused)

	// Limits.
	small := proof.NewLedger(b, eval.SumLeaves, 10)
	full := proof.Certificate{Board: b, Roots: []proof.Root{proof.RootOf(p, eval.Lost)}, Set: new(proof.Set)}
	again := proof.NewBuilder(b, search, proof.BuilderOptions{})
	if err := again.Prove(ctx, p.State(), eval.Lost); err != nil {
		t.Fatal(err)
	}
	full.Set = again.Take()
	if err := small.Verify(ctx, full, 2); err != nil {
		t.Fatal(err)
	}
	if err := small.Remember(full); !errors.Is(err, proof.ErrLedgerFull) || small.Positions() != 10 {
		t.Errorf("a ledger for 10 positions has %d: %v", small.Positions(), err)
	}
	canceled, cancel := context.WithCancel(ctx)
	cancel()
	if err := small.Verify(canceled, full, 2); !errors.Is(err, context.Canceled) {
		t.Errorf("with a context that has ended: %v", err)
	}
	other := position(t, "4x5")
	if err := ledger.Verify(ctx, proof.Certificate{Board: other.Board,
		Roots: []proof.Root{proof.RootOf(other, eval.Won)}}, 1); !errors.Is(err, proof.ErrInvalid) {
		t.Errorf("another board: %v", err)
	}
}
