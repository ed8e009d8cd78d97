// Package offers holds the facts that a master offers to its workers: those with the most nodes
// behind them. A worker that searches below a position gets the facts it lacks that may lie there.
//
// Which facts a list has depends on the facts alone, not on the order in which they came. Each fact has a
// slot, and each worker an array of what it knows by slot (Known). A generation tells a fact from an
// earlier one in its slot.
//
// A grant looks at each fact of the list, and a worker that has been there for a while knows nearly all of
// them. So the two numbers that mostly give the answer lie side by side, slot after slot (sight). A grant
// takes 50 microseconds so for 16,384 facts (BenchmarkPick), and 175 where it looks up each fact in memory.
package offers

import (
	"cmp"
	"container/heap"
	"fmt"
	"slices"

	"amazonsfarm/master/tree/reach"
	"amazonsfarm/shared/amazons"
	"amazonsfarm/shared/proof"
)

// List is the facts that are offered. It is not safe for concurrent use.
type List struct {
	board  amazons.Board
	size   int
	gen    uint64
	byKey  map[amazons.Key]*entry
	fewest entries      // as a heap, the fact with the fewest nodes on top
	slots  []*entry     // by slot
	sights []sight      // by slot
	fresh  []place      // of facts added since the last Settle, at most size; some may have gone since
	picked []proof.Fact // by the last Pick; its memory is used again
}

// Known is what one worker knows of a list: by slot, the generation of the fact there.
type Known []uint64

// entry is a fact of the list.
type entry struct {
	fact proof.Fact
	place
}

// place is where a fact is, or was.
type place struct {
	slot int
	gen  uint64
}

// sight is what mostly tells whether a worker is to get a fact: its generation and its burnt squares.
type sight struct{ gen, burnt uint64 }

// New makes an empty list for at most size facts of a board.
func New(b amazons.Board, size int) *List {
	return &List{board: b, size: size, byKey: map[amazons.Key]*entry{}}
}

// Len returns the number of facts.
func (l *List) Len() int { return len(l.byKey) }

// compare orders facts: most nodes first, ties by key.
func compare(a, b proof.Fact) int {
	return cmp.Or(cmp.Compare(b.Nodes, a.Nodes), a.Key.Compare(b.Key))
}

// Add offers a fact whose position is not on the list. A full list drops the fact with the fewest
// nodes, which may be this one.
func (l *List) Add(f proof.Fact) {
	full := len(l.slots) == l.size
	if full && compare(l.fewest[0].fact, f) < 0 {
		return
	}
	l.gen++
	e := &entry{f, place{len(l.slots), l.gen}}
	if !full {
		heap.Push(&l.fewest, e)
		l.slots, l.sights = append(l.slots, e), append(l.sights, sight{})
	} else {
		e.slot = l.fewest[0].slot
		delete(l.byKey, l.fewest[0].fact.Key)
		l.fewest[0], l.slots[e.slot] = e, e
		heap.Fix(&l.fewest, 0)
	}
	l.byKey[f.Key], l.sights[e.slot] = e, sight{e.gen, reach.Burnt(f.Key)}
	if len(l.fresh) < l.size {
		l.fresh = append(l.fresh, e.place)
	}
}

// entries are a heap by container/heap.
type entries []*entry

func (h entries) Len() int           { return len(h) }
func (h entries) Less(i, j int) bool { return compare(h[i].fact, h[j].fact) > 0 }
func (h entries) Swap(i, j int)      { h[i], h[j] = h[j], h[i] }

// Push adds an entry at the end.
func (h *entries) Push(e any) { *h = append(*h, e.(*entry)) }

// Pop is not called: a list never becomes shorter.
func (h *entries) Pop() any { panic("a list never becomes shorter") }

// Mark notes that a worker knows the fact about k, if it is on the list.
func (l *List) Mark(known *Known, k amazons.Key) {
	if e := l.byKey[k]; e != nil {
		known.mark(e)
	}
}

func (k *Known) mark(e *entry) {
	if more := e.slot + 1 - len(*k); more > 0 {
		*k = append(*k, make(Known, more)...)
	}
	(*k)[e.slot] = e.gen
}

// at returns the generation that a worker knows in a slot, 0 for none.
func (k Known) at(slot int) uint64 {
	if slot < len(k) {
		return k[slot]
	}
	return 0
}

// Pick returns at most limit facts that a worker lacks and that may lie below k, and marks them as known. If
// there are more, it gets them with its next leases.
func (l *List) Pick(known *Known, k amazons.Key, limit int) []proof.Fact {
	out := l.picked[:0]
	below := reach.Below(l.board, k)
	for slot := 0; slot < len(l.slots) && len(out) < limit; slot++ {
		if e := l.lacked(slot, *known, &below, k); e != nil {
			out = append(out, e.fact)
			known.mark(e)
		}
	}
	l.picked = out
	return slices.Clone(out)
}

// Fresh appends to out, up to a length of limit, the facts added since the last Settle that a worker
// lacks and that may lie below k. It marks them as known.
func (l *List) Fresh(out []proof.Fact, known *Known, k amazons.Key, limit int) []proof.Fact {
	if len(l.fresh) == 0 {
		return out
	}
	below := reach.Below(l.board, k)
	for _, p := range l.fresh {
		if len(out) >= limit {
			break
		}
		if l.sights[p.slot].gen != p.gen {
			continue // it has gone
		}
		if e := l.lacked(p.slot, *known, &below, k); e != nil {
			out = append(out, e.fact)
			known.mark(e)
		}
	}
	return out
}

// lacked returns the fact in a slot if a worker lacks it and it may lie below k, nil otherwise.
func (l *List) lacked(slot int, known Known, below *reach.Reach, k amazons.Key) *entry {
	s := &l.sights[slot]
	if known.at(slot) == s.gen || !below.Burns(s.burnt) {
		return nil
	}
	if e := l.slots[slot]; e.fact.Key != k && below.Has(e.fact.Key) {
		return e
	}
	return nil
}

// Settle ends the time in which the facts so far count as fresh.
func (l *List) Settle() { l.fresh = l.fresh[:0] }

// Audit returns what is wrong with the list, nil if nothing is.
func (l *List) Audit() error {
	if n := len(l.slots); n != len(l.byKey) || n != len(l.fewest) || n != len(l.sights) || n > l.size {
		return fmt.Errorf("%d slots, %d keys, %d entries, %d sights", n, len(l.byKey), len(l.fewest), len(l.sights))
	}
	for i, e := range l.fewest {
		want := sight{e.gen, reach.Burnt(e.fact.Key)}
		if l.slots[e.slot] != e || l.byKey[e.fact.Key] != e || l.sights[e.slot] != want {
			return fmt.Errorf("slot %d does not fit its fact %x", e.slot, e.fact.Key.Bytes())
		}
		if i > 0 && l.fewest.Less(i, (i-1)/2) {
			return fmt.Errorf("fact %d of the heap has fewer nodes than the one above", i)
		}
	}
	return nil
}
