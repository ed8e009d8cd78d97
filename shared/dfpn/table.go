package dfpn

import (
	"errors"
	"fmt"
	"math/bits"
	"sync/atomic"
	"unsafe"
)

// ErrTableSize is wrapped by errors about the size asked of a table.
var ErrTableSize = errors.New("not a table size")

// Table is the transposition table: a fixed number of 16-byte entries outside
// the Go heap, four to a cache line, shared by any number of threads without locks.
//
// An entry is two words. The second holds the numbers, the first the hash of
// the position exclusive-or the second, so that an entry torn by two
// writers matches no hash (Hyatt's scheme). The table forgets: a full line drops the
// entry with the least work. It is never part of a proof; what it claims is
// checked when a certificate is extracted.
type Table struct {
	memory []byte
	lines  unsafe.Pointer // of [4]slot
	n      uint64         // number of lines
}

type slot struct{ check, data uint64 }

const (
	slotBytes = 16
	lineSlots = 4
	lineBytes = slotBytes * lineSlots

	// MinTableBytes is the smallest table.
	MinTableBytes = 64 << 10
)

// NewTable reserves a table of at most the given number of bytes, from
// MinTableBytes up to the machine's memory. Errors wrap ErrTableSize.
func NewTable(size int64) (*Table, error) {
	if size < MinTableBytes {
		return nil, fmt.Errorf("%w: %d bytes: the table needs at least %d (64KiB)", ErrTableSize, size, MinTableBytes)
	}
	if total := machineMemory(); total > 0 && size > total {
		return nil, fmt.Errorf("%w: %d bytes: this machine has %d bytes of memory; ask for less", ErrTableSize, size, total)
	}
	n := uint64(size) / lineBytes
	memory, err := reserve(int(n * lineBytes))
	if err != nil {
		return nil, fmt.Errorf("%w: %d bytes: reserve memory: %v", ErrTableSize, size, err)
	}
	return &Table{memory: memory, lines: unsafe.Pointer(unsafe.SliceData(memory)), n: n}, nil
}

// Close gives the memory back. Nobody may use the table any more.
func (t *Table) Close() error {
	memory := t.memory
	t.memory, t.lines, t.n = nil, nil, 0
	return release(memory)
}

// Clear forgets everything. Nobody may be searching.
func (t *Table) Clear() { clear(t.memory) }

// Bytes returns the size of the table in bytes.
func (t *Table) Bytes() int64 { return int64(len(t.memory)) }

// Fill returns the share of entries in use, 0 to 1, estimated from the first 4,096 lines.
func (t *Table) Fill() float64 {
	lines := min(t.n, 4096)
	used := 0
	for i := range lines {
		for j := range uintptr(lineSlots) {
			if atomic.LoadUint64(&t.slot(i, j).data) != 0 {
				used++
			}
		}
	}
	return float64(used) / float64(lines*lineSlots)
}

func (t *Table) slot(line uint64, j uintptr) *slot {
	return (*slot)(unsafe.Add(t.lines, uintptr(line)*lineBytes+j*slotBytes))
}

func (t *Table) lineOf(hash uint64) uint64 {
	line, _ := bits.Mul64(hash, t.n)
	return line
}

// The data word of an entry: phi in bits 0..23, delta in 24..47, work in 48..63. It is never 0.
func pack(phi, delta uint32, work uint64) uint64 {
	return uint64(phi) | uint64(delta)<<24 | uint64(packWork(work))<<48
}

func unpack(data uint64) (phi, delta uint32, work uint64) {
	return uint32(data) & Infinity, uint32(data>>24) & Infinity, unpackWork(uint16(data >> 48))
}

// Work is kept to eleven bits of precision: a floating point number with a
// 5-bit exponent, so that comparisons of the packed form compare work. The
// largest value is about 2^42 nodes.
func packWork(w uint64) uint16 {
	if w < 1<<11 {
		return uint16(w)
	}
	e := bits.Len64(w) - 12 + 1
	if e > 31 {
		return 1<<16 - 1
	}
	return uint16(e)<<11 | uint16(w>>(e-1))&(1<<11-1)
}

func unpackWork(p uint16) uint64 {
	e := p >> 11
	if e == 0 {
		return uint64(p)
	}
	return (1<<11 | uint64(p&(1<<11-1))) << (e - 1)
}

// get returns the data word stored for hash; 0 when there is none.
func (t *Table) get(hash uint64) uint64 {
	line := t.lineOf(hash)
	for j := range uintptr(lineSlots) {
		s := t.slot(line, j)
		data := atomic.LoadUint64(&s.data)
		if atomic.LoadUint64(&s.check)^data == hash && data != 0 {
			return data
		}
	}
	return 0
}

// put stores numbers for hash: over the old ones, or in a free entry, or over
// the entry of the line with the least work. What is solved stays solved.
func (t *Table) put(hash, data uint64) {
	line := t.lineOf(hash)
	var victim *slot
	least := uint64(1<<64 - 1)
	for j := range uintptr(lineSlots) {
		s := t.slot(line, j)
		old := atomic.LoadUint64(&s.data)
		if atomic.LoadUint64(&s.check)^old == hash {
			if data>>24&Infinity != 0 && data&Infinity != 0 && old != 0 && (old>>24&Infinity == 0 || old&Infinity == 0) {
				return
			}
			victim = s
			break
		}
		if old>>48 < least {
			least, victim = old>>48, s
		}
	}
	atomic.StoreUint64(&victim.check, hash^data)
	atomic.StoreUint64(&victim.data, data)
}
