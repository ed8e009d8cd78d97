package tree

import (
	"fmt"
	"math/bits"
	"slices"

	"amazonsfarm/shared/amazons"
	"amazonsfarm/shared/proof"
)

// What a tree needs to be one of several, each of another campaign (master/schedule).

// Withdrawn takes back all requests of a worker: another campaign has work for it.
type Withdrawn struct{ Worker string }

// Wanted says whether there are workers that would search here rather than where they are. Then the
// tree is split as if they waited.
type Wanted struct{ Workers bool }

// Shared brings facts that another campaign of the same board has learned and persisted. Those that
// cannot come after the root are passed over. They are not persisted again, and restored as facts
// of this campaign.
type Shared struct{ Facts []proof.Fact }

// Vouched says that a result of a party was confirmed in another campaign: who is believed there is
// believed here.
type Vouched struct{ Party string }

// Forgot says that a worker's table is gone: it knows no fact, and no position is warm in it.
type Forgot struct{ Worker string }

// Stopped says that a contradiction was found in another campaign that shares its facts: one of
// these is false.
type Stopped struct{ Contradiction Contradiction }

func (Withdrawn) event() {}
func (Wanted) event()    {}
func (Shared) event()    {}
func (Vouched) event()   {}
func (Forgot) event()    {}
func (Stopped) event()   {}

// String returns the event as a line of a trace.
func (e Withdrawn) String() string { return "withdrawn " + e.Worker }

// String returns the event as a line of a trace.
func (e Wanted) String() string { return fmt.Sprintf("wanted %v", e.Workers) }

// String returns the event as a line of a trace.
func (e Shared) String() string { return fmt.Sprintf("shared facts=%d", len(e.Facts)) }

// String returns the event as a line of a trace.
func (e Vouched) String() string { return "vouched " + e.Party }

// String returns the event as a line of a trace.
func (e Forgot) String() string { return "forgot " + e.Worker }

// String returns the event as a line of a trace.
func (e Stopped) String() string { return "stopped: " + e.Contradiction.String() }

// shared takes the facts of another campaign. That their form is in order has been seen there.
func (t *Tree) shared(facts []proof.Fact) {
	for _, f := range facts {
		if t.stopped != nil {
			break
		}
		if t.reach.Has(f.Key) {
			t.take(f, "", false)
		}
	}
	t.propagate()
}

// Reach tells which positions may come after a root.
type Reach struct {
	board  amazons.Board
	layer  uint8
	queens [2]int    // of the side to move at the root, and of the other
	burnt  [8]uint64 // at the root, packed, in each orientation
	images int
}

// ReachOf returns what may come after a position.
func ReachOf(root amazons.Position) Reach {
	b, s := root.Board, root.State()
	r := Reach{board: b, layer: uint8(s.Arrows(b)), queens: [2]int{bits.OnesCount64(s.Own), bits.OnesCount64(s.Opp)},
		images: b.Symmetries()}
	for i := range r.images {
		r.burnt[i] = b.Pack(b.Apply(amazons.Symmetry(i), s.Burnt(b)))
	}
	return r
}

// Has reports whether a position of the board may come after the root: squares once burnt stay
// burnt, and no queen is taken. It is a necessary condition only.
func (r Reach) Has(k amazons.Key) bool {
	burnt, layer := k.A&k.B, layerOf(k)
	if layer < r.layer {
		return false
	}
	own, opp := r.queens[0], r.queens[1]
	if (layer-r.layer)%2 == 1 {
		own, opp = opp, own
	}
	if bits.OnesCount64(k.A&^burnt) != own || bits.OnesCount64(k.B&^burnt) != opp {
		return false
	}
	for _, image := range r.burnt[:r.images] {
		if image&^burnt == 0 {
			return true
		}
	}
	return false
}

// Idle says why nothing is granted at all; NoReason if something may be, now or when a lease comes
// back.
func (t *Tree) Idle() NoWorkReason { return t.halted() }

// Free reports whether a leaf could be leased now, or a result checked.
func (t *Tree) Free() bool {
	return t.halted() == NoReason && (t.root.class != locked || slices.ContainsFunc(t.claims, (*claim).wants))
}

// Takes reports whether a worker that asks would be granted a lease, or another that waits.
func (t *Tree) Takes(worker string) bool {
	w := t.workers[worker]
	if w == nil || len(w.leases) >= w.slots || t.halted() != NoReason {
		return false
	}
	return t.root.class != locked && !t.blocked(w) ||
		slices.ContainsFunc(t.claims, func(c *claim) bool { return c.wants() && !c.knows(w.party) })
}

// Asks returns how many requests of a worker stand.
func (t *Tree) Asks(worker string) int {
	if w := t.workers[worker]; w != nil {
		return w.waiting
	}
	return 0
}

// Effort returns the nodes of leases that have ended, and what is left of the budgets of those that
// run.
func (t *Tree) Effort() uint64 { return plus(t.spent, t.promised) }
