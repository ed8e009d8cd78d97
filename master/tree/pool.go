package tree

import (
	"fmt"
	"slices"

	"amazonsfarm/master/tree/graph"
	"amazonsfarm/shared/proof"
)

// A tree may be one of several, each of another campaign (master/schedule). Campaigns with the same
// board and kind of proof are a pool: they use each other's facts. The events of this file come from
// other campaigns, and the queries are for whoever shares workers among them.

// RequestsWithdrawn takes back all requests of a worker: another campaign has work for it.
type RequestsWithdrawn struct{ Worker string }

// WorkersElsewhere says whether workers that search for other campaigns would be given work here first. While it is
// true, leaves are split as if workers waited.
type WorkersElsewhere struct{ Waiting bool }

// PoolFacts brings facts that another campaign of the pool has learned and persisted. Facts that
// cannot come after the root are ignored. The tree does not persist them again; after a restart its
// Snapshot has them.
type PoolFacts struct{ Facts []proof.Fact }

// PoolContradiction says that another campaign of the pool found a contradiction: one of the shared
// facts is false.
type PoolContradiction struct{ Contradiction Contradiction }

// PartyConfirmed says that a result of a party was confirmed in another campaign.
type PartyConfirmed struct{ Party string }

// TableCleared says that a worker's table is empty: it knows no fact, and no position is warm in it.
type TableCleared struct{ Worker string }

func (e RequestsWithdrawn) apply(t *Tree) {
	if w := t.workers[e.Worker]; w != nil {
		t.unqueue(w)
	}
}

func (e WorkersElsewhere) apply(t *Tree) { t.elsewhere = e.Waiting }
func (e PoolFacts) apply(t *Tree) { // the other campaign has checked their form
	for _, f := range e.Facts {
		if t.graph.Contradiction != nil {
			break
		}
		if t.reach.Has(f.Key) {
			t.enter(f, "", false)
		}
	}
	t.graph.Propagate()
}
func (e PoolContradiction) apply(t *Tree) {
	if t.graph.Contradiction == nil {
		t.graph.Contradiction = (*graph.Contradiction)(&e.Contradiction)
	}
}

func (e PartyConfirmed) apply(t *Tree) {
	if p := t.parties[e.Party]; p != nil {
		p.confirmed++
	}
}

func (e TableCleared) apply(t *Tree) {
	if w := t.workers[e.Worker]; w != nil {
		t.serial++
		w.serial, w.known = t.serial, nil
	}
}

// String returns "requests withdrawn" and the worker.
func (e RequestsWithdrawn) String() string { return "requests withdrawn " + e.Worker }

// String returns "workers elsewhere" and whether they wait.
func (e WorkersElsewhere) String() string { return fmt.Sprintf("workers elsewhere %v", e.Waiting) }

// String returns "pool facts" and their number.
func (e PoolFacts) String() string { return fmt.Sprintf("pool facts=%d", len(e.Facts)) }

// String returns "pool" and the contradiction.
func (e PoolContradiction) String() string { return "pool " + e.Contradiction.String() }

// String returns "party confirmed" and its name.
func (e PartyConfirmed) String() string { return "party confirmed " + e.Party }

// String returns "table cleared" and the worker.
func (e TableCleared) String() string { return "table cleared " + e.Worker }

// Idle says why nothing is granted at all. It is NoReason if a lease may be granted now or when one
// comes back.
func (t *Tree) Idle() NoWorkReason { return t.halted() }

// Free reports whether there is work to lease now: a free leaf, or a result to check.
func (t *Tree) Free() bool {
	return t.halted() == NoReason &&
		(t.graph.Root.Class != graph.Locked || slices.ContainsFunc(t.unchecked, (*unchecked).waits))
}

// Serves reports whether a request of a worker would be granted now, or lead to a grant for another
// worker that waits.
func (t *Tree) Serves(worker string) bool {
	w := t.workers[worker]
	if w == nil || t.laden(w) || t.halted() != NoReason {
		return false
	}
	return t.graph.Root.Class != graph.Locked && !t.blocked(w) ||
		slices.ContainsFunc(t.unchecked, func(u *unchecked) bool { return u.waits() && !u.excludes(w.party) })
}

// Requests returns how many requests of a worker stand.
func (t *Tree) Requests(worker string) int {
	if w := t.workers[worker]; w != nil {
		return w.waiting
	}
	return 0
}

// NodesGranted returns the nodes of ended leases, and what is left of the budgets of running ones.
func (t *Tree) NodesGranted() uint64 { return graph.Plus(t.nodes, t.promised) }
