package tree

import (
	"cmp"

	"amazonsfarm/master/tree/graph"
)

// halted says why nothing is granted at all; NoReason if something may be.
func (t *Tree) halted() NoWorkReason {
	switch {
	case t.graph.Contradiction != nil:
		return NoWorkStopped
	case t.settled:
		return NoWorkSettled
	case t.draining:
		return NoWorkDrain
	case t.paused:
		return NoWorkPaused
	}
	return NoReason
}

// busy says why a worker with free slots gets nothing although nothing is halted.
func (t *Tree) busy() NoWorkReason {
	if t.full {
		return NoWorkFull
	}
	return NoWorkLeased
}

// assign grants what can be granted and tells the others why they wait. Workers
// without any lease come first, then those that want one in hand; within each
// group in the order they asked.
func (t *Tree) assign() {
	halted := t.halted()
	for halted == NoReason {
		if w, u := t.nextCheck(); w != nil {
			t.grant(w, u.node, u.planned, u.budget, u)
			t.graph.Propagate()
			continue
		}
		if t.graph.Root.Class == graph.Locked {
			break
		}
		w := t.nextWorker()
		if w == nil {
			break
		}
		n, use := t.mostUseful(w)
		planned := t.budgetOf(n, use)
		t.grant(t.fittest(n, w), n, planned, t.stretched(planned), nil)
		t.graph.Propagate()
	}
	t.starving, t.held = 0, 0
	if t.elsewhere && halted == NoReason && t.graph.Root.Class == graph.Locked {
		t.starving++
	}
	for _, w := range t.waiting {
		reason := halted
		if reason == NoReason {
			if t.laden(w) {
				reason = NoWorkSlots
			} else if t.blocked(w) {
				reason = NoWorkUnchecked
				if len(w.leases) == 0 && w.party.active && w.party.pending > 0 {
					t.held++
				}
			} else {
				reason = t.busy()
				if len(w.leases) == 0 && w.party.active {
					t.starving++
				}
			}
		}
		if w.told != reason {
			w.told = reason
			t.emit(NoWork{w.name, reason})
		}
	}
	if t.starving == 0 {
		t.starved = 0
	}
}

// nextWorker returns the waiting worker whose turn it is, or nil: those of parties that fail all the
// time come last.
func (t *Tree) nextWorker() *worker {
	var best *worker
	rank := func(w *worker) int {
		if w.party.failed >= maxFailed {
			return 2
		}
		return min(len(w.leases), 1)
	}
	for _, w := range t.waiting {
		if !t.blocked(w) && !t.laden(w) && (best == nil || rank(w) < rank(best)) {
			best = w
		}
	}
	return best
}

// mostUseful returns the open leaf where the work of w helps most, and how useful work there is, whoever does it: 1 at
// the most proving leaf. It descends from the root, at each node to the child below which the most useful leaf is.
//
//   - With nothing leased that is the most proving leaf.
//   - A child that w has searched itself is worth more to w, whose table knows much of what is below
//     (policy.warmPercent).
//   - Among equals it takes the most proving one, then one that w has searched before, then the first.
//   - Where only leaves are left that were set aside, it takes the most proving of them.
//   - With EasyReplies it takes the child with the smallest phi after a first move, where all have to be won. What an
//     archive says is won comes last.
//
// The root is not locked.
func (t *Tree) mostUseful(w *worker) (n *graph.Node, use float64) {
	n, use = t.graph.Root, 1
	want, warmth := t.graph.Root.Class, float64(t.cfg.policy.warmPercent)/100
	for n.Expanded {
		var best *graph.Node
		var most, step float64
		lost := t.graph.Chance(n)
		easy := t.easy(n)
		var least uint32 // number of best
		for _, c := range n.Children {
			if c.Class < want {
				continue
			}
			here, number := graph.Worth(n, c.Delta, lost), c.Delta
			below := here * c.Use // 0 where leaves were set aside
			if c.Warm == w.serial {
				below *= warmth
			}
			if easy {
				if here, below, number = 1, 1, c.Phi; c.ClaimedWon() {
					number = graph.Infinity
				}
			}
			if best == nil || below > most || below == most &&
				(number < least || number == least && c.Warm == w.serial && best.Warm != w.serial) {
				best, most, step, least = c, below, here, number
			}
		}
		n, use = best, use*step
	}
	return n, use
}

// fittest returns the worker to search n: the one whose table is warm, if it
// waits as well; not the one that lost it last, if another waits; else w.
func (t *Tree) fittest(n *graph.Node, w *worker) *worker {
	if n.Warm == w.serial && n.LostBy != w.serial {
		return w
	}
	var other *worker
	for _, o := range t.waiting {
		if t.blocked(o) || len(o.leases) > 0 && len(w.leases) == 0 || t.laden(o) ||
			o.serial == n.LostBy || o.party.failed >= maxFailed {
			continue
		}
		if o.serial == n.Warm {
			return o
		}
		other = cmp.Or(other, o)
	}
	if n.LostBy == w.serial && other != nil {
		return other
	}
	return w
}

// easy reports whether n is the position after a first move, with replies that are settled one by
// one (Config.EasyReplies).
func (t *Tree) easy(n *graph.Node) bool { return t.cfg.EasyReplies && n.Layer == t.graph.Root.Layer+1 }

// budgetOf returns the planned nodes of the next lease of a leaf, work at which is worth so much beside
// the most proving one. While other workers can search the most proving leaf, the first lease of a
// leaf that is likely not needed is short: its numbers show whether to go on.
func (t *Tree) budgetOf(n *graph.Node, use float64) uint64 {
	if t.undivided(n) {
		return t.cfg.MaxBudget
	}
	if n.Budget > 0 {
		return min(n.Budget, t.cfg.MaxBudget)
	}
	if len(t.roll) < 2 {
		return t.firstBudget()
	}
	part := max(use, float64(t.cfg.ProbePercent)/100)
	return max(1, uint64(float64(t.firstBudget())*part))
}

// undivided reports whether a leaf is the whole question and its worker the only one, or nothing was searched
// yet and nothing is checked. The worker then gets all of it, and needs hardly more than without a farm. Four
// workers that share 4x7 from its first node search 450,000 nodes; one searches 78,000 in a second.
func (t *Tree) undivided(n *graph.Node) bool {
	return t.cfg.policy.growing && n == t.graph.Root && (len(t.roll) < 2 || t.nodes == 0 && t.cfg.CheckFirst == 0)
}

const (
	// smallestFirst is the number of nodes of the first leases of a campaign: some ten milliseconds,
	// many times what a lease costs beside its search.
	smallestFirst = 2000
	// firstShare says how large a first lease may be beside all that the campaign has searched. So the
	// leases of a small question are as small as the question, and workers share it from its beginning.
	firstShare = 512
)

// firstBudget returns the nodes of a leaf's first lease: Config.InitialBudget, or less while the
// campaign is young, unless the operator has set it.
func (t *Tree) firstBudget() uint64 {
	if !t.cfg.policy.growing {
		return t.cfg.InitialBudget
	}
	return min(t.cfg.InitialBudget, max(smallestFirst, t.nodes/firstShare))
}
