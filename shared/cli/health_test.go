package cli

import (
	"bytes"
	"context"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/spf13/cobra"
)

// TestHealth asks a program that is ready, one that is not, one that is not there, and wrong addresses.
func TestHealth(t *testing.T) {
	ready := true
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		switch {
		case r.URL.Path != "/readyz":
			http.NotFound(w, r)
		case ready:
			w.Write([]byte("ok\n"))
		default:
			http.Error(w, "draining: told to\nand more", http.StatusServiceUnavailable)
		}
	}))
	address := server.Listener.Addr().String()
	_, port, err := net.SplitHostPort(address)
	if err != nil {
		t.Fatal(err)
	}
	health := func(code int, stdout, stderr string, args ...string) {
		t.Helper()
		root := &cobra.Command{Use: "program"}
		root.AddCommand(HealthCommand(address))
		var out, messages bytes.Buffer
		got := Execute(context.Background(), root, append([]string{"health"}, args...), strings.NewReader(""), &out,
			&messages)
		if got != code || out.String() != stdout || !strings.HasPrefix(messages.String(), stderr) ||
			strings.Count(messages.String(), "\n") > 1 {
			t.Errorf("health %v: exit code %d, %q, %q; want %d, %q, %q", args, got, out.String(), messages.String(),
				code, stdout, stderr)
		}
	}
	health(ExitDone, "ok\n", "")
	health(ExitDone, "ok\n", "", "--http", ":"+port)
	health(ExitDone, "ok\n", "", "--http", "0.0.0.0:"+port)
	ready = false
	health(ExitFailed, "", "program: not ready: draining: told to\n")
	health(ExitUsage, "", "program: --http 7171: write HOST:PORT, such as 127.0.0.1:7171\n", "--http", "7171")
	health(ExitUsage, "", "program: --http ", "--http", "a b:1")
	other := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		conn, _, _ := http.NewResponseController(w).Hijack()
		conn.Write([]byte("\x00\x00\x12\x04\x00\x00\x00\x00\x00\n")) // as gRPC begins
		conn.Close()
	}))
	defer other.Close()
	health(ExitFailed, "", "program: what answers at "+other.Listener.Addr().String()+" are no pages; perhaps it is",
		"--http", other.Listener.Addr().String())
	server.Close()
	health(ExitFailed, "", "program: no pages answer at ")
}
