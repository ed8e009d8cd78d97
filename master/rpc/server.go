package rpc

import (
	"cmp"
	"log/slog"
	"time"

	grpcprom "github.com/grpc-ecosystem/go-grpc-middleware/providers/prometheus"
	"github.com/prometheus/client_golang/prometheus"
	"golang.org/x/time/rate"
	"google.golang.org/grpc"
	"google.golang.org/grpc/health"
	healthpb "google.golang.org/grpc/health/grpc_health_v1"
	"google.golang.org/grpc/keepalive"
	"google.golang.org/grpc/reflection"

	"amazonsfarm/master/access"
	"amazonsfarm/master/loop"
	farmv1 "amazonsfarm/proto/farm/v1"
)

// ServerOptions says how NewServer builds a gRPC server. The zero value is a plaintext server
// without metrics.
type ServerOptions struct {
	// Guard secures the connections and decides who may do what; nil means plaintext and that
	// everybody may do everything, which is right on loopback and in memory only.
	Guard *access.Guard
	// Registerer takes the gRPC metrics; nil: nobody reads them.
	Registerer prometheus.Registerer
	// Log takes a line for each call that ends with an internal error; nil means none.
	Log *slog.Logger
}

// Server is a gRPC server with both services of a master, the health service and reflection.
type Server struct {
	*grpc.Server
	health *health.Server
}

// NewServer builds the gRPC server of a master, the same one for production and tests: message limits,
// stream limit, keepalive rules, health, reflection, metrics. The caller serves on its listener and
// stops it with StopWithin.
func NewServer(l *loop.Loop, c Config, o ServerOptions) *Server {
	c.complete()
	log := cmp.Or(o.Log, slog.New(slog.DiscardHandler))
	registerer := cmp.Or(o.Registerer, prometheus.Registerer(prometheus.NewRegistry()))
	begun := &openings{patience: c.CallIdle + handshakePatience, log: log, lines: rate.NewLimiter(1, 10),
		of: map[any]int{}}
	// From the outside in: metrics, the count of openings, codes, the guard. So the metrics count the
	// calls that the guard refuses, and see each error with its code.
	metrics := grpcprom.NewServerMetrics(grpcprom.WithServerHandlingTimeHistogram())
	unary := []grpc.UnaryServerInterceptor{metrics.UnaryServerInterceptor(), begun.unary, codedUnary(log)}
	stream := []grpc.StreamServerInterceptor{metrics.StreamServerInterceptor(), begun.stream, codedStream(log)}
	if o.Guard != nil {
		unary, stream = append(unary, o.Guard.Unary), append(stream, o.Guard.Stream)
	}
	options := []grpc.ServerOption{
		grpc.MaxRecvMsgSize(farmv1.MaxRequestBytes),
		grpc.MaxSendMsgSize(farmv1.MaxMessageBytes),
		grpc.MaxConcurrentStreams(concurrentStreams),
		grpc.StaticStreamWindowSize(farmv1.WindowBytes),
		grpc.StaticConnWindowSize(farmv1.WindowBytes),
		grpc.InTapHandle(begun.tap),
		grpc.StatsHandler(connections{}),
		grpc.ConnectionTimeout(handshakePatience),
		// Workers ping every 20 seconds (agent.DialOptions). gRPC ends a connection that pings much more often.
		grpc.KeepaliveEnforcementPolicy(keepalive.EnforcementPolicy{MinTime: 10 * time.Second,
			PermitWithoutStream: true}),
		grpc.KeepaliveParams(keepalive.ServerParameters{Time: 20 * time.Second, Timeout: 10 * time.Second,
			MaxConnectionIdle: idlePatience}),
		grpc.ChainUnaryInterceptor(unary...),
		grpc.ChainStreamInterceptor(stream...),
	}
	if o.Guard != nil {
		options = append(options, grpc.Creds(o.Guard.Credentials()))
	}
	s := &Server{Server: grpc.NewServer(options...), health: health.NewServer()}
	farm := newFarmService(l, c, log)
	registerer.MustRegister(metrics, farm.traffic)
	farmv1.RegisterFarmServer(s.Server, farm)
	farmv1.RegisterControlServer(s.Server, newControlService(l, log))
	healthpb.RegisterHealthServer(s.Server, s.health)
	reflection.Register(s.Server)
	for _, name := range []string{"", farmv1.Farm_ServiceDesc.ServiceName, farmv1.Control_ServiceDesc.ServiceName} {
		s.health.SetServingStatus(name, healthpb.HealthCheckResponse_SERVING)
	}
	metrics.InitializeMetrics(s.Server)
	return s
}

// StopWithin ends the server: it says NOT_SERVING, lets calls in flight end by themselves for at
// most the given time, then cuts them. The long streams are ended by the master's Run, which
// therefore returns before this is called.
func (s *Server) StopWithin(patience time.Duration) {
	s.health.Shutdown()
	timer := time.AfterFunc(patience, s.Stop)
	defer timer.Stop()
	s.GracefulStop()
}
