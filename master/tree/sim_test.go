package tree

import (
	"crypto/sha256"
	"errors"
	"flag"
	"fmt"
	"math/rand/v2"
	"reflect"
	"testing"

	"amazonsfarm/master/tree/graph"
	"amazonsfarm/shared/amazons"
	"amazonsfarm/shared/eval"
	"amazonsfarm/shared/numbers"
	"amazonsfarm/shared/proof"
	"amazonsfarm/shared/testkit/reference"
)

// oracle knows who wins by exhaustive search.
type oracle map[amazons.Board]*reference.Search

func (o oracle) wins(b amazons.Board, s amazons.State) bool {
	if o[b] == nil {
		o[b] = reference.New(b)
	}
	return o[b].Wins(s)
}

func (o oracle) outcome(b amazons.Board, s amazons.State) eval.Verdict {
	if o.wins(b, s) {
		return eval.Won
	}
	return eval.Lost
}

func (o oracle) fact(b amazons.Board, s amazons.State, work uint64) proof.Fact {
	k := s.CanonicalKey(b)
	return proof.Fact{Key: k, Verdict: o.outcome(b, s), Nodes: work, Certificate: certificate(k)}
}

func certificate(k amazons.Key) proof.ID {
	bytes := k.Bytes()
	return sha256.Sum256(bytes[:])
}

// latePosition plays random moves from the start until few squares are empty
// and there is still something to solve.
func latePosition(r *rand.Rand, b amazons.Board, empty int) amazons.Position {
	for {
		s := reference.Played(r, reference.Start(b), empty)
		if arrows := s.Arrows(b); b.Squares()-8-arrows == empty && len(s.Moves(nil)) > 8 {
			return amazons.PositionOf(b, s, amazons.Colour(arrows%2))
		}
	}
}

// simulation is a farm of virtual workers on a network that loses, repeats and
// reorders, over a master that crashes.
type simulation struct {
	r      *rand.Rand
	cfg    Config
	oracle oracle
	disk   *disk
	tree   *Tree
	twin   *Tree   // takes the same events; nil: not in this run
	net    []Event // under way to the master
	jobs   map[string][]*job
	names  []string
	next   int // for names
	steps  int
	answer *Settled
	spent  uint64
	seen   struct{ crashes, lost, stale, splits, repeats, cancels, aside int }
}

// job is a lease on the side of its worker.
type job struct {
	lease     Lease
	nodes     uint64
	cancelled bool
}

func newSimulation(seed uint64, cfg Config, o oracle) (*simulation, error) {
	s := &simulation{r: rand.New(rand.NewPCG(seed, 1)), cfg: cfg, oracle: o, disk: newDisk(), jobs: map[string][]*job{}}
	if seed%4 == 0 {
		s.twin = new(Tree)
	}
	return s, s.boot()
}

func (s *simulation) boot() (err error) {
	if s.tree, err = New(s.cfg, s.disk.snapshot(s.r)); err != nil {
		return err
	}
	if s.twin != nil {
		if s.twin, err = New(s.cfg, s.disk.snapshot(s.r)); err != nil { // in another order
			return err
		}
	}
	for _, name := range s.names { // all come back
		s.send(Joined{Worker: name, Slots: 2}, Ready{name})
	}
	return s.tree.Audit()
}

func (s *simulation) send(events ...Event) { s.net = append(s.net, events...) }

func (s *simulation) chance(n int) bool { return s.r.IntN(n) == 0 }

// deliver gives one event to the master, with crashes before and after the
// commit, and its effects to the workers.
func (s *simulation) deliver(ev Event) error {
	before := s.tree.graph.Expanded
	effects := s.tree.Step(ev)
	s.steps++
	if s.twin != nil && !reflect.DeepEqual(effects, s.twin.Step(ev)) {
		return fmt.Errorf("the same events have other effects at %s", ev)
	}
	if s.steps < 50 || s.chance(5+s.tree.graph.Len()/20) {
		if err := s.tree.Audit(); err != nil {
			return fmt.Errorf("after %s: %w", ev, err)
		}
	}
	s.seen.splits += s.tree.graph.Expanded - before
	if s.chance(400) { // nothing was written, nothing acknowledged: the worker sends again
		s.seen.crashes++
		s.send(ev)
		return s.boot()
	}
	for i, e := range effects {
		if p, ok := e.(Persist); ok {
			if i != 0 {
				return errors.New("persist is not first")
			}
			if err := s.disk.write(p); err != nil {
				return err
			}
		}
	}
	if s.steps < 20 || s.chance(5+s.tree.graph.Len()/10) {
		again, err := New(s.cfg, s.disk.snapshot(s.r))
		if err != nil {
			return err
		}
		if err := same(s.tree, again); err != nil {
			return fmt.Errorf("recovered after %s: %w", ev, err)
		}
	}
	if s.tree.nodes < s.spent || s.tree.nodes != s.disk.spent {
		return fmt.Errorf("spent %d, then %d, on disk %d", s.spent, s.tree.nodes, s.disk.spent)
	}
	s.spent = s.tree.nodes
	if s.chance(400) { // written, but not told
		s.seen.crashes++
		return s.boot()
	}
	live := map[amazons.Key]LeaseID{}
	for _, l := range s.tree.running {
		if other, ok := live[l.node.Key]; ok {
			return fmt.Errorf("leases %d and %d on one leaf", other, l.id)
		}
		live[l.node.Key] = l.id
	}
	for _, e := range effects {
		switch e := e.(type) {
		case Grant:
			n := s.tree.graph.Get(e.Lease.Key)
			if n == nil || n.Solved() || n.Expanded || n.Live == 0 || n.Lease == 0 || LeaseID(n.Lease) != e.Lease.ID {
				return fmt.Errorf("%s of a leaf that is not free", e)
			}
			if len(e.Lease.Facts) > s.cfg.policy.factsPerLease {
				return fmt.Errorf("%s with %d facts", e, len(e.Lease.Facts))
			}
			if !s.chance(200) { // else lost on the way
				s.jobs[e.Worker] = append(s.jobs[e.Worker], &job{lease: e.Lease})
			}
		case Cancel:
			s.seen.cancels++
			for _, j := range s.jobs[e.Worker] {
				if j.lease.ID == e.Lease && j.lease.Epoch == e.Epoch {
					j.cancelled = true
				}
			}
		case Contradiction:
			return errors.New(e.String())
		case Settled:
			s.answer = &e
		case Refused:
			s.seen.stale++
		}
	}
	return nil
}

// work lets a worker go on with its first job.
func (s *simulation) work(name string) {
	jobs := s.jobs[name]
	if len(jobs) == 0 {
		return
	}
	j, b := jobs[0], s.cfg.Root.Board
	state, _ := j.lease.Key.State(b)
	left := b.Squares() - 8 - state.Arrows(b)
	cost := uint64(1) << (2 * max(left-3, 0)) // nodes that it takes
	j.nodes += 1 + s.r.Uint64N(40)
	solved := j.nodes >= cost
	if !solved && !j.cancelled && j.nodes < j.lease.Budget {
		s.send(Progress{Worker: name, Lease: j.lease.ID, Epoch: j.lease.Epoch, Nodes: j.nodes})
		if s.chance(6) { // something on the way
			below := state
			for range 1 + s.r.IntN(2) {
				if moves := below.Moves(nil); len(moves) > 0 {
					below = below.After(moves[s.r.IntN(len(moves))])
				}
			}
			f := s.oracle.fact(b, below, s.r.Uint64N(100))
			s.send(Proved{Worker: name, Lease: j.lease.ID, Epoch: j.lease.Epoch, Nodes: j.nodes, Facts: []proof.Fact{f},
				Certificates: []proof.ID{f.Certificate}})
		}
		return
	}
	s.jobs[name] = jobs[1:]
	res := Result{Worker: name, Lease: j.lease.ID, Epoch: j.lease.Epoch, Key: j.lease.Key, Nodes: j.nodes,
		Cancelled: j.cancelled && !solved,
		Phi:       1 + s.r.Uint32N(30), Delta: 1 + s.r.Uint32N(30)}
	if solved {
		f := s.oracle.fact(b, state, j.nodes)
		res.Verdict, res.Facts, res.Certificates = f.Verdict, []proof.Fact{f}, []proof.ID{f.Certificate}
	} else {
		var list []numbers.Child
		for _, m := range state.Moves(nil) {
			c := numbers.Child{Key: state.After(m).CanonicalKey(b), Phi: 1 + s.r.Uint32N(10), Delta: 1 +
				s.r.Uint32N(10)}
			if s.chance(50) {
				c.Phi, c.Delta = 0, graph.Infinity // "solved", they say
			}
			list = append(list, c)
		}
		res.Children = numbers.Append(nil, list)
	}
	if s.chance(30) { // and ends without a word, sometimes
		return
	}
	s.send(res, Ready{name})
	if s.chance(20) {
		s.seen.repeats++
		s.send(res)
	}
}

func (s *simulation) run(workers int) error {
	for s.answer == nil {
		if s.steps > 100_000 {
			return fmt.Errorf("no end:\n%s", s.tree.Describe())
		}
		switch {
		case len(s.names) < workers && s.chance(5):
			s.next++
			name := fmt.Sprintf("w%d", s.next)
			s.names = append(s.names, name)
			s.send(Joined{Worker: name, Slots: 1 + s.r.IntN(2)}, Ready{name})
		case len(s.names) > 1 && s.chance(400): // a worker dies, with or without notice
			s.seen.lost++
			i := s.r.IntN(len(s.names))
			if s.chance(2) {
				s.send(Left{s.names[i]})
			}
			delete(s.jobs, s.names[i])
			s.names = append(s.names[:i], s.names[i+1:]...)
		case s.cfg.CheckFirst > 0 && len(s.names) > 0 && s.chance(300): // one is caught
			s.send(Distrusted{s.names[s.r.IntN(len(s.names))]})
		case s.chance(12 * workers):
			if err := s.deliver(Tick{}); err != nil {
				return err
			}
			for _, name := range s.names { // a worker without anything asks again
				if len(s.jobs[name]) == 0 && s.chance(4) {
					s.send(Joined{Worker: name, Slots: 2}, Ready{name})
				}
			}
		case len(s.net) > 0 && !s.chance(3):
			i := 0
			if s.chance(3) {
				i = s.r.IntN(len(s.net))
			}
			ev := s.net[i]
			s.net = append(s.net[:i], s.net[i+1:]...)
			if s.chance(50) {
				s.send(ev)
			}
			if err := s.deliver(ev); err != nil {
				return err
			}
		case len(s.names) > 0:
			s.work(s.names[s.r.IntN(len(s.names))])
		}
		s.seen.aside = max(s.seen.aside, len(s.tree.aside))
	}
	return s.tree.Audit()
}

var simulationSeeds = flag.Int("seeds", 24, "number of farms to simulate")

// TestSimulation runs farms to the end over bad networks, dying workers and
// crashes of the master: the answer is always that of exhaustive search.
func TestSimulation(t *testing.T) {
	seeds := *simulationSeeds
	if testing.Short() {
		seeds = min(seeds, 8)
	}
	o := oracle{}
	b := amazons.Board{Width: 4, Height: 4}
	outcomes := map[string]int{}
	var total struct{ steps, crashes, lost, stale, splits, repeats, cancels, aside int }
	for seed := range uint64(seeds) {
		r := rand.New(rand.NewPCG(seed, 0))
		empty := 7
		if seed%5 == 0 {
			empty = 8
		}
		root := latePosition(r, b, empty)
		cfg := Config{Root: root, InitialBudget: 10, MaxBudget: 200, SplitAfter: 60,
			policy: policy{maxTries: 2, factsKept: 64, factsPerLease: 8}}
		if seed%3 == 1 {
			cfg.SplitAfter, cfg.MaxBudget = 1<<40, 2000 // split by starving only
		}
		want := Settled{Verdict: o.outcome(b, root.State())}
		if seed%2 == 1 { // made-up numbers meet made-up numbers: most are contradicted
			cfg.CheckFirst, cfg.CheckSeed = 1+int(seed%3), seed
			cfg.policy.checkEvery, cfg.policy.checkSpread, cfg.policy.checkTicks = 3, 1+int(seed%16), 5
		}
		if seed%4 == 3 { // the question is about some first moves
			moves := root.State().Moves(nil)
			r.Shuffle(len(moves), func(i, j int) { moves[i], moves[j] = moves[j], moves[i] })
			cfg.FirstMoves = moves[:1+r.IntN(4)]
			want = Settled{NoGivenMoveWins: true}
			for _, m := range cfg.FirstMoves {
				if !o.wins(b, root.State().After(m)) {
					want = Settled{Verdict: eval.Won}
				}
			}
		}
		cfg = cfg.WithDefaults()
		s, err := newSimulation(seed, cfg, o)
		if err != nil {
			t.Fatal(err)
		}
		if err := s.run(1 + r.IntN(12)); err != nil {
			t.Fatalf("seed %d: %s: %v", seed, root, err)
		}
		if *s.answer != want {
			t.Fatalf("seed %d: %s: %s, want %s", seed, root, s.answer, want)
		}
		outcomes[want.String()]++
		checkEvidence(t, s.tree, o)
		total.steps += s.steps
		total.crashes += s.seen.crashes
		total.lost += s.seen.lost
		total.stale += s.seen.stale
		total.splits += s.seen.splits
		total.repeats += s.seen.repeats
		total.cancels += s.seen.cancels
		total.aside += s.seen.aside
	}
	t.Logf("%v %+v", outcomes, total)
	if !testing.Short() && (len(outcomes) < 3 || total.crashes == 0 || total.lost == 0 || total.stale == 0 ||
		total.splits == 0 ||
		total.repeats == 0 || total.cancels == 0 || total.aside == 0) {
		t.Error("the simulation has become too tame")
	}
}

// checkEvidence follows the tree's own evidence from the root: every position it
// needs is won by an entry of WonNodes or by a fact, or lost with all replies so.
func checkEvidence(t *testing.T, tree *Tree, o oracle) {
	t.Helper()
	b := tree.cfg.Root.Board
	entries := map[amazons.Key]amazons.Key{} // the positions after their moves
	for e := range tree.WonNodes() {
		s, _ := e.Key.State(b)
		if !s.Legal(e.Move) || o.wins(b, s.After(e.Move)) {
			t.Fatalf("entry %+v is wrong", e)
		}
		entries[e.Key] = s.After(e.Move).CanonicalKey(b)
	}
	var lost func(k amazons.Key)
	won := func(k amazons.Key) {
		if after, ok := entries[k]; ok {
			lost(after)
		} else if f, ok := tree.Fact(k); !ok || f.Verdict != eval.Won {
			t.Fatalf("no evidence that %s is won", tree.text(k))
		}
	}
	done := map[amazons.Key]bool{}
	lost = func(k amazons.Key) {
		if f, ok := tree.Fact(k); done[k] || ok && f.Verdict == eval.Lost {
			return
		}
		done[k] = true
		s, _ := k.State(b)
		for _, m := range s.Moves(nil) {
			won(s.After(m).CanonicalKey(b))
		}
	}
	wins := false
	for _, m := range tree.FirstMoves() {
		if o.outcome(b, tree.cfg.Root.State().After(m.Move)) != m.Verdict && m.Verdict != eval.Open {
			t.Fatalf("first move %s: %s", m.Move, m.Verdict)
		}
		wins = wins || m.Verdict == eval.Lost
	}
	a := tree.Answer()
	switch {
	case a.NoGivenMoveWins:
		if wins {
			t.Fatal("a given first move wins")
		}
		for _, m := range tree.FirstMoves() {
			won(m.Key)
		}
	case a.Verdict == eval.Won:
		won(tree.graph.Root.Key)
	default:
		lost(tree.graph.Root.Key)
	}
}
