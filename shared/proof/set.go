package proof

import (
	"iter"
	"math/bits"
	"slices"

	"amazonsfarm/shared/amazons"
)

// maxLayers is the number of layers there can be: 0 to 64 burnt squares.
const maxLayers = 65

// Set is a set of entries, by layer. The zero Set is empty and ready for use. It takes 32 to 48
// bytes an entry. It may be read by several goroutines at once, but not while one changes it.
type Set struct {
	layers [maxLayers]table
}

// layerOf returns the number of burnt squares.
func layerOf(k amazons.Key) int { return bits.OnesCount64(k.A & k.B) }

// Add puts e into the set. The move of a known position stays as it is. The empty board is no entry: it
// is left out.
func (s *Set) Add(e Entry) {
	if e.Key != (amazons.Key{}) {
		s.layers[layerOf(e.Key)].insert(e.Key, e.Move)
	}
}

// Has reports whether the position of k is in the set.
func (s *Set) Has(k amazons.Key) bool { return s != nil && s.layers[layerOf(k)].index(k) >= 0 }

// Move returns the winning move of the canonical position of k, and whether it is in the set.
func (s *Set) Move(k amazons.Key) (amazons.Move, bool) {
	if s != nil {
		t := &s.layers[layerOf(k)]
		if i := t.index(k); i >= 0 {
			return t.slots[i].move, true
		}
	}
	return amazons.Move{}, false
}

// Len returns the number of entries.
func (s *Set) Len() int {
	n := 0
	for arrows := range maxLayers {
		n += s.LayerLen(arrows)
	}
	return n
}

// LayerLen returns the number of entries with the given number of arrows.
func (s *Set) LayerLen(arrows int) int {
	if s == nil || arrows < 0 || arrows >= maxLayers {
		return 0
	}
	return s.layers[arrows].n
}

// Merge adds all entries of o.
func (s *Set) Merge(o *Set) {
	if o == nil || o == s {
		return
	}
	for arrows := range o.layers {
		from, to := &o.layers[arrows], &s.layers[arrows]
		to.reserve(max(to.n, from.n))
		for i := range from.slots {
			if f := &from.slots[i]; f.key != (amazons.Key{}) {
				to.insert(f.key, f.move)
			}
		}
	}
}

// All returns the entries, deepest layer first, in no particular order within a layer.
func (s *Set) All() iter.Seq[Entry] {
	return func(yield func(Entry) bool) {
		if s == nil {
			return
		}
		for arrows := maxLayers - 1; arrows >= 0; arrows-- {
			for i := range s.layers[arrows].slots {
				if at := &s.layers[arrows].slots[i]; at.key != (amazons.Key{}) && !yield(Entry{at.key, at.move}) {
					return
				}
			}
		}
	}
}

// Sorted returns the entries with the given number of arrows in increasing order of their keys.
func (s *Set) Sorted(arrows int) []Entry {
	n := s.LayerLen(arrows)
	if n == 0 {
		return nil
	}
	entries := make([]Entry, 0, n)
	for i := range s.layers[arrows].slots {
		if at := &s.layers[arrows].slots[i]; at.key != (amazons.Key{}) {
			entries = append(entries, Entry{at.key, at.move})
		}
	}
	slices.SortFunc(entries, func(a, b Entry) int { return a.Key.Compare(b.Key) })
	return entries
}
