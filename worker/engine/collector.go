package engine

import (
	"cmp"
	"slices"

	"amazonsfarm/shared/proof"
)

// collector keeps the facts with the most nodes, up to a limit of some hundred. A position noted twice
// may be kept twice until the collector is emptied.
type collector struct {
	limit int
	facts []proof.Fact // by their nodes, the fewest first
}

// wants reports whether a fact with so many nodes would be kept.
func (c *collector) wants(nodes uint64) bool {
	return len(c.facts) < c.limit || nodes > c.facts[0].Nodes
}

// add keeps a fact. A full collector drops the fact with the fewest nodes for it.
func (c *collector) add(f proof.Fact) {
	if len(c.facts) >= c.limit {
		c.facts = slices.Delete(c.facts, 0, 1)
	}
	at, _ := slices.BinarySearchFunc(c.facts, f, func(a, b proof.Fact) int { return cmp.Compare(a.Nodes, b.Nodes) })
	c.facts = slices.Insert(c.facts, at, f)
}

// empty returns the facts, each position once, those with most nodes first, and empties the
// collector.
func (c *collector) empty() []proof.Fact {
	facts := slices.Clone(c.facts)
	c.facts = c.facts[:0]
	slices.SortFunc(facts, func(a, b proof.Fact) int {
		return cmp.Or(a.Key.Compare(b.Key), cmp.Compare(b.Nodes, a.Nodes))
	})
	facts = slices.CompactFunc(facts, func(a, b proof.Fact) bool { return a.Key == b.Key })
	slices.SortStableFunc(facts, func(a, b proof.Fact) int { return cmp.Compare(b.Nodes, a.Nodes) })
	return facts
}
