package checker

import (
	"math/bits"
	"math/rand/v2"
)

// table is the set of the positions of one layer: an open-addressing hash table with linear probing
// that holds the whole positions, so that a collision of hashes can never be a wrong fact. It never
// grows. A slot is free where a is 0: a position without own queens and without burnt squares is
// never an entry, as its side to move has no move.
type table struct {
	slots []position
	// keys are drawn for each table. With fixed ones a certificate could have entries that all begin at one slot,
	// and its check would take hours.
	keys position
}

const slotBytes = 16

// tableSlots is the number of slots for n entries that have so many bytes of raw data: two thirds get
// filled. Where that would be more than three times the raw data, more of them do, up to eight ninths.
// At least one stays free.
func tableSlots(n, raw int64) int64 { return max(n+n/8, min(n+n/2, 3*raw/slotBytes)) + 1 }

// newTable makes an empty table. Its size is final: a table that grew would need both sizes at
// once, and the limit on memory would have to allow for that.
func newTable(slots int64) *table {
	return &table{make([]position, slots), position{rand.Uint64(), rand.Uint64()}}
}

// home is the slot at which the search for p starts.
func (t *table) home(p position) uint64 {
	hi, lo := bits.Mul64(p.a^t.keys.a, p.b^t.keys.b)
	slot, _ := bits.Mul64((hi^lo)*0xd6e8feb86659fd93, uint64(len(t.slots)))
	return slot
}

// add puts p into the set. No more positions may be added than the table was made for.
func (t *table) add(p position) {
	// A free slot has the word 0, so this position could not be told from one. It is never looked
	// for either.
	if p.a == 0 {
		return
	}
	for i := t.home(p); ; {
		if t.slots[i].a == 0 {
			t.slots[i] = p
			return
		}
		if i++; i == uint64(len(t.slots)) {
			i = 0
		}
	}
}

// has reports whether p is in the set; nothing is in a nil table.
func (t *table) has(p position) bool {
	return t != nil && p.a != 0 && t.hasFrom(t.home(p), p)
}

// hasFrom is has with the home slot of p known, for a p that can be in a table that is not nil.
func (t *table) hasFrom(i uint64, p position) bool {
	for {
		switch s := t.slots[i]; {
		case s == p:
			return true
		case s.a == 0:
			return false
		}
		if i++; i == uint64(len(t.slots)) {
			i = 0
		}
	}
}

// touch reads the home slots of some positions and returns them. The reads do not wait for each
// other, so that the memory of a large table answers them together; one by one, each search would
// wait for its own.
func (t *table) touch(replies []reply) (sum uint64) {
	if t == nil {
		return 0
	}
	for i := range replies {
		replies[i].home = t.home(replies[i].after)
		sum += t.slots[replies[i].home].a
	}
	return sum
}
