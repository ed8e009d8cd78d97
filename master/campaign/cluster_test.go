package campaign

import (
	"context"
	"crypto/tls"
	"errors"
	"io"
	"log/slog"
	"net"
	"net/http"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"google.golang.org/grpc"

	"amazonsfarm/master/access"
	"amazonsfarm/master/credentials"
	"amazonsfarm/master/loop"
	"amazonsfarm/master/rpc"
	"amazonsfarm/master/tree"
	"amazonsfarm/master/web"
	farmv1 "amazonsfarm/proto/farm/v1"
	"amazonsfarm/shared/identity"
	"amazonsfarm/worker/agent"
)

// connect dials a master with the certificate in a folder.
func connect(t *testing.T, address, folder string, role identity.Role) *grpc.ClientConn {
	t.Helper()
	files, err := identity.Open(folder, role)
	if err != nil {
		t.Fatal(err)
	}
	options := append(agent.DialOptions(), grpc.WithTransportCredentials(agent.Credentials(files,
		slog.New(slog.DiscardHandler))))
	conn, err := grpc.NewClient("passthrough:///"+address, options...)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { conn.Close() })
	return conn
}

// TestRevokedCertificate runs a cluster over the loopback interface with certificates. One of two
// workers loses its certificate while it holds a lease: it is sent away and says why, does not come
// in again, and the other one finishes the campaign.
func TestRevokedCertificate(t *testing.T) {
	folder := filepath.Join(t.TempDir(), "certs")
	authority, err := credentials.Init(folder, credentials.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer authority.Close()
	issue := func(role identity.Role, name string, hosts ...string) string {
		t.Helper()
		out, err := authority.Issue(credentials.Request{Identity: identity.Identity{Role: role, Name: name},
			Hosts: hosts})
		if err != nil {
			t.Fatal(err)
		}
		return out.Folder
	}
	issue(identity.Master, "master", "127.0.0.1")
	files, err := identity.Open(folder, identity.Master)
	if err != nil {
		t.Fatal(err)
	}
	guard := access.NewGuard(access.GuardOptions{Files: files})
	f, err := Open(Options{Root: position(t, "5x5"), StoreFile: filepath.Join(t.TempDir(), "s.store"),
		Services: rpc.Config{Build: agent.Build()}, Tree: tree.Config{InitialBudget: 2000, SplitAfter: 4000},
		Loop: loop.Config{Heartbeat: 50 * time.Millisecond}})
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	address := listener.Addr().String()
	server := rpc.NewServer(f.Loop, f.Services, rpc.ServerOptions{Guard: guard})
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	watching, stopWatching := context.WithCancel(ctx)
	var all sync.WaitGroup
	all.Go(func() { _ = server.Serve(listener) })
	all.Go(func() { guard.Run(watching) })
	defer all.Wait()
	defer server.Stop()
	defer stopWatching()
	ended := make(chan error, 1)
	all.Go(func() { ended <- f.Loop.Run(ctx) })

	operator := farmv1.NewControlClient(connect(t, address, issue(identity.Operator, "me"), identity.Operator))
	leased := func() bool {
		t.Helper()
		r, err := operator.Workers(ctx, &farmv1.WorkersRequest{})
		if err != nil {
			t.Fatal(err)
		}
		for _, w := range r.GetWorkers() {
			if strings.HasPrefix(w.GetName(), "bad/") && w.GetLease() != 0 {
				return true
			}
		}
		return false
	}
	// The pages are for everybody, the commands on them for an operator whose certificate is good
	// at that moment.
	pages, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	campaign := func(name string) (web.Campaign, error) { return rpc.CampaignOf(f.Loop, name) }
	config := web.DefaultConfig()
	config.Gatherer, config.Campaign, config.Command = prometheus.NewRegistry(), campaign, f.Loop.Command
	config.Operator = guard.Operator
	site := web.New(config)
	all.Go(func() { _ = site.Serve(watching, tls.NewListener(pages, guard.PagesTLS())) })
	browser := func(role identity.Role, folder string) *http.Client {
		t.Helper()
		files, err := identity.Open(folder, role)
		if err != nil {
			t.Fatal(err)
		}
		transport := &http.Transport{TLSClientConfig: files.ClientTLS()}
		t.Cleanup(transport.CloseIdleConnections)
		return &http.Client{Transport: transport}
	}
	ask := func(c *http.Client, method, path string) (int, string) {
		t.Helper()
		r, err := http.NewRequest(method, "https://"+pages.Addr().String()+path, nil)
		if err != nil {
			t.Fatal(err)
		}
		answer, err := c.Do(r)
		if err != nil {
			return 0, err.Error()
		}
		defer answer.Body.Close()
		body, err := io.ReadAll(answer.Body)
		if err != nil {
			t.Fatal(err)
		}
		return answer.StatusCode, string(body)
	}
	mine := issue(identity.Operator, "passing")
	passing := browser(identity.Operator, mine)
	if code, body := ask(passing, "GET", "/api/operator"); code != 200 || !strings.Contains(body, `"name":"passing"`) {
		t.Errorf("an operator looks: %d %s", code, body)
	}
	for _, name := range []string{"pause", "resume"} {
		if code, body := ask(passing, "POST", "/api/"+name); code != 204 {
			t.Errorf("an operator's %s: %d %s", name, code, body)
		}
	}
	if code, body := ask(browser(identity.Worker, issue(identity.Worker, "curious")), "POST",
		"/api/pause"); code != 403 {
		t.Errorf("a worker's pause: %d %s", code, body)
	}
	nobody := passing.Transport.(*http.Transport).Clone()
	nobody.TLSClientConfig.GetClientCertificate = nil
	t.Cleanup(nobody.CloseIdleConnections)
	if code, body := ask(&http.Client{Transport: nobody}, "GET", "/explore"); code != 200 {
		t.Errorf("the pages without a certificate: %d %s", code, body)
	}
	if code, body := ask(&http.Client{Transport: nobody}, "POST", "/api/pause"); code != 403 {
		t.Errorf("a pause without a certificate: %d %s", code, body)
	}
	if _, err := authority.Revoke("passing"); err != nil {
		t.Fatal(err)
	}
	for revoked := false; !revoked; { // on the connection that is open, too, once the guard has looked
		code, _ := ask(passing, "POST", "/api/resume")
		if revoked = code == 403 || code == 0; !revoked { // 0: a new connection is not made
			time.Sleep(time.Millisecond)
		}
	}

	badFolder := issue(identity.Worker, "bad")
	bad := make(chan error, 1)
	run := func(folder, name string) error {
		id := identity.Identity{Role: identity.Worker, Name: name}
		return agent.Run(ctx, connect(t, address, folder, identity.Worker),
			agent.Config{Name: agent.NameFor(id, ""), Cores: 1, TableBytes: 4 << 20})
	}
	all.Go(func() { bad <- run(badFolder, "bad") })
	for !leased() {
		time.Sleep(time.Millisecond)
	}
	// Without new leases it cannot finish before the others come.
	if _, err := operator.Pause(ctx, &farmv1.PauseRequest{}); err != nil {
		t.Fatal(err)
	}
	if _, err := authority.Revoke("bad"); err != nil {
		t.Fatal(err)
	}
	if err := <-bad; !errors.Is(err, agent.ErrRefused) ||
		!strings.Contains(err.Error(), "the credential is revoked, or not made for this use") {
		t.Errorf("the revoked worker ended with %v", err)
	}
	if err := run(badFolder, "bad"); !errors.Is(err, agent.ErrRefused) ||
		!strings.Contains(err.Error(), "the credential is revoked, or not made for this use") {
		t.Errorf("started again, the revoked worker ended with %v", err)
	}
	if _, err := operator.Resume(ctx, &farmv1.ResumeRequest{}); err != nil {
		t.Fatal(err)
	}
	if err := run(issue(identity.Worker, "good"), "good"); err != nil {
		t.Errorf("the other worker ended with %v", err)
	}
	err = <-ended
	if r := f.Result(err); err != nil || r.Winner != "first" /* README.md */ || !r.Verified {
		t.Errorf("the campaign ended with %+v, %v", r, err)
	}
}
