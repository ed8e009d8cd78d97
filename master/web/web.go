// Package web serves what a master shows over HTTP: /metrics for Prometheus, /healthz (the process is alive) and /readyz
// (it takes workers), and nothing else.
package web

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promhttp"
)

// Config says what a Server shows.
type Config struct {
	// Gatherer holds the metrics.
	Gatherer prometheus.Gatherer
	// Ready returns nil when workers can join, otherwise the reason why not, one sentence. nil means always ready.
	Ready func() error
	// Alive returns nil unless the process should be started again, otherwise why. nil means always alive.
	Alive func() error
}

// Limits of the server: a request is small, an answer is one scrape.
const (
	readTimeout    = 5 * time.Second
	writeTimeout   = 30 * time.Second
	idleTimeout    = 2 * time.Minute
	maxHeaderBytes = 16 << 10
	maxScrapes     = 4 // at once
)

// Handler returns the handler of all pages.
func Handler(c Config) http.Handler {
	mux := http.NewServeMux()
	mux.Handle("GET /metrics", promhttp.HandlerFor(c.Gatherer, promhttp.HandlerOpts{MaxRequestsInFlight: maxScrapes}))
	mux.HandleFunc("GET /healthz", probe(c.Alive))
	mux.HandleFunc("GET /readyz", probe(c.Ready))
	mux.HandleFunc("GET /{$}", func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "text/plain; charset=utf-8")
		fmt.Fprintln(w, "amazons master: /metrics /healthz /readyz")
	})
	return mux
}

func probe(check func() error) http.HandlerFunc {
	return func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "text/plain; charset=utf-8")
		if check != nil {
			if err := check(); err != nil {
				w.WriteHeader(http.StatusServiceUnavailable)
				fmt.Fprintln(w, err)
				return
			}
		}
		fmt.Fprintln(w, "ok")
	}
}

// Serve answers on l until ctx ends, then lets requests in flight end for at most a second. It returns nil after such an end.
func Serve(ctx context.Context, l net.Listener, c Config) error {
	server := &http.Server{
		Handler:           Handler(c),
		ReadTimeout:       readTimeout,
		ReadHeaderTimeout: readTimeout,
		WriteTimeout:      writeTimeout,
		IdleTimeout:       idleTimeout,
		MaxHeaderBytes:    maxHeaderBytes,
	}
	failed := make(chan error, 1)
	go func() { failed <- server.Serve(l) }()
	select {
	case err := <-failed:
		return fmt.Errorf("serve http: %w", err)
	case <-ctx.Done():
	}
	late, cancel := context.WithTimeout(context.WithoutCancel(ctx), time.Second)
	defer cancel()
	if err := server.Shutdown(late); err != nil {
		server.Close()
	}
	if err := <-failed; !errors.Is(err, http.ErrServerClosed) {
		return fmt.Errorf("serve http: %w", err)
	}
	return nil
}
