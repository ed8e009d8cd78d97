package agent

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	farmv1 "amazonsfarm/proto/farm/v1"
	"amazonsfarm/shared/amazons"
	"amazonsfarm/shared/eval"
	"amazonsfarm/shared/numbers"
	"amazonsfarm/worker/engine"

	"amazonsfarm/shared/proof"

	"go.uber.org/goleak"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/status"
	"google.golang.org/grpc/test/bufconn"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

const heartbeat = time.Second

// fakeMaster plays a master: what a worker calls shows up on channels, and the test plays the answers.
type fakeMaster struct {
	farmv1.UnimplementedFarmServer
	join    func(*farmv1.JoinRequest) error // nil: welcome
	upload  func(attempt int) error         // nil: taken
	fetch   fetched                         // not nil where it is called
	streams chan *fakeStream

	mu       sync.Mutex
	joins    int
	attempts int
	uploads  map[[32]byte]int // size of what was uploaded
	order    []string         // uploads and messages as they came in
}

func (m *fakeMaster) Join(_ context.Context, r *farmv1.JoinRequest) (*farmv1.JoinResponse, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.joins++
	if m.join != nil {
		if err := m.join(r); err != nil {
			return nil, err
		}
	}
	return &farmv1.JoinResponse{
		Session:          fmt.Sprint("session ", m.joins),
		Campaign:         &farmv1.Campaign{Board: "4x4", Root: start().String()},
		HeartbeatSeconds: heartbeat.Seconds(), MaxCertificateBytes: 8 << 20, MaxFactsPerMessage: 100, MinFactNodes: 10,
	}, nil
}

func (m *fakeMaster) UploadCertificate(s farmv1.Farm_UploadCertificateServer) error {
	var first *farmv1.UploadCertificateRequest
	var data []byte
	for {
		r, err := s.Recv()
		if err == io.EOF {
			break
		}
		if err != nil {
			return err
		}
		if first == nil {
			first = r
			m.mu.Lock()
			m.attempts++
			attempt := m.attempts
			m.mu.Unlock()
			if m.upload != nil {
				if err := m.upload(attempt); err != nil {
					return err
				}
			}
		}
		if len(r.Data) > 1<<20 {
			return status.Error(codes.InvalidArgument, "chunk too large")
		}
		data = append(data, r.Data...)
	}
	sum := sha256.Sum256(data)
	if first == nil || string(sum[:]) != string(first.Sha256) || uint64(len(data)) != first.Size ||
		first.Session == "" {
		return status.Error(codes.DataLoss, "hash or size is wrong")
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	m.uploads[sum] = len(data)
	m.order = append(m.order, "upload")
	return s.SendAndClose(&farmv1.UploadCertificateResponse{})
}

// fakeStream is the master's end of a work stream.
type fakeStream struct {
	t     *testing.T
	s     farmv1.Farm_WorkServer
	in    chan *farmv1.WorkRequest
	ended chan error // closing or filling it ends the stream
}

func (m *fakeMaster) Work(s farmv1.Farm_WorkServer) error {
	f := &fakeStream{s: s, in: make(chan *farmv1.WorkRequest, 1024), ended: make(chan error, 1)}
	go func() {
		defer close(f.in)
		for {
			r, err := s.Recv()
			if err != nil {
				return
			}
			m.mu.Lock()
			m.order = append(m.order, fmt.Sprintf("%T", r.Kind))
			m.mu.Unlock()
			f.in <- r
		}
	}()
	m.streams <- f
	select {
	case err := <-f.ended:
		return err
	case <-s.Context().Done():
		return s.Context().Err()
	}
}

// farm is a fake master with an agent at work.
type farm struct {
	t      *testing.T
	master *fakeMaster
	solver *fakeSolver
	stats  *Stats
	drain  chan struct{}
	abort  context.CancelFunc
	done   chan error
	begin  func() // starts the agent; before it, the master may be changed
}

// fakeSolver is an engine whose searches are played by the test.
type fakeSolver struct {
	search  func(ctx context.Context, job engine.Job) engine.Result
	part    func(ctx context.Context, facts []proof.Fact) engine.Part // nil: all facts in one small file
	forgets atomic.Int32
	told    atomic.Int32 // times that it forgot what it was told
	closed  atomic.Bool
	jobs    []engine.Job
	learned atomic.Int32
}

func (s *fakeSolver) Run(ctx context.Context, job engine.Job, progress func(engine.Progress)) (engine.Result, error) {
	s.jobs = append(s.jobs, job)
	progress(engine.Progress{Nodes: 7, Evaluations: 70, TableFill: 0.5})
	return s.search(ctx, job), nil
}

func (s *fakeSolver) Prove(ctx context.Context, facts []proof.Fact, _ func(int)) ([]engine.Part, error) {
	if s.part != nil {
		return []engine.Part{s.part(ctx, facts)}, nil
	}
	return []engine.Part{partOf([]byte(fmt.Sprint(facts)), facts)}, nil
}

func partOf(data []byte, facts []proof.Fact) engine.Part {
	p := engine.Part{Facts: slices.Clone(facts), Data: data, ID: proof.IDOf(data), Entries: 1}
	for i := range p.Facts {
		p.Facts[i].Certificate = p.ID
	}
	return p
}

func (s *fakeSolver) Hints() []byte { return []byte("hints") }

func (s *fakeSolver) Learn(facts []proof.Fact) { s.learned.Add(int32(len(facts))) }
func (s *fakeSolver) Close() error             { s.closed.Store(true); return nil }

func start() amazons.Position {
	b, _ := amazons.NewBoard(4, 4)
	p, _ := amazons.Start(b)
	return p
}

func rootKey() amazons.Key { return start().State().CanonicalKey(start().Board) }

// childKey is another position of the board.
func childKey() amazons.Key {
	s := start().State()
	return s.After(s.Moves(nil)[0]).CanonicalKey(start().Board)
}

// work runs play in virtual time beside an agent, which starts with the first stream asked for,
// then looks after a clean end with the given error (nil: none).
func work(t *testing.T, c Config, search func(context.Context, engine.Job) engine.Result, want error,
	play func(*farm)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		f := &farm{
			t: t, master: &fakeMaster{streams: make(chan *fakeStream, 10), uploads: make(map[[32]byte]int)},
			solver: &fakeSolver{search: search}, stats: new(Stats), drain: make(chan struct{}),
			done: make(chan error, 1),
		}
		listener := bufconn.Listen(1 << 20)
		server := grpc.NewServer()
		farmv1.RegisterFarmServer(server, f.master)
		served := make(chan struct{})
		go func() { defer close(served); server.Serve(listener) }()
		conn, err := grpc.NewClient("passthrough:master",
			append(DialOptions(), grpc.WithTransportCredentials(insecure.NewCredentials()),
				grpc.WithContextDialer(func(context.Context, string) (net.Conn, error) { return listener.Dial() }))...)
		if err != nil {
			t.Fatal(err)
		}
		c.Name, c.Drain, c.Stats = "w", f.drain, f.stats
		c.NewSolver = func(engine.Config) (Solver, error) { return f.solver, nil }
		ctx, abort := context.WithCancel(t.Context())
		f.abort = abort
		f.begin = sync.OnceFunc(func() { go func() { f.done <- Run(ctx, conn, c) }() })
		play(f)
		f.begin()
		select {
		case err := <-f.done:
			if !errors.Is(err, want) || want == nil && err != nil {
				t.Errorf("Run returned %v; want %v", err, want)
			}
		case <-time.After(time.Hour):
			t.Error("the agent did not end")
			abort()
			<-f.done
		}
		abort()
		if f.master.joins > 0 && !f.solver.closed.Load() && f.stats.Joins.Load() > 0 {
			t.Error("the engine was not closed")
		}
		conn.Close()
		server.Stop()
		<-served
	})
}

// stream waits for the next work stream and its Hello.
func (f *farm) stream() *fakeStream {
	f.t.Helper()
	f.begin()
	select {
	case s := <-f.master.streams:
		s.t = f.t
		if hello := s.next().GetHello(); hello == nil || !strings.HasPrefix(hello.Session, "session ") {
			f.t.Fatal("the stream does not begin with a Hello")
		}
		return s
	case <-time.After(time.Hour):
		f.t.Fatal("no stream was opened")
		return nil
	}
}

// next returns the next message that is not progress.
func (s *fakeStream) next() *farmv1.WorkRequest {
	s.t.Helper()
	for {
		select {
		case m, ok := <-s.in:
			if !ok {
				s.t.Fatal("the stream ended")
			}
			if m.GetProgress() == nil {
				return m
			}
		case <-time.After(time.Hour):
			s.t.Fatal("no message came")
		}
	}
}

func (s *fakeStream) ready() {
	s.t.Helper()
	if m := s.next(); m.GetReady() == nil {
		s.t.Fatalf("got %v; want Ready", m)
	}
}

func (s *fakeStream) result() *farmv1.Result {
	s.t.Helper()
	m := s.next()
	if m.GetResult() == nil {
		s.t.Fatalf("got %v; want a Result", m)
	}
	return m.GetResult()
}

// returned waits for a lease to be returned that was not searched.
func (s *fakeStream) returned(id, epoch uint64) {
	s.t.Helper()
	if r := s.result(); r.Lease != id || r.Epoch != epoch || !r.Cancelled || r.Nodes != 0 || r.Serial != 0 ||
		string(r.Key) != string(farmv1.WriteKey(rootKey())) {
		s.t.Errorf("returned %v", r)
	}
}

func (s *fakeStream) send(m *farmv1.WorkResponse) {
	s.t.Helper()
	if err := s.s.Send(m); err != nil {
		s.t.Fatal(err)
	}
}

func (s *fakeStream) lease(id, epoch, budget uint64, facts ...*farmv1.Fact) {
	s.t.Helper()
	s.send(&farmv1.WorkResponse{Kind: &farmv1.WorkResponse_Lease{Lease: &farmv1.Lease{Id: id, Epoch: epoch,
		Key: farmv1.WriteKey(rootKey()), BudgetNodes: budget, Facts: facts}}})
}

func (s *fakeStream) ack(serial uint64, refused string) {
	s.t.Helper()
	s.send(&farmv1.WorkResponse{Kind: &farmv1.WorkResponse_Ack{Ack: &farmv1.Ack{Serial: serial, Refused: refused}}})
}

func (s *fakeStream) cancelLease(id uint64) {
	s.t.Helper()
	s.send(&farmv1.WorkResponse{Kind: &farmv1.WorkResponse_Cancel{Cancel: &farmv1.Cancel{Lease: id, Reason: "closed"}}})
}

func (s *fakeStream) noWork() {
	s.t.Helper()
	s.send(&farmv1.WorkResponse{Kind: &farmv1.WorkResponse_NoWork{NoWork: &farmv1.NoWork{Reason: "all is leased"}}})
}

func (s *fakeStream) finish() {
	s.t.Helper()
	s.send(&farmv1.WorkResponse{Kind: &farmv1.WorkResponse_Finished{Finished: &farmv1.Finished{Reason: "settled"}}})
}

// spent is a search that uses up its budget at once and finds nothing.
func spent(_ context.Context, job engine.Job) engine.Result {
	return engine.Result{Phi: 3, Delta: 4, Nodes: job.Budget, Evaluations: 5,
		Children: []numbers.Child{{Key: childKey(), Phi: 1, Delta: 2}}}
}

// solvedLost is a search that proves its position lost at once.
func solvedLost(_ context.Context, job engine.Job) engine.Result {
	return engine.Result{Verdict: eval.Lost, Phi: 99, Delta: 0, Nodes: job.Budget / 2}
}

// endless is a search that runs until it is stopped, with one position solved on the way.
func endless(ctx context.Context, job engine.Job) engine.Result {
	<-ctx.Done()
	return engine.Result{Phi: 3, Delta: 4, Nodes: 10,
		Solved: []proof.Fact{{Key: childKey(), Verdict: eval.Won, Nodes: 9}}}
}

func TestLeases(t *testing.T) {
	work(t, Config{}, spent, nil, func(f *farm) {
		s := f.stream()
		s.ready()
		s.lease(1, 5, 1000, &farmv1.Fact{Key: farmv1.WriteKey(childKey()), Verdict: farmv1.Verdict_VERDICT_WON,
			Nodes: 3})
		r := s.result()
		if r.Lease != 1 || r.Epoch != 5 || r.Nodes != 1000 || r.Evaluations != 5 || r.Phi != 3 || r.Delta != 4 ||
			r.Cancelled ||
			r.Verdict != 0 || len(r.Facts) != 0 || string(r.Children) != "\x01\x02" ||
			string(r.Key) != string(farmv1.WriteKey(rootKey())) {
			t.Errorf("result %v", r)
		}
		s.ready() // before the acknowledgement
		if want := (proof.Fact{Key: childKey(), Verdict: eval.Won, Nodes: 3}); len(f.solver.jobs) != 1 ||
			f.solver.jobs[0].Facts[0] != want {
			t.Errorf("jobs %v", f.solver.jobs)
		}
		s.ack(r.Serial, "")
		f.solver.search = solvedLost
		s.lease(2, 5, 2000)
		r = s.result()
		if r.Verdict != farmv1.Verdict_VERDICT_LOST || len(r.Facts) != 1 || r.Facts[0].Nodes != 1000 ||
			len(r.Children) != 0 {
			t.Errorf("result %v", r)
		}
		if len(f.master.uploads) != 1 || f.master.uploads[[32]byte(r.Facts[0].CertificateSha256)] == 0 {
			t.Error("the fact's evidence was not uploaded before the result")
		}
		s.ready()
		s.ack(r.Serial, "")
		s.finish()
	})
}

func TestProgress(t *testing.T) {
	work(t, Config{FactsEvery: 10 * time.Second}, endless, nil, func(f *farm) {
		s := f.stream()
		s.ready()
		s.lease(1, 1, 1000)
		for range 3 {
			select {
			case m := <-s.in:
				if p := m.GetProgress(); p == nil || p.Lease != 1 || p.Epoch != 1 || p.Nodes != 7 ||
					p.Evaluations != 70 || p.TableFill != 0.5 {
					t.Errorf("got %v", m)
				}
			case <-time.After(2 * heartbeat):
				t.Fatal("no heartbeat")
			}
		}
		// After FactsEvery what was proved comes, the search goes on.
		facts := s.next().GetFacts()
		if facts == nil || len(facts.Facts) != 1 || facts.Facts[0].Verdict != farmv1.Verdict_VERDICT_WON {
			t.Fatalf("got %v; want Facts", facts)
		}
		s.ack(facts.Serial, "")
		s.cancelLease(1)
		if r := s.result(); !r.Cancelled || r.Nodes != 20 {
			t.Errorf("result %v", r)
		}
		if len(f.solver.jobs) != 2 || f.solver.jobs[1].Budget != 990 {
			t.Errorf("jobs %v", f.solver.jobs)
		}
		s.finish()
	})
}

func TestCancel(t *testing.T) {
	work(t, Config{}, endless, nil, func(f *farm) {
		s := f.stream()
		s.ready()
		s.lease(1, 1, 1000)
		s.cancelLease(77) // not ours
		time.Sleep(time.Millisecond)
		begun := time.Now()
		s.cancelLease(1)
		r := s.result()
		if !r.Cancelled || len(r.Facts) != 1 || r.Verdict != 0 || time.Since(begun) > time.Millisecond {
			t.Errorf("after %v: result %v", time.Since(begun), r)
		}
		s.ready()
		s.finish()
	})
}

func TestReconnect(t *testing.T) {
	work(t, Config{}, solvedLost, nil, func(f *farm) {
		s := f.stream()
		s.ready()
		s.lease(1, 1, 1000)
		r := s.result()
		s.ready()
		s.ended <- status.Error(codes.Unavailable, "restarting")
		// Not acknowledged: it comes again, before a Ready, and its evidence is there already.
		s = f.stream()
		again := s.result()
		if again.Serial != r.Serial || again.Verdict != r.Verdict ||
			string(again.Facts[0].CertificateSha256) != string(r.Facts[0].CertificateSha256) {
			t.Errorf("got %v; want %v again", again, r)
		}
		if f.master.attempts != 1 {
			t.Errorf("%d uploads", f.master.attempts)
		}
		if f.solver.forgets.Load() != 1 {
			t.Error("a new master was believed to have what the old one had")
		}
		s.ready()
		s.ack(again.Serial, "")
		time.Sleep(time.Millisecond)
		s.ended <- status.Error(codes.Unavailable, "restarting")
		s = f.stream()
		s.ready() // nothing is sent again
		s.finish()
	})
}

// TestJoinAgain: a master that has its workers join again and again, as one that takes facts back does, gets
// each of them back within a second.
func TestJoinAgain(t *testing.T) {
	work(t, Config{}, spent, nil, func(f *farm) {
		s := f.stream()
		for range 20 {
			s.ready()
			began := time.Now()
			s.ended <- status.Error(codes.FailedPrecondition, "facts were taken back; join again")
			s = f.stream()
			if took := time.Since(began); took > again+again/10 {
				t.Fatalf("the worker is away for %v", took)
			}
		}
		if told, all := f.solver.told.Load(), f.solver.forgets.Load(); told == 0 || told != all {
			t.Errorf("%d times the worker forgot what rests on what it was told, %d times in all", told, all)
		}
		s.finish()
	})
}

// TestSessionIsNotKnown: a master that was started between Join and Work does not know the session. No facts were taken
// back, so the worker keeps its lease and its table.
func TestSessionIsNotKnown(t *testing.T) {
	work(t, Config{FactsEvery: time.Hour}, endless, nil, func(f *farm) {
		s := f.stream()
		s.ready()
		s.lease(1, 1, 1000)
		s.ended <- status.Error(codes.Aborted, "this session is not known (any more); join again")
		s = f.stream()
		time.Sleep(time.Minute)
		s.cancelLease(1)
		s.result()
		s.ready()
		if f.solver.told.Load() > 0 || f.solver.forgets.Load() == 0 {
			t.Error("the worker forgot what rests on what it was told")
		}
		s.finish()
	})
}

func TestLeaseOutlivesConnection(t *testing.T) {
	work(t, Config{FactsEvery: time.Hour}, endless, nil, func(f *farm) {
		s := f.stream()
		s.ready()
		s.lease(3, 1, 1000)
		time.Sleep(time.Second)
		s.ended <- nil
		s = f.stream()
		select {
		case m := <-s.in:
			if m.GetProgress().GetLease() != 3 {
				t.Fatalf("got %v; want progress on the lease", m)
			}
		case <-time.After(2 * heartbeat):
			t.Fatal("no heartbeat")
		}
		s.cancelLease(3)
		if r := s.result(); r.Lease != 3 || len(r.Facts) != 1 {
			t.Errorf("result %v", r)
		}
		s.finish()
	})
}

func TestStaleResult(t *testing.T) {
	work(t, Config{}, spent, nil, func(f *farm) {
		s := f.stream()
		s.ready()
		s.lease(1, 1, 1000)
		r := s.result()
		s.ready()
		s.ack(r.Serial, "stale epoch")
		s.lease(2, 2, 1000)
		s.ack(s.result().Serial, "")
		s.ready()
		s.finish()
		time.Sleep(time.Second)
		if f.stats.Refused.Load() != 1 || f.stats.Results.Load() != 1 {
			t.Errorf("refused %d, taken %d", f.stats.Refused.Load(), f.stats.Results.Load())
		}
	})
}

func TestSlowAcks(t *testing.T) {
	work(t, Config{MaxWaiting: 2, AckTimeout: time.Minute}, spent, nil, func(f *farm) {
		s := f.stream()
		s.ready()
		s.lease(1, 1, 10)
		first := s.result()
		s.ready()
		s.lease(2, 1, 10)
		second := s.result()
		// Two wait: no Ready until one is acknowledged.
		time.Sleep(30 * time.Second)
		if len(s.in) != 0 {
			t.Fatalf("got %v", <-s.in)
		}
		s.ack(first.Serial, "")
		s.ready()
		// The other one is overdue: a new stream, on which it comes again.
		s = f.stream()
		if again := s.result(); again.Serial != second.Serial {
			t.Errorf("got %v; want %v", again, second)
		}
		s.finish()
	})
}

// A parcel on which the stream breaks each time is given up.
func TestPoisonedResult(t *testing.T) {
	work(t, Config{MaxSends: 3}, spent, nil, func(f *farm) {
		s := f.stream()
		s.ready()
		s.lease(1, 1, 10)
		for range 3 {
			s.result()
			s.ended <- status.Error(codes.InvalidArgument, "bad")
			s = f.stream()
		}
		s.ready()
		s.finish()
	})
}

// What was delivered is forgotten while a lease runs, but not behind the back of its goroutine.
func TestForgetDuringLease(t *testing.T) {
	work(t, Config{FactsEvery: 10 * time.Second}, endless, nil, func(f *farm) {
		s := f.stream()
		s.ready()
		s.lease(1, 1, 1000)
		time.Sleep(time.Second)
		s.ended <- nil
		s = f.stream()
		if n := f.solver.forgets.Load(); n != 0 {
			t.Errorf("forgotten %d times", n)
		}
		s.ack(s.next().GetFacts().GetSerial(), "")
		if n := f.solver.forgets.Load(); n != 1 {
			t.Errorf("forgotten %d times", n)
		}
		s.cancelLease(1)
		s.result()
		s.finish()
	})
}

func TestDrain(t *testing.T) {
	work(t, Config{}, endless, nil, func(f *farm) {
		s := f.stream()
		s.ready()
		s.lease(1, 1, 1000)
		time.Sleep(time.Second)
		close(f.drain)
		r := s.result()
		if !r.Cancelled || len(r.Facts) != 1 {
			t.Errorf("result %v", r)
		}
		time.Sleep(time.Second)
		s.ack(r.Serial, "")
		if m := s.next(); m.GetGoodbye() == nil {
			t.Fatalf("got %v; want Goodbye", m)
		}
		if _, ok := <-s.in; ok {
			t.Error("something came after Goodbye")
		}
		s.ended <- nil
	})
}

func TestDrainIdle(t *testing.T) {
	work(t, Config{}, spent, nil, func(f *farm) {
		s := f.stream()
		s.ready()
		close(f.drain)
		if m := s.next(); m.GetGoodbye() == nil {
			t.Fatalf("got %v; want Goodbye", m)
		}
	})
}

// TestIdleTimeout has a worker that ends without work: time with a lease does not count, and what
// it proved is delivered before.
func TestIdleTimeout(t *testing.T) {
	work(t, Config{IdleTimeout: 8 * heartbeat}, spent, nil, func(f *farm) {
		s := f.stream()
		s.ready()
		s.noWork()
		time.Sleep(6 * heartbeat)
		s.lease(1, 1, 1000)
		r := s.result()
		begun := time.Now()
		s.ready()
		s.noWork()
		time.Sleep(3 * heartbeat)
		s.ack(r.Serial, "")
		if m := s.next(); m.GetGoodbye() == nil {
			t.Errorf("got %v; want Goodbye", m)
		}
		if waited := time.Since(begun); waited < 8*heartbeat || waited > 9*heartbeat {
			t.Errorf("it waited for %v", waited)
		}
		s.ended <- nil
	})
}

func TestDrainUndelivered(t *testing.T) {
	work(t, Config{DrainTimeout: 5 * time.Second}, endless, ErrUndelivered, func(f *farm) {
		s := f.stream()
		s.ready()
		s.lease(1, 1, 1000)
		time.Sleep(time.Second)
		close(f.drain)
		s.result() // never acknowledged
	})
}

func TestDrainWhileAway(t *testing.T) {
	work(t, Config{JoinTimeout: time.Hour}, spent, nil, func(f *farm) {
		f.master.join = func(*farmv1.JoinRequest) error { return status.Error(codes.Unavailable, "not yet") }
		f.begin()
		time.Sleep(10 * time.Second)
		close(f.drain)
	})
}

func TestAbort(t *testing.T) {
	work(t, Config{}, endless, context.Canceled, func(f *farm) {
		s := f.stream()
		s.ready()
		s.lease(1, 1, 1000)
		time.Sleep(time.Second)
		f.abort()
	})
}

func TestUnreachable(t *testing.T) {
	work(t, Config{JoinTimeout: 20 * time.Second}, spent, ErrUnreachable, func(f *farm) {
		begun := time.Now()
		f.master.join = func(*farmv1.JoinRequest) error { return status.Error(codes.Unavailable, "not yet") }
		f.begin()
		err := <-f.done
		if took := time.Since(begun); took < 15*time.Second || took > 25*time.Second {
			t.Errorf("gave up after %v", took)
		}
		f.done <- err
	})
}

// TestAwayIsSaidOnce: a worker logs once in ten minutes why it is away, and after how long it gives up.
func TestAwayIsSaidOnce(t *testing.T) {
	var log strings.Builder
	c := Config{Name: "w", Log: slog.New(slog.NewTextHandler(&log, nil))}
	m, err := NewMachine(c, 0)
	if err != nil {
		t.Fatal(err)
	}
	m.Step(0, Tick{})
	m.Step(0, Joined{Session: &farmv1.JoinResponse{Session: "s", HeartbeatSeconds: 1,
		Campaign: &farmv1.Campaign{Board: "4x4", Root: start().String()}}})
	m.Step(0, Lost{Err: fmt.Errorf("%w: the credential is revoked", errLost)})
	for at := time.Duration(0); at < 15*time.Minute; {
		at = m.Wake()
		m.Step(at, Tick{})
		m.Step(at, Lost{Err: errors.New("the credential is revoked")})
	}
	if n := strings.Count(log.String(), "trying again"); n != 2 ||
		!strings.Contains(log.String(), "gives_up_after=24h0m0s") {
		t.Errorf("%d lines: %s", n, &log)
	}
}

func TestRefused(t *testing.T) {
	work(t, Config{}, spent, ErrRefused, func(f *farm) {
		f.master.join = func(r *farmv1.JoinRequest) error {
			if r.ProtocolVersion != farmv1.ProtocolVersion || r.RulesVersion != farmv1.RulesVersion ||
				r.Worker != "w" || r.Cores == 0 ||
				r.TableBytes == 0 || r.Build == "" {
				t.Errorf("join %v", r)
			}
			return status.Error(codes.FailedPrecondition, "another version")
		}
	})
}

func TestUploadIsTriedAgain(t *testing.T) {
	work(t, Config{}, solvedLost, nil, func(f *farm) {
		f.solver.part = func(_ context.Context, facts []proof.Fact) engine.Part {
			return partOf(make([]byte, 5<<19), facts)
		}
		f.master.upload = func(attempt int) error {
			switch attempt {
			case 1:
				return status.Error(codes.ResourceExhausted, "too many uploads")
			case 2:
				return status.Error(codes.Unavailable, "gone")
			}
			return nil
		}
		s := f.stream()
		s.ready()
		s.lease(1, 1, 1000)
		s = f.stream() // the second try broke the session
		if r := s.result(); r.Verdict != farmv1.Verdict_VERDICT_LOST {
			t.Errorf("result %v", r)
		}
		s.finish()
	})
}

// TestUploadToAnotherMaster has an upload reach a master that was started anew and does not know the session, before
// the worker hears that its stream has ended. The part is not to blame: it goes to the new master on the next stream.
func TestUploadToAnotherMaster(t *testing.T) {
	work(t, Config{}, solvedLost, nil, func(f *farm) {
		f.master.upload = func(attempt int) error {
			if attempt == 1 {
				return status.Error(codes.FailedPrecondition, "this session is not known (any more); join again")
			}
			return nil
		}
		s := f.stream()
		s.ready()
		s.lease(1, 1, 1000)
		s = f.stream()
		if r := s.result(); r.Verdict != farmv1.Verdict_VERDICT_LOST || len(r.Facts) != 1 {
			t.Errorf("result %v", r)
		}
		s.finish()
	})
}

func TestUploadRefused(t *testing.T) {
	for name, part := range map[string][]byte{"by the master": []byte("small"),
		"as too large": make([]byte, 9<<20)} {
		t.Run(name, func(t *testing.T) {
			work(t, Config{}, solvedLost, nil, func(f *farm) {
				f.solver.part = func(_ context.Context,
					facts []proof.Fact) engine.Part {
					return partOf(part, facts)
				}
				f.master.upload = func(int) error { return status.Error(codes.DataLoss, "not a certificate") }
				s := f.stream()
				s.ready()
				s.lease(1, 1, 1000)
				r := s.result()
				if r.Verdict != 0 || len(r.Facts) != 0 {
					t.Errorf("a fact without evidence: %v", r)
				}
				s.ready()
				if f.solver.forgets.Load() != 1 {
					t.Error("what was lost still counts as delivered")
				}
				s.finish()
			})
		})
	}
}

// TestLeaseComesTwice sends leases again: while they are searched, while their result waits, and
// after it was taken. None is searched again, and what runs goes on.
func TestLeaseComesTwice(t *testing.T) {
	work(t, Config{}, endless, nil, func(f *farm) {
		s := f.stream()
		s.ready()
		s.lease(7, 5, 1000)
		s.lease(7, 5, 1000)
		s.cancelLease(7)
		r := s.result()
		s.lease(7, 5, 1000)
		s.ready()
		s.ack(r.Serial, "")
		s.lease(7, 5, 1000)
		s.lease(8, 5, 1000)
		s.lease(7, 5, 1000)
		s.cancelLease(8)
		if r := s.result(); r.Lease != 8 || !r.Cancelled {
			t.Errorf("result %v", r)
		}
		if len(f.solver.jobs) != 2 {
			t.Errorf("%d searches of two leases", len(f.solver.jobs))
		}
		s.finish()
	})
}

// TestSecondLease sends a lease to a worker that has one, as a question that came twice would: it
// is returned at once, and the first one goes on.
func TestSecondLease(t *testing.T) {
	work(t, Config{}, endless, nil, func(f *farm) {
		s := f.stream()
		s.ready()
		s.lease(1, 5, 1000)
		s.lease(2, 5, 1000)
		s.returned(2, 5)
		s.cancelLease(1)
		if r := s.result(); r.Lease != 1 || r.Nodes == 0 {
			t.Errorf("result %v", r)
		}
		s.ready()
		// On another stream, the one whose result waits is not searched again.
		s.ended <- status.Error(codes.Unavailable, "restarting")
		s = f.stream()
		if r := s.result(); r.Lease != 1 {
			t.Errorf("sent again: %v", r)
		}
		s.ready()
		s.lease(1, 5, 1000)
		s.lease(3, 5, 1000)
		s.cancelLease(3)
		if r := s.result(); r.Lease != 3 || len(f.solver.jobs) != 2 {
			t.Errorf("result %v after %d searches", r, len(f.solver.jobs))
		}
		s.finish()
	})
}

// TestLeasesOfCampaigns sends leases of two campaigns of one board, each of which counts its own:
// none is taken for one that came before, and one that is returned goes to its own.
func TestLeasesOfCampaigns(t *testing.T) {
	work(t, Config{}, endless, nil, func(f *farm) {
		send := func(s *fakeStream, campaign uint32, id, epoch uint64) {
			s.send(&farmv1.WorkResponse{Kind: &farmv1.WorkResponse_Lease{Lease: &farmv1.Lease{Id: id, Epoch: epoch,
				Key: farmv1.WriteKey(rootKey()), BudgetNodes: 1000,
				Campaign: &farmv1.Campaign{Number: campaign, Board: "4x4", Root: start().String()}}}})
		}
		cancel := func(s *fakeStream, campaign uint32, id uint64) {
			s.send(&farmv1.WorkResponse{Kind: &farmv1.WorkResponse_Cancel{Cancel: &farmv1.Cancel{Lease: id,
				Reason: "closed", Campaign: campaign}}})
		}
		s := f.stream()
		s.ready()
		send(s, 1, 7, 5)
		send(s, 2, 7, 5)
		if r := s.result(); r.Campaign != 2 || r.Lease != 7 || !r.Cancelled || r.Serial != 0 {
			t.Errorf("returned %v", r)
		}
		cancel(s, 2, 7) // of the other campaign
		cancel(s, 1, 7)
		if r := s.result(); r.Campaign != 1 || r.Lease != 7 || r.Serial == 0 {
			t.Errorf("result %v", r)
		}
		s.ready()
		send(s, 2, 7, 5)
		send(s, 2, 8, 3)
		send(s, 2, 8, 5)
		cancel(s, 2, 8)
		if r := s.result(); r.Campaign != 2 || r.Lease != 8 || len(f.solver.jobs) != 2 {
			t.Errorf("result %v after %d searches", r, len(f.solver.jobs))
		}
		s.ready()
		send(s, 3, 1, 1)
		cancel(s, 3, 1)
		if r := s.result(); r.Campaign != 3 || r.Lease != 1 || len(f.solver.jobs) != 3 {
			t.Errorf("result %v after %d searches", r, len(f.solver.jobs))
		}
		s.finish()
	})
}

// TestManyCampaigns: a master cannot have a worker remember campaigns without end, neither by
// leases nor when it is joined.
func TestManyCampaigns(t *testing.T) {
	one := &farmv1.Campaign{Number: 1, Board: "4x4", Root: start().String()}
	of, err := campaignOf(one)
	if err != nil {
		t.Fatal(err)
	}
	m := &Machine{campaigns: map[uint32]campaign{}}
	for n := range uint32(maxCampaigns + 1) {
		of.number = n
		if err := m.note(of); (err != nil) != (n == maxCampaigns) || err != nil && !errors.Is(err, ErrProtocol) {
			t.Fatalf("campaign %d: %v", n, err)
		}
	}
	of.number = 0
	if err := m.note(of); err != nil || len(m.campaigns) != maxCampaigns {
		t.Errorf("one that is known: %v, %d are", err, len(m.campaigns))
	}
	if err := m.meet(&farmv1.JoinResponse{Campaigns: slices.Repeat([]*farmv1.Campaign{one}, maxCampaigns+
		1)}); !errors.Is(err, ErrProtocol) {
		t.Errorf("joined with too many: %v", err)
	}
}

// TestLeaseOfOldEpoch sends a lease of the master's life before, with a large number, before those
// of its present one: these are not passed over.
func TestLeaseOfOldEpoch(t *testing.T) {
	work(t, Config{}, spent, nil, func(f *farm) {
		s := f.stream()
		s.ready()
		s.lease(150, 4, 1000)
		r := s.result()
		s.ready()
		s.ack(r.Serial, "lease is of another epoch")
		s.lease(1, 5, 1000)
		if r := s.result(); r.Lease != 1 || r.Epoch != 5 || r.Nodes != 1000 {
			t.Errorf("result %v", r)
		}
		s.ready()
		s.lease(149, 4, 1000)
		s.lease(2, 5, 1000)
		if r := s.result(); r.Lease != 2 || len(f.solver.jobs) != 3 {
			t.Errorf("result %v after %d searches", r, len(f.solver.jobs))
		}
		s.ready()
		s.finish()
	})
}

func TestBadLease(t *testing.T) {
	for name, m := range map[string]*farmv1.Lease{
		"key": {Id: 1, Key: []byte("short"), BudgetNodes: 1},
		"board": {Id: 1, Key: []byte("\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff"),
			BudgetNodes: 1},
		"budget": {Id: 1, Key: farmv1.WriteKey(rootKey())},
		"fact": {Id: 1, Key: farmv1.WriteKey(rootKey()), BudgetNodes: 1,
			Facts: []*farmv1.Fact{{Key: farmv1.WriteKey(rootKey())}}},
	} {
		t.Run(name, func(t *testing.T) {
			work(t, Config{}, spent, ErrProtocol, func(f *farm) {
				s := f.stream()
				s.ready()
				s.send(&farmv1.WorkResponse{Kind: &farmv1.WorkResponse_Lease{Lease: m}})
			})
		})
	}
}

// TestNews: facts that come during a lease are told to the engine at once; what is no fact ends the
// agent.
func TestNews(t *testing.T) {
	news := func(outcome farmv1.Verdict) *farmv1.WorkResponse {
		return &farmv1.WorkResponse{Kind: &farmv1.WorkResponse_News{News: &farmv1.News{Facts: []*farmv1.Fact{
			{Key: farmv1.WriteKey(childKey()), Verdict: farmv1.Verdict_VERDICT_WON, Nodes: 5},
			{Key: farmv1.WriteKey(rootKey()), Verdict: outcome},
		}}}}
	}
	work(t, Config{}, endless, nil, func(f *farm) {
		s := f.stream()
		s.ready()
		s.lease(1, 1, 1000)
		s.send(news(farmv1.Verdict_VERDICT_LOST))
		time.Sleep(time.Second)
		if n := f.solver.learned.Load(); n != 2 {
			t.Errorf("%d facts were learned", n)
		}
		s.cancelLease(1)
		s.result()
		s.finish()
	})
	work(t, Config{}, endless, ErrProtocol, func(f *farm) {
		s := f.stream()
		s.ready()
		s.send(news(farmv1.Verdict_VERDICT_UNSPECIFIED))
	})
}

func TestConfig(t *testing.T) {
	for _, c := range []Config{
		{Name: strings.Repeat("x", 129)}, {Cores: -1}, {TableBytes: -1}, {MaxWaiting: -1},
		{AckTimeout: -1},
	} {
		if err := Run(t.Context(), nil, c); !errors.Is(err, ErrConfig) {
			t.Errorf("%+v: %v", c, err)
		}
	}
}

// TestHold: while the master says that it has no room, a result that is not acknowledged is kept
// and not sent again, for hours.
func TestHold(t *testing.T) {
	work(t, Config{AckTimeout: 10 * time.Second}, solvedLost, nil, func(f *farm) {
		f.master.upload = func(attempt int) error {
			if attempt < 100 {
				return status.Error(codes.ResourceExhausted, "no room")
			}
			return nil
		}
		s := f.stream()
		s.ready()
		s.lease(1, 1, 1000)
		r := s.result() // after a hundred tries to upload its evidence, on the same stream
		for range 7200 {
			time.Sleep(time.Second)
			s.send(&farmv1.WorkResponse{Kind: &farmv1.WorkResponse_Hold{Hold: &farmv1.Hold{Reason: "no room"}}})
		}
		s.ack(r.GetSerial(), "")
		s.ready()
		s.finish()
		if f.master.joins != 1 {
			t.Errorf("joined %d times", f.master.joins)
		}
	})
}

func (s *fakeSolver) Forget(told bool) {
	if s.forgets.Add(1); told {
		s.told.Add(1)
	}
}
