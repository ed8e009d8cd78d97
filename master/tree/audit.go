package tree

import (
	"errors"
	"fmt"
	"slices"
)

// Audit computes everything derived in the tree anew, from the top down or the bottom up, in the
// plainest way, and compares. The error says what differs. It costs as much as the tree is large,
// and is for tests, here and in the packages around the tree.
func (t *Tree) Audit() error {
	promised := uint64(0)
	for _, l := range t.running {
		promised += l.left()
	}
	if promised != t.promised {
		return fmt.Errorf("%d nodes are left of the running budgets, counted were %d", promised, t.promised)
	}
	var nodes []*node
	for n := range t.nodes.all() {
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
		if (n.phi == 0) != (n.delta == Infinity) || (n.phi == Infinity) != (n.delta == 0) || n.phi > Infinity ||
			n.delta > Infinity {
			return bad(n, "numbers %d/%d", n.phi, n.delta)
		}
		if n.solved() != (n.phi == 0 || n.delta == 0) {
			return bad(n, "basis %s with numbers %d/%d", n.basis, n.phi, n.delta)
		}
		if len(n.shown) != len(n.children) {
			return bad(n, "it sees %d of %d children", len(n.shown), len(n.children))
		}
		for i, c := range n.children {
			if n.shown[i] != (shown{c.use, c.phi, c.delta}) || !slices.Contains(c.parents, edge{n, i}) {
				return bad(n, "it does not see child %d as it is", i)
			}
		}
		if n.expanded {
			expanded++
			if phi, delta := combine(n); (n.basis == NoBasis || n.basis == ByChildren) &&
				(phi != n.phi || delta != n.delta) {
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
		case n.lease != nil || n.claimed:
		case n.aside:
			want = lastly
		default:
			want = open
		}
		if classes[n] = want; n.class != want {
			return bad(n, "class %d, want %d", n.class, want)
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
			return bad(n, "use %v, want %v", n.use, use)
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
		return fmt.Errorf("%d nodes leased, %d leases, %d in order, %d held", leased, len(t.leases), len(t.running),
			held)
	}
	if expanded != t.expansions || frontier != t.frontier {
		return fmt.Errorf("%d expanded (counted %d), %d frontier (counted %d)", expanded, t.expansions, frontier,
			t.frontier)
	}
	kept := slices.Collect(t.shelf.all)
	if len(kept) != min(len(t.facts), t.cfg.policy.factsKept) || len(t.shelf.byKey) != len(kept) {
		return fmt.Errorf("%d facts on the shelf", len(kept))
	}
	if !slices.IsSortedFunc(kept, func(a, b *shelved) int { return t.shelf.compare(a, b.fact) }) {
		return errors.New("the shelf is not in order")
	}
	return t.auditTrust()
}

// auditTrust does the same for parties and claims.
func (t *Tree) auditTrust() error {
	workers, pending, claimed := map[*party]int{}, map[*party]int{}, map[*node]bool{}
	for _, w := range t.roll {
		workers[w.party]++
	}
	for _, c := range t.claims {
		for _, s := range c.said {
			pending[s.party]++
		}
		if claimed[c.node] || len(c.said) < 1 || len(c.said) > 2 || c.lease != c.node.lease || c.lease != nil &&
			c.lease.claim != c {
			return fmt.Errorf("claim of %s is not in order", t.text(c.node.key))
		}
		claimed[c.node] = true
	}
	for n := range t.nodes.all() {
		if n.claimed != claimed[n] || n.claimed && n.expanded {
			return fmt.Errorf("node %s: claimed %v", t.text(n.key), n.claimed)
		}
	}
	present := 0
	for _, p := range t.parties {
		if p.workers > 0 {
			present++
		}
		if p.workers != workers[p] || p.pending != pending[p] || slices.Contains(t.absent, p) != (p.workers == 0) {
			return fmt.Errorf("party %s has %d workers (counted %d) and %d claims (counted %d)", p.name, workers[p],
				p.workers, pending[p], p.pending)
		}
	}
	if present != t.present || len(t.parties)-present != len(t.absent) || len(t.absent) > t.cfg.MaxWorkers {
		return fmt.Errorf("%d parties of %d are present (counted %d), %d absent", present, len(t.parties), t.present,
			len(t.absent))
	}
	return nil
}
