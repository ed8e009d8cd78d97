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

	"amazonsfarm/master/hints"
	"amazonsfarm/master/tree"
	farmv1 "amazonsfarm/proto/farm/v1"
	"amazonsfarm/shared/amazons"
	"amazonsfarm/shared/eval"
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

	hints *hints.Cache // of open positions, kept by the master

	result Result
	done   bool
	nodes  uint64        // searched
	busy   time.Duration // of all workers
	proved time.Duration // of all workers, extracting
	wait   time.Duration // of all workers at the master, for work
	closed uint64        // nodes of leases cancelled as closed
	late   uint64        // of these, searched after that
	trace  hash.Hash
}

// Run simulates one campaign to its answer. It ends early with ctx. Errors: ErrConfig,
// tree.ErrConfig, ErrLimit, those of ctx, or a contradiction, which would be a fault of the search,
// joined with the errors of releasing the tables.
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
		hints: hints.NewCache(c.HintBytes), trace: sha256.New(),
	}
	f.hire()
	defer func() {
		all := []error{err}
		for _, w := range f.workers {
			all = append(all, w.close())
		}
		err = errors.Join(all...)
	}()
	f.after(tick, f.tick)
	for !f.done {
		if ctx.Err() != nil {
			return Result{}, context.Cause(ctx)
		}
		if f.nodes > c.MaxNodes {
			return Result{}, fmt.Errorf("%w: %d nodes after %v", ErrLimit, f.nodes, f.now)
		}
		if err := f.next(); err != nil {
			return Result{}, err
		}
	}
	return f.conclude(), nil
}

// hire makes the workers and plans their arrival.
func (f *farm) hire() {
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
	f.after(tick, f.tick)
	f.hints.Retain(func(of hints.Place) bool { return f.tree.Open(of.Key) })
	return f.step(tree.Tick{})
}

// alive returns the worker with a name, nil if it has crashed: its next life has another name.
func (f *farm) alive(name string) *worker {
	if w := f.byName[name]; w != nil && w.name == name {
		return w
	}
	return nil
}

// step gives the tree an event and does what follows.
func (f *farm) step(ev tree.Event) error {
	f.result.Steps++
	fmt.Fprintln(f.trace, f.now, ev)
	for _, e := range f.tree.Step(ev) {
		fmt.Fprintln(f.trace, e)
		var err error
		switch e := e.(type) {
		case tree.Grant:
			f.result.Leases++
			w := f.alive(e.Worker)
			if w == nil {
				continue
			}
			w.granted()
			// A check has to be made without the hints of the one that is checked, or it would
			// repeat its mistakes.
			var known [][]byte
			if !e.Lease.Check {
				// In reality the store has more hints than the cache; here it has none.
				known = f.hints.For(0, f.tree.Above(e.Lease.Key, hints.PerLease), w.seen,
					func(hints.Place) []byte { return nil })
			}
			err = w.receive(leaseOf(e.Lease, known))
		case tree.Inform:
			err = f.alive(e.Worker).receive(&farmv1.WorkResponse{
				Kind: &farmv1.WorkResponse_News{News: &farmv1.News{Facts: farmv1.WriteFacts(e.Facts)}}})
		case tree.Cancel:
			f.result.Cancels++
			err = f.alive(e.Worker).receive(cancelOf(e))
		case tree.NoWork:
			// It arrives at once: a delay of its own would change those of all others.
			err = f.alive(e.Worker).arrive(&farmv1.WorkResponse{
				Kind: &farmv1.WorkResponse_NoWork{NoWork: &farmv1.NoWork{}}})
		case tree.Checked:
			if e.Confirmed {
				f.result.Confirmed++
			} else {
				f.result.Contradicted++
			}
		case tree.Settled:
			f.result.Answer = e.String()
			f.done = true
		case tree.Contradiction:
			err = errors.New(e.String())
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// keep keeps hints for a position that is still open.
func (f *farm) keep(w *worker, key, data []byte) {
	k, _ := amazons.KeyFromBytes(key) // of the machine: it has the right length
	if len(data) > 0 && f.tree.Open(k) && f.tree.Trusted(w.name) {
		f.hints.Put(hints.Hint{Place: hints.Place{Key: k}, Data: data}, w.seen)
	}
}

// conclude sums up.
func (f *farm) conclude() Result {
	for _, w := range f.workers {
		w.settle()
	}
	r := f.result
	s := f.tree.Status()
	// All workers share the checks, whoever brought the parts.
	checks := f.busy.Seconds() * f.c.CheckShare
	all := f.now.Seconds()*float64(f.c.Workers) + checks
	share := func(x, of float64) float64 {
		if of == 0 {
			return 0
		}
		return x / of
	}
	r.Workers, r.Seconds, r.Nodes = f.c.Workers, all/float64(f.c.Workers), f.nodes*f.c.Scale
	r.Extracting, r.Checking = share(f.proved.Seconds(), all), share(checks, all)
	r.Busy, r.Starved = share(f.busy.Seconds(), all), share(f.wait.Seconds(), all)
	r.Late, r.Closed = share(float64(f.late), float64(f.nodes)), share(float64(f.closed), float64(f.nodes))
	needed, _ := f.tree.Needed()
	r.Needed = share(float64(needed), float64(f.nodes))
	r.TreeNodes, r.Expanded, r.Facts = s.Nodes, s.Expanded, s.FactsWon+s.FactsLost
	r.Trace = fmt.Sprintf("%x", f.trace.Sum(nil)[:8])
	return r
}
