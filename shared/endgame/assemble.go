package endgame

import (
	"cmp"
	"encoding/binary"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"unsafe"

	"amazonsfarm/shared/cgt"
	"amazonsfarm/shared/disk"
)

// assemble writes the file from the chunks of all layers. FORMAT.md describes the sections; each
// has a writer here, and they follow in the order of the file.
func (b *build) assemble() error {
	values, err := b.numberValues()
	if err != nil {
		return err
	}
	tmp := filepath.Join(b.dir, "database.tmp")
	f, err := b.o.create(tmp)
	if err != nil {
		return err
	}
	defer os.Remove(tmp)
	if err := cmp.Or(b.write(f, values), f.Close()); err != nil {
		return err
	}
	return disk.Rename(tmp, b.path)
}

// write writes all sections, and brings them to disk: a rename that is durable before the bytes would
// leave a damaged file under the good name.
func (b *build) write(f file, values numbering) error {
	w := newWriter(f, b.config)
	writeValues(w, values)
	b.writeShapes(w)
	if err := b.writeActive(w, values); err != nil {
		return err
	}
	if err := b.writeTerritories(w); err != nil {
		return err
	}
	if err := w.finish(); err != nil {
		return err
	}
	return f.Sync()
}

// numbering gives each value of a database its id.
type numbering struct {
	list []cgt.Value // by id
	ids  map[cgt.Value]uint32
}

// numberValues numbers the values by how often they occur, the most frequent first, and the value 0
// before all. So ids that do not fit 16 bits are rare. The list also holds the negative of each
// value.
func (b *build) numberValues() (numbering, error) {
	zero := cgt.Value{}
	counts := map[cgt.Value]uint64{zero: 0}
	err := b.eachChunk(func(n int, c chunk, entries int) error {
		for i, v := range c.values {
			counts[v] += c.counts[i]
			// A look-up with the colours exchanged returns the negative, which perhaps no entry has.
			counts[v.Neg()] += 0
		}
		return nil
	})
	x := numbering{ids: make(map[cgt.Value]uint32, len(counts))}
	x.list = slices.SortedFunc(maps.Keys(counts), func(v, w cgt.Value) int {
		switch {
		case v == w:
			return 0
		case v == zero:
			return -1
		case w == zero:
			return 1
		}
		// The second comparison makes the order independent of the order of the map.
		return cmp.Or(cmp.Compare(counts[w], counts[v]), v.Compare(w))
	})
	for i, v := range x.list {
		x.ids[v] = uint32(i)
	}
	return x, err
}

// writeSection writes a section with one put for each element of a list.
func writeSection[T any](w *writer, kind, n int, list []T, put func(T)) {
	w.begin(kind, n)
	for _, x := range list {
		put(x)
	}
	w.end(uint64(len(list)))
}

// writeValues writes the values by id: where the bytes of each end, the bytes, and the id of the
// negative.
func writeValues(w *writer, values numbering) {
	end := uint32(0)
	writeSection(w, sectionValueEnds, 0, values.list, func(v cgt.Value) {
		end += uint32(len(v.Append(nil)))
		w.u32(end)
	})
	writeSection(w, sectionValues, 0, values.list, func(v cgt.Value) {
		w.write(v.Append(nil))
	})
	writeSection(w, sectionNegatives, 0, values.list, func(v cgt.Value) { w.u32(values.ids[v.Neg()]) })
}

// writeShapes writes the shapes of each number of squares, then the hash table that finds them.
func (b *build) writeShapes(w *writer) {
	for n := 1; n <= b.config.Squares(); n++ {
		writeSection(w, sectionShapes, n, b.l.shapes[n], w.u64)
	}
	writeSection(w, sectionHash, 0, hashTable(b.l.shapes), func(s slot) {
		w.u64(s.shape)
		w.u32(s.index)
		w.u32(0)
	})
}

// escape is an entry whose value has an id of escaped or more.
type escape struct {
	key uint64 // number of squares and place of the entry
	id  uint32
}

// writeActive writes the value ids of all placements of both sides, 16 bits each, then the entries
// whose ids do not fit.
func (b *build) writeActive(w *writer, values numbering) error {
	var escapes []escape
	layer, at := 0, uint64(0)
	err := b.eachChunk(func(n int, c chunk, entries int) error {
		// eachChunk says with n alone that another layer begins.
		if layer != n {
			if layer > 0 {
				w.end(at)
			}
			w.begin(sectionActive, n)
			layer, at = n, 0
		}
		local := make([]uint32, len(c.values)) // ids in the file
		for i, v := range c.values {
			local[i] = values.ids[v]
		}
		out := make([]byte, 0, 2*entries)
		for i := range entries {
			e := c.entry(i)
			if int(e) >= len(local) {
				return fmt.Errorf("chunk of %d squares: entry %d: no value %d", n, i, e)
			}
			id := local[e]
			if id >= escaped {
				// n and at only rise, so the keys are sorted, which the binary search of DB.Find needs.
				escapes = append(escapes, escape{uint64(n)<<56 | at, id})
				id = escaped
			}
			out = binary.LittleEndian.AppendUint16(out, uint16(id))
			at++
		}
		w.write(out)
		return w.err
	})
	w.end(at)
	writeSection(w, sectionEscapeKeys, 0, escapes, func(e escape) { w.u64(e.key) })
	writeSection(w, sectionEscapeIDs, 0, escapes, func(e escape) { w.u32(e.id) })
	return err
}

// writeTerritories writes the codes of all placements of one side.
func (b *build) writeTerritories(w *writer) error {
	for n := 1; n <= b.config.Squares(); n++ {
		w.begin(sectionTerritory, n)
		rows := b.l.layouts[n].territoryRows
		err := b.eachFile("territory", n, rows, func(data []byte, entries int) (whole bool, err error) {
			w.write(data)
			return len(data) == entries, nil
		})
		if err != nil {
			return err
		}
		w.end(uint64(rows * len(b.l.shapes[n])))
	}
	return nil
}

// eachChunk calls f with all chunks of values, in order.
func (b *build) eachChunk(f func(n int, c chunk, entries int) error) error {
	for n := 1; n <= b.config.Squares(); n++ {
		err := b.eachFile("active", n, b.l.layouts[n].rows, func(data []byte, entries int) (whole bool, err error) {
			c, ok := parseChunk(data, entries)
			if ok {
				err = f(n, c, entries)
			}
			return ok, err
		})
		if err != nil {
			return err
		}
	}
	return nil
}

// eachFile calls f with the data and the number of entries of each chunk of a layer, in order. f
// reports whether the data are whole.
func (b *build) eachFile(stage string, n, rows int, f func(data []byte, entries int) (whole bool, err error)) error {
	shapes, count := b.chunks(n, rows)
	for i := range count {
		if err := b.ctx.Err(); err != nil {
			return err
		}
		name := chunkName(stage, n, i)
		data, ok := readChunk(filepath.Join(b.dir, name), b.sum)
		if !ok {
			return changed(name)
		}
		if whole, err := f(data, rows*min(shapes, len(b.l.shapes[n])-i*shapes)); err != nil || !whole {
			return cmp.Or(err, changed(name))
		}
	}
	return nil
}

// changed says that a chunk of this build is not whole any more, or is gone. The next run makes it again
// and keeps the others.
func changed(chunk string) error {
	return fmt.Errorf("a finished part, %s, has changed; run again", chunk)
}

// slot is a place in the hash table of shapes; shape 0 means that it is free.
type slot struct {
	shape Set
	index uint32 // among the shapes of the same number of squares
	_     uint32
}

const slotBytes = int(unsafe.Sizeof(slot{}))

// hashTable holds all shapes in open addressing with linear steps, at most half full.
func hashTable(shapes [][]Set) []slot {
	n := 0
	for _, s := range shapes {
		n += len(s)
	}
	size := 1
	for size < 2*n {
		size *= 2
	}
	out := make([]slot, size)
	for _, list := range shapes {
		for i, s := range list {
			k := hash(s) & uint64(size-1)
			for out[k].shape != 0 {
				k = (k + 1) & uint64(size-1)
			}
			out[k] = slot{shape: s, index: uint32(i)}
		}
	}
	return out
}

// hash is part of the file format: other programs find a shape by the same rule (FORMAT.md).
func hash(s Set) uint64 {
	s *= 0x9e3779b97f4a7c15
	return s ^ s>>32
}
