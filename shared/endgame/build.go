package endgame

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"sync"
	"time"

	"amazonsfarm/shared/disk"
	"amazonsfarm/shared/memory"
)

// ErrBusy is wrapped by the error of a build whose folder another process uses.
var ErrBusy = errors.New("another process is building this database")

// Progress says how far a build has come.
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
	// create makes files. A test puts a failing function here.
	create func(name string) (file, error)
}

// file is what a build writes to.
type file interface {
	io.Writer
	io.WriterAt
	Sync() error
	Close() error
}

// Build makes the database that c describes, in the file path. It keeps a file that is this database
// and whole, and otherwise replaces it at the very end. Finished parts lie in the folder
// path+".part", from where an interrupted build continues. The bytes of the result depend neither on
// interruptions nor on the number of workers.
//
// Errors wrap ErrSize, ErrBusy, the context's error, cgt.ErrOverflow or an error of the file system.
func Build(ctx context.Context, path string, c Config, o Options) error {
	if err := c.Validate(); err != nil {
		return err
	}
	if o.Workers <= 0 {
		o.Workers = runtime.GOMAXPROCS(0)
	}
	if o.create == nil {
		o.create = func(name string) (file, error) { return os.Create(name) }
	}
	b := &build{ctx: ctx, path: path, dir: path + ".part", config: c, sum: c.Sum(), o: o, start: time.Now()}
	if err := b.run(); err != nil {
		return fmt.Errorf("build database %s: %w", c.Name(), err)
	}
	return nil
}

// build is a build under way.
// The goroutines of a layer share a build. mu guards the fields below it. The others stand still while a
// layer is made, but for the rows of that layer: each goroutine fills those of its own chunks.
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

// clear removes the folder of a finished build. Another process may have locked the folder just now;
// it will find the database and remove the folder itself.
func (b *build) clear() error {
	// A folder that is not empty again counts as existing.
	if err := os.RemoveAll(b.dir); err != nil && !errors.Is(err, fs.ErrExist) {
		return err
	}
	return nil
}

// run makes the database, under the lock of its folder: first the values of both sides, layer by layer, then the
// territories, then the file. Each layer is read from the chunks of an earlier run as far as they are there.
func (b *build) run() error {
	if err := os.MkdirAll(b.dir, 0o777); err != nil {
		return err
	}
	unlock, err := lock(filepath.Join(b.dir, "lock"))
	if errors.Is(err, fs.ErrNotExist) {
		return ErrBusy // another process has just removed the folder
	} else if err != nil {
		return err
	}
	defer unlock()
	defer b.release()
	// Another process may have finished this database while it had the lock.
	if db, err := Open(b.path); err == nil {
		same := db.Config().String() == b.config.String() && db.Check() == nil
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
	// Territories need shapes and layouts only. Their memory can be what the values leave.
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

// release releases the memory of layers.
func (b *build) release() {
	for _, free := range b.free {
		free()
	}
	b.free = nil
}

// activeCost is the time of a placement of both sides, in placements of territories.
const activeCost = 3

// report adds to the counters and calls Progress.
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

// chunkEntries is about how many entries one chunk of a layer has. A worker makes one chunk at a
// time, and an interrupted build loses no more than that for each worker.
const chunkEntries = 1 << 18

// chunks returns how many shapes a chunk has, and how many chunks a layer.
func (b *build) chunks(n, rows int) (shapes, count int) {
	shapes = max(1, chunkEntries/rows)
	return shapes, (len(b.l.shapes[n]) + shapes - 1) / shapes
}

// layer makes all chunks of a layer. The entries stay in memory for the next layer, unless this is
// the last.
func (b *build) layer(n int, active, last bool) error {
	w := chunker{build: b, n: n, active: active, rows: b.l.layouts[n].territoryRows, stage: "territory"}
	if active {
		w.rows, w.stage = b.l.layouts[n].rows, "active"
	}
	shapes, count := b.chunks(n, w.rows)
	if !last {
		if err := b.reserve(n, w.rows, active); err != nil {
			return err
		}
	}
	next := 0
	// take hands out the chunks in order, -1 when none is left, another goroutine has failed, or ctx has ended.
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
			w := w
			w.b = &builder{layers: &b.l}
			if active { // a builder of territories counts moves and needs no algebra
				w.b.worker, w.b.sums = b.a.worker(), map[sumKey]uint32{}
			}
			for i := take(); i >= 0; i = take() {
				if err := w.make(i, i*shapes, min((i+1)*shapes, len(b.l.shapes[n])), last); err != nil {
					b.mu.Lock()
					b.err = cmp.Or(b.err, err)
					b.mu.Unlock()
					return
				}
			}
		})
	}
	wg.Wait()
	return b.err
}

// reserve gets the memory of a layer.
// It lies outside of Go's heap where the system allows that. Release gives it back at once, without
// waiting for the garbage collector.
func (b *build) reserve(n, rows int, active bool) error {
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
	return nil
}

// lock locks the named file, or fails with ErrBusy. The lock ends with the process.
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
