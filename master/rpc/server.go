package rpc

import (
	"context"
	"log/slog"
	"time"

	grpcprom "github.com/grpc-ecosystem/go-grpc-middleware/providers/prometheus"
	"github.com/prometheus/client_golang/prometheus"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/health"
	healthpb "google.golang.org/grpc/health/grpc_health_v1"
	"google.golang.org/grpc/keepalive"
	"google.golang.org/grpc/reflection"
	"google.golang.org/grpc/status"

	"amazonsfarm/master/access"
	farmv1 "amazonsfarm/proto/farm/v1"
)

// handshakePatience is how long a connection may take to come about: 20 s.
const handshakePatience = 20 * time.Second

// ServerOptions says how NewServer builds a gRPC server. The zero value is a plaintext server
// without metrics.
type ServerOptions struct {
	// Guard secures the connections and decides who may do what; nil means plaintext and that
	// everybody may do everything, which is right on loopback and in memory only.
	Guard *access.Guard
	// Registerer takes the gRPC metrics; nil means none.
	Registerer prometheus.Registerer
	// MaxConcurrentStreams limits the calls in flight on one connection. Unit: calls; default 256.
	// A worker needs two.
	MaxConcurrentStreams uint32
	// Log takes a line for each call that ends with an internal error; nil means none.
	Log *slog.Logger
}

// Server is a gRPC server with both services of a master, the health service and reflection.
type Server struct {
	*grpc.Server
	health *health.Server
}

// NewServer builds the gRPC server of a master, the same one for production and tests: message
// limits, stream limit, keepalive rules, health, reflection, metrics. The caller serves on its
// listener and stops it with Stop.
func NewServer(m *Master, o ServerOptions) *Server {
	if o.MaxConcurrentStreams == 0 {
		o.MaxConcurrentStreams = 256
	}
	unary := []grpc.UnaryServerInterceptor{knownCodesUnary(o.Log)}
	stream := []grpc.StreamServerInterceptor{knownCodesStream(o.Log)}
	var metrics *grpcprom.ServerMetrics
	if o.Registerer != nil {
		metrics = grpcprom.NewServerMetrics(grpcprom.WithServerHandlingTimeHistogram())
		o.Registerer.MustRegister(metrics)
		unary = append([]grpc.UnaryServerInterceptor{metrics.UnaryServerInterceptor()}, unary...)
		stream = append([]grpc.StreamServerInterceptor{metrics.StreamServerInterceptor()}, stream...)
	}
	if o.Guard != nil {
		unary, stream = append(unary, o.Guard.Unary), append(stream, o.Guard.Stream)
	}
	options := []grpc.ServerOption{
		grpc.MaxRecvMsgSize(farmv1.MaxMessageBytes),
		grpc.MaxSendMsgSize(farmv1.MaxMessageBytes),
		grpc.MaxConcurrentStreams(o.MaxConcurrentStreams),
		grpc.ConnectionTimeout(handshakePatience),
		grpc.KeepaliveEnforcementPolicy(keepalive.EnforcementPolicy{MinTime: 10 * time.Second,
			PermitWithoutStream: true}),
		grpc.KeepaliveParams(keepalive.ServerParameters{Time: 20 * time.Second, Timeout: 10 * time.Second}),
		grpc.ChainUnaryInterceptor(unary...),
		grpc.ChainStreamInterceptor(stream...),
	}
	if o.Guard != nil {
		options = append(options, grpc.Creds(o.Guard.Credentials()))
	}
	s := &Server{Server: grpc.NewServer(options...), health: health.NewServer()}
	farmv1.RegisterFarmServer(s.Server, &farmService{master: m})
	farmv1.RegisterControlServer(s.Server, &controlService{master: m})
	healthpb.RegisterHealthServer(s.Server, s.health)
	reflection.Register(s.Server)
	for _, name := range []string{"", farmv1.Farm_ServiceDesc.ServiceName, farmv1.Control_ServiceDesc.ServiceName} {
		s.health.SetServingStatus(name, healthpb.HealthCheckResponse_SERVING)
	}
	if metrics != nil {
		metrics.InitializeMetrics(s.Server)
	}
	return s
}

// StopWithin ends the server: it says NOT_SERVING, lets calls in flight end by themselves for at
// most the given time, then cuts them. The long streams are ended by the master's Run, which
// therefore returns before this is called.
func (s *Server) StopWithin(patience time.Duration) {
	s.health.Shutdown()
	done := make(chan struct{})
	go func() {
		s.GracefulStop()
		close(done)
	}()
	timer := time.NewTimer(patience)
	defer timer.Stop()
	select {
	case <-done:
	case <-timer.C:
		s.Stop()
		<-done
	}
}

// knownCodes turns an error without a gRPC code into Internal, and the errors of a context into
// theirs, so that a caller never sees Unknown.
func knownCodes(log *slog.Logger, method string, err error) error {
	if err == nil {
		return nil
	}
	if s, ok := status.FromError(err); ok && s.Code() != codes.Unknown {
		return err
	}
	if s := status.FromContextError(err); s.Code() != codes.Unknown {
		return s.Err()
	}
	if log != nil {
		log.Error("call failed", "method", method, "error", err)
	}
	return status.Error(codes.Internal, err.Error())
}

func knownCodesUnary(log *slog.Logger) grpc.UnaryServerInterceptor {
	return func(ctx context.Context, req any, info *grpc.UnaryServerInfo, handler grpc.UnaryHandler) (any, error) {
		resp, err := handler(ctx, req)
		return resp, knownCodes(log, info.FullMethod, err)
	}
}

func knownCodesStream(log *slog.Logger) grpc.StreamServerInterceptor {
	return func(srv any, ss grpc.ServerStream, info *grpc.StreamServerInfo, handler grpc.StreamHandler) error {
		return knownCodes(log, info.FullMethod, handler(srv, ss))
	}
}
