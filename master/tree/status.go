package tree

import (
	"fmt"

	"amazonsfarm/shared/amazons"
)

// Status is what people and metrics see of a tree.
type Status struct {
	Outcome         Outcome // of the root, for the side to move; Unknown while open and when NoGivenMoveWins
	NoGivenMoveWins bool    // first moves were given and all of them lose
	Settled         bool    // the campaign has its answer
	Phi, Delta      uint32  // of the root

	Epoch   uint64
	Spent   uint64 // nodes of returned and lost leases, as persisted: never falls
	Running uint64 // nodes that running leases have reported so far, not in Spent

	Nodes    int // in the tree
	Expanded int // of Nodes, those with their children in the tree
	Frontier int // of Nodes, the leaves that are unsolved and matter to the root
	Leased   int // leases that are out
	Aside    int // leaves set aside after too many losses

	FactsWon, FactsLost int    // known facts by outcome
	FactsDropped        uint64 // facts beyond MaxFacts, since this tree was made

	Workers    []WorkerStatus // in the order they joined
	FirstMoves []FirstMove
	SetAside   []amazons.Key // the leaves that are set aside, at most 100

	Paused, Draining bool
	Full             bool           // a split was not possible because of MaxNodes
	NoWork           NoWorkReason   // why a worker without leases would wait now
	Contradiction    *Contradiction // not nil: the campaign is stopped
}

// WorkerStatus is what is known of one worker.
type WorkerStatus struct {
	Name    string
	Slots   int
	Waiting int           // requests not yet granted
	Leases  []LeaseStatus // in the order they were granted
	Nodes   uint64        // of its leases that ended, since it joined
	Facts   uint64        // new facts it brought, since it joined
	Lost    int           // leases it lost, since it joined
}

// LeaseStatus is what is known of one lease.
type LeaseStatus struct {
	ID        LeaseID
	Key       amazons.Key
	Budget    uint64 // nodes
	Nodes     uint64 // reported so far
	Age       int    // ticks since it was granted
	Silent    int    // ticks since its last progress
	Cancelled bool   // it was called back
}

// FirstMove is a move of the root and the position after it. On boards with a
// symmetric root several of them share their Key.
type FirstMove struct {
	Move       amazons.Move // in the root's own orientation
	Key        amazons.Key  // of the position after it, canonical
	Outcome    Outcome      // of that position for its side to move: Lost means that Move wins
	Phi, Delta uint32       // of that position
	Work       uint64       // nodes spent on that position itself
	Leased     bool
	Expanded   bool
}

// keyName is the short form of a key in traces.
func keyName(k amazons.Key) string { return fmt.Sprintf("%x:%x", k.A, k.B) }
