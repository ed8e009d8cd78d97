package main

import (
	"errors"
	"fmt"
	"os"
	"slices"
	"syscall"
	"time"
)

// encore starts the master of the solved campaign again, as often as the plan says and once more,
// to the end.
func (c *campaign) encore() error {
	for _, e := range append(slices.Clone(c.Encores), encore{Remove: true}) {
		if e.Full && !c.small {
			c.skipped++
			continue
		}
		last := e.For == 0
		c.say("%v", e)
		if e.Remove {
			for _, file := range c.proofs() {
				if err := os.Remove(file); err != nil && !errors.Is(err, os.ErrNotExist) {
					return err
				}
			}
		}
		if e.Full {
			c.done[full]++
			if err := c.filler.fill(0); err != nil {
				return err
			}
		}
		c.master.ended = false
		if err := c.master.start(); err != nil {
			return err
		}
		var due <-chan time.Time
		if !last {
			due = time.After(e.For)
		}
		clock := time.NewTicker(time.Second)
		defer clock.Stop()
		idle := time.Duration(0) // by a clock that stands still while we do
		for running := true; running; {
			select {
			case <-due:
				if e.Full {
					if err := c.filler.empty(); err != nil {
						return err
					}
				} else if c.master.signal(syscall.SIGKILL) {
					c.master.killed = true
					c.masters++
					c.done[kill]++
				}
			case <-clock.C:
				if idle += time.Second; idle < limit {
					continue
				}
				c.hang()
				return fmt.Errorf("a solved campaign does not end in %v; %v", limit, c.status())
			case <-c.due:
			case x := <-c.exits:
				if x.process != c.master {
					x.process.cmd = nil
					continue
				}
				if err := c.exited(x); err != nil {
					return err
				}
				if !c.master.killed && x.code != 0 {
					return fmt.Errorf("a solved campaign ended with exit code %d: %s", x.code, c.master.last())
				}
				running = false
			}
		}
		if c.filler.users > 0 {
			if e.Remove {
				return errors.New("a solved campaign ended on a full disk without its certificate")
			}
			if err := c.filler.empty(); err != nil {
				return err
			}
		}
	}
	return nil
}
