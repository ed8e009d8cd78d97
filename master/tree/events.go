package tree

import (
	"fmt"

	"amazonsfarm/shared/amazons"
	"amazonsfarm/shared/eval"
	"amazonsfarm/shared/proof"
)

// LeaseID numbers the leases of one epoch from 1.
type LeaseID uint64

// Event is an input of the state machine. Its String is a line of a trace. The events of workers are
// Joined, Left, Ready, Progress, Proved and Result; those of the master Tick, Distrusted, Pause,
// Resume and Drain; those of other campaigns are in pool.go.
type Event interface {
	apply(*Tree)
	fmt.Stringer
}

// Joined says that a worker is there. A worker whose connection broke joins again. It keeps the leases
// on which it has reported progress, and is told again which of them are cancelled. Its other leases
// are freed, and it must say Ready again.
type Joined struct {
	Worker string
	// Slots is the number of leases that the worker may hold at once, at least 1. A worker with 2
	// searches one of them and has the next one at hand.
	Slots int
	// Party names all workers of one owner. Their results do not count as checks of each other.
	// Default: Worker.
	Party string
	// Confirmed is how many results of the party were confirmed, in other campaigns or before a
	// restart, and Solved how many positions of its leases it solved. They count if the party is new
	// here.
	Confirmed, Solved int
}

// Left says that a worker is gone; its leases are lost.
type Left struct{ Worker string }

// Ready asks for one lease. The request stands until a Grant answers it, or the worker leaves or joins
// again. A NoWork in between only tells why it waits.
type Ready struct{ Worker string }

// Progress is the heartbeat of one lease. A lease lives while either number grows, so a stuck worker
// is not alive. A lease not begun (Nodes 0) also lives by the progress of its worker's other leases.
type Progress struct {
	Worker   string
	Lease    LeaseID
	Epoch    uint64
	Nodes    uint64 // searched in this lease so far
	Activity uint64 // anything that grows while the worker works otherwise, such as at evidence
}

// Result ends a lease. A result that comes twice or late is refused, all but its facts. An open result
// is a failed try if it used much less than its budget (Config.ShortPercent) and was not cancelled:
// its numbers do not count.
type Result struct {
	Worker     string
	Lease      LeaseID
	Epoch      uint64
	Key        amazons.Key  // that of the lease
	Verdict    eval.Verdict // counts only with a fact beside it
	Phi, Delta uint32       // of Key
	Nodes      uint64       // searched in this lease
	// Children is the numbers of the positions after Key, as numbers.Append writes them. It is ignored
	// if it does not fit those positions.
	Children     []byte
	Facts        []proof.Fact
	Certificates []proof.ID // those that the store holds whole and that Facts name
	Cancelled    bool       // it ended because of a Cancel, not by its budget
}

// Proved brings facts while a lease goes on. A fact is refused if its certificate is not among
// Certificates. The nodes that the lease has used so far become durable with it, if the lease is
// running.
type Proved struct {
	Worker       string
	Lease        LeaseID
	Epoch        uint64
	Nodes        uint64 // as in Progress; 0: not said
	Facts        []proof.Fact
	Certificates []proof.ID // those that the store holds whole
}

// Tick is the passing of one unit of time, a second in production. Elsewhere is the Demand of the
// other trees of the same master together.
type Tick struct{ Elsewhere float64 }

// Distrusted says that a party was caught at what no sound worker does. Its results since its last
// confirmed one are searched again.
type Distrusted struct{ Party string }

// Pause stops granting; running leases go on.
type Pause struct{}

// Resume undoes Pause.
type Resume struct{}

// Drain stops granting for good and cancels all leases; their numbers count.
type Drain struct{}

func (e Joined) apply(t *Tree)     { t.joined(e) }
func (e Left) apply(t *Tree)       { t.left(e) }
func (e Ready) apply(t *Tree)      { t.ready(e) }
func (e Progress) apply(t *Tree)   { t.progress(e) }
func (e Result) apply(t *Tree)     { t.result(e) }
func (e Proved) apply(t *Tree)     { t.proved(e) }
func (e Tick) apply(t *Tree)       { t.tick(e.Elsewhere) }
func (e Distrusted) apply(t *Tree) { t.distrust(e.Party) }
func (Pause) apply(t *Tree)        { t.paused = true }
func (Resume) apply(t *Tree)       { t.paused = false }
func (Drain) apply(t *Tree)        { t.draining = true }

// String returns "joined", the worker and its slots.
func (e Joined) String() string { return fmt.Sprintf("joined %s slots=%d", e.Worker, e.Slots) }

// String returns "left" and the worker.
func (e Left) String() string { return "left " + e.Worker }

// String returns "ready" and the worker.
func (e Ready) String() string { return "ready " + e.Worker }

// String returns "progress", the worker, the lease and its nodes.
func (e Progress) String() string {
	return fmt.Sprintf("progress %s lease=%d/%d nodes=%d", e.Worker, e.Epoch, e.Lease, e.Nodes)
}

// String returns "result", the worker, the lease and its numbers.
func (e Result) String() string {
	s := fmt.Sprintf("result %s lease=%d/%d %s phi=%d delta=%d nodes=%d children=%d facts=%d",
		e.Worker, e.Epoch, e.Lease, e.Verdict, e.Phi, e.Delta, e.Nodes, len(e.Children), len(e.Facts))
	if e.Cancelled {
		s += " cancelled"
	}
	return s
}

// String returns "proved", the worker and the number of facts.
func (e Proved) String() string { return fmt.Sprintf("proved %s facts=%d", e.Worker, len(e.Facts)) }

// String returns "tick".
func (Tick) String() string { return "tick" }

// String returns "distrusted" and the party.
func (e Distrusted) String() string { return "distrusted " + e.Party }

// String returns "pause".
func (Pause) String() string { return "pause" }

// String returns "resume".
func (Resume) String() string { return "resume" }

// String returns "drain".
func (Drain) String() string { return "drain" }
