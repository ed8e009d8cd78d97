package endgame

import (
	"bytes"
	"cmp"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"sync"
	"time"
	"unsafe"

	"amazonsfarm/shared/cgt"
	"amazonsfarm/shared/disk"
	"amazonsfarm/shared/memory"
)

// ErrBusy is wrapped by the error of a build whose directory another process uses.
var ErrBusy = errors.New("another process is building this database")

// Progress says how far a build is.
type Progress struct {
	Stage     string        // "active", "territory" or "write"
	Squares   int           // of the areas being valued; 0 in stage "write"
	Done, All int64         // units of the whole build: placements, weighted by what they cost
	Positions int64         // placements valued so far in this run
	Elapsed   time.Duration // of this run
}

// Options are the settings of a build. The zero value is fine.
type Options struct {
	// Workers is the number of goroutines; 0 and below mean one for each CPU that Go may use.
	Workers int
	// Progress, if not nil, is called now and then, from one goroutine at a time.
	Progress func(Progress)
	// create makes files; tests put a failing one here.
	create func(name string) (file, error)
}

// file is what a build writes to.
type file interface {
	io.Writer
	io.WriterAt
	Sync() error
	Close() error
}

func createFile(name string) (file, error) { return os.Create(name) }

// Build makes the database that c describes in the file path. A file that is there
// already is kept if it is that database and whole, else replaced at the very end. What is finished
// is kept in the directory path+".part", so that a build that was cut off
// goes on from there; the bytes of the result do not depend on that, nor on the number of workers.
//
// Errors wrap ErrSize, ErrBusy, the context's error, cgt.ErrOverflow or what the file system said.
func Build(ctx context.Context, path string, c Config, o Options) error {
	if err := c.Validate(); err != nil {
		return err
	}
	if o.Workers <= 0 {
		o.Workers = runtime.GOMAXPROCS(0)
	}
	if o.create == nil {
		o.create = createFile
	}
	b := &build{ctx: ctx, path: path, dir: path + ".part", config: c, sum: c.Sum(), o: o, start: time.Now()}
	if err := b.run(); err != nil {
		return fmt.Errorf("build database %s: %w", c.Name(), err)
	}
	return nil
}

// build is a build under way.
type build struct {
	ctx       context.Context
	path, dir string
	config    Config
	sum       [32]byte
	o         Options
	start     time.Time
	l         layers
	a         *algebra
	free      []func() error // of the memory of layers

	mu        sync.Mutex
	err       error
	done, all int64
	positions int64
}

// clear removes what a finished build leaves. Another process may have put its lock there just now:
// it will find the database and remove the directory itself.
func (b *build) clear() error {
	// that is also what a directory is that is not empty
	if err := os.RemoveAll(b.dir); err != nil && !errors.Is(err, fs.ErrExist) {
		return err
	}
	return nil
}

func (b *build) run() error {
	if err := os.MkdirAll(b.dir, 0o777); err != nil {
		return err
	}
	unlock, err := lock(filepath.Join(b.dir, "lock"))
	if errors.Is(err, fs.ErrNotExist) {
		return ErrBusy // another process has just removed the directory
	} else if err != nil {
		return err
	}
	defer unlock()
	defer b.release()
	// Whoever had the lock before may have finished this database.
	if db, err := Open(b.path); err == nil {
		same := db.Config().String() == b.config.String() && db.Check(nil) == nil
		db.Close()
		if same {
			return b.clear()
		}
	}
	n := b.config.Squares()
	b.l = layers{
		layouts:   make([]*layout, n+1),
		shapes:    make([][]Set, n+1),
		active:    make([][]uint32, n+1),
		territory: make([][]uint8, n+1),
	}
	for k := 1; k <= n; k++ {
		b.l.layouts[k] = newLayout(k, b.config.limit(k))
		b.l.shapes[k] = grow(b.l.shapes[k-1])
		b.all += activeCost * int64(b.l.layouts[k].rows) * int64(len(b.l.shapes[k]))
		b.all += int64(b.l.layouts[k].territoryRows) * int64(len(b.l.shapes[k]))
	}
	b.all += b.all / 20 // writing
	b.a = newAlgebra()
	for k := 1; k <= n; k++ {
		if err := b.layer(k, true, k == n); err != nil {
			return err
		}
	}
	b.a, b.l.active = nil, nil
	b.release()
	for k := 1; k <= n; k++ {
		if err := b.layer(k, false, k == n); err != nil {
			return err
		}
	}
	b.l.territory = nil
	b.release()
	b.report("write", 0, 0, 0)
	if err := b.assemble(); err != nil {
		return err
	}
	b.report("write", 0, b.all-b.done, 0)
	return b.clear()
}

// release gives the memory of layers back.
func (b *build) release() {
	for _, free := range b.free {
		free()
	}
	b.free = nil
}

// activeCost is what a placement of both sides costs in placements of territories.
const activeCost = 3

// report adds to what is done and tells.
func (b *build) report(stage string, squares int, units, positions int64) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.done += units
	b.positions += positions
	if b.o.Progress != nil {
		b.o.Progress(Progress{Stage: stage, Squares: squares, Done: b.done, All: b.all, Positions: b.positions,
			Elapsed: time.Since(b.start)})
	}
}

// chunkEntries is about how many entries one chunk of a layer has: what a worker does at a time
// and what a build that is cut off may lose.
const chunkEntries = 1 << 18

// chunks returns how many shapes a chunk has and how many chunks a layer.
func (b *build) chunks(n, rows int) (shapes, count int) {
	shapes = max(1, chunkEntries/rows)
	return shapes, (len(b.l.shapes[n]) + shapes - 1) / shapes
}

// layer makes all chunks of a layer and, unless it is the last, keeps what it holds in memory.
func (b *build) layer(n int, active, last bool) error {
	rows, stage := b.l.layouts[n].rows, "active"
	if !active {
		rows, stage = b.l.layouts[n].territoryRows, "territory"
	}
	shapes, count := b.chunks(n, rows)
	if !last {
		size := rows * len(b.l.shapes[n])
		if active {
			size *= 4
		}
		reserved, err := memory.Reserve(size)
		if err != nil {
			return fmt.Errorf("reserve %d MiB: %w", size>>20, err)
		}
		b.free = append(b.free, func() error { return memory.Release(reserved) })
		if active {
			b.l.active[n] = cast[uint32](reserved)
		} else {
			b.l.territory[n] = reserved
		}
	}
	next := 0
	take := func() int {
		b.mu.Lock()
		defer b.mu.Unlock()
		if b.err == nil && b.ctx.Err() != nil {
			b.err = b.ctx.Err()
		}
		if b.err != nil || next == count {
			return -1
		}
		next++
		return next - 1
	}
	var wg sync.WaitGroup
	for range min(b.o.Workers, count) {
		wg.Go(func() {
			w := &chunker{build: b, n: n, rows: rows, name: func(i int) string {
				return filepath.Join(b.dir, fmt.Sprintf("%s-%02d-%05d", stage, n, i))
			}}
			if active {
				w.b = newBuilder(b.a, &b.l)
			} else {
				w.b = &builder{layers: &b.l}
			}
			for i := take(); i >= 0; i = take() {
				first := i * shapes
				end := min(first+shapes, len(b.l.shapes[n]))
				before := w.b.positions
				var err error
				units := int64((end - first) * rows)
				if active {
					units *= activeCost
					var dst []uint32
					if !last {
						dst = b.l.active[n][first*rows : end*rows]
					}
					err = w.active(i, first, end, dst)
				} else {
					var dst []uint8
					if !last {
						dst = b.l.territory[n][first*rows : end*rows]
					}
					err = w.territory(i, first, end, dst)
				}
				if err != nil {
					b.mu.Lock()
					b.err = cmp.Or(b.err, err)
					b.mu.Unlock()
					return
				}
				b.report(stage, n, units, w.b.positions-before)
			}
		})
	}
	wg.Wait()
	return b.err
}

// chunker makes chunks for one goroutine.
type chunker struct {
	*build
	b       *builder
	n, rows int
	name    func(int) string
	ids     []uint32
	bytes   []uint8
	local   []uint32 // by id: number in the chunk's list + 1
	used    []uint32 // the chunk's list
	buf     bytes.Buffer
}

// active makes a chunk of values: the distinct values in the order in which they come up, how often
// each does, and for each entry a number in that list.
func (w *chunker) active(i, first, end int, dst []uint32) error {
	if data, ok := w.load(i); ok {
		if w.restore(data, (end-first)*w.rows, dst) {
			return nil
		}
	}
	if dst == nil {
		w.ids = slices.Grow(w.ids[:0], (end-first)*w.rows)[:(end-first)*w.rows]
		dst = w.ids
	}
	for k := first; k < end; k++ {
		w.b.fillActive(w.build.l.shapes[w.n][k], dst[(k-first)*w.rows:(k-first+1)*w.rows])
		if w.ctx.Err() != nil {
			return w.ctx.Err()
		}
	}
	if w.b.err != nil {
		return w.b.err
	}
	w.b.refresh()
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
		var err error
		if out, err = w.b.vals[id].AppendBinary(out); err != nil {
			return err
		}
		out = binary.AppendUvarint(out, uint64(counts[k]))
	}
	width := entryWidth(len(w.used))
	for _, e := range entries {
		out = append(out, byte(e))
		if width > 1 {
			out = append(out, byte(e>>8))
		}
		if width > 2 {
			out = append(out, byte(e>>16), byte(e>>24))
		}
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

// territory makes a chunk of codes.
func (w *chunker) territory(i, first, end int, dst []uint8) error {
	entries := (end - first) * w.rows
	if data, ok := w.load(i); ok && len(data) == entries {
		copy(dst, data)
		return nil
	}
	if dst == nil {
		w.bytes = slices.Grow(w.bytes[:0], entries)[:entries]
		dst = w.bytes
	}
	for k := first; k < end; k++ {
		w.b.fillTerritory(w.build.l.shapes[w.n][k], dst[(k-first)*w.rows:(k-first+1)*w.rows])
		if w.ctx.Err() != nil {
			return w.ctx.Err()
		}
	}
	return w.save(i, dst)
}

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

const chunkMagic = "AMZCHUNK"

// save writes a chunk so that it is there as a whole or, as its checksum tells, not: the
// magic, the SHA-256 of the configuration, the CRC-32C of the data, and the data. It is not
// synced: what a power cut spoils is made again.
func (w *chunker) save(i int, data []byte) error {
	w.buf.Reset()
	w.buf.WriteString(chunkMagic)
	w.buf.Write(w.sum[:])
	binary.Write(&w.buf, binary.LittleEndian, crc32.Checksum(data, castagnoli))
	name := w.name(i)
	f, err := w.o.create(name + ".tmp")
	if err != nil {
		return err
	}
	_, err = f.Write(w.buf.Bytes())
	if err == nil {
		_, err = f.Write(data)
	}
	if e := f.Close(); err == nil {
		err = e
	}
	if err == nil {
		err = os.Rename(name+".tmp", name)
	}
	if err != nil {
		os.Remove(name + ".tmp")
	}
	return err
}

// load returns the data of a chunk that an earlier run has made.
func (w *chunker) load(i int) ([]byte, bool) { return readChunk(w.name(i), w.sum) }

func readChunk(name string, sum [32]byte) ([]byte, bool) {
	data, err := os.ReadFile(name)
	head := len(chunkMagic) + len(sum) + 4
	if err != nil || len(data) < head || string(data[:len(chunkMagic)]) != chunkMagic ||
		[32]byte(data[len(chunkMagic):]) != sum ||
		binary.LittleEndian.Uint32(data[head-4:]) != crc32.Checksum(data[head:], castagnoli) {
		return nil, false
	}
	return data[head:], true
}

// assemble writes the file from the chunks.
func (b *build) assemble() error {
	// Values are numbered by how often they occur, so that those which do not fit
	// 16 bits are rare; 0 comes first. The negative of each value is in the list, too.
	counts := map[cgt.Value]uint64{{}: 0}
	squares := b.config.Squares()
	err := b.eachChunk(func(n int, c chunk, entries int) error {
		for i, v := range c.values {
			counts[v] += c.counts[i]
			counts[v.Neg()] += 0
		}
		return nil
	})
	if err != nil {
		return err
	}
	values := make([]cgt.Value, 0, len(counts))
	for v := range counts {
		values = append(values, v)
	}
	zero := cgt.Value{}
	slices.SortFunc(values, func(x, y cgt.Value) int {
		switch {
		case x == y:
			return 0
		case x == zero:
			return -1
		case y == zero:
			return 1
		}
		return cmp.Or(cmp.Compare(counts[y], counts[x]), x.Compare(y))
	})
	ids := make(map[cgt.Value]uint32, len(values))
	for i, v := range values {
		ids[v] = uint32(i)
	}

	tmp := filepath.Join(b.dir, "database.tmp")
	f, err := b.o.create(tmp)
	if err != nil {
		return err
	}
	defer os.Remove(tmp)
	w := newWriter(f, b.config)
	w.begin(sectionValueEnds, 0)
	end := uint32(0)
	for _, v := range values {
		code, err := v.MarshalBinary()
		if err != nil {
			return err
		}
		end += uint32(len(code))
		w.u32(end)
	}
	w.end(uint64(len(values)))
	w.begin(sectionValues, 0)
	for _, v := range values {
		code, _ := v.MarshalBinary()
		w.write(code)
	}
	w.end(uint64(len(values)))
	w.begin(sectionNegatives, 0)
	for _, v := range values {
		w.u32(ids[v.Neg()])
	}
	w.end(uint64(len(values)))
	for n := 1; n <= squares; n++ {
		w.begin(sectionShapes, n)
		for _, s := range b.l.shapes[n] {
			w.u64(s)
		}
		w.end(uint64(len(b.l.shapes[n])))
	}
	table := hashTable(b.l.shapes)
	w.begin(sectionHash, 0)
	for _, s := range table {
		w.u64(s.shape)
		w.u32(s.index)
		w.u32(0)
	}
	w.end(uint64(len(table)))

	// The values, then those of them whose ids do not fit.
	var escapes []escape
	at := uint64(0)
	open := 0
	err = b.eachChunk(func(n int, c chunk, entries int) error {
		if open != n {
			if open > 0 {
				w.end(at)
			}
			w.begin(sectionActive, n)
			open, at = n, 0
		}
		local := make([]uint32, len(c.values))
		for i, v := range c.values {
			local[i] = ids[v]
		}
		out := make([]byte, 0, 2*entries)
		for i := range entries {
			e := c.entry(i)
			if int(e) >= len(local) {
				return fmt.Errorf("chunk of %d squares: entry %d: no value %d", n, i, e)
			}
			id := local[e]
			if id >= escaped {
				escapes = append(escapes, escape{uint64(n)<<56 | at, id})
				id = escaped
			}
			out = binary.LittleEndian.AppendUint16(out, uint16(id))
			at++
		}
		w.write(out)
		return w.err
	})
	if err != nil {
		f.Close()
		return err
	}
	w.end(at)
	w.begin(sectionEscapeKeys, 0)
	for _, e := range escapes {
		w.u64(e.key)
	}
	w.end(uint64(len(escapes)))
	w.begin(sectionEscapeIDs, 0)
	for _, e := range escapes {
		w.u32(e.id)
	}
	w.end(uint64(len(escapes)))
	for n := 1; n <= squares; n++ {
		w.begin(sectionTerritory, n)
		rows := b.l.layouts[n].territoryRows
		shapes, count := b.chunks(n, rows)
		for i := range count {
			data, ok := readChunk(filepath.Join(b.dir, fmt.Sprintf("territory-%02d-%05d", n, i)), b.sum)
			if want := rows * min(shapes, len(b.l.shapes[n])-i*shapes); !ok || len(data) != want {
				f.Close()
				return fmt.Errorf("a finished part, %s, has changed; run again",
					fmt.Sprintf("territory-%02d-%05d", n, i))
			}
			w.write(data)
			if err := b.ctx.Err(); err != nil {
				f.Close()
				return err
			}
		}
		w.end(uint64(rows * len(b.l.shapes[n])))
	}
	if err := w.finish(); err != nil {
		f.Close()
		return err
	}
	if err := f.Sync(); err != nil {
		f.Close()
		return err
	}
	if err := f.Close(); err != nil {
		return err
	}
	return disk.Rename(tmp, b.path)
}

// lock takes the lock of the named file, or fails with ErrBusy. The lock goes with the process.
func lock(name string) (unlock func(), err error) {
	f, err := os.OpenFile(name, os.O_CREATE|os.O_RDWR, 0o666)
	if err != nil {
		return nil, err
	}
	if err := disk.Lock(f, true, 0); err != nil {
		f.Close()
		if errors.Is(err, disk.ErrLocked) {
			err = ErrBusy
		}
		return nil, err
	}
	return func() { f.Close() }, nil
}

// eachChunk calls f with all chunks of values, in order.
func (b *build) eachChunk(f func(n int, c chunk, entries int) error) error {
	for n := 1; n <= b.config.Squares(); n++ {
		rows := b.l.layouts[n].rows
		shapes, count := b.chunks(n, rows)
		for i := range count {
			if err := b.ctx.Err(); err != nil {
				return err
			}
			name := fmt.Sprintf("active-%02d-%05d", n, i)
			entries := rows * min(shapes, len(b.l.shapes[n])-i*shapes)
			data, ok := readChunk(filepath.Join(b.dir, name), b.sum)
			c, good := parseChunk(data, entries)
			if !ok || !good {
				return fmt.Errorf("a finished part, %s, has changed; run again", name)
			}
			if err := f(n, c, entries); err != nil {
				return err
			}
		}
	}
	return nil
}

// escape is an entry whose value has an id of escaped or more.
type escape struct {
	key uint64
	id  uint32
}

// slot is a place in the hash table of shapes.
type slot struct {
	shape Set
	index uint32
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

func hash(s Set) uint64 {
	s *= 0x9e3779b97f4a7c15
	return s ^ s>>32
}
