package tree

import (
	"errors"
	"fmt"

	"amazonsfarm/shared/amazons"
	"amazonsfarm/shared/eval"
	"amazonsfarm/shared/proof"
)

// Infinity is the proof or disproof number of what cannot be proved or
// disproved any more. Numbers of unsolved nodes are at least 1 and strictly
// below it.
const Infinity uint32 = 1 << 30

// ErrConfig is wrapped by every error about a setting.
var ErrConfig = errors.New("bad tree setting")

// ErrSnapshot is wrapped by every error about what the store gave back.
var ErrSnapshot = errors.New("snapshot does not fit the campaign")

// LeaseID numbers the leases of one epoch from 1.
type LeaseID uint64

// NodeRecord is what the store keeps of one node of the tree; a later record of the same key
// replaces an earlier one. That of an expanded node is the last one: its numbers are those it had
// as a leaf; its present ones follow from its children and are never stored, and so it is with
// nodes that facts or rules have solved. It also has the numbers that its children began with,
// which have no record of their own until something else is known of them: a node without a record
// is a leaf with these numbers, those of the latest expansion if it has several parents, or with 1
// and 1.
type NodeRecord struct {
	Key        amazons.Key // canonical
	Phi, Delta uint32      // numbers as a leaf: 1..Infinity-1
	Nodes      uint64      // nodes spent on it as a leaf
	Budget     uint64      // nodes of its next lease; 0: the initial budget
	Expanded   bool        // its children are in the tree
	// number of its expansion in the campaign, from 1; 0 of a leaf, or where an earlier format of
	// the store did not say
	Expansion uint64
	// what its children began with, as numbers.Append writes it: each 1..Infinity-1, or 0 and 0
	// where it says nothing of one; empty: of none
	Children string
}

// Snapshot is what the store holds: the last record of each node, every fact,
// the last counters. The order of the slices does not matter. The zero Snapshot
// begins a campaign.
type Snapshot struct {
	Nodes         []NodeRecord
	Facts         []proof.Fact
	Spent         uint64         // nodes searched in all returned and lost leases
	Epoch         uint64         // of the last tree that could grant leases
	Contradiction *Contradiction // not nil: the campaign was stopped by it
}

// Lease is one job: search Key, for about Budget nodes, knowing Facts.
type Lease struct {
	ID     LeaseID
	Epoch  uint64
	Key    amazons.Key  // canonical
	Budget uint64       // nodes
	Check  bool         // it repeats the search of another party: what that one's table knew is not to go with it
	Facts  []proof.Fact // positions that may be met below Key and were not yet sent to or by this worker
}

// Event is an input of the state machine: Joined, Left, Ready, Progress, Result, Proved, Tick,
// Distrusted, Pause, Resume or Drain; for a tree that is one of several, Withdrawn, Forgot, Wanted,
// Shared, Vouched or Stopped, too.
type Event interface {
	event()
	fmt.Stringer
}

// Joined says that a worker is there. Slots is the number of leases it may hold
// at once (at least 1): a worker that searches one job at a time and wants the
// next one in hand has 2. A worker that joins again, because its connection broke,
// keeps the leases on which it has reported progress, and is told again which of
// them are cancelled; the others are freed, and it has to say Ready again.
type Joined struct {
	Worker string
	Slots  int
	// Party names those whose results do not count as checks of each other: workers of one owner.
	// Default: Worker.
	Party string
	// Agreed is how many results of the party were confirmed, in other campaigns or before a
	// restart, and Solved how many positions of its leases it solved, if it is new here.
	Agreed, Solved int
}

// Left says that a worker is gone; its leases are lost.
type Left struct{ Worker string }

// Ready asks for one lease. The request stands until a Grant answers it, the
// worker leaves or joins again; a NoWork in between only tells why it waits.
type Ready struct{ Worker string }

// Progress is the heartbeat of one lease. A lease lives while either number
// grows, so a stuck worker is not alive; a lease not begun (Nodes 0) also lives
// by the progress of its worker's other leases.
type Progress struct {
	Worker   string
	Lease    LeaseID
	Epoch    uint64
	Nodes    uint64 // searched in this lease so far
	Activity uint64 // anything that grows while the worker works otherwise, such as at evidence
}

// Result ends a lease. It may come twice or late: then it is refused and only
// its facts are taken. One that comes back open, not called back and long before its budget is used
// (Config.ShortPercent), is a try that failed: its numbers are not taken.
type Result struct {
	Worker     string
	Lease      LeaseID
	Epoch      uint64
	Key        amazons.Key  // that of the lease
	Verdict    eval.Verdict // counts only with a fact beside it
	Phi, Delta uint32       // of Key
	Nodes      uint64       // searched in this lease
	// numbers of the positions after Key, as numbers.Append writes them; passed over where they do
	// not fit them
	Children     []byte
	Facts        []proof.Fact
	Certificates []proof.ID // those that the store holds whole and that Facts name
	Cancelled    bool       // it ended because of a Cancel, not by its budget
}

// Proved brings facts while a lease goes on. Certificates lists those that the
// store holds whole; a fact that names another one is refused. The nodes that the
// lease has used so far are durable with it; a lease that is not held is passed over.
type Proved struct {
	Worker       string
	Lease        LeaseID
	Epoch        uint64
	Nodes        uint64 // as in Progress; 0: not said
	Facts        []proof.Fact
	Certificates []proof.ID
}

// Tick is the passing of one unit of time (one second in production). Elsewhere is the Demand of
// the other trees of the same master together.
type Tick struct{ Elsewhere float64 }

// Distrusted says that a party was caught at what no sound worker does. Its results since its last
// confirmed one are searched again.
type Distrusted struct{ Party string }

// Pause stops granting; running leases go on.
type Pause struct{}

// Resume undoes Pause.
type Resume struct{}

// Drain stops granting for good and calls all leases back with their numbers.
type Drain struct{}

func (Joined) event()     {}
func (Left) event()       {}
func (Ready) event()      {}
func (Progress) event()   {}
func (Result) event()     {}
func (Proved) event()     {}
func (Tick) event()       {}
func (Distrusted) event() {}
func (Pause) event()      {}
func (Resume) event()     {}
func (Drain) event()      {}

// Effect is an output of the state machine: Persist, Grant, Inform, Cancel, NoWork,
// Settled, Contradiction, Checked or Refused.
type Effect interface {
	effect()
	fmt.Stringer
}

// Persist must be durable before any other effect of its step is acted upon and
// before the event is acknowledged. Several may be written at once, in order.
type Persist struct {
	Campaign      uint32         // whose tree it is; 0 of a tree that knows of no other
	Nodes         []NodeRecord   // replace earlier records of the same keys
	Facts         []proof.Fact   // new ones, each key once in a campaign
	Spent         uint64         // the counter itself, not a difference
	Epoch         uint64         // of this tree
	Contradiction *Contradiction // usually nil
}

// Grant answers a Ready.
type Grant struct {
	Worker string
	Lease  Lease
}

// Inform tells a worker of facts that others have proved since the last tick and that it may meet
// below its leases. It is a help: nothing is lost if it does not arrive, but they are not sent to
// that worker again.
type Inform struct {
	Worker string
	Facts  []proof.Fact // at most policy.factsPerLease
}

// Cancel asks a worker to end a lease and to send its Result, with the numbers
// it has and Cancelled set (after CancelStale nobody waits for it).
type Cancel struct {
	Worker string
	Lease  LeaseID
	Epoch  uint64
	Reason CancelReason
}

// CancelReason says why a lease is called back.
type CancelReason uint8

// The reasons to cancel.
const (
	CancelClosed  CancelReason = iota // the position is solved, or lies below solved ones only
	CancelSplit                       // workers wait: its numbers are wanted to split it
	CancelOver                        // the campaign is settled
	CancelDrain                       // the master drains
	CancelStopped                     // a contradiction stopped the campaign
	CancelShare                       // workers wait without any lease and this one is not begun
	CancelStale                       // the master does not know this lease (any more)
)

// String returns one word.
func (r CancelReason) String() string {
	return nameOf(uint8(r), "cancel", "closed", "split", "over", "drain", "stopped", "share", "stale")
}

// NoWork tells a waiting worker why it waits. It comes again when the reason
// changes; no new Ready is needed.
type NoWork struct {
	Worker string
	Reason NoWorkReason
}

// NoWorkReason says why a Ready is not answered by a Grant.
type NoWorkReason uint8

// The reasons not to grant.
const (
	NoReason      NoWorkReason = iota // work is granted
	NoWorkLeased                      // every open leaf is leased; one will be split
	NoWorkFull                        // every open leaf is leased and the tree is as large as MaxPositions allows
	NoWorkSlots                       // the worker already holds as many leases as it has slots
	NoWorkPaused                      // granting is paused
	NoWorkDrain                       // the master drains
	NoWorkSettled                     // the campaign has its answer
	NoWorkStopped                     // a contradiction stopped the campaign
	NoWorkClaims                      // results of its party wait to be checked by another
)

// String returns a phrase.
func (r NoWorkReason) String() string {
	return nameOf(uint8(r), "no work", "none", "every open position is leased",
		"every open position is leased and the tree is full",
		"all slots of the worker are in use", "paused", "draining", "campaign settled",
		"campaign stopped by a contradiction", "results wait to be checked by another worker")
}

// Settled gives the answer, once in the life of a Tree: at the first step at
// which it is known, so again after a restart.
type Settled struct {
	// Verdict of the root for the side to move. Open when first moves were
	// given and none of them wins: the others were not asked.
	Verdict eval.Verdict
	// NoGivenMoveWins says just that.
	NoGivenMoveWins bool
}

// Basis says what an outcome rests on.
type Basis uint8

// The bases of an outcome.
const (
	NoBasis    Basis = iota // unsolved
	ByFact                  // a fact with a certificate
	ByRules                 // the side to move has no move
	ByChildren              // a lost child, or all children won
	ByParent                // a lost position before it; of no node, only what Explore concludes
)

// String returns one word.
func (b Basis) String() string {
	return nameOf(uint8(b), "basis", "none", "fact", "rules", "children", "parent")
}

// Claim is one side of a contradiction.
type Claim struct {
	Verdict eval.Verdict
	Basis   Basis
	Fact    proof.Fact // with basis ByFact
	Worker  string     // who sent it, where that is known
}

// Contradiction says that two claims about one position exclude each other. The
// campaign stops: no lease is granted and no fact is taken any more, until a
// person has looked. The fact that caused it is not among the persisted facts
// when it is Claim itself.
type Contradiction struct {
	Key   amazons.Key
	Known Claim
	Claim Claim
}

// Refused says that an event, or one fact of it, was not taken, and why. It is
// final: sending the same again does not help.
type Refused struct {
	Worker  string
	Lease   LeaseID // 0: none
	Why     string
	Foreign bool // the lease is another worker's, or was never granted: a sound worker does not name it
	// the result came back open long before the lease's budget was used, unasked: a sound search
	// rarely does that
	Short bool
}

// Checked says that the numbers of a worker's result were compared with those of other parties'
// searches.
type Checked struct {
	Worker string
	Party  string
	Lease  LeaseID // of the result
	Agreed bool    // false: others agree on something else
	// the party has shown what it is worth before: results that were confirmed, or positions solved
	// with evidence
	Proven bool
	Why    string // not with Agreed
}

func (Checked) effect()       {}
func (Persist) effect()       {}
func (Grant) effect()         {}
func (Inform) effect()        {}
func (Cancel) effect()        {}
func (NoWork) effect()        {}
func (Settled) effect()       {}
func (Contradiction) effect() {}
func (Refused) effect()       {}

// nameOf returns names[i], or the kind and the number where there is none.
func nameOf(i uint8, kind string, names ...string) string {
	if int(i) < len(names) {
		return names[i]
	}
	return fmt.Sprintf("%s(%d)", kind, i)
}
