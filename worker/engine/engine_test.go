package engine

import (
	"bytes"
	"context"
	"crypto/sha256"
	"errors"
	"runtime"
	"slices"
	"testing"
	"time"

	"amazonsfarm/shared/amazons"
	"amazonsfarm/shared/checker"
	"amazonsfarm/shared/dfpn"
	"amazonsfarm/shared/eval"
	"amazonsfarm/shared/proof"

	"go.uber.org/goleak"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func position(t *testing.T, text string) amazons.Position {
	t.Helper()
	p, err := amazons.ParsePosition(text)
	if err != nil {
		t.Fatal(err)
	}
	return p
}

func engineFor(t *testing.T, c Config) *Engine {
	t.Helper()
	if c.TableBytes == 0 {
		c.TableBytes = 16 << 20
	}
	e, err := New(c)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := e.Close(); err != nil {
			t.Error(err)
		}
	})
	return e
}

func fact(p amazons.Position, v eval.Verdict) proof.Fact {
	return proof.Fact{Key: p.State().CanonicalKey(p.Board), Verdict: v, Nodes: 1}
}

// check unites fragments and has the checker verify that they prove the claim about p.
func check(t *testing.T, p amazons.Position, claim eval.Verdict, rulesOnly bool, fragments ...Fragment) {
	t.Helper()
	var parts []proof.Certificate
	for _, f := range fragments {
		if len(f.Facts) == 0 {
			continue
		}
		if f.SHA256 != sha256.Sum256(f.Data) {
			t.Error("a fragment's hash is wrong")
		}
		part, err := proof.Read(bytes.NewReader(f.Data), int64(len(f.Data)))
		if err != nil {
			t.Fatal(err)
		}
		if part.Set.Len() != f.Entries || len(part.Roots) != len(f.Facts) {
			t.Errorf("a fragment of %d entries and %d roots says %d and %d", part.Set.Len(), len(part.Roots), f.Entries,
				len(f.Facts))
		}
		parts = append(parts, part)
	}
	whole := proof.Certificate{Board: p.Board, Leaves: eval.MoveLeaves, Roots: []proof.Root{proof.RootOf(p, claim)},
		Set: new(proof.Set)}
	for _, part := range parts {
		whole.Leaves = min(whole.Leaves, part.Leaves)
		whole.Set.Merge(part.Set)
	}
	data, err := proof.Encode(whole)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := checker.Check(t.Context(), bytes.NewReader(data), int64(len(data)),
		checker.Options{RulesOnly: rulesOnly}); err != nil {
		t.Error(err)
	}
}

func TestSolve(t *testing.T) {
	// 4x4 is lost for the first player (Song and Müller 2014, table I).
	p := position(t, "4x4")
	for _, rulesOnly := range []bool{false, true} {
		for _, cores := range []int{1, 2} {
			e := engineFor(t, Config{Board: p.Board, Cores: cores, RulesOnly: rulesOnly})
			r, err := e.Run(t.Context(), Job{State: p.State()}, nil)
			if err != nil || r.Verdict != eval.Lost || r.Nodes == 0 || r.Evaluations == 0 {
				t.Fatalf("%+v, %v", r, err)
			}
			f, err := e.Fragment(t.Context(), []proof.Fact{fact(p, r.Verdict)}, nil)
			if err != nil || len(f.Facts) != 1 {
				t.Fatalf("%+v, %v", f.Facts, err)
			}
			check(t, p, eval.Lost, rulesOnly, f)
			again, err := e.Fragment(t.Context(), []proof.Fact{fact(p, r.Verdict)}, nil)
			if err != nil || len(again.Facts) != 0 {
				t.Errorf("delivered twice: %v, %v", again.Facts, err)
			}
			e.Forget()
			again, err = e.Fragment(t.Context(), []proof.Fact{fact(p, r.Verdict)}, nil)
			if err != nil || len(again.Facts) != 1 {
				t.Errorf("%v, %v", again.Facts, err)
			}
			check(t, p, eval.Lost, rulesOnly, again)
		}
	}
}

// A job in many small budgets, with a fragment after each: together they prove the position, and no
// entry comes twice.
func TestFragmentsAddUp(t *testing.T) {
	p := position(t, "4x6")
	e := engineFor(t, Config{Board: p.Board, Cores: 1, MinFactNodes: 20})
	var fragments []Fragment
	entries, facts := 0, 0
	for range 10_000 {
		r, err := e.Run(t.Context(), Job{State: p.State(), Budget: 2000}, nil)
		if err != nil {
			t.Fatal(err)
		}
		solved := r.Solved
		if r.Verdict != eval.Open {
			solved = []proof.Fact{fact(p, r.Verdict)}
		} else if len(r.Children) == 0 || r.Phi == 0 || r.Delta == 0 {
			t.Fatalf("%+v", r)
		}
		if !slices.IsSortedFunc(r.Solved, func(a, b proof.Fact) int { return int(b.Nodes) - int(a.Nodes) }) {
			t.Errorf("not sorted by work: %v", r.Solved)
		}
		f, err := e.Fragment(t.Context(), solved, nil)
		if err != nil {
			t.Fatal(err)
		}
		fragments = append(fragments, f)
		entries += f.Entries
		facts += len(f.Facts)
		if r.Verdict != eval.Open {
			check(t, p, r.Verdict, false, fragments...)
			if st := e.builder.Stats(); st.Entries != entries {
				t.Errorf("%d entries delivered of %d", entries, st.Entries)
			}
			if facts < 5 {
				t.Errorf("only %d facts on the way", facts)
			}
			return
		}
	}
	t.Error("not solved")
}

func TestKnownFacts(t *testing.T) {
	p := position(t, "4x4")
	e := engineFor(t, Config{Board: p.Board, Cores: 1})
	// A false fact, to see that it is taken as it is: whoever sends facts answers for them.
	r, err := e.Run(t.Context(), Job{State: p.State(), Facts: []proof.Fact{fact(p, eval.Won)}}, nil)
	if err != nil || r.Verdict != eval.Won || r.Nodes > 1 {
		t.Errorf("%+v, %v", r, err)
	}
	if _, err := e.Run(t.Context(), Job{State: p.State(),
		Facts: []proof.Fact{{Key: amazons.Key{A: 1 << 63}, Verdict: eval.Won}}}, nil); err == nil {
		t.Error("a key outside the board was taken")
	}
}

// TestLearn: a search that is under way meets what was learned, and no evidence is gathered for it.
func TestLearn(t *testing.T) {
	p := position(t, "6x6")
	e := engineFor(t, Config{Board: p.Board, Cores: 1})
	learned := fact(p, eval.Won)
	e.Learn([]proof.Fact{{Key: amazons.Key{A: 1 << 63}, Verdict: eval.Won}, {Key: learned.Key}}) // passed over
	for _, m := range p.State().Moves(nil) {
		e.Learn([]proof.Fact{{Key: p.State().After(m).CanonicalKey(p.Board), Verdict: eval.Won, Nodes: 1}})
	}
	if r, err := e.Run(t.Context(), Job{State: p.State()}, nil); err != nil || r.Verdict != eval.Lost {
		t.Errorf("%+v, %v", r, err)
	}
	e.Learn([]proof.Fact{learned})
	if f, err := e.Fragment(t.Context(), []proof.Fact{learned}, nil); err != nil || len(f.Facts) != 0 {
		t.Errorf("evidence was gathered for what others have proved: %+v, %v", f.Facts, err)
	}
	e.Learn([]proof.Fact{learned})
	if e.Forget(); len(e.news) != 0 {
		t.Error("news outlived what they rest on")
	}
}

// TestLearnWhileSearching learns facts beside a search, for the race detector, and ends the search
// with one.
func TestLearnWhileSearching(t *testing.T) {
	p := position(t, "6x6")
	e := engineFor(t, Config{Board: p.Board, Cores: 2})
	r, err := e.Run(t.Context(), Job{State: p.State()}, func(Progress) {
		for _, m := range p.State().Moves(nil) {
			e.Learn([]proof.Fact{{Key: p.State().After(m).CanonicalKey(p.Board), Verdict: eval.Won, Nodes: 1 << 20}})
		}
	})
	if err != nil || r.Verdict != eval.Lost {
		t.Errorf("%+v, %v", r, err)
	}
}

// A claim that is false is not believed, and the table that made it is cleared.
func TestFalseClaim(t *testing.T) {
	p := position(t, "4x4")
	e := engineFor(t, Config{Board: p.Board, Cores: 1})
	e.search.Insert(p.State(), eval.Won, 1000)
	r, err := e.Run(t.Context(), Job{State: p.State()}, nil)
	if err != nil || r.Verdict != eval.Won {
		t.Fatalf("%+v, %v", r, err)
	}
	f, err := e.Fragment(t.Context(), []proof.Fact{fact(p, eval.Won)}, nil)
	if err != nil || len(f.Facts) != 0 || len(f.Data) != 0 {
		t.Fatalf("%+v, %v", f, err)
	}
	if r, err = e.Run(t.Context(), Job{State: p.State()}, nil); err != nil || r.Verdict != eval.Lost {
		t.Errorf("%+v, %v", r, err)
	}
}

func TestCancelIsPrompt(t *testing.T) {
	p := position(t, "6x6")
	e := engineFor(t, Config{Board: p.Board, Cores: 2})
	ctx, cancel := context.WithCancel(t.Context())
	calls := 0
	var cancelled time.Time
	r, err := e.Run(ctx, Job{State: p.State()}, func(p Progress) {
		calls++
		if p.Nodes == 0 || p.Evaluations == 0 || p.TableFill <= 0 {
			t.Errorf("%+v", p)
		}
		cancelled = time.Now()
		cancel()
	})
	if err != nil || r.Verdict != eval.Open || calls != 1 || time.Since(cancelled) > time.Second {
		t.Errorf("%v after cancelling, %d calls: %v, %v", time.Since(cancelled), calls, r.Verdict, err)
	}
	if f, err := e.Fragment(ctx, r.Solved, nil); err != nil || len(f.Facts) != 0 {
		t.Errorf("%v, %v", f.Facts, err)
	}
}

func TestRenew(t *testing.T) {
	p := position(t, "4x5")
	e := engineFor(t, Config{Board: p.Board, Cores: 1, MaxEntries: 200, MinFactNodes: 20})
	before := e.builder
	r, _ := e.Run(t.Context(), Job{State: p.State(), Budget: 20_000}, nil)
	var fragments []Fragment
	for _, f := range r.Solved {
		fragment, err := e.Fragment(t.Context(), []proof.Fact{f}, nil)
		if err != nil {
			t.Fatal(err)
		}
		fragments = append(fragments, fragment)
	}
	if e.builder == before {
		t.Errorf("nothing was forgotten: %d facts, %+v", len(r.Solved), e.builder.Stats())
	}
	r, _ = e.Run(t.Context(), Job{State: p.State()}, nil)
	e.c.MaxEntries = 1 << 20
	e.renew()
	f, err := e.Fragment(t.Context(), []proof.Fact{fact(p, r.Verdict)}, nil)
	if err != nil || len(f.Facts) != 1 {
		t.Fatalf("%v, %v", f.Facts, err)
	}
	check(t, p, r.Verdict, false, append(fragments, f)...)
}

func TestCollector(t *testing.T) {
	c := collector{limit: 3}
	for i, nodes := range []uint64{5, 1, 9, 7, 3, 9} {
		if c.wants(nodes) {
			c.add(proof.Fact{Key: amazons.Key{A: uint64(i % 4)}, Verdict: eval.Won, Nodes: nodes})
		}
	}
	var got []uint64
	for _, f := range c.empty() {
		got = append(got, f.Nodes)
	}
	if !slices.Equal(got, []uint64{9, 9, 7}) || len(c.empty()) != 0 {
		t.Errorf("kept %v", got)
	}
	c.add(proof.Fact{Nodes: 3})
	c.add(proof.Fact{Nodes: 8})
	if facts := c.empty(); len(facts) != 1 || facts[0].Nodes != 8 {
		t.Errorf("one position twice: %v", facts)
	}
}

func TestConfig(t *testing.T) {
	board := amazons.Board{Width: 4, Height: 4}
	for _, c := range []Config{{}, {Board: board, Cores: -1}, {Board: board, Cores: MaxCores + 1},
		{Board: board, MaxFacts: -1}} {
		if _, err := New(c); !errors.Is(err, ErrConfig) {
			t.Errorf("%+v: %v", c, err)
		}
	}
	for _, size := range []int64{-1, 1, 1 << 60} {
		if _, err := New(Config{Board: board, TableBytes: size}); !errors.Is(err, dfpn.ErrTableSize) {
			t.Errorf("%d bytes: %v", size, err)
		}
	}
	c, err := Config{Board: board}.withDefaults()
	if err != nil || c.Cores != runtime.GOMAXPROCS(0) || c.TableBytes != DefaultTableBytes {
		t.Errorf("%+v, %v", c, err)
	}
}
