package endgame

import (
	"cmp"
	"slices"
	"sync"

	"amazonsfarm/shared/cgt"
)

// algebra numbers the distinct values of a build. All goroutines of the build share it. Each has a
// worker of its own, which computes the value of a position from the values of its options.
//
// The simple way combines the thermographs of all options at every position. That is too slow, since
// a build has billions of positions with some sixty options each. But the value of a game depends on
// its left options only through the highest of their right walls, and on whether an option that
// attains the stop is at least the stop plus star. So sets of left options fall into few classes,
// and a class has a number. Two sets are of one class exactly if {options | -far} has the same value,
// since that value shows the whole wall. The class of right options is the class of their
// negatives. A position with sixty options of ten different values then costs ten look-ups in a
// small table and no computation with thermographs.
// Ids follow the order in which goroutines meet values, so they differ from run to run. Neither chunks
// nor databases contain them.
type algebra struct {
	mu     sync.RWMutex
	ids    map[cgt.Value]uint32
	values []cgt.Value
	neg    []uint32 // id of the negative
	whole  []int8   // the integer it is, or notWhole
}

const (
	far      = 1 << 10 // above every number of moves
	notWhole = -128
)

func newAlgebra() *algebra {
	a := &algebra{ids: map[cgt.Value]uint32{}}
	a.intern(cgt.Value{})
	return a
}

// intern returns the id of v, a new one where v has none. Then its negative gets one, too.
func (a *algebra) intern(v cgt.Value) uint32 {
	a.mu.Lock()
	defer a.mu.Unlock()
	if id, ok := a.ids[v]; ok {
		return id
	}
	id := uint32(len(a.values))
	add := func(v cgt.Value) {
		a.ids[v] = uint32(len(a.values))
		a.values = append(a.values, v)
		w := int8(notWhole)
		if v.Kind() == cgt.Number && v.Mean().IsInt() {
			w = int8(v.Mean().Floor())
		}
		a.whole = append(a.whole, w)
	}
	add(v)
	n := v.Neg()
	if n == v {
		a.neg = append(a.neg, id)
		return id
	}
	add(n)
	a.neg = append(a.neg, id+1, id)
	return id
}

// worker is one goroutine's view of an algebra. Its classes and what it remembers are its own. Other
// workers compute the same again, which takes less time than to wait for one another at every
// position.
// now counts the sets of options that were looked at. An id whose stamp is now is already in the present
// set, so nothing has to be cleared between two sets.
type worker struct {
	*algebra
	c   cgt.Combiner
	err error // the first one

	classes map[cgt.Value]uint32 // by {options | -far}
	members [][]uint32           // of a class; class 0 has none
	joins   map[uint64]uint32    // two classes -> class of the union
	pairs   map[uint64]uint32    // left and right class -> value
	moved   map[uint64]uint32    // value and integer -> sum

	vals  []cgt.Value // the algebra's slices as last seen
	negs  []uint32
	whol  []int8
	cls   []uint32 // by id: class of the value alone as a left option; 0: not computed
	stamp []uint32 // by id: the last position that had the value as an option
	now   uint32
}

func (a *algebra) worker() *worker {
	w := &worker{algebra: a, classes: map[cgt.Value]uint32{}, members: [][]uint32{nil},
		joins: map[uint64]uint32{}, pairs: map[uint64]uint32{}, moved: map[uint64]uint32{}}
	w.refresh()
	return w
}

// refresh reads what other workers have added.
// An element of the algebra's slices never changes once it is there. So a worker reads the slices as it
// last saw them without a lock.
func (w *worker) refresh() {
	w.mu.RLock()
	defer w.mu.RUnlock()
	w.vals, w.negs, w.whol = w.algebra.values, w.algebra.neg, w.algebra.whole
	if n := len(w.vals); len(w.cls) < n {
		w.cls = append(w.cls, make([]uint32, n-len(w.cls))...)
		w.stamp = append(w.stamp, make([]uint32, n-len(w.stamp))...)
	}
}

// know makes sure that the worker has the value with an id.
func (w *worker) know(id uint32) {
	if int(id) >= len(w.vals) {
		w.refresh()
	}
}

// classOf returns the class of one value as a left option.
func (w *worker) classOf(id uint32) uint32 {
	if c := w.cls[id]; c != 0 {
		return c
	}
	c := w.classOfAll([]uint32{id})
	w.cls[id] = c
	return c
}

// classOfAll returns the class of a set of left options, not empty.
func (w *worker) classOfAll(ids []uint32) uint32 {
	left := make([]cgt.Value, len(ids))
	for i, id := range ids {
		w.know(id)
		left[i] = w.vals[id]
	}
	v, err := w.c.Combine(left, []cgt.Value{cgt.IntValue(-far)})
	if err != nil {
		w.err = cmp.Or(w.err, err)
		return 0
	}
	c, ok := w.classes[v]
	if !ok {
		// The set that came first stands for its class: any other set of the class would do as well.
		c = uint32(len(w.members))
		w.members = append(w.members, ids)
		w.classes[v] = c
	}
	return c
}

// join returns the class of the options of both classes together.
func (w *worker) join(a, b uint32) uint32 {
	switch {
	case a == b || b == 0:
		return a
	case a == 0:
		return b
	// A union does not depend on the order, so one entry of the cache serves both.
	case a > b:
		a, b = b, a
	}
	key := uint64(a)<<32 | uint64(b)
	c, ok := w.joins[key]
	if !ok {
		c = w.classOfAll(slices.Concat(w.members[a], w.members[b]))
		w.joins[key] = c
	}
	return c
}

// value returns the id of the game with options of the given classes.
func (w *worker) value(left, right uint32) uint32 {
	key := uint64(left)<<32 | uint64(right)
	id, ok := w.pairs[key]
	if !ok {
		var l, r []cgt.Value
		for _, id := range w.members[left] {
			l = append(l, w.vals[id])
		}
		// The class of right options is that of their negatives, see algebra.
		for _, id := range w.members[right] {
			r = append(r, w.vals[id].Neg())
		}
		v, err := w.c.Combine(l, r)
		w.err = cmp.Or(w.err, err)
		id = w.intern(v)
		w.know(id)
		w.pairs[key] = id
	}
	return id
}

// plus returns the id of a value plus an integer.
func (w *worker) plus(id uint32, n int) uint32 {
	if n == 0 {
		return id
	}
	key := uint64(id)<<8 | uint64(uint8(int8(n)))
	s, ok := w.moved[key]
	if !ok {
		w.know(id)
		v, err := w.vals[id].AddInt(int64(n))
		w.err = cmp.Or(w.err, err)
		s = w.intern(v)
		w.know(s)
		w.moved[key] = s
	}
	return s
}
