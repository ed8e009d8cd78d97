package main

import (
	"context"
	"sync"
	"time"
)

// clock is time in which the farm may run. A machine that is shared may stop all processes of a
// niceness for some minutes, this one among them; such time is not counted, or workers would come
// and go all at once after it.
type clock struct {
	mu    sync.Mutex
	now   time.Duration
	stood time.Duration // not counted
}

// The clock is read and waited for in steps. A step that takes longer than still was none in which
// the processes ran.
const (
	step  = 100 * time.Millisecond
	still = 3 * time.Second
)

// advance notes that so much time has passed since it was last called.
func (c *clock) advance(d time.Duration) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if d > still {
		c.stood += d - step
		d = step
	}
	c.now += d
}

// run lets the clock go until ctx ends.
func (c *clock) run(ctx context.Context) {
	ticks := time.NewTicker(step)
	defer ticks.Stop()
	last := time.Now()
	for {
		select {
		case <-ctx.Done():
			return
		case <-ticks.C:
		}
		now := time.Now()
		c.advance(now.Sub(last))
		last = now
	}
}

func (c *clock) read() (now, stood time.Duration) {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.now, c.stood
}

// until waits for a time of the clock. It reports false where something else came first: the end of
// ctx, or of what done stands for.
func (c *clock) until(ctx context.Context, at time.Duration, done <-chan struct{}) bool {
	ticks := time.NewTicker(step / 2)
	defer ticks.Stop()
	for {
		if now, _ := c.read(); now >= at {
			return true
		}
		select {
		case <-ctx.Done():
			return false
		case <-done:
			return false
		case <-ticks.C:
		}
	}
}
