// Package offers holds the facts that a master offers to its workers: those with the most nodes
// behind them. A worker that searches below a position gets the facts it lacks that may lie there.
//
// A list depends on the set of its facts alone, not on the order in which they came. Each fact has a
// slot, and each worker an array of what it knows by slot (Known). A generation tells a fact from an
// earlier one in its slot.
package offers

import (
	"cmp"
	"iter"
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
	blocks [][]*entry // most nodes first, each of 1 to blockLength-1
	byKey  map[amazons.Key]*entry
	fresh  []*entry // added since the last Settle, in that order, at most size; some may have gone since
}

// Known is what one worker knows of a list: by slot, the generation of the fact there.
type Known []uint64

// blockLength is about the square root of the number of facts on a list of the default size.
const blockLength = 256

type entry struct {
	fact proof.Fact
	slot int
	gen  uint64
}

// New makes an empty list for at most size facts of a board.
func New(b amazons.Board, size int) *List {
	return &List{board: b, size: size, byKey: map[amazons.Key]*entry{}}
}

// Len returns the number of facts.
func (l *List) Len() int { return len(l.byKey) }

// Compare orders facts: most nodes first, ties by key.
func Compare(a, b proof.Fact) int {
	return cmp.Or(cmp.Compare(b.Nodes, a.Nodes), a.Key.Compare(b.Key))
}

// Add offers a fact whose position is not on the list. A full list drops the fact with the fewest
// nodes, which may be this one.
func (l *List) Add(f proof.Fact) {
	slot := len(l.byKey)
	if slot == l.size {
		last := l.last()
		if Compare(last.fact, f) < 0 {
			return
		}
		slot = last.slot
		delete(l.byKey, last.fact.Key)
		l.removeLast()
	}
	l.gen++
	e := &entry{fact: f, slot: slot, gen: l.gen}
	l.insert(e)
	l.byKey[f.Key] = e
	if len(l.fresh) < l.size {
		l.fresh = append(l.fresh, e)
	}
}

// insert puts an entry in its place. To move all entries after it would cost more than all else that
// a fact does, so they lie in blocks of a bounded length.
func (l *List) insert(e *entry) {
	i, _ := slices.BinarySearchFunc(l.blocks, e.fact,
		func(b []*entry, f proof.Fact) int { return Compare(b[len(b)-1].fact, f) })
	if i == len(l.blocks) { // after all others
		if i == 0 {
			l.blocks = append(l.blocks, nil)
		}
		i = len(l.blocks) - 1
	}
	at, _ := slices.BinarySearchFunc(l.blocks[i], e.fact,
		func(o *entry, f proof.Fact) int { return Compare(o.fact, f) })
	l.blocks[i] = slices.Insert(l.blocks[i], at, e)
	if b := l.blocks[i]; len(b) == blockLength {
		l.blocks = slices.Insert(l.blocks, i+1, slices.Clone(b[blockLength/2:]))
		clear(b[blockLength/2:])
		l.blocks[i] = b[:blockLength/2]
	}
}

func (l *List) last() *entry {
	b := l.blocks[len(l.blocks)-1]
	return b[len(b)-1]
}

func (l *List) removeLast() {
	i := len(l.blocks) - 1
	b := l.blocks[i]
	b[len(b)-1] = nil
	if l.blocks[i] = b[:len(b)-1]; len(b) == 1 {
		l.blocks = l.blocks[:i]
	}
}

// all yields the entries, most nodes first.
func (l *List) all(yield func(*entry) bool) {
	for _, b := range l.blocks {
		for _, e := range b {
			if !yield(e) {
				return
			}
		}
	}
}

// All yields the facts, most nodes first.
func (l *List) All(yield func(proof.Fact) bool) {
	l.all(func(e *entry) bool { return yield(e.fact) })
}

// Mark notes that a worker knows the fact about k, if it is on the list.
func (l *List) Mark(known *Known, k amazons.Key) {
	if e := l.byKey[k]; e != nil {
		known.mark(e)
	}
}

func (k *Known) mark(e *entry) {
	for len(*k) <= e.slot {
		*k = append(*k, 0)
	}
	(*k)[e.slot] = e.gen
}

func (k Known) has(e *entry) bool { return e.slot < len(k) && k[e.slot] == e.gen }

// Pick returns at most limit facts that a worker lacks and that may lie below k, those with most
// nodes, and marks them as known.
func (l *List) Pick(known *Known, k amazons.Key, limit int) []proof.Fact {
	return l.choose(nil, l.all, known, k, limit)
}

// Fresh appends to out, up to a length of limit, the facts added since the last Settle that a worker
// lacks and that may lie below k. It marks them as known.
func (l *List) Fresh(out []proof.Fact, known *Known, k amazons.Key, limit int) []proof.Fact {
	if len(l.fresh) == 0 {
		return out
	}
	current := func(yield func(*entry) bool) {
		for _, e := range l.fresh {
			if l.byKey[e.fact.Key] == e && !yield(e) {
				return
			}
		}
	}
	return l.choose(out, current, known, k, limit)
}

// Settle ends the time in which the facts so far count as fresh.
func (l *List) Settle() {
	clear(l.fresh)
	l.fresh = l.fresh[:0]
}

// choose appends to out those of some facts that a worker lacks and that may lie below k.
func (l *List) choose(out []proof.Fact, from iter.Seq[*entry], known *Known, k amazons.Key, limit int) []proof.Fact {
	below := reach.Below(l.board, k)
	for e := range from {
		if len(out) >= limit {
			break
		}
		if !known.has(e) && below.Has(e.fact.Key) && e.fact.Key != k {
			out = append(out, e.fact)
			known.mark(e)
		}
	}
	return out
}
