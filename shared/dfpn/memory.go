package dfpn

import (
	"cmp"
	"container/heap"
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
	"slices"

	"amazonsfarm/shared/amazons"
)

// ErrMemory is wrapped by errors about a table's memory that cannot be taken in.
var ErrMemory = errors.New("not a search memory")

// A memory is what a table knows of a position and of those below it, as far as there is most work
// behind them, as bytes that another table takes in: so a search goes on elsewhere, or after a
// crash, about where it was. It is not evidence: a table is not trusted wherever its content comes
// from.
//
// Layout, little endian: "AMZMEM1\n", width, height, number of entries n (uvarint); then n entries
// by increasing hash: the hash minus that of the entry before (uvarint), phi, delta (uvarint each,
// as they stand in the data word), work (2 bytes, packed); then the CRC-32C of all before (4). The
// version in the first word also names the hash function.
const memoryMagic = "AMZMEM1\n"

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

// Remember returns a memory of st: st itself, then always that known child of what was taken before
// which has the most work, until there are the given number of entries, each about 12 bytes long,
// or no more with the work of two nodes. Taking one costs about two thirds of searching one. A
// search may run; it is then a picture of no exact moment.
//
// Going through the whole table for the entries with the most work instead would mostly find those
// of other positions, searched long ago.
func (s *Searcher) Remember(st amazons.State, entries int) []byte {
	b, t := s.o.Board, s.o.Table
	t.mu.RLock()
	defer t.mu.RUnlock()
	var kept []slot
	var open branches
	met := make(map[uint64]bool)
	meet := func(st amazons.State) {
		hash := st.Hash(b)
		data := t.get(hash)
		if data>>48 >= leastRemembered && !met[hash] {
			met[hash] = true
			heap.Push(&open, branch{st, slot{hash, data}})
		}
	}
	meet(st)
	var moves []amazons.Move
	for len(open) > 0 && len(kept) < entries {
		next := heap.Pop(&open).(branch)
		kept = append(kept, next.slot)
		if phi, delta, _ := unpack(next.data); (numbers{phi, delta}).solved() {
			continue // what is below it is not searched any more
		}
		moves = next.state.Moves(moves[:0])
		for _, m := range moves {
			meet(next.state.After(m))
		}
	}
	return encodeMemory(b, kept)
}

// leastRemembered is the packed work from which an entry is remembered.
const leastRemembered = 2

// branch is a position that a memory may go on with.
type branch struct {
	state amazons.State
	slot  // with the hash in place of the check word
}

// branches is a heap of positions, most work first, ties by hash.
type branches []branch

func (h branches) Len() int { return len(h) }

func (h branches) Less(i, j int) bool {
	if x, y := h[i].data>>48, h[j].data>>48; x != y {
		return x > y
	}
	return h[i].check < h[j].check
}

func (h branches) Swap(i, j int) { h[i], h[j] = h[j], h[i] }

func (h *branches) Push(x any) { *h = append(*h, x.(branch)) }

func (h *branches) Pop() any {
	last := len(*h) - 1
	x := (*h)[last]
	*h = (*h)[:last]
	return x
}

// encodeMemory returns the memory of some entries, with the hash in place of the check word, which
// it sorts.
func encodeMemory(b amazons.Board, kept []slot) []byte {
	slices.SortFunc(kept, func(x, y slot) int { return cmp.Compare(x.check, y.check) })
	out := make([]byte, 0, 16+14*len(kept))
	out = append(out, memoryMagic...)
	out = append(out, b.Width, b.Height)
	out = binary.AppendUvarint(out, uint64(len(kept)))
	last := uint64(0)
	for _, s := range kept {
		out = binary.AppendUvarint(out, s.check-last)
		last = s.check
		out = binary.AppendUvarint(out, s.data&Infinity)
		out = binary.AppendUvarint(out, s.data>>24&Infinity)
		out = binary.LittleEndian.AppendUint16(out, uint16(s.data>>48))
	}
	return binary.LittleEndian.AppendUint32(out, crc32.Checksum(out, castagnoli))
}

// Recall takes a memory in. Errors wrap ErrMemory, and nothing was taken then. It waits while a
// search runs and returns the number of entries.
func (t *Table) Recall(b amazons.Board, memory []byte) (int, error) {
	all, err := parseMemory(b, memory)
	if err != nil {
		return 0, err
	}
	for _, s := range all {
		t.mu.RLock()
		t.put(s.check, s.data)
		crowded := t.crowded()
		t.mu.RUnlock()
		if crowded {
			t.grow()
		}
	}
	return len(all), nil
}

// parseMemory returns the entries of a memory, with the hash in place of the check word.
func parseMemory(b amazons.Board, memory []byte) ([]slot, error) {
	refuse := func(why string) ([]slot, error) { return nil, fmt.Errorf("%w: %s", ErrMemory, why) }
	body := len(memory) - 4
	switch {
	case body < len(memoryMagic)+3 || string(memory[:len(memoryMagic)]) != memoryMagic:
		return refuse("it does not begin as one of this version does")
	case crc32.Checksum(memory[:body], castagnoli) != binary.LittleEndian.Uint32(memory[body:]):
		return refuse("its checksum is wrong")
	}
	rest := memory[len(memoryMagic):body]
	if of := (amazons.Board{Width: rest[0], Height: rest[1]}); of != b {
		return refuse(fmt.Sprintf("it is of a %v board, this is a %v board", of, b))
	}
	rest = rest[2:]
	ok := true
	next := func() uint64 {
		x, n := binary.Uvarint(rest)
		if n <= 0 {
			ok = false
			return 0
		}
		rest = rest[n:]
		return x
	}
	n := next()
	if n > uint64(len(rest)/5) {
		return refuse("it is shorter than it says")
	}
	all := make([]slot, 0, n)
	hash := uint64(0)
	for range n {
		hash += next()
		phi, delta := next(), next()
		if !ok || len(rest) < 2 || phi > Infinity || delta > Infinity || phi == 0 && delta == 0 {
			return refuse("an entry is damaged")
		}
		work := binary.LittleEndian.Uint16(rest)
		rest = rest[2:]
		all = append(all, slot{hash, phi | delta<<24 | uint64(work)<<48})
	}
	if len(rest) != 0 {
		return refuse("it is longer than it says")
	}
	return all, nil
}
