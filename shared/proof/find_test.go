package proof_test

import (
	"bytes"
	"errors"
	"slices"
	"testing"

	"amazonsfarm/shared/amazons"
	"amazonsfarm/shared/proof"
)

// TestFind looks every entry of a certificate up, layer by layer, each time with keys beside it
// that are not in it.
func TestFind(t *testing.T) {
	c, data := sample(t)
	f := proof.Finder{Board: c.Board, Left: 1 << 30}
	for arrows := range 17 {
		want := c.Set.Sorted(arrows)
		var keys []amazons.Key
		for _, e := range want {
			keys = append(keys, e.Key)
			if other := (amazons.Key{A: e.Key.A, B: e.Key.B ^ e.Key.B&^e.Key.A}); !c.Set.Has(other) && other != e.Key {
				keys = append(keys, other) // without the other side's queens
			}
		}
		slices.SortFunc(keys, amazons.Key.Compare)
		keys = slices.Compact(keys)
		var got []proof.Entry
		if err := f.Find(bytes.NewReader(data), int64(len(data)), keys,
			func(e proof.Entry) { got = append(got, e) }); err != nil {
			t.Fatal(err)
		}
		if !slices.Equal(got, want) {
			t.Errorf("in the layer of %d arrows %d of %d keys are found, want %d", arrows, len(got), len(keys),
				len(want))
		}
	}
	used := 1<<30 - f.Left
	if used == 0 || used > int64(len(data)) {
		t.Errorf("%d bytes of a certificate of %d were read", used, len(data))
	}
	f.Left = 1
	keys := []amazons.Key{largestLayer(c)[0].Key}
	if err := f.Find(bytes.NewReader(data), int64(len(data)), keys, func(proof.Entry) {}); !errors.Is(err,
		proof.ErrFindLimit) {
		t.Errorf("without room: %v", err)
	}
	f = proof.Finder{Board: amazons.Board{Width: 5, Height: 5}, Left: 1 << 30}
	if err := f.Find(bytes.NewReader(data), int64(len(data)), keys, func(proof.Entry) {}); !errors.Is(err,
		proof.ErrMismatch) {
		t.Errorf("for another board: %v", err)
	}
}

// TestFindDamaged looks a position up in certificates with a changed byte: it finds what was there,
// or says what is wrong.
func TestFindDamaged(t *testing.T) {
	if testing.Short() {
		t.Skip("one goroutine: nothing for the race detector to find")
	}
	c, data := sample(t)
	layer := largestLayer(c)
	want := layer[len(layer)/2]
	failed := 0
	for i := range data {
		damaged := bytes.Clone(data)
		damaged[i] ^= 1 << (i % 8)
		f := proof.Finder{Board: c.Board, Left: 1 << 30}
		err := f.Find(bytes.NewReader(damaged), int64(len(damaged)), []amazons.Key{want.Key}, func(e proof.Entry) {
			if s, err := e.Key.State(c.Board); e.Key != want.Key || err != nil || !s.Legal(e.Move) {
				t.Errorf("with byte %d changed, %v is found", i, e)
			}
		})
		if err != nil {
			failed++
		}
	}
	if failed == 0 {
		t.Error("no damage was noticed")
	}
}

// largestLayer returns the entries of the layer with most of them.
func largestLayer(c proof.Certificate) (most []proof.Entry) {
	for arrows := range 17 {
		if layer := c.Set.Sorted(arrows); len(layer) > len(most) {
			most = layer
		}
	}
	return most
}
