package tree

import (
	"errors"
	"fmt"
	"slices"

	"amazonsfarm/master/tree/graph"
)

// Audit computes everything derived in the tree anew, in the plainest way, and compares. The error
// says what differs. It looks at the whole tree, and is for tests, here and in the packages around.
func (t *Tree) Audit() error {
	return errors.Join(t.graph.Audit(), t.auditLeases(), t.auditOffers(), t.auditParties())
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
	for n := range t.graph.All() {
		if n.Lease != 0 {
			leased++
			if l := t.leaseAt(n); l == nil || l.node != n || n.Expanded {
				return fmt.Errorf("node %s: lease is not in order", graph.NameOf(n.Key))
			}
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

// auditOffers checks that as many facts are offered as may be.
func (t *Tree) auditOffers() error {
	if n := t.offers.Len(); n != min(t.graph.FactsWon+t.graph.FactsLost, t.cfg.policy.factsKept) {
		return fmt.Errorf("%d facts are offered", n)
	}
	return t.offers.Audit()
}

// auditParties counts workers and unchecked results of parties.
func (t *Tree) auditParties() error {
	workers, pending, waits := map[*party]int{}, map[*party]int{}, map[*graph.Node]bool{}
	for _, w := range t.roll {
		workers[w.party]++
	}
	for _, u := range t.unchecked {
		for _, r := range u.reports {
			pending[r.party]++
		}
		if waits[u.node] || len(u.reports) < 1 || len(u.reports) > 2 || u.lease != t.leaseAt(u.node) ||
			u.lease != nil && u.lease.checks != u {
			return fmt.Errorf("unchecked result of %s is not in order", graph.NameOf(u.node.Key))
		}
		waits[u.node] = true
	}
	for n := range t.graph.All() {
		if n.Unchecked != waits[n] || n.Unchecked && n.Expanded {
			return fmt.Errorf("node %s: unchecked %v", graph.NameOf(n.Key), n.Unchecked)
		}
	}
	present, here := 0, 0
	for _, p := range t.parties {
		if p.active {
			present++
		}
		if p.workers > 0 {
			here++
		} else if p.active {
			return fmt.Errorf("party %s works without a worker", p.name)
		}
		if p.workers != workers[p] || p.pending != pending[p] || slices.Contains(t.absent, p) != (p.workers == 0) {
			return fmt.Errorf("party %s has %d workers (counted %d) and %d unchecked results (counted %d)", p.name,
				workers[p], p.workers, pending[p], p.pending)
		}
	}
	if present != t.present || len(t.parties)-here != len(t.absent) || len(t.absent) > t.cfg.MaxWorkers {
		return fmt.Errorf("%d parties of %d are present (counted %d), %d absent", present, len(t.parties), t.present,
			len(t.absent))
	}
	return nil
}
