// Package graph is the top of a game tree as an explicit graph: positions with proof and disproof
// numbers, and the facts that solve them. It knows neither workers nor leases; it only sees that a
// leaf is leased. Nothing in it depends on a clock, a random source or the order of a map.
//
// The graph is keyed by canonical positions, so transpositions and mirror images are one node with
// several parents. Every move burns one square: the number of burnt squares orders the graph, and it
// has no cycles.
//
// # Numbers
//
// Phi is the proof number of "the side to move wins", delta its disproof number. A node that the side
// to move wins has phi 0 and delta Infinity; one that it loses has phi Infinity and delta 0. All other
// numbers lie strictly between. From the children c of a node:
//
//	phi   = min delta(c)
//	delta = max phi(c) + 20/256 * (the sum of the other phi(c)), rounded up
//
// The plain sum counts transposed work many times over; this form needs far fewer nodes. The factor is
// that of the workers' own search.
//
// For example, a node with two open children of 2/3 and 4/5 has phi min(3, 5) = 3 and delta
// 4 + 20/256*2, rounded up to 5.
//
// # Locks
//
// A leased or unchecked leaf is locked, and so is an inner node whose unsolved children are all
// locked. Locks never change numbers: a locked child is passed over when a leaf is selected, and
// counts in its parent's numbers as before. Locks follow from the leases alone, so they are kept up to
// date along the ancestors and never stored.
package graph

import (
	"iter"
	"maps"

	"amazonsfarm/shared/amazons"
	"amazonsfarm/shared/numbers"
	"amazonsfarm/shared/proof"
)

// Graph is the positions and facts of one campaign. It is not safe for concurrent use.
type Graph struct {
	// Root is the position to solve.
	Root *Node
	// Contradiction is the first contradiction that was found, or nil. Later ones may follow from it.
	Contradiction *Contradiction
	// Closed is the leased nodes that were solved or stopped mattering. Callers empty it.
	Closed []*Node
	// Counts are kept up to date.
	Counts

	root     amazons.Position
	board    amazons.Board
	given    []amazons.Move // first moves, if the question is restricted to some
	maxFacts int
	facts    map[amazons.Key]proof.Fact // looked up only
	index    index
	workers  int         // see Crowd
	dirty    [65][]*Node // nodes in line, by layer

	expansions uint32 // number of the latest expansion

	// What Take returns.
	records []*Node
	begins  map[*Node]string // of nodes that were expanded: Record.Children

	// Buffers.
	moves   []amazons.Move
	seen    map[amazons.Key]struct{}
	next    []child
	order   []int
	begun   []numbers.Child // by their ranks
	encoded []byte
}

// Counts are sizes of a graph.
type Counts struct {
	Expanded            int    // positions with their children in the graph
	Frontier            int    // leaves that are unsolved and matter to the root
	FactsWon, FactsLost int    // facts by verdict
	FactsDropped        uint64 // facts beyond the limit
}

// New makes a graph of the root alone. If first moves are given, the question is about them only.
// maxFacts bounds the facts; beyond it facts about positions outside the graph are dropped.
func New(root amazons.Position, firstMoves []amazons.Move, maxFacts int) *Graph {
	g := &Graph{
		root: root, board: root.Board, given: firstMoves, maxFacts: maxFacts, facts: map[amazons.Key]proof.Fact{},
		seen: map[amazons.Key]struct{}{}, begins: map[*Node]string{},
	}
	state := root.State()
	g.Root = g.add(state.CanonicalKey(g.board), state.CanMove())
	g.Root.Live = 1
	if !g.Root.Solved() {
		g.Frontier = 1
	}
	return g
}

// Len returns the number of positions.
func (g *Graph) Len() int { return g.index.n }

// Get returns the node of a canonical key, or nil.
func (g *Graph) Get(k amazons.Key) *Node { return g.index.get(k) }

// All yields the nodes in the order in which they came.
func (g *Graph) All() iter.Seq[*Node] { return g.index.all() }

// Facts yields the facts in any order.
func (g *Graph) Facts() iter.Seq[proof.Fact] { return maps.Values(g.facts) }

// Restricted reports whether the question is about given first moves only. Then the root is "lost" in
// the graph when none of them wins, which proves nothing about the position: facts about it are kept,
// but do not solve the root.
func (g *Graph) Restricted() bool { return len(g.given) > 0 }

// Take returns the records of the nodes that changed since the last call.
func (g *Graph) Take() []Record {
	var list []Record
	for _, n := range g.records {
		n.changed = false
		list = append(list, g.RecordOf(n))
	}
	clear(g.records)
	clear(g.begins)
	g.records = g.records[:0]
	return list
}
