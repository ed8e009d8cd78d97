package access

import (
	"context"
	"sync"
	"sync/atomic"

	"google.golang.org/grpc"

	farmv1 "amazonsfarm/proto/farm/v1"
)

// Unary is the interceptor of calls with one answer.
func (g *Guard) Unary(ctx context.Context, req any, info *grpc.UnaryServerInfo, handler grpc.UnaryHandler) (any,
	error) {
	p, err := g.admit(ctx, info.FullMethod)
	if err != nil {
		return nil, err
	}
	defer p.account.calls.Release(1)
	if err := p.message(); err != nil {
		return nil, err
	}
	return handler(ctx, req)
}

// Stream is the interceptor of streams.
func (g *Guard) Stream(srv any, ss grpc.ServerStream, info *grpc.StreamServerInfo, handler grpc.StreamHandler) error {
	p, err := g.admit(ss.Context(), info.FullMethod)
	if err != nil {
		return err
	}
	defer p.account.calls.Release(1)
	ctx, cancel := context.WithCancelCause(ss.Context())
	c := &guardedCall{ServerStream: ss, caller: p, ctx: ctx, cancel: cancel}
	defer c.close()
	p.mu.Lock()
	p.calls[c] = struct{}{}
	p.mu.Unlock()
	// A sweep between admit and here did not see the call.
	if r := p.judge(); r != nil {
		p.expel(r)
		return r.err
	}
	err = handler(srv, c)
	// The handler has only seen that its context ended. The caller gets the reason.
	if ended := c.ended.Load(); ended != nil {
		return *ended
	}
	return err
}

// guardedCall is a stream whose messages are judged.
type guardedCall struct {
	grpc.ServerStream
	caller   *caller
	ctx      context.Context
	cancel   context.CancelCauseFunc
	ended    atomic.Pointer[error] // what the guard ended it with
	received bool                  // a message; of the receiving goroutine

	mu       sync.Mutex
	reserved int64 // bytes of an upload
	closed   bool  // nothing is reserved any more: a handler may end while a message is received
}

// Context ends with the call, also when the guard ends it.
func (c *guardedCall) Context() context.Context { return c.ctx }

// RecvMsg receives a message and judges it.
func (c *guardedCall) RecvMsg(m any) error {
	if err := c.ServerStream.RecvMsg(m); err != nil {
		return err
	}
	err := c.caller.message()
	// The first message of an upload announces the size of the whole.
	if first, ok := m.(*farmv1.UploadCertificateRequest); ok && !c.received && err == nil {
		err = c.reserve(first.GetSize())
	}
	c.received = true
	if err != nil {
		c.end(err)
	}
	return err
}

// SendMsg sends a message if the other end is still who it was.
// A worker whose credential was revoked gets no lease any more, even if it sends nothing.
func (c *guardedCall) SendMsg(m any) error {
	if r := c.caller.judge(); r != nil {
		c.caller.expel(r)
		return r.err
	}
	return c.ServerStream.SendMsg(m)
}

// end makes the call end with an error.
func (c *guardedCall) end(err error) {
	if c.ended.CompareAndSwap(nil, &err) {
		c.cancel(err)
	}
}

// close takes the call out of the guard's sight and gives back what its upload reserved.
func (c *guardedCall) close() {
	c.cancel(nil)
	c.caller.mu.Lock()
	delete(c.caller.calls, c)
	c.caller.mu.Unlock()
	c.mu.Lock()
	defer c.mu.Unlock()
	c.caller.account.uploads.Release(c.reserved)
	c.reserved, c.closed = 0, true
}
