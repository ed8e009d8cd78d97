package rpc

import (
	"bytes"
	"context"
	"crypto/tls"
	"errors"
	"io"
	"log/slog"
	"net"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/testutil/promlint"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	grpccredentials "google.golang.org/grpc/credentials"
	"google.golang.org/grpc/credentials/insecure"
	healthpb "google.golang.org/grpc/health/grpc_health_v1"
	"google.golang.org/grpc/test/bufconn"

	"amazonsfarm/master/access"
	"amazonsfarm/master/credentials"
	"amazonsfarm/master/loop"
	farmv1 "amazonsfarm/proto/farm/v1"
	"amazonsfarm/shared/amazons"
	"amazonsfarm/shared/eval"
	"amazonsfarm/shared/identity"
)

// cluster is a running master that asks for certificates, with the authority that makes them.
type cluster struct {
	t         testing.TB
	folder    string
	authority *credentials.Authority
	files     *identity.Files
	guard     *access.Guard
	loop      *loop.Loop
	at        amazons.Position
	registry  *prometheus.Registry
	log       *lines
	dialer    func(context.Context, string) (net.Conn, error)
}

// lines are what was logged.
type lines struct {
	mu   sync.Mutex
	text bytes.Buffer
}

func (l *lines) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.text.Write(p)
}

func (l *lines) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.text.String()
}

// newAuthority makes an authority, some time ago.
func newAuthority(t testing.TB, folder string, ago time.Duration) *credentials.Authority {
	t.Helper()
	a, err := credentials.Init(folder, credentials.Options{Now: func() time.Time { return time.Now().Add(-ago) }})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { a.Close() })
	return a
}

// startCluster runs a master with certificates: on the loopback interface, or in memory, where time
// may be virtual.
func startCluster(t testing.TB, inMemory bool, limits access.Limits) *cluster {
	t.Helper()
	c := &cluster{t: t, folder: filepath.Join(t.TempDir(), "certs"), log: new(lines)}
	c.authority = newAuthority(t, c.folder, 2*time.Hour)
	c.issue(credentials.Request{Identity: identity.Identity{Role: identity.Master, Name: "master"},
		Hosts: []string{"127.0.0.1"}})
	files, err := identity.Open(c.folder, identity.Master)
	if err != nil {
		t.Fatal(err)
	}
	var cfg settings
	c.loop, cfg, _, c.registry = newLoop(t, newMemory(), nil)
	c.at = cfg.root
	log := slog.New(slog.NewTextHandler(c.log, nil))
	c.files = files
	c.guard = access.NewGuard(access.GuardOptions{Files: files, Limits: limits, Registerer: c.registry, Log: log})
	var listener net.Listener
	if inMemory {
		l := bufconn.Listen(1 << 20)
		listener, c.dialer = l, func(ctx context.Context, _ string) (net.Conn, error) { return l.DialContext(ctx) }
	} else {
		if listener, err = net.Listen("tcp", "127.0.0.1:0"); err != nil {
			t.Fatal(err)
		}
		c.dialer = func(ctx context.Context, _ string) (net.Conn, error) {
			return new(net.Dialer).DialContext(ctx, "tcp", listener.Addr().String())
		}
	}
	server := NewServer(c.loop, cfg.services, ServerOptions{Registerer: c.registry, Guard: c.guard})
	ctx, cancel := context.WithCancel(context.WithoutCancel(t.Context()))
	var all sync.WaitGroup
	all.Go(func() { _ = server.Serve(listener) })
	all.Go(func() { _ = c.loop.Run(ctx) })
	t.Cleanup(func() {
		cancel()
		server.Stop()
		all.Wait()
	})
	return c
}

// sweep lets the guard look at its files and connections until the test ends.
func (c *cluster) sweep() {
	ctx, cancel := context.WithCancel(context.WithoutCancel(c.t.Context()))
	var run sync.WaitGroup
	run.Go(func() { c.guard.Run(ctx) })
	c.t.Cleanup(func() {
		cancel()
		run.Wait()
	})
}

func (c *cluster) issue(r credentials.Request) credentials.Issued {
	c.t.Helper()
	out, err := c.authority.Issue(r)
	if err != nil {
		c.t.Fatal(err)
	}
	return out
}

// member makes a certificate and returns its folder.
func (c *cluster) member(role identity.Role, name string, lifetime time.Duration) string {
	c.t.Helper()
	return c.issue(credentials.Request{Identity: identity.Identity{Role: role, Name: name}, Lifetime: lifetime}).Folder
}

// config returns how the owner of a folder connects. An expired certificate is presented all the same.
func (c *cluster) config(folder string) *tls.Config {
	c.t.Helper()
	pair, err := tls.LoadX509KeyPair(filepath.Join(folder, identity.ClientFile),
		filepath.Join(folder, identity.ClientFile))
	if err != nil {
		c.t.Fatal(err)
	}
	config := c.stranger()
	config.GetClientCertificate = func(*tls.CertificateRequestInfo) (*tls.Certificate, error) { return &pair, nil }
	return config
}

// stranger returns how somebody without a certificate connects.
func (c *cluster) stranger() *tls.Config {
	return &tls.Config{MinVersion: tls.VersionTLS13, RootCAs: c.files.Current().Roots}
}

// connect returns the clients of one connection.
func (c *cluster) connect(secured grpccredentials.TransportCredentials) *bench {
	c.t.Helper()
	conn, err := grpc.NewClient("passthrough:///127.0.0.1", grpc.WithTransportCredentials(secured),
		grpc.WithContextDialer(c.dialer))
	if err != nil {
		c.t.Fatal(err)
	}
	c.t.Cleanup(func() { conn.Close() })
	root := c.at
	return &bench{t: c.t, loop: c.loop, root: root.State().CanonicalKey(root.Board), registry: c.registry,
		farm: farmv1.NewFarmClient(conn), control: farmv1.NewControlClient(conn),
		health: healthpb.NewHealthClient(conn)}
}

func (c *cluster) enter(folder string) *bench {
	c.t.Helper()
	return c.connect(grpccredentials.NewTLS(c.config(folder)))
}

// metric returns the value of a metric, by the value of its label if it has one.
func (c *cluster) metric(name, label string) float64 {
	c.t.Helper()
	families, err := c.registry.Gather()
	if err != nil {
		c.t.Fatal(err)
	}
	for _, f := range families {
		for _, m := range f.GetMetric() {
			if f.GetName() == "amazons_master_"+name &&
				(len(m.GetLabel()) == 0 || m.GetLabel()[0].GetValue() == label) {
				return m.GetCounter().GetValue() + m.GetGauge().GetValue()
			}
		}
	}
	c.t.Fatalf("no metric %s with %q", name, label)
	return 0
}

func (c *cluster) refused(reason string) float64 { return c.metric("access_refused_total", reason) }

func (c *cluster) revoke(name string) {
	c.t.Helper()
	if _, err := c.authority.Revoke(name); err != nil {
		c.t.Fatal(err)
	}
	c.guard.Reload()
}

// TestRefusedAccess goes through everybody who is to stay outside: each is refused, logged and
// counted, and does nothing.
func TestRefusedAccess(t *testing.T) {
	c := startCluster(t, false, access.Limits{})
	other := newAuthority(t, filepath.Join(t.TempDir(), "certs"), 0)
	foreign, err := other.Issue(credentials.Request{Identity: identity.Identity{Role: identity.Operator,
		Name: "mallory"}})
	if err != nil {
		t.Fatal(err)
	}
	operator, worker := c.member(identity.Operator, "me", 0), c.member(identity.Worker, "w1", 0)
	revoked := c.member(identity.Operator, "gone", 0)
	c.revoke("gone")
	asServer := c.stranger()
	serving := c.files.Current().Certificate
	asServer.GetClientCertificate = func(*tls.CertificateRequestInfo) (*tls.Certificate, error) { return &serving, nil }
	old := c.config(operator)
	old.MinVersion, old.MaxVersion = tls.VersionTLS12, tls.VersionTLS12

	drain := func(b *bench) error {
		_, err := b.control.Drain(t.Context(), &farmv1.DrainRequest{})
		return err
	}
	watch := func(b *bench) error {
		stream, err := b.control.Watch(t.Context(), &farmv1.WatchRequest{})
		if err == nil {
			_, err = stream.Recv()
		}
		return err
	}
	work := func(b *bench) error {
		stream, err := b.farm.Work(t.Context())
		if err == nil {
			_, err = stream.Recv()
		}
		return err
	}
	tlsOf := grpccredentials.NewTLS
	for _, x := range []struct {
		name    string
		secured grpccredentials.TransportCredentials
		call    func(*bench) error
		code    codes.Code
		part    string // of the error
		reason  string
		logged  string
	}{
		{"plaintext", insecure.NewCredentials(), drain, codes.Unavailable, "", access.ReasonHandshake, "first record"},
		{"TLS 1.2", tlsOf(old), drain, codes.Unavailable, "protocol version", access.ReasonHandshake,
			"unsupported versions"},
		{"no certificate", tlsOf(c.stranger()), drain, codes.Unavailable, "certificate required",
			access.ReasonNoCredential,
			"didn't provide"},
		{"another authority", tlsOf(c.config(foreign.Folder)), drain, codes.Unavailable,
			"unknown certificate authority", access.ReasonUnknownAuthority, "said to be operator mallory"},
		{"expired", tlsOf(c.config(c.member(identity.Operator, "late", time.Hour))), drain, codes.Unavailable,
			"expired certificate", access.ReasonExpired, "operator late"},
		{"revoked", tlsOf(c.config(revoked)), drain, codes.Unavailable, "bad certificate", access.ReasonRevoked,
			"operator gone"},
		{"the master's own", tlsOf(asServer), drain, codes.Unavailable, "bad certificate", access.ReasonBadCredential,
			"master master"},
		{"a worker drains", tlsOf(c.config(worker)), drain, codes.PermissionDenied, "role operator", access.ReasonRole,
			"worker w1"},
		{"a worker watches", tlsOf(c.config(worker)), watch, codes.PermissionDenied, "role operator", access.ReasonRole,
			"worker w1"},
		{"an operator works", tlsOf(c.config(operator)), work, codes.PermissionDenied, "role worker", access.ReasonRole,
			"operator me"},
	} {
		t.Run(x.name, func(t *testing.T) {
			before, text := c.refused(x.reason), len(c.log.String())
			wantCode(t, x.call(c.connect(x.secured)), x.code, x.part)
			// A client may hear of it before it is counted.
			for end := time.Now().Add(5 * time.Second); c.refused(x.reason) <= before && time.Now().Before(end); {
				time.Sleep(time.Millisecond)
			}
			if got := c.refused(x.reason); got <= before {
				t.Errorf("%v refusals for %s, before %v", got, x.reason, before)
			}
			if news := c.log.String()[text:]; !strings.Contains(news, "reason="+x.reason) ||
				!strings.Contains(news, x.logged) || !strings.Contains(news, "127.0.0.1:") {
				t.Errorf("logged %q, want %q with an address", news, x.logged)
			}
		})
	}
	if all, err := c.loop.Views(t.Context()); err != nil || all[0].State != loop.StateRunning || all[0].Connected != 0 {
		t.Errorf("after all that: %+v, %v", all, err)
	}
	// Those who may, can.
	if r, err := c.enter(operator).control.Status(t.Context(), &farmv1.StatusRequest{}); err != nil ||
		r.GetState() != loop.StateRunning {
		t.Errorf("an operator's status: %v, %v", r, err)
	}
	if _, err := c.enter(worker).health.Check(t.Context(), &healthpb.HealthCheckRequest{}); err != nil {
		t.Errorf("a worker's health check: %v", err)
	}
	if l := c.enter(worker).worker("w1").lease(); l == nil {
		t.Error("a worker gets no lease")
	}
}

// TestEveryMethodHasARole holds that no method of the server is left out of the table, and none in
// it has gone.
func TestEveryMethodHasARole(t *testing.T) {
	l, cfg, _, _ := newLoop(t, newMemory(), nil)
	server := NewServer(l, cfg.services, ServerOptions{})
	defer server.Stop()
	known := map[string]bool{}
	for service, info := range server.GetServiceInfo() {
		for _, method := range info.Methods {
			name := "/" + service + "/" + method.Name
			known[name] = true
			switch role := access.Roles[name]; {
			case role == "":
				t.Errorf("%s has no role", name)
			case service == farmv1.Farm_ServiceDesc.ServiceName && role != identity.Worker,
				service == farmv1.Control_ServiceDesc.ServiceName && role != identity.Operator:
				t.Errorf("%s is for the role %s", name, role)
			}
		}
	}
	for name := range access.Roles {
		if !known[name] {
			t.Errorf("%s has a role but is no method", name)
		}
	}
	if len(known) < 12 {
		t.Errorf("only %d methods", len(known))
	}
}

// TestUnknownMethod holds that a method that is in no table is refused, should there ever be one.
func TestUnknownMethod(t *testing.T) {
	c := startCluster(t, true, access.Limits{})
	b := c.enter(c.member(identity.Operator, "me", 0))
	delete(access.Roles, farmv1.Control_Pause_FullMethodName)
	defer func() { access.Roles[farmv1.Control_Pause_FullMethodName] = identity.Operator }()
	_, err := b.control.Pause(t.Context(), &farmv1.PauseRequest{})
	wantCode(t, err, codes.PermissionDenied, "for the role nobody")
}

// TestOwnSession holds that a worker speaks for itself only: its name is that of its certificate,
// and a session is of use to the one who began it.
func TestOwnSession(t *testing.T) {
	c := startCluster(t, true, access.Limits{})
	one, two := c.enter(c.member(identity.Worker, "w1", 0)), c.enter(c.member(identity.Worker, "w2", 0))
	for _, name := range []string{"w1", "w11", "w1x/a", "W2", "w2 ", "x/w2"} {
		_, err := two.farm.Join(t.Context(), &farmv1.JoinRequest{Worker: name, ProtocolVersion: farmv1.ProtocolVersion,
			RulesVersion: farmv1.RulesVersion, Build: "this build"})
		wantCode(t, err, codes.PermissionDenied, "worker w2 cannot join as")
	}
	victim := one.worker("w1/a")
	l := victim.lease()
	thief := &worker{b: two, session: victim.session}
	thief.connect()
	_, err := thief.stream.Recv()
	wantCode(t, err, codes.PermissionDenied, "not a session of worker w2")
	_, err = thief.upload(certificate(claim(two.root, eval.Lost)))
	wantCode(t, err, codes.PermissionDenied, "not a session of worker w2")
	if n := c.refused(access.ReasonForeign); n != 8 {
		t.Errorf("%v refusals are counted, want 8", n)
	}
	// In a session of its own, another one's lease is nothing.
	honest := two.worker("w2")
	honest.send(result(1, l, 0))
	if a := honest.ack(1); a.GetRefused() == "" {
		t.Error("the result for another worker's lease is taken")
	}
	victim.send(result(1, l, 0))
	if a := victim.ack(1); a.GetRefused() != "" {
		t.Errorf("the owner's result is refused: %s", a.GetRefused())
	}
	// The same certificate on another connection may go on with the session.
	again := &worker{b: c.enter(filepath.Join(c.folder, credentials.WorkersFolder, "w1")), session: victim.session}
	again.connect()
	again.lease()
}

// TestLimits holds each limit of an identity: over it comes RESOURCE_EXHAUSTED and a count, others
// have limits of their own, and what is given back can be used again.
func TestLimits(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := startCluster(t, true, access.Limits{MessagesPerSecond: 10, MessageBurst: 20, OpenCalls: 3,
			UploadBytes: 1000})
		b, other := c.enter(c.member(identity.Worker, "w1", 0)), c.enter(c.member(identity.Worker, "w2", 0))

		// Messages: the burst, then ten a second.
		w := b.worker("w1")
		neighbour := other.worker("w2")
		for range 30 {
			if w.stream.Send(&farmv1.WorkRequest{
				Kind: &farmv1.WorkRequest_Progress{Progress: &farmv1.Progress{}}}) != nil {
				break // the answer says why
			}
		}
		var err error
		for err == nil {
			_, err = w.stream.Recv()
		}
		wantCode(t, err, codes.ResourceExhausted, "worker w1 sends more than 10 messages a second")
		if c.refused(access.ReasonMessages) != 1 {
			t.Errorf("%v refusals for messages are counted, want 1", c.refused(access.ReasonMessages))
		}
		_, err = b.farm.Join(t.Context(), &farmv1.JoinRequest{Worker: "w1", ProtocolVersion: farmv1.ProtocolVersion,
			RulesVersion: farmv1.RulesVersion, Build: "this build"})
		wantCode(t, err, codes.ResourceExhausted, "messages a second")
		neighbour.ready()
		if neighbour.receive().GetLease() == nil {
			t.Error("another worker suffers")
		}
		time.Sleep(time.Second)
		w = b.worker("w1") // two messages
		for serial := range uint64(5) {
			w.send(&farmv1.WorkRequest{Kind: &farmv1.WorkRequest_Facts{Facts: &farmv1.Facts{Serial: serial + 1}}})
			w.ack(serial + 1)
		}
		time.Sleep(10 * time.Second)

		// Calls: the work stream, two uploads, and that is it, on any connection.
		start := func(b *bench, size uint64) (farmv1.Farm_UploadCertificateClient, error) {
			stream, err := b.farm.UploadCertificate(t.Context())
			if err == nil {
				err = stream.Send(&farmv1.UploadCertificateRequest{Session: w.session, Sha256: make([]byte, 32),
					Size: size, Data: []byte("x")})
			}
			synctest.Wait()
			return stream, err
		}
		finish := func(stream farmv1.Farm_UploadCertificateClient) error {
			_, err := stream.CloseAndRecv()
			synctest.Wait()
			return err
		}
		one, err := start(b, 600)
		if err != nil {
			t.Fatal(err)
		}
		two, err := start(b, 400)
		if err != nil {
			t.Fatal(err)
		}
		sibling := c.enter(filepath.Join(c.folder, credentials.WorkersFolder, "w1"))
		_, err = sibling.farm.Join(t.Context(), &farmv1.JoinRequest{Worker: "w1",
			ProtocolVersion: farmv1.ProtocolVersion,
			RulesVersion:    1, Build: "this build"})
		wantCode(t, err, codes.ResourceExhausted, "limit of 3 open calls")
		if c.refused(access.ReasonCalls) != 1 {
			t.Errorf("%v refusals for calls are counted, want 1", c.refused(access.ReasonCalls))
		}

		// Uploads: 1000 bytes are taken; with 400 given back, 401 are too many and 400 are not.
		wantCode(t, finish(two), codes.DataLoss, "1 bytes came of the announced 400")
		for _, size := range []uint64{401, 1 << 63} {
			more, err := start(b, size)
			if err == nil {
				err = finish(more)
			}
			if !errors.Is(err, io.EOF) {
				wantCode(t, err, codes.ResourceExhausted, "over their limit of 1000 bytes")
			}
		}
		if c.refused(access.ReasonUploads) != 2 {
			t.Errorf("%v refusals for uploads are counted, want 2", c.refused(access.ReasonUploads))
		}
		enough, err := start(b, 400)
		if err != nil {
			t.Fatal(err)
		}
		wantCode(t, finish(enough), codes.DataLoss, "announced 400")
		wantCode(t, finish(one), codes.DataLoss, "announced 600")
		w.ready()
		w.receive()
	})
}

// TestAccountsAreForgotten holds that nothing is kept of who has left.
func TestAccountsAreForgotten(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := startCluster(t, true, access.Limits{})
		conn, err := grpc.NewClient("passthrough:///127.0.0.1", grpc.WithContextDialer(c.dialer),
			grpc.WithTransportCredentials(grpccredentials.NewTLS(c.config(c.member(identity.Operator, "me", 0)))))
		if err != nil {
			t.Fatal(err)
		}
		if _, err := farmv1.NewControlClient(conn).Status(t.Context(), &farmv1.StatusRequest{}); err != nil {
			t.Fatal(err)
		}
		if p, a := c.guard.Open(); len(p) != 1 || a != 1 {
			t.Errorf("%d connections and %d accounts, want 1 and 1", len(p), a)
		}
		conn.Close()
		time.Sleep(time.Minute)
		c.guard.Reload()
		if p, a := c.guard.Open(); len(p) != 0 || a != 0 {
			t.Errorf("%d connections and %d accounts are left", len(p), a)
		}
	})
}

func TestGuardSettings(t *testing.T) {
	folder := filepath.Join(t.TempDir(), "certs")
	if _, err := newAuthority(t, folder, 0).Issue(credentials.Request{Identity: identity.Identity{Role: identity.Master,
		Name: "master"}, Hosts: []string{"h"}}); err != nil {
		t.Fatal(err)
	}
	files, err := identity.Open(folder, identity.Master)
	if err != nil {
		t.Fatal(err)
	}
	registry := prometheus.NewRegistry()
	access.NewGuard(access.GuardOptions{Files: files, Registerer: registry})
	families, err := registry.Gather()
	if err != nil {
		t.Fatal(err)
	}
	problems, err := promlint.NewWithMetricFamilies(families).Lint()
	if err != nil || len(problems) > 0 {
		t.Errorf("%v, %v", problems, err)
	}
	if len(families) != 3 || len(families[0].GetMetric()) != 11 {
		t.Errorf("%d families, %d reasons from the start", len(families), len(families[0].GetMetric()))
	}
}
