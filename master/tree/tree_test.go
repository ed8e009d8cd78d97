package tree

import (
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"

	"amazonsfarm/master/tree/graph"
	"amazonsfarm/shared/amazons"
	"amazonsfarm/shared/eval"
	"amazonsfarm/shared/numbers"
	"amazonsfarm/shared/proof"
)

// TestClamped: sums that reach the number for infinity must not solve anything
// (trap 7 of the list of false proofs), and workers' numbers do not either.
func TestClamped(t *testing.T) {
	tree := small(t, Config{SplitAfter: 1})
	grant := ask(t, tree, "w")
	state, _ := grant.Key.State(tree.cfg.Root.Board)
	r := Result{Worker: "w", Lease: grant.ID, Epoch: grant.Epoch, Key: grant.Key, Nodes: grant.Budget,
		Phi: graph.Infinity - 1, Delta: graph.Infinity - 1}
	var list []numbers.Child
	for i, m := range state.Moves(nil) {
		c := numbers.Child{Key: state.After(m).CanonicalKey(tree.cfg.Root.Board), Phi: graph.Infinity - 1,
			Delta: graph.Infinity - 1}
		if i == 0 {
			c.Phi, c.Delta = 1<<32-1, 0
		}
		list = append(list, c)
	}
	r.Children = numbers.Append(nil, list)
	tree.Step(r)
	if err := tree.Audit(); err != nil {
		t.Fatal(err)
	}
	if s := tree.Status(); s.Settled || s.Phi != 1 || s.Delta != graph.Infinity-1 || s.Expanded != 1 {
		t.Errorf("root %d/%d, settled %v", s.Phi, s.Delta, s.Settled)
	}
}

// TestFalseFacts: what is not in the form of a fact is refused.
func TestFalseFacts(t *testing.T) {
	tree := small(t, Config{})
	good := oracle{}.fact(tree.cfg.Root.Board, tree.cfg.Root.State(), 3)
	for want, spoil := range map[string]func(f *proof.Fact){
		"names no certificate":        func(f *proof.Fact) { f.Certificate = proof.ID{} },
		"not among those":             func(f *proof.Fact) { f.Certificate[0]++ },
		"neither won nor lost":        func(f *proof.Fact) { f.Verdict = eval.Open },
		"neither":                     func(f *proof.Fact) { f.Verdict = 3 },
		"not a position of the board": func(f *proof.Fact) { f.Key.A |= 1 << 63 },
		"not canonical": func(f *proof.Fact) {
			s, _ := f.Key.State(tree.cfg.Root.Board)
			f.Key = s.Apply(tree.cfg.Root.Board, 3).Key(tree.cfg.Root.Board)
		},
	} {
		f := good
		spoil(&f)
		effects := tree.Step(Proved{Worker: "w", Facts: []proof.Fact{f},
			Certificates: []proof.ID{good.Certificate, {}}})
		if i := slices.IndexFunc(effects, func(e Effect) bool {
			r, ok := e.(Refused)
			return ok && strings.Contains(r.Why, want)
		}); i < 0 || tree.graph.FactsWon+tree.graph.FactsLost != 0 {
			t.Errorf("%s: %v", want, effects)
		}
	}
	late := small(t, Config{Root: position(t, "WxB/...")})
	if effects := late.Step(Proved{Worker: "w", Facts: []proof.Fact{good},
		Certificates: []proof.ID{good.Certificate}}); !strings.Contains(effects[1].String(), "after the root") {
		t.Errorf("before the root: %v", effects)
	}
}

// TestSnapshotErrors: what was not written by a tree is refused.
func TestSnapshotErrors(t *testing.T) {
	cfg := Config{Root: position(t, "W.B/...")}
	root := cfg.Root.State().CanonicalKey(cfg.Root.Board)
	other := amazons.Key{A: 3, B: 4}
	for name, s := range map[string]Snapshot{
		"not reached": {Nodes: []NodeRecord{{Key: other, Phi: 1, Delta: 1}}},
		"twice":       {Nodes: []NodeRecord{{Key: root, Phi: 1, Delta: 1}, {Key: root, Phi: 1, Delta: 1}}},
		"solved":      {Nodes: []NodeRecord{{Key: root, Phi: 0, Delta: graph.Infinity}}},
		"leaf's":      {Nodes: []NodeRecord{{Key: root, Phi: 1, Delta: 1, Children: "\x01\x01"}}},
		"too few":     {Nodes: []NodeRecord{{Key: root, Phi: 1, Delta: 1, Expanded: true, Children: "\x01\x01"}}},
		"malformed":   {Nodes: []NodeRecord{{Key: root, Phi: 1, Delta: 1, Expanded: true, Children: "\x01"}}},
		"bare fact":   {Facts: []proof.Fact{{Key: root, Verdict: eval.Won}}},
	} {
		if _, err := New(cfg, s); !errors.Is(err, ErrSnapshot) {
			t.Errorf("%s: %v", name, err)
		}
	}
	// Facts that exclude each other make a tree that is stopped.
	f := proof.Fact{Key: root, Verdict: eval.Won, Certificate: proof.ID{1}}
	g := proof.Fact{Key: root, Verdict: eval.Lost, Certificate: proof.ID{2}}
	tree, err := New(cfg, Snapshot{Facts: []proof.Fact{g, f}})
	if err != nil {
		t.Fatal(err)
	}
	if effects := tree.Step(Tick{}); len(effects) != 2 || tree.Status().Contradiction == nil {
		t.Errorf("effects %v", effects)
	}
}

// TestConfigErrors: budgets that exclude each other are named.
func TestConfigErrors(t *testing.T) {
	cfg := Config{Root: start(t, 4, 4), InitialBudget: 10, MaxBudget: 5}
	if _, err := New(cfg, Snapshot{}); !errors.Is(err, ErrConfig) || !strings.Contains(err.Error(), "MaxBudget 5") {
		t.Error(err)
	}
}

// TestLoneWorker: one worker has the question in long leases until SplitAfter, whatever it asks. Another
// one that waits ends the lease at the next tick, and the leaf is split.
func TestLoneWorker(t *testing.T) {
	for _, slots := range []int{1, 2} {
		tree := small(t, Config{}) // the default settings
		tree.Step(Joined{Worker: "w", Slots: slots})
		var spent uint64
		for tree.Status().Expanded == 0 {
			if spent >= 8_000_000 {
				t.Fatalf("not split after %d nodes", spent)
			}
			for range slots {
				tree.Step(Ready{"w"})
			}
			l := tree.workers["w"].leases[0]
			if l.budget != 5_000_000 {
				t.Fatalf("budget %d after %d, want 5,000,000", l.budget, spent)
			}
			tree.Step(Progress{Worker: "w", Lease: l.id, Epoch: 1, Nodes: l.budget})
			tree.Step(Tick{})
			tree.Step(Result{Worker: "w", Lease: l.id, Epoch: 1, Key: l.node.Key, Nodes: l.budget, Phi: 3, Delta: 3})
			spent += l.budget
			if s := tree.Status(); s.Expanded > 0 && s.Spent < 8_000_000 {
				t.Fatalf("split after %d nodes", s.Spent)
			}
		}
	}
	tree := small(t, Config{})
	tree.Step(Joined{Worker: "w", Slots: 1})
	tree.Step(Ready{"w"})
	l := tree.workers["w"].leases[0]
	tree.Step(Joined{Worker: "v", Slots: 1})
	if l.cancelled {
		t.Error("a lease ended for a worker that asks for nothing")
	}
	tree.Step(Ready{"v"})
	effects := tree.Step(Tick{})
	if !slices.Contains(effects, Effect(Cancel{"w", l.id, 1, CancelSplit})) {
		t.Fatalf("a second worker waits: %v", effects)
	}
	tree.Step(Result{Worker: "w", Lease: l.id, Epoch: 1, Key: l.node.Key, Nodes: 7, Cancelled: true, Phi: 3, Delta: 3})
	if s := tree.Status(); s.Expanded != 1 || len(tree.workers["v"].leases) != 1 {
		t.Errorf("not split for the second worker: %+v", s)
	}
	if set := small(t, Config{InitialBudget: 20_000}); set.budgetOf(set.graph.Root, 1) != 20_000 {
		t.Error("the operator's first lease does not count for a lone worker")
	}
}

// TestFirstLeases: first leases are as small as the campaign is, and never larger than InitialBudget.
func TestFirstLeases(t *testing.T) {
	tree := small(t, Config{})
	for _, c := range []struct{ searched, want uint64 }{
		{0, smallestFirst}, {100_000, smallestFirst}, {1_024_000, smallestFirst}, {5_120_000, 10_000},
		{1 << 40, 50_000},
	} {
		if tree.nodes = c.searched; tree.firstBudget() != c.want {
			t.Errorf("after %d nodes a first lease has %d nodes, want %d", c.searched, tree.firstBudget(), c.want)
		}
	}
	if set := small(t, Config{InitialBudget: 20_000}); set.firstBudget() != 20_000 {
		t.Errorf("a first lease has %d nodes where 20,000 are set", set.firstBudget())
	}
}

// TestParent: a lease names a position one move above its own, and the root has none.
func TestParent(t *testing.T) {
	tree := small(t, Config{InitialBudget: 100, SplitAfter: 100})
	tree.Step(Joined{Worker: "w", Slots: 1})
	tree.Step(Ready{"w"})
	l := tree.workers["w"].leases[0]
	if k := l.node.Parent(); k != (amazons.Key{}) {
		t.Fatalf("the root is below %v", k)
	}
	tree.Step(Result{Worker: "w", Lease: l.id, Epoch: 1, Key: l.node.Key, Nodes: 100, Phi: 3, Delta: 3})
	root := l.node.Key
	for _, e := range tree.Step(Ready{"w"}) {
		if g, ok := e.(Grant); ok {
			if g.Lease.Parent != root || g.Lease.Key == root {
				t.Fatalf("the lease of %v is below %v, want %v", g.Lease.Key, g.Lease.Parent, root)
			}
			return
		}
	}
	t.Fatal("nothing was granted")
}

// TestPatience: the proof of a position may wait as long as four of its siblings are free.
func TestPatience(t *testing.T) {
	tree := small(t, Config{InitialBudget: 100, SplitAfter: 100})
	tree.Step(Joined{Worker: "w", Slots: WorkerSlots})
	root := take(t, tree.Step(Ready{"w"}))
	if root.Patient {
		t.Error("the whole question is patient")
	}
	tree.Step(Result{Worker: "w", Lease: root.ID, Epoch: 1, Key: root.Key, Nodes: 100, Phi: 3, Delta: 3})
	children := len(tree.graph.Root.Children)
	if children < 6 || children > WorkerSlots {
		t.Fatalf("%d children", children)
	}
	for left := children - 1; left >= 0; left-- {
		if l := take(t, tree.Step(Ready{"w"})); l.Patient != (left >= patientSiblings) {
			t.Errorf("with %d free siblings, patient is %v", left, l.Patient)
		}
	}
	// Of its leases, people see the one that it is at.
	leases := tree.Status().Workers[0].Leases
	for _, c := range []struct{ begun, want LeaseID }{{0, leases[0].ID}, {leases[1].ID, leases[1].ID},
		{leases[3].ID, leases[3].ID}, {leases[2].ID, leases[3].ID}} {
		tree.Step(Progress{Worker: "w", Lease: c.begun, Epoch: 1, Nodes: 5})
		if l := tree.Status().Workers[0].Current(); l.ID != c.want {
			t.Errorf("after progress of lease %d the worker is at %d, want %d", c.begun, l.ID, c.want)
		}
	}
}

// small makes a tree over a small position.
func small(t *testing.T, cfg Config) *Tree {
	t.Helper()
	if cfg.Root == (amazons.Position{}) {
		cfg.Root = position(t, "W.B/...")
	}
	tree, err := New(cfg, Snapshot{})
	if err != nil {
		t.Fatal(err)
	}
	return tree
}

// ask joins a worker and returns its first lease.
func ask(tb testing.TB, tree *Tree, name string) Lease {
	tb.Helper()
	tree.Step(Joined{Worker: name, Slots: 1})
	return take(tb, tree.Step(Ready{name}))
}

func take(tb testing.TB, effects []Effect) Lease {
	tb.Helper()
	for _, e := range effects {
		if g, ok := e.(Grant); ok {
			return g.Lease
		}
	}
	tb.Fatalf("no grant: %v", effects)
	return Lease{}
}

// TestChance: the more workers there are, the less do the numbers say of what is asked, and nothing
// less of what is below. Where only one first move is asked about, that is the position after it.
func TestChance(t *testing.T) {
	for _, c := range []struct {
		moves []string
		asked int // plies from the root
	}{{nil, 0}, {[]string{"A2-B1xA2"}, 1}, {[]string{"A2-B1xA2", "A2-A1xA2"}, 0}} {
		root := position(t, "W.B/...")
		cfg := Config{Root: root, InitialBudget: 10, SplitAfter: 1}
		for _, text := range c.moves {
			m, err := root.ParseMove(text)
			if err != nil {
				t.Fatal(err)
			}
			cfg.FirstMoves = append(cfg.FirstMoves, m)
		}
		tree := small(t, cfg)
		tree.Step(Joined{Worker: "w", Slots: 1})
		for tree.Status().Expanded < 3 {
			l := take(t, tree.Step(Ready{"w"}))
			state, _ := l.Key.State(root.Board)
			var list []numbers.Child
			for i, m := range state.Moves(nil) {
				list = append(list, numbers.Child{Key: state.After(m).CanonicalKey(root.Board), Phi: uint32(50 + i),
					Delta: uint32(1 + i)})
			}
			tree.Step(Result{Worker: "w", Lease: l.ID, Epoch: l.Epoch, Key: l.Key, Nodes: l.Budget, Phi: 1, Delta: 1,
				Children: numbers.Append(nil, list)})
		}
		for range 3 { // so that what is open depends on the chance
			tree.Step(Joined{Worker: "v", Slots: 3})
			tree.Step(Ready{"v"})
		}
		for _, others := range []int{126, 1022} {
			for i := range others {
				tree.Step(Joined{Worker: fmt.Sprint(i), Slots: 1})
			}
			if err := tree.Audit(); err != nil {
				t.Errorf("first moves %v, %d others: %v", c.moves, others, err)
			}
			sides := 0
			for n := range tree.graph.All() {
				if plies := int(n.Layer) - int(tree.graph.Root.Layer); n.Expanded && plies >= c.asked {
					got := tree.graph.Chance(n)
					outside := math.Sqrt(float64(n.Phi)) / (math.Sqrt(float64(n.Phi)) + math.Sqrt(float64(n.Delta)))
					switch {
					case plies == c.asked && others > 126 && (got < 0.4 || got > 0.6 || (got < 0.5) != (outside < 0.5)):
						t.Errorf("first moves %v, %d others: the chance is %v where the numbers say %v", c.moves,
							others, got, outside)
					case (plies > c.asked || others <= 126) && got != outside:
						t.Errorf("first moves %v, %d others, %d plies from the root: the chance is %v where the "+
							"numbers say %v", c.moves, others, plies, got, outside)
					case outside < 0.4 || outside > 0.6:
						sides++
					}
				}
			}
			if sides == 0 {
				t.Errorf("first moves %v, %d others: all numbers say a half", c.moves, others)
			}
			for i := range others {
				tree.Step(Left{Worker: fmt.Sprint(i)})
			}
			if err := tree.Audit(); err != nil {
				t.Errorf("first moves %v, %d workers left: %v", c.moves, others, err)
			}
		}
	}
}

// TestSplittingSlowsDown: while work is scarce a leaf is split after a first lease until half of
// the room is taken, then later and later; otherwise after twice as much with each eighth. With
// huge settings nothing wraps around.
func TestSplittingSlowsDown(t *testing.T) {
	tr := small(t, Config{MaxPositions: 80, InitialBudget: 100, MaxBudget: 100, SplitAfter: 1000})
	for _, c := range []struct {
		nodes       int
		early, late uint64
	}{
		{1, 100, 1000}, {9, 100, 1000}, {10, 100, 2000}, {39, 100, 8000}, {40, 1600, 16_000}, {49, 1600, 16_000},
		{50, 25_600, 32_000}, {79, 6_553_600, 128_000}, {80, 104_857_600, 256_000},
	} {
		if early, late := tr.earlySplit(c.nodes), tr.splitAfter(c.nodes); early != c.early || late != c.late {
			t.Errorf("with %d of 80 positions a leaf is split after %d nodes while work is scarce, else %d; "+
				"want %d and %d", c.nodes, early, late, c.early, c.late)
		}
	}
	tr.cfg.InitialBudget, tr.cfg.SplitAfter = math.MaxUint64/3, math.MaxUint64/3
	if tr.earlySplit(80) != math.MaxUint64 || tr.splitAfter(80) != math.MaxUint64 {
		t.Errorf("with huge settings a leaf is split after %d and %d nodes", tr.earlySplit(80), tr.splitAfter(80))
	}
}

// TestDecide: an answer says of first moves what the tree does not know of them, and nothing of those that may win too.
func TestDecide(t *testing.T) {
	root, err := amazons.ParsePosition("4x4")
	if err != nil {
		t.Fatal(err)
	}
	moves, err := root.ParseMoves([]string{"B1-B2xB1", "B1-B2xA1", "C1-C2xC1"})
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		status  Status
		winning []string
		want    string // of the positions after the moves; the tree knows the last one
	}{
		{Status{}, nil, "open open won"},
		{Status{Verdict: eval.Won}, nil, "open open won"},
		{Status{Verdict: eval.Won}, []string{"B1-B2xA1"}, "open lost won"},
		{Status{Verdict: eval.Lost}, nil, "won won won"},
		{Status{NoGivenMoveWins: true}, nil, "won won won"},
	} {
		for _, m := range moves {
			c.status.FirstMoves = append(c.status.FirstMoves, graph.FirstMove{Move: m, Phi: 1, Delta: 1})
		}
		c.status.FirstMoves[2].Verdict = eval.Won
		c.status.Decide(c.winning)
		var got []string
		for _, f := range c.status.FirstMoves {
			got = append(got, f.Verdict.String())
		}
		if text := strings.Join(got, " "); text != c.want {
			t.Errorf("%+v: %s, want %s", c, text, c.want)
		}
	}
}
