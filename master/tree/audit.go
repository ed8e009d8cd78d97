package tree

import (
	"errors"
	"fmt"
	"slices"

	"amazonsfarm/master/tree/offers"
)

// Audit computes everything derived in the tree anew, in the plainest way, and compares. The error
// says what differs. It looks at the whole tree, and is for tests, here and in the packages around.
func (t *Tree) Audit() error {
	nodes := slices.SortedFunc(t.index.all(), func(a, b *node) int { // deepest first
		if a.layer != b.layer {
			return int(b.layer) - int(a.layer)
		}
		return a.key.Compare(b.key)
	})
	classes := map[*node]class{}
	for _, n := range nodes {
		for _, check := range []func(*node) error{t.auditNumbers, t.auditLeased} {
			if err := check(n); err != nil {
				return fmt.Errorf("node %s: %w", t.text(n.key), err)
			}
		}
		if err := t.auditClass(n, classes); err != nil {
			return fmt.Errorf("node %s: %w", t.text(n.key), err)
		}
	}
	slices.Reverse(nodes)
	return errors.Join(t.auditCounts(nodes), t.auditLeases(), t.auditOffers(), t.auditParties())
}

// auditNumbers compares a node's numbers with its children's, and what it sees with what is there.
func (t *Tree) auditNumbers(n *node) error {
	if n.queued || n.changed && t.epochOut {
		return errors.New("still in line")
	}
	if (n.phi == 0) != (n.delta == Infinity) || (n.phi == Infinity) != (n.delta == 0) || n.phi > Infinity ||
		n.delta > Infinity {
		return fmt.Errorf("numbers %d/%d", n.phi, n.delta)
	}
	if n.solved() != (n.phi == 0 || n.delta == 0) {
		return fmt.Errorf("basis %s with numbers %d/%d", n.basis, n.phi, n.delta)
	}
	if len(n.shown) != len(n.children) {
		return fmt.Errorf("it sees %d of %d children", len(n.shown), len(n.children))
	}
	for i, c := range n.children {
		if n.shown[i] != (shown{c.use, c.phi, c.delta}) || !slices.Contains(c.parents, edge{n, i}) {
			return fmt.Errorf("it does not see child %d as it is", i)
		}
	}
	if n.expanded {
		if phi, delta := combine(n); (n.basis == NoBasis || n.basis == ByChildren) &&
			(phi != n.phi || delta != n.delta) {
			return fmt.Errorf("numbers %d/%d, of its children %d/%d", n.phi, n.delta, phi, delta)
		}
	} else if !n.solved() && (n.phi != n.leafPhi || n.delta != n.leafDelta) {
		return errors.New("leaf numbers differ")
	}
	return nil
}

// auditClass compares a node's class and use with those that follow from the nodes below, which
// classes has, and adds its own.
func (t *Tree) auditClass(n *node, classes map[*node]class) error {
	want := locked
	switch {
	case n.solved():
	case n.expanded:
		for _, c := range n.children {
			want = max(want, classes[c])
		}
	case n.lease != nil || n.unchecked:
	case n.aside:
		want = lastly
	default:
		want = open
	}
	if classes[n] = want; n.class != want {
		return fmt.Errorf("class %d, want %d", n.class, want)
	}
	use := 0.0
	switch {
	case n.class == open && n.expanded:
		for _, c := range n.children {
			if c.class == open {
				use = max(use, worth(n, c.delta, t.chance(n))*c.use)
			}
		}
	case n.class == open:
		use = 1
	}
	if n.use != use {
		return fmt.Errorf("use %v, want %v", n.use, use)
	}
	return nil
}

// auditLeased checks that a leased node and its lease know each other.
func (t *Tree) auditLeased(n *node) error {
	if n.lease != nil && (n.expanded || n.lease.node != n || t.leases[n.lease.id] != n.lease) {
		return errors.New("lease is not in order")
	}
	return nil
}

// auditCounts counts live parents, expanded nodes and the frontier. A node comes after those above.
func (t *Tree) auditCounts(nodes []*node) error {
	expanded, frontier := 0, 0
	live := map[*node]int32{t.root: 1}
	for _, n := range nodes {
		if n.live != live[n] {
			return fmt.Errorf("node %s: live %d, want %d", t.text(n.key), n.live, live[n])
		}
		if n.expanded {
			expanded++
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
	if expanded != t.expansions || frontier != t.frontier {
		return fmt.Errorf("%d expanded (counted %d), %d frontier (counted %d)", expanded, t.expansions, frontier,
			t.frontier)
	}
	return nil
}

// auditLeases counts running leases, and what is left of their budgets.
func (t *Tree) auditLeases() error {
	promised := uint64(0)
	for _, l := range t.running {
		promised += l.left()
	}
	if promised != t.promised {
		return fmt.Errorf("%d nodes are left of the running budgets, counted were %d", promised, t.promised)
	}
	leased, ofWorkers := 0, 0
	for n := range t.index.all() {
		if n.lease != nil {
			leased++
		}
	}
	for _, w := range t.roll {
		ofWorkers += len(w.leases)
		if len(w.leases) > w.slots && w.waiting > w.slots {
			return fmt.Errorf("worker %s has %d leases and %d requests", w.name, len(w.leases), w.waiting)
		}
	}
	if leased != len(t.leases) || leased != len(t.running) || leased != ofWorkers {
		return fmt.Errorf("%d nodes leased, %d leases, %d in order, %d of workers", leased, len(t.leases),
			len(t.running), ofWorkers)
	}
	return nil
}

// auditOffers checks that the offered facts are those with the most nodes.
func (t *Tree) auditOffers() error {
	offered := slices.Collect(t.offers.All)
	if len(offered) != min(len(t.facts), t.cfg.policy.factsKept) || t.offers.Len() != len(offered) {
		return fmt.Errorf("%d facts are offered", len(offered))
	}
	if !slices.IsSortedFunc(offered, offers.Compare) {
		return errors.New("the offered facts are not in order")
	}
	return nil
}

// auditParties counts workers and unchecked results of parties.
func (t *Tree) auditParties() error {
	workers, pending, waits := map[*party]int{}, map[*party]int{}, map[*node]bool{}
	for _, w := range t.roll {
		workers[w.party]++
	}
	for _, u := range t.unchecked {
		for _, r := range u.reports {
			pending[r.party]++
		}
		if waits[u.node] || len(u.reports) < 1 || len(u.reports) > 2 || u.lease != u.node.lease ||
			u.lease != nil && u.lease.checks != u {
			return fmt.Errorf("unchecked result of %s is not in order", t.text(u.node.key))
		}
		waits[u.node] = true
	}
	for n := range t.index.all() {
		if n.unchecked != waits[n] || n.unchecked && n.expanded {
			return fmt.Errorf("node %s: unchecked %v", t.text(n.key), n.unchecked)
		}
	}
	present := 0
	for _, p := range t.parties {
		if p.workers > 0 {
			present++
		}
		if p.workers != workers[p] || p.pending != pending[p] || slices.Contains(t.absent, p) != (p.workers == 0) {
			return fmt.Errorf("party %s has %d workers (counted %d) and %d unchecked results (counted %d)", p.name,
				workers[p], p.workers, pending[p], p.pending)
		}
	}
	if present != t.present || len(t.parties)-present != len(t.absent) || len(t.absent) > t.cfg.MaxWorkers {
		return fmt.Errorf("%d parties of %d are present (counted %d), %d absent", present, len(t.parties), t.present,
			len(t.absent))
	}
	return nil
}
