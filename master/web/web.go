// Package web serves what a master shows over HTTP: a status page and an explorer of positions, the
// same as JSON and SVG, /metrics for Prometheus, /healthz (the process is alive) and /readyz
// (workers can join). Only a reader with an operator's credential can change anything.
//
// A [watch] asks each campaign once a second, whatever the number of readers. Pages, documents and
// events show its last answer. Only /api/explore and the commands ask the campaign themselves.
package web

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promhttp"
	"golang.org/x/time/rate"
)

// ErrSetting is wrapped by New for a setting out of its range.
var ErrSetting = errors.New("bad web setting")

// Config says what a Server shows. Zero stands for the default where one is named.
type Config struct {
	// Gatherer holds the metrics.
	Gatherer prometheus.Gatherer
	// Ready returns nil when workers can join, otherwise the reason why not, in one sentence.
	// Default: always ready.
	Ready func() error
	// Alive returns nil, or the reason why the process should be started again. Default: always
	// alive.
	Alive func() error

	// Campaign returns the campaign of a name; for no name, the one that the pages show at first.
	// Default: there are no pages.
	Campaign func(name string) (Campaign, error)
	// Commands are what operators can do. Default: nobody can change anything.
	Commands Commands
	// Operator returns the name of the operator whose credential came with a connection, empty if
	// there is none that is good now. Default: there are no operators.
	Operator func(*tls.ConnectionState) string
	// Log receives the commands of operators. Default: discards.
	Log *slog.Logger
	// Period is how often the campaign is asked, 100 ms to a minute; pages are as old as that.
	// Default 1 s. Too short: work for the loop that owns the tree.
	Period time.Duration
	// MaxLive bounds the pages that are kept up to date over an open connection. Default 64. The
	// other pages ask every five seconds.
	MaxLive int
	// HistoryPoints bounds the points of the curve of proof numbers, at least 2. Default 600. Too
	// few: a coarse curve, since it always shows the whole time since the master began.
	HistoryPoints int
	// ExploresPerSecond bounds the positions looked up, for all readers together. Default 20. Each
	// may take the loop that owns the tree some ten milliseconds. Too small: readers wait.
	ExploresPerSecond float64
}

// Check returns what New would say of the settings.
func (c Config) Check() error { return c.complete() }

func (c *Config) complete() error {
	if c.Period == 0 {
		c.Period = time.Second
	}
	if c.MaxLive == 0 {
		c.MaxLive = 64
	}
	if c.HistoryPoints == 0 {
		c.HistoryPoints = 600
	}
	if c.ExploresPerSecond == 0 {
		c.ExploresPerSecond = 20
	}
	if c.Log == nil {
		c.Log = slog.New(slog.DiscardHandler)
	}
	switch {
	case c.Period < 100*time.Millisecond || c.Period > time.Minute:
		return fmt.Errorf("%w: Period %v is not from 100ms to 1m", ErrSetting, c.Period)
	case c.MaxLive < 1:
		return fmt.Errorf("%w: MaxLive %d is less than 1", ErrSetting, c.MaxLive)
	case c.HistoryPoints < 2 || c.HistoryPoints > 100_000:
		return fmt.Errorf("%w: HistoryPoints %d is not from 2 to 100000", ErrSetting, c.HistoryPoints)
	case !(c.ExploresPerSecond > 0 && c.ExploresPerSecond <= 1e6):
		return fmt.Errorf("%w: ExploresPerSecond %v is not from 0 to a million", ErrSetting, c.ExploresPerSecond)
	}
	return nil
}

// Limits of the server: a request is small, an answer is one scrape, one document or one event.
const (
	readTimeout    = 5 * time.Second
	writeTimeout   = 30 * time.Second
	idleTimeout    = 2 * time.Minute
	maxHeaderBytes = 16 << 10
	maxScrapes     = 4               // at once
	askPatience    = 5 * time.Second // with the campaign, which commits to disk between answers
	eventPatience  = 10 * time.Second
)

// Server answers HTTP requests.
type Server struct {
	cfg      Config
	watches  *watches
	live     chan struct{} // a token for each open stream of events
	explores *rate.Limiter
	closing  chan struct{} // closed when Serve ends: streams of events end, too
	readTime time.Duration
}

// New makes a server. Errors wrap ErrSetting.
func New(c Config) (*Server, error) {
	if err := c.complete(); err != nil {
		return nil, err
	}
	s := &Server{cfg: c, live: make(chan struct{}, c.MaxLive), closing: make(chan struct{}), readTime: readTimeout,
		explores: rate.NewLimiter(rate.Limit(c.ExploresPerSecond), max(1, int(c.ExploresPerSecond)))}
	s.watches = &watches{c: &s.cfg, byName: map[string]*watch{}}
	return s, nil
}

// handler returns the handler of all pages.
func (s *Server) handler() http.Handler {
	mux := http.NewServeMux()
	mux.Handle("GET /metrics", promhttp.HandlerFor(s.cfg.Gatherer,
		promhttp.HandlerOpts{MaxRequestsInFlight: maxScrapes}))
	mux.HandleFunc("GET /healthz", probe(s.cfg.Alive))
	mux.HandleFunc("GET /readyz", probe(s.cfg.Ready))
	if s.cfg.Campaign == nil {
		mux.HandleFunc("GET /{$}", func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Type", "text/plain; charset=utf-8")
			fmt.Fprintln(w, "amazons master: /metrics /healthz /readyz")
		})
	} else {
		s.addPages(mux)
		s.addCommands(mux)
	}
	return guarded(mux)
}

// guarded tells browsers to load nothing from elsewhere, and to show none of it inside the pages of
// others.
func guarded(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		h := w.Header()
		h.Set("Content-Security-Policy", "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; connect-src 'self'; "+
			"base-uri 'none'; form-action 'none'; frame-ancestors 'none'")
		h.Set("X-Content-Type-Options", "nosniff")
		h.Set("Referrer-Policy", "no-referrer")
		next.ServeHTTP(w, r)
	})
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

// Serve answers on all listeners until ctx ends, then lets requests in flight end for at most a
// second. It returns nil after such an end. It is called once.
func (s *Server) Serve(ctx context.Context, listeners ...net.Listener) error {
	server := &http.Server{
		Handler:           s.handler(),
		ReadTimeout:       s.readTime,
		ReadHeaderTimeout: s.readTime,
		WriteTimeout:      writeTimeout,
		IdleTimeout:       idleTimeout,
		MaxHeaderBytes:    maxHeaderBytes,
		ErrorLog:          slog.NewLogLogger(s.cfg.Log.Handler(), slog.LevelDebug), // who breaks off a connection
	}
	stop, err := s.watches.begin(ctx)
	if err != nil {
		return err
	}
	defer stop()
	failed := make(chan error, len(listeners))
	for _, l := range listeners {
		go func() { failed <- server.Serve(l) }()
	}
	left := len(listeners)
	select {
	case err = <-failed:
		left--
	case <-ctx.Done():
	}
	close(s.closing)
	late, cancel := context.WithTimeout(context.WithoutCancel(ctx), time.Second)
	defer cancel()
	if server.Shutdown(late) != nil {
		server.Close()
	}
	for range left {
		if late := <-failed; err == nil && !errors.Is(late, http.ErrServerClosed) {
			err = late
		}
	}
	if err != nil {
		return fmt.Errorf("serve http: %w", err)
	}
	return nil
}
