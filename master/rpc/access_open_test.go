package rpc

import (
	"bytes"
	"crypto/tls"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"google.golang.org/grpc/codes"

	"amazonsfarm/master/access"
	"amazonsfarm/master/credentials"
	farmv1 "amazonsfarm/proto/farm/v1"
	"amazonsfarm/shared/identity"
	"amazonsfarm/worker/agent"
)

// TestRevokedWhileConnected holds that a revocation ends what is open: streams with the reason, an
// upload that hangs, and the connection. The others do not notice, and the lease goes to one of
// them.
func TestRevokedWhileConnected(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := startCluster(t, true, access.Limits{})
		c.sweep()
		badFolder, goodFolder := c.member(identity.Worker, "bad", 0), c.member(identity.Worker, "good", 0)
		b := c.enter(badFolder)
		bad := b.worker("bad")
		first := bad.lease()
		good := c.enter(goodFolder).worker("good")
		good.ready()
		upload, err := b.farm.UploadCertificate(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		if err := upload.Send(&farmv1.UploadCertificateRequest{Session: bad.session, Sha256: make([]byte, 32),
			Size: 100, Data: []byte("x")}); err != nil {
			t.Fatal(err)
		}
		boss := c.enter(c.member(identity.Operator, "boss", 0))
		watch, err := boss.control.Watch(t.Context(), &farmv1.WatchRequest{})
		if err != nil {
			t.Fatal(err)
		}
		if _, err := watch.Recv(); err != nil {
			t.Fatal(err)
		}
		synctest.Wait()

		if _, err := c.authority.Revoke("bad"); err != nil {
			t.Fatal(err)
		}
		if _, err := c.authority.Revoke("boss"); err != nil {
			t.Fatal(err)
		}
		began := time.Now()
		for err = nil; err == nil; _, err = bad.stream.Recv() { // what was on its way comes first
		}
		wantCode(t, err, codes.Unauthenticated, "the credential of worker bad is revoked")
		for err = nil; err == nil; _, err = watch.Recv() {
		}
		wantCode(t, err, codes.Unauthenticated, "the credential of operator boss is revoked")
		if took := time.Since(began); took > access.ReloadEvery {
			t.Errorf("the streams were ended after %v, want %v", took, access.ReloadEvery)
		}
		err = upload.RecvMsg(&farmv1.UploadCertificateResponse{})
		if took := time.Since(began); err == nil || took > access.ReloadEvery+access.Parting {
			t.Errorf("a hanging upload was ended after %v: %v", took, err)
		}
		_, err = b.farm.Join(t.Context(), &farmv1.JoinRequest{Worker: "bad", ProtocolVersion: farmv1.ProtocolVersion,
			RulesVersion: farmv1.RulesVersion, Build: "this build"})
		wantCode(t, err, codes.Unavailable, "bad certificate")
		var second *farmv1.Lease
		for second == nil {
			second = good.receive().GetLease()
		}
		if !bytes.Equal(first.GetKey(), second.GetKey()) {
			t.Errorf("leases %v and %v", first, second)
		}
		synctest.Wait()
		if n := c.refused(access.ReasonRevoked); n < 3 {
			t.Errorf("%v refusals are counted, want 3 at least", n)
		}
		for _, who := range []string{"worker bad", "operator boss"} {
			if n := strings.Count(c.log.String(), `who="`+who+`"`); n < 1 {
				t.Errorf("%s is not in the log", who)
			}
		}
	})
}

// TestCallsOnOpenConnection holds that a call is judged by itself, between two looks at the files'
// owners.
func TestCallsOnOpenConnection(t *testing.T) {
	c := startCluster(t, true, access.Limits{})
	b := c.enter(c.member(identity.Operator, "me", 0))
	if _, err := b.control.Status(t.Context(), &farmv1.StatusRequest{}); err != nil {
		t.Fatal(err)
	}
	if _, err := c.authority.Revoke("me"); err != nil {
		t.Fatal(err)
	}
	if changed, err := c.files.Reload(); err != nil || !changed { // and no sweep
		t.Fatal(changed, err)
	}
	for range 2 {
		_, err := b.control.Status(t.Context(), &farmv1.StatusRequest{})
		wantCode(t, err, codes.Unauthenticated, "revoked")
	}
	if n := strings.Count(c.log.String(), "reason=revoked"); n != 1 {
		t.Errorf("%d lines in the log, want 1", n)
	}
}

// TestExpiryWhileConnected holds that a certificate that ends takes its connection along, that its
// owner is refused then, and gets in with a new one.
func TestExpiryWhileConnected(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := startCluster(t, true, access.Limits{})
		c.sweep()
		// The authority's clock is two hours late.
		folder := c.member(identity.Worker, "w1", 3*time.Hour)
		b := c.enter(folder)
		w := b.worker("w1")
		began := time.Now()
		_, err := w.stream.Recv()
		wantCode(t, err, codes.Unavailable, "")
		if took := time.Since(began); took < time.Hour || took > time.Hour+2*access.ReloadEvery {
			t.Errorf("the stream was ended after %v, want an hour", took)
		}
		time.Sleep(time.Second) // until the connection is closed, too
		_, err = b.farm.Join(t.Context(), &farmv1.JoinRequest{Worker: "w1", ProtocolVersion: farmv1.ProtocolVersion,
			RulesVersion: farmv1.RulesVersion, Build: "this build"})
		wantCode(t, err, codes.Unavailable, "expired certificate")
		c.issue(credentials.Request{Identity: identity.Identity{Role: identity.Worker, Name: "w1"},
			Lifetime: 24 * time.Hour,
			Renew:    true})
		c.enter(folder).worker("w1").lease()
		synctest.Wait()
		if c.refused(access.ReasonExpired) < 2 {
			t.Errorf("%v refusals are counted, want 2 at least", c.refused(access.ReasonExpired))
		}
	})
}

// TestServingNewCertificates holds that a renewed certificate is served without a restart, that a
// damaged file changes nothing, and that the end of an authority ends its connections.
func TestServingNewCertificates(t *testing.T) {
	c := startCluster(t, true, access.Limits{})
	b := c.enter(c.member(identity.Operator, "me", 0))
	ask := func(b *bench) error {
		_, err := b.control.Status(t.Context(), &farmv1.StatusRequest{})
		return err
	}
	serial := func() string {
		t.Helper()
		raw, err := c.dialer(t.Context(), "")
		if err != nil {
			t.Fatal(err)
		}
		defer raw.Close()
		config := c.stranger()
		config.ServerName, config.NextProtos = "127.0.0.1", []string{"h2"}
		conn := tls.Client(raw, config)
		if err := conn.Handshake(); err != nil {
			t.Fatal(err)
		}
		return conn.ConnectionState().PeerCertificates[0].SerialNumber.String()
	}
	first := serial()
	c.issue(credentials.Request{Identity: identity.Identity{Role: identity.Master, Name: "master"},
		Hosts: []string{"127.0.0.1"}, Lifetime: 10 * 24 * time.Hour, Renew: true})
	c.guard.Reload()
	second := serial()
	if first == second {
		t.Error("the old certificate is served")
	}
	expiry := time.Unix(int64(c.metric("credential_expiry_timestamp_seconds", "")), 0)
	if want := time.Now().Add(10*24*time.Hour - 2*time.Hour); expiry.Sub(want).Abs() > time.Minute {
		t.Errorf("the metric says that it expires on %v, want %v", expiry, want)
	}
	path := filepath.Join(c.folder, identity.RevokedFile)
	good, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, good[:len(good)/2], 0o600); err != nil {
		t.Fatal(err)
	}
	for range 3 {
		c.guard.Reload()
	}
	done, failed := c.metric("credential_reloads_total", "done"), c.metric("credential_reloads_total", "failed")
	if done != 1 || failed != 1 || strings.Count(c.log.String(), "are not taken") != 1 {
		t.Errorf("%v done, %v failed, log %q", done, failed, c.log)
	}
	if err := ask(b); err != nil || serial() != second {
		t.Errorf("after a damaged list: %v", err)
	}
	// Everything is of another authority now.
	next := newAuthority(t, filepath.Join(t.TempDir(), "certs"), 0)
	out, err := next.Issue(credentials.Request{Identity: identity.Identity{Role: identity.Master, Name: "master"},
		Hosts: []string{"127.0.0.1"}})
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{identity.AuthorityFile, identity.MasterFile, identity.RevokedFile} {
		data, err := os.ReadFile(filepath.Join(out.Folder, name))
		if err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(c.folder, name), data, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	c.guard.Reload()
	wantCode(t, ask(b), codes.Unauthenticated, "not known any more")
	bundle, err := next.Issue(credentials.Request{Identity: identity.Identity{Role: identity.Operator, Name: "me"}})
	if err != nil {
		t.Fatal(err)
	}
	if err := ask(c.enter(bundle.Folder)); err != nil {
		t.Errorf("an operator of the new authority: %v", err)
	}
}

// TestClientReadsAgain holds that a client takes new files for its next connection, without a
// restart, and keeps those it has when the new ones are damaged; one that knows that its
// certificate has expired says so.
func TestClientReadsAgain(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := startCluster(t, true, access.Limits{})
		folder := c.member(identity.Operator, "me", 12*time.Hour)
		files, err := identity.Open(folder, identity.Operator)
		if err != nil {
			t.Fatal(err)
		}
		log := new(lines)
		b := c.connect(agent.Credentials(files, slog.New(slog.NewTextHandler(log, nil))))
		ask := func() error {
			_, err := b.control.Status(t.Context(), &farmv1.StatusRequest{})
			return err
		}
		cut := func() { // all connections
			list, _ := c.guard.Open()
			for _, conn := range list {
				conn.Close()
			}
			time.Sleep(10 * time.Second)
		}
		if err := ask(); err != nil {
			t.Fatal(err)
		}
		path := filepath.Join(folder, identity.ClientFile)
		good, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, good[:100], 0o600); err != nil {
			t.Fatal(err)
		}
		cut()
		if err := ask(); err != nil || strings.Count(log.String(), "cannot be read; the one before stays in use") != 1 {
			t.Errorf("with a damaged file: %v, log %q", err, log)
		}
		time.Sleep(11 * time.Hour) // the authority's clock is two hours late
		cut()
		wantCode(t, ask(), codes.Unavailable, "expired on")
		c.issue(credentials.Request{Identity: identity.Identity{Role: identity.Operator, Name: "me"}, Renew: true})
		time.Sleep(time.Minute) // the connection is tried again
		if err := ask(); err != nil {
			t.Errorf("with a new certificate: %v", err)
		}
	})
}
