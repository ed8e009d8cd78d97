package rpc

import (
	"context"
	"errors"
	"io"
	"log/slog"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"amazonsfarm/master/loop"
	"amazonsfarm/master/store"
)

// kinds give the errors of the loop their codes. The first that matches counts.
var kinds = []struct {
	kind error
	code codes.Code
}{
	{loop.ErrEnded, codes.Unavailable},
	{loop.ErrAgain, codes.FailedPrecondition}, // a worker then forgets more than after any other end of its stream
	{loop.ErrNoSession, codes.FailedPrecondition},
	{loop.ErrReplaced, codes.Aborted},
	{loop.ErrCrowded, codes.ResourceExhausted},
	{loop.ErrNotQuarantined, codes.NotFound},
	{loop.ErrQuarantined, codes.PermissionDenied},
	{loop.ErrNoCampaign, codes.NotFound},
	{loop.ErrFixed, codes.Unimplemented},
	{store.ErrCampaign, codes.InvalidArgument},
	{store.ErrTaken, codes.AlreadyExists},
	{store.ErrTooLarge, codes.ResourceExhausted},
	{store.ErrNoRoom, codes.ResourceExhausted},
	{store.ErrContradiction, codes.FailedPrecondition},
}

// coded gives an error its code, so that a caller never sees Unknown: errors of the loop by their
// kind, those of a context theirs, all others Internal. Internal errors are logged.
func coded(log *slog.Logger, method string, err error) error {
	if err == nil {
		return nil
	}
	if s, ok := status.FromError(err); ok && s.Code() != codes.Unknown {
		return err
	}
	for _, k := range kinds {
		if errors.Is(err, k.kind) {
			return status.Error(k.code, err.Error())
		}
	}
	if s := status.FromContextError(err); s.Code() != codes.Unknown {
		return s.Err()
	}
	if errors.Is(err, io.EOF) {
		return status.Error(codes.InvalidArgument, "the stream ended before its first message")
	}
	log.Error("call failed", "method", method, "error", err)
	return status.Error(codes.Internal, err.Error())
}

// codedUnary gives the errors of calls with one answer their codes. It is outside of the handlers and
// inside of the metrics, which count calls by code.
func codedUnary(log *slog.Logger) grpc.UnaryServerInterceptor {
	return func(ctx context.Context, req any, info *grpc.UnaryServerInfo, handler grpc.UnaryHandler) (any, error) {
		resp, err := handler(ctx, req)
		return resp, coded(log, info.FullMethod, err)
	}
}

func codedStream(log *slog.Logger) grpc.StreamServerInterceptor {
	return func(srv any, ss grpc.ServerStream, info *grpc.StreamServerInfo, handler grpc.StreamHandler) error {
		return coded(log, info.FullMethod, handler(srv, ss))
	}
}
