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
	"amazonsfarm/shared/testkit/fuzzing"
)

// TestHintsContinueASearch cuts a search in two at different places, the second half in another
// table that got the first one's hints, and compares the work with a search that was not cut.
func TestHintsContinueASearch(t *testing.T) {
	if testing.Short() {
		t.Skip("one goroutine: nothing for the race detector to find")
	}
	p := parse(t, "4x5")
	whole := newSearcher(t, p.Board, newTable(t, 64<<20), 1).Search(t.Context(), p.State(), 0)
	for _, cut := range []uint64{whole.Nodes / 5, whole.Nodes / 2, whole.Nodes * 4 / 5} {
		first := newSearcher(t, p.Board, newTable(t, 64<<20), 1)
		first.Search(t.Context(), p.State(), cut)
		hints := first.Hints(p.State(), 1<<16)
		second := newTable(t, 64<<20)
		n, err := second.AddHints(p.Board, hints, false)
		if err != nil {
			t.Fatal(err)
		}
		r := newSearcher(t, p.Board, second, 1).Search(t.Context(), p.State(), 0)
		t.Logf("cut at %d nodes: %d entries, %d bytes; %d nodes more, %d without a cut", cut, n, len(hints), r.Nodes,
			whole.Nodes)
		if r.Verdict != eval.Lost {
			t.Fatalf("the second half says %v", r.Verdict)
		}
		// Half of what was spent before the cut may be lost with the small entries, or gained by
		// another order.
		if cut+r.Nodes > whole.Nodes+cut/2+3_000 {
			t.Errorf("cut at %d nodes, %d more were needed; without a cut %d in all", cut, r.Nodes, whole.Nodes)
		}
	}
}

// TestHintsAreOfThePosition holds that hints have a position, then below it the most nodes:
// whatever is left out has no more work than each entry, unless it is only reached through
// something that is left out; and nothing of what the table knows of other positions.
func TestHintsAreOfThePosition(t *testing.T) {
	p := parse(t, "4x5")
	table := newTable(t, 64<<20)
	s := newSearcher(t, p.Board, table, 1)
	s.Search(t.Context(), p.State(), 8000)
	var other amazons.State // the reply with the least work, and the others have nearly all of it
	least := uint64(1 << 60)
	for _, c := range s.Children(p.State()) {
		if c.Verdict == eval.Open && c.Nodes > 1 && c.Nodes < least {
			other, least = c.State, c.Nodes
		}
	}
	for _, of := range []amazons.State{p.State(), other} {
		for _, most := range []int{1, 10, 300, 1 << 20} {
			hints := s.Hints(of, most)
			if !bytes.Equal(hints, s.Hints(of, most)) {
				t.Fatal("the same table gives different hints of a position")
			}
			entries, err := parseHints(p.Board, hints)
			if err != nil || len(entries) == 0 || len(entries) > most {
				t.Fatalf("%d of %d entries, %v", len(entries), most, err)
			}
			kept, smallest := map[uint64]bool{}, uint64(1<<60)
			for _, e := range entries {
				if table.get(e.check) != e.data {
					t.Fatal("an entry is not what the table has")
				}
				kept[e.check] = true
				if e.check != of.Hash(p.Board) {
					smallest = min(smallest, e.data>>48)
				}
			}
			met := map[uint64]bool{}
			var walk func(st amazons.State)
			walk = func(st amazons.State) {
				hash := st.Hash(p.Board)
				if met[hash] {
					return
				}
				met[hash] = true
				if !kept[hash] {
					if work := table.get(hash) >> 48; work > smallest || work >= leastHinted &&
						len(entries) < most {
						t.Fatalf("with at most %d entries one with work %d is left out, one with %d is not", most, work,
							smallest)
					}
					return
				}
				if phi, delta, _ := unpack(table.get(hash)); phi != 0 && delta != 0 {
					for _, m := range st.Moves(nil) {
						walk(st.After(m))
					}
				}
			}
			walk(of)
			for hash := range kept {
				if !met[hash] {
					t.Fatal("an entry is not reached from the position through others")
				}
			}
		}
	}
	if n, err := table.AddHints(p.Board, newSearcher(t, p.Board, newTable(t, 1<<20), 1).Hints(p.State(),
		100), false); n != 0 || err != nil {
		t.Errorf("the hints of an empty table: %d, %v", n, err)
	}
}

// TestHintsOfInfinity: whatever hints say of positions that they leave open, a search goes on with them.
func TestHintsOfInfinity(t *testing.T) {
	p := parse(t, "4x4")
	for _, n := range []numbers{{1, Infinity}, {Infinity, 1 << 20}, {Infinity, Infinity}} {
		var entries []slot
		met := map[uint64]bool{}
		for _, m := range p.State().Moves(nil) {
			if hash := p.State().After(m).Hash(p.Board); !met[hash] {
				met[hash] = true
				entries = append(entries, slot{hash, uint64(n.phi) | uint64(n.delta)<<24 | 5<<48})
			}
		}
		for _, doubt := range []bool{false, true} {
			table := newTable(t, 1<<20)
			if _, err := table.AddHints(p.Board, encodeHints(p.Board, entries), doubt); err != nil {
				t.Fatal(err)
			}
			r := newSearcher(t, p.Board, table, 1).Search(t.Context(), p.State(), 100_000)
			if r.Verdict != eval.Lost {
				t.Errorf("hints of %v: %+v", n, r)
			}
		}
	}
}

// BenchmarkHints says what hints cost beside the search of their position.
func BenchmarkHints(b *testing.B) {
	p := parse(b, "6x4")
	s := newSearcher(b, p.Board, newTable(b, 256<<20), 1)
	began := time.Now()
	nodes := s.Search(b.Context(), p.State(), 200_000).Nodes
	node := time.Since(began) / time.Duration(nodes)
	entries := 0
	for b.Loop() {
		all, err := parseHints(p.Board, s.Hints(p.State(), 5_000))
		if err != nil {
			b.Fatal(err)
		}
		entries = len(all)
	}
	entry := b.Elapsed() / time.Duration(b.N*entries)
	b.ReportMetric(float64(entry), "ns/entry")
	b.ReportMetric(float64(entry)/float64(node), "nodes/entry")
}

func TestDamagedHintsAreRefused(t *testing.T) {
	b := amazons.Board{Width: 5, Height: 5}
	table := newTable(t, 1<<20)
	var entries []slot
	for i := range uint64(20) {
		entries = append(entries, slot{i * 0x9e3779b97f4a7c15, pack(3, 4, 5+i)})
	}
	hints := encodeHints(b, entries)
	for i := range hints {
		damaged := bytes.Clone(hints)
		damaged[i] ^= 1
		if _, err := table.AddHints(b, damaged, false); !errors.Is(err, ErrHints) {
			t.Fatalf("byte %d changed: %v", i, err)
		}
		if _, err := table.AddHints(b, hints[:i], false); !errors.Is(err, ErrHints) {
			t.Fatalf("cut to %d bytes: %v", i, err)
		}
	}
	if _, err := table.AddHints(amazons.Board{Width: 5, Height: 6}, hints, false); !errors.Is(err, ErrHints) {
		t.Errorf("of another board: %v", err)
	}
}

// FuzzHints adds hints from anybody, as they are or with the checksum made right:
// what is damaged is refused whole; what is taken in is remembered the same way, and a search over
// a table with it ends, whatever it says.
func FuzzHints(f *testing.F) {
	b := amazons.Board{Width: 4, Height: 5}
	f.Add(encodeHints(b, []slot{{77, pack(1, 2, 9)}}), false)
	start, err := amazons.Start(b)
	if err != nil {
		f.Fatal(err)
	}
	judge := eval.NewJudge(nil, eval.DefaultSettings()).Clone
	searcher := func(t testing.TB, table *Table) *Searcher {
		s := New(Options{Board: b, Table: table, Judge: judge})
		return s
	}
	s := searcher(f, newTable(f, MinTableBytes))
	s.Search(f.Context(), start.State(), 500)
	for _, entries := range []int{1, 5, 30, 200} {
		f.Add(s.Hints(start.State(), entries), true)
	}
	f.Fuzz(func(t *testing.T, hints []byte, whole bool) {
		if body := len(hints) - 4; whole && body >= 0 {
			hints = binary.LittleEndian.AppendUint32(bytes.Clone(hints[:body]),
				crc32.Checksum(hints[:body], castagnoli))
		}
		all, err := parseHints(b, hints)
		if err != nil && !errors.Is(err, ErrHints) {
			t.Errorf("an error of another kind: %v", err)
		}
		if err == nil && len(all)*5 > len(hints) {
			t.Errorf("%d entries from %d bytes", len(all), len(hints))
		}
		fuzzing.Within(t, 20*time.Second, 64<<20, func() {
			table := newTable(t, MinTableBytes)
			n, again := table.AddHints(b, hints, false)
			if (again == nil) != (err == nil) || n != len(all) {
				t.Fatalf("%d entries with %v, then %d with %v", len(all), err, n, again)
			}
			if err != nil {
				return
			}
			s := searcher(t, table)
			if _, err := newTable(t, MinTableBytes).AddHints(b, s.Hints(start.State(), len(all)), false); err != nil {
				t.Errorf("what was taken in is not remembered: %v", err)
			}
			if r := s.Search(t.Context(), start.State(), 300); r.Nodes > 10_000 ||
				(r.Verdict == eval.Won) != (r.Phi == 0) || (r.Verdict == eval.Lost) != (r.Delta == 0) {
				t.Errorf("a search with it: %+v", r)
			}
		})
	})
}
