package campaign

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net"
	"sync"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/test/bufconn"

	"amazonsfarm/master/rpc"
	"amazonsfarm/worker/agent"
)

// memoryBuffer is the size of the buffer of an in-memory connection, in bytes each way.
const memoryBuffer = 1 << 20

// workersOfConnection is how many workers share an in-memory connection. Each has its stream and uploads parts, and
// a connection may have 256 calls. With one connection a worker, the buffers of many workers would take gigabytes.
const workersOfConnection = 64

// RunEmbedded runs the campaign with workers in this process, over gRPC on in-memory connections:
// the same code as on many machines. It returns what Loop.Run returns, or the errors of all
// workers when none could go on. A drain that ends calls the leases back first; ctx ends everything
// at once.
// At its end the deferred calls stop, in this order: the workers, their connections, the server, and the
// goroutines around it. Each still needs the next one while it stops.
func (f *Farm) RunEmbedded(ctx context.Context, drain <-chan struct{}, workers []agent.Config) error {
	listener := bufconn.Listen(memoryBuffer)
	server := rpc.NewServer(f.Loop, f.Services, rpc.ServerOptions{Registerer: f.options.Registerer, Log: f.options.Log})
	var shell, agents sync.WaitGroup
	shell.Go(func() { _ = server.Serve(listener) })
	defer shell.Wait()
	defer server.Stop()

	options := append(agent.DialOptions(),
		grpc.WithTransportCredentials(insecure.NewCredentials()),
		grpc.WithContextDialer(func(ctx context.Context, _ string) (net.Conn, error) {
			return listener.DialContext(ctx)
		}))
	conns := make([]*grpc.ClientConn, len(workers)/workersOfConnection+1)
	for i := range conns {
		conn, err := grpc.NewClient("passthrough:///embedded", options...)
		if err != nil {
			return fmt.Errorf("connect embedded workers: %w", err)
		}
		conns[i] = conn
		defer conn.Close()
	}

	// run ends with ctx, or when no worker is left to go on: then cut gives the failures as the cause.
	// working does not end with ctx: the loop ends first, and leave then ends the workers that are still
	// there.
	run, cut := context.WithCancelCause(ctx)
	defer cut(nil)
	working, leave := context.WithCancel(context.WithoutCancel(ctx))
	defer agents.Wait()
	defer leave()
	// mu guards left and failures, which the goroutine of each worker changes when the worker ends.
	var mu sync.Mutex
	left := len(workers)
	var failures []error
	for i, c := range workers {
		c.Name = cmp.Or(c.Name, fmt.Sprintf("embedded-%d", i+1))
		agents.Go(func() {
			err := agent.Run(working, conns[i/workersOfConnection], c)
			mu.Lock()
			defer mu.Unlock()
			left--
			if err == nil || working.Err() != nil {
				return
			}
			err = fmt.Errorf("worker %s: %w", c.Name, err)
			failures = append(failures, err)
			// One worker is enough to go on. Without any, the loop would wait for ever.
			if left == 0 {
				cut(errors.Join(failures...))
			} else {
				f.options.Log.Error("a worker of this process has ended; the others go on", "error", err)
			}
		})
	}
	shell.Go(func() {
		select {
		case <-drain:
			_ = f.Loop.Drain(run)
		case <-run.Done():
		}
	})
	err := f.Loop.Run(run)
	// The cause is read before cut(nil), which would set one of its own.
	cause := context.Cause(run)
	cut(nil)
	if errors.Is(err, context.Canceled) && ctx.Err() == nil && cause != nil {
		return cause
	}
	if err == nil {
		// The workers have been told that it is over.
		timer := time.AfterFunc(time.Second, leave)
		defer timer.Stop()
		agents.Wait()
	}
	return err
}
