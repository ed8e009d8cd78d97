package tree

import "amazonsfarm/master/tree/graph"

// scarce reports whether the most useful free leaf is worth little to workers that could have it.
func (t *Tree) scarce() bool {
	return len(t.roll) > 1 && t.graph.Root.Use*100 < float64(t.cfg.policy.splitBelow)
}

// splits decides whether the leaf of a lease that ended is split. scarce says whether work was scarce
// while the leaf was leased.
func (t *Tree) splits(l *lease, scarce bool) bool {
	n := l.node
	switch {
	case n.Solved() || n.Live == 0 || n.Nodes == 0 || n.Unchecked:
		return false
	case n.Nodes >= t.splitAfter(t.graph.Len()) || t.cfg.EasyReplies && n.Layer <= t.graph.Root.Layer+1 || l.split:
		return true
	}
	return l.nodes > 0 && (t.starving > 0 || scarce && n.Nodes >= t.earlySplit(t.graph.Len()))
}

// splitAfter returns the nodes after which a leaf is split in a tree of so many positions: the setting,
// doubled with each eighth of MaxPositions in use. A long campaign thus fills the tree ever more slowly.
func (t *Tree) splitAfter(positions int) uint64 {
	return doubled(t.cfg.SplitAfter, t.eighths(positions))
}

// earlySplit returns the nodes after which a leaf is split while work is scarce: those of a first
// lease. From half of MaxPositions on they are sixteen times as many with each eighth in use. A
// position that many workers wait for is worth the room as long as there is some.
func (t *Tree) earlySplit(positions int) uint64 {
	return doubled(t.firstBudget(), 4*max(0, t.eighths(positions)-3))
}

// eighths returns how many whole eighths of MaxPositions so many positions are.
func (t *Tree) eighths(positions int) int { return positions * 8 / t.cfg.MaxPositions }

// doubled returns nodes, doubled a number of times.
func doubled(nodes uint64, times int) uint64 {
	for range times {
		nodes = graph.Plus(nodes, nodes)
	}
	return nodes
}

// split expands a leaf by one level if the tree has room. Its children begin with a worker's numbers.
func (t *Tree) split(n *graph.Node, children []byte) {
	if !t.graph.Split(n, children, t.cfg.MaxPositions) {
		t.full = true
	}
}
