package dfpn

import (
	"errors"
	"math/rand/v2"
	"sync"
	"testing"
)

func TestTableSizes(t *testing.T) {
	for _, size := range []int64{-1, 0, 1, MinTableBytes - 1, 1 << 50} {
		if _, err := NewTable(size); !errors.Is(err, ErrTableSize) {
			t.Errorf("%d bytes: %v, want ErrTableSize", size, err)
		}
	}
	for _, size := range []int64{MinTableBytes, 1 << 20, 3<<20 + 12345, 100 << 20} {
		table := newTable(t, size)
		if got := table.Bytes(); got > size || got < size-size/50-lineBytes {
			t.Errorf("a table of %d bytes has %d", size, got)
		}
	}
}

func TestWorkKeepsItsOrder(t *testing.T) {
	last := uint16(0)
	for w := uint64(0); w < 1<<40; w += 1 + w/3000 {
		p := packNodes(w)
		if p < last {
			t.Fatalf("packNodes(%d) = %d is below its predecessor %d", w, p, last)
		}
		last = p
		back := unpackNodes(p)
		if back > w || w-back > w/1024 {
			t.Fatalf("work %d came back as %d", w, back)
		}
	}
	if p := packNodes(1<<64 - 1); p != 1<<16-1 {
		t.Errorf("the largest work packs to %d", p)
	}
}

// TestTableKeepsWhatFits fills a table well below its size and finds everything, before and after
// growing.
func TestTableKeepsWhatFits(t *testing.T) {
	table := newTable(t, 16<<20)
	r := rand.New(rand.NewPCG(1, 2))
	type entry struct{ hash, data uint64 }
	var all []entry
	lines := table.lines
	for len(all) < 1<<18 { // a quarter of the slots
		e := entry{r.Uint64(), pack(1+r.Uint32N(1000), 1+r.Uint32N(1000), uint64(1+r.IntN(1000)))}
		table.put(e.hash, e.data)
		all = append(all, e)
		if table.crowded() {
			table.grow()
		}
	}
	if table.lines == lines {
		t.Error("the table did not grow")
	}
	missing := 0
	for _, e := range all {
		switch got := table.get(e.hash); got {
		case e.data:
		case 0:
			missing++
		default:
			t.Fatalf("%x holds %x, want %x", e.hash, got, e.data)
		}
	}
	// Lines hold four entries. Just before it grows, at half load, one line in twenty has been
	// asked for more, and the table has grown twice.
	if missing > len(all)/12 {
		t.Errorf("%d of %d entries are lost", missing, len(all))
	}
	if table.get(r.Uint64()) != 0 {
		t.Error("found what was never stored")
	}
	table.Clear()
	for _, e := range all {
		if table.get(e.hash) != 0 {
			t.Fatal("found an entry after Clear")
		}
	}
	if table.Fill() != 0 || table.lines != lines {
		t.Errorf("after Clear: fill %v, %d lines, want 0 and %d", table.Fill(), table.lines, lines)
	}
}

func TestTableReplacesTheLeastWork(t *testing.T) {
	table := newTable(t, MinTableBytes)
	const line = 1 << 63 // all in the middle line
	for i := range uint64(4) {
		table.put(line+i, pack(1, 1, 100+i))
	}
	table.put(line+9, pack(2, 2, 50))
	if table.get(line) != 0 || table.get(line+9) == 0 || table.get(line+3) == 0 {
		t.Error("the entry with the least work should have gone")
	}
}

// A worker was once quarantined because it reported a table as 1.000008 full.
func TestTableCountsEachEntryOnce(t *testing.T) {
	table := newTable(t, MinTableBytes)
	for round := range uint64(200) {
		var threads sync.WaitGroup
		for thread := range uint64(4) {
			threads.Go(func() {
				r := rand.New(rand.NewPCG(round, thread/2)) // two threads each write the same entries
				for range 2 * MinTableBytes / slotBytes {
					table.put(r.Uint64(), pack(uint32(1+thread), 1, 1))
				}
			})
		}
		threads.Wait()
		inUse := 0
		for line := range table.lines {
			for j := range uintptr(lineSlots) {
				if table.slot(line, j).data != 0 {
					inUse++
				}
			}
		}
		if want := float64(inUse*slotBytes) / MinTableBytes; table.Fill() != want {
			t.Fatalf("round %d: Fill = %v with %d entries in use, want %v", round, table.Fill(), inUse, want)
		}
		table.Clear()
	}
}

func TestTableKeepsSolved(t *testing.T) {
	table := newTable(t, MinTableBytes)
	table.put(5, pack(0, Infinity, 10))
	table.put(5, pack(3, 4, 20))
	if phi, delta, _ := unpack(table.get(5)); phi != 0 || delta != Infinity {
		t.Errorf("a solved entry became %d/%d", phi, delta)
	}
	table.put(6, pack(3, 4, 20))
	table.put(6, pack(Infinity, 0, 30))
	if _, delta, _ := unpack(table.get(6)); delta != 0 {
		t.Error("a solution was not stored")
	}
}

// A torn entry, one word from each of two writers, must not be found under either hash.
func TestTornEntryIsNotFound(t *testing.T) {
	table := newTable(t, MinTableBytes)
	table.put(1, pack(3, 4, 5))
	s := table.slot(table.lineOf(1), 0)
	s.data = pack(6, 7, 8)
	if table.get(1) != 0 {
		t.Error("a torn entry was believed")
	}
}
