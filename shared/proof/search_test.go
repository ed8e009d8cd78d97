package proof_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"testing"

	"amazonsfarm/shared/amazons"
	"amazonsfarm/shared/checker"
	"amazonsfarm/shared/eval"
	"amazonsfarm/shared/proof"
	"amazonsfarm/shared/testkit/reference"
)

// exact is a dumb searcher: it searches everything below a position and remembers all of it.
type exact struct {
	oblivious
	board  amazons.Board
	search *reference.Search
}

// newExact returns a searcher that plays to the end, or stops at what Plain decides.
func newExact(b amazons.Board, leaves bool) *exact {
	if !leaves {
		return &exact{board: b, search: reference.New(b)}
	}
	leaf := func(s amazons.State) (won, decided bool) {
		v := eval.Plain(b, s, eval.SumLeaves)
		return v == eval.Won, v != eval.Open
	}
	return &exact{board: b, search: reference.NewWithLeaves(b, leaf)}
}

func (x *exact) wins(s amazons.State) eval.Verdict {
	if x.search.Wins(s) {
		return eval.Won
	}
	return eval.Lost
}

func (x *exact) Nodes() uint64 { return uint64(x.search.Positions()) }

func (x *exact) Probe(s amazons.State) (eval.Verdict, uint64) {
	r, ok := x.search.Known(s)
	switch {
	case !ok:
		return eval.Open, 0
	case r.Won:
		return eval.Won, r.Nodes
	}
	return eval.Lost, r.Nodes
}

func (x *exact) Solve(ctx context.Context, s amazons.State) (eval.Verdict, error) {
	if err := ctx.Err(); err != nil {
		return eval.Open, err
	}
	return x.wins(s), nil
}

// oblivious remembers no move.
type oblivious struct{}

func (oblivious) Best(amazons.State) (amazons.Move, bool) { return amazons.Move{}, false }

func (oblivious) Prefetch(amazons.State) {}

// forgetful loses a part of what it knew, whenever it is asked.
type forgetful struct {
	*exact
	r    *rand.Rand
	lost float64
}

func (f forgetful) Probe(s amazons.State) (eval.Verdict, uint64) {
	if f.r.Float64() < f.lost {
		return eval.Open, 0
	}
	return f.exact.Probe(s)
}

// lying says the opposite now and then: always about the same positions, as a collision of hashes
// would.
type lying struct {
	*exact
	every uint64
}

func (l lying) Probe(s amazons.State) (eval.Verdict, uint64) {
	v, work := l.exact.Probe(s)
	if s.Hash(l.board)%l.every == 0 {
		return []eval.Verdict{eval.Lost, eval.Lost, eval.Won}[v], work
	}
	return v, work
}

// poisoned takes some lost positions for won ones, and so does its search: its table is wrong.
type poisoned struct {
	*exact
	every uint64
}

func (l poisoned) Probe(s amazons.State) (eval.Verdict, uint64) {
	if s.Hash(l.board)%l.every == 0 {
		return eval.Won, 1
	}
	return l.exact.Probe(s)
}

func (l poisoned) Solve(ctx context.Context, s amazons.State) (eval.Verdict, error) {
	if s.Hash(l.board)%l.every == 0 {
		return eval.Won, nil
	}
	return l.exact.Solve(ctx, s)
}

// silent finds nothing out.
type silent struct {
	oblivious
	err error
}

func (silent) Probe(amazons.State) (eval.Verdict, uint64) { return eval.Open, 0 }

func (s silent) Solve(context.Context, amazons.State) (eval.Verdict, error) { return eval.Open, s.err }

func position(t testing.TB, text string) amazons.Position {
	t.Helper()
	p, err := amazons.ParsePosition(text)
	if err != nil {
		t.Fatal(err)
	}
	return p
}

// dumbCheck says what is wrong with a certificate, with the rules of FORMAT.md written as plainly
// as can be.
func dumbCheck(c proof.Certificate) error {
	cited := map[proof.Citation]bool{}
	for _, q := range c.Cited {
		cited[q] = true
	}
	won := func(s amazons.State) bool {
		s, _ = s.Canonical(c.Board)
		if cited[proof.Citation{Key: s.Key(c.Board), Claim: eval.Won}] {
			return true
		}
		if eval.Plain(c.Board, s, c.Leaves) == eval.Won {
			return true
		}
		return c.Set.Has(s.Key(c.Board))
	}
	lost := func(s amazons.State) error {
		canonical, _ := s.Canonical(c.Board)
		if eval.Plain(c.Board, canonical, c.Leaves) == eval.Lost {
			return nil
		}
		if cited[proof.Citation{Key: canonical.Key(c.Board), Claim: eval.Lost}] {
			return nil
		}
		for _, m := range s.Moves(nil) {
			if !won(s.After(m)) {
				return fmt.Errorf("%v in %v", m, amazons.PositionOf(c.Board, s, amazons.White))
			}
		}
		return nil
	}
	for e := range c.Set.All() {
		s, err := e.Key.State(c.Board)
		if err != nil || s.CanonicalKey(c.Board) != e.Key || !s.Legal(e.Move) {
			return fmt.Errorf("%v: %v: bad entry", e, err)
		}
		if err := lost(s.After(e.Move)); err != nil {
			return err
		}
	}
	for _, r := range c.Roots {
		if r.Claim == eval.Won && !won(r.State) {
			return errors.New("a root is not won")
		}
		if r.Claim == eval.Lost {
			if err := lost(r.State); err != nil {
				return err
			}
		}
	}
	return nil
}

// verify writes and reads c, compares, and has it checked twice.
func verify(t testing.TB, c proof.Certificate) []byte {
	t.Helper()
	data, err := proof.Encode(c)
	if err != nil {
		t.Fatal(err)
	}
	got, err := proof.Read(bytes.NewReader(data), int64(len(data)))
	if err != nil {
		t.Fatal(err)
	}
	same(t, got, c)
	if err := dumbCheck(got); err != nil {
		t.Fatal(err)
	}
	if _, err := checker.Check(context.Background(), bytes.NewReader(data), int64(len(data)),
		checker.Options{RulesOnly: c.Leaves == eval.MoveLeaves, Part: true}); err != nil {
		t.Fatalf("the checker: %v", err)
	}
	return data
}

// same fails unless both certificates have the same content.
func same(t testing.TB, got, want proof.Certificate) {
	t.Helper()
	if got.Board != want.Board || got.Leaves != want.Leaves || fmt.Sprint(got.Roots) != fmt.Sprint(want.Roots) {
		t.Fatalf("got %v %v %v, want %v %v %v", got.Board, got.Leaves, got.Roots, want.Board, want.Leaves,
			want.Roots)
	}
	if got.Set.Len() != want.Set.Len() {
		t.Fatalf("got %d entries, want %d", got.Set.Len(), want.Set.Len())
	}
	cited := map[proof.Citation]bool{}
	for _, q := range want.Cited {
		cited[q] = true
	}
	for _, q := range got.Cited {
		if !cited[q] {
			t.Fatalf("got the citation %v", q)
		}
	}
	if len(got.Cited) != len(want.Cited) {
		t.Fatalf("got %d citations, want %d", len(got.Cited), len(want.Cited))
	}
	for e := range want.Set.All() {
		if m, ok := got.Set.Move(e.Key); !ok || m != e.Move {
			t.Fatalf("entry %v: got %v %v", e, m, ok)
		}
	}
}
