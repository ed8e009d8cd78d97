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

// ErrHints is wrapped by errors about hints that a table refuses.
var ErrHints = errors.New("not search hints")

// Hints are entries of a table as bytes: a position and, below it, the positions with the most
// nodes behind them. With them another table continues a search about where it was, on another
// machine or after a crash. Hints are not evidence: nothing trusts a table, wherever its content
// comes from.
//
// Layout, little endian: "AMZMEM1\n", width, height, number of entries n (uvarint); then n entries
// by increasing hash: the hash minus the hash of the entry before (uvarint), phi, delta (uvarint
// each, as they stand in the data word), nodes (2 bytes, packed); then the CRC-32C of all bytes
// before (4). The version in the first word also names the hash function.
const hintsMagic = "AMZMEM1\n"

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

// leastHinted is the packed number of nodes from which an entry is worth sending.
const leastHinted = 2

// Hints returns hints of st with at most the given number of entries, each about 12 bytes long. The
// first entry is st. Each next one is the child of an entry, known to the table, with the most
// nodes behind it. Writing an entry takes about two thirds of the time of searching a node. A
// search may run meanwhile; the entries are then of no exact moment.
//
// The entries of the whole table with the most nodes would not do: most of them belong to other
// positions, searched long ago.
func (s *Searcher) Hints(st amazons.State, entries int) []byte {
	b, t := s.o.Board, s.o.Table
	t.mu.RLock()
	defer t.mu.RUnlock()
	var kept []slot
	var open branches
	met := make(map[uint64]bool)
	meet := func(st amazons.State) {
		hash := st.Hash(b)
		data := t.get(hash)
		if data>>48 >= leastHinted && !met[hash] {
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
			continue // no search goes below a solved position again
		}
		moves = next.state.Moves(moves[:0])
		for _, m := range moves {
			meet(next.state.After(m))
		}
	}
	return encodeHints(b, kept)
}

// branch is a position that hints may go on with.
type branch struct {
	state amazons.State
	slot  // with the hash in place of the check word
}

// branches is a heap of positions: most nodes first, ties by hash.
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

// encodeHints sorts entries, which have the hash in place of the check word, and writes them.
func encodeHints(b amazons.Board, kept []slot) []byte {
	slices.SortFunc(kept, func(x, y slot) int { return cmp.Compare(x.check, y.check) })
	out := make([]byte, 0, 16+14*len(kept))
	out = append(out, hintsMagic...)
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

// doubted is the larger of the two numbers of a position that hints call solved, where hints are doubted.
const doubted = 1 << 20

// AddHints puts the entries of hints into the table and returns their number. With doubt, entries that are
// solved only say which outcome is likely. It waits while a search runs. Errors wrap ErrHints; the table is
// then unchanged.
func (t *Table) AddHints(b amazons.Board, hints []byte, doubt bool) (int, error) {
	all, err := parseHints(b, hints)
	if err != nil {
		return 0, err
	}
	for _, s := range all {
		switch phi, delta, nodes := unpack(s.data); {
		case !solvedData(s.data): // with Infinity no search would go on with it
			s.data = pack(min(phi, largestUnsolved), min(delta, largestUnsolved), nodes)
		case doubt:
			s.data = pack(min(max(phi, 1), doubted), min(max(delta, 1), doubted), nodes)
		}
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

// parseHints returns the entries of hints, with the hash in place of the check word.
func parseHints(b amazons.Board, hints []byte) ([]slot, error) {
	refuse := func(why string) ([]slot, error) { return nil, fmt.Errorf("%w: %s", ErrHints, why) }
	body := len(hints) - 4
	switch {
	case body < len(hintsMagic)+3 || string(hints[:len(hintsMagic)]) != hintsMagic:
		return refuse("the first bytes are not those of this version")
	case crc32.Checksum(hints[:body], castagnoli) != binary.LittleEndian.Uint32(hints[body:]):
		return refuse("the checksum is wrong")
	}
	rest := hints[len(hintsMagic):body]
	if of := (amazons.Board{Width: rest[0], Height: rest[1]}); of != b {
		return refuse(fmt.Sprintf("they are of a %v board, this is a %v board", of, b))
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
		return refuse("they are shorter than they say")
	}
	all := make([]slot, 0, n)
	hash := uint64(0)
	for range n {
		hash += next()
		phi, delta := next(), next()
		if !ok || len(rest) < 2 || phi > Infinity || delta > Infinity || phi == 0 && delta == 0 {
			return refuse("an entry is damaged")
		}
		nodes := binary.LittleEndian.Uint16(rest)
		rest = rest[2:]
		all = append(all, slot{hash, phi | delta<<24 | uint64(nodes)<<48})
	}
	if len(rest) != 0 {
		return refuse("they are longer than they say")
	}
	return all, nil
}
