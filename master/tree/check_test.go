package tree

import (
	"math"
	"slices"
	"testing"

	"amazonsfarm/shared/eval"
	"amazonsfarm/shared/numbers"
	"amazonsfarm/shared/proof"
)

// farmhands is a tree with workers that say what a test tells them to.
type farmhands struct {
	t       *testing.T
	tree    *Tree
	effects []Effect // of the last step
	leases  map[string]Lease
}

func hire(t *testing.T, cfg Config, names ...string) *farmhands {
	t.Helper()
	cfg.Root = position(t, "W..B/..../W..B w")
	cfg.policy.splitBelow = -1 // leaves stay leaves while there are more workers than work
	if cfg.CheckFirst == 0 {
		cfg.CheckFirst = 2
	}
	f := &farmhands{t: t, tree: small(t, cfg), leases: map[string]Lease{}}
	for _, name := range names {
		f.step(Joined{Worker: name, Slots: 1})
	}
	return f
}

func (f *farmhands) step(ev Event) {
	f.t.Helper()
	f.effects = f.tree.Step(ev)
	for _, e := range f.effects {
		if g, ok := e.(Grant); ok {
			f.leases[g.Worker] = g.Lease
		}
	}
	if err := f.tree.Audit(); err != nil {
		f.t.Fatalf("after %s: %v", ev, err)
	}
}

// ready asks for a lease and returns whether one came.
func (f *farmhands) ready(name string) (Lease, bool) {
	f.t.Helper()
	delete(f.leases, name)
	f.step(Ready{name})
	l, ok := f.leases[name]
	return l, ok
}

// says returns a worker's lease with numbers and all of its budget.
func (f *farmhands) says(name string, phi, delta uint32) {
	f.t.Helper()
	l := f.leases[name]
	f.step(Result{Worker: name, Lease: l.ID, Epoch: l.Epoch, Key: l.Key, Phi: phi, Delta: delta, Nodes: l.Budget})
}

// checked returns who was confirmed and who was contradicted by the last step.
func (f *farmhands) checked() (confirmed, contradicted []string) {
	for _, e := range f.effects {
		if c, ok := e.(Checked); ok && c.Confirmed {
			confirmed = append(confirmed, c.Worker)
		} else if ok {
			contradicted = append(contradicted, c.Worker)
		}
	}
	return confirmed, contradicted
}

func (f *farmhands) wantChecked(confirmed, contradicted []string) {
	f.t.Helper()
	if a, b := f.checked(); !slices.Equal(a, confirmed) || !slices.Equal(b, contradicted) {
		f.t.Errorf("confirmed are %v and contradicted %v, want %v and %v", a, b, confirmed, contradicted)
	}
}

// wantRoot holds the root to the numbers it has as a leaf: where a worker starves it is split.
func (f *farmhands) wantRoot(phi, delta uint32) {
	f.t.Helper()
	if n := f.tree.graph.Root; n.LeafPhi != phi || n.LeafDelta != delta {
		f.t.Errorf("the root has the numbers %d/%d, want %d/%d", n.LeafPhi, n.LeafDelta, phi, delta)
	}
}

// TestClaims: the numbers of a new worker wait until another one has searched the position with the
// same budget, and both are confirmed where they agree.
func TestClaims(t *testing.T) {
	f := hire(t, Config{}, "a", "b")
	first, _ := f.ready("a")
	f.says("a", 100, 300)
	f.wantRoot(1, 1)
	if s := f.tree.Status(); s.Unchecked != 1 || f.tree.Trusted("a") {
		t.Errorf("%d claims wait, and the worker is trusted %v", s.Unchecked, f.tree.Trusted("a"))
	}
	if _, ok := f.ready("a"); ok {
		t.Error("a worker checks itself")
	}
	check, ok := f.ready("b")
	if !ok || !check.Check || check.Budget != first.Budget || check.Key != first.Key {
		t.Fatalf("the check is %+v, %v", check, ok)
	}
	f.says("b", 200, 290)
	f.wantChecked([]string{"a", "b"}, nil)
	f.wantRoot(200, 290)
	if l := f.leases["a"]; l.Check || f.tree.graph.Root.Budget != 2*first.Budget {
		t.Errorf("after the check the waiting worker got %+v, and the leaf has the budget %d", l,
			f.tree.graph.Root.Budget)
	}
}

// TestThirdDecides: where two do not agree a third one decides, whoever of them lied, and its
// numbers count.
func TestThirdDecides(t *testing.T) {
	for _, c := range []struct {
		name              string
		a, b, third       uint32
		confirmed, caught []string
		root              uint32
	}{
		{"the first lied", 1_000_000, 100, 120, []string{"b", "c"}, []string{"a"}, 120},
		{"the second lied", 100, 1, 120, []string{"a", "c"}, []string{"b"}, 120},
		{"no two agree", 1, 100, 10_000, nil, nil, 10_000},
	} {
		t.Run(c.name, func(t *testing.T) {
			f := hire(t, Config{}, "a", "b", "c")
			f.ready("a")
			f.says("a", c.a, 50)
			f.ready("b")
			f.says("b", c.b, 50)
			f.wantChecked(nil, nil)
			f.wantRoot(1, 1)
			if _, ok := f.ready("b"); ok {
				t.Error("who has said what it thinks decides")
			}
			if l, ok := f.ready("c"); !ok || !l.Check {
				t.Fatal("the third one is not asked")
			}
			f.says("c", c.third, 50)
			f.wantChecked(c.confirmed, c.caught)
			f.wantRoot(c.root, 50)
			if c.caught == nil && f.tree.Status().Unsettled != 1 {
				t.Error("it is not counted that nothing was learned")
			}
		})
	}
}

// TestTwoNewNames: two parties of which nothing is known that say the same do not make a liar of
// one that has shown what it is worth.
func TestTwoNewNames(t *testing.T) {
	for _, known := range []int{0, provenStanding} {
		f := hire(t, Config{}, "honest", "x", "y")
		f.tree.parties["honest"].solved = provenStanding
		f.tree.parties["y"].solved = known
		for _, name := range []string{"x", "honest", "y"} {
			f.ready(name)
			f.says(name, map[string]uint32{"x": 1, "honest": 100, "y": 1}[name], 50)
		}
		var caught []string
		if known > 0 {
			caught = []string{"honest"}
		}
		f.wantChecked([]string{"x", "y"}, caught)
		if s := f.tree.Status(); s.Unchecked != 0 || (s.Unsettled == 1) != (known == 0) {
			t.Errorf("%d claims wait, %d are unsettled", s.Unchecked, s.Unsettled)
		}
	}
}

// TestNobodyDecides: with two parties only, one that has proved something is believed against one
// that has not; else the last search counts.
func TestNobodyDecides(t *testing.T) {
	for _, facts := range []int{0, provenStanding} {
		f := hire(t, Config{}, "a", "b")
		f.tree.parties["a"].solved = facts
		f.ready("a")
		f.says("a", 100, 50)
		f.ready("b")
		f.says("b", 1, 50)
		if facts == 0 {
			f.wantChecked(nil, nil)
			f.wantRoot(1, 50)
		} else {
			f.wantChecked(nil, []string{"b"})
			f.wantRoot(100, 50)
		}
		if f.tree.Status().Unchecked != 0 {
			t.Error("the result still waits")
		}
	}
}

// TestParties: workers of one party do not check each other, and a lone party is not checked.
func TestParties(t *testing.T) {
	f := hire(t, Config{})
	for _, name := range []string{"w/1", "w/2"} {
		f.step(Joined{Worker: name, Slots: 1, Party: "w"})
	}
	f.ready("w/1")
	f.says("w/1", 7, 8)
	f.wantRoot(7, 8)
	if !f.tree.Trusted("w/1") {
		t.Error("where nobody else is, a worker is not trusted")
	}
	f.step(Joined{Worker: "other", Slots: 1})
	f.ready("w/1")
	f.says("w/1", 9, 9)
	f.wantRoot(7, 8)
	if _, ok := f.ready("w/2"); ok {
		t.Error("a worker checks one of its own party")
	}
	// The other one leaves: nobody is left to check, and the numbers are taken as they are.
	f.step(Left{"other"})
	f.wantRoot(9, 9)
	if _, ok := f.leases["w/2"]; !ok || f.tree.Status().Unchecked != 0 {
		t.Error("the result still waits")
	}
}

// TestClaimsDoNotWaitForEver: a worker that has joined and does not ask for work keeps a claim for as
// long as it takes to ask, and no longer.
func TestClaimsDoNotWaitForEver(t *testing.T) {
	f := hire(t, Config{}, "a", "idle")
	f.ready("a")
	f.says("a", 7, 8)
	for range 3 {
		f.step(Tick{})
	}
	f.wantRoot(1, 1)
	f.step(Tick{})
	f.wantRoot(7, 8)
}

// TestSampling: once confirmed, one in so many results is checked, not in a pattern, and the others
// are taken at once.
func TestSampling(t *testing.T) {
	f := hire(t, Config{InitialBudget: 10, MaxBudget: 10, SplitAfter: math.MaxUint64,
		policy: policy{checkEvery: 8}}, "a", "b")
	checks, gaps, last := 0, map[int]bool{}, 0
	const results = 800
	for i := range results {
		name, other := "a", "b"
		f.ready(name)
		f.says(name, 100, 100)
		if f.tree.Status().Unchecked == 1 {
			checks++
			gaps[i-last], last = true, i
			f.ready(other)
			f.says(other, 100, 100)
			f.wantChecked([]string{name, other}, nil)
		}
	}
	if checks < results/8/2 || checks > results/8*2 || len(gaps) < 8 {
		t.Errorf("%d of %d results were checked, with %d different gaps", checks, results, len(gaps))
	}
}

// TestDistrusted: what a party has said since it was last confirmed is searched again when it is
// caught.
func TestDistrusted(t *testing.T) {
	f := hire(t, Config{InitialBudget: 10, policy: policy{checkEvery: 1 << 29}}, "a", "b")
	for range 2 {
		f.ready("a")
		f.says("a", 100, 100)
		f.ready("b")
		f.says("b", 100, 100)
	}
	f.tree.parties["a"].confirmed = 1 << 30 // so that it is not sampled
	f.ready("a")
	f.says("a", 1, 9999)
	f.wantRoot(1, 9999)
	f.step(Distrusted{"a"})
	f.wantRoot(1, 1)
	if f.tree.Trusted("a") || f.tree.Status().Requeued != 1 {
		t.Errorf("trusted %v, %d results are searched again", f.tree.Trusted("a"), f.tree.Status().Requeued)
	}
	if l, _ := f.ready("b"); l.Budget != 10 || l.Check {
		t.Errorf("it is searched again with %+v", l)
	}
	// Not where somebody else has searched it since.
	f.says("b", 80, 80)
	f.ready("b")
	f.step(Distrusted{"a"})
	if f.tree.Status().Requeued != 1 {
		t.Error("what another one has said is searched again")
	}
}

// divided hires the worker lone, which has searched the root: that is split, and its children can be leased.
func divided(t *testing.T) *farmhands {
	t.Helper()
	f := hire(t, Config{InitialBudget: 10, SplitAfter: 10}, "lone")
	f.ready("lone")
	l := f.leases["lone"]
	state, _ := l.Key.State(f.tree.cfg.Root.Board)
	var children []numbers.Child
	for _, m := range state.Moves(nil) {
		children = append(children, numbers.Child{Key: state.After(m).CanonicalKey(f.tree.cfg.Root.Board), Phi: 5,
			Delta: 5})
	}
	f.step(Result{Worker: "lone", Lease: l.ID, Epoch: l.Epoch, Key: l.Key, Phi: 5, Delta: 5, Nodes: l.Budget,
		Children: numbers.Append(nil, children)})
	return f
}

// TestBlocked: a worker that nobody has confirmed gets no new work while its results are unchecked, so that
// it cannot lock the tree.
func TestBlocked(t *testing.T) {
	f := divided(t)
	f.step(Joined{Worker: "liar", Slots: 1})
	f.step(Joined{Worker: "liar/2", Slots: 1, Party: "liar"})
	for range maxUnchecked * 2 {
		if _, ok := f.ready("liar"); !ok {
			t.Fatal("too few leases")
		}
		f.says("liar", 1, 1)
	}
	if _, ok := f.ready("liar"); ok {
		t.Errorf("with %d claims waiting it gets more", f.tree.Status().Unchecked)
	}
	if !slices.ContainsFunc(f.effects, func(e Effect) bool {
		n, ok := e.(NoWork)
		return ok &&
			n.Reason == NoWorkUnchecked
	}) {
		t.Errorf("it is not told why: %v", f.effects)
	}
	if l, ok := f.ready("lone"); !ok || !l.Check {
		t.Error("the other one does not check them first")
	}
	f.says("lone", 1, 1)
	f.wantChecked([]string{"liar", "lone"}, nil)
	if _, ok := f.leases["liar"]; !ok {
		t.Error("it gets nothing although one of its results is confirmed")
	}
}

// TestSlowChecker: a party whose checks never end, or that has a lease which never ends, holds another new party up
// for some ticks alone.
func TestSlowChecker(t *testing.T) {
	for _, checks := range []bool{true, false} {
		f := divided(t)
		f.step(Left{Worker: "lone"})
		f.step(Joined{Worker: "slow", Slots: 1})
		f.step(Joined{Worker: "new", Slots: 1})
		if !checks {
			f.ready("slow")
		}
		for range maxUnchecked {
			f.ready("new")
			f.says("new", 1, 1)
		}
		if _, ok := f.ready("new"); ok {
			t.Fatalf("checks %v: it gets more than its results are checked", checks)
		}
		if checks {
			f.ready("slow")
		}
		slow, ticks := f.leases["slow"], 0
		if slow.Check != checks {
			t.Fatalf("checks %v: the lease is %+v", checks, slow)
		}
		for f.leases["new"].ID == 0 && ticks < 100 {
			ticks++
			f.step(Tick{})
			f.step(Progress{Worker: "slow", Lease: slow.ID, Epoch: slow.Epoch, Nodes: uint64(min(ticks, 9))})
		}
		if most := quickTicks + checkSlack + 2; ticks > most {
			t.Errorf("checks %v: it waits %d ticks and not %d", checks, ticks, most)
		}
	}
}

// TestImplausibleNodes: a worker that says it has searched far beyond its budget uses up neither
// the campaign's nodes nor its leaf's.
func TestImplausibleNodes(t *testing.T) {
	f := hire(t, Config{InitialBudget: 1000}, "liar")
	l, _ := f.ready("liar")
	f.step(Progress{Worker: "liar", Lease: l.ID, Epoch: l.Epoch, Nodes: math.MaxUint64})
	if s := f.tree.Status(); s.Running > 3000 {
		t.Errorf("%d nodes run", s.Running)
	}
	f.step(Proved{Worker: "liar", Lease: l.ID, Epoch: l.Epoch, Nodes: math.MaxUint64})
	f.step(Result{Worker: "liar", Lease: l.ID, Epoch: l.Epoch, Key: l.Key, Phi: 1, Delta: 1, Nodes: math.MaxUint64})
	if s := f.tree.Status(); s.Spent > 3000 || s.Expanded > 0 {
		t.Errorf("%d nodes are spent, %d positions split", s.Spent, s.Expanded)
	}
}

// TestOneWorkerDoesNotSetAside: short results of one worker do not set a leaf aside while others
// are there.
func TestOneWorkerDoesNotSetAside(t *testing.T) {
	f := hire(t, Config{}, "liar", "other")
	for range 20 {
		l, ok := f.ready("liar")
		if !ok {
			t.Fatal("no lease")
		}
		f.step(Result{Worker: "liar", Lease: l.ID, Epoch: l.Epoch, Key: l.Key, Phi: 1, Delta: 1, Nodes: 1})
	}
	if s := f.tree.Status(); s.Aside != 0 {
		t.Errorf("%d positions are set aside", s.Aside)
	}
	f.ready("other")
	f.says("other", 3, 3)
	f.wantRoot(1, 1) // the numbers of a new worker wait
}

// TestRevivedWhileUnchecked: a worker that was silent does not get its lease back while another one's result of the
// same leaf waits for a check.
func TestRevivedWhileUnchecked(t *testing.T) {
	f := hire(t, Config{CheckFirst: 2})
	f.step(Joined{Worker: "silent", Slots: 1, Confirmed: 5})
	f.step(Joined{Worker: "second", Slots: 1})
	f.step(Joined{Worker: "third", Slots: 1})
	old, _ := f.ready("silent")
	f.step(Progress{Worker: "silent", Lease: old.ID, Epoch: old.Epoch, Nodes: 10})
	for range quickTicks + 1 {
		f.step(Tick{})
	}
	f.ready("second")
	f.says("second", 5, 5)
	f.step(Progress{Worker: "silent", Lease: old.ID, Epoch: old.Epoch, Nodes: 20})
	if l, ok := f.ready("third"); !ok || !l.Check {
		t.Fatalf("%+v, %v", l, ok)
	}
	if err := f.tree.Audit(); err != nil {
		t.Error(err)
	}
}

// TestSetAsideTwice: a leaf that is set aside again at once is so once, and for as long as it should be.
func TestSetAsideTwice(t *testing.T) {
	f := hire(t, Config{}, "good")
	lose := func() {
		for range f.tree.cfg.policy.maxTries {
			f.step(Joined{Worker: "bad", Slots: 1})
			f.ready("bad")
			f.step(Left{Worker: "bad"})
		}
	}
	lose()
	for range asideTicks - 1 {
		f.step(Tick{})
	}
	f.ready("good")
	f.says("good", 5, 5)
	lose()
	f.step(Tick{})
	if s := f.tree.Status(); s.Aside != 1 || !f.tree.graph.Root.Aside {
		t.Errorf("%d leaves are set aside", s.Aside)
	}
}

// TestUncheckable: numbers of a search that ended early, or that are said to be an outcome without
// a fact, are not taken: they cannot be checked. Who does not say anything as a check is not asked
// again.
func TestUncheckable(t *testing.T) {
	for name, change := range map[string]func(*Result){
		"handed back": func(r *Result) { r.Cancelled = true },
		"won":         func(r *Result) { r.Verdict = eval.Won },
	} {
		f := hire(t, Config{}, "liar", "other")
		l, _ := f.ready("liar")
		r := Result{Worker: "liar", Lease: l.ID, Epoch: l.Epoch, Key: l.Key, Phi: 1, Delta: 7777, Nodes: l.Budget}
		change(&r)
		f.step(r)
		if f.wantRoot(1, 1); f.tree.Status().Unchecked != 0 {
			t.Errorf("%s: a result waits", name)
		}
		f.ready("other")
		f.says("other", 5, 5)
		l, ok := f.ready("liar")
		if !ok || !l.Check {
			t.Fatalf("%s: it is not asked to check", name)
		}
		r.Lease, r.Nodes = l.ID, l.Budget
		f.step(r)
		f.wantChecked(nil, nil)
		if _, ok := f.ready("liar"); ok {
			t.Errorf("%s: it is asked again", name)
		}
		f.step(Tick{}) // and nobody else is there
		if f.wantRoot(5, 5); f.tree.Status().Unchecked != 0 {
			t.Errorf("%s: the result waits still", name)
		}
		if l, ok := f.leases["liar"]; !ok || l.Check {
			t.Errorf("%s: the position is not searched on", name)
		}
	}
}

// TestHandedBack: who was confirmed cannot say what it likes of leases that it hands back unasked,
// which nobody would ever check.
func TestHandedBack(t *testing.T) {
	f := hire(t, Config{}, "a", "b")
	f.tree.parties["a"].confirmed = 10
	l, _ := f.ready("a")
	f.step(Result{Worker: "a", Lease: l.ID, Epoch: l.Epoch, Key: l.Key, Phi: 1, Delta: 7777, Nodes: l.Budget,
		Cancelled: true})
	f.wantRoot(1, 1)
	l, _ = f.ready("a")
	f.step(Drain{})
	f.step(Result{Worker: "a", Lease: l.ID, Epoch: l.Epoch, Key: l.Key, Phi: 30, Delta: 40, Nodes: l.Budget,
		Cancelled: true})
	f.wantRoot(30, 40)
	f.step(Distrusted{"a"})
	f.wantRoot(1, 1)
}

// TestStanding: what speaks for a party, and what it has said unchecked, outlasts its absence; not
// beyond as many absent parties as there may be workers; another campaign counts for it; and who
// comes with its name but is of another party has nothing of it.
func TestStanding(t *testing.T) {
	f := hire(t, Config{MaxWorkers: 3}, "a", "b")
	agreedOf := func(party string) int {
		agreed, _ := f.tree.Standing(party)
		return agreed
	}
	p := f.tree.parties["a"]
	p.confirmed = 5
	f.ready("a")
	f.says("a", 100, 7)
	for f.tree.Status().Unchecked > 0 { // it was sampled
		f.ready("b")
		f.says("b", 100, 7)
		f.ready("a")
		f.says("a", 100, 7)
	}
	agreed := p.confirmed
	f.step(Left{"a"})
	f.step(Joined{Worker: "a", Slots: 1})
	if agreedOf("a") != agreed || len(f.tree.parties["a"].accepted) != 1 {
		t.Errorf("after it was away %d results count as confirmed, %d as unchecked", agreedOf("a"),
			len(f.tree.parties["a"].accepted))
	}
	f.step(PartyConfirmed{"a"})
	if agreedOf("a") != agreed+1 {
		t.Error("what another campaign says does not count")
	}
	f.step(Joined{Worker: "a", Slots: 1, Party: "thief"})
	if f.tree.Trusted("a") || agreedOf("thief") != 0 || f.tree.present != 2 {
		t.Errorf("another party with its name is trusted; %d parties are there", f.tree.present)
	}
	f.step(Left{"a"})
	f.step(Distrusted{"a"}) // caught while it is away
	if f.wantRoot(1, 1); agreedOf("a") != 0 {
		t.Error("it is still trusted")
	}
	f.step(Joined{Worker: "c", Slots: 1, Confirmed: 3, Solved: 4})
	if agreed, solved := f.tree.Standing("c"); agreed != 3 || solved != 4 || !f.tree.Trusted("c") ||
		f.tree.parties["c"].standing() != 7 {
		t.Error("who was confirmed elsewhere is not trusted")
	}
	for _, name := range []string{"d", "e", "f", "g"} {
		f.step(Joined{Worker: name, Slots: 1})
		f.step(Left{name})
	}
	if len(f.tree.absent) != 3 || len(f.tree.parties) != 5 || f.tree.parties["g"] == nil || f.tree.parties["d"] != nil {
		t.Errorf("%d of %d parties are remembered without workers", len(f.tree.absent), len(f.tree.parties))
	}
}

// TestFreshSlots: a party that has shown nothing holds two leases, however many slots its worker has.
func TestFreshSlots(t *testing.T) {
	f := hire(t, Config{InitialBudget: 100, SplitAfter: 100})
	f.step(Joined{Worker: "a", Slots: WorkerSlots, Confirmed: 1})
	f.ready("a")
	f.says("a", 3, 3) // the root is split
	f.step(Joined{Worker: "b", Slots: WorkerSlots})
	for range WorkerSlots {
		f.ready("b")
	}
	if n := len(f.tree.workers["b"].leases); n != freshSlots {
		t.Errorf("a new party has %d leases, want %d", n, freshSlots)
	}
	f.step(PartyConfirmed{"b"})
	if n := len(f.tree.workers["b"].leases); n <= freshSlots {
		t.Errorf("a confirmed party has %d leases", n)
	}
}

// TestEvidenceCounts: a position of its lease that a party solves counts as a confirmed result
// does, after its first ones; one that it was not asked for does not.
func TestEvidenceCounts(t *testing.T) {
	f := hire(t, Config{}, "a", "b")
	l, _ := f.ready("a")
	state, _ := l.Key.State(f.tree.cfg.Root.Board)
	below := state.After(state.Moves(nil)[0]).CanonicalKey(f.tree.cfg.Root.Board)
	for _, k := range []struct {
		fact proof.Fact
		want int
	}{{proof.Fact{Key: below, Verdict: eval.Won, Certificate: proof.ID{1}}, 0},
		{proof.Fact{Key: l.Key, Verdict: eval.Won, Certificate: proof.ID{1}},
			1}} {
		f.step(Proved{Worker: "a", Lease: l.ID, Epoch: l.Epoch, Facts: []proof.Fact{k.fact},
			Certificates: []proof.ID{{1}}})
		if p := f.tree.parties["a"]; p.solved != k.want || f.tree.Trusted("a") {
			t.Errorf("%d positions count as solved, want %d", p.solved, k.want)
		}
	}
}

// TestSolvedWhereNothingIsChecked: where no result is checked nothing is counted for anybody.
func TestSolvedWhereNothingIsChecked(t *testing.T) {
	f := hire(t, Config{}, "a", "b")
	f.tree.cfg.CheckFirst = 0
	l, _ := f.ready("a")
	f.step(Proved{Worker: "a", Lease: l.ID, Epoch: l.Epoch,
		Facts: []proof.Fact{{Key: l.Key, Verdict: eval.Won, Certificate: proof.ID{1}}}, Certificates: []proof.ID{{1}}})
	if agreed, solved := f.tree.Standing("a"); agreed != 0 || solved != 0 {
		t.Errorf("%d results and %d positions are counted", agreed, solved)
	}
}
