package dfpn

import (
	"errors"
	"fmt"
	"math/bits"
	"sync"
	"sync/atomic"
	"unsafe"

	"amazonsfarm/shared/amazons"
	"amazonsfarm/shared/memory"
)

// ErrTableSize is wrapped by errors about the size asked of a table.
var ErrTableSize = errors.New("not a table size")

// Table is the transposition table: 16-byte entries outside the Go heap, four to a cache line. Any
// number of threads share it without locks.
//
// An entry is two words. The second word holds the numbers. The first holds the hash of the
// position exclusive-or the second word. So an entry torn by two writers matches no hash (Hyatt's
// scheme). The table forgets: a full line drops the entry with the fewest nodes. The table is never
// part of a proof; extraction of a certificate checks every entry that it uses.
//
// A table starts with few lines in use, so that a small search stays in the cache. Between two
// stretches of a search the table doubles its lines, until all are in use.
type Table struct {
	memory []byte
	base   unsafe.Pointer // of [4]slot
	lines  uint64         // lines in use
	most   uint64         // lines there are: lines times a power of two
	used   atomic.Int64   // slots in use

	// Held for reading by whoever uses the table and for writing while it grows.
	mu sync.RWMutex
}

type slot struct{ check, data uint64 }

const (
	slotBytes = 16
	lineSlots = 4
	lineBytes = slotBytes * lineSlots

	// MinTableBytes is the smallest table.
	MinTableBytes = 64 << 10
)

// NewTable reserves a table of at most size bytes. size is from MinTableBytes to the machine's
// memory. Close releases it. Errors wrap ErrTableSize.
func NewTable(size int64) (*Table, error) {
	if size < MinTableBytes {
		return nil, fmt.Errorf("%w: %d: the table needs at least %d bytes (64KiB)", ErrTableSize, size, MinTableBytes)
	}
	if total := memory.Total(); total > 0 && size > total {
		return nil, fmt.Errorf("%w: %d bytes: this machine has %d bytes of memory; ask for less", ErrTableSize, size,
			total)
	}
	lines, doublings := uint64(size)/lineBytes, 0
	for lines >= 2*firstLines {
		lines, doublings = lines/2, doublings+1
	}
	most := lines << doublings
	reserved, err := memory.Reserve(int(most * lineBytes))
	if err != nil {
		return nil, fmt.Errorf("%w: %d bytes: reserve memory: %v", ErrTableSize, size, err)
	}
	return &Table{memory: reserved, base: unsafe.Pointer(unsafe.SliceData(reserved)), lines: lines, most: most}, nil
}

// firstLines is about the number of lines that a table starts with: 2 MiB, the size of many
// second-level caches.
const firstLines = 1 << 15

// Close releases the memory. No one may use the table any more.
func (t *Table) Close() error {
	t.mu.Lock()
	defer t.mu.Unlock()
	reserved := t.memory
	t.memory, t.base, t.lines, t.most = nil, nil, 0, 0
	return memory.Release(reserved)
}

// Clear empties the table. It waits until no search runs.
func (t *Table) Clear() {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.used.Load() == 0 {
		return
	}
	clear(t.memory[:t.lines*lineBytes])
	for t.lines >= 2*firstLines {
		t.lines /= 2
	}
	t.used.Store(0)
}

// Bytes returns the size of the table in bytes.
func (t *Table) Bytes() int64 { return int64(len(t.memory)) }

// Fill returns the share of entries in use, 0 to 1.
func (t *Table) Fill() float64 {
	return float64(t.used.Load()) / float64(t.Bytes()/slotBytes)
}

// crowded reports whether the lines in use are half full and there are more.
func (t *Table) crowded() bool {
	return t.lines < t.most && uint64(t.used.Load()) >= t.lines*lineSlots/2
}

// grow doubles the lines in use. The line of a hash is the integer part of hash/2^64 times the
// number of lines, so the entries of line i move to lines 2i and 2i+1. grow starts with the last
// line, so both are free.
func (t *Table) grow() {
	t.mu.Lock()
	defer t.mu.Unlock()
	if !t.crowded() {
		return
	}
	old := t.lines
	t.lines *= 2
	for i := old; i > 0; i-- {
		var line [lineSlots]slot
		for j := range line {
			s := t.slot(i-1, uintptr(j))
			line[j], *s = *s, slot{}
		}
		var next [2]uintptr
		for _, s := range line {
			if s.data == 0 {
				continue
			}
			to := t.lineOf(s.check ^ s.data)
			if to/2 != i-1 { // torn by two writers
				t.used.Add(-1)
				continue
			}
			*t.slot(to, next[to&1]) = s
			next[to&1]++
		}
	}
}

// slot returns entry j of a line.
func (t *Table) slot(line uint64, j uintptr) *slot {
	return (*slot)(unsafe.Add(t.base, uintptr(line)*lineBytes+j*slotBytes))
}

// lineOf returns the line in which the entry of a hash lies.
func (t *Table) lineOf(hash uint64) uint64 {
	line, _ := bits.Mul64(hash, t.lines)
	return line
}

// home returns where the line of a hash begins.
func (t *Table) home(hash uint64) unsafe.Pointer { return unsafe.Pointer(t.slot(t.lineOf(hash), 0)) }

// pack returns the data word of an entry: phi in bits 0 to 23, delta in 24 to 47, nodes in 48 to 63.
// The word is never 0. With phi 0 (won) delta can only be Infinity, so its bits hold the winning move
// of the canonical state: bit 23 set, then three times six bits; all bits set if the move is unknown.
func pack(phi, delta uint32, nodes uint64) uint64 {
	return uint64(phi) | uint64(delta)<<24 | uint64(packNodes(nodes))<<48
}

// unpack undoes pack, but for the precision of nodes.
func unpack(data uint64) (phi, delta uint32, nodes uint64) {
	phi, delta, nodes = uint32(data)&Infinity, uint32(data>>24)&Infinity, unpackNodes(uint16(data>>48))
	if phi == 0 {
		delta = Infinity
	}
	return phi, delta, nodes
}

const moveFlag = 1 << 23

// packWon is pack for a won state with its winning move.
func packWon(m amazons.Move, nodes uint64) uint64 {
	return pack(0, moveFlag|uint32(m.From)<<12|uint32(m.To)<<6|uint32(m.Arrow), nodes)
}

// unpackMove returns the winning move of a won entry, false where it is unknown.
func unpackMove(data uint64) (amazons.Move, bool) {
	x := uint32(data>>24) & Infinity
	if data&Infinity != 0 || x&moveFlag == 0 || x == Infinity {
		return amazons.Move{}, false
	}
	return amazons.Move{From: amazons.Square(x >> 12 & 63), To: amazons.Square(x >> 6 & 63),
		Arrow: amazons.Square(x & 63)}, true
}

// solvedData reports whether an entry is won or lost.
func solvedData(data uint64) bool { return data&Infinity == 0 || data>>24&Infinity == 0 }

// packNodes keeps a number of nodes to eleven bits of precision: a floating point number with an
// exponent of 5 bits. So comparing packed numbers compares nodes. The largest is about 2^42.
func packNodes(w uint64) uint16 {
	if w < 1<<11 {
		return uint16(w)
	}
	e := bits.Len64(w) - 12 + 1
	if e > 31 {
		return 1<<16 - 1
	}
	return uint16(e)<<11 | uint16(w>>(e-1))&(1<<11-1)
}

func unpackNodes(p uint16) uint64 {
	e := p >> 11
	if e == 0 {
		return uint64(p)
	}
	return (1<<11 | uint64(p&(1<<11-1))) << (e - 1)
}

// get returns the data word of hash, 0 where there is none.
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

// known returns the numbers of hash and the nodes behind them, {1, 1} and 0 where there are none.
func (t *Table) known(hash uint64) (numbers, uint64) {
	data := t.get(hash)
	if data == 0 {
		return numbers{1, 1}, 0
	}
	phi, delta, nodes := unpack(data)
	return numbers{phi, delta}, nodes
}

// put stores the data word of hash: in the entry of the same hash, else in a free entry, else in
// place of the entry with the fewest nodes. A solved position stays solved.
func (t *Table) put(hash, data uint64) {
	line := t.lineOf(hash)
	var victim *slot
	least := uint64(1<<64 - 1)
	for j := range uintptr(lineSlots) {
		s := t.slot(line, j)
		old := atomic.LoadUint64(&s.data)
		if atomic.LoadUint64(&s.check)^old == hash {
			if old != 0 && solvedData(old) {
				if _, has := unpackMove(old); has || !solvedData(data) {
					return
				}
			}
			victim = s
			break
		}
		if old>>48 < least {
			least, victim = old>>48, s
		}
	}
	atomic.StoreUint64(&victim.check, hash^data)
	if atomic.SwapUint64(&victim.data, data) == 0 { // of two writers to a free entry, one counts it
		t.used.Add(1)
	}
}
