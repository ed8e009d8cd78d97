package agent

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"sync"
	"time"

	farmv1 "amazonsfarm/proto/farm/v1"
	"amazonsfarm/shared/amazons"
	"amazonsfarm/shared/proof"
	"amazonsfarm/worker/engine"

	"google.golang.org/grpc"
)

// Solver is what the agent needs of an [engine.Engine]. Its methods are called by one goroutine at
// a time, but Learn by another one.
type Solver interface {
	Run(ctx context.Context, job Job, progress func(engine.Progress)) (Result, error)
	Hints() []byte
	Prove(ctx context.Context, facts []proof.Fact, alive func(proved int)) ([]Part, error)
	Forget(told bool)
	Learn(facts []proof.Fact)
	Close() error
}

// Run works for the master at the other end of conn. It returns nil when the campaign is finished,
// when there was no work for Config.IdleTimeout, and after a drain. An error wraps ErrUndelivered
// when the drain took too long, ErrConfig, ErrUnreachable, ErrRefused or ErrProtocol, or is the
// engine's. When ctx ends, Run returns its error at once and returns no lease. All goroutines have
// ended then; conn stays open.
func Run(ctx context.Context, conn grpc.ClientConnInterface, c Config) error {
	m, err := NewMachine(c, 0)
	if err != nil {
		return err
	}
	ctx, cancel := context.WithCancel(ctx)
	a := &agent{Config: m.c, machine: m, client: farmv1.NewFarmClient(conn), began: time.Now(),
		engine: make(chan Event), failed: make(chan error, 1)}
	err = a.run(ctx)
	cancel()
	if a.conn != nil {
		a.conn.hangUp()
	}
	a.work.Wait()
	if a.solver != nil {
		err = errors.Join(err, a.solver.Close())
	}
	return err
}

// agent carries out the effects of a machine. One goroutine owns it, in run. It never waits for the
// network or the engine: other goroutines do, and tell it.
type agent struct {
	Config
	machine *Machine
	client  farmv1.FarmClient
	began   time.Time // the machine's zero

	conn *connection // nil: none

	solver Solver             // nil: none yet
	engine chan Event         // from the goroutine that is at work on it
	failed chan error         // from there, of the engine
	work   sync.WaitGroup     // of that goroutine
	stop   context.CancelFunc // ends its work early; nil: the solver is free
	forget bool               // when the solver is free
	told   bool               // with forget: also its table
}

// run gives the machine its events until it ends.
func (a *agent) run(ctx context.Context) error {
	drain := a.Drain
	timer := time.NewTimer(0)
	defer timer.Stop()
	over, err := a.step(ctx, Tick{})
	for !over && err == nil {
		timer.Reset(a.machine.Wake() - time.Since(a.began))
		var ev Event
		// A channel on which nothing can happen is nil here, and select never chooses it.
		told, received, writer, next := a.conn.channels()
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-drain:
			drain = nil
			ev = Drain{}
		case <-timer.C:
			ev = Tick{}
		case err := <-a.failed:
			return fmt.Errorf("engine: %w", err)
		case ev = <-a.engine:
			a.freed(ev)
		case ev = <-told:
		case m := <-received:
			ev = Received{m}
		case writer <- next:
			a.conn.outgoing = a.conn.outgoing[1:]
			continue
		}
		over, err = a.step(ctx, ev)
	}
	return err
}

// step gives the machine one event and carries out the effects.
func (a *agent) step(ctx context.Context, ev Event) (over bool, err error) {
	// The goroutines of the connection have ended before the machine hears of it and asks for another one.
	if lost, ok := ev.(Lost); ok {
		a.conn.hangUp()
		a.conn = nil
		lost.Jitter = rand.Float64()
		ev = lost
	}
	var hangUp error
	for _, e := range a.machine.Step(time.Since(a.began), ev) {
		switch e := e.(type) {
		case Join:
			a.conn = a.connect(ctx)
		case HangUp:
			hangUp = e.Err
		case Send:
			a.conn.send(e.Message)
		case Upload:
			a.conn.upload(e)
		case Examine:
			a.conn.examine(e)
		case Equip:
			err = a.equip(e.Config)
		case Search:
			a.search(ctx, e)
		case Stop:
			if a.stop != nil {
				a.stop()
			}
		case Gather:
			a.gather(ctx, e)
		case Forget:
			a.told = a.told || e.Told
			if a.forget = true; a.stop == nil {
				a.freed(nil)
			}
		case Learn:
			a.solver.Learn(e.Facts)
		case End:
			return true, e.Err
		}
		if err != nil {
			return true, fmt.Errorf("engine: %w", err)
		}
	}
	// The other effects of the step came first; now the machine hears of the end that it asked for.
	if hangUp != nil {
		return a.step(ctx, Lost{Err: hangUp})
	}
	return false, nil
}

// equip replaces the solver, which is free.
func (a *agent) equip(c engine.Config) (err error) {
	if a.solver != nil {
		old := a.solver
		a.solver = nil
		if err := old.Close(); err != nil {
			return err
		}
	}
	a.solver, err = a.NewSolver(c)
	if err != nil {
		a.solver = nil
	}
	return err
}

// tell hands an event of the engine over, unless the agent ends.
func (a *agent) tell(ctx context.Context, ev Event) { hand(ctx, a.engine, ev) }

// hand sends a value. It returns false when ctx ends before.
func hand[T any](ctx context.Context, to chan<- T, value T) bool {
	select {
	case to <- value:
		return true
	case <-ctx.Done():
		return false
	}
}

// freed notes that the engine's work may have ended, and has the engine forget if that waits.
func (a *agent) freed(ev Event) {
	switch ev.(type) {
	case Searched, Gathered:
		a.stop()
		a.stop = nil
	}
	if a.forget && a.stop == nil {
		a.solver.Forget(a.told)
		a.forget, a.told = false, false
	}
}

// search searches one slice of a lease.
func (a *agent) search(ctx context.Context, e Search) {
	slice, stop := context.WithTimeout(ctx, e.Limit)
	a.stop = stop
	// Until Searched or Gathered comes back, the goroutine has the solver, and only Learn may touch it.
	solver := a.solver
	a.work.Go(func() {
		defer a.Stats.Search.Since(time.Now())
		r, err := solver.Run(slice, e.Job, func(p engine.Progress) {
			a.tell(ctx, Searching{p.Nodes, p.Evaluations, p.TableFill, p.Outlook})
		})
		if err != nil {
			a.failed <- fmt.Errorf("search: %w", err)
			return
		}
		a.tell(ctx, Searched{r, slice.Err() != nil})
	})
}

// gather has the engine prove what a slice found, and asks it what its table knows.
func (a *agent) gather(ctx context.Context, e Gather) {
	limited, stop := context.WithTimeout(ctx, cmp.Or(e.Limit, math.MaxInt64)) // without a limit: 292 years
	a.stop = stop
	solver := a.solver
	a.work.Go(func() {
		var out Gathered
		var err error
		if len(e.Facts) > 0 {
			defer a.Stats.Extract.Since(time.Now())
			out.Parts, err = solver.Prove(limited, e.Facts, func(n int) { a.tell(ctx, Alive{Done: n}) })
		}
		if err != nil {
			a.failed <- fmt.Errorf("gather evidence: %w", err)
			return
		}
		// Hints are for those who search the position further, which nobody does once it is proved.
		if _, proved := factOf(out.Parts, e.Key); !proved && e.Key != (amazons.Key{}) {
			out.Hints = solver.Hints()
		}
		a.tell(ctx, out)
	})
}
