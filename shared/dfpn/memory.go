package dfpn

import (
	"cmp"
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
	"slices"

	"amazonsfarm/shared/amazons"
)

// ErrMemory is wrapped by errors about a table's memory that cannot be taken in.
var ErrMemory = errors.New("not a search memory")

// A memory is what a table knows, those entries with the most work behind them, as
// bytes that another table takes in: so a search goes on elsewhere, or after a
// crash, about where it was. It is not evidence: a table is not trusted wherever its
// content comes from.
//
// Layout, little endian: "AMZMEM1\n", width, height, number of entries n (uvarint); then n
// entries by increasing hash: the hash minus that of the entry before (uvarint),
// phi, delta (uvarint each, as they stand in the data word), work (2 bytes, packed); then the CRC-32C of all before (4).
// The version in the first word also names the hash function.
const memoryMagic = "AMZMEM1\n"

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

// Remember returns a memory of at most the given number of entries, each about 12
// bytes long. Entries with less work than two nodes are left out.
// The table may be in use; it is then a picture of no exact moment.
func (t *Table) Remember(b amazons.Board, entries int) []byte {
	t.mu.RLock()
	defer t.mu.RUnlock()
	// Most entries have less work than those that were met already, and are passed over at a glance. Of equals the first are kept.
	kept, least := make([]slot, 0, 2*entries), uint64(2)
	cut := func() {
		slices.SortStableFunc(kept, func(x, y slot) int { return cmp.Compare(y.data>>48, x.data>>48) })
		if len(kept) > entries {
			kept = kept[:entries]
			least = kept[entries-1].data>>48 + 1
		}
	}
	t.each(func(s slot) {
		if s.data>>48 < least || entries == 0 {
			return
		}
		s.check ^= s.data
		if kept = append(kept, s); len(kept) == 2*entries {
			cut()
		}
	})
	cut()
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

// each calls f with a copy of every slot in use that is not being written.
func (t *Table) each(f func(slot)) {
	for i := range t.lines {
		for j := range uintptr(lineSlots) {
			if s := t.slot(i, j).load(); s.data != 0 {
				f(s)
			}
		}
	}
}

// Recall takes a memory in. Errors wrap ErrMemory, and nothing was taken then. It waits while a search runs
// and returns the number of entries.
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
