package schedule

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"amazonsfarm/master/tree"
	"amazonsfarm/shared/amazons"
	"amazonsfarm/shared/eval"
	"amazonsfarm/shared/proof"
)

// farm plays workers against a scheduler: each searches its leases to the end of their budgets and
// finds nothing, unless a test says otherwise.
type farm struct {
	t       *testing.T
	s       *Scheduler
	trees   map[uint32]*tree.Tree
	roots   map[uint32]amazons.Position
	held    map[string][]granted
	nodes   map[uint32]uint64 // of results, by campaign
	stored  map[uint32][]tree.Persist
	settled map[uint32]bool
	trace   []string
	checks  int // results of a new worker that are checked
	welcome int // results that can be taken in a tick; then leases are stretched up to ten times; 0: they are not
}

type granted struct {
	campaign uint32
	tree.Lease
}

func newFarm(t *testing.T, credit uint64) *farm {
	return &farm{t: t, s: New(credit), trees: map[uint32]*tree.Tree{},
		roots: map[uint32]amazons.Position{}, held: map[string][]granted{},
		nodes: map[uint32]uint64{}, stored: map[uint32][]tree.Persist{}, settled: map[uint32]bool{}}
}

func position(t *testing.T, text string) amazons.Position {
	t.Helper()
	p, err := amazons.ParsePosition(text)
	if err != nil {
		t.Fatal(err)
	}
	return p
}

// add adds a campaign whose leases have 100 nodes and whose leaves are split after as many.
func (f *farm) add(c Campaign, root string, moves ...string) {
	f.t.Helper()
	p := position(f.t, root)
	cfg := tree.Config{Root: p, InitialBudget: 100, MaxBudget: 100, SplitAfter: 100, ShortPercent: -1,
		CheckFirst: f.checks}
	if f.welcome > 0 {
		cfg.ResultsPerTick, cfg.MaxBudget, cfg.ProbePercent = f.welcome, 1000, 100
	}
	for _, text := range moves {
		m, err := p.ParseMove(text)
		if err != nil {
			f.t.Fatal(err)
		}
		cfg.FirstMoves = append(cfg.FirstMoves, m)
	}
	var err error
	if c.Tree, err = tree.New(cfg, tree.Snapshot{}); err != nil {
		f.t.Fatal(err)
	}
	f.trees[c.Number], f.roots[c.Number] = c.Tree, p
	f.take(f.s.Add(c))
}

func (f *farm) step(campaign uint32, ev tree.Event) { f.take(f.s.Step(campaign, ev)) }

func (f *farm) take(effects []Effect) {
	f.t.Helper()
	for _, e := range effects {
		f.trace = append(f.trace, e.String())
		switch of := e.Effect.(type) {
		case tree.Persist:
			if of.Campaign != e.Campaign {
				f.t.Fatalf("what campaign %d wants stored is marked as of %d", e.Campaign, of.Campaign)
			}
			f.stored[e.Campaign] = append(f.stored[e.Campaign], of)
		case tree.Grant:
			f.held[of.Worker] = append(f.held[of.Worker], granted{e.Campaign, of.Lease})
		case tree.Settled:
			f.settled[e.Campaign] = true
		}
	}
}

func (f *farm) join(workers ...string) {
	for _, w := range workers {
		f.step(0, tree.Joined{Worker: w, Slots: 2})
		f.step(0, tree.Ready{Worker: w})
	}
}

// finish has a worker end its oldest lease and ask for the next; false if it has none.
func (f *farm) finish(worker string, facts ...proof.Fact) bool {
	f.t.Helper()
	if len(f.held[worker]) == 0 {
		return false
	}
	g := f.held[worker][0]
	f.held[worker] = f.held[worker][1:]
	f.nodes[g.campaign] += g.Budget
	var ids []proof.ID
	for _, fact := range facts {
		ids = append(ids, fact.Certificate)
	}
	f.step(g.campaign, tree.Result{Worker: worker, Lease: g.ID, Epoch: g.Epoch, Key: g.Key, Phi: 2, Delta: 2,
		Nodes: g.Budget, Facts: facts, Certificates: ids})
	f.step(0, tree.Ready{Worker: worker})
	return true
}

// work lets so many leases end, in turn.
func (f *farm) work(leases int, workers ...string) {
	f.t.Helper()
	for i := 0; leases > 0; i++ {
		if f.finish(workers[i%len(workers)]) {
			leases--
		} else if i > 10*leases+1000 {
			f.t.Fatal("no worker has a lease")
		}
		if i%len(workers) == 0 {
			f.step(0, tree.Tick{})
		}
		for _, w := range workers {
			if len(f.held[w]) > 1 {
				f.t.Fatalf("worker %s asked once and has %d leases", w, len(f.held[w]))
			}
		}
	}
}

// at returns the campaign that a worker searches for, 0 for none.
func (f *farm) at(worker string) uint32 {
	if len(f.held[worker]) == 0 {
		return 0
	}
	return f.held[worker][0].campaign
}

const start = ".BB./B..B/..../..../W..W/.WW. w"

// TestOne holds that a scheduler with one campaign does what its tree does.
func TestOne(t *testing.T) {
	f := newFarm(t, 0)
	f.add(Campaign{Number: 1, Pool: 1, Share: 1}, start)
	alone, err := tree.New(tree.Config{Root: position(t, start), InitialBudget: 100, MaxBudget: 100, SplitAfter: 100,
		ShortPercent: -1}, tree.Snapshot{})
	if err != nil {
		t.Fatal(err)
	}
	var want []string
	for _, ev := range []tree.Event{tree.Joined{Worker: "a", Slots: 2}, tree.Ready{Worker: "a"},
		tree.Joined{Worker: "b", Slots: 2}, tree.Ready{Worker: "b"},
		tree.Tick{}, tree.Pause{}, tree.Ready{Worker: "b"}, tree.Resume{}, tree.Left{Worker: "a"}, tree.Tick{},
		tree.Drain{}} {
		for _, e := range alone.Step(ev) {
			want = append(want, strings.Replace(fmt.Sprint(Effect{1, e}), "campaign=0", "campaign=1", 1))
		}
		f.step(0, ev)
	}
	if !slices.Equal(f.trace, want) {
		t.Errorf("the trace is\n%s\nwithout a scheduler\n%s", strings.Join(f.trace, "\n"), strings.Join(want, "\n"))
	}
}

// TestPriority: the higher one has all workers as soon as its tree has leaves for them, the lower
// one what is left, and all once the other is paused.
func TestPriority(t *testing.T) {
	f := newFarm(t, 1000)
	workers := []string{"a", "b", "c", "d"}
	f.add(Campaign{Number: 1, Pool: 1, Share: 100}, start, "B1-B2xB1")
	f.add(Campaign{Number: 2, Pool: 1, Share: 1, Priority: 5}, start)
	f.join(workers...)
	if f.at("a") != 2 || f.at("b") != 1 {
		t.Errorf("at first, with one leaf, they are at %d and %d", f.at("a"), f.at("b"))
	}
	f.work(20, workers...)
	before := f.nodes[1]
	f.work(100, workers...)
	if f.nodes[1] != before {
		t.Errorf("the lower one got %d nodes while the higher had work", f.nodes[1]-before)
	}
	f.step(2, tree.Pause{})
	f.work(4, workers...) // what was running
	before = f.nodes[2]
	f.work(40, workers...)
	if f.nodes[2] != before {
		t.Errorf("a paused campaign got %d nodes", f.nodes[2]-before)
	}
	f.step(2, tree.Resume{})
	f.work(4, workers...)
	before = f.nodes[1]
	f.work(40, workers...)
	if f.nodes[1] != before {
		t.Errorf("after the pause, the lower one got %d nodes", f.nodes[1]-before)
	}
	// The operator turns it round.
	f.take(f.s.Set(1, 9, 100))
	f.work(24, workers...)
	before = f.nodes[2]
	f.work(40, workers...)
	if f.nodes[2] != before {
		t.Errorf("with the lower priority now, the other one got %d nodes", f.nodes[2]-before)
	}
}

// TestShares: among equals the work is divided as the shares say, on one board and on two; a worker
// changes its board rarely.
func TestShares(t *testing.T) {
	for _, c := range []struct {
		name         string
		facts        uint32
		root         string
		moves        []string
		credit       uint64
		slack        float64
		most, leases int // changes of campaigns by workers, leases
	}{
		{"one board", 1, start, []string{"B1-B2xB1"}, 1000, 0.02, 2000, 2000},
		{"two boards", 2, ".B.B./B...B/...../W...W/.W.W. w", nil, 2000, 0.05, 250, 2000},
	} {
		t.Run(c.name, func(t *testing.T) {
			f := newFarm(t, c.credit)
			f.add(Campaign{Number: 1, Pool: 1, Share: 300}, start)
			f.add(Campaign{Number: 2, Pool: c.facts, Share: 100}, c.root, c.moves...)
			workers := []string{"a", "b", "c", "d", "e"}
			f.join(workers...)
			f.work(100, workers...) // until both trees have leaves enough
			was := map[uint32]uint64{1: f.nodes[1], 2: f.nodes[2]}
			last, changes := map[string]uint32{}, 0
			for range c.leases / 5 {
				f.work(5, workers...)
				for _, w := range workers {
					if at := f.at(w); at != 0 {
						if last[w] != 0 && last[w] != at {
							changes++
						}
						last[w] = at
					}
				}
			}
			one, two := float64(f.nodes[1]-was[1]), float64(f.nodes[2]-was[2])
			if share := one / (one + two); share < 0.75-c.slack || share > 0.75+c.slack {
				t.Errorf("of %v nodes, a share of %.3f went to the one that is to have 0.75", one+two, share)
			}
			if changes > c.most {
				t.Errorf("workers changed %d times", changes)
			}
		})
	}
}

// TestCredit: a campaign that was paused for long does not get everything afterwards.
func TestCredit(t *testing.T) {
	f := newFarm(t, 1000)
	f.add(Campaign{Number: 1, Pool: 1, Share: 1}, start)
	f.add(Campaign{Number: 2, Pool: 1, Share: 1}, start, "B1-B2xB1")
	f.join("a", "b", "c")
	f.work(30, "a", "b", "c")
	f.step(2, tree.Pause{})
	f.work(300, "a", "b", "c")
	f.step(2, tree.Resume{})
	was := f.nodes[1]
	f.work(100, "a", "b", "c")
	if got := f.nodes[1] - was; got < 4000 {
		t.Errorf("of 10000 nodes after the pause the other one got %d", got)
	}
}

// keyAfter returns the key of the position after moves.
func keyAfter(t *testing.T, p amazons.Position, moves ...string) amazons.Key {
	t.Helper()
	for _, text := range moves {
		m, err := p.ParseMove(text)
		if err != nil {
			t.Fatal(err)
		}
		p = p.After(m)
	}
	return p.State().CanonicalKey(p.Board)
}

// TestFacts: what one campaign learns closes the others that share it, and is stored once; those of
// another board do not hear of it.
func TestFacts(t *testing.T) {
	f := newFarm(t, 0)
	root := position(t, start)
	f.add(Campaign{Number: 1, Pool: 1, Share: 1}, start)
	f.add(Campaign{Number: 2, Pool: 1, Share: 1, Priority: -1}, start, "B1-B2xB1")
	f.add(Campaign{Number: 3, Pool: 3, Share: 1, Priority: -2}, start)
	f.join("a", "b", "c")
	if f.at("a") != 1 || f.at("b") != 2 || f.at("c") != 3 {
		t.Fatalf("they are at %d, %d, %d", f.at("a"), f.at("b"), f.at("c"))
	}
	fact := proof.Fact{Key: keyAfter(t, root, "B1-B2xB1"), Verdict: eval.Lost, Nodes: 1, Certificate: proof.ID{1}}
	f.finish("a", fact)
	if !f.settled[2] || f.settled[3] {
		t.Errorf("settled is %v", f.settled)
	}
	if f.at("b") != 2 || len(f.held["b"]) != 1 || !slices.ContainsFunc(f.trace,
		func(l string) bool { return strings.HasPrefix(l, "2: cancel b") && strings.HasSuffix(l, "over") }) {
		t.Error("the lease of the campaign that is settled was not called back")
	}
	stored := 0
	for _, list := range f.stored {
		for _, p := range list {
			stored += len(p.Facts)
		}
	}
	if _, ok := f.trees[2].Fact(fact.Key); !ok || stored != 1 {
		t.Errorf("the fact is stored %d times", stored)
	}
	if _, ok := f.trees[3].Fact(fact.Key); ok {
		t.Error("the fact came to another board")
	}
}

// TestContradiction: it stops the campaigns that share the facts, now and after a restart, and not
// those of other boards.
func TestContradiction(t *testing.T) {
	f := newFarm(t, 0)
	root := position(t, start)
	f.add(Campaign{Number: 1, Pool: 1, Share: 1}, start)
	f.add(Campaign{Number: 2, Pool: 1, Share: 1}, start, "B1-B2xB1")
	f.add(Campaign{Number: 3, Pool: 3, Share: 1}, start)
	f.join("a")
	fact := proof.Fact{Key: keyAfter(t, root, "B1-B2xC2"), Verdict: eval.Won, Nodes: 1, Certificate: proof.ID{1}}
	f.step(1, tree.Proved{Worker: "a", Facts: []proof.Fact{fact}, Certificates: []proof.ID{{1}}})
	fact.Verdict, fact.Certificate = eval.Lost, proof.ID{2}
	f.step(2, tree.Proved{Worker: "a", Facts: []proof.Fact{fact}, Certificates: []proof.ID{{2}}})
	for n, want := range map[uint32]bool{1: true, 2: true, 3: false} {
		stopped := f.trees[n].Status().Contradiction != nil
		kept := slices.ContainsFunc(f.stored[n], func(p tree.Persist) bool { return p.Contradiction != nil })
		if stopped != want || kept != want {
			t.Errorf("campaign %d: stopped %v, stored %v", n, stopped, kept)
		}
	}
	f.finish("a")
	for range 3 {
		f.work(1, "a")
		if f.at("a") != 3 {
			t.Errorf("the worker is at campaign %d", f.at("a"))
		}
	}
}

// TestAddWhileTheyWait: workers that wait because everything is leased go to a campaign that is added.
func TestAddWhileTheyWait(t *testing.T) {
	f := newFarm(t, 0)
	f.add(Campaign{Number: 1, Pool: 1, Share: 1}, start)
	f.join("a", "b", "c")
	if f.at("b") != 0 {
		t.Fatal("there was a second leaf")
	}
	f.add(Campaign{Number: 2, Pool: 2, Share: 1}, ".B.B./B...B/...../W...W/.W.W. w")
	if f.at("b") != 2 {
		t.Errorf("the worker that waited first is at %d", f.at("b"))
	}
	f.step(0, tree.Left{Worker: "b"})
	if f.at("c") != 2 {
		t.Error("the lease of a worker that left was not granted again")
	}
	// One that comes anew has no open request, and what it had not begun is free.
	f.held["c"] = nil
	f.step(0, tree.Joined{Worker: "c", Slots: 2})
	if f.at("c") != 0 {
		t.Error("a worker that did not ask was granted a lease")
	}
	f.step(0, tree.Ready{Worker: "c"})
	if f.at("c") != 2 {
		t.Error("a worker that asks again got nothing")
	}
}

// TestRemove: who waits with a campaign that is taken out waits with another one, or for the next;
// who had its facts in its table is known not to have them on another board.
func TestRemove(t *testing.T) {
	f := newFarm(t, 0)
	root := position(t, start)
	f.add(Campaign{Number: 1, Pool: 1, Share: 1}, start, "B1-B2xB1")
	f.join("a")
	fact := proof.Fact{Key: keyAfter(t, root, "B1-B2xB1"), Verdict: eval.Lost, Nodes: 1, Certificate: proof.ID{1}}
	f.finish("a", fact)
	if !f.settled[1] || f.at("a") != 0 {
		t.Fatalf("settled is %v, the worker at %d", f.settled, f.at("a"))
	}
	f.take(f.s.Remove(1))
	f.take(f.s.Remove(1))
	f.trace = nil
	f.join("b")
	f.step(0, tree.Ready{Worker: "b"})
	f.step(0, tree.Ready{Worker: "nobody"})
	f.step(1, tree.Tick{})
	if want := []string{"0: no work for b: campaign settled",
		"0: no work for b: campaign settled"}; !slices.Equal(f.trace, want) {
		t.Errorf("without a campaign: %q", f.trace)
	}
	if names := f.s.Workers(); !slices.Equal(names, []Member{{Name: "a"}, {Name: "b"}}) {
		t.Errorf("the workers are %v", names)
	}
	f.add(Campaign{Number: 2, Pool: 2, Share: 1}, ".B.B./B...B/...../W...W/.W.W. w")
	if f.at("a") != 2 || f.at("b") != 0 {
		t.Errorf("with the next campaign they are at %d and %d", f.at("a"), f.at("b"))
	}
	f.add(Campaign{Number: 3, Pool: 1, Share: 1, Priority: -1}, start)
	if f.at("b") != 3 {
		t.Errorf("the one that still waits is at %d", f.at("b"))
	}

	// Those who wait with one go to another.
	f = newFarm(t, 0)
	f.add(Campaign{Number: 1, Pool: 1, Share: 1}, start, "B1-B2xB1")
	f.add(Campaign{Number: 2, Pool: 2, Share: 1, Priority: -1, Paused: true}, ".B.B./B...B/...../W...W/.W.W. w")
	f.join("a", "b")
	if f.finish("a", fact); f.at("a") != 0 || f.at("b") != 0 {
		t.Fatalf("they are at %d and %d", f.at("a"), f.at("b"))
	}
	f.take(f.s.Remove(1))
	f.step(2, tree.Resume{})
	if f.at("a") != 2 && f.at("b") != 2 {
		t.Error("nobody went to the campaign that is left")
	}
}

// TestStanding: a result that is confirmed in one campaign counts in all, also in one that is added
// later; a worker is sent to check a result of another campaign, and is not sent where it gets
// nothing before its own are checked; who is caught is distrusted in all.
func TestStanding(t *testing.T) {
	f := newFarm(t, 0)
	f.checks = 2
	f.add(Campaign{Number: 1, Pool: 1, Share: 1, Priority: 1}, start)
	f.add(Campaign{Number: 2, Pool: 2, Share: 1}, ".B.B./B...B/...../W...W/.W.W. w")
	f.join("a", "b")
	if f.at("a") != 1 || f.at("b") != 2 {
		t.Fatalf("the workers are at %d and %d", f.at("a"), f.at("b"))
	}
	f.finish("a") // nobody else is there to check it, and the only other leaf is leased
	if f.at("a") != 0 {
		t.Fatalf("a worker whose results wait is at %d", f.at("a"))
	}
	f.finish("b")
	if f.at("b") != 1 || !f.held["b"][0].Check || f.at("a") != 2 || !f.held["a"][0].Check {
		t.Fatalf("the workers have %+v and %+v", f.held["a"], f.held["b"])
	}
	f.finish("a")
	f.finish("b")
	for _, w := range []string{"a", "b"} {
		for n, tree := range f.trees {
			if agreed, _ := tree.Standing(w); agreed != 2 || !tree.Trusted(w) {
				t.Errorf("in campaign %d %d results of %s count as confirmed", n, agreed, w)
			}
		}
	}
	if list := f.s.Workers(); !slices.Equal(list, []Member{{"a", 2}, {"b", 2}}) {
		t.Errorf("the workers are %+v", list)
	}
	f.add(Campaign{Number: 3, Pool: 1, Share: 1, Priority: 2}, start)
	if agreed, _ := f.trees[3].Standing("b"); agreed != 2 || !f.trees[3].Trusted("b") {
		t.Errorf("in a new campaign %d results count as confirmed", agreed)
	}
	for n := range f.trees { // also when none is left in between
		f.take(f.s.Remove(n))
	}
	clear(f.trees)
	f.add(Campaign{Number: 4, Pool: 1, Share: 1}, start)
	if agreed, _ := f.trees[4].Standing("b"); agreed != 2 {
		t.Errorf("after the others were taken out %d results count as confirmed", agreed)
	}
	f.step(0, tree.Distrusted{Party: "b"})
	f.take(f.s.Remove(4))
	f.add(Campaign{Number: 5, Pool: 1, Share: 1}, start)
	for n, tree := range f.trees {
		if agreed, _ := tree.Standing("b"); agreed != 0 || tree.Trusted("b") {
			t.Errorf("campaign %d trusts who was caught", n)
		}
	}
}

// TestKnownFromBefore: what a party is said to have shown when it joins counts in all campaigns,
// also where there is none when it joins; what it shows then adds to it; and nothing of it is left
// when it is caught.
func TestKnownFromBefore(t *testing.T) {
	f := newFarm(t, 0)
	f.checks = 2
	want := func(agreed, solved int) {
		t.Helper()
		for n, tree := range f.trees {
			if a, b := tree.Standing("one"); a != agreed || b != solved {
				t.Errorf("in campaign %d %d results and %d positions speak for it, want %d and %d", n, a, b, agreed,
					solved)
			}
		}
		if a, b := f.s.Standing("one"); a != agreed || b != solved {
			t.Errorf("in the farm %d results and %d positions speak for it, want %d and %d", a, b, agreed, solved)
		}
		if list := f.s.Workers(); len(list) > 0 && list[0].Confirmed != agreed {
			t.Errorf("the workers are %+v", list)
		}
	}
	f.step(0, tree.Joined{Worker: "a", Slots: 1, Party: "one", Confirmed: 5, Solved: 3})
	f.add(Campaign{Number: 1, Pool: 1, Share: 1}, start)
	f.add(Campaign{Number: 2, Pool: 1, Share: 1}, start)
	want(5, 3)
	// its second worker brings it nothing
	f.step(0, tree.Joined{Worker: "b", Slots: 1, Party: "one", Confirmed: 5, Solved: 3})
	want(5, 3)
	f.step(0, tree.PartyConfirmed{Party: "one"})
	want(6, 3)
	if !f.trees[1].Trusted("a") {
		t.Error("it is not trusted")
	}
	f.step(0, tree.Distrusted{Party: "one"})
	want(0, 0)
	f.take(f.s.Remove(2))
	delete(f.trees, 2)
	f.add(Campaign{Number: 3, Pool: 1, Share: 1}, start)
	want(0, 0)
}
