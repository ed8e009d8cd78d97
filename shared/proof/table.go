package proof

import (
	"math/bits"
	"sync/atomic"

	"amazonsfarm/shared/amazons"
)

// slot is one place of a table: 24 bytes.
type slot struct {
	key  amazons.Key
	move amazons.Move
}

// table is an open-addressing hash table with linear probing. It holds whole keys: a collision of
// hashes is never a wrong fact. The key of an empty board marks a free slot; nobody wins there. At
// most 3/4 of the slots are in use, and tables grow by half, so that a slot in use costs 32 to 48
// bytes.
//
// Every table has its own hash function. With one for all, entries that are taken out of one table
// in the order of its slots and put into another, still smaller one would all go to the beginning
// of that, and take quadratic time.
type table struct {
	slots []slot
	n     int
	seed  uint64
}

var seeds atomic.Uint64

// home is where the search for k starts.
func (t *table) home(k amazons.Key) int {
	hi, lo := bits.Mul64(k.A^t.seed, k.B^0xd1342543de82ef95)
	i, _ := bits.Mul64((hi^lo^k.A)*0xa0761d6478bd642f, uint64(len(t.slots)))
	return int(i)
}

// index returns the number of the slot of k, -1 if there is none. The key of an empty board is in
// no table.
func (t *table) index(k amazons.Key) int {
	if t.n == 0 || k == (amazons.Key{}) {
		return -1
	}
	if i := t.seek(k); t.slots[i].key == k {
		return i
	}
	return -1
}

// seek returns the number of the slot of k, or of the free one where it would go. There must be a
// free slot.
func (t *table) seek(k amazons.Key) int {
	for i := t.home(k); ; {
		if s := &t.slots[i]; s.key == k || s.key == (amazons.Key{}) {
			return i
		}
		if i++; i == len(t.slots) {
			i = 0
		}
	}
}

// insert adds k with a move, unless k is there. k must not be the key of an empty board.
func (t *table) insert(k amazons.Key, m amazons.Move) {
	if len(t.slots) == 0 {
		t.resize(8)
	}
	s := &t.slots[t.seek(k)]
	if s.key == k {
		return
	}
	if (t.n+1)*4 > len(t.slots)*3 {
		t.resize(len(t.slots) + len(t.slots)/2)
		s = &t.slots[t.seek(k)]
	}
	*s = slot{k, m}
	t.n++
}

// reserve makes room for n slots in use, the present ones included.
func (t *table) reserve(n int) {
	if need := n + n/3 + 2; n > t.n && need > len(t.slots) {
		t.resize(max(need, len(t.slots)+len(t.slots)/2))
	}
}

// resize moves all slots in use to a table of n slots, n being at least so many and one more.
func (t *table) resize(n int) {
	if len(t.slots) == 0 {
		t.seed = seeds.Add(0x9e3779b97f4a7c15) // multiples of an odd number: all different
	}
	old := t.slots
	t.slots = make([]slot, n)
	for i := range old {
		if old[i].key != (amazons.Key{}) {
			t.slots[t.seek(old[i].key)] = old[i]
		}
	}
}
