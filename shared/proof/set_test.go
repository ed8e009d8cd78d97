package proof_test

import (
	"math/rand/v2"
	"testing"

	"amazonsfarm/shared/amazons"
	"amazonsfarm/shared/proof"
)

// TestSet compares a set with a map.
func TestSet(t *testing.T) {
	r := rand.New(rand.NewPCG(7, 8))
	var set proof.Set
	want := make(map[amazons.Key]amazons.Move)
	layers := make(map[int]int)
	for i := range 50000 {
		k := amazons.Key{A: r.Uint64N(200), B: r.Uint64N(500)}
		m := amazons.Move{From: amazons.Square(i & 63)}
		_, known := want[k]
		before := set.Len()
		set.Add(proof.Entry{Key: k, Move: m})
		if added := set.Len() > before; added == (known || k == amazons.Key{}) {
			t.Fatalf("add %v: %v, known %v", k, added, known)
		} else if added {
			want[k] = m
			s, _ := k.State(amazons.Board{Width: 8, Height: 8})
			layers[s.Arrows(amazons.Board{Width: 8, Height: 8})]++
		}
	}
	if set.Len() != len(want) {
		t.Fatalf("%d entries, want %d", set.Len(), len(want))
	}
	for arrows, n := range layers {
		sorted := set.Sorted(arrows)
		if set.LayerLen(arrows) != n || len(sorted) != n {
			t.Errorf("layer %d: %d and %d entries, want %d", arrows, set.LayerLen(arrows), len(sorted), n)
		}
		for i := 1; i < len(sorted); i++ {
			if sorted[i-1].Key.Compare(sorted[i].Key) >= 0 {
				t.Fatalf("layer %d is not sorted at %d", arrows, i)
			}
		}
	}
	for a := range uint64(300) {
		k := amazons.Key{A: a, B: 499}
		if _, known := want[k]; set.Has(k) != known {
			t.Errorf("Has(%v) is %v", k, !known)
		}
	}
	var other proof.Set
	other.Add(proof.Entry{Key: amazons.Key{A: 1 << 40}})
	for range 2 { // the second time no entry is new
		other.Merge(&set)
		set.Merge(&set)
		set.Merge(nil)
		if other.Len() != len(want)+1 || set.Len() != len(want) {
			t.Errorf("merged %d of %d", other.Len()-1, len(want))
		}
	}
	for e := range other.All() {
		if m, ok := want[e.Key]; ok && m != e.Move {
			t.Fatalf("%v has another move", e)
		}
		delete(want, e.Key)
	}
	if len(want) != 0 {
		t.Errorf("%d entries were not listed", len(want))
	}
	var none *proof.Set
	if none.Len() != 0 || none.Has(amazons.Key{A: 1}) || none.Sorted(0) != nil {
		t.Error("the nil set is not empty")
	}
	for range none.All() {
		t.Error("the nil set is not empty")
	}
}

// TestWinningMove asks for the move of every image of a position: it is the image of the entry's
// move, and legal.
func TestWinningMove(t *testing.T) {
	for _, text := range []string{"5x6", "4x4", ".B.B./B...B/..x../W...W/.W.W. b"} {
		p := position(t, text)
		b := p.Board
		canonical, _ := p.State().Canonical(b)
		moves := canonical.Moves(nil)
		entry := proof.Entry{Key: canonical.Key(b), Move: moves[len(moves)/3]}
		c := proof.Certificate{Board: b, Set: new(proof.Set)}
		c.Set.Add(entry)
		after := canonical.After(entry.Move).CanonicalKey(b)
		for i := range b.Symmetries() {
			image := canonical.Apply(b, amazons.Symmetry(i))
			f := c.Look(image)
			if f.Reason != proof.ByEntry || !image.Legal(f.Move) || image.After(f.Move).CanonicalKey(b) != after {
				t.Errorf("%s, image %d: %+v, the entry's move is %v", text, i, f, entry.Move)
			}
		}
		if f := c.Look(canonical.After(entry.Move)); f.Reason == proof.ByEntry {
			t.Errorf("%s: another position has the move %v", text, f.Move)
		}
	}
}

// TestSetTransfer moves entries from one set to another in the order of the first one's slots: this
// must not be slow.
func TestSetTransfer(t *testing.T) {
	var a, b proof.Set
	r := rand.New(rand.NewPCG(9, 9))
	for range 200000 {
		a.Add(proof.Entry{Key: amazons.Key{A: r.Uint64() &^ 0xffffffff, B: r.Uint64() & 0xffffffff}})
	}
	for e := range a.All() {
		b.Add(e)
	}
	if a.Len() != b.Len() {
		t.Errorf("%d of %d entries", b.Len(), a.Len())
	}
}
