package engine

import (
	"context"
	"sync/atomic"
	"time"

	"amazonsfarm/shared/amazons"
	"amazonsfarm/shared/dfpn"
	"amazonsfarm/shared/eval"
)

// witness is the search as a proof builder sees it. It counts the builder's questions.
type witness struct {
	*dfpn.Witness
	asked atomic.Uint64 // questions of the builder
	nodes atomic.Uint64 // of searches made for the builder
}

// Probe implements proof.Searcher.
func (w *witness) Probe(s amazons.State) (eval.Verdict, uint64) {
	w.asked.Add(1)
	return w.Witness.Probe(s)
}

// Best implements proof.Searcher. It counts as a sign of life: often the builder asks nothing else.
func (w *witness) Best(s amazons.State) (amazons.Move, bool) {
	w.asked.Add(1)
	return w.Witness.Best(s)
}

// Solve implements proof.Searcher.
func (w *witness) Solve(ctx context.Context, s amazons.State) (eval.Verdict, error) {
	before := w.Witness.Nodes()
	v, err := w.Witness.Solve(ctx, s)
	w.nodes.Add(w.Witness.Nodes() - before)
	return v, err
}

// Nodes returns the nodes of all searches made for the builder.
func (w *witness) Nodes() uint64 { return w.nodes.Load() }

// activity is a number that changes with everything that is done for the builder.
func (e *Engine) activity() (sum uint64) {
	for _, w := range e.proofs {
		sum += w.asked.Load() + w.nodes.Load()
	}
	return sum + e.search.Progress().Nodes
}

// every calls f once a period until stop is called. stop waits for the last call to end.
func every(period time.Duration, f func()) (stop func()) {
	quit, done := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(done)
		tick := time.NewTicker(period)
		defer tick.Stop()
		for {
			select {
			case <-quit:
				return
			case <-tick.C:
				f()
			}
		}
	}()
	return func() { close(quit); <-done }
}
