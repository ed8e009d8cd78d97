package agent

import (
	"cmp"
	"crypto/rand"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"runtime"
	"runtime/debug"
	"time"

	"amazonsfarm/worker/engine"

	farmv1 "amazonsfarm/proto/farm/v1"
	"google.golang.org/grpc"
	"google.golang.org/grpc/backoff"
	"google.golang.org/grpc/keepalive"
)

// Kinds of errors that end [Run].
var (
	// ErrConfig is wrapped by errors about settings.
	ErrConfig = errors.New("bad agent setting")
	// ErrWrongMaster says that whoever answers is not the master that the credential is for.
	ErrWrongMaster = errors.New("not our master")
	// ErrUnreachable says that no master answered within Config.JoinTimeout or Config.AwayTimeout.
	ErrUnreachable = errors.New("no master answers")
	// ErrRefused says that the master does not accept this worker: another version, other rules, or
	// a missing or bad credential.
	ErrRefused = errors.New("the master refuses this worker")
	// ErrProtocol says that the master sent a message that breaks the protocol.
	ErrProtocol = errors.New("the master broke the protocol")
	// ErrUndelivered says that a drain ended before the master had acknowledged everything.
	ErrUndelivered = errors.New("not everything was delivered")
)

// Config holds the settings of an agent. The zero value is usable.
type Config struct {
	// Name is the worker's name, unique in the farm, 1..128 bytes. Default: host name, process and
	// a random part. Two workers of one name push each other out of the farm.
	Name string
	// Cores is the number of threads of the search. Default: all.
	Cores int
	// TableBytes is the size of the transposition table. Default 256 MiB. Too small: the search
	// forgets and repeats itself.
	TableBytes int64

	// FirstSlice is the number of nodes after which a lease stops for the first time to gather what
	// it found. Each slice is twice as long as the one before, up to FactsEvery. Default 20,000 with one
	// core, which goes on where it was, and 500,000 for each further one: early stops lead threads to
	// different moves. With two cores, 5x6 takes 2.2 million nodes so, and 2.9 million with 20,000 (means
	// of twelve). Too small: stops cost more than they bring; too large: a crash loses more.
	FirstSlice uint64
	// FactsEvery is the longest time after which a running lease stops for a moment to gather what it
	// proved and what its table knows. Default 30 s. Too short: the search is interrupted, and the
	// master's store written, for little; too long: other workers learn late, and a crash loses more.
	FactsEvery time.Duration
	// MaxWaiting is the number of parcels that wait for an acknowledgement, each with a part in
	// memory until it is uploaded. Default 4. When it is reached, the agent asks for no lease, and a
	// running one stops at its next parcel.
	MaxWaiting int
	// PrefetchPercent is the percent of a lease's time that the wait for the next one may take.
	// Above it the agent asks for the next one before the running one ends. Default 10; negative:
	// never. Small: leases are chosen before the running one has brought its results; large: the
	// worker waits for a master that is far away or busy.
	PrefetchPercent int
	// MaxSends is the number of times a parcel is sent, each on another stream, until it is given
	// up. Default 20.
	MaxSends int

	// AckTimeout bounds the wait for an acknowledgement; after it, the stream is opened anew and
	// the parcel sent again. Default 60 s.
	AckTimeout time.Duration
	// JoinTimeout bounds the time until the first Join succeeds. Default 1 min.
	JoinTimeout time.Duration
	// AwayTimeout bounds the time without a master after that. Default 24 h.
	AwayTimeout time.Duration
	// IdleTimeout is the time without work after which the agent ends as by Drain, so that a rented
	// machine can go back. The agent compares it once a heartbeat. Zero: never.
	IdleTimeout time.Duration
	// BackoffMin and BackoffMax bound the pause between two tries to reach the master. The pause
	// doubles each time, and a random half of it is left out. Defaults 100 ms and 10 s.
	BackoffMin, BackoffMax time.Duration
	// DrainTimeout bounds the time between Drain and the end. Default 30 s. After it, what is not
	// delivered is given up.
	DrainTimeout time.Duration

	// Drain asks, when it is closed, for an orderly end: the lease is returned with everything that
	// was found. Nil: never.
	Drain <-chan struct{}
	// Log receives messages. Default: nobody does.
	Log *slog.Logger
	// Stats, if given, is kept up to date.
	Stats *Stats

	// NewSolver makes the engine for a campaign. Default: an [engine.Engine]. Tests have others.
	NewSolver func(engine.Config) (Solver, error)
}

const (
	// callTimeout bounds Join: a master that serves thousands answers within seconds.
	callTimeout = 10 * time.Second
	// uploadTimeout bounds one try to upload a part. Shorter: a large one never gets through a
	// slow line; longer: a connection that hangs is noticed late.
	uploadTimeout = 5 * time.Minute
	// evidenceAfter is the age of a running lease from which positions that it solves on the way are
	// proved to the master. Shorter: a proof that one lease could have brought whole comes in pieces,
	// which cost time to put together.
	evidenceAfter = 3 * time.Second
	// evidenceShare is the share of the search's time that may go into evidence for facts met on the
	// way. The evidence for a lease's own position is not limited.
	evidenceShare = 0.05
	// evidenceFloor is evidence time that is always allowed, so that short searches also bring
	// something in.
	evidenceFloor = 5 * time.Millisecond
)

// withDefaults returns c with the defaults filled in, or an error that wraps ErrConfig.
func (c Config) withDefaults() (Config, error) {
	if c.Name == "" {
		host, err := os.Hostname()
		if err != nil || len(host) > 64 {
			host = "worker"
		}
		c.Name = fmt.Sprintf("%s-%d-%s", host, os.Getpid(), rand.Text()[:6])
	}
	c.Cores = cmp.Or(c.Cores, runtime.GOMAXPROCS(0))
	c.TableBytes = cmp.Or(c.TableBytes, engine.DefaultTableBytes)
	c.FirstSlice = cmp.Or(c.FirstSlice, max(20_000, 500_000*uint64(c.Cores-1)))
	c.FactsEvery = cmp.Or(c.FactsEvery, 30*time.Second)
	c.MaxWaiting = cmp.Or(c.MaxWaiting, 4)
	c.PrefetchPercent = cmp.Or(c.PrefetchPercent, PrefetchPercent)
	c.MaxSends = cmp.Or(c.MaxSends, 20)
	c.AckTimeout = cmp.Or(c.AckTimeout, time.Minute)
	c.JoinTimeout = cmp.Or(c.JoinTimeout, time.Minute)
	c.AwayTimeout = cmp.Or(c.AwayTimeout, 24*time.Hour)
	c.BackoffMin = cmp.Or(c.BackoffMin, 100*time.Millisecond)
	c.BackoffMax = max(cmp.Or(c.BackoffMax, 10*time.Second), c.BackoffMin)
	c.DrainTimeout = cmp.Or(c.DrainTimeout, 30*time.Second)
	c.Log = cmp.Or(c.Log, slog.New(slog.DiscardHandler))
	c.Stats = cmp.Or(c.Stats, new(Stats))
	if c.NewSolver == nil {
		c.NewSolver = func(c engine.Config) (Solver, error) { return engine.New(c) }
	}
	switch {
	case !farmv1.Printable(c.Name, farmv1.MaxNameBytes):
		return c, fmt.Errorf("%w: the name %.128q: a worker's name has 1 to %d printable characters", ErrConfig,
			c.Name, farmv1.MaxNameBytes)
	case c.Cores < 0:
		return c, fmt.Errorf("%w: %d cores", ErrConfig, c.Cores)
	case c.TableBytes < 0:
		return c, fmt.Errorf("%w: a table of %d bytes", ErrConfig, c.TableBytes)
	case c.MaxWaiting < 1 || c.MaxSends < 1:
		return c, fmt.Errorf("%w: limits must be at least 1", ErrConfig)
	case min(c.FactsEvery, c.AckTimeout, c.JoinTimeout, c.AwayTimeout, c.IdleTimeout, c.BackoffMin, c.DrainTimeout) < 0:
		return c, fmt.Errorf("%w: times must not be negative", ErrConfig)
	}
	return c, nil
}

// DialOptions are the options of a connection to a master, all but the credentials: keepalive,
// windows, message limits, and how fast a lost master is tried again. gRPC asks the name server for the
// address only. It would also ask for a service configuration, which no master has; where no name
// server answers (addresses in a hosts file, container engines) that question takes twenty seconds.
func DialOptions() []grpc.DialOption {
	return []grpc.DialOption{
		grpc.WithDisableServiceConfig(),
		grpc.WithStaticStreamWindowSize(farmv1.WindowBytes),
		grpc.WithStaticConnWindowSize(farmv1.WindowBytes),
		grpc.WithKeepaliveParams(keepalive.ClientParameters{Time: 20 * time.Second, Timeout: 10 * time.Second,
			PermitWithoutStream: true}),
		grpc.WithDefaultCallOptions(grpc.MaxCallRecvMsgSize(farmv1.MaxMessageBytes),
			grpc.MaxCallSendMsgSize(farmv1.MaxMessageBytes)),
		grpc.WithConnectParams(grpc.ConnectParams{
			Backoff: backoff.Config{BaseDelay: 100 * time.Millisecond, Multiplier: 1.6, Jitter: 0.2,
				MaxDelay: 5 * time.Second},
			MinConnectTimeout: 5 * time.Second,
		}),
	}
}

// Build names this build of the solver: Go's version, and the module's version and revision where
// they are known.
func Build() string {
	info, ok := debug.ReadBuildInfo()
	if !ok {
		return runtime.Version()
	}
	name := info.GoVersion + " " + info.Main.Version
	for _, s := range info.Settings { // the revision comes first
		switch {
		case s.Key == "vcs.revision":
			name += " " + s.Value[:min(12, len(s.Value))]
		case s.Key == "vcs.modified" && s.Value == "true":
			name += "+modified"
		}
	}
	return name
}
