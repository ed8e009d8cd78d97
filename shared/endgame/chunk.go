package endgame

import (
	"bytes"
	"cmp"
	"encoding/binary"
	"fmt"
	"hash/crc32"
	"os"
	"path/filepath"
	"slices"

	"amazonsfarm/shared/cgt"
)

// chunker makes the chunks of one layer for one goroutine.
// ids and bytes stand in for the memory of the layer where the layer is the last, which keeps none.
// local and used are for one chunk after another: between two chunks local has zeros only.
type chunker struct {
	*build
	b      *builder
	n      int    // squares
	active bool   // the layer is of placements of both sides, else of territories
	stage  string // for people and in the names of files
	rows   int    // entries of a shape

	ids   []uint32
	bytes []uint8
	local []uint32 // by id: number in the chunk's list + 1
	used  []uint32 // the chunk's list
}

// make makes chunk i, of the shapes from first to before end, in the layer's memory unless the layer
// is the last.
func (w *chunker) make(i, first, end int, last bool) error {
	before, from, to := w.b.positions, first*w.rows, end*w.rows
	units := int64(to - from)
	var err error
	if w.active {
		units *= activeCost
		var dst []uint32
		if !last {
			dst = w.l.active[w.n][from:to]
		}
		err = w.makeActive(i, first, end, dst)
	} else {
		var dst []uint8
		if !last {
			dst = w.l.territory[w.n][from:to]
		}
		err = w.makeTerritory(i, first, end, dst)
	}
	if err == nil {
		w.report(w.stage, w.n, units, w.b.positions-before)
	}
	return err
}

// name returns the name of the file of a chunk.
func (w *chunker) name(i int) string {
	return filepath.Join(w.dir, chunkName(w.stage, w.n, i))
}

// chunkName returns the name of the file of chunk i of a layer within the folder of the build.
func chunkName(stage string, n, i int) string { return fmt.Sprintf("%s-%02d-%05d", stage, n, i) }

// makeActive makes a chunk of values: the distinct values in the order of their first entries, how
// often each occurs, and for each entry the number of its value in that list.
func (w *chunker) makeActive(i, first, end int, dst []uint32) error {
	if data, ok := readChunk(w.name(i), w.sum); ok && w.restore(data, (end-first)*w.rows, dst) {
		return nil
	}
	dst, err := fillRows(w, first, end, dst, &w.ids, w.b.fillActive)
	if err = cmp.Or(err, w.b.err); err != nil {
		return err
	}
	w.b.refresh()
	// Each id of the chunk has a place in local.
	w.local = append(w.local, make([]uint32, len(w.b.vals)-len(w.local))...)
	w.used = w.used[:0]
	var counts []uint32
	entries := make([]uint32, len(dst))
	for i, id := range dst {
		if w.local[id] == 0 {
			w.used = append(w.used, id)
			counts = append(counts, 0)
			w.local[id] = uint32(len(w.used))
		}
		counts[w.local[id]-1]++
		entries[i] = w.local[id] - 1
	}
	out := binary.AppendUvarint(nil, uint64(len(w.used)))
	for k, id := range w.used {
		w.local[id] = 0
		out = w.b.vals[id].Append(out)
		out = binary.AppendUvarint(out, uint64(counts[k]))
	}
	width := entryWidth(len(w.used))
	for _, e := range entries {
		// The low bytes come first, so cutting the rest off keeps the number.
		out = binary.LittleEndian.AppendUint32(out, e)[:len(out)+width]
	}
	return w.save(i, out)
}

// entryWidth returns the bytes of an entry of a chunk with that many distinct values.
func entryWidth(values int) int {
	switch {
	case values <= 1<<8:
		return 1
	case values <= 1<<16:
		return 2
	}
	return 4
}

// chunk is a chunk of values as read back.
type chunk struct {
	values []cgt.Value
	counts []uint64
	width  int
	data   []byte
}

// parseChunk reads what makeActive has written: the number of values as a uvarint; for each value its
// bytes and a uvarint of how often it occurs; then width bytes for each entry. It reports false for
// anything else. It does not look at the entries themselves.
func parseChunk(data []byte, entries int) (c chunk, ok bool) {
	count, k := binary.Uvarint(data)
	if k <= 0 || count > uint64(len(data)) {
		return c, false
	}
	data = data[k:]
	for range count {
		v, n, err := cgt.DecodeValue(data)
		if err != nil {
			return c, false
		}
		data = data[n:]
		times, k := binary.Uvarint(data)
		if k <= 0 {
			return c, false
		}
		data = data[k:]
		c.values = append(c.values, v)
		c.counts = append(c.counts, times)
	}
	c.width, c.data = entryWidth(len(c.values)), data
	return c, len(data) == entries*c.width
}

func (c *chunk) entry(i int) (e uint32) {
	switch c.width {
	case 1:
		return uint32(c.data[i])
	case 2:
		return uint32(binary.LittleEndian.Uint16(c.data[2*i:]))
	}
	return binary.LittleEndian.Uint32(c.data[4*i:])
}

// restore takes a chunk of an earlier run.
// It reports false for a damaged one. dst is then filled in part, and makeActive fills it anew. In the
// last layer dst is nil, and only writeActive looks at the entries.
func (w *chunker) restore(data []byte, entries int, dst []uint32) bool {
	c, ok := parseChunk(data, entries)
	if !ok {
		return false
	}
	ids := make([]uint32, len(c.values))
	for i, v := range c.values {
		ids[i] = w.b.intern(v)
	}
	w.b.refresh()
	for i := range dst {
		e := c.entry(i)
		if int(e) >= len(ids) {
			return false
		}
		dst[i] = ids[e]
	}
	return true
}

// makeTerritory makes a chunk of codes.
func (w *chunker) makeTerritory(i, first, end int, dst []uint8) error {
	entries := (end - first) * w.rows
	if data, ok := readChunk(w.name(i), w.sum); ok && len(data) == entries {
		copy(dst, data)
		return nil
	}
	dst, err := fillRows(w, first, end, dst, &w.bytes, w.b.fillTerritory)
	if err != nil {
		return err
	}
	return w.save(i, dst)
}

// fillRows calls fill for each shape of a chunk with the shape's part of dst, and returns dst. A dst
// of nil stands for the spare memory.
func fillRows[T any](w *chunker, first, end int, dst []T, spare *[]T, fill func(s Set, rows []T)) ([]T, error) {
	if dst == nil {
		*spare = slices.Grow((*spare)[:0], (end-first)*w.rows)[:(end-first)*w.rows]
		dst = *spare
	}
	for k := first; k < end && w.ctx.Err() == nil; k++ {
		fill(w.l.shapes[w.n][k], dst[(k-first)*w.rows:(k-first+1)*w.rows])
	}
	return dst, w.ctx.Err()
}

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

const chunkMagic = "AMZCHUNK"

// save writes a chunk: the magic, the SHA-256 of the configuration, the CRC-32C of the data, and the
// data. The checksum tells a whole chunk from a torn one. save does not sync the file, since a chunk
// that a power cut spoils is made again.
func (w *chunker) save(i int, data []byte) error {
	name := w.name(i)
	f, err := w.o.create(name + ".tmp")
	if err != nil {
		return err
	}
	_, err = f.Write(slices.Concat(chunkHead(w.sum, data), data))
	if err = cmp.Or(err, f.Close()); err == nil {
		err = os.Rename(name+".tmp", name)
	}
	if err != nil {
		os.Remove(name + ".tmp")
	}
	return err
}

// chunkHead returns what stands before the data of a chunk.
func chunkHead(sum [32]byte, data []byte) []byte {
	head := append([]byte(chunkMagic), sum[:]...)
	return binary.LittleEndian.AppendUint32(head, crc32.Checksum(data, castagnoli))
}

// readChunk returns the data of a chunk file that an earlier run has made. It reports false for a file
// that is missing, torn, or of another configuration or version, since sum is in its head.
func readChunk(name string, sum [32]byte) ([]byte, bool) {
	data, err := os.ReadFile(name)
	head := len(chunkMagic) + len(sum) + 4
	if err != nil || len(data) < head || !bytes.Equal(data[:head], chunkHead(sum, data[head:])) {
		return nil, false
	}
	return data[head:], true
}
