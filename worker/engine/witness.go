package engine

import "time"

// activity is a number that changes with everything that is done for the builder.
func (e *Engine) activity() (sum uint64) {
	for _, w := range e.search.Witnesses {
		sum += w.Asked() + w.Nodes()
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
