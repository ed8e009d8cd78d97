package tree

import (
	"cmp"
	"fmt"
	"slices"

	"amazonsfarm/master/tree/graph"
)

// The numbers of an open position cannot be verified as a fact can: only another search shows
// whether they are about right. They prove nothing, so the answer is right whatever they are. But
// they say where everybody searches next, so a liar could lead the farm astray.
//
// With Config.CheckFirst, the first results of a party are unchecked. Their numbers wait until a
// worker of another party has searched the position with the same budget, from a table that has seen
// nothing of the first search. Two honest searches agree closely (policy.checkSpread). A third party
// decides where two do not. A party with enough confirmed results has its numbers accepted at once,
// and one in a few of them checked at random, so it does not pay to become a liar later.
//
// A check is no lost work where the first party lied: it is the search that the position still
// lacked. While a result is unchecked, its leaf is locked and keeps the numbers it had before. Checks
// are granted before anything else, so results do not wait for long.

// maxUnchecked is how many results of a party may be unchecked, for each of its workers. Beyond it an
// unproven party gets no new work, so that it cannot lock everything; others are not sampled.
const maxUnchecked = 2

// unchecked is a result whose numbers wait for the search of another party.
type unchecked struct {
	node    *graph.Node
	planned uint64   // nodes planned for the lease that brought the result
	budget  uint64   // nodes of the search that is repeated
	reports []report // one, or two that do not agree
	silent  []*party // parties that were asked and brought no numbers
	lease   *lease   // of the check that runs
	since   int      // tick since which nobody checks it
	came    int      // tick of the first report
	took    int      // ticks of its search
}

// report is the numbers of one search of a position.
type report struct {
	party      *party
	worker     string
	serial     uint32 // of the worker
	lease      LeaseID
	phi, delta uint32
}

// sampled decides whether a result is checked.
func (t *Tree) sampled(p *party, id LeaseID) bool {
	switch {
	case t.cfg.CheckFirst == 0 || t.present < 2 || t.now < t.unattended:
		return false
	case t.unproven(p):
		return true
	case p.pending >= maxUnchecked*p.workers:
		return false
	}
	one := t.cfg.policy.checkEvery // in so many
	// A position solved with evidence speaks for its party as well as a confirmed result, and costs
	// nothing.
	if more := p.standing() - t.cfg.CheckFirst; more < 30 {
		one = min(one, 2<<more)
	}
	return graph.Mix(t.cfg.CheckSeed^t.epoch<<48^uint64(id))%uint64(one) == 0
}

// check compares the numbers of a result with those of other searches, and reports whether they have
// to wait for another one. The result is of a full search of an open leaf.
func (t *Tree) check(l *lease, e Result) (waits bool) {
	r := report{l.worker.party, e.Worker, l.worker.serial, l.id, graph.Unproved(e.Phi), graph.Unproved(e.Delta)}
	u := l.checks
	if u == nil {
		return t.first(l, r)
	}
	if len(u.reports) == 1 {
		return t.second(u, r)
	}
	t.third(u, r)
	return false
}

// first handles the first report on a leaf: it is accepted, or it waits.
func (t *Tree) first(l *lease, r report) (waits bool) {
	if !t.sampled(r.party, l.id) {
		t.accept(r.party, l.node, r.serial)
		return false
	}
	u := &unchecked{node: l.node, planned: l.planned, budget: l.budget, reports: []report{r}, since: t.now,
		came: t.now, took: t.now - l.granted}
	r.party.pending++
	u.node.Unchecked = true
	t.unchecked = append(t.unchecked, u)
	t.graph.Reclass(u.node)
	return true
}

// second compares two reports. Where they disagree, a third party is asked if there is one.
func (t *Tree) second(u *unchecked, r report) (waits bool) {
	if first := u.reports[0]; t.alike(first, r) {
		t.confirm(first)
		t.confirm(r)
		t.drop(u)
		return false
	}
	u.reports = append(u.reports, r)
	r.party.pending++
	if t.witnesses(u) {
		return true
	}
	return !t.settle(u)
}

// third decides between two reports that disagree.
func (t *Tree) third(u *unchecked, r report) {
	a, b := u.reports[0], u.reports[1]
	switch withA, withB := t.alike(a, r), t.alike(b, r); {
	case withA && !withB:
		t.confirm(a)
		t.confirm(r)
		t.outvote(b, a, r)
	case withB && !withA:
		t.confirm(b)
		t.confirm(r)
		t.outvote(a, b, r)
	default:
		t.unsettled++
	}
	t.drop(u)
}

// alike reports whether two searches of a position with the same budget may both be honest.
func (t *Tree) alike(a, b report) bool {
	near := func(x, y uint32) bool {
		return uint64(max(x, y)) <= uint64(min(x, y))*uint64(t.cfg.policy.checkSpread)
	}
	return near(a.phi, b.phi) && near(a.delta, b.delta)
}

// confirm notes that another party's search agrees with a report.
func (t *Tree) confirm(r report) {
	r.party.confirmed++
	r.party.accepted = r.party.accepted[:0]
	t.emit(Checked{Worker: r.worker, Party: r.party.name, Lease: r.lease, Confirmed: true,
		Proven: r.party.standing() >= provenStanding})
}

// disagree emits that a report is contradicted by others.
func (t *Tree) disagree(r report, others ...report) {
	why := fmt.Sprintf("it said %d and %d of a position", r.phi, r.delta)
	for _, o := range others {
		why += fmt.Sprintf(", another search %d and %d", o.phi, o.delta)
	}
	t.emit(Checked{Worker: r.worker, Party: r.party.name, Lease: r.lease,
		Proven: r.party.standing() >= provenStanding, Why: why})
}

// outvote contradicts a report by two that agree. It does not count against a proven party if
// neither of the others is proven: new names cost nothing without credentials, and two of them must
// not get a proven party sent away.
func (t *Tree) outvote(r report, others ...report) {
	for _, o := range others {
		if o.party.standing() >= provenStanding || r.party.standing() < provenStanding {
			t.disagree(r, others...)
			return
		}
	}
	t.unsettled++
}

// witnesses reports whether a party works that may check a result.
func (t *Tree) witnesses(u *unchecked) bool {
	left := t.present
	for _, r := range u.reports {
		if r.party.active {
			left--
		}
	}
	for _, p := range u.silent {
		if p.active {
			left--
		}
	}
	return left > 0
}

// pass notes that a party failed to deliver a check. The party is not asked again.
func (t *Tree) pass(l *lease) {
	p := l.worker.party
	if !slices.Contains(l.checks.silent, p) {
		l.checks.silent = append(l.checks.silent, p)
	}
}

// settle ends the wait of a result that nobody is there to check. It reports whether the last
// search's numbers are to be applied; otherwise the leaf has those of the other search.
func (t *Tree) settle(u *unchecked) (applyLast bool) {
	defer t.drop(u)
	if len(u.reports) == 1 {
		t.apply(u, u.reports[0])
		return false
	}
	a, b := u.reports[0], u.reports[1]
	switch {
	case a.party.standing() >= provenStanding && b.party.standing() == 0:
		t.disagree(b, a)
		t.apply(u, a)
		return false
	case b.party.standing() >= provenStanding && a.party.standing() == 0:
		t.disagree(a, b)
	default:
		t.unsettled++
	}
	return true
}

// apply gives a leaf the numbers of a report, unchecked.
func (t *Tree) apply(u *unchecked, r report) {
	n := u.node
	if n.Solved() || n.Expanded {
		return
	}
	t.searched(n, r.phi, r.delta, u.planned)
	t.accept(r.party, n, r.serial)
}

// drop ends the wait of a result.
func (t *Tree) drop(u *unchecked) {
	for _, r := range u.reports {
		r.party.pending--
	}
	if u.lease != nil {
		u.lease.checks = nil
	}
	u.node.Unchecked = false
	t.unchecked = slices.DeleteFunc(t.unchecked, func(o *unchecked) bool { return o == u })
	t.graph.Reclass(u.node)
}

// checkSlack is how much longer a check may take than the search that it repeats, where others wait.
const checkSlack = 4

// wanting reports whether active workers have no lease, for want of leaves or because their results wait for checks.
func (t *Tree) wanting() bool { return t.starving+t.held > 0 }

// patience is how many ticks a result may wait for a check, and a check may take, where others wait. A party that
// joins and does its checks slowly, or not at all, delays nobody for longer. The results that come soon after such a
// wait are not checked.
func (u *unchecked) patience() int { return quickTicks + checkSlack*max(1, u.took) }

// moot reports whether nobody needs a result any more.
func (u *unchecked) moot() bool { return u.node.Solved() || u.node.Live == 0 }

// review drops unchecked results that nobody needs, and settles those that nobody can check: at each
// tick, and when a worker leaves.
func (t *Tree) review() {
	for _, u := range slices.Clone(t.unchecked) {
		switch {
		case u.moot():
			t.drop(u)
		case u.lease == nil && (u.node.Aside || t.now-u.since >= t.cfg.policy.checkTicks || !t.witnesses(u) ||
			t.wanting() && t.now-u.came > u.patience()):
			// A leaf that is set aside was lost again and again.
			if t.wanting() && t.witnesses(u) {
				t.unattended = t.now + t.cfg.Patience
			}
			if t.settle(u) {
				t.apply(u, u.reports[len(u.reports)-1])
			}
		}
	}
	t.graph.Propagate()
}

// waits reports whether a result waits for a check that nobody has begun.
func (u *unchecked) waits() bool { return u.lease == nil && !u.moot() }

// excludes reports whether a party cannot check a result: it has reported on it, or failed to, or fails
// to all the time.
func (u *unchecked) excludes(p *party) bool {
	return !p.active || slices.Contains(u.silent, p) ||
		slices.ContainsFunc(u.reports, func(r report) bool { return r.party == p })
}

// nextCheck returns the oldest unchecked result that a waiting worker can check, with that worker:
// one without leases if there is one. It returns nil if there is no such result.
func (t *Tree) nextCheck() (*worker, *unchecked) {
	for _, u := range t.unchecked {
		if !u.waits() {
			continue
		}
		var second *worker
		for _, w := range t.waiting {
			if t.laden(w) || u.excludes(w.party) {
				continue
			}
			if len(w.leases) == 0 {
				return w, u
			}
			second = cmp.Or(second, w)
		}
		if second != nil {
			return second, u
		}
	}
	return nil, nil
}
