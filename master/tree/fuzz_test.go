package tree

import (
	"fmt"
	"testing"
	"time"

	"amazonsfarm/shared/amazons"
	"amazonsfarm/shared/eval"
	"amazonsfarm/shared/numbers"
	"amazonsfarm/shared/proof"
	"amazonsfarm/shared/testkit/fuzzing"
)

// play is one input at work on a tree.
type play struct {
	tape    *fuzzing.Tape
	root    amazons.Position
	cfg     Config
	tree    *Tree
	disk    *disk
	keys    []amazons.Key // that events name
	leases  []Lease       // that were granted
	settled *Settled
}

// key chooses a position: one of the campaign, one that was granted, or any words.
func (p *play) key() amazons.Key {
	switch n := p.tape.Choose(len(p.keys) + 4); {
	case n < len(p.keys):
		return p.keys[n]
	case n < len(p.keys)+3 && len(p.leases) > 0:
		return p.leases[p.tape.Choose(256)%len(p.leases)].Key
	}
	return amazons.Key{A: p.tape.Number(), B: p.tape.Number()}
}

func (p *play) number32() uint32 { return uint32(min(p.tape.Number(), 1<<32-1)) }

func (p *play) worker() string { return fmt.Sprint("w", p.tape.Choose(4)) }

// lease chooses one that was granted, with its epoch and key, or numbers.
func (p *play) lease() Lease {
	if n := p.tape.Choose(8); n > 0 && len(p.leases) > 0 {
		return p.leases[p.tape.Choose(256)%len(p.leases)]
	}
	return Lease{ID: LeaseID(p.tape.Number()), Epoch: p.tape.Number(), Key: p.key()}
}

// facts says something about positions, with certificates of which most are vouched for.
func (p *play) facts() (facts []proof.Fact, vouched []proof.ID) {
	for range p.tape.Choose(5) {
		f := proof.Fact{Key: p.key(), Verdict: eval.Verdict(p.tape.Choose(4)), Nodes: p.tape.Number()}
		id := certificate(f.Key)
		if how := p.tape.Choose(8); how > 0 {
			f.Certificate = id
			if how > 1 {
				vouched = append(vouched, id)
			}
		}
		facts = append(facts, f)
	}
	return facts, vouched
}

// event makes the next one, and says who would have sent it.
func (p *play) event() Event {
	switch p.tape.Choose(14) {
	case 0:
		return Joined{Worker: p.worker(), Slots: int(p.tape.Number())}
	case 1:
		return Left{Worker: p.worker()}
	case 2, 3, 4:
		return Ready{Worker: p.worker()}
	case 5:
		l := p.lease()
		return Progress{Worker: p.worker(), Lease: l.ID, Epoch: l.Epoch, Nodes: p.tape.Number(),
			Activity: p.tape.Number()}
	case 6, 7, 8, 9:
		l := p.lease()
		r := Result{Worker: p.worker(), Lease: l.ID, Epoch: l.Epoch, Key: l.Key,
			Verdict: eval.Verdict(p.tape.Choose(4)),
			Phi:     p.number32(), Delta: p.number32(),
			Nodes: p.tape.Number(), Cancelled: p.tape.Choose(3) == 0}
		r.Facts, r.Certificates = p.facts()
		if s, err := l.Key.State(p.cfg.Root.Board); err == nil && p.tape.Choose(2) == 1 {
			var list []numbers.Child
			for i, m := range s.Moves(nil) {
				c := numbers.Child{Key: s.After(m).CanonicalKey(p.cfg.Root.Board)}
				if i < 40 {
					c.Phi, c.Delta = p.number32(), p.number32()
				}
				list = append(list, c)
			}
			r.Children = numbers.Append(nil, list)
		}
		switch extra := p.tape.Choose(4); extra {
		case 1, 2: // numbers of more positions than there are
			r.Children = numbers.Append(r.Children,
				[]numbers.Child{{Key: p.key(), Phi: p.number32(), Delta: p.number32()}})
		case 3:
			r.Children = r.Children[:len(r.Children)/2]
		}
		return r
	case 10:
		l := p.lease()
		e := Proved{Worker: p.worker(), Lease: l.ID, Epoch: l.Epoch, Nodes: p.tape.Number()}
		e.Facts, e.Certificates = p.facts()
		return e
	case 11:
		return []Event{Pause{}, Resume{}, Resume{}, Resume{}, Drain{}}[p.tape.Choose(5)]
	case 12:
		if p.cfg.CheckFirst > 0 {
			who := p.worker()
			return []Event{Distrusted{who}, PartyConfirmed{who}, RequestsWithdrawn{who},
				Joined{Worker: who, Slots: 2, Party: p.worker(), Confirmed: p.tape.Choose(3),
					Solved: p.tape.Choose(3)}}[p.tape.Choose(4)]
		}
	}
	return Tick{}
}

// step takes the next event and looks at what follows from it.
func (p *play) step() error {
	ev := p.event()
	effects := p.tree.Step(ev)
	for i, e := range effects {
		switch e := e.(type) {
		case Persist:
			if i != 0 {
				return fmt.Errorf("%s: what is to be written is not first", ev)
			}
			if err := p.disk.write(e); err != nil {
				return fmt.Errorf("%s: %w", ev, err)
			}
		case Grant:
			if n := p.tree.graph.Get(e.Lease.Key); n == nil || n.Solved() || n.Lease == 0 ||
				LeaseID(n.Lease) != e.Lease.ID || len(e.Lease.Facts) > p.cfg.policy.factsPerLease {
				return fmt.Errorf("%s: %s", ev, e)
			}
			if p.leases = append(p.leases, e.Lease); len(p.leases) > 8 {
				p.leases = p.leases[1:]
			}
		case Settled:
			if p.settled != nil && *p.settled != e {
				return fmt.Errorf("%s: settled as %v, and as %v before", ev, e, *p.settled)
			}
			p.settled = &e
		}
	}
	if err := p.tree.Audit(); err != nil {
		return fmt.Errorf("%s: %w", ev, err)
	}
	s := p.tree.Status()
	if len(s.Workers) > p.cfg.MaxWorkers || s.Nodes > p.cfg.MaxPositions ||
		s.Leased > p.cfg.MaxWorkers*p.cfg.policy.maxSlots {
		return fmt.Errorf("%s: %d workers, %d nodes, %d leases", ev, len(s.Workers), s.Nodes, s.Leased)
	}
	if s.Spent != p.disk.spent {
		return fmt.Errorf("%s: %d nodes are spent, on disk are %d", ev, s.Spent, p.disk.spent)
	}
	return nil
}

// restart makes a tree of what is on disk.
func (p *play) restart() error {
	again, err := New(p.cfg, p.disk.snapshot(nil))
	if err != nil {
		return err
	}
	if err := same(p.tree, again); err != nil {
		return err
	}
	if again.graph.Contradiction == nil != (p.tree.graph.Contradiction == nil) {
		return fmt.Errorf("stopped by %v, after a restart by %v", p.tree.graph.Contradiction, again.graph.Contradiction)
	}
	p.tree = again
	return again.Audit()
}

var fuzzRoots = []string{"W../.x./..B w", "W.x/.../x.B b", "W.x./x..x/.x.B w", "4x4"}

// FuzzEvents lets a tree take events that make sense and that do not, in any order, from workers
// that it knows and that it does not. After each of them all that is derived in the tree is right,
// no limit is passed and what is written goes forward; what a restart knows is what was known
// before.
func FuzzEvents(f *testing.F) {
	fuzzing.AddTapes(f, 16, 1200, 14)
	f.Fuzz(func(t *testing.T, data []byte) {
		if len(data) > 4096 {
			return
		}
		p := &play{tape: &fuzzing.Tape{Rest: data}, disk: newDisk()}
		p.root = position(t, fuzzRoots[p.tape.Choose(len(fuzzRoots))])
		p.cfg = Config{Root: p.root, InitialBudget: 10, MaxBudget: 100, SplitAfter: 15, MaxPositions: 500, MaxFacts: 30,
			MaxWorkers: 3, policy: policy{factsKept: 6, factsPerLease: 4, maxTries: 2, maxSlots: 3}}
		how := p.tape.Byte()
		p.cfg.EasyReplies = how&1 != 0
		if how&4 != 0 {
			p.cfg.CheckFirst = 1 + int(how>>6)
			p.cfg.policy.checkEvery, p.cfg.policy.checkSpread, p.cfg.policy.checkTicks = 3, 4, 5
		}
		state := p.root.State()
		if moves := state.Moves(nil); how&2 != 0 {
			p.cfg.FirstMoves = []amazons.Move{moves[0], moves[len(moves)/2]}
		}
		p.cfg = p.cfg.WithDefaults()
		p.keys = []amazons.Key{state.CanonicalKey(p.cfg.Root.Board)}
		for layer := state; layer.CanMove() && len(p.keys) < 12; layer = layer.After(layer.Moves(nil)[0]) {
			moves := layer.Moves(nil)
			for _, m := range []amazons.Move{moves[0], moves[len(moves)/2], moves[len(moves)-1]} {
				p.keys = append(p.keys, layer.After(m).CanonicalKey(p.cfg.Root.Board))
			}
		}
		fuzzing.Within(t, 20*time.Second, 512<<20, func() {
			var err error
			if p.tree, err = New(p.cfg, Snapshot{}); err != nil {
				t.Fatal(err)
			}
			for events := 0; p.tape.More() && events < 150; events++ {
				if err := p.step(); err != nil {
					t.Fatal(err)
				}
				if p.tape.Choose(16) == 15 {
					if err := p.restart(); err != nil {
						t.Fatal(err)
					}
				}
			}
			if err := p.restart(); err != nil {
				t.Fatal(err)
			}
		})
	})
}

// FuzzSnapshot makes trees of whatever a store may give back: an error, or a tree in order that a
// restart from what it writes does not change.
func FuzzSnapshot(f *testing.F) {
	f.Add([]byte{0, 3, 0, 1, 5, 1, 5, 0, 9, 0, 10, 1, 1, 0, 1, 1, 7})
	f.Add([]byte{2, 2, 0, 0, 5, 0, 9, 0, 10, 0, 7, 1, 1, 4, 2, 1, 200, 1, 3, 2, 2, 9, 9, 9, 9, 9, 9, 9})
	f.Fuzz(func(t *testing.T, data []byte) {
		if len(data) > 4096 {
			return
		}
		p := &play{tape: &fuzzing.Tape{Rest: data}, disk: newDisk()}
		p.root = position(t, fuzzRoots[p.tape.Choose(len(fuzzRoots))])
		p.cfg = Config{Root: p.root, MaxFacts: 50}.WithDefaults()
		state := p.root.State()
		p.keys = []amazons.Key{state.CanonicalKey(p.cfg.Root.Board)}
		for i, m := range state.Moves(nil) {
			if i%3 == 0 && len(p.keys) < 20 {
				p.keys = append(p.keys, state.After(m).CanonicalKey(p.cfg.Root.Board))
			}
		}
		var s Snapshot
		for range p.tape.Choose(6) {
			s.Nodes = append(s.Nodes, NodeRecord{Key: p.key(), Phi: p.number32(), Delta: p.number32(),
				Nodes: p.tape.Number(), Budget: p.tape.Number(), Expanded: p.tape.Choose(2) == 0})
		}
		s.Facts, _ = p.facts()
		s.Spent, s.Epoch = p.tape.Number(), p.tape.Number()
		fuzzing.Within(t, 10*time.Second, 256<<20, func() {
			var err error
			if p.tree, err = New(p.cfg, s); err != nil {
				return
			}
			if err := p.tree.Audit(); err != nil {
				t.Fatal(err)
			}
			for _, ev := range []Event{Joined{Worker: "w0", Slots: 2}, Ready{"w0"}, Tick{}} {
				p.tree.Step(ev)
				if err := p.tree.Audit(); err != nil {
					t.Fatal(err)
				}
			}
		})
	})
}
