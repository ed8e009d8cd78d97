package tree

import (
	"math/bits"

	"amazonsfarm/shared/amazons"
	"amazonsfarm/shared/eval"
)

// node is one position of the tree. A derived field follows from the rest of the tree and is kept up
// to date step by step; Audit computes it anew and compares. The fields that are read when a worker
// looks for a leaf come first.
type node struct {
	use        float64 // derived: of the most useful open leaf here or below; see usefulness
	phi, delta uint32  // derived from the children, if it is expanded
	nodes      uint64  // searched on it as a leaf
	key        amazons.Key

	layer     uint8 // burnt squares; children have one more
	basis     Basis // NoBasis: unsolved
	class     class // derived: what can be granted here or below
	expanded  bool  // children are in the tree
	changed   bool  // its record goes with the next Persist
	aside     bool  // leaf set aside after too many failed tries
	unchecked bool  // leaf whose numbers wait for another search
	queued    bool  // in line to have its numbers computed
	recorded  bool  // it has a record, or will have one with the next Persist

	live               int32  // derived: parents that are live and unsolved; the root has one more
	leafPhi, leafDelta uint32 // numbers as a leaf
	tries              int32  // failed tries in a row
	expansion          uint32 // number of its expansion, from 1; 0 of a leaf

	budget   uint64 // of its next lease
	warm     uint32 // serial of the worker that searched it last
	lostBy   uint32 // serial of the worker that lost it last
	lease    *lease // not nil: leased
	children []*node
	shown    []shown // derived: of each child
	parents  []edge
	first    [1]edge            // room for the first parent: many have one
	free     [freeClasses]int32 // derived: children by class
}

// shown is what a node sees of one child. It lies beside those of the other children: a node looks
// at all of its children whenever one changes, and they lie anywhere in memory.
type shown struct {
	use        float64
	phi, delta uint32
}

// edge is a parent, and the number of the node among its children.
type edge struct {
	node *node
	i    int
}

// class says what can be granted at a leaf, or below an inner node at best.
type class uint8

const (
	locked      class = iota // nothing: solved, leased, or all unsolved children locked
	lastly                   // only leaves that were set aside
	open                     // a leaf
	freeClasses = 3
)

func (n *node) solved() bool { return n.basis != NoBasis }

// outcome returns who wins, as far as it is known.
func (n *node) verdict() eval.Verdict {
	switch {
	case n.basis == NoBasis:
		return eval.Open
	case n.phi == 0:
		return eval.Won
	}
	return eval.Lost
}

// layerOf returns the number of burnt squares of a key: those in both halves.
func layerOf(k amazons.Key) uint8 { return uint8(bits.OnesCount64(k.A & k.B)) }

// add makes the node of a position that is not yet in the tree. It is solved at once if the side to
// move has no move or a fact is known.
func (t *Tree) add(k amazons.Key, canMove bool) *node {
	n := t.index.add(k)
	n.layer, n.class, n.use = layerOf(k), open, 1
	n.phi, n.delta, n.leafPhi, n.leafDelta = 1, 1, 1, 1
	n.parents = n.first[:0]
	if !canMove {
		t.solve(n, eval.Lost, ByRules)
	}
	if f, ok := t.facts[k]; ok {
		t.believe(n, f, "")
	}
	return n
}

// setLeaf gives a leaf the numbers of a search.
func (t *Tree) setLeaf(n *node, phi, delta uint32) {
	if t.begin(n, phi, delta) {
		t.change(n)
	}
}

// begin gives a leaf numbers that are not in its own record, and reports whether they are new.
func (t *Tree) begin(n *node, phi, delta uint32) bool {
	if n.leafPhi == phi && n.leafDelta == delta {
		return false
	}
	n.leafPhi, n.leafDelta = phi, delta
	if !n.solved() {
		n.phi, n.delta = phi, delta
		t.show(n)
	}
	return true
}

// change notes that the record of n goes with the next Persist.
func (t *Tree) change(n *node) {
	if !n.changed {
		n.changed, n.recorded = true, true
		t.changed = append(t.changed, n)
	}
}

// record returns what the store keeps of n.
func (t *Tree) record(n *node) NodeRecord {
	return NodeRecord{Key: n.key, Phi: n.leafPhi, Delta: n.leafDelta, Nodes: n.nodes, Budget: n.budget,
		Expanded: n.expanded, Expansion: uint64(n.expansion), Children: t.begins[n]}
}
