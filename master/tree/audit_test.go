package tree

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"

	"amazonsfarm/shared/amazons"
	"amazonsfarm/shared/proof"
)

// same compares what must survive a crash.
func same(a, b *Tree) error {
	if a.index.n != b.index.n || len(a.facts) != len(b.facts) || a.nodes != b.nodes {
		return fmt.Errorf("nodes %d and %d, facts %d and %d, spent %d and %d", a.index.n, b.index.n, len(a.facts),
			len(b.facts), a.nodes, b.nodes)
	}
	for n := range a.index.all() {
		k := n.key
		m := b.index.get(k)
		if m == nil {
			return fmt.Errorf("node %s is missing", keyName(k))
		}
		if n.phi != m.phi || n.delta != m.delta || n.expanded != m.expanded || n.nodes != m.nodes ||
			a.budgetOf(n, 1) != b.budgetOf(m, 1) || n.live != m.live {
			return fmt.Errorf("node %s: %s work=%d budget=%d, then %s work=%d budget=%d", keyName(k),
				numbersText(n.phi, n.delta), n.nodes, n.budget, numbersText(m.phi, m.delta), m.nodes, m.budget)
		}
		for i, c := range n.children {
			if m.children[i].key != c.key {
				return fmt.Errorf("node %s: children in another order", keyName(k))
			}
		}
	}
	for k, f := range a.facts {
		if b.facts[k] != f {
			return fmt.Errorf("fact about %s differs", keyName(k))
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
			return fmt.Errorf("record of %s goes back: %+v, then %+v", keyName(n.Key), old, n)
		}
		d.nodes[n.Key] = n
	}
	for _, f := range p.Facts {
		if _, ok := d.facts[f.Key]; ok {
			return fmt.Errorf("fact about %s comes twice", keyName(f.Key))
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
