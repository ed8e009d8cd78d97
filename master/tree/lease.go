package tree

import (
	"cmp"
	"fmt"
	"math"
	"slices"

	"amazonsfarm/master/tree/graph"
)

// lease is one running lease.
type lease struct {
	id        LeaseID
	node      *graph.Node
	worker    *worker
	planned   uint64 // nodes that it would have with fewer workers (pace)
	budget    uint64
	nodes     uint64 // reported so far
	charged   uint64 // of these, counted for its leaf and for the campaign
	activity  uint64
	granted   int // tick
	beat      int // tick of its last progress
	cancelled bool
	why       CancelReason // with cancelled
	since     int          // tick, with cancelled
	defied    defiance
	split     bool       // cancelled so that its leaf can be split
	undivided bool       // it has the whole question, since nobody else was there
	checks    *unchecked // not nil: the result that it checks
}

// begun reports whether the worker has reported anything about the lease.
func (l *lease) begun() bool { return l.nodes > 0 || l.activity > 0 }

// lastSign returns the tick of the last sign of life. A lease in its worker's queue shows none of
// its own.
func (l *lease) lastSign() int {
	if l.begun() {
		return l.beat
	}
	return max(l.beat, l.worker.beat)
}

// left returns what is left of its budget.
func (l *lease) left() uint64 { return l.budget - min(l.budget, l.charged) }

// plausible bounds the nodes that a worker reports for a lease: a search hardly goes beyond its
// budget. Otherwise one lie would use up the node limit of a campaign, or have a leaf split.
func (l *lease) plausible(nodes uint64) uint64 {
	return min(nodes, graph.Plus(2*min(l.budget, math.MaxUint64/4), 1000))
}

// leaseOf returns the running lease that an event names. It returns nil if the lease is unknown, has
// ended, or is of another worker or epoch.
func (t *Tree) leaseOf(name string, id LeaseID, epoch uint64) *lease {
	l := t.leases[id]
	if l == nil && epoch == t.epoch {
		return t.revive(t.workers[name], id)
	}
	if l == nil || epoch != t.epoch || l.worker.name != name {
		return nil
	}
	return l
}

// revive gives a lease back that was lost because its worker was silent, while nobody else has its leaf: a
// slow machine is no dead one. It returns nil if there is none.
func (t *Tree) revive(w *worker, id LeaseID) *lease {
	if w == nil || w.silenced == nil || w.silenced.id != id {
		return nil
	}
	l := w.silenced
	w.silenced = nil
	n := l.node
	if n.Lease != 0 || n.Unchecked || n.Expanded || !n.Matters() || l.checks != nil || t.laden(w) {
		return nil
	}
	n.Lease = uint64(id)
	i, _ := slices.BinarySearchFunc(w.leases, id, byID)
	w.leases = slices.Insert(w.leases, i, l)
	i, _ = slices.BinarySearchFunc(t.running, id, byID)
	t.running = slices.Insert(t.running, i, l)
	t.leases[id] = l
	t.promised = graph.Plus(t.promised, l.left())
	l.beat, w.beat = t.now, t.now
	if l.cancelled { // perhaps it never heard, so its grace begins anew
		l.since, l.defied = t.now, defiance{}
		t.emit(Cancel{w.name, l.id, t.epoch, l.why})
	}
	t.graph.Reclass(n)
	return l
}

// byID is the order of the leases of the tree, and of those of a worker: that in which they were granted.
func byID(l *lease, id LeaseID) int { return cmp.Compare(l.id, id) }

// leaseAt returns the lease of a node, or nil.
func (t *Tree) leaseAt(n *graph.Node) *lease { return t.leases[LeaseID(n.Lease)] }

// foreign reports whether an event names a lease of this epoch that is another worker's or was never
// granted. A late worker, by contrast, names an ended lease of its own.
func (t *Tree) foreign(name string, id LeaseID, epoch uint64) bool {
	l := t.leases[id]
	return epoch == t.epoch && (l != nil && l.worker.name != name || id > t.lastLease)
}

// refuseForeign emits that a lease is not the worker's.
func (t *Tree) refuseForeign(name string, id LeaseID) {
	t.emit(Refused{Worker: name, Lease: id, Why: "lease is not this worker's", Foreign: true})
}

// grant leases a leaf to a waiting worker. planned is the budget without the pace; u is the result
// that the lease checks, if it is not nil.
func (t *Tree) grant(w *worker, n *graph.Node, planned, budget uint64, u *unchecked) {
	i := slices.Index(t.waiting, w)
	t.waiting = slices.Delete(t.waiting, i, i+1)
	w.waiting--
	w.told = NoReason
	t.lastLease++
	l := &lease{id: t.lastLease, node: n, worker: w, planned: planned, budget: budget, granted: t.now, beat: t.now,
		checks: u, undivided: t.undivided(n)}
	if u != nil {
		u.lease = l
	}
	n.Lease = uint64(l.id)
	w.leases = append(w.leases, l)
	t.leases[l.id] = l
	t.running = append(t.running, l)
	t.promised = graph.Plus(t.promised, l.budget)
	t.graph.Reclass(n)
	facts := t.offers.Pick(&w.known, n.Key, t.cfg.policy.factsPerLease)
	t.emit(Grant{w.name, Lease{l.id, t.epoch, n.Key, n.Parent(), l.budget, u != nil, t.patient(n), facts}})
}

// patientSiblings is how many siblings of a position must be open for each worker, if its proof may come some seconds
// later: then the position before it is not decided soon. (Where all proofs of won positions waited for up to three
// seconds, 16 simulated workers searched 2.4 times the nodes of one on 4x7, and 1.4 times without.)
const patientSiblings = 4

// patient reports whether the proof of a leaf may come some seconds later.
func (t *Tree) patient(n *graph.Node) bool { return n.FreeSiblings() >= patientSiblings*len(t.roll) }

// end takes a lease off the books, with the nodes it used.
func (t *Tree) end(l *lease, nodes uint64) {
	n, w := l.node, l.worker
	n.Lease = 0
	if l.checks != nil {
		l.checks.lease, l.checks.since = nil, t.now
	}
	delete(t.leases, l.id)
	same := func(o *lease) bool { return o == l }
	w.leases = slices.DeleteFunc(w.leases, same)
	i, _ := slices.BinarySearchFunc(t.running, l.id, byID)
	t.running = slices.Delete(t.running, i, i+1)
	t.promised -= l.left()
	t.charge(l, nodes)
	t.graph.Reclass(n)
}

// charge counts the nodes that a lease has used.
func (t *Tree) charge(l *lease, nodes uint64) {
	if nodes <= l.charged {
		return
	}
	more := nodes - l.charged
	if t.leases[l.id] == l {
		t.promised -= min(more, l.left())
	}
	l.charged = nodes
	l.node.Nodes = graph.Plus(l.node.Nodes, more)
	t.nodes = graph.Plus(t.nodes, more)
	t.graph.Changed(l.node)
}

// lose frees the leaf of a lease whose worker is gone or silent.
func (t *Tree) lose(l *lease) {
	t.forfeit(l)
	t.failed(l.node)
}

// forfeit frees the leaf of a lease, and holds nothing against the leaf.
func (t *Tree) forfeit(l *lease) {
	l.worker.lost++
	t.free(l)
}

// free ends a lease without a result. Its leaf goes to another worker first, and its check to another party.
func (t *Tree) free(l *lease) {
	t.end(l, l.nodes)
	if l.checks != nil {
		t.pass(l)
	}
	l.node.LostBy = l.worker.serial
}

// abandon takes a lease from a worker that does with it what no sound one does.
func (t *Tree) abandon(l *lease, why string) {
	t.emit(Refused{Worker: l.worker.name, Lease: l.id, Why: why, Senseless: true})
	t.loses(l.worker.party)
	t.forfeit(l)
}

// maxStretches bounds what a slow worker may take for a lease, in units of Config.Patience: ten
// minutes. A worker says itself how slow it is.
const maxStretches = 20

// overdue reports whether a lease has taken longer than its budget accounts for: twice as long as the
// worker's last lease took for as many nodes, and Patience. Nobody knows the speed of a worker
// that has brought no nodes yet, so it has Patience alone. An honest worker loses little: it returns
// what it has, and its next lease has as long as it needs.
func (t *Tree) overdue(l *lease) bool {
	more := 0.0
	if l.worker.rate > 0 {
		more = min(2*float64(l.budget)/l.worker.rate, maxStretches*float64(t.cfg.Patience))
	}
	return len(t.roll) > 1 && t.now-l.granted > t.cfg.Patience+int(more)
}

// evaded says why a lease without sense is an offence.
const evaded = "it goes on although it was cancelled"

// grace is the number of ticks that a worker has to end a lease that was cancelled.
func (t *Tree) grace() int { return max(t.cfg.Patience/3, 3) }

// late reports whether a lease that was cancelled goes on after its worker's grace.
func (t *Tree) late(l *lease) bool { return l.cancelled && t.now-l.since > t.grace() }

// defiance counts the ticks in which a worker went on with a lease although its grace was over. Some of them happen
// to a sound worker whose machine or connection stood still: it reports before it reads, and then gathers for a
// moment. It does not go on for a second grace.
type defiance struct{ ticks, last int }

func (d *defiance) note(now int) {
	if now > d.last {
		d.ticks, d.last = d.ticks+1, now
	}
}

// quickTicks is the number of ticks in which a worker that is at work says something, unless its machine is
// very slow.
const quickTicks = 3

// evades reports whether a lease is taken away at once: its party has shown nothing, others wait for
// work, and the lease has brought no node in the ticks in which any search does, or is a check that takes far
// longer than the first search, or was cancelled as long ago. While the whole question is one lease, all others
// wait for it: then a tick is enough.
func (t *Tree) evades(l *lease) bool {
	if !t.fresh(l.worker.party) || len(t.roll) < 2 {
		return false
	}
	if age := t.now - l.granted; l.worker.leases[0] == l { // it does not wait for another one of its worker
		if l.checks != nil && t.wanting() && age > l.checks.patience() ||
			l.nodes == 0 && t.starving > 0 && age > quickTicks {
			return true
		}
	}
	return l.cancelled && t.starving > 0 && (t.now-l.since > quickTicks || l.undivided && t.now-l.since > 1)
}

// evade takes a lease away. It becomes an offence if the worker is found at it long afterwards. Where several
// others wait, its leaf is split: if they had it one after the other, each could hold it as long again.
func (t *Tree) evade(l *lease) {
	if !l.cancelled {
		t.emit(Cancel{l.worker.name, l.id, t.epoch, CancelOverdue})
	}
	t.takeAway(l)
	if n := l.node; t.starving > 1 && n.Matters() && !n.Expanded && !n.Unchecked {
		t.split(n, nil)
		t.graph.Propagate()
	}
}

// takeAway ends a lease of a worker that has shown no sign of ending it, and notes which it was: that it goes on for
// long after that would be an offence.
func (t *Tree) takeAway(l *lease) {
	l.worker.evaded, l.worker.evadedAt, l.worker.defied = l.id, t.now, defiance{}
	t.loses(l.worker.party)
	t.forfeit(l)
}

// evading reports whether a worker still reports, again and again, about a lease that was taken away long ago.
func (t *Tree) evading(w *worker, id LeaseID) bool {
	if w == nil || w.evaded == 0 || w.evaded != id || t.now-w.evadedAt <= t.grace() {
		return false
	}
	if w.defied.note(t.now); w.defied.ticks < t.grace() {
		return false
	}
	w.evaded = 0
	return true
}

// senseless says what is wrong with the progress of a lease, "" if nothing is. The bounds are far
// beyond those of any search.
func (l *lease) senseless(e Progress) string {
	switch most := graph.Plus(10*min(l.budget, math.MaxUint64/16), 100_000); {
	case l.plausible(e.Nodes) < l.nodes || e.Activity < l.activity:
		return "its progress goes back"
	case e.Nodes > most:
		return fmt.Sprintf("%d nodes are said to be searched of %d", e.Nodes, l.budget)
	case e.Activity>>20 > most:
		return fmt.Sprintf("%d positions are said to be evaluated in %d nodes", e.Activity, l.budget)
	}
	return ""
}

func (t *Tree) progress(e Progress) {
	l := t.leaseOf(e.Worker, e.Lease, e.Epoch)
	if l == nil {
		if t.foreign(e.Worker, e.Lease, e.Epoch) {
			t.refuseForeign(e.Worker, e.Lease)
		} else if e.Epoch == t.epoch && t.evading(t.workers[e.Worker], e.Lease) {
			t.emit(Refused{Worker: e.Worker, Lease: e.Lease, Why: evaded, Senseless: true})
		}
		t.emit(Cancel{e.Worker, e.Lease, e.Epoch, CancelStale})
		return
	}
	if why := l.senseless(e); why != "" {
		t.abandon(l, why)
		return
	}
	e.Nodes = l.plausible(e.Nodes)
	if e.Nodes > l.nodes || e.Activity > l.activity {
		l.beat, l.worker.beat = t.now, t.now
		if t.late(l) {
			l.defied.note(t.now)
		}
	}
	l.nodes = max(l.nodes, e.Nodes)
	l.activity = max(l.activity, e.Activity)
}

func (t *Tree) proved(e Proved) {
	if w := t.workers[e.Worker]; w != nil {
		for _, l := range w.leases {
			if l.begun() {
				l.beat = t.now
			}
		}
		w.beat = t.now
	}
	if l := t.leaseOf(e.Worker, e.Lease, e.Epoch); l != nil && e.Nodes > 0 {
		l.beat = t.now
		l.nodes = max(l.nodes, l.plausible(e.Nodes))
		t.charge(l, l.nodes)
	} else if l == nil && t.foreign(e.Worker, e.Lease, e.Epoch) {
		t.refuseForeign(e.Worker, e.Lease)
	}
	t.learn(e.Worker, e.Facts, e.Certificates)
	t.graph.Propagate()
}

// cancel asks the worker of a lease to end it.
func (t *Tree) cancel(l *lease, why CancelReason) {
	if !l.cancelled {
		l.cancelled, l.why, l.since = true, why, t.now
		t.emit(Cancel{l.worker.name, l.id, t.epoch, why})
	}
}

func (t *Tree) cancelAll(why CancelReason) {
	for _, l := range t.running {
		t.cancel(l, why)
	}
}
