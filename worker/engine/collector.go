package engine

import (
	"amazonsfarm/shared/proof"
	"cmp"
	"container/heap"
	"slices"
)

// collector keeps the facts with the most nodes, up to a limit. A position noted twice may be kept
// twice until the collector is emptied.
type collector struct {
	limit int
	facts byNodes
}

// byNodes is a heap with the fewest nodes first.
type byNodes []proof.Fact

func (h byNodes) Len() int           { return len(h) }
func (h byNodes) Less(i, j int) bool { return h[i].Nodes < h[j].Nodes }
func (h byNodes) Swap(i, j int)      { h[i], h[j] = h[j], h[i] }
func (h *byNodes) Push(x any)        { *h = append(*h, x.(proof.Fact)) }

// Pop takes off the last fact, as package heap wants it.
func (h *byNodes) Pop() any {
	old := *h
	x := old[len(old)-1]
	*h = old[:len(old)-1]
	return x
}

// wants reports whether a fact with so many nodes would be kept.
func (c *collector) wants(nodes uint64) bool {
	return len(c.facts) < c.limit || nodes > c.facts[0].Nodes
}

// add keeps a fact. A full collector drops the fact with the fewest nodes for it.
func (c *collector) add(f proof.Fact) {
	if len(c.facts) < c.limit {
		heap.Push(&c.facts, f)
		return
	}
	c.facts[0] = f
	heap.Fix(&c.facts, 0)
}

// empty returns the facts, each position once, those with most nodes first, and empties the
// collector.
func (c *collector) empty() []proof.Fact {
	facts := slices.Clone([]proof.Fact(c.facts))
	c.facts = c.facts[:0]
	slices.SortFunc(facts, func(a, b proof.Fact) int {
		return cmp.Or(a.Key.Compare(b.Key), cmp.Compare(b.Nodes, a.Nodes))
	})
	facts = slices.CompactFunc(facts, func(a, b proof.Fact) bool { return a.Key == b.Key })
	slices.SortStableFunc(facts, func(a, b proof.Fact) int { return cmp.Compare(b.Nodes, a.Nodes) })
	return facts
}
