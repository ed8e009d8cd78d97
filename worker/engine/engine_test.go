package engine

import (
	"bytes"
	"context"
	"errors"
	"os"
	"path/filepath"
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

// check has the checker verify that parts together prove the claim about p.
func check(t *testing.T, p amazons.Position, claim eval.Verdict, rulesOnly bool, parts ...Part) {
	t.Helper()
	m := proof.Manifest{Board: p.Board, Leaves: eval.LeavesOf(rulesOnly), Roots: []proof.Root{proof.RootOf(p, claim)}}
	name := filepath.Join(t.TempDir(), "x.proof")
	if err := os.Mkdir(proof.PartsFolder(name), 0o755); err != nil {
		t.Fatal(err)
	}
	met := map[proof.ID]bool{}
	for _, part := range parts {
		c, err := proof.Read(bytes.NewReader(part.Data), int64(len(part.Data)))
		if err != nil {
			t.Fatal(err)
		}
		about, err := proof.SavePart(proof.PartsFolder(name), c)
		if err != nil {
			t.Fatal(err)
		}
		if about.ID != part.ID || c.Set.Len() != part.Entries || len(c.Roots) != len(part.Facts) {
			t.Errorf("part %v of %d entries and %d roots says %v, %d and %d", about.ID, c.Set.Len(), len(c.Roots),
				part.ID,
				part.Entries, len(part.Facts))
		}
		if !met[about.ID] {
			m.Parts = append(m.Parts, about)
		}
		met[about.ID] = true
	}
	if err := proof.WriteManifest(name, m); err != nil {
		t.Fatal(err)
	}
	if r, err := checker.CheckFile(t.Context(), name, checker.Options{RulesOnly: rulesOnly}); err != nil ||
		!r.Complete() {
		t.Error(err)
	}
}

// one returns the only part.
func one(t *testing.T, parts []Part, err error) Part {
	t.Helper()
	if err != nil || len(parts) != 1 {
		t.Fatalf("%d parts, %v", len(parts), err)
	}
	return parts[0]
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
			parts, err := e.Prove(t.Context(), []proof.Fact{fact(p, r.Verdict)}, nil)
			check(t, p, eval.Lost, rulesOnly, one(t, parts, err))
			if again, err := e.Prove(t.Context(), []proof.Fact{fact(p, r.Verdict)}, nil); err != nil ||
				len(again) != 0 {
				t.Errorf("delivered twice: %v, %v", again, err)
			}
			e.Forget(false)
			parts, err = e.Prove(t.Context(), []proof.Fact{fact(p, r.Verdict)}, nil)
			check(t, p, eval.Lost, rulesOnly, one(t, parts, err))
		}
	}
}

// A job in many small budgets, with parts after each: together they prove the position. Later parts
// cite earlier ones.
func TestPartsAddUp(t *testing.T) {
	p := position(t, "4x6")
	e := engineFor(t, Config{Board: p.Board, Cores: 1, MinFactNodes: 20})
	var parts []Part
	cited, facts := 0, 0
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
		more, err := e.Prove(t.Context(), solved, nil)
		if err != nil {
			t.Fatal(err)
		}
		parts = append(parts, more...)
		for _, part := range more {
			facts += len(part.Facts)
			_, citations, err := proof.ReadCited(bytes.NewReader(part.Data), int64(len(part.Data)))
			if err != nil {
				t.Fatal(err)
			}
			cited += len(citations)
		}
		if r.Verdict != eval.Open {
			check(t, p, r.Verdict, false, parts...)
			if facts < 5 || cited == 0 {
				t.Errorf("only %d facts on the way, %d citations", facts, cited)
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
	if parts, err := e.Prove(t.Context(), []proof.Fact{learned}, nil); err != nil || len(parts) != 0 {
		t.Errorf("evidence was gathered for what others have proved: %+v, %v", parts, err)
	}
	e.Learn([]proof.Fact{learned})
	if e.Forget(false); len(e.news) != 0 {
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
	if parts, err := e.Prove(t.Context(), []proof.Fact{fact(p, eval.Won)}, nil); err != nil || len(parts) != 0 {
		t.Fatalf("%+v, %v", parts, err)
	}
	if r, err = e.Run(t.Context(), Job{State: p.State()}, nil); err != nil || r.Verdict != eval.Lost {
		t.Errorf("%+v, %v", r, err)
	}
}

// TestFalseHints: a claim that rests on false hints is given up after some nodes, and from then on positions are
// searched although hints call them solved.
func TestFalseHints(t *testing.T) {
	p := position(t, "5x6") // its proof would take two million nodes
	liar := engineFor(t, Config{Board: p.Board, Cores: 1, MaxHints: 10})
	liar.search.Insert(p.State(), eval.Lost, 1000)
	job := Job{State: p.State(), Budget: 100, Hints: [][]byte{liar.search.Hints(p.State(), 10)}}
	e := engineFor(t, Config{Board: p.Board, Cores: 1})
	r, err := e.Run(t.Context(), job, nil)
	if err != nil || r.Verdict != eval.Lost {
		t.Fatalf("%+v, %v", r, err)
	}
	parts, err := e.Prove(t.Context(), []proof.Fact{fact(p, eval.Lost)}, nil)
	if err != nil || len(parts) > 0 || e.search.Nodes() > 10*leastEffort {
		t.Errorf("%d parts after %d nodes, %v", len(parts), e.search.Nodes(), err)
	}
	if r, err = e.Run(t.Context(), job, nil); err != nil || r.Verdict != eval.Open || r.Nodes < job.Budget {
		t.Errorf("%+v, %v", r, err)
	}
}

// TestForgottenProof: a proof may take as long as what a small table has forgotten.
func TestForgottenProof(t *testing.T) {
	if testing.Short() {
		t.Skip("one goroutine: nothing for the race detector to find")
	}
	p := position(t, "4x7")
	e := engineFor(t, Config{Board: p.Board, Cores: 1, TableBytes: 256 << 10})
	var r Result
	for budget := uint64(50_000); r.Verdict == eval.Open; budget *= 2 {
		var err error
		if r, err = e.Run(t.Context(), Job{State: p.State(), Budget: budget}, nil); err != nil {
			t.Fatal(err)
		}
	}
	before, began := e.search.Nodes(), time.Now()
	parts, err := e.Prove(t.Context(), []proof.Fact{fact(p, r.Verdict)}, nil)
	one(t, parts, err)
	if e.doubts || e.search.Nodes() == before || time.Since(began) < 2*ProgressPeriod {
		t.Errorf("doubts %v, %d nodes for the proof in %v", e.doubts, e.search.Nodes()-before, time.Since(began))
	}
}

func TestCancelIsPrompt(t *testing.T) {
	p := position(t, "6x6")
	e := engineFor(t, Config{Board: p.Board, Cores: 2})
	ctx, cancel := context.WithCancel(t.Context())
	var cancelled time.Time
	r, err := e.Run(ctx, Job{State: p.State()}, func(p Progress) {
		if p.Nodes > 0 && p.Evaluations > 0 && p.TableFill > 0 && cancelled.IsZero() {
			cancelled = time.Now()
			cancel()
		}
	})
	if err != nil || r.Verdict != eval.Open || time.Since(cancelled) > time.Second {
		t.Errorf("%v after cancelling: %v, %v", time.Since(cancelled), r.Verdict, err)
	}
	if parts, err := e.Prove(ctx, r.Solved, nil); err != nil || len(parts) != 0 {
		t.Errorf("%v, %v", parts, err)
	}
}

// TestFull: a position whose proof is larger than a part may be is not proved, and others are.
func TestFull(t *testing.T) {
	p := position(t, "4x5")
	e := engineFor(t, Config{Board: p.Board, Cores: 1, maxEntries: 2000, MinFactNodes: 20})
	r, err := e.Run(t.Context(), Job{State: p.State()}, nil)
	if err != nil {
		t.Fatal(err)
	}
	if parts, err := e.Prove(t.Context(), []proof.Fact{fact(p, r.Verdict)}, nil); err != nil || len(parts) != 0 {
		t.Errorf("%d parts, %v", len(parts), err)
	}
	parts, err := e.Prove(t.Context(), r.Solved[len(r.Solved)-1:], nil)
	if part := one(t, parts, err); part.Entries > 2000 {
		t.Errorf("a part of %d entries", part.Entries)
	}
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
	for _, c := range []Config{{}, {Board: board, Cores: -1}, {Board: board, Cores: dfpn.MaxThreads + 1}} {
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
