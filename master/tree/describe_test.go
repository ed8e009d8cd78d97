package tree

import (
	"fmt"
	"strings"

	"amazonsfarm/master/tree/graph"
	"amazonsfarm/shared/amazons"
	"amazonsfarm/shared/proof"
)

// Describe returns a picture of the tree for goldens: the
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
		t.epoch, t.now, t.nodes, t.graph.Len(), t.graph.Expanded, t.graph.Frontier, len(t.running), t.graph.FactsWon+
			t.graph.FactsLost)
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
	t.describe(&b, t.graph.Root, 0, map[*graph.Node]bool{})
	return b.String()
}

func (t *Tree) describe(b *strings.Builder, n *graph.Node, depth int, shown map[*graph.Node]bool) {
	indent := strings.Repeat("  ", depth)
	fmt.Fprintf(b, "%s%s %s", indent, t.text(n.Key), numbersText(n.Phi, n.Delta))
	if n.Solved() {
		fmt.Fprintf(b, " %s by %s", n.Verdict(), n.Basis)
	}
	if n.Nodes > 0 {
		fmt.Fprintf(b, " work=%d", n.Nodes)
	}
	if n.Lease != 0 {
		fmt.Fprintf(b, " leased to %s", t.leaseAt(n).worker.name)
	}
	if n.Aside {
		b.WriteString(" aside")
	}
	if n.Live == 0 && !n.Solved() {
		b.WriteString(" closed")
	}
	if shown[n] && n.Expanded {
		b.WriteString(" above\n")
		return
	}
	shown[n] = true
	b.WriteByte('\n')
	untouched, byRules := 0, 0
	for _, c := range n.Children {
		switch {
		case c.Basis == graph.ByRules:
			byRules++
		case !c.Solved() && !c.Expanded && c.Lease == 0 && c.Nodes == 0 && c.Tries == 0 && c.Phi == 1 && c.Delta == 1:
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
	s, err := k.State(t.cfg.Root.Board)
	if err != nil {
		return graph.NameOf(k)
	}
	colour := t.cfg.Root.ToMove
	if (proof.Arrows(k)-int(t.graph.Root.Layer))%2 == 1 {
		colour = colour.Other()
	}
	return amazons.PositionOf(t.cfg.Root.Board, s, colour).String()
}

func numbersText(phi, delta uint32) string {
	text := func(x uint32) string {
		if x >= graph.Infinity {
			return "inf"
		}
		return fmt.Sprint(x)
	}
	return text(phi) + "/" + text(delta)
}
