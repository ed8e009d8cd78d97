package tree

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"

	"amazonsfarm/master/tree/graph"
	"amazonsfarm/shared/amazons"
	"amazonsfarm/shared/proof"
)

// same compares what must survive a crash.
func same(a, b *Tree) error {
	if a.graph.Len() != b.graph.Len() || a.graph.Counts != b.graph.Counts || a.nodes != b.nodes {
		return fmt.Errorf("positions %d and %d, counts %v and %v, nodes %d and %d", a.graph.Len(), b.graph.Len(),
			a.graph.Counts, b.graph.Counts, a.nodes, b.nodes)
	}
	for n := range a.graph.All() {
		k := n.Key
		m := b.graph.Get(k)
		if m == nil {
			return fmt.Errorf("node %s is missing", graph.NameOf(k))
		}
		if n.Phi != m.Phi || n.Delta != m.Delta || n.Expanded != m.Expanded || n.Nodes != m.Nodes ||
			a.budgetOf(n, 1) != b.budgetOf(m, 1) || n.Live != m.Live {
			return fmt.Errorf("node %s: %s work=%d budget=%d, then %s work=%d budget=%d", graph.NameOf(k),
				numbersText(n.Phi, n.Delta), n.Nodes, n.Budget, numbersText(m.Phi, m.Delta), m.Nodes, m.Budget)
		}
		for i, c := range n.Children {
			if m.Children[i].Key != c.Key {
				return fmt.Errorf("node %s: children in another order", graph.NameOf(k))
			}
		}
	}
	for f := range a.graph.Facts() {
		if other, ok := b.Fact(f.Key); !ok || other != f {
			return fmt.Errorf("fact about %s differs", graph.NameOf(f.Key))
		}
	}
	return nil
}

// disk is a store that keeps what Persist says.
type disk struct {
	nodes         map[amazons.Key]NodeRecord
	facts         map[amazons.Key]proof.Fact
	spent, epoch  uint64
	contradiction *Contradiction
}

func newDisk() *disk {
	return &disk{nodes: map[amazons.Key]NodeRecord{}, facts: map[amazons.Key]proof.Fact{}}
}

func (d *disk) write(p Persist) error {
	for _, n := range p.Nodes {
		if old := d.nodes[n.Key]; old.Expanded && !n.Expanded || old.Nodes > n.Nodes {
			return fmt.Errorf("record of %s goes back: %+v, then %+v", graph.NameOf(n.Key), old, n)
		}
		d.nodes[n.Key] = n
	}
	for _, f := range p.Facts {
		if _, ok := d.facts[f.Key]; ok {
			return fmt.Errorf("fact about %s comes twice", graph.NameOf(f.Key))
		}
		d.facts[f.Key] = f
	}
	if p.Spent < d.spent || p.Epoch < d.epoch {
		return fmt.Errorf("counters go back: spent %d to %d, epoch %d to %d", d.spent, p.Spent, d.epoch, p.Epoch)
	}
	d.spent, d.epoch = p.Spent, p.Epoch
	if p.Contradiction != nil {
		d.contradiction = p.Contradiction
	}
	return nil
}

// snapshot returns what was written, in any order.
func (d *disk) snapshot(r *rand.Rand) Snapshot {
	s := Snapshot{Spent: d.spent, Epoch: d.epoch, Contradiction: d.contradiction}
	for _, n := range d.nodes {
		s.Nodes = append(s.Nodes, n)
	}
	for _, f := range d.facts {
		s.Facts = append(s.Facts, f)
	}
	slices.SortFunc(s.Nodes, func(a, b NodeRecord) int { return a.Key.Compare(b.Key) })
	slices.SortFunc(s.Facts, func(a, b proof.Fact) int { return a.Key.Compare(b.Key) })
	if r != nil {
		r.Shuffle(len(s.Nodes), func(i, j int) { s.Nodes[i], s.Nodes[j] = s.Nodes[j], s.Nodes[i] })
		r.Shuffle(len(s.Facts), func(i, j int) { s.Facts[i], s.Facts[j] = s.Facts[j], s.Facts[i] })
	}
	return s
}

// position parses a position or fails the test.
// start returns the starting position of a board.
func start(tb testing.TB, width, height uint8) amazons.Position {
	tb.Helper()
	p, err := amazons.Start(amazons.Board{Width: width, Height: height})
	if err != nil {
		tb.Fatal(err)
	}
	return p
}

func position(tb testing.TB, text string) amazons.Position {
	tb.Helper()
	p, err := amazons.ParsePosition(text)
	if err != nil {
		tb.Fatal(err)
	}
	return p
}
