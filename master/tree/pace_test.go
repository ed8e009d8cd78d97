package tree

import (
	"fmt"
	"math/rand/v2"
	"testing"
)

// paced is a tree with workers that search so many nodes in a tick, each, and bring numbers that
// are made up.
type paced struct {
	t     *testing.T
	tree  *Tree
	r     *rand.Rand
	names []string
	held  map[string]Lease
	left  map[string]int // nodes
}

func (p *paced) step(ev Event) {
	for _, e := range p.tree.Step(ev) {
		if g, ok := e.(Grant); ok {
			p.held[g.Worker], p.left[g.Worker] = g.Lease, int(g.Lease.Budget)
		}
	}
}

func (p *paced) join(n int) {
	for range n {
		name := fmt.Sprint("w", len(p.names))
		p.names = append(p.names, name)
		p.step(Joined{Worker: name, Slots: 1})
		p.step(Ready{name})
	}
}

func (p *paced) leave(n int) {
	for _, name := range p.names[len(p.names)-n:] {
		p.step(Left{name})
		delete(p.held, name)
	}
	p.names = p.names[:len(p.names)-n]
}

// tick lets each worker search so many nodes, and returns how many results there were.
func (p *paced) tick(nodes int) (results int) {
	for _, name := range p.names {
		for left := nodes; left > 0; {
			l, ok := p.held[name]
			if !ok {
				break
			}
			if left < p.left[name] {
				p.left[name] -= left
				p.step(Progress{Worker: name, Lease: l.ID, Epoch: l.Epoch, Nodes: l.Budget - uint64(p.left[name])})
				break
			}
			left -= p.left[name]
			delete(p.held, name)
			p.step(Result{Worker: name, Lease: l.ID, Epoch: l.Epoch, Key: l.Key, Nodes: l.Budget, Phi: 1 +
				p.r.Uint32N(100), Delta: 1 + p.r.Uint32N(100)})
			p.step(Ready{name})
			results++
		}
	}
	p.step(Tick{})
	return results
}

// over returns the results in a tick, on average over so many.
func (p *paced) over(ticks, nodes int) float64 {
	sum := 0
	for range ticks {
		sum += p.tick(nodes)
	}
	return float64(sum) / float64(ticks)
}

// TestPace: with more workers than a master can take results from leases get longer until there are
// as many results as it can take, without swinging, also where leases last for many ticks; with
// fewer they are as planned again.
func TestPace(t *testing.T) {
	for _, c := range []struct{ workers, nodes, welcome int }{
		{50, 100, 10},  // five times too many results, of leases of a tick
		{80, 20, 4},    // leases of 5 ticks that become 20
		{30, 1000, 40}, // many leases a tick
	} {
		tree, err := New(Config{Root: start(t, 6, 6), SplitAfter: 1, InitialBudget: 100,
			ProbePercent: 100, ResultsPerTick: c.welcome, MaxPositions: 1 << 20}, Snapshot{})
		if err != nil {
			t.Fatal(err)
		}
		p := &paced{t, tree, rand.New(rand.NewPCG(1, 1)), nil, map[string]Lease{}, map[string]int{}}
		p.join(1)
		few := c.welcome * 100 / c.nodes / 2
		p.join(few - 1)
		p.over(10, c.nodes)
		if got, want := p.over(20, c.nodes), float64(few*c.nodes)/100; got < 0.8*want || tree.pace.stretch != 1 {
			t.Errorf("%+v: %d workers bring %.1f results a tick with leases stretched by %.2f, want %.1f and 1", c, few,
				got, tree.pace.stretch, want)
		}
		p.join(c.workers - few)
		p.over(60, c.nodes)
		want := float64(c.workers*c.nodes) / 100 / float64(c.welcome)
		for i := range 5 {
			if got := p.over(20, c.nodes); got < 0.8*float64(c.welcome) || got > 1.25*float64(c.welcome) ||
				tree.pace.stretch < 0.7*want || tree.pace.stretch > 1.4*want {
				t.Errorf("%+v: %d workers bring %.1f results a tick after %d ticks with leases stretched by %.2f, "+
					"want %d and %.2f", c, c.workers, got, 80+20*i, tree.pace.stretch, c.welcome, want)
			}
		}
		p.leave(c.workers - few)
		p.over(60, c.nodes)
		if tree.pace.stretch != 1 {
			t.Errorf("%+v: when workers have left leases are stretched by %.2f", c, tree.pace.stretch)
		}
	}
}

// TestPaceAndBudgets: a lease is stretched up to MaxBudget, and the next one of its leaf is twice
// what was planned, not what it was.
func TestPaceAndBudgets(t *testing.T) {
	tree := small(t, Config{InitialBudget: 100, MaxBudget: 1000, SplitAfter: 1 << 40})
	back := func(l Lease) Lease {
		tree.Step(Result{Worker: "w", Lease: l.ID, Epoch: l.Epoch, Key: l.Key, Nodes: l.Budget, Phi: 5, Delta: 5})
		return take(t, tree.Step(Ready{"w"}))
	}
	l := ask(t, tree, "w")
	for i, c := range []struct {
		stretch float64
		want    uint64
	}{{3, 600}, {3, 1000}, {1, 800}, {1, 1000}, {7, 1000}, {1, 1000}} {
		tree.pace.stretch = c.stretch
		if l = back(l); l.Budget != c.want {
			t.Errorf("lease %d, stretched by %v: %d nodes, want %d", i+2, c.stretch, l.Budget, c.want)
		}
	}
	if l.Budget != 1000 || tree.leases[l.ID].planned != 1000 {
		t.Errorf("the last lease has %d nodes, and %d were planned", l.Budget, tree.leases[l.ID].planned)
	}
}

// TestPaceAfterRestart: what was searched before a restart is not taken for what is searched in its
// first tick.
func TestPaceAfterRestart(t *testing.T) {
	tree, err := New(Config{Root: start(t, 6, 6), InitialBudget: 100, ResultsPerTick: 1},
		Snapshot{Spent: 1 << 40, Epoch: 1})
	if err != nil {
		t.Fatal(err)
	}
	l := ask(t, tree, "w")
	tree.Step(Result{Worker: "w", Lease: l.ID, Epoch: l.Epoch, Key: l.Key, Nodes: 100, Phi: 1, Delta: 1})
	tree.Step(Tick{})
	if tree.pace.stretch != 1 {
		t.Errorf("one result stretches leases by %v", tree.pace.stretch)
	}
}
