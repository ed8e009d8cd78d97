package rpc

import (
	"bytes"
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"maps"
	"math"
	"net"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/testutil/promlint"
	"go.uber.org/goleak"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/credentials/insecure"
	healthpb "google.golang.org/grpc/health/grpc_health_v1"
	"google.golang.org/grpc/status"
	"google.golang.org/grpc/test/bufconn"

	"amazonsfarm/master/explore"
	"amazonsfarm/master/hints"
	"amazonsfarm/master/loop"
	"amazonsfarm/master/store"
	"amazonsfarm/master/tree"
	"amazonsfarm/master/trust"
	farmv1 "amazonsfarm/proto/farm/v1"
	"amazonsfarm/shared/amazons"
	"amazonsfarm/shared/eval"
	"amazonsfarm/shared/proof"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// memory is a store in memory that survives its master, as a disk would.
type memory struct {
	mu           sync.Mutex
	nodes        map[amazons.Key]tree.NodeRecord
	facts        []proof.Fact
	spent, epoch uint64
	contra       *tree.Contradiction
	certificates map[proof.ID][]byte
	commits      int
	gate         chan struct{} // not nil: each commit waits for it
	fail         error
	hints        map[amazons.Key][]byte
	room         error // not nil: there is none
	spare        int64 // not 0: there is room for so many bytes, no more
	fullAfter    int   // not 0: so many commits until the disk is full
	keepNone     bool  // no room for hints
	copy         func(w io.Writer) error
	quarantines  map[trust.Party]trust.Quarantine
	standings    map[trust.Party]trust.Standing
	kept         int          // transactions with standings
	checks       int          // CheckFirst of the trees
	broken       error        // not nil: no certificate can be read now
	bucket       *bucketParts // nil: the parts lie in a folder
}

func (s *memory) Standings() ([]trust.Standing, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Collect(maps.Values(s.standings)), nil
}

func (s *memory) SetStandings(list []trust.Standing) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if err := errors.Join(s.fail, s.room); err != nil {
		return err
	}
	s.kept++
	for _, st := range list {
		if _, ok := s.quarantines[st.Party]; st.Empty() {
			delete(s.standings, st.Party)
		} else if !ok {
			s.standings[st.Party] = st
		}
	}
	return nil
}

func (s *memory) Quarantines() ([]trust.Quarantine, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Collect(maps.Values(s.quarantines)), nil
}

func (s *memory) Quarantine(q trust.Quarantine) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.room != nil {
		return s.room
	}
	s.quarantines[q.Party] = q
	delete(s.standings, q.Party)
	return nil
}

func (s *memory) Release(p trust.Party) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.room != nil {
		return s.room
	}
	delete(s.quarantines, p)
	delete(s.standings, p)
	return nil
}

// Room says what the test wants.
func (s *memory) Room(more int64) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.room == nil && s.spare > 0 && more > s.spare {
		return errFull
	}
	return s.room
}

// fill takes the room away, or gives it back.
func (s *memory) fill(why error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.room, s.fullAfter = why, 0
}

func (s *memory) Backup(w io.Writer, begun func(int64) error) (int64, error) {
	if err := begun(12345); err != nil {
		return 0, err
	}
	return 0, s.copy(w)
}

func newMemory() *memory {
	return &memory{nodes: map[amazons.Key]tree.NodeRecord{}, certificates: map[proof.ID][]byte{},
		hints: map[amazons.Key][]byte{}, quarantines: map[trust.Party]trust.Quarantine{},
		standings: map[trust.Party]trust.Standing{}}
}

func (s *memory) Hint(_ uint32, k amazons.Key) ([]byte, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.hints[k], nil
}

func (s *memory) Commit(list []tree.Persist, hints []hints.Hint) error {
	if s.gate != nil {
		<-s.gate
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.fail != nil {
		return s.fail
	}
	if s.fullAfter--; s.fullAfter == 0 {
		s.room = fmt.Errorf("%w: the disk is full", store.ErrNoRoom)
	}
	if s.room != nil {
		return s.room
	}
	s.commits++
	if !s.keepNone {
		for _, m := range hints {
			s.hints[m.Key] = m.Data
		}
	}
	for _, p := range list {
		for _, n := range p.Nodes {
			s.nodes[n.Key] = n
		}
		s.facts = append(s.facts, p.Facts...)
		s.spent, s.epoch = p.Spent, p.Epoch
		if p.Contradiction != nil {
			s.contra = p.Contradiction
		}
	}
	return nil
}

func (s *memory) PutCertificate(_ uint32, id [32]byte, data []byte) (bool, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.room != nil {
		return false, s.room
	}
	_, known := s.certificates[id]
	s.certificates[id] = data
	return known, nil
}

func (s *memory) SetVerified(ids []proof.ID, _ string) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, id := range ids {
		if s.certificates[id] == nil {
			return fmt.Errorf("%w: %x", store.ErrNoCertificate, id)
		}
	}
	return errors.Join(s.fail, s.room)
}

func (s *memory) Retract(ids []proof.ID) (facts map[uint32][]amazons.Key, err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, id := range ids {
		delete(s.certificates, id)
	}
	facts = map[uint32][]amazons.Key{}
	s.facts = slices.DeleteFunc(s.facts, func(f proof.Fact) bool {
		gone := slices.Contains(ids, f.Certificate)
		if gone {
			facts[1] = append(facts[1], f.Key)
		}
		return gone
	})
	s.contra = nil
	return facts, nil
}

func (s *memory) CertificateFor(n uint32, id [32]byte) (io.ReaderAt, int64, error) {
	data, err := s.Certificate(n, id)
	return bytes.NewReader(data), int64(len(data)), err
}

func (s *memory) Certificate(_ uint32, id [32]byte) ([]byte, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if data, ok := s.certificates[id]; ok {
		return data, s.broken
	}
	return nil, fmt.Errorf("%w: %x", store.ErrNoCertificate, id)
}

func (s *memory) Holds(campaign uint32, id [32]byte) bool { return s.HasCertificate(campaign, id) }

func (s *memory) HasCertificate(_ uint32, id [32]byte) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	_, ok := s.certificates[id]
	return ok
}

func (s *memory) Certificates() (int, int64) {
	s.mu.Lock()
	defer s.mu.Unlock()
	n := int64(0)
	for _, data := range s.certificates {
		n += int64(len(data))
	}
	return len(s.certificates), n
}

func (s *memory) snapshot() tree.Snapshot {
	s.mu.Lock()
	defer s.mu.Unlock()
	out := tree.Snapshot{Facts: append([]proof.Fact(nil), s.facts...), Spent: s.spent, Epoch: s.epoch,
		Contradiction: s.contra}
	for _, n := range s.nodes {
		out.Nodes = append(out.Nodes, n)
	}
	return out
}

func claim(k amazons.Key, v eval.Verdict) proof.Citation { return proof.Citation{Key: k, Claim: v} }

// A certificate of these tests is a word, then for each claim the key and the outcome.
const word = "proof"

func certificate(claims ...proof.Citation) []byte {
	b := []byte(word)
	for _, c := range claims {
		k := c.Key.Bytes()
		b = append(append(b, k[:]...), byte(c.Claim))
	}
	return b
}

func readRoots(data []byte) ([]proof.Citation, error) {
	rest, ok := bytes.CutPrefix(data, []byte(word))
	if !ok || len(rest)%17 != 0 {
		return nil, errors.New("not a certificate")
	}
	var roots []proof.Citation
	for ; len(rest) > 0; rest = rest[17:] {
		k, err := amazons.KeyFromBytes(rest[:16])
		if err != nil {
			return nil, err
		}
		roots = append(roots, claim(k, eval.Verdict(rest[16])))
	}
	return roots, nil
}

// settings are those of a loop with one campaign and of the services around it.
type settings struct {
	try     func(context.Context, []byte) error
	recheck func(context.Context, proof.ID) error // default: nil for all, where there is a try
	resting func(context.Context, []proof.ID) ([]proof.ID, error)
	loop.Config
	services   Config
	log        *slog.Logger // of the server
	root       amazons.Position
	firstMoves []amazons.Move
	tcp        bool // a real network instead of one in memory
	readRoots  func([]byte) ([]proof.Citation, error)
	conclude   func(context.Context, loop.Evidence, func(state, why string, p loop.Phase)) (loop.Conclusion, error)
}

// bench is a running loop with a connection to it.
type bench struct {
	t        testing.TB
	loop     *loop.Loop
	campaign *Campaign
	tree     *tree.Tree
	farm     farmv1.FarmClient
	control  farmv1.ControlClient
	health   healthpb.HealthClient
	at       amazons.Position
	root     amazons.Key
	ended    chan error
	registry *prometheus.Registry
	dial     func(context.Context, string) (net.Conn, error)
	kill     func()
}

// standard returns settings with the shortest of conclusions.
func standard(t testing.TB, registry *prometheus.Registry) settings {
	t.Helper()
	root, err := amazons.ParsePosition("4x4")
	if err != nil {
		t.Fatal(err)
	}
	return settings{
		Config: loop.Config{Metrics: loop.NewMetrics(registry)}, services: Config{Build: "this build"},
		root: root, readRoots: readRoots,
		conclude: func(_ context.Context, _ loop.Evidence,
			report func(string, string, loop.Phase)) (loop.Conclusion, error) {
			report(loop.StateVerifying, "", loop.Phase{})
			return loop.Conclusion{Verified: true}, nil
		},
	}
}

// about returns the campaign of some settings, around a tree.
func (c *settings) about(t *tree.Tree) loop.Campaign {
	out := loop.Campaign{Settings: loop.Settings{Share: 1}, Tree: t, About: loop.About{
		Number: 1, Name: c.root.Board.String(), Root: c.root, FirstMoves: c.firstMoves, Pool: 1,
		ReadRoots: c.readRoots, ReadOutline: c.readRoots, Conclude: c.conclude, Try: c.try,
	}}
	out.Recheck, out.Resting = c.recheck, c.resting
	if c.try != nil { // whoever tries parts can check them again
		out.Recheck = func(context.Context, proof.ID) error { return nil }
	}
	return out
}

// newLoop makes a loop on a store.
func newLoop(t testing.TB, s *memory, change func(*settings)) (*loop.Loop, settings, *tree.Tree, *prometheus.Registry) {
	t.Helper()
	registry := prometheus.NewRegistry()
	cfg := standard(t, registry)
	if change != nil {
		change(&cfg)
	}
	tr, err := tree.New(tree.Config{Root: cfg.root, FirstMoves: cfg.firstMoves, CheckFirst: s.checks}, s.snapshot())
	if err != nil {
		t.Fatal(err)
	}
	l, err := loop.New(cfg.Config, []loop.Campaign{cfg.about(tr)}, s)
	if err != nil {
		t.Fatal(err)
	}
	return l, cfg, tr, registry
}

// start runs a loop on a store. Its end is the test's to wait for, on ended; kill ends it at once.
func start(t testing.TB, s *memory, change func(*settings)) *bench {
	t.Helper()
	l, cfg, tr, registry := newLoop(t, s, change)
	campaign, err := CampaignOf(l, "")
	if err != nil {
		t.Fatal(err)
	}
	memory := bufconn.Listen(1 << 20)
	listener, dial := net.Listener(memory), func(ctx context.Context, _ string) (net.Conn, error) {
		return memory.DialContext(ctx)
	}
	if cfg.tcp {
		if listener, err = net.Listen("tcp", "127.0.0.1:0"); err != nil {
			t.Fatal(err)
		}
		dial = func(ctx context.Context, _ string) (net.Conn, error) {
			return new(net.Dialer).DialContext(ctx, "tcp", listener.Addr().String())
		}
	}
	server := NewServer(l, cfg.services, ServerOptions{Registerer: registry, Log: cfg.log})
	conn, err := grpc.NewClient("passthrough:///test", grpc.WithTransportCredentials(insecure.NewCredentials()),
		grpc.WithContextDialer(dial))
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	b := &bench{t: t, loop: l, campaign: campaign, tree: tr, at: cfg.root, farm: farmv1.NewFarmClient(conn),
		control: farmv1.NewControlClient(conn), health: healthpb.NewHealthClient(conn),
		root: cfg.root.State().CanonicalKey(cfg.root.Board), ended: make(chan error, 1), registry: registry,
		dial: dial}
	var all sync.WaitGroup
	all.Go(func() { _ = server.Serve(listener) })
	all.Go(func() { b.ended <- l.Run(ctx) })
	var once sync.Once
	b.kill = func() {
		once.Do(func() {
			cancel()
			conn.Close()
			server.Stop()
			all.Wait()
		})
	}
	t.Cleanup(b.kill)
	return b
}

// view returns what the loop knows of the campaign.
func (b *bench) view() loop.View {
	b.t.Helper()
	all, err := b.loop.Views(b.t.Context())
	if err != nil {
		b.t.Fatal(err)
	}
	return all[0]
}

func (b *bench) join(name string) string {
	b.t.Helper()
	r, err := b.farm.Join(b.t.Context(), &farmv1.JoinRequest{Worker: name, ProtocolVersion: farmv1.ProtocolVersion,
		RulesVersion: farmv1.RulesVersion, Build: "this build", Cores: 1})
	if err != nil {
		b.t.Fatal(err)
	}
	return r.GetSession()
}

// worker is one scripted worker with an open stream.
type worker struct {
	b       *bench
	session string
	stream  farmv1.Farm_WorkClient
	cancel  context.CancelFunc
}

func (b *bench) worker(name string) *worker {
	b.t.Helper()
	w := &worker{b: b, session: b.join(name)}
	w.connect()
	return w
}

func (w *worker) connect() {
	w.b.t.Helper()
	ctx, cancel := context.WithCancel(w.b.t.Context())
	w.cancel = cancel
	var err error
	if w.stream, err = w.b.farm.Work(ctx); err != nil {
		w.b.t.Fatal(err)
	}
	w.send(&farmv1.WorkRequest{Kind: &farmv1.WorkRequest_Hello{Hello: &farmv1.Hello{Session: w.session}}})
}

func (w *worker) send(m *farmv1.WorkRequest) {
	w.b.t.Helper()
	if err := w.stream.Send(m); err != nil {
		w.b.t.Fatal(err)
	}
}

func (w *worker) ready() {
	w.b.t.Helper()
	w.send(&farmv1.WorkRequest{Kind: &farmv1.WorkRequest_Ready{Ready: &farmv1.Ready{}}})
}

func (w *worker) receive() *farmv1.WorkResponse {
	w.b.t.Helper()
	m, err := w.stream.Recv()
	if err != nil {
		w.b.t.Fatal(err)
	}
	return m
}

func (w *worker) lease() *farmv1.Lease {
	w.b.t.Helper()
	w.ready()
	m := w.receive()
	if m.GetLease() == nil {
		w.b.t.Fatalf("got %v instead of a lease", m)
	}
	return m.GetLease()
}

func (w *worker) upload(data []byte) (proof.ID, error) {
	id := proof.ID(sha256.Sum256(data))
	return id, w.uploadAs(id, uint64(len(data)), data)
}

// uploadLost uploads a part that proves the root lost.
func (w *worker) uploadLost() proof.ID {
	w.b.t.Helper()
	id, err := w.upload(certificate(claim(w.b.root, eval.Lost)))
	if err != nil {
		w.b.t.Fatal(err)
	}
	return id
}

// sendLost sends the result of a lease of the root, with the fact that a part proves the root lost.
func (w *worker) sendLost(serial uint64, l *farmv1.Lease, id proof.ID) {
	const lost = farmv1.Verdict_VERDICT_LOST
	w.send(result(serial, l, lost, fact(w.b.root, lost, id)))
}

func (w *worker) uploadAs(id proof.ID, size uint64, chunks ...[]byte) error {
	stream, err := w.b.farm.UploadCertificate(w.b.t.Context())
	if err != nil {
		return err
	}
	for i, c := range chunks {
		m := &farmv1.UploadCertificateRequest{Data: c}
		if i == 0 {
			m.Session, m.Sha256, m.Size = w.session, id[:], size
		}
		if stream.Send(m) != nil {
			break // the answer says why
		}
	}
	_, err = stream.CloseAndRecv()
	return err
}

func fact(k amazons.Key, o farmv1.Verdict, id proof.ID) *farmv1.Fact {
	key := k.Bytes()
	return &farmv1.Fact{Key: key[:], Verdict: o, Nodes: 10, CertificateSha256: id[:]}
}

func result(serial uint64, l *farmv1.Lease, o farmv1.Verdict, facts ...*farmv1.Fact) *farmv1.WorkRequest {
	return &farmv1.WorkRequest{Kind: &farmv1.WorkRequest_Result{Result: &farmv1.Result{
		Serial: serial, Lease: l.GetId(), Epoch: l.GetEpoch(), Key: l.GetKey(), Verdict: o, Phi: 3, Delta: 4, Nodes: 10,
		Facts:     facts,
		Cancelled: o == farmv1.Verdict_VERDICT_UNSPECIFIED,
	}}}
}

func (w *worker) ack(serial uint64) *farmv1.Ack {
	w.b.t.Helper()
	for {
		if a := w.receive().GetAck(); a != nil {
			if a.GetSerial() != serial {
				w.b.t.Fatalf("acknowledged %d instead of %d", a.GetSerial(), serial)
			}
			return a
		}
	}
}

func wantCode(t testing.TB, err error, want codes.Code, part string) {
	t.Helper()
	if got := status.Code(err); got != want || !strings.Contains(status.Convert(err).Message(), part) {
		t.Errorf("got %v (%v), want %v with %q", got, err, want, part)
	}
}

func TestJoinGate(t *testing.T) {
	b := start(t, newMemory(), func(c *settings) { c.MaxWorkers = 1 })
	good := func() *farmv1.JoinRequest {
		return &farmv1.JoinRequest{Worker: "w", ProtocolVersion: farmv1.ProtocolVersion,
			RulesVersion: farmv1.RulesVersion,
			Build:        "this build"}
	}
	for _, c := range []struct {
		name   string
		change func(*farmv1.JoinRequest)
		code   codes.Code
		part   string
	}{
		{"protocol", func(r *farmv1.JoinRequest) { r.ProtocolVersion = 1 }, codes.FailedPrecondition,
			"protocol version 6"},
		{"rules", func(r *farmv1.JoinRequest) { r.RulesVersion = 7 }, codes.FailedPrecondition, "rules version 3"},
		{"protocol of the last release", func(r *farmv1.JoinRequest) { r.ProtocolVersion = 3 },
			codes.FailedPrecondition,
			"use worker and master of one release"},
		{"build", func(r *farmv1.JoinRequest) { r.Build = "another" }, codes.FailedPrecondition, "build this build"},
		{"no name", func(r *farmv1.JoinRequest) { r.Worker = "" }, codes.InvalidArgument, "name"},
		{"long name", func(r *farmv1.JoinRequest) { r.Worker = strings.Repeat("x", 129) }, codes.InvalidArgument,
			"name"},
		{"control characters", func(r *farmv1.JoinRequest) { r.Worker = "a\nb" }, codes.InvalidArgument, "name"},
		{"control characters in the build", func(r *farmv1.JoinRequest) { r.Build = "a\x1b[31m" },
			codes.InvalidArgument, "build"},
		{"cores", func(r *farmv1.JoinRequest) { r.Cores = 65_537 }, codes.InvalidArgument, "at most 65536 cores"},
		{"table", func(r *farmv1.JoinRequest) { r.TableBytes = math.MaxUint64 }, codes.InvalidArgument,
			"a table of 1024 TiB"},
	} {
		r := good()
		c.change(r)
		_, err := b.farm.Join(t.Context(), r)
		t.Run(c.name, func(t *testing.T) { wantCode(t, err, c.code, c.part) })
	}
	r, err := b.farm.Join(t.Context(), good())
	if err != nil {
		t.Fatal(err)
	}
	if r.GetSession() == "" || r.GetCampaign().GetBoard() != "4x4" || r.GetHeartbeatSeconds() != 1 ||
		r.GetMaxFactsPerMessage() == 0 {
		t.Errorf("welcome lacks something: %v", r)
	}
	other := good()
	other.Worker = "second"
	_, err = b.farm.Join(t.Context(), other)
	wantCode(t, err, codes.ResourceExhausted, "limit of 1 workers")
	if _, err := b.farm.Join(t.Context(), good()); err != nil {
		t.Errorf("the same worker cannot join again: %v", err)
	}
}

func TestOtherBuildsWhenAllowed(t *testing.T) {
	b := start(t, newMemory(), func(c *settings) { c.services.AllowOtherBuilds = true })
	_, err := b.farm.Join(t.Context(), &farmv1.JoinRequest{Worker: "w", ProtocolVersion: farmv1.ProtocolVersion,
		RulesVersion: farmv1.RulesVersion, Build: "another"})
	if err != nil {
		t.Error(err)
	}
}

func TestUploads(t *testing.T) {
	b := start(t, newMemory(), func(c *settings) { c.services.MaxCertificateBytes, c.MaxOffences = 4<<20, 100 })
	w := b.worker("w")
	data := certificate(claim(b.root, eval.Lost))
	id := proof.ID(sha256.Sum256(data))
	size := uint64(len(data))
	big := make([]byte, farmv1.ChunkBytes+1)
	for _, c := range []struct {
		name   string
		upload func() error
		code   codes.Code
		part   string
	}{
		{"hash", func() error { return w.uploadAs(proof.ID{1}, size, data) }, codes.DataLoss, "SHA-256"},
		{"short", func() error { return w.uploadAs(id, size+1, data) }, codes.DataLoss, "of the announced"},
		{"long", func() error { return w.uploadAs(id, size, data, data) }, codes.DataLoss, "more than the announced"},
		{"no size", func() error { return w.uploadAs(id, 0, data) }, codes.InvalidArgument, "size"},
		{"over the limit", func() error { return w.uploadAs(id, 5<<20, data) }, codes.ResourceExhausted, "limit"},
		{"large chunk", func() error { return w.uploadAs(id, 2<<20, big) }, codes.InvalidArgument, "chunk"},
		{"foreign", func() error { _, err := w.upload([]byte("something else")); return err }, codes.InvalidArgument,
			"not a certificate"},
		{"no session", func() error { o := *w; o.session = "none"; _, err := o.upload(data); return err },
			codes.FailedPrecondition, "join again"},
		{"contradictory", func() error {
			_, err := w.upload(certificate(claim(b.root, eval.Lost), claim(b.root, eval.Won)))
			return err
		}, codes.InvalidArgument, "both verdicts"},
	} {
		t.Run(c.name, func(t *testing.T) { wantCode(t, c.upload(), c.code, c.part) })
	}
	if n, _ := b.loop.Store().Certificates(); n != 0 {
		t.Errorf("%d refused certificates are stored", n)
	}
	for range 2 { // the second time it is known
		if _, err := w.upload(data); err != nil {
			t.Fatal(err)
		}
	}
}

func TestSettled(t *testing.T) {
	var got loop.Evidence
	b := start(t, newMemory(), func(c *settings) {
		c.conclude = func(_ context.Context, e loop.Evidence,
			_ func(string, string, loop.Phase)) (loop.Conclusion, error) {
			got = e
			return loop.Conclusion{Verified: true, File: store.CertificateFile{SHA256: "x"}}, nil
		}
	})
	w := b.worker("w")
	l := w.lease()
	if want := b.root.Bytes(); !bytes.Equal(l.GetKey(), want[:]) {
		t.Fatalf("the first lease is on %x, not on the root", l.GetKey())
	}
	id := w.uploadLost()
	w.sendLost(1, l, id)
	if a := w.ack(1); a.GetRefused() != "" {
		t.Errorf("refused: %s", a.GetRefused())
	}
	for {
		m := w.receive()
		if f := m.GetFinished(); f != nil {
			if !strings.Contains(f.GetReason(), "settled") {
				t.Errorf("finished: %s", f.GetReason())
			}
			break
		}
	}
	if _, err := w.stream.Recv(); err == nil || status.Code(err) == codes.Unknown {
		if err == nil {
			t.Error("the stream goes on after the end")
		}
	}
	if err := <-b.ended; err != nil {
		t.Fatal(err)
	}
	if got.Settled.Verdict != eval.Lost || got.Nodes != 10 {
		t.Errorf("concluded with %+v", got)
	}
}

func TestCommitBeforeAcknowledging(t *testing.T) {
	s := newMemory()
	b := start(t, s, nil)
	w := b.worker("w")
	l := w.lease()
	id := w.uploadLost()
	s.mu.Lock()
	s.fail = errors.New("the disk is full")
	s.mu.Unlock()
	w.sendLost(1, l, id)
	for {
		m, err := w.stream.Recv()
		if err != nil {
			wantCode(t, err, codes.Unavailable, "stopping")
			break
		}
		if m.GetAck() != nil {
			t.Fatal("acknowledged what is not on disk")
		}
	}
	if err := <-b.ended; !errors.Is(err, loop.ErrStore) {
		t.Errorf("ended with %v, want %v", err, loop.ErrStore)
	}
	if len(s.facts) != 0 {
		t.Error("a fact is stored")
	}
}

func TestRefused(t *testing.T) {
	b := start(t, newMemory(), func(c *settings) { c.MaxOffences = 100 })
	w := b.worker("w")
	l := w.lease()
	won := farmv1.Verdict_VERDICT_WON
	lost := farmv1.Verdict_VERDICT_LOST

	w.send(result(1, &farmv1.Lease{Id: 99, Epoch: l.GetEpoch(), Key: l.GetKey()}, 0))
	if a := w.ack(1); a.GetRefused() == "" {
		t.Error("the result of an unknown lease is taken")
	}
	w.send(result(2, &farmv1.Lease{Id: l.GetId(), Epoch: l.GetEpoch() + 5, Key: l.GetKey()}, 0))
	if a := w.ack(2); a.GetRefused() == "" || a.GetOldLease() || a.GetFactsRefused() {
		t.Errorf("the result of an epoch that has not begun: %v", a)
	}
	w.send(&farmv1.WorkRequest{Kind: &farmv1.WorkRequest_Facts{Facts: &farmv1.Facts{Serial: 3,
		Facts: []*farmv1.Fact{fact(b.root, won, proof.ID{7})}}}})
	if a := w.ack(3); !strings.Contains(a.GetRefused(), "not uploaded") || !a.GetFactsRefused() {
		t.Errorf("a fact without a certificate: %v", a)
	}
	id := w.uploadLost()
	w.send(&farmv1.WorkRequest{Kind: &farmv1.WorkRequest_Facts{Facts: &farmv1.Facts{Serial: 4,
		Facts: []*farmv1.Fact{fact(b.root, won, id)}}}})
	if a := w.ack(4); !strings.Contains(a.GetRefused(), "does not claim") {
		t.Errorf("a fact that its certificate does not claim: %q", a.GetRefused())
	}
	if v := b.view(); v.Tree.FactsWon+v.Tree.FactsLost != 0 {
		t.Errorf("facts were taken: %+v", v.Tree)
	}

	// The same result twice: the second is acknowledged too, so that it is not sent a third time.
	w.send(result(5, l, 0))
	w.send(result(6, l, 0))
	if a := w.ack(5); a.GetRefused() != "" {
		t.Errorf("refused: %s", a.GetRefused())
	}
	w.ack(6)

	// What is malformed ends the stream.
	for name, c := range map[string]struct {
		m    *farmv1.WorkRequest
		code codes.Code
	}{
		"short key": {&farmv1.WorkRequest{Kind: &farmv1.WorkRequest_Result{Result: &farmv1.Result{Key: []byte{1}}}},
			codes.InvalidArgument},
		"other queens": {result(7, &farmv1.Lease{Key: make([]byte, 16)}, 0), codes.InvalidArgument},
		"no kind":      {&farmv1.WorkRequest{}, codes.InvalidArgument},
		"second hello": {&farmv1.WorkRequest{Kind: &farmv1.WorkRequest_Hello{Hello: &farmv1.Hello{}}},
			codes.InvalidArgument},
		"bad outcome":   {result(7, l, 9), codes.InvalidArgument},
		"fact, no cert": {result(7, l, lost, &farmv1.Fact{Key: l.GetKey(), Verdict: lost}), codes.InvalidArgument},
		"many facts":    {result(7, l, 0, make([]*farmv1.Fact, 5000)...), codes.ResourceExhausted},
	} {
		o := b.worker("other")
		o.send(c.m)
		for {
			if _, err := o.stream.Recv(); err != nil {
				if status.Code(err) != c.code {
					t.Errorf("%s: %v, want %v", name, err, c.code)
				}
				break
			}
		}
	}
	o := &worker{b: b, session: "nobody"}
	o.connect()
	_, err := o.stream.Recv()
	wantCode(t, err, codes.Aborted, "join again")
	stream, err := b.farm.Work(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if err := stream.Send(&farmv1.WorkRequest{Kind: &farmv1.WorkRequest_Ready{Ready: &farmv1.Ready{}}}); err != nil {
		t.Fatal(err)
	}
	_, err = stream.Recv()
	wantCode(t, err, codes.InvalidArgument, "hello")
}

// TestNotCanonical holds that a mirrored key is not taken for another position.
func TestNotCanonical(t *testing.T) {
	b := start(t, newMemory(), nil)
	p := b.at
	m, err := p.ParseMove("B1-B2xB1")
	if err != nil {
		t.Fatal(err)
	}
	s := p.After(m).State()
	for i := range p.Board.Symmetries() {
		k := s.Apply(p.Board, amazons.Symmetry(i)).Key(p.Board)
		bytes := k.Bytes()
		_, err := keyIn(b.campaign.Handle.About, bytes[:])
		if canonical := k == s.CanonicalKey(p.Board); canonical != (err == nil) {
			t.Errorf("image %d, canonical %v: %v", i, canonical, err)
		}
	}
}

func TestRestart(t *testing.T) {
	s := newMemory()
	b := start(t, s, nil)
	w := b.worker("w")
	l := w.lease()
	w.send(result(1, l, 0))
	w.ack(1)
	l = w.lease()
	b.kill()
	if err := <-b.ended; !errors.Is(err, context.Canceled) {
		t.Fatalf("killed, ended with %v", err)
	}
	if s.spent != 10 {
		t.Fatalf("%d nodes are on disk, want 10", s.spent)
	}

	b = start(t, s, nil)
	old := &worker{b: b, session: w.session}
	old.connect()
	_, err := old.stream.Recv()
	wantCode(t, err, codes.Aborted, "join again")

	w = b.worker("w")
	id := w.uploadLost()
	// A result of a lease from before the restart: refused, but its fact is as good as ever.
	w.sendLost(1, l, id)
	if a := w.ack(1); a.GetRefused() == "" || !a.GetOldLease() || a.GetFactsRefused() {
		t.Errorf("a result of an old lease: %v", a)
	}
	if err := <-b.ended; err != nil {
		t.Fatal(err)
	}
	b.kill()

	// Settled before: the next master says so by itself, without any worker.
	b = start(t, s, nil)
	if err := <-b.ended; err != nil {
		t.Fatal(err)
	}
}

func TestContradiction(t *testing.T) {
	s := newMemory()
	b := start(t, s, func(c *settings) {
		c.Stay = true
		c.conclude = func(ctx context.Context, _ loop.Evidence,
			_ func(string, string, loop.Phase)) (loop.Conclusion, error) {
			<-ctx.Done()
			return loop.Conclusion{}, ctx.Err()
		}
	})
	w := b.worker("w")
	m, err := b.at.ParseMove("B1-B2xB1")
	if err != nil {
		t.Fatal(err)
	}
	key := b.at.After(m).State().CanonicalKey(b.at.Board)
	for serial, o := range []eval.Verdict{eval.Won, eval.Lost} {
		id, err := w.upload(certificate(claim(key, o)))
		if err != nil {
			t.Fatal(err)
		}
		w.send(&farmv1.WorkRequest{Kind: &farmv1.WorkRequest_Facts{Facts: &farmv1.Facts{Serial: uint64(serial + 1),
			Facts: []*farmv1.Fact{fact(key, farmv1.Verdict(o), id)}}}})
		w.ack(uint64(serial + 1))
	}
	r, err := b.control.Status(t.Context(), &farmv1.StatusRequest{})
	if err != nil || r.GetState() != loop.StateStopped || !strings.Contains(r.GetWhy(), "known as won") ||
		!strings.Contains(r.GetWhy(), "claimed as lost") {
		t.Errorf("status after a contradiction: %v, %v", r, err)
	}
	b.kill()
	if s.contra == nil {
		t.Fatal("the contradiction is not on disk")
	}
	b = start(t, s, nil)
	if err := <-b.ended; !errors.Is(err, store.ErrContradiction) {
		t.Errorf("started again: %v, want %v", err, store.ErrContradiction)
	}
}

func TestControl(t *testing.T) {
	store := newMemory()
	v := trust.Party{Name: "v"}
	store.standings[v] = trust.Standing{Party: v, Contradicted: 2, Forgiven: true, Offences: 1}
	b := start(t, store, nil)
	ctx := t.Context()
	if r, err := b.health.Check(ctx, &healthpb.HealthCheckRequest{Service: "amazonsfarm.farm.v1.Farm"}); err != nil ||
		r.GetStatus() != healthpb.HealthCheckResponse_SERVING {
		t.Errorf("health: %v, %v", r, err)
	}
	if r, err := b.control.Pause(ctx, &farmv1.PauseRequest{}); err != nil || r.GetState() != loop.StatePaused {
		t.Fatalf("pause: %v, %v", r, err)
	}
	w := b.worker("w")
	w.ready()
	if m := w.receive(); !strings.Contains(m.GetNoWork().GetReason(), "paused") {
		t.Errorf("paused: %v", m)
	}
	watch, err := b.control.Watch(ctx, &farmv1.WatchRequest{PeriodSeconds: 0.1})
	if err != nil {
		t.Fatal(err)
	}
	if r, err := watch.Recv(); err != nil || r.GetState() != loop.StatePaused {
		t.Errorf("watch: %v, %v", r, err)
	}
	if r, err := b.control.Resume(ctx, &farmv1.ResumeRequest{}); err != nil || r.GetState() != loop.StateRunning {
		t.Fatalf("resume: %v, %v", r, err)
	}
	l := w.receive().GetLease()
	if l == nil {
		t.Fatal("no lease after resume")
	}
	for {
		r, err := watch.Recv()
		if err != nil {
			t.Fatal(err)
		}
		if r.GetState() == loop.StateRunning && r.GetLeased() == 1 {
			break
		}
	}
	bad, err := b.control.Watch(ctx, &farmv1.WatchRequest{PeriodSeconds: -1})
	if err == nil {
		_, err = bad.Recv()
	}
	wantCode(t, err, codes.InvalidArgument, "period")
	list, err := b.control.Workers(ctx, &farmv1.WorkersRequest{})
	if err != nil || len(list.GetWorkers()) != 1 || list.GetWorkers()[0].GetLease() != l.GetId() ||
		list.GetWorkers()[0].GetPosition() != b.at.String() {
		t.Errorf("workers: %v, %v", list, err)
	}
	if w := list.GetWorkers()[0]; w.GetConfirmed() != 0 || w.GetContradicted() != 0 || w.GetOffences() != 0 {
		t.Errorf("held against the worker is %v", w)
	}
	other := b.worker("v")
	other.ready()
	other.receive()
	if v := b.shownAs("v"); v.GetContradicted() != 2 || v.GetOffences() != 1 {
		t.Errorf("shown is %v", v)
	}
	if r, err := b.control.Drain(ctx, &farmv1.DrainRequest{}); err != nil || r.GetState() != loop.StateDraining {
		t.Fatalf("drain: %v, %v", r, err)
	}
	if c := w.receive().GetCancel(); c.GetLease() != l.GetId() {
		t.Errorf("the lease is not called back: %v", c)
	}
	w.send(result(1, l, 0))
	w.ack(1)
	if err := <-b.ended; !errors.Is(err, loop.ErrDrained) {
		t.Errorf("ended with %v, want %v", err, loop.ErrDrained)
	}
	if _, err := b.control.Status(ctx, &farmv1.StatusRequest{}); status.Code(err) != codes.Unavailable {
		t.Errorf("status after the end: %v", err)
	}
}

// TestWhatPagesShow: the moves of the root that are leased, the latest facts, and how a decided
// position is played out.
func TestWhatPagesShow(t *testing.T) {
	b := start(t, newMemory(), func(c *settings) { c.Stay, c.Limits.Recent = true, 2 })
	ctx := t.Context()
	w := b.worker("w")
	l := w.lease()
	if list, err := b.campaign.Workers(ctx); err != nil || len(list) != 1 || list[0].GetLease() != l.GetId() ||
		list[0].GetLeaseSeconds() > 60 {
		t.Errorf("workers: %v, %v", list, err)
	}
	if list, err := b.campaign.Recent(ctx); err != nil || len(list) != 0 {
		t.Errorf("facts before the first: %v, %v", list, err)
	}
	root := b.at
	s := root.State()
	first := s.Moves(nil)[0]
	after := s.After(first)
	reply := after.Moves(nil)[0]
	claims := []proof.Citation{claim(after.After(reply).CanonicalKey(root.Board), eval.Lost),
		claim(after.CanonicalKey(root.Board), eval.Won), claim(b.root, eval.Lost)}
	id, err := w.upload(certificate(claims...))
	if err != nil {
		t.Fatal(err)
	}
	w.send(result(1, l, farmv1.Verdict_VERDICT_LOST, fact(claims[0].Key, farmv1.Verdict_VERDICT_LOST, id),
		fact(claims[1].Key, farmv1.Verdict_VERDICT_WON, id), fact(claims[2].Key, farmv1.Verdict_VERDICT_LOST, id)))
	if a := w.ack(1); a.GetRefused() != "" {
		t.Fatalf("refused: %s", a.GetRefused())
	}
	list, err := b.campaign.Recent(ctx)
	if err != nil || len(list) != 2 || list[0].Serial != 3 || list[1].Serial != 2 {
		t.Fatalf("the latest two of three facts: %+v, %v", list, err)
	}
	for _, f := range list {
		if p, err := amazons.ParsePosition(f.Position); err != nil ||
			!slices.Contains(claims, claim(p.State().CanonicalKey(root.Board), f.Verdict)) {
			t.Errorf("fact %+v: %v", f, err)
		}
	}
	r, err := b.control.Explore(ctx, &farmv1.ExploreRequest{Moves: []string{first.String()}})
	if err != nil || len(r.GetLine()) == 0 || r.GetKnown().GetVerdict() != farmv1.Verdict_VERDICT_WON {
		t.Fatalf("after the first move: %v, %v", r, err)
	}
	if way, _, err := explore.Follow(root, []string{first.String(), r.GetLine()[0]}); err != nil ||
		way[2].State().CanonicalKey(root.Board) != claims[0].Key {
		t.Errorf("the refutation of %v is %s: %v", first, r.GetLine()[0], err)
	}
}

func TestNodeLimit(t *testing.T) {
	b := start(t, newMemory(), func(c *settings) { c.NodeLimit = 10 })
	w := b.worker("w")
	w.send(result(1, w.lease(), 0))
	w.ack(1)
	if err := <-b.ended; !errors.Is(err, loop.ErrLimit) {
		t.Errorf("ended with %v, want %v", err, loop.ErrLimit)
	}
}

// TestLeaseExpiry lets a worker fall silent: in virtual time, over the real transport.
func TestLeaseExpiry(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := start(t, newMemory(), nil)
		silent := b.worker("silent")
		first := silent.lease()
		waiting := b.worker("waiting")
		begun := time.Now()
		waiting.ready()
		var second *farmv1.Lease
		for second == nil {
			second = waiting.receive().GetLease()
		}
		if !bytes.Equal(first.GetKey(), second.GetKey()) || first.GetId() == second.GetId() {
			t.Errorf("leases %v and %v", first, second)
		}
		if took := time.Since(begun); took < 2*time.Second || took > 10*time.Second {
			t.Errorf("a silent worker's lease was freed after %v", took)
		}
		b.kill()
	})
}

// TestBrokenStream lets a worker come back on a new stream before it is forgotten: it goes on with
// its lease.
func TestBrokenStream(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := start(t, newMemory(), nil)
		w := b.worker("w")
		l := w.lease()
		w.send(&farmv1.WorkRequest{Kind: &farmv1.WorkRequest_Progress{Progress: &farmv1.Progress{Lease: l.GetId(),
			Epoch: l.GetEpoch(), Nodes: 5}}})
		synctest.Wait()
		w.cancel()
		time.Sleep(time.Second)
		w.connect()
		w.send(result(1, l, 0))
		if a := w.ack(1); a.GetRefused() != "" {
			t.Errorf("refused: %s", a.GetRefused())
		}
		w.cancel()
		time.Sleep(10 * time.Second)
		if list, err := b.control.Workers(t.Context(), &farmv1.WorkersRequest{}); err != nil ||
			len(list.GetWorkers()) != 0 {
			t.Errorf("a worker that is gone for 10 s is still there: %v, %v", list, err)
		}
		b.kill()
	})
}

// TestNews: what one worker proves below another's lease is told to that one at the next tick.
func TestNews(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := start(t, newMemory(), nil)
		v, w := b.worker("v"), b.worker("w")
		first := v.lease()
		w.ready()
		if m := w.receive(); m.GetNoWork() == nil {
			t.Fatalf("got %v instead of no work", m)
		}
		v.send(result(1, first, 0)) // split, as w waits
		if m := w.receive(); m.GetLease() == nil {
			t.Fatalf("got %v instead of a lease", m)
		}
		v.ack(1)
		key, err := amazons.KeyFromBytes(v.lease().GetKey())
		if err != nil {
			t.Fatal(err)
		}
		board := b.at.Board
		state, _ := key.State(board)
		below := state.After(state.Moves(nil)[0]).CanonicalKey(board)
		id, err := w.upload(certificate(claim(below, eval.Won)))
		if err != nil {
			t.Fatal(err)
		}
		w.send(&farmv1.WorkRequest{Kind: &farmv1.WorkRequest_Facts{Facts: &farmv1.Facts{Serial: 1,
			Facts: []*farmv1.Fact{fact(below, farmv1.Verdict_VERDICT_WON, id)}}}})
		w.ack(1)
		bytesBelow := below.Bytes()
		if facts := v.receive().GetNews().GetFacts(); len(facts) != 1 ||
			!bytes.Equal(facts[0].GetKey(), bytesBelow[:]) || facts[0].GetVerdict() != farmv1.Verdict_VERDICT_WON {
			t.Errorf("news: %v", facts)
		}
		b.kill()
	})
}

// TestSlowWorker holds that a worker that does not read is cut off and holds nobody up.
func TestSlowWorker(t *testing.T) {
	b := start(t, newMemory(), func(c *settings) { c.Limits.Answers = 1 })
	s, err := b.loop.Join(t.Context(), loop.Worker{Name: "slow"})
	if err != nil {
		t.Fatal(err)
	}
	l := b.loop.NewLink()
	if err := b.loop.Attach(t.Context(), s, l); err != nil {
		t.Fatal(err)
	}
	for serial := range uint64(3) {
		if err := b.loop.Post(t.Context(), loop.Event{Session: s, Link: l, Tree: tree.Proved{Worker: "slow"},
			Serial: serial + 1}); err != nil {
			t.Fatal(err)
		}
	}
	<-l.Ended
	wantCode(t, coded(slog.New(slog.DiscardHandler), "", l.Err()), codes.ResourceExhausted, "does not read")
}

func TestSameNameTakesOver(t *testing.T) {
	b := start(t, newMemory(), nil)
	first := b.worker("w")
	first.ready()
	first.receive()
	second := b.worker("w")
	_, err := first.stream.Recv()
	wantCode(t, err, codes.Aborted, "takes its place")
	second.ready()
	second.receive()
}

func TestMetricsLint(t *testing.T) {
	b := start(t, newMemory(), nil)
	families, err := b.registry.Gather()
	if err != nil {
		t.Fatal(err)
	}
	problems, err := promlint.NewWithMetricFamilies(families).Lint()
	if err != nil {
		t.Fatal(err)
	}
	for _, p := range problems {
		if strings.HasPrefix(p.Metric, "amazons_") {
			t.Errorf("%s: %s", p.Metric, p.Text)
		}
	}
	have := map[string]int{}
	for _, f := range families {
		have[f.GetName()] = len(f.GetMetric())
		for _, m := range f.GetMetric() {
			for _, l := range m.GetLabel() {
				if n := l.GetName(); n == "worker" || n == "position" || n == "lease" {
					t.Errorf("%s has the unbounded label %s", f.GetName(), n)
				}
			}
		}
	}
	for name, least := range map[string]int{
		"amazons_master_root_proof_number": 1, "amazons_master_facts": 2, "amazons_master_leases_returned_total": 3,
		"amazons_master_verifications_total": 2, "amazons_master_worker_offences_total": len(trust.Kinds),
		"amazons_master_campaign_state": 8, "amazons_master_store_commit_duration_seconds": 1,
		"grpc_server_handled_total": 10,
	} {
		if have[name] < least {
			t.Errorf("%s has %d series from the start, want at least %d", name, have[name], least)
		}
	}
}
