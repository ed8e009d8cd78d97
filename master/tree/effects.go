package tree

import (
	"fmt"

	"amazonsfarm/master/tree/graph"
	"amazonsfarm/shared/amazons"
	"amazonsfarm/shared/eval"
	"amazonsfarm/shared/proof"
)

// Lease is a job: search Key for about Budget nodes, knowing Facts.
type Lease struct {
	ID     LeaseID
	Epoch  uint64
	Key    amazons.Key // canonical
	Parent amazons.Key // an unsolved position one move above; zero for the root
	Budget uint64      // nodes
	// Check says that the lease repeats the search of another party. The other party's hints must not
	// go with it.
	Check bool
	// Patient says that its proof may come some seconds later, with those of other leases.
	Patient bool
	Facts   []proof.Fact // positions that may be met below Key and were not yet sent to or by this worker
}

// Effect is an output of the state machine: Persist, Grant, Inform, Cancel, NoWork, Settled,
// Contradiction, Taken, Checked or Refused. Its String is a line of a trace.
type Effect interface {
	effect()
	fmt.Stringer
}

// Persist must be durable before any other effect of its step is acted upon, and before the event is
// acknowledged. Several may be written at once, in order.
type Persist struct {
	Campaign      uint32         // whose tree it is; 0 of a tree that knows of no other
	Nodes         []NodeRecord   // replace earlier records of the same keys
	Facts         []proof.Fact   // new ones, each key once in a campaign
	Spent         uint64         // nodes searched so far: the counter itself, not a difference
	Epoch         uint64         // of this tree
	Contradiction *Contradiction // usually nil
}

// Grant answers a Ready.
type Grant struct {
	Worker string
	Lease  Lease
}

// Inform tells a worker of facts that others have proved since the last tick, and that it may meet
// below its leases. Nothing is lost if it does not arrive, but the facts are not sent to that worker
// again.
type Inform struct {
	Worker string
	Facts  []proof.Fact
}

// Cancel asks a worker to end a lease and to send its Result, with the numbers it has and Cancelled
// set. After CancelStale nobody waits for the Result.
type Cancel struct {
	Worker string
	Lease  LeaseID
	Epoch  uint64
	Reason CancelReason
}

// CancelReason says why a lease is cancelled.
type CancelReason uint8

// The reasons to cancel.
const (
	CancelClosed  CancelReason = iota // the position is solved, or lies below solved ones only
	CancelSplit                       // workers wait: its numbers are wanted to split it
	CancelOver                        // the campaign is settled
	CancelDrain                       // the master drains
	CancelStopped                     // a contradiction stopped the campaign
	CancelUnbegun                     // workers wait without any lease and this one is not begun
	CancelStale                       // the master does not know this lease (any more)
	CancelOverdue                     // it has taken longer than its budget accounts for
)

// String returns one word.
func (r CancelReason) String() string {
	return nameOf(uint8(r), "cancel", "closed", "split", "over", "drain", "stopped", "unbegun", "stale", "overdue")
}

// NoWork tells a waiting worker why it waits. It comes again when the reason changes; no new Ready is
// needed.
type NoWork struct {
	Worker string
	Reason NoWorkReason
}

// NoWorkReason says why a Ready is not answered by a Grant.
type NoWorkReason uint8

// The reasons not to grant.
const (
	NoReason        NoWorkReason = iota // work is granted
	NoWorkLeased                        // every open leaf is leased; one will be split
	NoWorkFull                          // every open leaf is leased and the tree has MaxPositions
	NoWorkSlots                         // the worker already holds as many leases as it has slots
	NoWorkPaused                        // granting is paused
	NoWorkDrain                         // the master drains
	NoWorkSettled                       // the campaign has its answer
	NoWorkStopped                       // a contradiction stopped the campaign
	NoWorkUnchecked                     // results of its party wait to be checked, or nothing came from its last leases
)

// String returns a phrase.
func (r NoWorkReason) String() string {
	return nameOf(uint8(r), "no work", "none", "every open position is leased",
		"every open position is leased and the tree is full",
		"all slots of the worker are in use", "paused", "draining", "campaign settled",
		"campaign stopped by a contradiction",
		"results wait to be checked by another worker, or nothing came from the last leases")
}

// Settled gives the answer, once in the life of a Tree: at the first step at which it is known, so
// again after a restart.
type Settled struct {
	// Verdict of the root for the side to move. It is Open if first moves were given and none of them
	// wins: nobody has asked about the others.
	Verdict eval.Verdict
	// NoGivenMoveWins says that first moves were given and none of them wins.
	NoGivenMoveWins bool
}

// Contradiction says that two claims about one position exclude each other. The tree stops: it grants
// no lease and accepts no fact. The loop checks the parts behind both claims and makes the tree anew, or a
// person has to look. If the fact of Claim caused it, that fact is not persisted.
type Contradiction graph.Contradiction

// Refused says that an event, or one fact of it, was not accepted, and why. It is final: to send the
// same again does not help.
type Refused struct {
	Worker string
	Lease  LeaseID // 0: none
	Why    string
	// Facts says that a fact is not kept, so nothing proves it where a part cites it.
	Facts bool
	// Old says that the lease is from before the master's start.
	Old bool
	// Foreign says that the lease is another worker's, or was never granted: a sound worker does not
	// name it.
	Foreign bool
	// Short says that the result came back open, unasked, long before the lease's budget was used: a
	// sound search rarely does so.
	Short bool
	// Senseless says that the lease is lost because its progress makes no sense, or because it goes on
	// although it was cancelled long ago: no sound worker does so.
	Senseless bool
}

// Checked says that the numbers of a worker's result were compared with those of other parties'
// searches.
type Checked struct {
	Worker    string
	Party     string
	Lease     LeaseID // of the result
	Confirmed bool    // false: others agree on something else
	Proven    bool    // the party had confirmed results, or positions solved with evidence, before
	Why       string  // not with Confirmed
}

// Taken says that a result ended its lease.
type Taken struct {
	Worker  string
	Lease   LeaseID
	Verdict eval.Verdict // as the worker says
	Nodes   uint64       // that count for the campaign
}

func (Taken) effect()         {}
func (Checked) effect()       {}
func (Persist) effect()       {}
func (Grant) effect()         {}
func (Inform) effect()        {}
func (Cancel) effect()        {}
func (NoWork) effect()        {}
func (Settled) effect()       {}
func (Contradiction) effect() {}
func (Refused) effect()       {}

// String returns "persist" and what it has.
func (e Persist) String() string {
	expanded := 0
	for _, n := range e.Nodes {
		if n.Expanded {
			expanded++
		}
	}
	s := fmt.Sprintf("persist nodes=%d expanded=%d facts=%d spent=%d epoch=%d", len(e.Nodes), expanded, len(e.Facts),
		e.Spent, e.Epoch)
	if e.Contradiction != nil {
		s += " contradiction"
	}
	return s
}

// String returns "grant", the worker and the lease.
func (e Grant) String() string {
	s := fmt.Sprintf("grant %s lease=%d/%d key=%s budget=%d facts=%d",
		e.Worker, e.Lease.Epoch, e.Lease.ID, graph.NameOf(e.Lease.Key), e.Lease.Budget, len(e.Lease.Facts))
	if e.Lease.Check {
		s += " check"
	}
	return s
}

// String returns "checked", the worker, the lease and "confirmed" or who contradicts it.
func (e Checked) String() string {
	if e.Confirmed {
		return fmt.Sprintf("checked %s lease=%d: confirmed", e.Worker, e.Lease)
	}
	return fmt.Sprintf("checked %s lease=%d: %s", e.Worker, e.Lease, e.Why)
}

// String returns "taken", the worker, the lease, the verdict and the nodes.
func (e Taken) String() string {
	return fmt.Sprintf("taken %s lease=%d %v nodes=%d", e.Worker, e.Lease, e.Verdict, e.Nodes)
}

// String returns "inform", the worker and the number of facts.
func (e Inform) String() string { return fmt.Sprintf("inform %s facts=%d", e.Worker, len(e.Facts)) }

// String returns "cancel", the worker, the lease and the reason.
func (e Cancel) String() string {
	return fmt.Sprintf("cancel %s lease=%d/%d: %s", e.Worker, e.Epoch, e.Lease, e.Reason)
}

// String returns "no work for", the worker and the reason.
func (e NoWork) String() string { return fmt.Sprintf("no work for %s: %s", e.Worker, e.Reason) }

// String returns "settled" and the answer.
func (e Settled) String() string {
	if e.NoGivenMoveWins {
		return "settled: no given first move wins"
	}
	return "settled: " + e.Verdict.String()
}

// String returns both sides in words.
func (e Contradiction) String() string { return graph.Contradiction(e).String() }

// String returns "refused", the worker, the lease and the reason.
func (e Refused) String() string {
	if e.Lease == 0 {
		return fmt.Sprintf("refused %s: %s", e.Worker, e.Why)
	}
	return fmt.Sprintf("refused %s lease=%d: %s", e.Worker, e.Lease, e.Why)
}

// nameOf returns names[i], or the kind and the number where there is none.
func nameOf(i uint8, kind string, names ...string) string {
	if int(i) < len(names) {
		return names[i]
	}
	return fmt.Sprintf("%s(%d)", kind, i)
}
