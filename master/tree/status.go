package tree

import (
	"slices"

	"amazonsfarm/master/tree/graph"
	"amazonsfarm/shared/amazons"
	"amazonsfarm/shared/eval"
)

// Status is what people and metrics see of a tree.
type Status struct {
	Verdict         eval.Verdict // of the root, for the side to move; eval.Open while open and when NoGivenMoveWins
	NoGivenMoveWins bool         // first moves were given and all of them lose
	Settled         bool         // the campaign has its answer
	Phi, Delta      uint32       // of the root

	Epoch   uint64
	Spent   uint64 // nodes of returned and lost leases, as persisted: never falls
	Running uint64 // nodes that running leases have reported so far, not in Spent

	Nodes    int // in the tree
	Expanded int // of Nodes, those with their children in the tree
	Frontier int // of Nodes, the leaves that are unsolved and matter to the root
	Leased   int // leases that are out
	Aside    int // leaves set aside after too many losses

	FactsWon, FactsLost int // known facts by outcome

	Workers    []WorkerStatus // in the order they joined
	FirstMoves []graph.FirstMove

	// how many times as long as planned leases are now, since the master cannot take in more
	// results (Config.ResultsPerTick); at least 1
	Stretch float64

	Unchecked int    // results whose numbers wait to be checked by another party
	Unsettled uint64 // claims of which it is not known who was right, since this tree was made
	Requeued  uint64 // results that are searched again because their party was caught

	NoWork        NoWorkReason   // why a worker without leases would wait now
	Contradiction *Contradiction // not nil: the campaign is stopped
}

// WorkerStatus is what is known of one worker.
type WorkerStatus struct {
	Name   string
	Leases []LeaseStatus // in the order they were granted
	Lost   int           // leases it lost, since it joined
}

// Current returns the lease that a worker with leases searches: the latest that it has begun, as far as it has said.
// The ones before are solved and wait for their proofs.
func (w WorkerStatus) Current() LeaseStatus {
	for _, l := range slices.Backward(w.Leases) {
		if l.Nodes > 0 {
			return l
		}
	}
	return w.Leases[0]
}

// LeaseStatus is what is known of one lease.
type LeaseStatus struct {
	ID     LeaseID
	Key    amazons.Key
	Budget uint64 // nodes
	Nodes  uint64 // reported so far
	Age    int    // ticks since it was granted
}

// Leased returns the number of leases that are out.
func (t *Tree) Leased() int { return len(t.running) }

// LeasesOf returns the number of leases that a worker holds.
func (t *Tree) LeasesOf(name string) int {
	if w := t.workers[name]; w != nil {
		return len(w.leases)
	}
	return 0
}

// AllNodes returns the nodes of all leases, those that are out as last reported: Spent and Running
// of Status.
func (t *Tree) AllNodes() uint64 {
	nodes := t.nodes
	for _, l := range t.running {
		nodes = graph.Plus(nodes, l.nodes-l.charged)
	}
	return nodes
}

// Answered reports whether the campaign has its answer: Settled of Status.
func (t *Tree) Answered() bool { return t.graph.Root.Solved() && t.graph.Contradiction == nil }

// Status returns a summary. It costs time in the number of workers, leases and
// first moves, not of nodes.
func (t *Tree) Status() Status {
	s := Status{
		Settled: t.Answered(), Phi: t.graph.Root.Phi, Delta: t.graph.Root.Delta, Epoch: t.epoch, Spent: t.nodes,
		Nodes: t.graph.Len(), Expanded: t.graph.Expanded, Frontier: t.graph.Frontier, Leased: len(t.running),
		FactsWon: t.graph.FactsWon, FactsLost: t.graph.FactsLost, FirstMoves: t.FirstMoves(),
		Contradiction: (*Contradiction)(t.graph.Contradiction), Stretch: t.pace.stretch, Unchecked: len(t.unchecked),
		Unsettled: t.unsettled, Requeued: t.requeued,
	}
	if s.Settled {
		a := t.Answer()
		s.Verdict, s.NoGivenMoveWins = a.Verdict, a.NoGivenMoveWins
	}
	if s.NoWork = t.halted(); s.NoWork == NoReason && t.graph.Root.Class == graph.Locked {
		s.NoWork = t.busy()
	}
	for _, a := range t.aside {
		if n := a.node; n.Aside && n.Matters() {
			s.Aside++
		}
	}
	for _, w := range t.roll {
		ws := WorkerStatus{Name: w.name, Lost: w.lost}
		for _, l := range w.leases {
			s.Running = graph.Plus(s.Running, l.nodes-l.charged)
			ws.Leases = append(ws.Leases, LeaseStatus{l.id, l.node.Key, l.budget, l.nodes, t.now - l.granted})
		}
		s.Workers = append(s.Workers, ws)
	}
	return s
}

// Decide gives the first moves the outcomes that follow from the answer where the tree has none, since one lease may
// settle the root without them. winning are moves that are known to win.
func (s *Status) Decide(winning []string) {
	for i := range s.FirstMoves {
		f := &s.FirstMoves[i]
		switch {
		case f.Verdict != eval.Open:
			continue
		case s.Verdict == eval.Lost || s.NoGivenMoveWins:
			f.Verdict = eval.Won
		case slices.Contains(winning, f.Move.String()):
			f.Verdict = eval.Lost
		default:
			continue
		}
		f.Phi, f.Delta = graph.NumbersOf(f.Verdict)
	}
}
