package rpc

import (
	"context"
	"log/slog"
	"sync"
	"time"

	"golang.org/x/time/rate"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/stats"
	"google.golang.org/grpc/status"
	"google.golang.org/grpc/tap"

	"amazonsfarm/master/access"
)

// maxOpenings bounds the calls of one credential, or of one address without, of which the first message
// has not come. Thousands of workers may share a credential: it may begin one call more for each openingShare
// of its connections. Each call may hold MaxRequestBytes of memory, so all calls together are bounded too:
// nobody may have more calls than are free of allOpenings. Switches share their memory by such dynamic
// thresholds (Choudhury and Hahne, 1998). Eight hostile credentials get a ninth of the calls each, and the
// next credential finds a ninth too. Everybody may have fewOpenings calls, even if none is free.
//
// Of the calls that a credential or an address has free, a connection may have one for each openingShare. So
// eight hostile processes leave half of them to the honest ones of the same address.
const (
	maxOpenings  = 64
	openingShare = 8
	allOpenings  = 256
	fewOpenings  = 4
)

// openings counts calls before anything of their messages is read: the interceptors see a call with
// one message when all of it is in memory.
type openings struct {
	patience time.Duration // for the first message
	log      *slog.Logger
	lines    *rate.Limiter // of the log

	mu sync.Mutex
	of map[any]int // by credential or address, and by connection
	n  int         // of all
}

// opened is the key of what a call does when its first message has come.
type opened struct{}

// tap counts a call until its first message has come, and ends it if that takes too long.
func (o *openings) tap(ctx context.Context, info *tap.Info) (context.Context, error) {
	who, conn := access.CallerName(ctx), access.Connection(ctx)
	most := maxOpenings + access.Connections(ctx)/openingShare
	o.mu.Lock()
	defer o.mu.Unlock()
	most = min(most, max(allOpenings-o.n, fewOpenings))
	if free := most - o.of[who]; free <= 0 || conn != nil && o.of[conn]*openingShare >= free {
		gone := access.Wasted(ctx)
		if o.lines.Allow() {
			o.log.Warn("refused: too many calls begin at a time", "who", who, "method", info.FullMethodName,
				"connection_closed", gone)
		}
		return ctx, status.Errorf(codes.ResourceExhausted, "%d calls wait for their first message", o.of[who])
	}
	// Without a Door conn is nil, and its count is never compared with anything.
	o.of[who]++
	o.of[conn]++
	o.n++
	ctx, cancel := context.WithCancel(ctx)
	timer := time.AfterFunc(o.patience, cancel)
	done := func() {
		timer.Stop()
		o.mu.Lock()
		defer o.mu.Unlock()
		o.n--
		for _, key := range []any{who, conn} {
			if o.of[key]--; o.of[key] == 0 {
				delete(o.of, key)
			}
		}
	}
	// The count goes down once, whichever comes first: the end of ctx, by the caller, the timer or the
	// connection; or the first message, which takes this function back. reset reports whether it was in time.
	reset := context.AfterFunc(ctx, func() {
		done()
		access.Wasted(ctx)
	})
	return context.WithValue(ctx, opened{}, func() {
		if reset() {
			done()
		}
	}), nil
}

// unary notes that the one message has come.
func (o *openings) unary(ctx context.Context, req any, _ *grpc.UnaryServerInfo, next grpc.UnaryHandler) (any, error) {
	ctx.Value(opened{}).(func())()
	return next(ctx, req)
}

// stream notes when the first message comes.
func (o *openings) stream(srv any, s grpc.ServerStream, _ *grpc.StreamServerInfo, next grpc.StreamHandler) error {
	return next(srv, openedStream{s})
}

type openedStream struct{ grpc.ServerStream }

// RecvMsg receives a message.
// An error counts, too, since no message follows it. From the second message on there is nothing left to count.
func (s openedStream) RecvMsg(m any) error {
	err := s.ServerStream.RecvMsg(m)
	s.Context().Value(opened{}).(func())()
	return err
}

// connections gives the calls of a connection a context that ends with it. gRPC does not end the context of
// a call that tap refuses: without this its deadline, which the caller chooses, would keep it.
type connections struct{}

// ending is the key of what ends the context of a connection.
type ending struct{}

// TagConn makes the context of a connection.
func (connections) TagConn(ctx context.Context, _ *stats.ConnTagInfo) context.Context {
	ctx, cancel := context.WithCancel(ctx)
	return context.WithValue(ctx, ending{}, cancel)
}

// HandleConn ends the context with the connection.
func (connections) HandleConn(ctx context.Context, s stats.ConnStats) {
	if _, ok := s.(*stats.ConnEnd); ok {
		ctx.Value(ending{}).(context.CancelFunc)()
	}
}

// TagRPC changes nothing.
func (connections) TagRPC(ctx context.Context, _ *stats.RPCTagInfo) context.Context { return ctx }

// HandleRPC does nothing.
func (connections) HandleRPC(context.Context, stats.RPCStats) {}
