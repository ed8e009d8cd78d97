package command

import (
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"amazonsfarm/worker/agent"
)

func TestPages(t *testing.T) {
	stats := new(agent.Stats)
	server := httptest.NewServer(newHandler(stats))
	defer server.Close()
	get := func(path string) (int, string) {
		r, err := http.Get(server.URL + path)
		if err != nil {
			t.Fatal(err)
		}
		defer r.Body.Close()
		body, err := io.ReadAll(r.Body)
		if err != nil {
			t.Fatal(err)
		}
		return r.StatusCode, string(body)
	}
	stats.Nodes.Store(123)
	if code, body := get("/metrics"); code != 200 || !strings.Contains(body, "\namazons_worker_nodes_total 123\n") ||
		!strings.Contains(body, "\namazons_worker_connected 0\n") {
		t.Errorf("metrics: %d\n%s", code, body)
	}
	if code, _ := get("/healthz"); code != 200 {
		t.Errorf("healthz: %d", code)
	}
	if code, _ := get("/readyz"); code != 503 {
		t.Errorf("readyz without a master: %d", code)
	}
	stats.Connected.Store(true)
	if code, _ := get("/readyz"); code != 200 {
		t.Errorf("readyz: %d", code)
	}
}
