package tree

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"

	"amazonsfarm/shared/amazons"
)

// audit computes everything derived in the tree anew, from the top down or the
// bottom up, in the plainest way, and compares.
func (t *Tree) audit() error {
	var nodes []*node
	for _, n := range t.byKey {
		nodes = append(nodes, n)
	}
	slices.SortFunc(nodes, func(a, b *node) int { // deepest first
		if a.layer != b.layer {
			return int(b.layer) - int(a.layer)
		}
		return a.key.Compare(b.key)
	})
	bad := func(n *node, format string, a ...any) error {
		return fmt.Errorf("node %s: %s", t.text(n.key), fmt.Sprintf(format, a...))
	}
	leased, expanded, frontier := 0, 0, 0
	classes := map[*node]class{}
	for _, n := range nodes {
		if n.queued || n.changed && t.began {
			return bad(n, "still in line")
		}
		if (n.phi == 0) != (n.delta == Infinity) || (n.phi == Infinity) != (n.delta == 0) || n.phi > Infinity || n.delta > Infinity {
			return bad(n, "numbers %d/%d", n.phi, n.delta)
		}
		if n.solved() != (n.phi == 0 || n.delta == 0) {
			return bad(n, "basis %s with numbers %d/%d", n.basis, n.phi, n.delta)
		}
		if n.expanded {
			expanded++
			if phi, delta := combine(n); (n.basis == NoBasis || n.basis == ByChildren) && (phi != n.phi || delta != n.delta) {
				return bad(n, "numbers %d/%d, of its children %d/%d", n.phi, n.delta, phi, delta)
			}
		} else if !n.solved() && (n.phi != n.leafPhi || n.delta != n.leafDelta) {
			return bad(n, "leaf numbers differ")
		}
		want := locked
		switch {
		case n.solved():
		case n.expanded:
			for _, c := range n.children {
				want = max(want, classes[c])
			}
		case n.lease != nil:
		case n.aside:
			want = lastly
		default:
			want = open
		}
		if classes[n] = want; n.class != want {
			return bad(n, "class %d, want %d", n.class, want)
		}
		if n.lease != nil {
			leased++
			if n.expanded || n.lease.node != n || t.leases[n.lease.id] != n.lease {
				return bad(n, "lease is not in order")
			}
		}
	}
	live := map[*node]int32{t.root: 1}
	slices.Reverse(nodes)
	for _, n := range nodes {
		if n.live != live[n] {
			return bad(n, "live %d, want %d", n.live, live[n])
		}
		if n.live > 0 && !n.solved() {
			for _, c := range n.children {
				live[c]++
			}
			if !n.expanded {
				frontier++
			}
		}
	}
	held := 0
	for _, w := range t.roll {
		held += len(w.leases)
		if len(w.leases) > w.slots && w.waiting > w.slots {
			return fmt.Errorf("worker %s has %d leases and %d requests", w.name, len(w.leases), w.waiting)
		}
	}
	if leased != len(t.leases) || leased != len(t.running) || leased != held {
		return fmt.Errorf("%d nodes leased, %d leases, %d in order, %d held", leased, len(t.leases), len(t.running), held)
	}
	if expanded != t.expansions || frontier != t.frontier {
		return fmt.Errorf("%d expanded (counted %d), %d frontier (counted %d)", expanded, t.expansions, frontier, t.frontier)
	}
	if len(t.shelf.facts) != min(len(t.facts), t.cfg.FactsKept) || len(t.shelf.byKey) != len(t.shelf.facts) {
		return fmt.Errorf("%d facts on the shelf", len(t.shelf.facts))
	}
	return nil
}

// same compares what must survive a crash.
func same(a, b *Tree) error {
	if len(a.byKey) != len(b.byKey) || len(a.facts) != len(b.facts) || a.spent != b.spent {
		return fmt.Errorf("nodes %d and %d, facts %d and %d, spent %d and %d", len(a.byKey), len(b.byKey), len(a.facts), len(b.facts), a.spent, b.spent)
	}
	for k, n := range a.byKey {
		m := b.byKey[k]
		if m == nil {
			return fmt.Errorf("node %s is missing", keyName(k))
		}
		if n.phi != m.phi || n.delta != m.delta || n.expanded != m.expanded || n.work != m.work || a.budgetOf(n) != b.budgetOf(m) || n.live != m.live {
			return fmt.Errorf("node %s: %s work=%d budget=%d, then %s work=%d budget=%d", keyName(k),
				numbersText(n.phi, n.delta), n.work, n.budget, numbersText(m.phi, m.delta), m.work, m.budget)
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
	facts         map[amazons.Key]Fact
	spent, epoch  uint64
	contradiction *Contradiction
}

func newDisk() *disk {
	return &disk{nodes: map[amazons.Key]NodeRecord{}, facts: map[amazons.Key]Fact{}}
}

func (d *disk) write(p Persist) error {
	for _, n := range p.Nodes {
		if old := d.nodes[n.Key]; old.Expanded && !n.Expanded || old.Work > n.Work {
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
	slices.SortFunc(s.Facts, func(a, b Fact) int { return a.Key.Compare(b.Key) })
	if r != nil {
		r.Shuffle(len(s.Nodes), func(i, j int) { s.Nodes[i], s.Nodes[j] = s.Nodes[j], s.Nodes[i] })
		r.Shuffle(len(s.Facts), func(i, j int) { s.Facts[i], s.Facts[j] = s.Facts[j], s.Facts[i] })
	}
	return s
}

// position parses a position or fails the test.
func position(tb testing.TB, text string) amazons.Position {
	tb.Helper()
	p, err := amazons.ParsePosition(text)
	if err != nil {
		tb.Fatal(err)
	}
	return p
}
