package cli

import (
	"context"
	"os"
	"os/signal"
	"syscall"
)

// Signals returns two contexts: drain ends at the first SIGINT or SIGTERM, abort at the second. A third one ends the
// process, in case something does not look at its context.
// Both end with parent, and drain whenever abort does. stop ends the watching and both contexts.
func Signals(parent context.Context) (drain, abort context.Context, stop func()) {
	abort, cut := context.WithCancel(parent)
	drain, end := context.WithCancel(abort)
	signals := make(chan os.Signal, 2)
	signal.Notify(signals, syscall.SIGINT, syscall.SIGTERM)
	done := make(chan struct{})
	go func() {
		defer close(done)
		for _, cancel := range []func(){end, cut} {
			select {
			case <-signals:
				cancel()
			case <-abort.Done():
				return
			}
		}
		signal.Stop(signals)
	}()
	return drain, abort, func() {
		signal.Stop(signals)
		cut()
		end()
		<-done
	}
}
