package engine

import (
	"slices"

	"amazonsfarm/shared/amazons"
	"amazonsfarm/shared/dfpn"
	"amazonsfarm/shared/eval"
	"amazonsfarm/shared/numbers"
)

// watchEvery is how many progress reports come between two with an Outlook.
const watchEvery = 4

// outlookLooks is how many positions an Outlook looks below. Each takes a tenth of a millisecond, so an
// Outlook a second costs less than a hundredth of the time of one core.
const outlookLooks = 40

// Outlook is what a search knows of its position while it goes on. It is for people; nothing is proved.
type Outlook struct {
	Phi, Delta uint32
	Children   []numbers.Child        // one for each move; zeros where it has not searched yet
	Nodes      map[amazons.Key]uint64 // behind the numbers of Children, where it has searched
	Evidence   float64                // of the nodes, the share below positions that the search has decided
}

// outlook looks a position up in the table while it is searched. It goes down where most nodes are: a
// decided position ends the way, and its nodes count as evidence.
func (e *Engine) outlook(st amazons.State) *Outlook {
	below := e.search.Children(st)
	o := &Outlook{Children: e.children(below), Phi: dfpn.Infinity, Nodes: map[amazons.Key]uint64{}}
	var most, all uint64
	for i, c := range below { // as the search combines them
		o.Phi, most, all = min(o.Phi, c.Delta), max(most, uint64(c.Phi)), all+uint64(c.Phi)
		if o.Nodes[o.Children[i].Key] = c.Nodes; c.Nodes == 0 && c.Verdict == eval.Open {
			o.Children[i].Phi, o.Children[i].Delta = 0, 0
		}
	}
	if o.Delta = uint32(min(dfpn.Sum(most, all-most), dfpn.Infinity)); o.Phi == 0 {
		o.Delta = dfpn.Infinity
	}
	var decided, open uint64
	var left []dfpn.Child
	for looks := 1; ; looks++ {
		for _, c := range below {
			switch {
			case c.Verdict != eval.Open:
				decided += c.Nodes
			case c.Nodes > 0:
				open += c.Nodes
				left = append(left, c)
			}
		}
		if len(left) == 0 || looks == outlookLooks {
			break
		}
		heaviest := 0
		for i, c := range left {
			if c.Nodes > left[heaviest].Nodes {
				heaviest = i
			}
		}
		next := left[heaviest]
		left = slices.Delete(left, heaviest, heaviest+1)
		open -= next.Nodes
		below = e.search.Children(next.State)
	}
	if decided > 0 {
		o.Evidence = float64(decided) / float64(decided+open)
	}
	return o
}

// children returns the numbers of positions after one.
func (e *Engine) children(list []dfpn.Child) (out []numbers.Child) {
	for _, c := range list {
		out = append(out, numbers.Child{Key: c.State.CanonicalKey(e.c.Board), Phi: c.Phi, Delta: c.Delta})
	}
	return out
}
