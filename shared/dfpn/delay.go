package dfpn

import (
	"cmp"
	"slices"

	"amazonsfarm/shared/amazons"
)

// A delayer puts off the evaluation of replies (delayed sibling generation). A search does without one unless its options ask for it.
//
// A node starts with the replies that the table knows and with a few others, those that won most often elsewhere. All the rest is one more
// child, without a move. Its phi and delta are the means over the children evaluated so far, as nothing else is known of it; when its
// delta is the least, some more are evaluated. Until then a reply that would win at once is not seen, and one that would be
// closed at once is not dropped; for both reasons it does not pay in this game (shared/estimate/NUMBERS.md).
type delayer struct {
	siblings int // open replies evaluated at a time

	later   []child         // what is put off at the nodes on the path, the deepest last
	bases   []int           // where the nodes' parts of later begin
	credits [64 * 64]uint32 // how often a reply to a square with an arrow to another won
}

// newDelayer returns what o asks for: nil if nothing is put off.
func newDelayer(o *Options) *delayer {
	if o.Siblings == 0 {
		return nil
	}
	return &delayer{siblings: o.Siblings}
}

// reset forgets everything.
func (d *delayer) reset() {
	d.later, d.bases = d.later[:0], d.bases[:0]
	clear(d.credits[:])
}

// enter goes down to a node that is going to be expanded.
func (d *delayer) enter() { d.bases = append(d.bases, len(d.later)) }

// expand is the end of thread.expand, where the children of st that the table does not know have phi 0.
func (d *delayer) expand(t *thread, st amazons.State, base int) (numbers, amazons.Move) {
	first := len(d.later)
	kept := base
	for _, c := range t.stack[base:] {
		if c.phi == 0 {
			d.later = append(d.later, c)
			continue
		}
		t.stack[kept] = c
		kept++
	}
	t.stack = t.stack[:kept]
	// The best come last, from where they are taken.
	slices.SortStableFunc(d.later[first:], func(a, b child) int {
		return cmp.Compare(d.credits[endOf(a.move)], d.credits[endOf(b.move)])
	})
	return d.evaluate(t, st, base)
}

// evaluate pushes the next few open replies of st, and a child for the rest if there is one. It returns what thread.expand does.
func (d *delayer) evaluate(t *thread, st amazons.State, base int) (numbers, amazons.Move) {
	first := d.bases[len(d.bases)-1]
	for open := 0; open < d.siblings && len(d.later) > first; {
		last := len(d.later) - 1
		c := d.later[last]
		d.later = d.later[:last]
		n := t.evaluate(st.After(c.move))
		if n.delta == 0 {
			d.credit(c.move)
			return won, c.move
		}
		if n.phi == 0 {
			continue
		}
		c.phi, c.delta = n.phi, n.delta
		if t.s.o.OnInitial != nil {
			t.s.o.OnInitial(st, c.move)
		}
		t.stack = append(t.stack, c)
		open++
	}
	children := t.stack[base:]
	if len(children) == 0 {
		return lost, noMove
	}
	if len(d.later) > first {
		var phi, delta uint64
		for i := range children {
			phi += uint64(children[i].phi)
			delta += uint64(children[i].delta)
		}
		n := uint64(len(children))
		t.stack = append(t.stack, child{phi: uint32(phi / n), delta: uint32(delta / n)})
	}
	return numbers{1, 1}, noMove
}

// more evaluates more replies of st, whose rest is child i.
func (d *delayer) more(t *thread, st amazons.State, base, i int) (numbers, amazons.Move) {
	t.drop(i)
	return d.evaluate(t, st, base)
}

// leave goes up from the node that was expanded last.
func (d *delayer) leave() {
	last := len(d.bases) - 1
	d.later, d.bases = d.later[:d.bases[last]], d.bases[:last]
}

// credit notes that m won.
func (d *delayer) credit(m amazons.Move) { d.credits[endOf(m)]++ }

// endOf is what replies of the same credit have in common.
func endOf(m amazons.Move) int { return int(m.To)*64 + int(m.Arrow) }
