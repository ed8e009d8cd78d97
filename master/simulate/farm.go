package simulate

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"hash"
	"math"
	"math/rand/v2"
	"time"

	"amazonsfarm/master/tree"
	"amazonsfarm/shared/amazons"
	"amazonsfarm/shared/eval"
)

// Limits of what travels with a lease, as in master/rpc.
const (
	memoriesPerLease = 4
	memoryBytes      = 4 << 20
	memoriesKept     = 1 << 12 // positions whose memories the master keeps
)

// farm is one run.
type farm struct {
	queue
	c     Config
	r     *rand.Rand
	tree  *tree.Tree
	judge func() *eval.Judge

	workers []*worker
	byName  map[string]*worker

	memories map[amazons.Key]memory // of open positions, kept by the master
	version  uint64

	result Result
	done   bool
	nodes  uint64        // searched
	busy   time.Duration // of all workers
	wait   time.Duration // of all workers at the master, for work
	closed uint64        // nodes of leases called back as closed
	late   uint64        // of these, searched after that
	trace  hash.Hash
}

// memory is what a table knew of a position.
type memory struct {
	data    []byte
	version uint64
}

// Run simulates one campaign to its answer. It ends early with ctx. Errors: ErrConfig, tree.ErrConfig, ErrLimit, those of ctx, or a
// contradiction, which would be a fault of the search, joined with those of giving back the memory of tables.
func Run(ctx context.Context, c Config) (_ Result, err error) {
	if c, err = c.withDefaults(); err != nil {
		return Result{}, err
	}
	t, err := tree.New(c.Tree, tree.Snapshot{})
	if err != nil {
		return Result{}, err
	}
	f := &farm{
		c: c, r: rand.New(rand.NewPCG(c.Seed, 1)), tree: t, judge: c.judge(), byName: map[string]*worker{},
		memories: map[amazons.Key]memory{}, trace: sha256.New(),
	}
	if err := f.hire(); err != nil {
		return Result{}, err
	}
	defer func() {
		all := []error{err}
		for _, w := range f.workers {
			all = append(all, w.close())
		}
		err = errors.Join(all...)
	}()
	f.after(c.Tick, f.tick)
	for !f.done {
		if ctx.Err() != nil {
			return Result{}, context.Cause(ctx)
		}
		if f.nodes > c.MaxNodes {
			return Result{}, fmt.Errorf("%w: %d nodes after %v", ErrLimit, f.nodes, f.now)
		}
		if _, err := f.next(); err != nil {
			return Result{}, err
		}
	}
	return f.conclude(), nil
}

// hire makes the workers and plans their arrival.
func (f *farm) hire() error {
	speeds := make([]float64, f.c.Workers)
	var sum float64
	for i := range speeds {
		speeds[i] = math.Exp((2*f.r.Float64() - 1) * math.Log1p(f.c.SpeedSpread))
		sum += speeds[i]
	}
	for i := range speeds {
		w := &worker{farm: f, number: i, speed: speeds[i] / sum * float64(f.c.Workers) * f.c.Speed}
		f.workers = append(f.workers, w)
		f.after(0, w.start)
		if f.c.CrashRate > 0 {
			f.planCrash(w)
		}
	}
	return nil
}

// planCrash plans the next crash of w: the time between two is exponentially distributed.
func (f *farm) planCrash(w *worker) {
	hours := f.r.ExpFloat64() / f.c.CrashRate
	f.after(time.Duration(min(hours, 1e5)*float64(time.Hour)), func() error {
		w.crash()
		f.planCrash(w)
		return nil
	})
}

// delay returns how long a message travels.
func (f *farm) delay() time.Duration {
	return time.Duration((0.5 + f.r.Float64()) * float64(f.c.Delay))
}

// breaks says whether a message gets lost.
func (f *farm) breaks() bool { return f.c.LossRate > 0 && f.r.Float64() < f.c.LossRate }

func (f *farm) tick() error {
	f.after(f.c.Tick, f.tick)
	return f.step(tree.Tick{})
}

// step gives the tree an event and does what follows.
func (f *farm) step(ev tree.Event) error {
	f.result.Steps++
	fmt.Fprintln(f.trace, f.now, ev)
	for _, e := range f.tree.Step(ev) {
		fmt.Fprintln(f.trace, e)
		switch e := e.(type) {
		case tree.Grant:
			f.result.Leases++
			w := f.byName[e.Worker]
			if w == nil || w.name != e.Worker { // granted to a worker that crashed
				continue
			}
			w.granted()
			var memories [][]byte
			if !e.Lease.Check {
				memories = f.memoriesFor(w, e.Lease.Key)
			}
			w.receive(func() error { return w.take(e.Lease, memories) })
		case tree.Inform:
			if w := f.byName[e.Worker]; w != nil && w.name == e.Worker {
				w.receive(func() error { return w.learn(e.Facts) })
			}
		case tree.Cancel:
			f.result.Cancels++
			if w := f.byName[e.Worker]; w != nil && w.name == e.Worker {
				w.receive(func() error { return w.cancel(e) })
			}
		case tree.Checked:
			if e.Agreed {
				f.result.Confirmed++
			} else {
				f.result.Contradicted++
			}
		case tree.Settled:
			f.result.Answer = e.String()
			f.done = true
		case tree.Contradiction:
			return errors.New(e.String())
		}
	}
	return nil
}

// keep takes the memory of a position that is still open.
func (f *farm) keep(w *worker, k amazons.Key, data []byte) {
	if len(data) == 0 || !f.tree.Open(k) || !f.tree.Trusted(w.name) {
		return
	}
	if len(f.memories) >= memoriesKept {
		for k := range f.memories {
			if !f.tree.Open(k) {
				delete(f.memories, k)
			}
		}
	}
	if _, ok := f.memories[k]; !ok && len(f.memories) >= memoriesKept {
		return
	}
	f.version++
	f.memories[k] = memory{data, f.version}
	w.seen[k] = f.version
}

// memoriesFor returns the memories that w lacks for a position: its own and those of positions above it.
func (f *farm) memoriesFor(w *worker, k amazons.Key) (out [][]byte) {
	size := 0
	for _, k := range f.tree.Above(k, memoriesPerLease) {
		m, ok := f.memories[k]
		if !ok || w.seen[k] == m.version || size+len(m.data) > memoryBytes {
			continue
		}
		w.seen[k] = m.version
		size += len(m.data)
		out = append(out, m.data)
	}
	return out
}

// conclude sums up.
func (f *farm) conclude() Result {
	for _, w := range f.workers {
		w.settle()
	}
	r := f.result
	s := f.tree.Status()
	all := f.now.Seconds() * float64(f.c.Workers)
	share := func(x, of float64) float64 {
		if of == 0 {
			return 0
		}
		return x / of
	}
	r.Workers, r.Seconds, r.Nodes = f.c.Workers, f.now.Seconds(), f.nodes*f.c.Scale
	r.Busy, r.Starved = share(f.busy.Seconds(), all), share(f.wait.Seconds(), all)
	r.Late, r.Closed = share(float64(f.late), float64(f.nodes)), share(float64(f.closed), float64(f.nodes))
	needed, _ := f.tree.Needed()
	r.Needed = share(float64(needed), float64(f.nodes))
	r.TreeNodes, r.Expanded, r.Facts = s.Nodes, s.Expanded, s.FactsWon+s.FactsLost
	r.Trace = fmt.Sprintf("%x", f.trace.Sum(nil)[:8])
	return r
}
