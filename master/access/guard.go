package access

import (
	"cmp"
	"context"
	"crypto/x509"
	"log/slog"
	"maps"
	"net"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promauto"
	"golang.org/x/time/rate"
	"google.golang.org/grpc/codes"
	healthpb "google.golang.org/grpc/health/grpc_health_v1"
	"google.golang.org/grpc/peer"
	reflectionpb "google.golang.org/grpc/reflection/grpc_reflection_v1"
	reflectionalphapb "google.golang.org/grpc/reflection/grpc_reflection_v1alpha"
	"google.golang.org/grpc/status"

	farmv1 "amazonsfarm/proto/farm/v1"
	"amazonsfarm/shared/identity"
)

// anyone is the role, in the table below, of methods for all who have a credential.
const anyone identity.Role = "anyone"

// Roles says which role may call which method. Methods that are not listed are refused. It is not to
// be changed.
var Roles = map[string]identity.Role{
	farmv1.Farm_Join_FullMethodName:              identity.Worker,
	farmv1.Farm_Work_FullMethodName:              identity.Worker,
	farmv1.Farm_UploadCertificate_FullMethodName: identity.Worker,
	farmv1.Farm_FetchCertificate_FullMethodName:  identity.Worker,
	farmv1.Farm_PlaceCertificate_FullMethodName:  identity.Worker,

	farmv1.Control_Quarantines_FullMethodName: identity.Operator,
	farmv1.Control_Release_FullMethodName:     identity.Operator,
	farmv1.Control_Status_FullMethodName:      identity.Operator,
	farmv1.Control_Watch_FullMethodName:       identity.Operator,
	farmv1.Control_Workers_FullMethodName:     identity.Operator,
	farmv1.Control_Explore_FullMethodName:     identity.Operator,
	farmv1.Control_Pause_FullMethodName:       identity.Operator,
	farmv1.Control_Resume_FullMethodName:      identity.Operator,
	farmv1.Control_Drain_FullMethodName:       identity.Operator,
	farmv1.Control_Backup_FullMethodName:      identity.Operator,
	farmv1.Control_AddCampaign_FullMethodName: identity.Operator,
	farmv1.Control_SetCampaign_FullMethodName: identity.Operator,
	farmv1.Control_EndCampaign_FullMethodName: identity.Operator,

	healthpb.Health_Check_FullMethodName: anyone,
	healthpb.Health_List_FullMethodName:  anyone,
	healthpb.Health_Watch_FullMethodName: anyone,

	reflectionpb.ServerReflection_ServerReflectionInfo_FullMethodName:      identity.Operator,
	reflectionalphapb.ServerReflection_ServerReflectionInfo_FullMethodName: identity.Operator,
}

// Why something was refused: the values of a metric's label.
const (
	ReasonHandshake        = "handshake"         // no TLS 1.3 connection came about: plaintext, a scanner, an abort
	ReasonNoCredential     = "no_credential"     // none was presented
	ReasonUnknownAuthority = "unknown_authority" // one of another authority
	ReasonExpired          = "expired"           // not good now
	ReasonRevoked          = "revoked"           //
	ReasonBadCredential    = "bad_credential"    // for another purpose, or without a role
	ReasonRole             = "role"              // the method is for another role
	ReasonForeign          = "foreign"           // the name or the session of somebody else
	ReasonMessages         = "messages"          // over Limits.MessagesPerSecond
	ReasonCalls            = "calls"             // over Limits.OpenCalls
	ReasonUploads          = "uploads"           // over Limits.UploadBytes
)

var reasons = []string{ReasonHandshake, ReasonNoCredential, ReasonUnknownAuthority, ReasonExpired, ReasonRevoked,
	ReasonBadCredential, ReasonRole, ReasonForeign, ReasonMessages, ReasonCalls, ReasonUploads}

// GuardOptions are the settings of a Guard.
type GuardOptions struct {
	// Files are the master's own credential, the authority and what it has revoked. Required.
	Files *identity.Files
	// Limits of each identity; zero values stand for defaults.
	Limits     Limits
	Registerer prometheus.Registerer // default: nobody reads the metrics
	Log        *slog.Logger          // default: discards
}

// ReloadEvery is how often Run looks whether the files have changed. A revoked credential goes on for
// that long; looking costs one stat of each file.
const ReloadEvery = time.Second

// Guard lets connections, calls and messages through by credential. A credential of the cluster's
// authority, in time and not revoked, is asked for when a connection is made; its role, when a call
// is made; and that it is still good, with each message and each time the files are read again.
// Whatever is refused is counted by reason, and logged with who it was.
// mu guards callers and accounts. Each caller and call has a lock of its own, and mu is never taken while
// one of them is held.
type Guard struct {
	files   *identity.Files
	limits  Limits
	log     *slog.Logger
	lines   *rate.Limiter // of the log: who is refused all the time does not fill the disk
	refused *prometheus.CounterVec
	reloads *prometheus.CounterVec
	expiry  prometheus.Gauge
	expired bool // the master's own credential, when Reload looked last

	mu       sync.Mutex
	callers  map[*caller]struct{}
	accounts map[identity.Identity]*account
}

// caller is the other end of a connection; the connection's AuthInfo.
type caller struct {
	tlsInfo
	guard    *Guard
	identity identity.Identity
	leaf     *x509.Certificate
	chain    []*x509.Certificate // leaf comes first
	conn     *guardedConn
	account  *account
	revision atomic.Uint64 // of the files with which the credential was found good

	mu    sync.Mutex
	calls map[*guardedCall]struct{}
}

// NewGuard makes a guard.
func NewGuard(o GuardOptions) *Guard {
	o.Limits.complete()
	o.Registerer = cmp.Or[prometheus.Registerer](o.Registerer, prometheus.NewRegistry())
	o.Log = cmp.Or(o.Log, slog.New(slog.DiscardHandler))
	in := promauto.With(prometheus.WrapRegistererWithPrefix("amazons_master_", o.Registerer))
	g := &Guard{
		files: o.Files, limits: o.Limits, log: o.Log, lines: rate.NewLimiter(10, 100),
		refused: in.NewCounterVec(prometheus.CounterOpts{Name: "access_refused_total",
			Help: "Connections, calls and streams refused or ended because of their credential, its role or a " +
				"limit, by reason."}, []string{"reason"}),
		reloads: in.NewCounterVec(prometheus.CounterOpts{Name: "credential_reloads_total",
			Help: "Changed credential files that were read again, by result. After a failure the ones before " +
				"stay in use."}, []string{"result"}),
		expiry: in.NewGauge(prometheus.GaugeOpts{Name: "credential_expiry_timestamp_seconds",
			Help: "When the master's own credential expires, in seconds since 1970."}),
		callers: map[*caller]struct{}{}, accounts: map[identity.Identity]*account{},
	}
	for _, reason := range reasons {
		g.refused.WithLabelValues(reason)
	}
	for _, result := range []string{"done", "failed"} {
		g.reloads.WithLabelValues(result)
	}
	g.expiry.Set(float64(g.files.Current().Certificate.Leaf.NotAfter.Unix()))
	return g
}

// Run reads the files again when they change, and ends what is not good any more, until ctx ends.
func (g *Guard) Run(ctx context.Context) {
	ticker := time.NewTicker(ReloadEvery)
	defer ticker.Stop()
	for {
		select {
		case <-ticker.C:
			g.Reload()
		case <-ctx.Done():
			return
		}
	}
}

// Dated returns an error while nobody can connect because the master's own credential has expired, or is not good yet.
func (g *Guard) Dated() error { return g.files.Dated() }

// Reload does once what Run does all the time.
func (g *Guard) Reload() {
	switch changed, err := g.files.Reload(); {
	case err != nil:
		g.reloads.WithLabelValues("failed").Inc()
		g.log.Error("changed credentials are not taken; those before stay in use", "error", err)
	case changed:
		g.reloads.WithLabelValues("done").Inc()
		leaf := g.files.Current().Certificate.Leaf
		g.expiry.Set(float64(leaf.NotAfter.Unix()))
		g.log.Info("credentials read again", "expires", leaf.NotAfter)
	}
	err := g.files.Dated()
	if err != nil && !g.expired {
		g.log.Error(`nobody can connect; "master certs master --host HOST" makes a new credential`, "error", err)
	}
	g.expired = err != nil
	g.sweep()
}

// sweep looks at all connections.
// It forgets idle accounts, so that their number does not grow with all identities that ever came. It
// judges without the lock, since the end of a connection takes it.
func (g *Guard) sweep() {
	g.mu.Lock()
	list := slices.Collect(maps.Keys(g.callers))
	maps.DeleteFunc(g.accounts, func(_ identity.Identity, a *account) bool { return a.idle() })
	g.mu.Unlock()
	for _, p := range list {
		if r := p.judge(); r != nil {
			p.expel(r)
		}
	}
}

// refusal is a reason with the status that the caller gets.
type refusal struct {
	reason string
	err    error
}

// judge says why a connection is not good any more, nil if it is.
func (p *caller) judge() *refusal {
	refuse := func(reason string, code codes.Code, format string, args ...any) *refusal {
		return &refusal{reason, status.Errorf(code, format, args...)}
	}
	if now := time.Now(); now.After(p.leaf.NotAfter) {
		// The one who has a new credential by now connects again with it, the other one is refused
		// then.
		return refuse(ReasonExpired, codes.Unavailable, "the credential of %v expired on %s; connect with a new one",
			p.identity, p.leaf.NotAfter.UTC().Format(time.DateTime))
	}
	m := p.guard.files.Current()
	// The files are those with which the credential was found good. So most messages cost a look at the
	// clock and no signature.
	if p.revision.Load() == m.Revision {
		return nil
	}
	if m.Revoked(p.leaf) {
		return refuse(ReasonRevoked, codes.Unauthenticated, "the credential of %v is revoked", p.identity)
	}
	if err := m.VerifyClient(p.chain); err != nil {
		return refuse(ReasonUnknownAuthority, codes.Unauthenticated,
			"the credential of %v is of an authority that is not known any more", p.identity)
	}
	p.revision.Store(m.Revision)
	return nil
}

// Parting is how long a connection lives on after its calls were ended, so that the reason reaches
// the other end.
const Parting = time.Second

// expel ends the calls of a connection, and then the connection.
func (p *caller) expel(r *refusal) {
	if p.conn.expelled.Swap(true) {
		return
	}
	p.guard.refuse(r.reason, p.identity.String(), p.conn.RemoteAddr().String(), r.err)
	p.mu.Lock()
	for c := range p.calls {
		c.end(r.err)
	}
	p.mu.Unlock()
	// A connection that breaks looks to its caller like this refusal: unavailable, so it tries again.
	if r.reason == ReasonExpired {
		p.conn.Close()
		return
	}
	time.AfterFunc(Parting, func() { p.conn.Close() })
}

// refuse counts a refusal and logs it.
func (g *Guard) refuse(reason, who, address string, err error) {
	if g.lines.Allow() {
		g.log.Warn("refused", "reason", reason, "who", who, "address", address, "error", status.Convert(err).Message())
	}
	g.refused.WithLabelValues(reason).Inc()
}

// CallerName names who is calling: by credential, or by address where there is none.
func CallerName(ctx context.Context) string {
	if p := callerOf(ctx); p != nil {
		return p.identity.String()
	}
	if c, ok := peer.FromContext(ctx); ok {
		if host, _, err := net.SplitHostPort(c.Addr.String()); err == nil {
			return host
		}
	}
	return "unknown"
}

// Connections returns how many connections the caller's credential has open, 0 without credentials.
func Connections(ctx context.Context) int {
	p := callerOf(ctx)
	if p == nil {
		return 0
	}
	return int(p.account.connections.Load())
}

// callerOf returns who is calling, nil on a connection without credentials.
func callerOf(ctx context.Context) *caller {
	if c, ok := peer.FromContext(ctx); ok {
		if p, ok := c.AuthInfo.(*caller); ok {
			return p
		}
	}
	return nil
}

// admit decides about a call: the caller's credential, role, and number of calls. Each
// admitted call has to release one of its account's calls.
func (g *Guard) admit(ctx context.Context, method string) (*caller, error) {
	p := callerOf(ctx)
	if p == nil {
		err := status.Error(codes.Unauthenticated, "this master asks for a credential")
		g.refuse(ReasonNoCredential, "", "", err)
		return nil, err
	}
	if r := p.judge(); r != nil {
		p.expel(r)
		return nil, r.err
	}
	if want := Roles[method]; want != anyone && want != p.identity.Role {
		return nil, p.refuse(ReasonRole, codes.PermissionDenied, "%s is for the role %s; the credential is of %v",
			method, cmp.Or(want, "nobody"), p.identity)
	}
	if !p.account.calls.TryAcquire(1) {
		return nil, p.refuse(ReasonCalls, codes.ResourceExhausted, "%v has its limit of %d open calls", p.identity,
			g.limits.OpenCalls)
	}
	return p, nil
}

// refuse counts and logs a refusal on a connection that goes on, and returns its status.
func (p *caller) refuse(reason string, code codes.Code, format string, args ...any) error {
	err := status.Errorf(code, format, args...)
	p.guard.refuse(reason, p.identity.String(), p.conn.RemoteAddr().String(), err)
	return err
}

// message decides about one message of an admitted call.
func (p *caller) message() error {
	if r := p.judge(); r != nil {
		p.expel(r)
		return r.err
	}
	if !p.account.messages.Allow() {
		return p.refuse(ReasonMessages, codes.ResourceExhausted, "%v sends more than %v messages a second", p.identity,
			p.guard.limits.MessagesPerSecond)
	}
	return nil
}

// OwnName returns the name in the caller's credential if a worker of the given name may join with
// it: under that name, or under one that goes on with a slash after it, so that several processes
// can share a credential. Without credentials it is empty.
func OwnName(ctx context.Context, worker string) (string, error) {
	p := callerOf(ctx)
	if p == nil {
		return "", nil
	}
	rest, ok := strings.CutPrefix(worker, p.identity.Name)
	if !ok || rest != "" && rest[0] != '/' {
		return "", p.refuse(ReasonForeign, codes.PermissionDenied,
			"%v cannot join as %.80s; its name is %s, or begins with %s/",
			p.identity, worker, p.identity.Name, p.identity.Name)
	}
	return p.identity.Name, nil
}

// OwnSession returns an error unless the caller's credential has the name of the session's owner. So
// nobody can speak for another one's leases.
func OwnSession(ctx context.Context, owner string) error {
	p := callerOf(ctx)
	if p == nil || p.identity.Name == owner {
		return nil
	}
	return p.refuse(ReasonForeign, codes.PermissionDenied, "this is not a session of %v", p.identity)
}

// Open returns the connections that are open, and of how many identities something is known.
func (g *Guard) Open() (connections []net.Conn, identities int) {
	g.mu.Lock()
	defer g.mu.Unlock()
	for p := range g.callers {
		connections = append(connections, p.conn)
	}
	return connections, len(g.accounts)
}
