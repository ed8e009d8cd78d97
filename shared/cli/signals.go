package cli

import (
	"context"
	"io"
	"os"
	"os/signal"
	"syscall"

	"github.com/spf13/cobra"
)

// Signals returns two contexts: drain ends at the first SIGINT, SIGTERM or SIGHUP, abort at the second. A third one
// ends the process, in case something does not look at its context. SIGHUP comes when a terminal is closed; a process
// that was started to outlive that (nohup) stays as it is.
// Both end with parent, and drain whenever abort does. stop ends the watching and both contexts.
func Signals(parent context.Context) (drain, abort context.Context, stop func()) {
	abort, cut := context.WithCancel(parent)
	drain, end := context.WithCancel(abort)
	signals := make(chan os.Signal, 2)
	signal.Notify(signals, syscall.SIGINT, syscall.SIGTERM)
	if !signal.Ignored(syscall.SIGHUP) {
		signal.Notify(signals, syscall.SIGHUP)
	}
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

// Interruptible makes a command of a function whose context ends at the first signal.
func Interruptible(run func(context.Context, *cobra.Command, []string) error) func(*cobra.Command, []string) error {
	return func(c *cobra.Command, args []string) error {
		ctx, _, stop := Signals(c.Context())
		defer stop()
		return run(ctx, c, args)
	}
}

// Reader returns a reader of what r has. It fails with the error of ctx once that ends, and leaves a read of r that
// waits behind: nothing else ends a read of standard input. The checker has the same few lines, since it imports no
// other package of this module.
func Reader(ctx context.Context, r io.Reader) io.Reader {
	out, in := io.Pipe()
	context.AfterFunc(ctx, func() { in.CloseWithError(ctx.Err()) })
	go func() {
		_, err := io.Copy(in, r)
		in.CloseWithError(err)
	}()
	return out
}
