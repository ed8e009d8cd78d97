package tree

// starveTicks is the number of ticks for which a worker without any lease has waited when the master
// cancels leases for it. With fewer, leases end for workers that wait for a moment only.
const starveTicks = 2

// starvingPerCancel is the number of workers without any lease for whom one lease is cancelled. A
// split makes dozens of leaves, but few are useful.
const starvingPerCancel = 4

// tick lets a unit of time pass: it tells workers of new facts, frees the leaves of silent leases,
// and counts how long workers have starved.
func (t *Tree) tick(elsewhere float64) {
	t.now++
	t.pace.tick(t.AllNodes(), elsewhere, t.cfg.ResultsPerTick)
	t.inform()
	if t.now > quickTicks { // workers of before a restart need time to come back
		for i := 0; i < len(t.running); {
			switch l := t.running[i]; {
			case t.now-l.lastSign() >= t.cfg.SilentTicks:
				if w := l.worker; w.lostAt != t.now { // it counts once, however many leases it held
					w.lostAt = t.now
					t.loses(w.party)
				}
				l.worker.silenced = l
				t.lose(l) // takes it out of t.running
			case l.defied.ticks >= t.grace():
				t.abandon(l, evaded)
			case l.cancelled && t.now-l.since > 2*t.grace(): // it may be an accident
				t.takeAway(l)
			case t.evades(l):
				t.evade(l)
			default:
				if t.overdue(l) {
					t.cancel(l, CancelOverdue)
				}
				i++
			}
		}
	}
	t.tryAgain()
	t.lookAround()
	t.divide()
	t.relieve()
	t.review()
}

// divide ends the long lease of a lone worker at the next tick after another one waits for work, and has
// its leaf split. A question that is answered before was not worth sharing.
func (t *Tree) divide() {
	if l := t.leaseAt(t.graph.Root); l != nil && l.undivided && !l.cancelled && t.starving > 0 && !t.full {
		t.cutShort(l)
	}
}

// cutShort ends a lease so that its leaf can be split.
func (t *Tree) cutShort(l *lease) {
	l.split = true
	t.cancel(l, CancelSplit)
}

// relieve cancels leases when workers have starved for long enough.
func (t *Tree) relieve() {
	if t.starving == 0 {
		return
	}
	if t.starved++; t.starved < starveTicks {
		return
	}
	for i := range (t.starving + starvingPerCancel - 1) / starvingPerCancel {
		if !t.cancelForStarving() {
			break
		}
		if i == 0 {
			t.starved = 0
		}
	}
}

// cancelForStarving cancels one lease for workers that have none. A lease that waits behind another
// one in its worker's queue comes first; else the lease with most nodes ends, to be split, also one
// without any that its worker has had for a while. It reports whether there was one.
func (t *Tree) cancelForStarving() bool {
	var largest *lease
	for _, l := range t.running {
		if l.cancelled {
			continue
		}
		if !l.begun() {
			if len(l.worker.leases) > 1 && l.worker.leases[0] != l {
				t.cancel(l, CancelUnbegun)
				return true
			}
			continue
		}
		if (l.nodes > 0 || t.now-l.granted > quickTicks) && (largest == nil || l.nodes > largest.nodes) {
			largest = l
		}
	}
	if largest == nil || t.full {
		return false
	}
	t.cutShort(largest)
	return true
}
