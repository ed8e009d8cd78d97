package tree

import (
	"slices"

	"amazonsfarm/master/tree/graph"
	"amazonsfarm/shared/eval"
)

// What a result does on its way, in the order of this file:
//
//  1. its facts enter the tree (learn, facts.go), and solve their positions;
//  2. its lease ends (end, lease.go);
//  3. its numbers count as far as the kind of the result allows, maybe after a check (check.go);
//  4. what follows is computed upward (propagate, graph/climb.go);
//  5. the leaf may be split (split.go).

func (t *Tree) result(e Result) {
	t.learn(e.Worker, e.Facts, e.Certificates)
	l := t.leaseOf(e.Worker, e.Lease, e.Epoch)
	switch {
	case e.Epoch != t.epoch:
		t.emit(Refused{Worker: e.Worker, Lease: e.Lease, Why: "lease is of another epoch", Old: e.Epoch < t.epoch})
	case t.foreign(e.Worker, e.Lease, e.Epoch):
		t.refuseForeign(e.Worker, e.Lease)
	case l == nil:
		t.refuse(e.Worker, e.Lease, "lease is not running")
	case l.node.Key != e.Key:
		t.refuse(e.Worker, e.Lease, "result is for another position")
	default:
		l.worker.beat = t.now
		t.returned(l, e)
		return
	}
	t.graph.Propagate()
}

// kind says what a result is worth.
type kind uint8

const (
	full     kind = iota // an open position, searched for the whole budget
	short                // open long before its budget was used, and not cancelled
	empty                // open, with nothing searched, and not cancelled
	partial              // open and cancelled: the numbers of a search that was cut off
	asserted             // solved, the worker says, without a fact: a strong hint at best
)

// kindOf classifies a result that used so many nodes.
func (t *Tree) kindOf(l *lease, e Result) kind {
	percent := uint64(max(0, t.cfg.ShortPercent))
	switch {
	case e.Verdict != eval.Open:
		return asserted
	case e.Cancelled:
		return partial
	case l.nodes < l.budget/100*percent+l.budget%100*percent/100:
		return short
	case l.nodes == 0:
		return empty
	}
	return full
}

// heard reports whether numbers of this kind count at all. Nobody can check those of a search that
// ended early, nor those that are not of an open position. They count only from a proven party, and
// only where the master cancelled the lease. Otherwise a worker could return invented numbers.
func (t *Tree) heard(l *lease, k kind) bool {
	switch {
	case k == short || k == empty:
		return false
	case k == full || t.cfg.CheckFirst == 0 || t.present < 2:
		return true
	}
	return l.cancelled && !t.unproven(l.worker.party)
}

// returned applies a result whose lease is in order.
func (t *Tree) returned(l *lease, e Result) {
	n := l.node
	scarce := t.scarce() // for the others, while this leaf is leased
	l.nodes = max(l.plausible(e.Nodes), l.nodes)
	t.emit(Taken{e.Worker, l.id, e.Verdict, l.nodes})
	t.end(l, l.nodes)
	t.pace.end(l)
	if l.nodes > 0 { // else its table knows nothing of the leaf
		n.Warm = l.worker.serial
		l.worker.rate = float64(l.nodes) / float64(t.now-l.granted+1)
	}
	if t.graph.Contradiction != nil {
		t.graph.Propagate() // what came before the contradiction, in this very result
		return
	}
	k := t.kindOf(l, e)
	if k == short {
		t.emit(Refused{Worker: e.Worker, Lease: l.id, Why: "the search ended before its budget", Short: true})
	}
	if n.Solved() || k == full || k == partial && l.nodes > 0 {
		l.worker.party.failed, l.worker.party.pausedTo = 0, 0
	}
	heard, waits := t.heard(l, k), false
	if !n.Solved() {
		switch k {
		case full:
			waits = t.returnedFull(l, e)
		case partial:
			t.returnedPartial(l, e, heard)
		case asserted:
			t.returnedAsserted(l, e, heard)
		case short, empty:
			t.returnedNothing(l, k)
		}
	}
	t.graph.Propagate()
	if !waits && k != short && t.splits(l, scarce) {
		if !heard && k != empty {
			e.Children = nil
		}
		t.split(n, e.Children)
		t.graph.Propagate()
	}
}

// returnedFull applies the numbers of a full search, unless they have to wait for a check.
func (t *Tree) returnedFull(l *lease, e Result) (waits bool) {
	if l.node.Live > 0 && t.check(l, e) {
		return true
	}
	t.searched(l.node, graph.Unproved(e.Phi), graph.Unproved(e.Delta), l.planned)
	return false
}

// returnedPartial applies the numbers of a search that the master cancelled.
func (t *Tree) returnedPartial(l *lease, e Result, heard bool) {
	t.uncheckedReturn(l, heard)
	if l.nodes == 0 {
		return
	}
	if heard {
		t.graph.SetLeaf(l.node, graph.Unproved(e.Phi), graph.Unproved(e.Delta))
	}
	t.succeeded(l.node)
}

// returnedAsserted applies a solved result without a fact: as a graph.Hint, and as a failed try.
func (t *Tree) returnedAsserted(l *lease, e Result, heard bool) {
	t.uncheckedReturn(l, heard)
	if heard {
		phi, delta := graph.Hint, uint32(1)
		if e.Verdict == eval.Won {
			phi, delta = 1, graph.Hint
		}
		t.graph.SetLeaf(l.node, phi, delta)
	}
	if !e.Cancelled {
		t.raiseBudget(l.node, l.planned)
	}
	t.fruitless(l)
}

// returnedNothing counts a result without numbers as a failed try. A short one is repeated with the
// same budget.
func (t *Tree) returnedNothing(l *lease, k kind) {
	t.uncheckedReturn(l, false)
	if k == empty {
		t.raiseBudget(l.node, l.planned)
	}
	t.fruitless(l)
}

// uncheckedReturn handles a result that cannot be checked, and is no check itself. Where its lease
// was to check another result, that one is dropped if the master cancelled the check, and else waits
// for another party.
func (t *Tree) uncheckedReturn(l *lease, heard bool) {
	switch {
	case l.node.Live == 0:
	case l.checks != nil && l.cancelled:
		t.drop(l.checks)
	case l.checks != nil:
		t.pass(l)
		t.fails(l.worker.party)
	case heard:
		t.accept(l.worker.party, l.node, l.worker.serial)
	}
}

// searched gives a leaf the numbers of a full search, and a larger budget.
func (t *Tree) searched(n *graph.Node, phi, delta uint32, planned uint64) {
	t.graph.SetLeaf(n, phi, delta)
	t.raiseBudget(n, planned)
	t.succeeded(n)
}

// raiseBudget doubles the budget of a leaf after a lease that was planned with so many nodes.
func (t *Tree) raiseBudget(n *graph.Node, planned uint64) {
	n.Budget = min(graph.Plus(planned, planned), t.cfg.MaxBudget)
	t.graph.Changed(n)
}

// fruitless counts a result that brought nothing. One worker counts once for a leaf in a row, so it
// cannot set positions aside alone.
func (t *Tree) fruitless(l *lease) {
	if l.node.LostBy == l.worker.serial && t.present > 1 {
		return
	}
	l.node.LostBy = l.worker.serial
	t.failed(l.node)
}

// asideTicks is the time for which a leaf is set aside after policy.maxTries. The time doubles with each further
// try, up to about an hour. If the most proving leaf is lost by bad luck, other leaves may be searched in vain.
const asideTicks = 60

// aside is a leaf that was set aside, and the tick at which it is tried again.
type aside struct {
	node  *graph.Node
	until int
}

// failed counts a try at a leaf that brought nothing. After policy.maxTries the leaf is set aside.
func (t *Tree) failed(n *graph.Node) {
	n.Tries++
	more := int(n.Tries) - t.cfg.policy.maxTries
	if more < 0 || n.Aside {
		return
	}
	n.Aside = true
	t.aside = slices.DeleteFunc(t.aside, func(a aside) bool { return a.node == n }) // its earlier entry
	t.aside = append(t.aside, aside{n, t.now + asideTicks<<min(more, 6)})
	n.Budget = t.cfg.InitialBudget
	t.graph.Changed(n)
	t.graph.Reclass(n)
}

// tryAgain puts the leaves back whose time aside is over. Each is set aside again if its next try fails.
func (t *Tree) tryAgain() {
	t.aside = slices.DeleteFunc(t.aside, func(a aside) bool {
		if !a.node.Solved() && t.now >= a.until {
			t.ordinary(a.node)
		}
		return !a.node.Aside || a.node.Solved()
	})
}

// succeeded counts a try at a leaf that brought something.
func (t *Tree) succeeded(n *graph.Node) {
	n.Tries = 0
	t.ordinary(n)
}

// ordinary puts a leaf back that was set aside.
func (t *Tree) ordinary(n *graph.Node) {
	if n.Aside {
		n.Aside = false
		t.graph.Reclass(n)
	}
}
