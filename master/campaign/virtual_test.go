package campaign

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"math/rand/v2"
	"net"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	dto "github.com/prometheus/client_model/go"
	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials"
	"google.golang.org/grpc/credentials/insecure"

	"amazonsfarm/master/access"
	"amazonsfarm/master/rpc"
	"amazonsfarm/master/store"
	farmv1 "amazonsfarm/proto/farm/v1"
	"amazonsfarm/shared/amazons"
	"amazonsfarm/shared/checker"
	"amazonsfarm/shared/eval"
	"amazonsfarm/shared/identity"
	"amazonsfarm/shared/proof"
	"amazonsfarm/worker/agent"
	"amazonsfarm/worker/engine"
)

// virtualRoot is the campaign of the tests in virtual time: a reply to a first move on 4x5 that
// takes some 200 nodes. Black wins it, since 4x5 is lost for the first player (README.md).
const virtualRoot = ".BB./B..B/.W../W..W/.xW. b"

// virtualWinning is a move with which black wins virtualRoot.
const virtualWinning = "C5-C3xB4"

// perNode is what a node costs a worker in virtual time, and latency what a piece of data costs on
// its way, at most.
const (
	perNode = 700 * time.Millisecond
	latency = 5 * time.Millisecond
)

// virtual is a cluster in virtual time: a real master with a real store in a temporary folder, real
// agents with real engines whose nodes take perNode, and real gRPC over networks in memory that can
// be cut. It lives in a bubble of testing/synctest, which fails if a goroutine is left at the end.
type virtual struct {
	t        *testing.T
	random   *rand.Rand // of the test's seed: moments and delays
	options  Options
	guard    *access.Guard // nil: no certificates
	over     chan struct{}
	farm     *Farm
	registry *prometheus.Registry // of the present master
	ended    chan error           // how its Run ended
	distance time.Duration        // what a piece of data costs more on its way
	stop     func()               // ends it at once, without a word to anybody
	taken    taken

	mu       sync.Mutex
	listener *pipes // nil: there is no master
	members  []*member
	wires    sync.WaitGroup
}

// taken is what the master has acknowledged, by all workers.
type taken struct {
	mu      sync.Mutex
	facts   map[amazons.Key]eval.Verdict
	nodes   uint64
	results int
}

// member is a worker of the cluster.
type member struct {
	name  string
	wire  *wire
	conn  *grpc.ClientConn
	stats *agent.Stats
	ended chan error
	abort context.CancelFunc
}

// inVirtualTime plays a test in a bubble. The same seed has the same delays and moments.
func inVirtualTime(t *testing.T, seed uint64, o Options, play func(v *virtual)) {
	t.Helper()
	warm(t)
	defer forgetPools()
	synctest.Test(t, func(t *testing.T) {
		o.Root = position(t, virtualRoot)
		o.StoreFile = filepath.Join(t.TempDir(), "s.store")
		if o.Services.Build == "" {
			o.Services.Build = agent.Build()
		}
		if t := &o.Tree; t.InitialBudget == 0 {
			t.InitialBudget, t.SplitAfter, t.MaxBudget = 10, 20, 100
		}
		o.CheckWorkers = 1
		v := &virtual{t: t, random: rand.New(rand.NewPCG(seed, 0)), options: o, over: make(chan struct{}),
			taken: taken{facts: map[amazons.Key]eval.Verdict{}}}
		t.Logf("seed %d", seed)
		play(v)
		v.leave()
	})
}

// warm readies what lives as long as the process and must not belong to one bubble: the decoder of
// certificates is made.
func warm(t *testing.T) {
	t.Helper()
	root := position(t, virtualRoot)
	data, err := proof.Encode(proof.Certificate{Board: root.Board, Roots: []proof.Root{proof.RootOf(root, eval.Lost)},
		Set: lies(root)[0].Set})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := proof.Read(bytes.NewReader(data), int64(len(data))); err != nil {
		t.Fatal(err)
	}
}

// forgetPools drops what sync.Pools keep: an encoder that was made in one bubble must not be used
// outside of it.
func forgetPools() {
	runtime.GC()
	runtime.GC()
}

// serve starts a master on the store: the first one, or the next.
func (v *virtual) serve() {
	v.t.Helper()
	v.registry = prometheus.NewRegistry()
	v.options.Registerer = v.registry
	f, err := Open(v.options)
	if err != nil {
		v.t.Fatal(err)
	}
	v.farm = f
	listener := &pipes{ends: make(chan net.Conn), closed: make(chan struct{})}
	server := rpc.NewServer(f.Loop, f.Services, rpc.ServerOptions{Registerer: v.registry, Guard: v.guard})
	ctx, cancel := context.WithCancel(context.WithoutCancel(v.t.Context()))
	v.ended = make(chan error, 1)
	var all sync.WaitGroup
	all.Go(func() { _ = server.Serve(listener) })
	all.Go(func() { v.ended <- f.Loop.Run(ctx) })
	v.mu.Lock()
	v.listener = listener
	v.mu.Unlock()
	v.stop = sync.OnceFunc(func() {
		v.mu.Lock()
		v.listener = nil
		v.mu.Unlock()
		cancel()
		server.Stop()
		all.Wait()
		if err := f.Close(); err != nil {
			v.t.Error(err)
		}
	})
}

// certify has masters ask for certificates from now on, and returns how many were refused for a reason.
func (v *virtual) certify(files *identity.Files) (refused func(reason string) float64) {
	v.t.Helper()
	registry := prometheus.NewRegistry()
	guard := access.NewGuard(access.GuardOptions{Files: files, Registerer: registry})
	v.guard = guard
	ctx, cancel := context.WithCancel(context.WithoutCancel(v.t.Context()))
	v.wires.Go(func() { guard.Run(ctx) })
	v.wires.Go(func() {
		<-v.over
		cancel()
	})
	return func(reason string) float64 { return figure(v.t, registry, "access_refused_total", reason) }
}

// crash ends the master, and the next one will find the store as it is on disk now.
func (v *virtual) crash() {
	v.t.Helper()
	synctest.Wait()
	data, err := os.ReadFile(v.options.StoreFile)
	if err != nil {
		v.t.Fatal(err)
	}
	v.stop()
	parts := store.EvidenceFolder(v.options.StoreFile)
	v.options.StoreFile += "+"
	if err = os.WriteFile(v.options.StoreFile, data, 0o600); err == nil {
		err = os.CopyFS(store.EvidenceFolder(v.options.StoreFile), os.DirFS(parts))
	}
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		v.t.Fatal(err)
	}
}

// connect opens a connection of a worker, with its own wire.
func (v *virtual) connect(name string, secured credentials.TransportCredentials, more ...grpc.DialOption) *member {
	v.t.Helper()
	m := &member{name: name, wire: newWire(v.over, v.distance+time.Duration(v.random.Int64N(int64(latency)))+1),
		stats: new(agent.Stats), ended: make(chan error, 1)}
	if secured == nil {
		secured = insecure.NewCredentials()
	}
	options := append(more, grpc.WithTransportCredentials(secured),
		grpc.WithContextDialer(func(ctx context.Context, _ string) (net.Conn, error) { return v.dial(ctx, m.wire) }))
	conn, err := grpc.NewClient("passthrough:///master", options...)
	if err != nil {
		v.t.Fatal(err)
	}
	m.conn = conn
	v.members = append(v.members, m)
	return m
}

func (v *virtual) dial(ctx context.Context, w *wire) (net.Conn, error) {
	if err := w.pass(ctx.Done()); err != nil {
		return nil, err
	}
	v.mu.Lock()
	listener := v.listener
	v.mu.Unlock()
	if listener == nil {
		return nil, errors.New("connection refused")
	}
	far, err := listener.dial(ctx)
	if err != nil {
		return nil, err
	}
	near, middle := net.Pipe()
	v.wires.Go(func() { w.carry(far, middle) })
	v.wires.Go(func() { w.carry(middle, far) })
	return near, nil
}

// pipes listens for connections in memory. A connection of gRPC's bufconn begins with a timer of zero. In a
// bubble Go 1.26 runs such a timer at once, on the stack of the scheduler, and the race detector has crashed there.
type pipes struct {
	ends   chan net.Conn
	closed chan struct{}
	once   sync.Once
}

func (p *pipes) dial(ctx context.Context) (net.Conn, error) {
	near, far := net.Pipe()
	select {
	case p.ends <- far:
		return near, nil
	case <-p.closed:
		return nil, net.ErrClosed
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

func (p *pipes) Accept() (net.Conn, error) {
	select {
	case c := <-p.ends:
		return c, nil
	case <-p.closed:
		return nil, net.ErrClosed
	}
}

func (p *pipes) Close() error {
	p.once.Do(func() { close(p.closed) })
	return nil
}

func (p *pipes) Addr() net.Addr { return &net.UnixAddr{Name: "memory", Net: "pipe"} }

// work has a real agent work, at perNode for each node. change, if not nil, puts something in the
// place of its search.
func (v *virtual) work(name string, secured credentials.TransportCredentials,
	change func(agent.Solver) agent.Solver) *member {
	v.t.Helper()
	tap := &tap{taken: &v.taken}
	m := v.connect(name, secured, append(agent.DialOptions(), grpc.WithStreamInterceptor(tap.stream))...)
	c := agent.Config{Name: name, Cores: 1, TableBytes: 1 << 18, Stats: m.stats}
	c.NewSolver = func(c engine.Config) (agent.Solver, error) {
		e, err := engine.New(c)
		if err != nil {
			return nil, err
		}
		var s agent.Solver = paced{e}
		if change != nil {
			s = change(s)
		}
		return s, nil
	}
	ctx, cancel := context.WithCancel(context.WithoutCancel(v.t.Context()))
	m.abort = cancel
	go func() { m.ended <- agent.Run(ctx, m.conn, c) }()
	return m
}

// wait returns how an agent ended, within an hour.
func (v *virtual) wait(m *member) error {
	v.t.Helper()
	select {
	case err := <-m.ended:
		m.ended <- err
		return err
	case <-time.After(time.Hour):
		v.t.Fatalf("worker %s does not end", m.name)
		return nil
	}
}

// await lets time pass until something holds.
func (v *virtual) await(what string, holds func() bool) {
	v.t.Helper()
	for end := time.Now().Add(5 * time.Minute); !holds(); time.Sleep(100 * time.Millisecond) {
		if time.Now().After(end) {
			v.t.Fatalf("in five minutes it never came to this: %s", what)
		}
	}
}

// figure returns the value of a metric of the present master, without its prefix, by the value of
// its label if it has one.
func (v *virtual) figure(name, label string) float64 {
	v.t.Helper()
	return figure(v.t, v.registry, name, label)
}

func figure(t *testing.T, r *prometheus.Registry, name, label string) float64 {
	t.Helper()
	families, err := r.Gather()
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range families {
		for _, m := range f.GetMetric() {
			has := func(l *dto.LabelPair) bool { return l.GetValue() == label }
			if f.GetName() == "amazons_master_"+name && (label == "" || slices.ContainsFunc(m.GetLabel(), has)) {
				return m.GetCounter().GetValue() + m.GetGauge().GetValue()
			}
		}
	}
	t.Fatalf("no metric %s with %q", name, label)
	return 0
}

// holds reports whether a worker has a lease that the master knows to have begun.
func (v *virtual) holds(name string) bool {
	v.t.Helper()
	all, err := v.farm.Loop.Views(v.t.Context())
	if err != nil {
		v.t.Fatal(err)
	}
	for _, w := range all[0].Tree.Workers {
		if w.Name == name {
			for _, l := range w.Leases {
				return l.Nodes > 0
			}
		}
	}
	return false
}

// settle waits for the end of the campaign and holds it to what must be true of every one: the
// right winner, a verified certificate, a sound store, and in it everything that was ever
// acknowledged.
func (v *virtual) settle() {
	v.t.Helper()
	select {
	case err := <-v.ended:
		if r := v.farm.Result(err); err != nil || r.Winner != "black" || !r.Verified {
			v.t.Fatalf("the campaign ended with %+v, %v", r, err)
		}
	case <-time.After(24 * time.Hour):
		v.t.Fatal("the campaign does not end in a day")
	}
	time.Sleep(time.Second + 20*v.distance) // what was sent last arrives, after what waits before it
	v.stop()
	if _, checked, err := VerifyStore(v.t.Context(), v.options.StoreFile, checker.Options{Workers: 1}); err != nil ||
		checked == nil {
		v.t.Errorf("verify the store: %v", err)
	}
	s, err := store.Open(v.options.StoreFile, store.Options{ReadOnly: true})
	if err != nil {
		v.t.Fatal(err)
	}
	defer s.Close()
	snapshot, err := s.Snapshot(1)
	if err != nil {
		v.t.Fatal(err)
	}
	stored := map[amazons.Key]eval.Verdict{}
	for _, f := range snapshot.Facts {
		stored[f.Key] = f.Verdict
	}
	v.taken.mu.Lock()
	defer v.taken.mu.Unlock()
	for key, outcome := range v.taken.facts {
		if stored[key] != outcome {
			v.t.Errorf("%x was acknowledged as %v, the store has %v", key.Bytes(), outcome, stored[key])
		}
	}
	if snapshot.Spent < v.taken.nodes || v.taken.results == 0 {
		v.t.Errorf("%d nodes in %d results were acknowledged, the store has %d", v.taken.nodes, v.taken.results,
			snapshot.Spent)
	}
}

// leave ends everything that is left.
func (v *virtual) leave() {
	for _, m := range v.members {
		if m.abort != nil {
			m.abort()
			<-m.ended
		}
		m.conn.Close()
	}
	v.stop()
	close(v.over)
	v.wires.Wait()
}

// paced is a search that takes its time: perNode for each node.
type paced struct{ agent.Solver }

func (p paced) Run(ctx context.Context, job engine.Job, progress func(engine.Progress)) (engine.Result, error) {
	r, err := p.Solver.Run(ctx, job, nil)
	for done := uint64(0); done < r.Nodes; {
		select {
		case <-time.After(perNode):
		case <-ctx.Done():
			return r, err
		}
		done++
		progress(engine.Progress{Nodes: done, Evaluations: done})
	}
	return r, err
}

// wire is the network between one worker and the master.
type wire struct {
	over    <-chan struct{}
	latency time.Duration

	mu    sync.Mutex
	whole chan struct{} // closed while data passes
}

func newWire(over <-chan struct{}, latency time.Duration) *wire {
	w := &wire{over: over, latency: latency, whole: make(chan struct{})}
	close(w.whole)
	return w
}

// cut keeps everything on its way, the ends of connections too, until the wire is healed.
func (w *wire) cut() {
	w.mu.Lock()
	w.whole = make(chan struct{})
	w.mu.Unlock()
}

func (w *wire) heal() {
	w.mu.Lock()
	close(w.whole)
	w.mu.Unlock()
}

// pass waits until the wire is whole.
func (w *wire) pass(given <-chan struct{}) error {
	w.mu.Lock()
	whole := w.whole
	w.mu.Unlock()
	select {
	case <-whole:
		return nil
	case <-given:
		return errors.New("network is unreachable")
	case <-w.over:
		return io.ErrClosedPipe
	}
}

// piece is data on its way.
type piece struct {
	data []byte
	due  time.Time
}

// onItsWay bounds the pieces that are on their way at once.
const onItsWay = 1024

// carry takes data from one end to the other, and the end of it. Each piece is late by the latency,
// however the data is cut into pieces: the times of a test do not depend on who was scheduled first.
func (w *wire) carry(to, from net.Conn) {
	defer to.Close()
	pieces := make(chan piece, onItsWay)
	var reading sync.WaitGroup
	defer reading.Wait()
	defer from.Close()
	reading.Go(func() {
		defer close(pieces)
		buffer := make([]byte, 64<<10)
		for {
			n, err := from.Read(buffer)
			pieces <- piece{slices.Clone(buffer[:n]), time.Now().Add(w.latency)}
			if err != nil {
				return
			}
		}
	})
	arrive := func(p piece) error {
		time.Sleep(time.Until(p.due))
		if err := w.pass(nil); err != nil || len(p.data) == 0 {
			return err
		}
		_, err := to.Write(p.data)
		return err
	}
	var err error
	for p := range pieces {
		if err == nil {
			err = arrive(p)
		}
		if err != nil {
			from.Close() // ends the reading, too
		}
	}
}

// tap notes what a worker sends and what of it is acknowledged.
type tap struct {
	taken *taken
	mu    sync.Mutex
	sent  map[uint64]*farmv1.WorkRequest // by serial
}

func (t *tap) stream(ctx context.Context, d *grpc.StreamDesc, c *grpc.ClientConn, method string, next grpc.Streamer,
	o ...grpc.CallOption) (grpc.ClientStream, error) {
	s, err := next(ctx, d, c, method, o...)
	if err != nil || method != farmv1.Farm_Work_FullMethodName {
		return s, err
	}
	return &tapped{s, t}, nil
}

type tapped struct {
	grpc.ClientStream
	tap *tap
}

func (s *tapped) SendMsg(m any) error {
	if r, ok := m.(*farmv1.WorkRequest); ok {
		if serial := max(r.GetResult().GetSerial(), r.GetFacts().GetSerial()); serial > 0 {
			s.tap.mu.Lock()
			if s.tap.sent == nil {
				s.tap.sent = map[uint64]*farmv1.WorkRequest{}
			}
			s.tap.sent[serial] = r
			s.tap.mu.Unlock()
		}
	}
	return s.ClientStream.SendMsg(m)
}

func (s *tapped) RecvMsg(m any) error {
	err := s.ClientStream.RecvMsg(m)
	if r, ok := m.(*farmv1.WorkResponse); ok && err == nil && r.GetAck() != nil && r.GetAck().GetRefused() == "" {
		s.tap.mu.Lock()
		sent := s.tap.sent[r.GetAck().GetSerial()]
		s.tap.mu.Unlock()
		s.tap.taken.add(sent)
	}
	return err
}

func (t *taken) add(m *farmv1.WorkRequest) {
	t.mu.Lock()
	defer t.mu.Unlock()
	facts := m.GetFacts().GetFacts()
	if r := m.GetResult(); r != nil {
		facts = r.GetFacts()
		t.results++
		t.nodes += r.GetNodes()
	}
	for _, f := range facts {
		key, err := amazons.KeyFromBytes(f.GetKey())
		if err != nil {
			panic(fmt.Sprint("an agent sends what is no key: ", err))
		}
		t.facts[key] = eval.Verdict(f.GetVerdict())
	}
}
