package dfpn

import (
	"bytes"
	"encoding/binary"
	"errors"
	"hash/crc32"
	"testing"
	"time"

	"amazonsfarm/shared/amazons"
	"amazonsfarm/shared/eval"
	"amazonsfarm/shared/fuzzing"
)

// TestMemoryCarriesASearchOn cuts a search in two at different places, the second
// half in another table that got the first one's memory, and compares the work with a search that was not cut.
func TestMemoryCarriesASearchOn(t *testing.T) {
	p := parse(t, "4x5")
	whole := newSearcher(t, p.Board, newTable(t, 64<<20), 1).Search(t.Context(), p.State(), Limit{})
	for _, cut := range []uint64{whole.Nodes / 5, whole.Nodes / 2, whole.Nodes * 4 / 5} {
		first := newTable(t, 64<<20)
		newSearcher(t, p.Board, first, 1).Search(t.Context(), p.State(), Limit{Nodes: cut})
		memory := first.Remember(p.Board, 1<<16)
		second := newTable(t, 64<<20)
		n, err := second.Recall(p.Board, memory)
		if err != nil {
			t.Fatal(err)
		}
		r := newSearcher(t, p.Board, second, 1).Search(t.Context(), p.State(), Limit{})
		t.Logf("cut at %d nodes: %d entries, %d bytes; %d nodes more, %d without a cut", cut, n, len(memory), r.Nodes, whole.Nodes)
		if r.Verdict != eval.Lost {
			t.Fatalf("the second half says %v", r.Verdict)
		}
		// Half of what was spent before the cut may be lost with the small entries, or gained by another order.
		if cut+r.Nodes > whole.Nodes+cut/2+3_000 {
			t.Errorf("cut at %d nodes, %d more were needed; without a cut %d in all", cut, r.Nodes, whole.Nodes)
		}
	}
}

func TestMemoryKeepsTheMostWork(t *testing.T) {
	b := amazons.Board{Width: 5, Height: 5}
	table := newTable(t, 1<<20)
	for i := range uint64(1000) {
		table.put(i<<50|i, pack(3, 4, i))
	}
	again := newTable(t, 1<<20)
	if n, err := again.Recall(b, table.Remember(b, 100)); n != 100 || err != nil {
		t.Fatalf("%d entries, %v", n, err)
	}
	for i := range uint64(1000) {
		if has := again.get(i<<50|i) != 0; has != (i >= 900) {
			t.Fatalf("entry with work %d: %v", i, has)
		}
	}
	if x, y := table.Remember(b, 50), table.Remember(b, 50); !bytes.Equal(x, y) {
		t.Error("the same table gives different memories")
	}
	if n, err := again.Recall(b, newTable(t, 1<<20).Remember(b, 100)); n != 0 || err != nil {
		t.Errorf("an empty memory: %d, %v", n, err)
	}
}

func TestDamagedMemoryIsRefused(t *testing.T) {
	b := amazons.Board{Width: 5, Height: 5}
	table := newTable(t, 1<<20)
	for i := range uint64(20) {
		table.put(i*0x9e3779b97f4a7c15, pack(3, 4, 5+i))
	}
	memory := table.Remember(b, 100)
	for i := range memory {
		damaged := bytes.Clone(memory)
		damaged[i] ^= 1
		if _, err := table.Recall(b, damaged); !errors.Is(err, ErrMemory) {
			t.Fatalf("byte %d changed: %v", i, err)
		}
		if _, err := table.Recall(b, memory[:i]); !errors.Is(err, ErrMemory) {
			t.Fatalf("cut to %d bytes: %v", i, err)
		}
	}
	if _, err := table.Recall(amazons.Board{Width: 5, Height: 6}, memory); !errors.Is(err, ErrMemory) {
		t.Errorf("of another board: %v", err)
	}
}

// FuzzMemory takes in memories of whoever sends them, as they are or with the checksum made right: what is damaged is refused whole; what is taken in
// is remembered the same way, and a search over a table with it ends, whatever it says.
func FuzzMemory(f *testing.F) {
	b := amazons.Board{Width: 4, Height: 5}
	table := newTable(f, MinTableBytes)
	table.put(77, pack(1, 2, 9))
	f.Add(table.Remember(b, 9), false)
	start, err := amazons.Start(b)
	if err != nil {
		f.Fatal(err)
	}
	judge := eval.NewJudge(nil, eval.DefaultSettings()).Clone
	search := func(t testing.TB, table *Table, nodes uint64) Result {
		s, err := New(Options{Board: b, Table: table, Judge: judge})
		if err != nil {
			t.Fatal(err)
		}
		return s.Search(t.Context(), start.State(), Limit{Nodes: nodes})
	}
	search(f, table, 500)
	for _, entries := range []int{1, 5, 30, 200} {
		f.Add(table.Remember(b, entries), true)
	}
	f.Fuzz(func(t *testing.T, memory []byte, whole bool) {
		if body := len(memory) - 4; whole && body >= 0 {
			memory = binary.LittleEndian.AppendUint32(bytes.Clone(memory[:body]), crc32.Checksum(memory[:body], castagnoli))
		}
		all, err := parseMemory(b, memory)
		if err != nil && !errors.Is(err, ErrMemory) {
			t.Errorf("an error of another kind: %v", err)
		}
		if err == nil && len(all)*5 > len(memory) {
			t.Errorf("%d entries from %d bytes", len(all), len(memory))
		}
		fuzzing.Within(t, 20*time.Second, 64<<20, func() {
			table := newTable(t, MinTableBytes)
			n, again := table.Recall(b, memory)
			if (again == nil) != (err == nil) || n != len(all) {
				t.Fatalf("%d entries with %v, then %d with %v", len(all), err, n, again)
			}
			if err != nil {
				return
			}
			if _, err := newTable(t, MinTableBytes).Recall(b, table.Remember(b, len(all))); err != nil {
				t.Errorf("what was taken in is not remembered: %v", err)
			}
			if r := search(t, table, 300); r.Nodes > 10_000 || (r.Verdict == eval.Won) != (r.Phi == 0) || (r.Verdict == eval.Lost) != (r.Delta == 0) {
				t.Errorf("a search with it: %+v", r)
			}
		})
	})
}
