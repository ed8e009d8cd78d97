package agent

import (
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
	// ErrUnreachable says that no master answered within Config.JoinTimeout or Config.AwayTimeout.
	ErrUnreachable = errors.New("no master answers")
	// ErrRefused says that the master does not take this worker: another version, rules, build or
	// databases.
	ErrRefused = errors.New("the master refuses this worker")
	// ErrProtocol says that the master sent what a master does not send.
	ErrProtocol = errors.New("the master broke the protocol")
	// ErrUndelivered says that a drain ended before all that was learned had been taken.
	ErrUndelivered = errors.New("not everything was delivered")
)

// Config holds the settings of an agent. The zero value is usable.
type Config struct {
	// Name is the worker's name, unique in the farm, 1..128 bytes. Default: host name, process and
	// a random part. Two workers of one name take each other's leases.
	Name string
	// Cores is the number of threads of the search. Default: all.
	Cores int
	// TableBytes is the size of the transposition table. Default 256 MiB. Too small: the search
	// forgets and repeats itself.
	TableBytes int64

	// FirstSlice is the number of nodes after which a lease stops for the first time to bring in what
	// it knows. Each slice is twice as long as the one before, up to FactsEvery. Default 20,000. Too
	// small: stops cost more than they bring; too large: a crash loses more.
	FirstSlice uint64
	// FactsEvery is the longest time after which a running lease stops for a moment to bring in
	// what it has proved and what its table knows. Default 30 s. Too short: the search is
	// interrupted, and the master's store written, for little; too long: other workers learn late,
	// and a crash loses more.
	FactsEvery time.Duration
	// EvidenceAfter is the age of a running lease from which positions that it solves on the way
	// are proved to the master. Default 3 s. Too short: a proof that one lease could have brought
	// whole comes in pieces, which cost time to put together.
	EvidenceAfter time.Duration
	// EvidenceShare is the share of the search's time that may go into evidence for facts met on
	// the way, 0..1. Default 0.05. The evidence for a lease's own position is not limited.
	EvidenceShare float64
	// MaxWaiting is the number of parcels that wait for an acknowledgement, each with a fragment in
	// memory until it is uploaded. Default 4. When it is reached, no lease is asked for and a
	// running one stops at its next parcel.
	MaxWaiting int
	// PrefetchPercent is the percent of a lease's time that the wait for the next one may take;
	// beyond it the agent asks for the next one before the running one ends. Default 10; negative:
	// never. Small: leases are chosen before it is known what the running one brings, and none goes
	// on with it at once; large: the worker waits for a master that is far away or busy.
	PrefetchPercent int
	// MaxSends is the number of times a parcel is sent, each on another stream, until it is given
	// up. Default 20.
	MaxSends int

	// CallTimeout bounds Join. Default 10 s.
	CallTimeout time.Duration
	// UploadTimeout bounds one try to upload a fragment. Default 5 min. Short: a large one never
	// gets through a slow line; long: a connection that hangs is noticed late.
	UploadTimeout time.Duration
	// AckTimeout bounds the wait for an acknowledgement; after it, the stream is opened anew and
	// the parcel sent again. Default 60 s.
	AckTimeout time.Duration
	// JoinTimeout bounds the time until the first Join succeeds. Default 1 min.
	JoinTimeout time.Duration
	// AwayTimeout bounds the time without a master after that. Default 24 h.
	AwayTimeout time.Duration
	// IdleTimeout is the time without work after which the agent ends as by Drain, so that a
	// machine that was rented for the farm can go back. Looked at once a heartbeat. Zero: never.
	IdleTimeout time.Duration
	// BackoffMin and BackoffMax bound the pause between two tries to reach the master; it doubles
	// each time, and a random half of it is left out. Defaults 100 ms and 10 s.
	BackoffMin, BackoffMax time.Duration
	// DrainTimeout bounds the time between Drain and the end. Default 30 s. After it, what is not
	// delivered is given up.
	DrainTimeout time.Duration
	// MaxEntries is the number of proved positions kept in memory, about 40 bytes each, from which
	// the agent forgets what it has delivered, and may deliver parts of it again. Default 8
	// million. The proof of one position may use four times as many.
	MaxEntries int

	// Drain asks, when it is closed, for an orderly end: the lease is handed back with what was
	// learned. Nil: never.
	Drain <-chan struct{}
	// Log takes messages. Default: none are written.
	Log *slog.Logger
	// Stats, if given, is kept up to date.
	Stats *Stats

	// NewSolver makes what searches, once it is known for which campaign. Default: an
	// [engine.Engine]. Another one is for tests.
	NewSolver func(engine.Config) (Solver, error)
}

// withDefaults returns c with the defaults filled in, or an error that wraps ErrConfig.
func (c Config) withDefaults() (Config, error) {
	if c.Name == "" {
		host, err := os.Hostname()
		if err != nil || len(host) > 64 {
			host = "worker"
		}
		c.Name = fmt.Sprintf("%s-%d-%s", host, os.Getpid(), rand.Text()[:6])
	}
	if len(c.Name) > 128 {
		return c, fmt.Errorf("%w: the name has %d bytes; at most 128 are allowed", ErrConfig, len(c.Name))
	}
	if c.Cores == 0 {
		c.Cores = runtime.GOMAXPROCS(0)
	}
	if c.Cores < 0 {
		return c, fmt.Errorf("%w: %d cores", ErrConfig, c.Cores)
	}
	if c.TableBytes == 0 {
		c.TableBytes = engine.DefaultTableBytes
	}
	if c.TableBytes < 0 {
		return c, fmt.Errorf("%w: a table of %d bytes", ErrConfig, c.TableBytes)
	}
	if c.EvidenceShare == 0 {
		c.EvidenceShare = 0.05
	}
	if !(c.EvidenceShare >= 0 && c.EvidenceShare <= 1) {
		return c, fmt.Errorf("%w: an evidence share of %v; it must be 0 to 1", ErrConfig, c.EvidenceShare)
	}
	if c.MaxWaiting == 0 {
		c.MaxWaiting = 4
	}
	if c.FirstSlice == 0 {
		c.FirstSlice = 20_000
	}
	if c.PrefetchPercent == 0 {
		c.PrefetchPercent = PrefetchPercent
	}
	if c.MaxSends == 0 {
		c.MaxSends = 20
	}
	if c.MaxEntries == 0 {
		c.MaxEntries = engine.DefaultMaxEntries
	}
	if c.IdleTimeout < 0 {
		return c, fmt.Errorf("%w: IdleTimeout is %v; it must not be negative", ErrConfig, c.IdleTimeout)
	}
	if c.MaxWaiting < 1 || c.MaxEntries < 1 || c.MaxSends < 1 {
		return c, fmt.Errorf("%w: limits must be at least 1", ErrConfig)
	}
	for _, d := range []struct {
		name     string
		value    *time.Duration
		standard time.Duration
	}{
		{"EvidenceAfter", &c.EvidenceAfter, 3 * time.Second},
		{"FactsEvery", &c.FactsEvery, 30 * time.Second},
		{"CallTimeout", &c.CallTimeout, 10 * time.Second},
		{"UploadTimeout", &c.UploadTimeout, 5 * time.Minute},
		{"AckTimeout", &c.AckTimeout, time.Minute},
		{"JoinTimeout", &c.JoinTimeout, time.Minute},
		{"AwayTimeout", &c.AwayTimeout, 24 * time.Hour},
		{"BackoffMin", &c.BackoffMin, 100 * time.Millisecond},
		{"BackoffMax", &c.BackoffMax, 10 * time.Second},
		{"DrainTimeout", &c.DrainTimeout, 30 * time.Second},
	} {
		if *d.value == 0 {
			*d.value = d.standard
		}
		if *d.value < 0 {
			return c, fmt.Errorf("%w: %s is %v; it must be positive", ErrConfig, d.name, *d.value)
		}
	}
	c.BackoffMax = max(c.BackoffMax, c.BackoffMin)
	if c.Log == nil {
		c.Log = slog.New(slog.DiscardHandler)
	}
	if c.Stats == nil {
		c.Stats = new(Stats)
	}
	if c.NewSolver == nil {
		c.NewSolver = func(c engine.Config) (Solver, error) { return engine.New(c) }
	}
	return c, nil
}

// DialOptions are the options of a connection to a master, all but the credentials: keepalive,
// message limits, and how fast a lost master is tried again. The name server is asked for the
// master's address and for nothing else: whoever has the address from a hosts file or from a
// container engine, and reaches no name server, would wait twenty seconds for a service
// configuration that there is not.
func DialOptions() []grpc.DialOption {
	return []grpc.DialOption{
		grpc.WithDisableServiceConfig(),
		grpc.WithKeepaliveParams(keepalive.ClientParameters{Time: 20 * time.Second, Timeout: 10 * time.Second,
			PermitWithoutStream: true}),
		grpc.WithDefaultCallOptions(grpc.MaxCallRecvMsgSize(farmv1.MaxMessageBytes), grpc.MaxCallSendMsgSize(farmv1.MaxMessageBytes)),
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
	revision, modified := "", ""
	for _, s := range info.Settings {
		switch s.Key {
		case "vcs.revision":
			revision = " " + s.Value[:min(12, len(s.Value))]
		case "vcs.modified":
			if s.Value == "true" {
				modified = "+modified"
			}
		}
	}
	return info.GoVersion + " " + info.Main.Version + revision + modified
}
