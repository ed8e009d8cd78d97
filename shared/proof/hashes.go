package proof

import (
	"fmt"
	"math/bits"
	"unsafe"

	"amazonsfarm/shared/memory"
)

// hashes is a set of numbers other than 0. It is cut into shards that grow one after the other, so
// that growing takes the memory of one shard more and no long time.
type hashes struct {
	shards [256]hashShard
	n      int
}

// hashShard is an open-addressing hash table, at most 3/4 full.
type hashShard struct {
	slots  []uint64
	mapped []byte // what slots lie in; nil: in the Go heap
	n      int
}

// fromHeap is the size in bytes of the largest shards that lie in the Go heap: maps of files and
// memory are counted by the system, and most ledgers of tests are small.
const fromHeap = 64 << 10

// of returns the shard of x.
func (h *hashes) of(x uint64) *hashShard { return &h.shards[x%uint64(len(h.shards))] }

func (h *hashes) has(x uint64) bool {
	s := h.of(x)
	return s.n > 0 && s.slots[s.at(x)] == x
}

// add adds x. The error wraps ErrLedgerFull.
func (h *hashes) add(x uint64) error {
	s := h.of(x)
	if (s.n+1)*4 > len(s.slots)*3 {
		if err := s.grow(); err != nil {
			return err
		}
	}
	if i := s.at(x); s.slots[i] == 0 {
		s.slots[i] = x
		s.n++
		h.n++
	}
	return nil
}

// release gives all memory back. Nobody may use the set any more.
func (h *hashes) release() {
	for i := range h.shards {
		_ = memory.Release(h.shards[i].mapped) // it is the program's own: this cannot fail
	}
}

// at returns the place of x, or the free one where it would go.
func (s *hashShard) at(x uint64) int {
	i, _ := bits.Mul64(x, uint64(len(s.slots)))
	for s.slots[i] != 0 && s.slots[i] != x {
		if i++; i == uint64(len(s.slots)) {
			i = 0
		}
	}
	return int(i)
}

// grow makes room for half as many slots again.
func (s *hashShard) grow() error {
	old := *s
	size := max(16, len(old.slots)+len(old.slots)/2)
	if 8*size <= fromHeap {
		s.slots = make([]uint64, size)
	} else {
		mapped, err := memory.Reserve(8 * size)
		if err != nil {
			return fmt.Errorf("%w: reserve %d bytes: %v", ErrLedgerFull, 8*size, err)
		}
		s.mapped, s.slots = mapped, unsafe.Slice((*uint64)(unsafe.Pointer(unsafe.SliceData(mapped))), size)
	}
	for _, y := range old.slots {
		if y != 0 {
			s.slots[s.at(y)] = y
		}
	}
	return memory.Release(old.mapped)
}
