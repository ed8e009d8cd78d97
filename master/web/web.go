// Package web serves what a master shows over HTTP: a status page and an explorer of positions, the
// same as JSON and SVG, /metrics for Prometheus, /healthz (the process is alive) and /readyz
// (workers can join). Only a reader with an operator's credential can change anything.
//
// How an answer comes about:
//
//   - pages.go, static: the pages themselves, and the documents and pictures that they ask for
//   - books.go: certificates of settled campaigns, and what they answer; work.go: where the work goes
//   - watch.go: what each campaign said last, and history.go: how its proof numbers went
//   - events.go: a stream that tells an open page what has changed
//   - operate.go: the three commands of operators
//
// A [watch] asks each campaign once a second, whatever the number of readers. Pages, documents and
// events show its last answer. Only /api/explore and the commands ask the campaign themselves.
//
// # Why a watch
//
// The loop of a master owns the tree and commits to disk between two answers. If each reader asked
// it, a popular page would slow the farm down. So a watch asks in their place and keeps the last
// answer as JSON. A hundred readers cost the loop as much as one, and a page still answers while
// the disk is slow: it then says how old its figures are. Each part of an answer has a version, and
// a stream of events sends only the parts that have changed.
package web

import (
	"context"
	"crypto/tls"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"net/netip"
	"slices"
	"strings"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promhttp"
	"golang.org/x/sync/semaphore"
	"golang.org/x/time/rate"

	"amazonsfarm/master/access"
	"amazonsfarm/shared/cli"
)

// Config says what a Server shows.
type Config struct {
	// Gatherer holds the metrics.
	Gatherer prometheus.Gatherer
	// Ready returns nil when workers can join, otherwise the reason why not, in one sentence.
	Ready func() error
	// Alive returns nil, or the reason why the process should be started again.
	Alive func() error

	// Campaign returns the campaign of a name; for no name, the one that the pages show at first.
	Campaign func(name string) (Campaign, error)
	// Command carries out what an operator can do: pause, resume or drain; see loop.Loop.Command.
	Command func(ctx context.Context, name string) error
	// Operator returns the name of the operator whose credential came with a connection, empty if
	// there is none that is good now.
	Operator func(*tls.ConnectionState) string
	// Hosts are names that the pages may be asked for by, beside addresses and names that belong to no
	// public domain.
	Hosts []string
	// Log receives the commands of operators.
	Log *slog.Logger
	// Period is how often the campaign is asked; pages are as old as that. Too short: work for the
	// loop that owns the tree.
	Period time.Duration
	// HistoryPoints bounds the points of the curve of proof numbers, at least 2. Too few: a coarse
	// curve, since it always shows the whole time since the master began.
	HistoryPoints int
	// ExploresPerSecond bounds the positions looked up, for all readers together. Each may take the
	// loop that owns the tree some ten milliseconds. Too small: readers wait.
	ExploresPerSecond int
}

// DefaultConfig returns what a server shows that is always ready. It lacks Gatherer, Campaign and
// Command.
func DefaultConfig() Config {
	well := func() error { return nil }
	return Config{Ready: well, Alive: well, Operator: func(*tls.ConnectionState) string { return "" },
		Log: slog.New(slog.DiscardHandler), Period: time.Second, HistoryPoints: 600, ExploresPerSecond: 20}
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
	maxLive        = 64 // pages that an open connection keeps up to date; others ask every five seconds
)

// Server answers HTTP requests.
type Server struct {
	cfg       Config
	watches   *watches
	live      *semaphore.Weighted // one for each open stream of events
	thinks    *semaphore.Weighted // taken for the one answer that is searched for
	downloads *semaphore.Weighted // one for each certificate that is sent
	explores  *rate.Limiter
	closing   chan struct{} // closed when Serve ends: streams of events end, too
	lines     *rate.Limiter // of the log: who is refused all the time does not fill the disk
	readTime  time.Duration
}

// New makes a server.
func New(c Config) *Server {
	s := &Server{cfg: c, live: semaphore.NewWeighted(maxLive), downloads: semaphore.NewWeighted(maxDownloads),
		thinks: semaphore.NewWeighted(1), closing: make(chan struct{}), readTime: readTimeout,
		lines:    rate.NewLimiter(1, 10),
		explores: rate.NewLimiter(rate.Limit(c.ExploresPerSecond), c.ExploresPerSecond)}
	s.watches = &watches{c: &s.cfg, byName: map[string]*watch{}, books: books{bySHA: map[string]*opened{}}}
	return s
}

// handler returns the handler of all pages.
func (s *Server) handler() http.Handler {
	mux := http.NewServeMux()
	mux.Handle("GET /metrics", promhttp.HandlerFor(s.cfg.Gatherer,
		promhttp.HandlerOpts{MaxRequestsInFlight: maxScrapes}))
	mux.HandleFunc("GET /healthz", probe(s.cfg.Alive))
	mux.HandleFunc("GET /readyz", probe(s.cfg.Ready))
	s.addPages(mux)
	s.addCommands(mux)
	return guarded(s.named(mux))
}

// guarded tells browsers to load nothing from elsewhere, and to show none of it inside the pages of
// others.
func guarded(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		h := w.Header()
		h.Set("Content-Security-Policy", "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; "+
			"connect-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'")
		h.Set("X-Content-Type-Options", "nosniff")
		h.Set("Referrer-Policy", "no-referrer")
		next.ServeHTTP(w, r)
	})
}

// named refuses requests for another host. Otherwise the page of a stranger, whose name leads to this
// machine for a moment, could read and command with what the reader's browser has.
func (s *Server) named(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if !known(r.Host, s.cfg.Hosts) {
			if s.lines.Allow() {
				s.cfg.Log.Warn("refused: a page of another host", "host", fmt.Sprintf("%.80s", r.Host),
					"address", r.RemoteAddr)
			}
			refuse(w, http.StatusMisdirectedRequest, "these pages are not of that host")
			return
		}
		next.ServeHTTP(w, r)
	})
}

// known reports whether the host of a request cannot be a stranger's: it is an address, a name without
// a domain or in one that nobody can register, or one of the names given.
func known(host string, names []string) bool {
	if name, _, err := net.SplitHostPort(host); err == nil {
		host = name
	}
	host = strings.ToLower(strings.Trim(host, "[]."))
	if address, err := netip.ParseAddr(host); err == nil {
		return address.Zone() == "" // browsers send none
	}
	private := func(domain string) bool { return strings.HasSuffix(host, domain) }
	return !strings.Contains(host, ".") || slices.Contains(names, host) ||
		slices.ContainsFunc([]string{".localhost", ".local", ".internal", ".svc"}, private)
}

// probe answers 200, or 503 with the reason in one line. Programs look at the code alone; the line is
// for people.
func probe(check func() error) http.HandlerFunc {
	return func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "text/plain; charset=utf-8")
		if err := check(); err != nil {
			w.WriteHeader(http.StatusServiceUnavailable)
			fmt.Fprintln(w, err)
			return
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
	access.Pages(server)
	stop, err := s.watches.begin(ctx)
	defer stop()
	if err != nil {
		return err
	}
	// Streams of events never end by themselves. They are told, or Shutdown would wait for each of them in vain.
	server.RegisterOnShutdown(func() { close(s.closing) })
	if err := cli.ServeHTTP(ctx, server, listeners...); err != nil {
		return fmt.Errorf("serve http: %w", err)
	}
	return nil
}
