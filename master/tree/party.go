package tree

import (
	"cmp"
	"slices"

	"amazonsfarm/master/tree/graph"
)

// party is all workers of one owner, or one worker without an owner: they do not check each other.
// What one of them does counts for all.
//
// A party's standing belongs to the farm and not to the campaign, so other campaigns tell of it
// (PartyConfirmed, Distrusted). It outlasts the party's absence, and the master's: see Joined. The
// list of accepted results belongs to this tree, and does not outlast it.
type party struct {
	name      string
	workers   int
	seen      int  // tick at which it last asked for a lease or held one
	active    bool // it works: seen in the last ticks, and something comes from its leases
	failed    int  // leases in a row from which nothing came
	pausedTo  int  // tick before which it gets no lease, because of failed
	confirmed int  // results that another party has confirmed, here or in another campaign
	solved    int  // positions of its leases that it has proved to be won or lost
	pending   int  // unchecked results that wait
	// accepted are results that counted without a check since the last confirmed one, the latest at
	// the end.
	accepted []accepted
}

// accepted is a leaf that has the numbers of a worker.
type accepted struct {
	node   *graph.Node
	serial uint32 // of the worker
}

// maxAccepted bounds the accepted results that are remembered, to be searched again if the party is
// caught. Without a bound a party that is never sampled would fill the memory.
const maxAccepted = 256

// provenStanding is the standing with which a party is believed against one that has none.
const provenStanding = 3

// standing is what speaks for a party: confirmed results, and solved positions of its leases.
func (p *party) standing() int { return p.confirmed + p.solved }

// partyName returns the name of the party of a worker that joins.
func (e Joined) partyName() string { return cmp.Or(e.Party, e.Worker) }

// come counts a worker that joined for its party.
func (t *Tree) come(w *worker, e Joined) {
	p := t.parties[e.partyName()]
	if p == nil {
		p = &party{name: e.partyName(), confirmed: e.Confirmed, solved: e.Solved}
		t.parties[p.name] = p
		t.attend(p, true) // it may ask in a moment
	}
	w.party = p
	if p.workers++; p.workers == 1 {
		t.absent = slices.DeleteFunc(t.absent, func(o *party) bool { return o == p })
	}
}

// gone takes a worker that left from its party. The tree remembers parties without workers, as many
// as Config.MaxWorkers: a party that restarts its machine keeps its standing and its unchecked
// results. Beyond the limit it forgets the party that has been away longest, rather one without
// unchecked results.
func (t *Tree) gone(w *worker) {
	p := w.party
	if p.workers--; p.workers > 0 {
		return
	}
	t.attend(p, false)
	t.absent = append(t.absent, p)
	if len(t.absent) > t.cfg.MaxWorkers {
		i := max(0, slices.IndexFunc(t.absent, func(o *party) bool { return o.pending == 0 }))
		delete(t.parties, t.absent[i].name)
		t.absent = slices.Delete(t.absent, i, i+1)
	}
}

// maxFailed is how many leases in a row may bring nothing before nobody counts on their party. Then it
// gets one lease in Config.Patience, until something comes from one, unless it is the only party.
const maxFailed = 3

// fresh reports whether a party has shown nothing yet, where parties have to.
func (t *Tree) fresh(p *party) bool { return t.cfg.CheckFirst > 0 && p.standing() == 0 }

// loses notes that a party lost a lease. One that has shown nothing has then failed enough.
func (t *Tree) loses(p *party) {
	if t.fresh(p) {
		p.failed = max(p.failed, maxFailed-1)
	}
	t.fails(p)
}

// fails notes that nothing came from a lease of a party.
func (t *Tree) fails(p *party) {
	if p.failed++; p.failed >= maxFailed {
		p.pausedTo = t.now + t.cfg.Patience
		t.attend(p, false)
	}
}

// attend notes whether a party works. Only the results of parties that do can check others, so a party
// that joins and never asks for work, or never does it, delays nobody.
func (t *Tree) attend(p *party, works bool) {
	if works {
		p.seen = t.now
	}
	if works = works && p.failed < maxFailed; works == p.active {
		return
	}
	if p.active = works; works {
		t.present++
	} else {
		t.present--
	}
}

// lookAround notes at each tick which parties still work.
func (t *Tree) lookAround() {
	for _, w := range t.roll {
		if w.waiting+len(w.leases) > 0 {
			t.attend(w.party, true)
		} else if t.now-w.party.seen > quickTicks {
			t.attend(w.party, false)
		}
	}
}

// Standing returns how many results of a party others have confirmed, here or in another campaign,
// and how many positions of its leases it has solved.
func (t *Tree) Standing(party string) (confirmed, solved int) {
	if p := t.parties[party]; p != nil {
		return p.confirmed, p.solved
	}
	return 0, 0
}

// unproven reports whether too few of a party's results are confirmed for the others to count.
func (t *Tree) unproven(p *party) bool { return p.confirmed < t.cfg.CheckFirst && t.present > 1 }

// Trusted reports whether what a worker says beside facts may be passed on to others.
func (t *Tree) Trusted(name string) bool {
	w := t.workers[name]
	return w != nil && !t.unproven(w.party)
}

// blocked reports whether a worker gets nothing new before results of its party are checked, or for a
// while because nothing came from its last leases.
func (t *Tree) blocked(w *worker) bool {
	return t.unproven(w.party) && w.party.pending >= maxUnchecked*w.party.workers ||
		t.now < w.party.pausedTo && w.party.workers < len(t.roll)
}

// accept notes that a result counts without a check.
func (t *Tree) accept(p *party, n *graph.Node, serial uint32) {
	if t.cfg.CheckFirst == 0 {
		return
	}
	if len(p.accepted) == maxAccepted {
		p.accepted = slices.Delete(p.accepted, 0, 1)
	}
	p.accepted = append(p.accepted, accepted{n, serial})
}

// distrust takes a caught party's standing and its unchecked results away. Leaves with its accepted
// results are searched again.
func (t *Tree) distrust(name string) {
	p := t.parties[name]
	if p == nil {
		return
	}
	p.confirmed, p.solved = 0, 0
	for _, u := range slices.Clone(t.unchecked) {
		i := slices.IndexFunc(u.reports, func(r report) bool { return r.party == p })
		if i < 0 {
			continue
		}
		if len(u.reports) == 1 {
			t.drop(u)
			continue
		}
		u.reports = slices.Delete(u.reports, i, i+1)
		p.pending--
	}
	for _, a := range p.accepted {
		t.requeue(a)
	}
	p.accepted = nil
	t.graph.Propagate()
}

// requeue has a leaf searched as if nobody had searched it. It does nothing if a later search has
// replaced the accepted numbers, or those of the leaf's children.
func (t *Tree) requeue(a accepted) {
	n := a.node
	if n.Solved() || n.Warm != a.serial {
		return
	}
	t.requeued++
	if n.Expanded {
		for _, c := range n.Children {
			if !c.Solved() && !c.Expanded && c.Nodes == 0 {
				t.graph.SetLeaf(c, 1, 1)
			}
		}
		return
	}
	n.Budget, n.Warm = 0, 0
	t.graph.SetLeaf(n, 1, 1)
	t.graph.Changed(n)
}
