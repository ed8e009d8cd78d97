package tree

import (
	"fmt"
	"slices"
)

// What a worker says of a position that it leaves open, its numbers, nobody can verify by itself:
// only another search shows whether they are about right. They prove nothing, so the answer is
// right whatever they are; but they say where everybody searches next. So with Config.CheckFirst
// the numbers of a party's first results wait, as a claim, until a worker of another party has
// searched the position with the same budget, from a table that has seen nothing of the first
// one's. Two honest searches agree closely (policy.checkSpread). Where they do not, a third party
// decides. A party whose results were confirmed has its numbers taken at once, and a claim made of
// one in a few at random, so that it does not pay to become a liar later.
//
// A party's standing belongs to the farm and not to the campaign (Vouched, Distrusted), and
// outlasts its absence and that of the master (Joined.Agreed and Solved); each tree has its own
// claims, and its own list of what it took unchecked: a result that is confirmed in another
// campaign says nothing of what was said here. That list does not outlast the tree.
//
// A check is no lost work where the claim was a lie: it is the search that the position still
// lacked. While a claim waits, its leaf is locked, and has the numbers it had before. Claims are
// granted before anything else, so they do not wait for long. A party that was never confirmed gets
// no more new work than it has workers times maxClaims while its claims wait, so that it cannot
// lock everything.

// maxClaims is how many claims of a party may wait, for each of its workers, until it gets no new
// work (a party that nobody has confirmed) or is not sampled (the others).
const maxClaims = 2

// maxUnchecked is how many of a party's results since its last confirmed one are remembered, to be
// searched again should it be caught.
const maxUnchecked = 256

// party is a worker, or several that belong together and do not check each other.
type party struct {
	name    string
	workers int
	agreed  int // results that another party has confirmed, here or in another campaign
	solved  int // positions of its leases that it has proved to be won or lost
	pending int // claims
	// Results that were taken without a check, since the last one that was confirmed; the latest at
	// the end.
	unchecked []accepted
}

// accepted is a leaf with numbers of a worker.
type accepted struct {
	node   *node
	serial uint32 // of the worker
}

// testimony is what one search said of a position.
type testimony struct {
	party      *party
	worker     string
	serial     uint32 // of the worker
	lease      LeaseID
	phi, delta uint32
}

// claim is a leaf whose numbers wait for the search of another party.
type claim struct {
	node    *node
	planned uint64      // of the lease that made it
	budget  uint64      // of the search that is repeated
	said    []testimony // one, or two that do not agree
	silent  []*party    // were asked and did not say anything of it
	lease   *lease      // of the check that runs
	since   int         // tick since which nobody checks it
}

// partyName returns the name of the party of a worker that joins.
func (e Joined) partyName() string {
	if e.Party == "" {
		return e.Worker
	}
	return e.Party
}

// come counts a worker that joined for its party.
func (t *Tree) come(w *worker, e Joined) {
	p := t.parties[e.partyName()]
	if p == nil {
		p = &party{name: e.partyName(), agreed: e.Agreed, solved: e.Solved}
		t.parties[p.name] = p
	}
	w.party = p
	if p.workers++; p.workers == 1 {
		t.present++
		t.absent = slices.DeleteFunc(t.absent, func(o *party) bool { return o == p })
	}
}

// gone takes a worker that left back from its party. A party without workers is remembered, so that
// neither its standing nor what it has said unchecked is lost when its machine starts again; as
// many as Config.MaxWorkers are.
func (t *Tree) gone(w *worker) {
	p := w.party
	if p.workers--; p.workers > 0 {
		return
	}
	t.present--
	t.absent = append(t.absent, p)
	if len(t.absent) > t.cfg.MaxWorkers {
		i := max(0, slices.IndexFunc(t.absent, func(o *party) bool { return o.pending == 0 }))
		delete(t.parties, t.absent[i].name)
		t.absent = slices.Delete(t.absent, i, i+1)
	}
}

// Standing returns how many results of a party others have confirmed, here or in another campaign,
// and how many positions of its leases it has solved.
func (t *Tree) Standing(party string) (agreed, solved int) {
	if p := t.parties[party]; p != nil {
		return p.agreed, p.solved
	}
	return 0, 0
}

// unproven says that nobody has confirmed enough of a party's results.
func (t *Tree) unproven(p *party) bool { return p.agreed < t.cfg.CheckFirst && t.present > 1 }

// Trusted reports whether what a worker says beside facts may be passed on to others.
func (t *Tree) Trusted(name string) bool {
	w := t.workers[name]
	return w != nil && !t.unproven(w.party)
}

// blocked says that a worker gets nothing new before claims of its party are checked.
func (t *Tree) blocked(w *worker) bool {
	return t.unproven(w.party) && w.party.pending >= maxClaims*w.party.workers
}

// sampled says whether a result is checked.
func (t *Tree) sampled(p *party, id LeaseID) bool {
	switch {
	case t.cfg.CheckFirst == 0 || t.present < 2:
		return false
	case t.unproven(p):
		return true
	case p.pending >= maxClaims*p.workers:
		return false
	}
	one := t.cfg.policy.checkEvery // in so many
	// A position that was solved with evidence speaks for its party as well as one that was
	// searched again, and costs nothing.
	if more := p.agreed - t.cfg.CheckFirst + p.solved; more < 30 {
		one = min(one, 2<<more)
	}
	return mix(t.cfg.CheckSeed^t.epoch<<48^uint64(id))%uint64(one) == 0
}

// mix scatters the bits of x (the finalizer of splitmix64).
func mix(x uint64) uint64 {
	x += 0x9e3779b97f4a7c15
	x = (x ^ x>>30) * 0xbf58476d1ce4e5b9
	x = (x ^ x>>27) * 0x94d049bb133111eb
	return x ^ x>>31
}

// weigh decides whether the numbers of a result, in order and of an open leaf, have to wait for
// another search.
func (t *Tree) weigh(l *lease, e Result) (waits bool) {
	n, c := l.node, l.claim
	said := testimony{l.worker.party, e.Worker, l.worker.serial, l.id, unproved(e.Phi), unproved(e.Delta)}
	if c == nil {
		if !t.sampled(said.party, l.id) {
			t.accept(said.party, n, said.serial)
			return false
		}
		c = &claim{node: n, planned: l.planned, budget: l.budget, said: []testimony{said}, since: t.now}
		said.party.pending++
		n.claimed = true
		t.claims = append(t.claims, c)
		t.reclass(n)
		return true
	}
	if len(c.said) == 1 {
		first := c.said[0]
		if t.alike(first, said) {
			t.confirm(first)
			t.confirm(said)
			t.drop(c)
			return false
		}
		c.said = append(c.said, said)
		said.party.pending++
		if t.witnesses(c) {
			return true
		}
		return !t.settle(c)
	}
	a, b := c.said[0], c.said[1]
	switch withA, withB := t.alike(a, said), t.alike(b, said); {
	case withA && !withB:
		t.confirm(a)
		t.confirm(said)
		t.outvote(b, a, said)
	case withB && !withA:
		t.confirm(b)
		t.confirm(said)
		t.outvote(a, b, said)
	default:
		t.unsettled++
	}
	t.drop(c)
	return false
}

// accept notes that a result is taken without a check.
func (t *Tree) accept(p *party, n *node, serial uint32) {
	if t.cfg.CheckFirst == 0 {
		return
	}
	if len(p.unchecked) == maxUnchecked {
		p.unchecked = slices.Delete(p.unchecked, 0, 1)
	}
	p.unchecked = append(p.unchecked, accepted{n, serial})
}

// alike says whether two searches of a position with the same budget may both be honest.
func (t *Tree) alike(a, b testimony) bool {
	near := func(x, y uint32) bool {
		return uint64(max(x, y)) <= uint64(min(x, y))*uint64(t.cfg.policy.checkSpread)
	}
	return near(a.phi, b.phi) && near(a.delta, b.delta)
}

func (t *Tree) confirm(s testimony) {
	s.party.agreed++
	s.party.unchecked = s.party.unchecked[:0]
	t.emit(Checked{Worker: s.worker, Party: s.party.name, Lease: s.lease, Agreed: true,
		Proven: s.party.credit() >= minCredit})
}

// doubt says that a testimony is contradicted by others that agree.
func (t *Tree) doubt(s testimony, others ...testimony) {
	why := fmt.Sprintf("it said %d and %d of a position", s.phi, s.delta)
	for _, o := range others {
		why += fmt.Sprintf(", another search %d and %d", o.phi, o.delta)
	}
	t.emit(Checked{Worker: s.worker, Party: s.party.name, Lease: s.lease, Proven: s.party.credit() >= minCredit,
		Why: why})
}

// outvote says that a testimony stands against two that agree. Of a party that has shown what it is
// worth that counts for nothing where neither of the others has: two new names, which cost nothing
// without certificates, cannot have it sent away.
func (t *Tree) outvote(s testimony, others ...testimony) {
	for _, o := range others {
		if o.party.credit() >= minCredit || s.party.credit() < minCredit {
			t.doubt(s, others...)
			return
		}
	}
	t.unsettled++
}

// witnesses says whether somebody is there who may check a claim.
func (t *Tree) witnesses(c *claim) bool {
	left := t.present
	for _, s := range c.said {
		if s.party.workers > 0 {
			left--
		}
	}
	for _, p := range c.silent {
		if p.workers > 0 {
			left--
		}
	}
	return left > 0
}

// pass notes that a party that was to check a claim has said nothing of it: another one is asked.
func (t *Tree) pass(l *lease) {
	if !slices.Contains(l.claim.silent, l.worker.party) {
		l.claim.silent = append(l.claim.silent, l.worker.party)
	}
}

// credit is what speaks for a party: results that others have confirmed, and positions of its
// leases that it solved.
func (p *party) credit() int { return p.agreed + p.solved }

// minCredit is the credit with which a party is believed against one that has none.
const minCredit = 3

// settle ends a claim that nobody is there to check. It returns whether the last search's numbers
// are to be taken; otherwise the leaf has those of the other one.
func (t *Tree) settle(c *claim) (takeLast bool) {
	defer t.drop(c)
	if len(c.said) == 1 {
		t.resume(c, c.said[0])
		return false
	}
	a, b := c.said[0], c.said[1]
	switch {
	case a.party.credit() >= minCredit && b.party.credit() == 0:
		t.doubt(b, a)
		t.resume(c, a)
		return false
	case b.party.credit() >= minCredit && a.party.credit() == 0:
		t.doubt(a, b)
	default:
		t.unsettled++
	}
	return true
}

// resume gives the leaf of a claim the numbers of a testimony.
func (t *Tree) resume(c *claim, s testimony) {
	n := c.node
	if n.solved() || n.expanded {
		return
	}
	t.setLeaf(n, s.phi, s.delta)
	n.budget = t.nextBudget(c.planned)
	t.change(n)
	t.succeeded(n)
	t.accept(s.party, n, s.serial)
}

// drop takes a claim off the books.
func (t *Tree) drop(c *claim) {
	for _, s := range c.said {
		s.party.pending--
	}
	if c.lease != nil {
		c.lease.claim = nil
	}
	c.node.claimed = false
	t.claims = slices.DeleteFunc(t.claims, func(o *claim) bool { return o == c })
	t.reclass(c.node)
}

// moot says that a claim has lost its purpose.
func (c *claim) moot() bool { return c.node.solved() || c.node.live == 0 }

// review drops claims that have lost their purpose, and settles those that nobody can check: at
// each tick, and when a worker leaves.
func (t *Tree) review() {
	for _, c := range slices.Clone(t.claims) {
		switch {
		case c.moot():
			t.drop(c)
		case c.lease == nil && (c.node.aside || t.now-c.since >= t.cfg.policy.checkTicks || !t.witnesses(c)):
			// A leaf that is set aside was lost again and again.
			if t.settle(c) {
				t.resume(c, c.said[len(c.said)-1])
			}
		}
	}
	t.propagate()
}

// wants says that a claim waits for somebody to check it.
func (c *claim) wants() bool { return c.lease == nil && !c.moot() }

// knows says that a party is not to check a claim: it has said something of it, or would not.
func (c *claim) knows(p *party) bool {
	return slices.Contains(c.silent, p) || slices.ContainsFunc(c.said, func(s testimony) bool { return s.party == p })
}

// nextCheck returns the oldest claim that a waiting worker can check, with that worker: one without
// leases if there is one; or nil.
func (t *Tree) nextCheck() (*worker, *claim) {
	for _, c := range t.claims {
		if !c.wants() {
			continue
		}
		var second *worker
		for _, w := range t.waiting {
			if len(w.leases) >= w.slots || c.knows(w.party) {
				continue
			}
			if len(w.leases) == 0 {
				return w, c
			}
			if second == nil {
				second = w
			}
		}
		if second != nil {
			return second, c
		}
	}
	return nil, nil
}

// distrust takes back what a party has said: its claims, and the results since its last confirmed
// one, whose leaves are searched again.
func (t *Tree) distrust(name string) {
	p := t.parties[name]
	if p == nil {
		return
	}
	p.agreed, p.solved = 0, 0
	for _, c := range slices.Clone(t.claims) {
		i := slices.IndexFunc(c.said, func(s testimony) bool { return s.party == p })
		if i < 0 {
			continue
		}
		if len(c.said) == 1 {
			t.drop(c)
			continue
		}
		c.said = slices.Delete(c.said, i, i+1)
		p.pending--
	}
	for _, a := range p.unchecked {
		t.requeue(a)
	}
	p.unchecked = nil
	t.propagate()
}

// requeue has a leaf searched as if nobody had searched it, if its numbers, or those of its
// children, are still the ones that were accepted.
func (t *Tree) requeue(a accepted) {
	n := a.node
	if n.solved() || n.warm != a.serial {
		return
	}
	t.requeued++
	if n.expanded {
		for _, c := range n.children {
			if !c.solved() && !c.expanded && c.work == 0 {
				t.setLeaf(c, 1, 1)
			}
		}
		return
	}
	n.budget, n.warm = 0, 0
	t.setLeaf(n, 1, 1)
	t.change(n)
}
