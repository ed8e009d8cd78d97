package agent

import (
	"time"

	farmv1 "amazonsfarm/proto/farm/v1"
	"amazonsfarm/shared/eval"
	"amazonsfarm/shared/proof"
)

// group is the leases whose positions are solved, and whose proofs are gathered together. Leases that end within
// seconds of each other are mostly replies to one position, and their proofs have positions in common. One part
// for all of them has each such position once; and the master has fewer parts to write, and others fewer to check.
//
// A won position can wait where the master says so: the position before needs the proofs of all its replies, and many
// are open. A lost position decides the one before it, so the group is proved at once.
type group struct {
	leases  []*lease      // in the order in which they were solved; none is the running one
	nodes   uint64        // of all of them
	due     time.Duration // when to gather their proofs
	stopAt  time.Duration // when to stop that, since one of them is cancelled; 0: not before the end
	proving bool          // their proofs are being gathered; the running lease, if there is one, waits
}

const (
	// groupLeases is the most leases of a group; the master lets a worker have as many (tree.WorkerSlots).
	// Larger: a master waits for more leaves of one worker that is gone.
	groupLeases = 16
	// groupNodes is the most nodes of a group, ten seconds of one core or so. Larger: more work is lost with a worker
	// that is killed, and a part may become too large.
	groupNodes = 1 << 20
	// groupTime is the longest that a group waits for more leases. Shorter: more parts. Longer: a master that
	// waits for the proofs knows less, and more is lost with a worker that is killed.
	groupTime = time.Second
)

// enter puts the running lease, which is solved, into the group. The group is due at once unless the proof of the
// lease can wait.
func (m *Machine) enter() {
	g, l := &m.group, m.running
	l.solved, l.ended, l.phase = nil, m.now, &farmv1.Phase{Name: "extracting"}
	m.ended()
	if len(g.leases) == 0 {
		g.due = m.now + groupTime
	}
	g.leases = append(g.leases, l)
	g.nodes += l.total.Nodes
	waits := l.patient && l.total.Verdict == eval.Won && !l.of.rules && !l.cancelled
	if !waits || g.nodes > groupNodes || len(g.leases) == groupLeases {
		g.due = m.now
	}
	if l.cancelled {
		g.stopAt = m.now + cancelGrace
	}
}

// waits reports whether there is a group that waits for more leases.
func (g *group) waits() bool { return len(g.leases) > 0 && !g.proving }

// cancelGroup cancels the leases of the group for which cancels is true. The group is proved after the slice under way,
// which ends when the group was due, and its proofs may take cancelGrace.
func (m *Machine) cancelGroup(cancels func(*lease) bool) {
	g := &m.group
	for _, l := range g.leases {
		if !l.cancelled && cancels(l) {
			l.cancelled = true
			g.due, g.stopAt = min(g.due, m.now), m.now+cancelGrace
		}
	}
}

// every chooses all leases of a group.
func every(*lease) bool { return true }

// closeGroup has the group proved if nothing is searched, and it is due or nothing else is to be done.
func (m *Machine) closeGroup() {
	if !m.group.waits() || m.running != nil || m.found != nil {
		return
	}
	workless := m.link != joined || m.stream.asked && m.stream.noWork && m.next == nil
	if workless || m.now >= m.group.due {
		m.proveGroup()
	}
}

// proveGroup begins to gather the proofs of the group.
func (m *Machine) proveGroup() {
	g := &m.group
	g.proving, m.vain = true, false
	var facts []proof.Fact
	for _, l := range g.leases {
		facts = append(facts, proof.Fact{Key: l.key, Verdict: l.total.Verdict, Nodes: l.total.Nodes})
	}
	if m.running == nil {
		m.c.Stats.Lease.Store(g.leases[0].id)
	}
	m.do(Gather{Facts: facts, Last: true})
}

// endGroup sends the results of the group, and goes on with the running lease.
func (m *Machine) endGroup(e Gathered) {
	if m.vain {
		e.Parts = nil
	}
	m.emptyGroup(e.Parts)
	if m.running != nil {
		m.slice()
	} else {
		m.rest()
	}
}

// emptyGroup makes a parcel of each lease of the group, the first with the parts of all.
func (m *Machine) emptyGroup(parts []Part) {
	all := parts
	for _, l := range m.group.leases {
		own := Gathered{}
		if fact, proved := factOf(all, l.key); proved {
			own.Parts = []Part{{Facts: []proof.Fact{fact}}}
		}
		if m.enqueue(&parcel{of: l.of, parts: parts, lease: l, message: l.result(own, l.ended-l.begun)}) {
			parts = nil
		}
	}
	m.group = group{}
}

// dropGroup cancels the leases of the group, and returns them without proofs if these are not being gathered.
func (m *Machine) dropGroup() {
	m.cancelGroup(every)
	if m.group.waits() {
		m.emptyGroup(nil)
	}
}
