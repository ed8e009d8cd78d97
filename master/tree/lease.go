package tree

import (
	"amazonsfarm/shared/eval"
	"math"
	"slices"
)

// lease is one running job.
type lease struct {
	id        LeaseID
	node      *node
	worker    *worker
	planned   uint64 // nodes that it would have with fewer workers (pace)
	budget    uint64
	nodes     uint64 // reported so far
	charged   uint64 // of these, what is counted in its leaf's work and the campaign's
	activity  uint64
	granted   int // tick
	beat      int // tick of its last progress
	cancelled bool
	why       CancelReason // with cancelled
	split     bool         // called back to be split
	claim     *claim       // not nil: it checks what others said
}

// begun says that the worker has reported anything about it.
func (l *lease) begun() bool { return l.nodes > 0 || l.activity > 0 }

// lastSign returns the tick of the last sign of life. A lease in its worker's
// queue shows none of its own.
func (l *lease) lastSign() int {
	if l.begun() {
		return l.beat
	}
	return max(l.beat, l.worker.beat)
}

// left returns what is left of its budget.
func (l *lease) left() uint64 { return l.budget - min(l.budget, l.charged) }

// held returns the lease that an event names, or nil: unknown, ended, of
// another worker or of another epoch.
func (t *Tree) held(name string, id LeaseID, epoch uint64) *lease {
	l := t.leases[id]
	if l == nil || epoch != t.epoch || l.worker.name != name {
		return nil
	}
	return l
}

// foreign reports whether an event names a lease of this epoch that is another worker's or was
// never granted. A worker that is late names one that it had itself, which is gone.
func (t *Tree) foreign(name string, id LeaseID, epoch uint64) bool {
	l := t.leases[id]
	return epoch == t.epoch && (l != nil && l.worker.name != name || id > t.lastLease)
}

// refuseForeign emits that a lease is not the worker's.
func (t *Tree) refuseForeign(name string, id LeaseID) {
	t.emit(Refused{Worker: name, Lease: id, Why: "lease is not this worker's", Foreign: true})
}

// grant leases a leaf to a waiting worker for so many nodes (pace), to check a claim if that is not
// nil.
func (t *Tree) grant(w *worker, n *node, planned, budget uint64, c *claim) {
	i := slices.Index(t.waiting, w)
	t.waiting = slices.Delete(t.waiting, i, i+1)
	w.waiting--
	w.told = NoReason
	t.lastLease++
	l := &lease{id: t.lastLease, node: n, worker: w, planned: planned, budget: budget, granted: t.now, beat: t.now,
		claim: c}
	if c != nil {
		c.lease = l
	}
	n.lease = l
	w.leases = append(w.leases, l)
	t.leases[l.id] = l
	t.running = append(t.running, l)
	t.promised = plus(t.promised, l.budget)
	t.reclass(n)
	t.emit(Grant{w.name, Lease{l.id, t.epoch, n.key, l.budget, c != nil, t.shelf.pick(w, n.key, t.cfg.policy.factsPerLease)}})
}

// end takes a lease off the books, with the nodes it used.
func (t *Tree) end(l *lease, nodes uint64) {
	n, w := l.node, l.worker
	n.lease = nil
	if l.claim != nil {
		l.claim.lease, l.claim.since = nil, t.now
	}
	delete(t.leases, l.id)
	same := func(o *lease) bool { return o == l }
	w.leases = slices.DeleteFunc(w.leases, same)
	i, _ := slices.BinarySearchFunc(t.running, l.id,
		func(o *lease, id LeaseID) int { return int(int64(o.id) - int64(id)) })
	t.running = slices.Delete(t.running, i, i+1)
	t.promised -= l.left()
	t.charge(l, nodes)
	t.reclass(n)
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
	l.node.work = plus(l.node.work, more)
	t.spent = plus(t.spent, more)
	l.worker.nodes = plus(l.worker.nodes, more)
	t.change(l.node)
}

// plus adds without wrapping around.
func plus(a, b uint64) uint64 {
	if a > math.MaxUint64-b {
		return math.MaxUint64
	}
	return a + b
}

// plausible bounds the nodes that a worker says a lease has used: a search hardly goes beyond its
// budget, and who says that it has is not believed. Else one lie would use up Config.MaxPositions of a
// campaign, or have a leaf split.
func (l *lease) plausible(nodes uint64) uint64 {
	return min(nodes, plus(2*min(l.budget, math.MaxUint64/4), 1000))
}

// lose frees the leaf of a lease whose worker is gone or silent.
func (t *Tree) lose(l *lease) {
	t.end(l, l.nodes)
	l.worker.lost++
	if l.claim != nil {
		t.pass(l)
	}
	l.node.lostBy = l.worker.serial
	t.failed(l.node)
}

// failed counts a try at a leaf that brought nothing.
func (t *Tree) failed(n *node) {
	n.tries++
	if int(n.tries) < t.cfg.policy.maxTries || n.aside {
		return
	}
	n.aside = true
	t.aside = append(t.aside, n)
	n.budget = t.cfg.InitialBudget
	t.change(n)
	t.reclass(n)
}

// succeeded takes a leaf back among the ordinary ones.
func (t *Tree) succeeded(n *node) {
	n.tries = 0
	if n.aside {
		n.aside = false
		t.reclass(n)
	}
}

func (t *Tree) progress(e Progress) {
	l := t.held(e.Worker, e.Lease, e.Epoch)
	if l == nil {
		if t.foreign(e.Worker, e.Lease, e.Epoch) {
			t.refuseForeign(e.Worker, e.Lease)
		}
		t.emit(Cancel{e.Worker, e.Lease, e.Epoch, CancelStale})
		return
	}
	e.Nodes = l.plausible(e.Nodes)
	if e.Nodes > l.nodes || e.Activity > l.activity {
		l.beat, l.worker.beat = t.now, t.now
	}
	l.nodes = max(l.nodes, e.Nodes)
	l.activity = max(l.activity, e.Activity)
}

func (t *Tree) proved(e Proved) {
	w := t.workers[e.Worker]
	if w != nil {
		for _, l := range w.leases {
			if l.begun() {
				l.beat = t.now
			}
		}
		w.beat = t.now
	}
	if l := t.held(e.Worker, e.Lease, e.Epoch); l != nil && e.Nodes > 0 {
		l.beat = t.now
		l.nodes = max(l.nodes, l.plausible(e.Nodes))
		t.charge(l, l.nodes)
	} else if l == nil && t.foreign(e.Worker, e.Lease, e.Epoch) {
		t.refuseForeign(e.Worker, e.Lease)
	}
	t.learn(e.Worker, w, e.Facts, e.Certificates)
	t.propagate()
}

func (t *Tree) result(e Result) {
	w := t.workers[e.Worker]
	t.learn(e.Worker, w, e.Facts, e.Certificates)
	l := t.held(e.Worker, e.Lease, e.Epoch)
	switch {
	case e.Epoch != t.epoch:
		t.refuse(e.Worker, e.Lease, "lease is of another epoch")
	case t.foreign(e.Worker, e.Lease, e.Epoch):
		t.refuseForeign(e.Worker, e.Lease)
	case l == nil:
		t.refuse(e.Worker, e.Lease, "lease is not held")
	case l.node.key != e.Key:
		t.refuse(e.Worker, e.Lease, "result is for another position")
	default:
		w.beat = t.now
		t.returned(l, e)
		return
	}
	t.propagate()
}

// returned ends a lease that came back in order.
func (t *Tree) returned(l *lease, e Result) {
	n := l.node
	nodes := max(l.plausible(e.Nodes), l.nodes)
	scarce := t.scarce() // for the others, while this leaf is leased
	l.nodes = nodes
	t.end(l, nodes)
	t.pace.end(l)
	if nodes > 0 { // else its table knows nothing of it
		n.warm = l.worker.serial
	}
	if t.stopped != nil {
		t.propagate() // what came before the contradiction, in this very result
		return
	}
	short := !e.Cancelled && e.Verdict == eval.Open && t.cfg.ShortPercent > 0 &&
		nodes < l.budget/100*uint64(t.cfg.ShortPercent)+l.budget%100*uint64(t.cfg.ShortPercent)/100
	if short {
		t.emit(Refused{Worker: e.Worker, Lease: l.id, Why: "the search ended before its budget", Short: true})
	}
	// Numbers that cannot be checked, because the search ended early or they are not numbers of an
	// open position, are taken of proven parties only, where the lease was called back: who may
	// hand back what it likes is never checked.
	early := e.Cancelled || e.Verdict != eval.Open
	unheard := early && t.cfg.CheckFirst > 0 && t.present > 1 && (t.unproven(l.worker.party) || !l.cancelled)
	if !n.solved() && n.live > 0 {
		switch {
		case !early && !short && nodes > 0:
			if t.weigh(l, e) {
				t.propagate()
				return // its numbers wait
			}
		case l.claim != nil && l.cancelled:
			t.drop(l.claim)
		case l.claim != nil:
			t.pass(l)
		case early && !unheard:
			t.accept(l.worker.party, n, l.worker.serial)
		}
	}
	if unheard {
		e.Children = nil
	}
	if !n.solved() {
		phi, delta := unproved(e.Phi), unproved(e.Delta)
		empty := short
		switch e.Verdict { // solved, but by no fact: a strong hint, and a try that failed
		case eval.Won:
			phi, delta, empty = 1, hint, true
		case eval.Lost:
			phi, delta, empty = hint, 1, true
		}
		if !short && !unheard && (nodes > 0 || empty) {
			t.setLeaf(n, phi, delta)
		}
		empty = empty || nodes == 0 && !e.Cancelled
		if !e.Cancelled && !short {
			n.budget = t.nextBudget(l.planned)
			t.change(n)
		}
		switch {
		case empty && n.lostBy == l.worker.serial && t.present > 1:
			// Counted once: a worker that brings nothing cannot set positions aside alone.
		case empty:
			n.lostBy = l.worker.serial
			t.failed(n)
		case nodes > 0:
			t.succeeded(n)
		}
	}
	t.propagate()
	if n.solved() || n.live == 0 || n.work == 0 || short || n.claimed {
		return
	}
	if n.work >= t.splitAfter() || t.cfg.EasyReplies && n.layer <= t.root.layer+1 || l.split ||
		(t.starving > 0 || scarce && n.work >= t.earlySplit()) && nodes > 0 {
		t.split(n, e.Children)
		t.propagate()
	}
}

// scarce reports whether the most useful leaf that is free is worth little to workers that could
// have it.
func (t *Tree) scarce() bool {
	return len(t.roll) > 1 && t.root.use*100 < float64(t.cfg.policy.splitBelow)
}

// splitAfter returns the nodes after which a leaf is split: the setting, doubled
// with each eighth of MaxPositions that is in use, so that a long campaign fills the
// tree ever more slowly instead of meeting the bound early.
func (t *Tree) splitAfter() uint64 { return doubled(t.cfg.SplitAfter, t.eighths()) }

// earlySplit returns the nodes after which a leaf is split while work is scarce: those of a first
// lease, and from half of MaxPositions on sixteen times as many with each eighth that is in use: a
// position that many workers wait for is worth the room as long as there is some.
func (t *Tree) earlySplit() uint64 {
	return doubled(t.cfg.InitialBudget, 4*max(0, t.eighths()-3))
}

// eighths returns how many whole eighths of MaxPositions are in use.
func (t *Tree) eighths() int { return t.nodes.n * 8 / t.cfg.MaxPositions }

// doubled returns nodes, doubled a number of times.
func doubled(nodes uint64, times int) uint64 {
	for range times {
		nodes = plus(nodes, nodes)
	}
	return nodes
}

// split expands a leaf by one level, with a worker's numbers for its children,
// if the tree has room.
func (t *Tree) split(n *node, children []byte) {
	next := t.successors(n)
	fresh := 0
	for _, c := range next {
		if c.node == nil {
			fresh++
		}
	}
	if t.nodes.n+fresh > t.cfg.MaxPositions {
		t.full = true
		return
	}
	t.number(next, children)
	t.expand(n, next)
}

// tick lets a unit of time pass: it passes on what was proved, sweeps silent leases and counts how long
// workers have starved.
func (t *Tree) tick(elsewhere float64) {
	t.now++
	t.pace.tick(t.Searched(), elsewhere, t.cfg.ResultsPerTick)
	t.inform()
	if t.now > t.cfg.SilentTicks { // workers of before a restart need time to come back
		for i := 0; i < len(t.running); {
			l := t.running[i]
			if t.now-l.lastSign() >= t.cfg.SilentTicks {
				t.lose(l) // takes it out of t.running
				continue
			}
			i++
		}
	}
	t.relieve()
	t.review()
}

// relieve calls leases back to be split when workers have starved for long enough.
func (t *Tree) relieve() {
	if t.starving == 0 {
		return
	}
	if t.starved++; t.starved < starveTicks {
		return
	}
	for i := range (t.starving + starvingPerCall - 1) / starvingPerCall {
		if !t.callBack() {
			break
		}
		if i == 0 {
			t.starved = 0
		}
	}
}

// starveTicks is the number of ticks for which a worker without any lease has waited when leases are
// called back for it. With fewer, leases are called back for workers that wait for a moment only.
const starveTicks = 2

// starvingPerCall is the number of workers without any lease for whom one lease is called back:
// splitting it makes dozens of leaves, but few are useful.
const starvingPerCall = 4

// callBack cancels one lease for the sake of workers that have none: one that
// its worker holds beside another and has not begun, else the one with most
// nodes, to be split. It reports whether there was one.
func (t *Tree) callBack() bool {
	var largest *lease
	for _, l := range t.running {
		if l.cancelled {
			continue
		}
		if !l.begun() {
			if len(l.worker.leases) > 1 && l.worker.leases[0] != l {
				t.cancel(l, CancelShare)
				return true
			}
			continue
		}
		if l.nodes > 0 && (largest == nil || l.nodes > largest.nodes) {
			largest = l
		}
	}
	if largest == nil || t.full {
		return false
	}
	largest.split = true
	t.cancel(largest, CancelSplit)
	return true
}

func (t *Tree) cancel(l *lease, why CancelReason) {
	if !l.cancelled {
		l.cancelled, l.why = true, why
		t.emit(Cancel{l.worker.name, l.id, t.epoch, why})
	}
}

func (t *Tree) cancelAll(why CancelReason) {
	for _, l := range t.running {
		t.cancel(l, why)
	}
}
