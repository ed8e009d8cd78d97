package command

import (
	"context"
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
	"github.com/spf13/cobra"

	"amazonsfarm/master/access"
	"amazonsfarm/master/campaign"
	"amazonsfarm/master/credentials"
	"amazonsfarm/shared/amazons"
	"amazonsfarm/shared/identity"
)

type full struct{}

func (full) Write([]byte) (int, error) { return 0, errors.New("no space left") }

// TestFullDisk: credentials that cannot be printed are one error, and hide no other.
func TestFullDisk(t *testing.T) {
	var f certsFlags
	c := f.command(&cobra.Command{}, func([]string) ([]credentials.Issued, error) {
		return make([]credentials.Issued, 3), errors.New("not all were made")
	})
	c.SetOut(full{})
	err := c.RunE(c, nil)
	if err == nil || strings.Count(err.Error(), "no space left") != 1 || !strings.Contains(err.Error(), "not all") {
		t.Errorf("%q", err)
	}
}

// TestReadyWithoutCredential wants /readyz to say that the master's own credential has expired: no worker can connect.
func TestReadyWithoutCredential(t *testing.T) {
	folder := filepath.Join(t.TempDir(), "certs")
	authority, err := credentials.Init(folder, credentials.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer authority.Close()
	if _, err := authority.Issue(credentials.Request{Identity: identity.Identity{Role: identity.Master, Name: "master"},
		Hosts: []string{"127.0.0.1"}, Lifetime: 2 * time.Second}); err != nil {
		t.Fatal(err)
	}
	files, err := identity.Open(folder, identity.Master)
	if err != nil {
		t.Fatal(err)
	}
	root, err := amazons.ParsePosition("4x4")
	if err != nil {
		t.Fatal(err)
	}
	f, err := campaign.Open(campaign.Options{Root: root, StoreFile: filepath.Join(t.TempDir(), "s.store")})
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	ctx, cancel := context.WithCancel(t.Context())
	var all sync.WaitGroup
	defer all.Wait()
	defer cancel()
	all.Go(func() { _ = f.Loop.Run(ctx) })
	flags, guard := serveFlags{settings: newSettings()}, access.NewGuard(access.GuardOptions{Files: files})
	site := flags.site(ctx, f.Loop, prometheus.NewRegistry(), guard, slog.New(slog.DiscardHandler))
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	all.Go(func() { _ = site.Serve(ctx, listener) })
	for body := "ok\n"; !strings.Contains(body, "master.pem expired on"); time.Sleep(50 * time.Millisecond) {
		if body != "ok\n" {
			t.Fatal(body)
		}
		answer, err := http.Get("http://" + listener.Addr().String() + "/readyz")
		if err != nil {
			t.Fatal(err)
		}
		text, err := io.ReadAll(answer.Body)
		if err != nil || answer.Body.Close() != nil {
			t.Fatal(err)
		}
		body = string(text)
	}
}
