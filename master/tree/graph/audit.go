package graph

import (
	"errors"
	"fmt"
	"slices"
)

// Audit computes everything derived in the graph anew, in the plainest way, and compares. The error
// says what differs. It looks at the whole graph, and is for tests.
func (g *Graph) Audit() error {
	nodes := slices.SortedFunc(g.All(), func(a, b *Node) int { // deepest first
		if a.Layer != b.Layer {
			return int(b.Layer) - int(a.Layer)
		}
		return a.Key.Compare(b.Key)
	})
	changed := map[*Node]bool{}
	for _, n := range g.records {
		changed[n] = true
	}
	classes := map[*Node]Class{}
	for _, n := range nodes {
		if n.changed != changed[n] {
			return fmt.Errorf("node %s: changed %v, and it has a record to take: %v", NameOf(n.Key), n.changed,
				changed[n])
		}
		if err := errors.Join(g.auditNumbers(n), g.auditClass(n, classes)); err != nil {
			return fmt.Errorf("node %s: %w", NameOf(n.Key), err)
		}
	}
	slices.Reverse(nodes)
	return g.auditCounts(nodes)
}

// auditNumbers compares a node's numbers with its children's, and what it sees with what is there.
func (g *Graph) auditNumbers(n *Node) error {
	if n.queued {
		return errors.New("still in line")
	}
	if (n.Phi == 0) != (n.Delta == Infinity) || (n.Phi == Infinity) != (n.Delta == 0) || n.Phi > Infinity ||
		n.Delta > Infinity {
		return fmt.Errorf("numbers %d/%d", n.Phi, n.Delta)
	}
	if n.Solved() != (n.Phi == 0 || n.Delta == 0) {
		return fmt.Errorf("basis %s with numbers %d/%d", n.Basis, n.Phi, n.Delta)
	}
	if len(n.shown) != len(n.Children) {
		return fmt.Errorf("it sees %d of %d children", len(n.shown), len(n.Children))
	}
	for i, c := range n.Children {
		if n.shown[i] != (shown{c.Use, c.Phi, c.Delta}) || !slices.Contains(c.parents, edge{n, i}) {
			return fmt.Errorf("it does not see child %d as it is", i)
		}
	}
	if n.Expanded {
		if phi, delta := combine(n); (n.Basis == NoBasis || n.Basis == ByChildren) &&
			(phi != n.Phi || delta != n.Delta) {
			return fmt.Errorf("numbers %d/%d, of its children %d/%d", n.Phi, n.Delta, phi, delta)
		}
	} else if !n.Solved() && (n.Phi != n.LeafPhi || n.Delta != n.LeafDelta) {
		return errors.New("leaf numbers differ")
	}
	return nil
}

// auditClass compares a node's class and use with those that follow from the nodes below, which
// classes has, and adds its own.
func (g *Graph) auditClass(n *Node, classes map[*Node]Class) error {
	want := Locked
	switch {
	case n.Solved():
	case n.Expanded:
		for _, c := range n.Children {
			want = max(want, classes[c])
		}
	case n.Lease != 0 || n.Unchecked:
	case n.Aside:
		want = Lastly
	default:
		want = Open
	}
	if classes[n] = want; n.Class != want {
		return fmt.Errorf("class %d, want %d", n.Class, want)
	}
	use := 0.0
	switch {
	case n.Class == Open && n.Expanded:
		for _, c := range n.Children {
			if c.Class == Open {
				use = max(use, Worth(n, c.Delta, g.Chance(n))*c.Use)
			}
		}
	case n.Class == Open:
		use = 1
	}
	if n.Use != use {
		return fmt.Errorf("use %v, want %v", n.Use, use)
	}
	return nil
}

// auditCounts counts live parents, expanded nodes and the frontier. A node comes after those above.
func (g *Graph) auditCounts(nodes []*Node) error {
	expanded, frontier := 0, 0
	live := map[*Node]int32{g.Root: 1}
	for _, n := range nodes {
		if n.Live != live[n] {
			return fmt.Errorf("node %s: live %d, want %d", NameOf(n.Key), n.Live, live[n])
		}
		if n.Expanded {
			expanded++
		}
		if n.Live > 0 && !n.Solved() {
			for _, c := range n.Children {
				live[c]++
			}
			if !n.Expanded {
				frontier++
			}
		}
	}
	if expanded != g.Expanded || frontier != g.Frontier {
		return fmt.Errorf("%d expanded (counted %d), %d frontier (counted %d)", expanded, g.Expanded, frontier,
			g.Frontier)
	}
	return nil
}
