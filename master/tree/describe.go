package tree

import (
	"fmt"
	"strings"

	"amazonsfarm/shared/amazons"
)

// Describe returns a picture of the tree for people and for goldens: the
// workers, then every node about which there is something to say under the
// first of its parents, and the untouched ones as a number. A position has
// its colours put back; a line is
//
//	position phi/delta [won|lost by basis] [work=nodes] [leased to worker] [aside] [closed] [above]
//
// where "above" means that the node was shown before.
func (t *Tree) Describe() string {
	var b strings.Builder
	fmt.Fprintf(&b, "epoch %d tick %d spent %d: %d nodes, %d expanded, %d frontier, %d leased, %d facts\n",
		t.epoch, t.now, t.nodes, t.index.n, t.expansions, t.frontier, len(t.running), len(t.facts))
	for _, w := range t.roll {
		fmt.Fprintf(&b, "%s slots=%d waiting=%d", w.name, w.slots, w.waiting)
		for _, l := range w.leases {
			fmt.Fprintf(&b, " lease=%d nodes=%d/%d", l.id, l.nodes, l.budget)
			if l.cancelled {
				b.WriteString(" cancelled")
			}
		}
		b.WriteByte('\n')
	}
	t.describe(&b, t.root, 0, map[*node]bool{})
	return b.String()
}

func (t *Tree) describe(b *strings.Builder, n *node, depth int, shown map[*node]bool) {
	indent := strings.Repeat("  ", depth)
	fmt.Fprintf(b, "%s%s %s", indent, t.text(n.key), numbersText(n.phi, n.delta))
	if n.solved() {
		fmt.Fprintf(b, " %s by %s", n.verdict(), n.basis)
	}
	if n.nodes > 0 {
		fmt.Fprintf(b, " work=%d", n.nodes)
	}
	if n.lease != nil {
		fmt.Fprintf(b, " leased to %s", n.lease.worker.name)
	}
	if n.aside {
		b.WriteString(" aside")
	}
	if n.live == 0 && !n.solved() {
		b.WriteString(" closed")
	}
	if shown[n] && n.expanded {
		b.WriteString(" above\n")
		return
	}
	shown[n] = true
	b.WriteByte('\n')
	untouched, byRules := 0, 0
	for _, c := range n.children {
		switch {
		case c.basis == ByRules:
			byRules++
		case !c.solved() && !c.expanded && c.lease == nil && c.nodes == 0 && c.tries == 0 && c.phi == 1 && c.delta == 1:
			untouched++
		default:
			t.describe(b, c, depth+1, shown)
		}
	}
	if byRules > 0 {
		fmt.Fprintf(b, "%s  %d lost by rules\n", indent, byRules)
	}
	if untouched > 0 {
		fmt.Fprintf(b, "%s  %d untouched\n", indent, untouched)
	}
}

// text returns a key as a position with the colours of the campaign.
func (t *Tree) text(k amazons.Key) string {
	s, err := k.State(t.board)
	if err != nil {
		return keyName(k)
	}
	colour := t.cfg.Root.ToMove
	if (layerOf(k)-t.root.layer)%2 == 1 {
		colour = colour.Other()
	}
	return amazons.PositionOf(t.board, s, colour).String()
}

func numbersText(phi, delta uint32) string {
	text := func(x uint32) string {
		if x >= Infinity {
			return "inf"
		}
		return fmt.Sprint(x)
	}
	return text(phi) + "/" + text(delta)
}
