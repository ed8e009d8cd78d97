package tree

import (
	"slices"

	"amazonsfarm/master/tree/offers"
)

// WorkerSlots is the number of leases that a worker may hold: one that runs, the next in hand, and sixteen that are
// solved and whose proofs it gathers together. A party that has shown nothing yet may hold freshSlots of them: it
// could sit on all.
const (
	WorkerSlots = 18
	freshSlots  = 2
)

// laden reports whether a worker holds as many leases as it may.
func (t *Tree) laden(w *worker) bool {
	return len(w.leases) >= w.slots || len(w.leases) >= freshSlots && t.fresh(w.party)
}

// worker is one worker that has joined.
type worker struct {
	name    string
	serial  uint32 // tells it from an earlier worker of the same name; from 1
	slots   int
	waiting int      // requests in t.waiting
	leases  []*lease // in the order of their numbers
	told    NoWorkReason
	beat    int // tick of the last sign of work on any lease
	known   offers.Known

	rate  float64 // nodes a tick, in its last lease with any; 0: unknown
	lost  int
	party *party

	silenced *lease  // the last one that was lost because it was silent; nil: none
	lostAt   int     // tick at which that was
	evaded   LeaseID // the last lease that was taken away at once; 0: none
	evadedAt int     // tick
	defied   defiance
}

func (t *Tree) joined(e Joined) {
	slots := min(max(e.Slots, 1), t.cfg.policy.maxSlots)
	w := t.workers[e.Worker]
	if w != nil && w.party.name != e.partyName() { // somebody else with its name
		t.left(Left{e.Worker})
		w = nil
	}
	if w != nil {
		t.rejoined(w)
		w.slots, w.told = slots, NoReason
		return
	}
	if e.Worker == "" {
		t.refuse(e.Worker, 0, "a worker needs a name")
		return
	}
	if len(t.roll) >= t.cfg.MaxWorkers {
		t.refuse(e.Worker, 0, "as many workers as allowed are there")
		return
	}
	t.serial++
	w = &worker{name: e.Worker, serial: t.serial, slots: slots, beat: t.now}
	t.workers[e.Worker] = w
	t.come(w, e)
	t.roll = append(t.roll, w)
	t.graph.Crowd(len(t.roll))
}

// rejoined makes up for what may have been lost on a broken connection: grants
// and cancels. A lease that was not begun may never have arrived, and nothing
// would ever end it while its worker is busy with others. It goes to another worker first: one that joins again and
// again must not get it each time. A party without standing that does so three times is paused. Of leases that
// were begun a worker speaks with its next heartbeat; one that was started anew does not know them.
func (t *Tree) rejoined(w *worker) {
	t.unqueue(w)
	w.known = nil // facts of a grant that was lost were never seen
	for _, l := range slices.Clone(w.leases) {
		switch {
		case !l.begun():
			t.free(l)
			if t.fresh(w.party) {
				t.fails(w.party)
			}
		case l.cancelled:
			t.emit(Cancel{w.name, l.id, t.epoch, l.why})
		}
		l.beat = min(l.beat, t.now+quickTicks-t.cfg.SilentTicks)
	}
}

func (t *Tree) left(e Left) {
	w := t.workers[e.Worker]
	if w == nil {
		return
	}
	t.unqueue(w)
	for len(w.leases) > 0 {
		t.lose(w.leases[0])
	}
	delete(t.workers, w.name)
	t.gone(w)
	t.roll = slices.DeleteFunc(t.roll, func(o *worker) bool { return o == w })
	t.graph.Crowd(len(t.roll))
	t.review()
}

func (t *Tree) ready(e Ready) {
	w := t.workers[e.Worker]
	if w == nil {
		t.refuse(e.Worker, 0, "worker has not joined")
		return
	}
	w.told = NoReason
	t.attend(w.party, true)
	if w.waiting < w.slots {
		w.waiting++
		t.waiting = append(t.waiting, w)
	}
}

// unqueue takes back all requests of w.
func (t *Tree) unqueue(w *worker) {
	if w.waiting > 0 {
		w.waiting = 0
		t.waiting = slices.DeleteFunc(t.waiting, func(o *worker) bool { return o == w })
	}
}
