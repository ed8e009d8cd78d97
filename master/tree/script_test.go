package tree

import (
	"fmt"
	"strconv"
	"strings"
	"testing"

	"github.com/cockroachdb/datadriven"

	"amazonsfarm/master/tree/graph"
	"amazonsfarm/shared/amazons"
	"amazonsfarm/shared/eval"
	"amazonsfarm/shared/numbers"
	"amazonsfarm/shared/proof"
)

// TestScripts runs the scripts of testdata; what follows a command's ---- is the
// trace of its effects. -rewrite writes them anew. The commands:
//
//	new root=POSITION [first-moves=(M,...)] [setting=N ...]
//	add-worker W [slots=N]      remove-worker W      ready W
//	progress W LEASE            [nodes=N] [activity=N]
//	hold W LEASE                [beats=N]  activity and a tick, again and again
//	result W LEASE              [nodes=N] [phi=N] [delta=N] [outcome=won|lost] [cancelled] [children] FACT
//	proved W                    FACT
//	tick [N]   pause   resume   drain
//	crash                       the tree is gone; recover makes one from what was persisted
//	recover
//	describe   status   first-moves   won-nodes   needed
//	facts LEASE                 the facts that went with a lease
//
// LEASE is lease=ID [epoch=N] and defaults to the first one that W holds. FACT is
// fact=won|lost [at=root|(MOVE,...)] [work=N] [cert=none|unknown]: at leads from the
// root to its position, that of the lease without it. children gives the
// children of the job the numbers 1/2, 2/3, 3/4, ...
func TestScripts(t *testing.T) {
	datadriven.Walk(t, "testdata", func(t *testing.T, path string) {
		if strings.HasPrefix(path, "testdata/fuzz/") {
			return // inputs of fuzz targets
		}
		s := &script{disk: newDisk(), granted: map[string]Lease{}}
		datadriven.RunTest(t, path, func(t *testing.T, d *datadriven.TestData) string { return s.run(t, d) })
	})
}

type script struct {
	cfg     Config
	disk    *disk
	tree    *Tree
	granted map[string]Lease // by epoch/id
}

// number scans an argument that may be missing.
func number[T int | uint32 | uint64](t *testing.T, d *datadriven.TestData, key string, otherwise T) T {
	d.MaybeScanArgs(t, key, &otherwise)
	return otherwise
}

func (s *script) run(t *testing.T, d *datadriven.TestData) string {
	if s.tree == nil && d.Cmd != "new" && d.Cmd != "recover" {
		return "the master is down\n"
	}
	who := ""
	if len(d.CmdArgs) > 0 {
		who = d.CmdArgs[0].Key
	}
	switch d.Cmd {
	case "new":
		return s.begin(t, d)
	case "add-worker":
		return s.step(t, Joined{Worker: who, Slots: number(t, d, "slots", 1)})
	case "remove-worker":
		return s.step(t, Left{who})
	case "ready":
		return s.step(t, Ready{who})
	case "progress":
		l := s.lease(t, d, who)
		return s.step(t, Progress{who, l.ID, l.Epoch, number[uint64](t, d, "nodes", 0),
			number[uint64](t, d, "activity", 0)})
	case "hold":
		l, out := s.lease(t, d, who), ""
		for i := range number[uint64](t, d, "beats", 1) {
			for _, o := range []string{s.step(t, Progress{who, l.ID, l.Epoch, 0, i + 1}), s.step(t, Tick{})} {
				if o != "ok\n" {
					out += fmt.Sprintf("at tick %d:\n%s", s.tree.now, o)
				}
			}
		}
		return out
	case "result":
		return s.step(t, s.result(t, d, who))
	case "proved":
		facts, certs := s.facts(t, d, amazons.Key{})
		ev := Proved{Worker: who, Facts: facts, Certificates: certs}
		if ev.Nodes = number[uint64](t, d, "nodes", 0); ev.Nodes > 0 {
			l := s.lease(t, d, who)
			ev.Lease, ev.Epoch = l.ID, l.Epoch
		}
		return s.step(t, ev)
	case "tick":
		n := 1
		if who != "" {
			n, _ = strconv.Atoi(who)
		}
		out := ""
		for range n {
			if o := s.step(t, Tick{}); o != "ok\n" {
				out += fmt.Sprintf("at tick %d:\n%s", s.tree.now, o)
			}
		}
		if out == "" {
			return "ok\n"
		}
		return out
	case "pause":
		return s.step(t, Pause{})
	case "resume":
		return s.step(t, Resume{})
	case "drain":
		return s.step(t, Drain{})
	case "crash":
		s.tree = nil
		return "ok\n"
	case "recover":
		tree, err := New(s.cfg, s.disk.snapshot(nil))
		if err != nil {
			return err.Error() + "\n"
		}
		s.tree = tree
		return fmt.Sprintf("epoch %d, %d nodes, %d facts, spent %d\n", tree.epoch, tree.graph.Len(),
			tree.graph.FactsWon+tree.graph.FactsLost,
			tree.nodes)
	case "describe":
		return s.tree.Describe()
	case "status":
		return s.status()
	case "first-moves":
		var b strings.Builder
		for _, m := range s.tree.FirstMoves() {
			fmt.Fprintf(&b, "%s %s %s %s work=%d\n", m.Move, graph.NameOf(m.Key), m.Verdict,
				numbersText(m.Phi, m.Delta),
				m.Nodes)
		}
		return b.String()
	case "needed":
		needed, all := s.tree.Needed()
		return fmt.Sprintf("%d of %d nodes\n", needed, all)
	case "won-nodes":
		var b strings.Builder
		for n := range s.tree.WonNodes() {
			fmt.Fprintf(&b, "%s: %s\n", s.tree.text(n.Key), n.Move)
		}
		return b.String()
	case "facts":
		var b strings.Builder
		for _, f := range s.lease(t, d, who).Facts {
			fmt.Fprintf(&b, "%s %s work=%d\n", s.tree.text(f.Key), f.Verdict, f.Nodes)
		}
		return b.String()
	}
	d.Fatalf(t, "unknown command %s", d.Cmd)
	return ""
}

func (s *script) begin(t *testing.T, d *datadriven.TestData) string {
	var root string
	d.ScanArgs(t, "root", &root)
	s.cfg = Config{
		Root:          position(t, root),
		InitialBudget: number[uint64](t, d, "initial-budget", 100), MaxBudget: number[uint64](t, d, "max-budget", 1000),
		SplitAfter: number[uint64](t, d, "split-after", 1000), SilentTicks: number(t, d, "silent-ticks", 0),
		MaxPositions: number(t, d, "max-positions", 0), MaxFacts: number(t, d, "max-facts", 0),
		MaxWorkers: number(t, d, "max-workers", 0), ProbePercent: number(t, d, "probe-percent", 100),
		ShortPercent: number(t, d, "short-percent", -1), // results of scripts use as few nodes as they like
		policy: policy{
			maxTries: number(t, d, "max-tries", 0), splitBelow: number(t, d, "split-below", 0),
			warmPercent: number(t, d, "warm-percent", 100),
			factsKept:   number(t, d, "facts-kept", 0), factsPerLease: number(t, d, "facts-per-lease", 0),
		},
	}
	if arg, ok := d.Arg("first-moves"); ok {
		for _, text := range arg.Vals {
			m, err := amazons.ParseMove(s.cfg.Root.Board, text)
			if err != nil {
				d.Fatalf(t, "%v", err)
			}
			s.cfg.FirstMoves = append(s.cfg.FirstMoves, m)
		}
	}
	tree, err := New(s.cfg, Snapshot{})
	if err != nil {
		return err.Error() + "\n"
	}
	s.disk, s.tree = newDisk(), tree
	return "ok\n"
}

func (s *script) step(t *testing.T, ev Event) string {
	var b strings.Builder
	for _, e := range s.tree.Step(ev) {
		switch e := e.(type) {
		case Persist:
			if err := s.disk.write(e); err != nil {
				t.Fatal(err)
			}
		case Grant:
			s.granted[fmt.Sprint(e.Lease.Epoch, e.Lease.ID)] = e.Lease
		}
		fmt.Fprintln(&b, e)
	}
	if err := s.tree.Audit(); err != nil {
		t.Fatal(err)
	}
	if b.Len() == 0 {
		return "ok\n"
	}
	return b.String()
}

func (s *script) lease(t *testing.T, d *datadriven.TestData, who string) Lease {
	id, epoch := number[uint64](t, d, "lease", 0), number(t, d, "epoch", s.tree.epoch)
	if id == 0 {
		w := s.tree.workers[who]
		if w == nil || len(w.leases) == 0 {
			d.Fatalf(t, "%s holds no lease", who)
		}
		id = uint64(w.leases[0].id)
	}
	if l, ok := s.granted[fmt.Sprint(epoch, id)]; ok {
		return l
	}
	return Lease{ID: LeaseID(id), Epoch: epoch}
}

func (s *script) result(t *testing.T, d *datadriven.TestData, who string) Result {
	l := s.lease(t, d, who)
	r := Result{Worker: who, Lease: l.ID, Epoch: l.Epoch, Key: l.Key, Nodes: number[uint64](t, d, "nodes", 0),
		Phi: number[uint32](t, d, "phi", 1), Delta: number[uint32](t, d, "delta", 1), Cancelled: d.HasArg("cancelled")}
	if d.HasArg("outcome") {
		r.Verdict = outcomeArg(t, d, "outcome")
	}
	r.Facts, r.Certificates = s.facts(t, d, l.Key)
	if d.HasArg("children") {
		state, _ := l.Key.State(s.cfg.Root.Board)
		var list []numbers.Child
		for i, m := range state.Moves(nil) {
			list = append(list, numbers.Child{Key: state.After(m).CanonicalKey(s.cfg.Root.Board), Phi: uint32(i + 1),
				Delta: uint32(i + 2)})
		}
		r.Children = numbers.Append(nil, list)
	}
	return r
}

func outcomeArg(t *testing.T, d *datadriven.TestData, key string) eval.Verdict {
	var text string
	d.ScanArgs(t, key, &text)
	switch text {
	case "won":
		return eval.Won
	case "lost":
		return eval.Lost
	}
	return eval.Open
}

func (s *script) facts(t *testing.T, d *datadriven.TestData, k amazons.Key) (facts []proof.Fact,
	certificates []proof.ID) {
	if !d.HasArg("fact") {
		return nil, nil
	}
	if arg, ok := d.Arg("at"); ok {
		p := s.cfg.Root
		for _, text := range arg.Vals {
			if text == "root" {
				continue
			}
			m, err := p.ParseMove(text)
			if err != nil {
				d.Fatalf(t, "%v", err)
			}
			p = p.After(m)
		}
		k = p.State().CanonicalKey(p.Board)
	}
	f := proof.Fact{Key: k, Verdict: outcomeArg(t, d, "fact"), Nodes: number[uint64](t, d, "work", 1),
		Certificate: certificate(k)}
	var cert string
	d.MaybeScanArgs(t, "cert", &cert)
	certificates = []proof.ID{f.Certificate}
	switch cert {
	case "none":
		f.Certificate = proof.ID{}
		certificates = []proof.ID{{}}
	case "unknown":
		certificates = nil
	}
	return []proof.Fact{f}, certificates
}

func (s *script) status() string {
	st := s.tree.Status()
	var b strings.Builder
	fmt.Fprintf(&b, "%s", st.Verdict)
	for _, f := range []struct {
		set  bool
		name string
	}{{st.NoGivenMoveWins, "no-given-move-wins"}, {st.Settled, "settled"}, {s.tree.paused, "paused"},
		{s.tree.draining, "draining"}, {s.tree.full, "full"}} {
		if f.set {
			b.WriteString(" " + f.name)
		}
	}
	fmt.Fprintf(&b, " %s spent=%d running=%d\n", numbersText(st.Phi, st.Delta), st.Spent, st.Running)
	fmt.Fprintf(&b, "nodes=%d expanded=%d frontier=%d leased=%d aside=%d facts=%d+%d dropped=%d\n",
		st.Nodes, st.Expanded, st.Frontier, st.Leased, st.Aside, st.FactsWon, st.FactsLost,
		s.tree.graph.FactsDropped)
	for _, w := range st.Workers {
		in := s.tree.workers[w.Name]
		fmt.Fprintf(&b, "%s slots=%d waiting=%d leases=%d lost=%d\n", w.Name, in.slots, in.waiting, len(w.Leases),
			w.Lost)
	}
	fmt.Fprintf(&b, "no work: %s\n", st.NoWork)
	if st.Contradiction != nil {
		fmt.Fprintln(&b, st.Contradiction)
	}
	return b.String()
}
