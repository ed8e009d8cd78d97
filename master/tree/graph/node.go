package graph

import (
	"fmt"

	"amazonsfarm/shared/amazons"
	"amazonsfarm/shared/eval"
	"amazonsfarm/shared/proof"
)

// Node is one position of the graph. A derived field follows from the rest of the graph and is kept up
// to date step by step; Audit computes it anew and compares. The fields that are read when a worker
// looks for a leaf come first.
//
// Callers set only the fields of the second group, of leaves, and call Changed or Reclass after it.
type Node struct {
	Use        float64 // derived: of the most useful open leaf here or below; see usefulness
	Phi, Delta uint32  // derived from the children, if it is expanded
	Nodes      uint64  // searched on it as a leaf; set by callers
	Key        amazons.Key

	Layer     uint8 // burnt squares; children have one more
	Basis     Basis // NoBasis: unsolved
	Class     Class // derived: what can be granted here or below
	Expanded  bool  // children are in the graph
	Aside     bool  // leaf set aside after too many failed tries; set by callers
	Unchecked bool  // leaf whose numbers wait for another search; set by callers
	changed   bool  // its record goes with the next Take
	queued    bool  // in line to have its numbers computed
	recorded  bool  // it has a record, or will have one with the next Take

	Live               int32  // derived: parents that are live and unsolved; the root has one more
	LeafPhi, LeafDelta uint32 // numbers as a leaf
	expansion          uint32 // number of its expansion, from 1; 0 of a leaf

	// Set by callers.
	Tries  int32  // failed tries in a row
	Budget uint64 // of its next lease; 0: the first one
	Warm   uint32 // serial of the worker that searched it last
	LostBy uint32 // serial of the worker that lost it last
	Lease  uint64 // number of its lease; 0: not leased

	Children []*Node
	shown    []shown // derived: of each child
	parents  []edge
	first    [1]edge            // room for the first parent: many have one
	free     [freeClasses]int32 // derived: children by class
}

// shown is what a node sees of one child. It lies beside those of the other children: a node looks
// at all of its children whenever one changes, and they lie anywhere in memory.
type shown struct {
	Use        float64
	Phi, Delta uint32
}

// edge is a parent, and the number of the node among its children.
type edge struct {
	node *Node
	i    int
}

// Parent returns the key of an unsolved parent; the zero key where there is none.
func (n *Node) Parent() (k amazons.Key) {
	for _, p := range n.parents {
		if !p.node.Solved() {
			return p.node.Key
		}
	}
	return k
}

// FreeSiblings returns how many children of an unsolved parent are free: of the parent with the fewest. It
// returns 0 where there is no such parent.
func (n *Node) FreeSiblings() int {
	least := int32(-1)
	for _, p := range n.parents {
		if !p.node.Solved() && (least < 0 || p.node.free[Open] < least) {
			least = p.node.free[Open]
		}
	}
	return int(max(least, 0))
}

// Class says what can be granted at a leaf, or below an inner node at best.
type Class uint8

// The classes.
const (
	Locked      Class = iota // nothing: solved, leased, unchecked, or all unsolved children locked
	Lastly                   // only leaves that were set aside
	Open                     // a leaf
	freeClasses = 3
)

// Basis says what a verdict rests on.
type Basis uint8

// The bases of a verdict.
const (
	NoBasis    Basis = iota // unsolved
	ByFact                  // a fact with a certificate
	ByRules                 // the side to move has no move
	ByChildren              // a lost child, or all children won
	ByParent                // a lost position before it; of no node, only what Explore concludes
)

// String returns one word.
func (b Basis) String() string {
	names := [...]string{"none", "fact", "rules", "children", "parent"}
	if int(b) < len(names) {
		return names[b]
	}
	return fmt.Sprintf("basis(%d)", uint8(b))
}

// Solved reports whether the verdict of n is known.
func (n *Node) Solved() bool { return n.Basis != NoBasis }

// Matters reports whether the root still depends on n: it is unsolved, and so is every position on
// some way to it.
func (n *Node) Matters() bool { return n.Live > 0 && !n.Solved() }

// Verdict returns who wins, as far as it is known.
func (n *Node) Verdict() eval.Verdict {
	switch {
	case n.Basis == NoBasis:
		return eval.Open
	case n.Phi == 0:
		return eval.Won
	}
	return eval.Lost
}

// add makes the node of a position that is not yet in the graph. It is solved at once if the side to
// move has no move or a fact is known.
func (g *Graph) add(k amazons.Key, canMove bool) *Node {
	n := g.index.add(k)
	n.Layer, n.Class, n.Use = uint8(proof.Arrows(k)), Open, 1
	n.Phi, n.Delta, n.LeafPhi, n.LeafDelta = 1, 1, 1, 1
	n.parents = n.first[:0]
	if !canMove {
		g.solve(n, eval.Lost, ByRules)
	}
	if f, ok := g.facts[k]; ok {
		g.believe(n, f, "")
	}
	return n
}

// SetLeaf gives a leaf the numbers of a search.
func (g *Graph) SetLeaf(n *Node, phi, delta uint32) {
	if g.begin(n, phi, delta) {
		g.Changed(n)
	}
}

// begin gives a leaf numbers that are not in its own record, and reports whether they are new.
func (g *Graph) begin(n *Node, phi, delta uint32) bool {
	if n.LeafPhi == phi && n.LeafDelta == delta {
		return false
	}
	n.LeafPhi, n.LeafDelta = phi, delta
	if !n.Solved() {
		n.Phi, n.Delta = phi, delta
		g.show(n)
	}
	return true
}

// Changed notes that the record of n goes with the next Take.
func (g *Graph) Changed(n *Node) {
	if !n.changed {
		n.changed, n.recorded = true, true
		g.records = append(g.records, n)
	}
}

// RecordOf returns what the store keeps of n.
func (g *Graph) RecordOf(n *Node) Record {
	return Record{Key: n.Key, Phi: n.LeafPhi, Delta: n.LeafDelta, Nodes: n.Nodes, Budget: n.Budget,
		Expanded: n.Expanded, Expansion: uint64(n.expansion), Children: g.begins[n]}
}
