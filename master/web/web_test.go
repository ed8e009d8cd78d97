package web

import (
	"bufio"
	"bytes"
	"cmp"
	"context"
	"crypto/tls"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"math"
	"net"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"go.uber.org/goleak"
	"golang.org/x/sync/semaphore"
	"golang.org/x/time/rate"

	"amazonsfarm/master/document"
	"amazonsfarm/master/loop"
	"amazonsfarm/master/recent"
	farmv1 "amazonsfarm/proto/farm/v1"
	"amazonsfarm/shared/amazons"
	"amazonsfarm/shared/eval"
	"amazonsfarm/shared/proof"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// campaign is one that says what a test tells it to.
type campaign struct {
	mu     sync.Mutex
	root   amazons.Position
	phi    uint32
	fail   error
	looked int // calls of Explore
}

const strangeName = `<b onclick="x">&`

func newCampaign(t testing.TB) *campaign {
	t.Helper()
	root, err := amazons.ParsePosition("4x4")
	if err != nil {
		t.Fatal(err)
	}
	return &campaign{root: root, phi: 7}
}

func (c *campaign) set(phi uint32, fail error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.phi, c.fail = phi, fail
}

func (c *campaign) Root() amazons.Position { return c.root }

func (c *campaign) Status(context.Context) (*farmv1.StatusResponse, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	return &farmv1.StatusResponse{
		Campaign: &farmv1.Campaign{Board: "4x4", Root: c.root.String()}, State: "running",
		Why: "one position is leased", RootPhi: c.phi, RootDelta: 9,
		StoreFile: "/home/somebody/4x4.db", Nodes: 100, RunningNodes: 5,
		FirstMoves: []*farmv1.FirstMove{{Move: "A2-A3xA2", Phi: 1, Delta: 1},
			{Move: "B1-B2xB1", Verdict: farmv1.Verdict_VERDICT_WON}},
	}, c.fail
}

func (c *campaign) Workers(context.Context) ([]*farmv1.Worker, error) {
	return []*farmv1.Worker{{Name: strangeName, Address: "10.0.0.7:1", Cores: 3, Lease: 4, Position: c.root.String(),
		LeaseSeconds: 12}}, nil
}

func (c *campaign) Contributors(context.Context) ([]loop.Contributor, error) {
	return []loop.Contributor{{Name: "gone", Nodes: 7, CoreSeconds: 3600}}, nil
}

func (c *campaign) Recent(context.Context) ([]recent.Entry, error) {
	return []recent.Entry{{Serial: 2, At: time.Unix(1e9, 0), Position: c.root.String(),
		Fact: proof.Fact{Verdict: eval.Lost, Nodes: 31}}}, nil
}

func (c *campaign) Explore(_ context.Context, way []amazons.Position) (*farmv1.ExploreResponse, error) {
	p := way[len(way)-1]
	c.mu.Lock()
	defer c.mu.Unlock()
	c.looked++
	out := &farmv1.ExploreResponse{Position: p.String(), Known: &farmv1.Known{Phi: c.phi, Delta: 9},
		Line: []string{"x"}}
	for _, m := range p.State().Moves(nil) {
		out.Moves = append(out.Moves, &farmv1.ExploredMove{Move: m.String(),
			After: &farmv1.Known{Verdict: farmv1.Verdict_VERDICT_WON, Delta: 3}})
	}
	return out, c.fail
}

// newServer makes a server that shows what c says, and what is usual where c is silent.
func newServer(t testing.TB, c Config) *Server {
	t.Helper()
	full := DefaultConfig()
	full.Gatherer, full.Campaign, full.Command = prometheus.NewRegistry(), only(newCampaign(t)), c.Command
	if c.Gatherer != nil {
		full.Gatherer, full.Ready = c.Gatherer, c.Ready
	}
	if c.Campaign != nil {
		full.Campaign = c.Campaign
	}
	if c.Operator != nil {
		full.Operator = c.Operator
	}
	full.Hosts = []string{"example.com", "farm.example"} // of requests without a connection
	full.Period = cmp.Or(c.Period, full.Period)
	return New(full)
}

// only is a master of one campaign.
func only(c Campaign) func(string) (Campaign, error) {
	return func(name string) (Campaign, error) {
		if name != "" {
			return nil, errors.New("none")
		}
		return c, nil
	}
}

// first returns the watch of the campaign that the pages show at first.
func first(t testing.TB, s *Server) *watch {
	t.Helper()
	w, err := s.watches.add("")
	if err != nil {
		t.Fatal(err)
	}
	return w
}

func request(h http.Handler, method, address string) *httptest.ResponseRecorder {
	w := httptest.NewRecorder()
	h.ServeHTTP(w, httptest.NewRequest(method, address, nil))
	return w
}

func TestProbesAndMetrics(t *testing.T) {
	registry := prometheus.NewRegistry()
	prometheus.WrapRegistererWithPrefix("amazons_",
		registry).MustRegister(prometheus.NewGauge(prometheus.GaugeOpts{Name: "some", Help: "Something."}))
	var notReady error
	h := newServer(t, Config{Gatherer: registry, Ready: func() error { return notReady }}).handler()
	get := func(path string) (int, string) {
		w := request(h, "GET", path)
		return w.Code, w.Body.String()
	}
	if code, body := get("/metrics"); code != 200 || !strings.Contains(body, "amazons_some 0") {
		t.Errorf("/metrics: %d %q", code, body)
	}
	if code, body := get("/readyz"); code != 200 || body != "ok\n" {
		t.Errorf("/readyz: %d %q", code, body)
	}
	notReady = errors.New("draining")
	if code, body := get("/readyz"); code != 503 || body != "draining\n" {
		t.Errorf("/readyz while draining: %d %q", code, body)
	}
	if code, _ := get("/healthz"); code != 200 {
		t.Errorf("/healthz while draining: %d, want 200: it is apart from readiness", code)
	}
}

// TestPages asks for every address, with GET and HEAD, and for what is none.
func TestPages(t *testing.T) {
	c := newCampaign(t)
	s := newServer(t, Config{Campaign: only(c)})
	h := s.handler()
	if w := request(h, "GET", "/api/status"); w.Code != 503 || !strings.Contains(w.Body.String(), "not answered yet") {
		t.Errorf("before the first answer: %d %q", w.Code, w.Body)
	}
	first(t, s).ask(t.Context())
	const position = ".BB./B..B/W..W/xWW.%20w"
	for _, x := range []struct {
		address string
		code    int
		kind    string
		want    string
	}{
		{"/", 200, "text/html", "First moves"},
		{"/explore", 200, "text/html", "explorer"},
		{"/explore?moves=B1-B2xB1", 200, "text/html", "explorer"},
		{"/page.css", 200, "text/css", "body"},
		{"/common.js", 200, "text/javascript", "'use strict'"},
		{"/index.js", 200, "text/javascript", "EventSource"},
		{"/explore.js", 200, "text/javascript", "hashchange"},
		{"/api/status", 200, "application/json", `"proof_number":7`},
		{"/api/workers", 200, "application/json", `"lease_seconds":12`},
		{"/api/facts", 200, "application/json", `"value":"lost"`},
		{"/api/history", 200, "application/json", `"nodes":[105]`},
		{"/api/operator", 200, "application/json", `"name":""`},
		{"/api/explore", 200, "application/json", `"outcome":"loses"`},
		{"/api/explore?moves=b1b2b1", 200, "application/json", `"position":".BB./B..B/WW.W/.xW. b"`},
		{"/api/explore?position=" + position, 200, "application/json", `"position":".BB./B..B/W..W/xWW. w"`},
		{"/api/play?moves=B1-B2xD4", 200, "application/json", `"basis":"search"`},
		{"/api/judge?position=W.x./.xxB/x...%20w", 200, "application/json", `"verdict":"lost"`},
		{"/api/work", 200, "application/json", `"unit":"nodes"`},
		{"/icon.svg", 200, "image/svg+xml", "<svg"},
		{"/board.js", 200, "text/javascript", "describe"},
		{"/board.svg", 200, "image/svg+xml", "<svg"},
		{"/board.svg?moves=B1-B2xB1", 200, "image/svg+xml", "Last move: B1-B2xB1"},
		{"/board.svg?position=" + position, 200, "image/svg+xml", "<svg"},

		{"/api/judge?position=W/B%20q", 400, "text/plain", "side to move"},
		{"/api/judge?moves=B1-B2xB1", 400, "text/plain", "none of position"},
		{"/api/play?moves=A1-A9xA1", 400, "text/plain", "move 1"},
		{"/api/certificate", 404, "text/plain", "not settled"},
		{"/api/explore?moves=A1-A9xA1", 400, "text/plain", "move 1"},
		{"/api/explore?moves=B1-B2xB1,X", 400, "text/plain", "move 2"},
		{"/api/explore?moves=,", 400, "text/plain", "move 1"},
		{"/api/explore?moves=" + strings.Repeat("A", maxText+1), 400, "text/plain", "longer than 1024"},
		{"/api/explore?moves=X&moves=Y", 400, "text/plain", "more than once"},
		{"/api/explore?move=B1-B2xB1", 400, "text/plain", "none of moves, position"},
		{"/api/explore?position=what", 400, "text/plain", "position"},
		{"/api/explore?position=5x5", 400, "text/plain", "its board is 5x5"},
		{"/api/explore?position=BBBB/..../..../WWW.%20w", 400, "text/plain", "4 white and 4 black queens"},
		{"/api/explore?%zz", 400, "text/plain", "cannot be read"},
		{"/board.svg?square=16", 400, "text/plain", "none of moves"},
		{"/board.svg?moves=X", 400, "text/plain", "move 1"},
		{"/nothing", 404, "text/plain", ""},
		{"/static/", 404, "text/plain", ""},
		{"/static/index.js", 404, "text/plain", ""},
		{"/api/", 404, "text/plain", ""},
		{"/../web.go", 307, "", ""},
	} {
		w := request(h, "GET", x.address)
		body := w.Body.String()
		if w.Code != x.code || !strings.HasPrefix(w.Header().Get("Content-Type"), x.kind) ||
			!strings.Contains(body, x.want) {
			t.Errorf("%.60s: %d %s %.200q, want %d %s with %q", x.address, w.Code, w.Header().Get("Content-Type"), body,
				x.code, x.kind, x.want)
		}
		if x.code == 400 && strings.Count(body, "\n") != 1 {
			t.Errorf("%.60s: %q is not one line", x.address, body)
		}
		if !strings.HasPrefix(w.Header().Get("Content-Security-Policy"), "default-src 'none'") ||
			w.Header().Get("X-Content-Type-Options") != "nosniff" {
			t.Errorf("%.60s: headers %v", x.address, w.Header())
		}
		if w := request(h, "HEAD", x.address); w.Code != x.code {
			t.Errorf("HEAD %.60s: %d, want %d", x.address, w.Code, x.code)
		}
		if w := request(h, "POST", x.address); w.Code < 300 {
			t.Errorf("POST %.60s: %d, want it refused", x.address, w.Code)
		}
	}
	if w := request(h, "HEAD", "/api/events"); w.Code != 200 || w.Header().Get("Content-Type") != "text/event-stream" {
		t.Errorf("HEAD /api/events: %d %v", w.Code, w.Header())
	}
	if body := request(h, "GET", "/api/status").Body.String(); strings.Contains(body, "somebody") ||
		!strings.Contains(body, `"store":"4x4.db"`) {
		t.Errorf("the status tells where the store lies: %s", body)
	}
	if body := request(h, "GET", "/api/workers").Body.String(); strings.Contains(body, "10.0.0.7") {
		t.Errorf("the workers' addresses are told: %s", body)
	}
	w := request(h, "GET", "/index.js")
	again := httptest.NewRequest("GET", "/index.js", nil)
	again.Header.Set("If-None-Match", w.Header().Get("ETag"))
	cached := httptest.NewRecorder()
	if h.ServeHTTP(cached, again); cached.Code != 304 {
		t.Errorf("asked again with its tag, the script comes with %d, want 304", cached.Code)
	}
}

// TestOneForm: the explorer answers with the document of the command line.
func TestOneForm(t *testing.T) {
	c := newCampaign(t)
	h := newServer(t, Config{Campaign: only(c)}).handler()
	r, err := c.Explore(t.Context(), []amazons.Position{c.root})
	if err != nil {
		t.Fatal(err)
	}
	want, err := json.Marshal(document.OfPosition(c.root, r))
	if err != nil {
		t.Fatal(err)
	}
	if got := request(h, "GET", "/api/explore").Body.String(); got != string(want)+"\n" {
		t.Errorf("got %s, want %s", got, want)
	}
}

// TestNoAnswer: a page goes on with what it knew when the campaign does not answer, and says so.
func TestNoAnswer(t *testing.T) {
	c := newCampaign(t)
	s := newServer(t, Config{Campaign: only(c)})
	h := s.handler()
	first(t, s).ask(t.Context())
	c.set(1, errors.New("it commits"))
	first(t, s).ask(t.Context())
	first(t, s).now = func() time.Time { return time.Now().Add(90 * time.Second) }
	w := request(h, "GET", "/api/status")
	if w.Code != 200 || !strings.Contains(w.Body.String(), `"proof_number":7`) ||
		!strings.HasPrefix(w.Header().Get("Age"), "9") {
		t.Errorf("status: %d %v %s", w.Code, w.Header(), w.Body)
	}
	if link := string(first(t, s).last().part[partLink]); !strings.Contains(link, `"answers":false`) ||
		!strings.Contains(link, "it commits") {
		t.Errorf("the page is told %s", link)
	}
	if w := request(h, "GET", "/api/explore"); w.Code != 503 || !strings.Contains(w.Body.String(), "it commits") {
		t.Errorf("explore: %d %s", w.Code, w.Body)
	}
}

// TestExploreRate: what readers together may look up is bounded, and who waits in vain is told.
func TestExploreRate(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := newCampaign(t)
		s := newServer(t, Config{Campaign: only(c)})
		s.explores = rate.NewLimiter(0.1, 1)
		h := s.handler()
		begin := time.Now()
		codes := map[int]int{}
		for range 2 {
			codes[request(h, "GET", "/api/explore").Code]++
		}
		if codes[200] != 1 || codes[503] != 1 || c.looked != 1 {
			t.Errorf("answers by code %v, %d looked up in %v", codes, c.looked, time.Since(begin))
		}
	})
}

func TestHistory(t *testing.T) {
	begin := time.Unix(0, 0)
	h := history{most: 8, step: time.Second}
	for i := range 1000 {
		h.add(point{at: begin.Add(time.Duration(i) * time.Second), nodes: uint64(i)})
		if len(h.points) > 8 || h.points[0].nodes != 0 {
			t.Fatalf("after %d: %v", i, h.points)
		}
		for j := 1; j < len(h.points); j++ {
			if d := h.points[j].at.Sub(h.points[j-1].at); d != h.step {
				t.Fatalf("after %d the points lie %v apart, want %v", i, d, h.step)
			}
		}
		if late := begin.Add(time.Duration(i) * time.Second).Sub(h.points[len(h.points)-1].at); late >= h.step {
			t.Fatalf("after %d the last point is %v old", i, late)
		}
	}
	if d := h.document(begin.Add(1000 * time.Second)); h.step != 128*time.Second && h.step != 256*time.Second ||
		d.Seconds[0] != 1000 || len(d.Phi) != len(d.Seconds) {
		t.Errorf("step %v, %+v", h.step, d)
	}
}

// serve starts a server on loopback and returns its address and what ends it.
func serve(t *testing.T, s *Server) (address string, end func() error) {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan error, 1)
	go func() { done <- s.Serve(ctx, l) }()
	return "http://" + l.Addr().String(), func() error {
		cancel()
		return <-done
	}
}

// event reads the next event of a stream, without comments.
func event(t *testing.T, r *bufio.Reader) (name, data string) {
	t.Helper()
	for {
		line, err := r.ReadString('\n')
		if err != nil {
			t.Fatal(err)
		}
		line = strings.TrimSuffix(line, "\n")
		if v, ok := strings.CutPrefix(line, "event: "); ok {
			name = v
		} else if v, ok := strings.CutPrefix(line, "data: "); ok {
			data = v
		} else if line == "" && name != "" {
			return name, data
		}
	}
}

// TestEvents reads the stream over a connection that lives longer than a request may take:
// everything first, then only what changes. One page too many is refused, and all end with the
// server.
func TestEvents(t *testing.T) {
	c := newCampaign(t)
	s := newServer(t, Config{Campaign: only(c), Period: 100 * time.Millisecond})
	s.live = semaphore.NewWeighted(1)
	s.readTime = 300 * time.Millisecond
	address, end := serve(t, s)
	transport := &http.Transport{}
	defer transport.CloseIdleConnections()
	client := &http.Client{Transport: transport}
	stream, err := client.Get(address + "/api/events")
	if err != nil {
		t.Fatal(err)
	}
	defer stream.Body.Close()
	r := bufio.NewReader(stream.Body)
	all := map[string]string{}
	for len(all) < parts {
		name, data := event(t, r)
		all[name] = data
	}
	if !strings.Contains(all["status"], `"proof_number":7`) || strings.Contains(all["status"], `"first_moves":`) ||
		!strings.Contains(all["moves"], "A2-A3xA2") ||
		!strings.Contains(all["link"], "true") || strings.Contains(all["workers"], "<b") ||
		!strings.Contains(all["facts"], `"serial":2`) {
		t.Errorf("the stream begins with %v", all)
	}
	refused, err := client.Get(address + "/api/events")
	if err != nil {
		t.Fatal(err)
	}
	body, _ := io.ReadAll(refused.Body)
	refused.Body.Close()
	if refused.StatusCode != 503 || !strings.Contains(string(body), "too many pages") {
		t.Errorf("a page too many: %d %q", refused.StatusCode, body)
	}
	time.Sleep(2 * s.readTime)
	for i := range 3 {
		c.set(uint32(100+i), nil)
		if name, data := event(t, r); name != "status" ||
			!strings.Contains(data, fmt.Sprintf(`"proof_number":%d`, 100+i)) {
			t.Errorf("after a change of the status: %s %s", name, data)
		}
	}
	if err := end(); err != nil {
		t.Fatal(err)
	}
	if _, err := io.ReadAll(r); err != nil && !errors.Is(err, io.ErrUnexpectedEOF) {
		t.Errorf("the stream ends with %v", err)
	}
}

func TestServeEnds(t *testing.T) {
	address, end := serve(t, newServer(t, Config{}))
	transport := &http.Transport{}
	defer transport.CloseIdleConnections()
	resp, err := (&http.Client{Transport: transport}).Get(address + "/healthz")
	if err != nil {
		t.Fatal(err)
	}
	io.Copy(io.Discard, resp.Body)
	resp.Body.Close()
	if err := end(); err != nil {
		t.Fatal(err)
	}
}

// TestStatic: what a page needs is on the server: every element that a script looks up is in its
// page, and nothing is from elsewhere.
func TestStatic(t *testing.T) {
	read := func(name string) string {
		data, err := static.ReadFile("static/" + name)
		if err != nil {
			t.Fatal(err)
		}
		return string(data)
	}
	for _, name := range []string{"index", "explore"} {
		page := read(name + ".html")
		scripts := read(name+".js") + read("common.js")
		if name == "index" {
			scripts += read("site.js") // the check of an exported site
		}
		for i, part := range strings.Split(scripts, "byId('") {
			id, _, _ := strings.Cut(part, "'")
			if i > 0 && !strings.Contains(page, `id="`+id+`"`) {
				t.Errorf("%s.html has no element %s", name, id)
			}
		}
	}
	list, err := static.ReadDir("static")
	if err != nil {
		t.Fatal(err)
	}
	served := []string{"site.js", "wasm.js"} // of an exported site
	for _, f := range files {
		served = append(served, f.name)
	}
	for _, f := range list {
		text := strings.ReplaceAll(read(f.Name()), "http://www.w3.org/2000/svg", "")
		for _, bad := range []string{"http:", "https:", "innerHTML", "style=", "onclick=", "eval("} {
			if strings.Contains(text, bad) {
				t.Errorf("%s contains %s", f.Name(), bad)
			}
		}
		if !slices.Contains(served, f.Name()) {
			t.Errorf("%s is not served", f.Name())
		}
	}
}

// commands counts what it is told to do.
type commands struct{ given []string }

func (c *commands) do(_ context.Context, name string) error {
	if name == "drain" {
		return errors.New("it is not the time")
	}
	c.given = append(c.given, name)
	return nil
}

// TestCommands: only an operator's connection changes anything, and no page of another site in an
// operator's browser.
func TestCommands(t *testing.T) {
	c := &commands{}
	who := "me"
	h := newServer(t, Config{Campaign: only(newCampaign(t)), Command: c.do,
		Operator: func(*tls.ConnectionState) string { return who }}).handler()
	post := func(name string, secure bool, origin string) int {
		r := httptest.NewRequest("POST", "https://farm.example/api/"+name, nil)
		if !secure {
			r.TLS = nil
		}
		if origin != "" {
			r.Header.Set("Origin", origin)
		}
		w := httptest.NewRecorder()
		h.ServeHTTP(w, r)
		return w.Code
	}
	for _, x := range []struct {
		name, who, origin string
		secure            bool
		code              int
	}{
		{"pause", "me", "", true, 204},
		{"resume", "me", "https://farm.example", true, 204},
		{"drain", "me", "", true, 503},
		{"pause", "me", "https://evil.example", true, 403},
		{"pause", "", "", true, 403},
		{"drain", "", "", true, 403},
		{"pause", "me", "", false, 403},
		{"explode", "me", "", true, 404},
	} {
		who = x.who
		if code := post(x.name, x.secure, x.origin); code != x.code {
			t.Errorf("%+v: %d", x, code)
		}
	}
	if !slices.Equal(c.given, []string{"pause", "resume"}) {
		t.Errorf("given were %q", c.given)
	}
	if w := request(newServer(t, Config{}).handler(), "POST", "/api/pause"); w.Code != 403 {
		t.Errorf("without operators: %d", w.Code)
	}
}

// TestUnwritableDocument shows a number that JSON does not have: the answer is an error and not
// nothing, the log has a line, and the other parts go on.
func TestUnwritableDocument(t *testing.T) {
	var log bytes.Buffer
	c := DefaultConfig()
	c.Gatherer, c.Campaign = prometheus.NewRegistry(), only(sick{newCampaign(t)})
	c.Log = slog.New(slog.NewTextHandler(&log, nil))
	c.Hosts = []string{"example.com"}
	s := New(c)
	first(t, s).ask(t.Context())
	h := s.handler()
	if w := request(h, "GET", "/api/workers"); w.Code != http.StatusInternalServerError || w.Body.Len() == 0 {
		t.Errorf("the answer is %d %q", w.Code, w.Body)
	}
	if w := request(h, "GET", "/api/status"); w.Code != http.StatusOK || w.Body.Len() == 0 {
		t.Errorf("beside it the status is %d %q", w.Code, w.Body)
	}
	for _, line := range []string{"a document of the pages cannot be written", "part=workers"} {
		if !strings.Contains(log.String(), line) {
			t.Errorf("the log has no %q: %s", line, log.String())
		}
	}
}

// sick is a campaign with a worker whose table is NaN full.
type sick struct{ *campaign }

func (sick) Workers(context.Context) ([]*farmv1.Worker, error) {
	return []*farmv1.Worker{{Name: "w", TableFill: math.NaN()}}, nil
}

// TestHostOfPages asks over a real network for pages of other hosts, and leaves hundreds of
// connections open that say nothing: the first are refused, and the others delay nobody.
func TestHostOfPages(t *testing.T) {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	s := newServer(t, Config{})
	var log strings.Builder // written under the lock of its handler, and read when all is over
	s.cfg.Log = slog.New(slog.NewTextHandler(&log, nil))
	ctx, cancel := context.WithCancel(context.Background())
	served := make(chan error)
	go func() { served <- s.Serve(ctx, listener) }()
	defer func() {
		cancel()
		if err := <-served; err != nil {
			t.Error(err)
		}
		// A stranger does not fill the disk.
		if n := strings.Count(log.String(), "another host"); n < 10 || n > 15 {
			t.Errorf("%d lines of the log for some 40 requests", n)
		}
	}()
	for range 400 {
		slow, err := net.Dial("tcp", listener.Addr().String())
		if err != nil {
			t.Fatal(err)
		}
		defer slow.Close()
		fmt.Fprint(slow, "GET / HTTP/1.1\r\nHost: ")
	}
	if known("[::1%25evil.example]:80", nil) { // which no client of Go sends
		t.Error("an address with the zone of a stranger is known")
	}
	client := &http.Client{Timeout: time.Second, Transport: &http.Transport{DisableKeepAlives: true}}
	for host, want := range map[string]int{
		"": 200, "localhost:1": 200, "[::1]:80": 200, "10.0.0.1": 200, "master:9090": 200, "example.com": 200,
		"farm.ns.svc": 200, "evil.example": 421, "evil.example:80": 421, "127.0.0.1.evil.example": 421,
		"EVIL.example.": 421, "local.evil.example": 421,
	} {
		for _, path := range []string{"/healthz", "/api/operator", "/metrics"} {
			r, err := http.NewRequest("GET", "http://"+listener.Addr().String()+path, nil)
			if err != nil {
				t.Fatal(err)
			}
			r.Host = host
			answer, err := client.Do(r)
			if err != nil {
				t.Fatal(err)
			}
			answer.Body.Close()
			if answer.StatusCode != want {
				t.Errorf("%s of %q: %s, want %d", path, host, answer.Status, want)
			}
		}
	}
}
