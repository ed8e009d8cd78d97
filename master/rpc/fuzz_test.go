package rpc

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"maps"
	"math/bits"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/proto"

	"amazonsfarm/master/explore"
	"amazonsfarm/master/loop"
	"amazonsfarm/master/store"
	"amazonsfarm/master/tree"
	"amazonsfarm/master/trust"
	farmv1 "amazonsfarm/proto/farm/v1"
	"amazonsfarm/shared/amazons"
	"amazonsfarm/shared/eval"
	"amazonsfarm/shared/numbers"
	"amazonsfarm/shared/proof"
	"amazonsfarm/shared/testkit/fuzzing"
	"amazonsfarm/shared/testkit/reference"
)

// A rig is a master at work, whose services are called without a network, in the bubble of virtual
// time of a synctest: after each call everything that follows from it has happened, so that an
// input has one meaning, and the loop stands still while it is looked at.
type rig struct {
	t       *testing.T
	ctx     context.Context
	tape    *fuzzing.Tape
	store   *rigStore
	stay    bool
	loop    *loop.Loop
	farm    *farmService
	control *controlService
	ticks   chan time.Time
	ended   chan error
	kill    context.CancelFunc

	workers [3]*caller
	matters []*matter // one for each campaign in the store
	sent    []*farmv1.WorkRequest
	serial  uint64
}

// matter is what messages about a campaign name.
type matter struct {
	*stored
	keys   []amazons.Key
	ids    []proof.ID     // of certificates that were made
	claims []*farmv1.Fact // that they make
}

// caller is a worker of a rig.
type caller struct {
	name    string
	session string
	work    *pipe[farmv1.WorkRequest, farmv1.WorkResponse] // nil: none
	leases  []*farmv1.Lease
}

// pipe is the master's end of a stream. What is put into in is received; closing it ends the other
// side's sending.
type pipe[In, Out any] struct {
	grpc.ServerStream
	ctx    context.Context
	cancel context.CancelFunc
	in     chan func() (*In, error)
	ended  chan error // how the handler ended

	mu    sync.Mutex
	sent  []*Out
	stuck bool // the other side does not read
}

func newPipe[In, Out any](ctx context.Context) *pipe[In, Out] {
	p := &pipe[In, Out]{in: make(chan func() (*In, error), 64), ended: make(chan error, 1)}
	p.ctx, p.cancel = context.WithCancel(ctx)
	return p
}

func (p *pipe[In, Out]) Context() context.Context { return p.ctx }

func (p *pipe[In, Out]) Recv() (*In, error) {
	select {
	case next, ok := <-p.in:
		if !ok {
			return nil, io.EOF
		}
		return next()
	case <-p.ctx.Done():
		return nil, status.FromContextError(p.ctx.Err()).Err()
	}
}

func (p *pipe[In, Out]) Send(m *Out) error {
	p.mu.Lock()
	p.sent = append(p.sent, m)
	stuck := p.stuck
	p.mu.Unlock()
	if stuck {
		<-p.ctx.Done()
		return status.FromContextError(p.ctx.Err()).Err()
	}
	return nil
}

func (p *pipe[In, Out]) SendAndClose(m *Out) error { return p.Send(m) }

// taken returns what was sent since it was last called.
func (p *pipe[In, Out]) taken() []*Out {
	p.mu.Lock()
	defer p.mu.Unlock()
	out := p.sent
	p.sent = nil
	return out
}

// serve runs a handler of a stream; it ends with the rig at the latest.
func (p *pipe[In, Out]) serve(handler func() error) {
	go func() {
		err := handler()
		p.cancel() // as gRPC does
		p.ended <- coded(slog.New(slog.DiscardHandler), "", err)
	}()
}

// Limits of a rig's master, small ones, so that an input reaches them.
const (
	rigWorkers, rigOffenders, rigHeld, rigFacts, rigQueue = 2, 2, 3, 6, 8
	rigCertificate                                        = 1 << 10
)

// rigMetrics are those of all loops of all inputs: making them takes longer than an input.
var rigMetrics = sync.OnceValue(func() *loop.Metrics { return loop.NewMetrics(prometheus.NewRegistry()) })

// boot starts a loop on what the store has.
func (r *rig) boot() {
	cfg := loop.Config{
		Metrics: rigMetrics(), Ticks: r.ticks, Stay: r.stay, Campaigns: r.store, MaxWorkers: rigWorkers,
		MaxOffences: 12,
		Limits: loop.Limits{Answers: rigQueue, SessionTicks: 5, Parties: rigOffenders, Waiting: rigHeld, Recent: 5,
			ShownTicks: 3},
	}
	services := Config{MaxCertificateBytes: rigCertificate, SessionMessages: 20,
		Limits: Limits{Facts: rigFacts, Uploads: 2, Claims: 2, Burst: 20}}
	var campaigns []loop.Campaign
	for _, c := range r.store.all() {
		grown, err := r.store.Grow(c.Number)
		if err != nil {
			r.t.Fatalf("the store does not give back what was acknowledged: %v", err)
		}
		campaigns = append(campaigns, grown)
	}
	var err error
	if r.loop, err = loop.New(cfg, campaigns, r.store); err != nil {
		r.t.Fatal(err)
	}
	services.complete()
	log := slog.New(slog.DiscardHandler)
	r.farm, r.control = newFarmService(r.loop, services, log), newControlService(r.loop, log)
	r.ended = make(chan error, 1)
	ctx, cancel := context.WithCancel(r.ctx)
	r.kill = cancel
	go func(l *loop.Loop) { r.ended <- l.Run(ctx) }(r.loop)
	for i := range r.workers {
		r.workers[i] = &caller{name: fmt.Sprint("w", i)}
	}
	synctest.Wait()
}

func rigTree(root amazons.Position, first []amazons.Move) tree.Config {
	return tree.Config{Root: root, FirstMoves: first, InitialBudget: 10, MaxBudget: 100, SplitAfter: 15,
		MaxPositions: 2000, MaxFacts: 50}
}

// describe returns a campaign with what the services need of it, but for its tree. What was found
// out about it, the store has.
func (s *rigStore) describe(c *stored) loop.Campaign {
	out := c.Campaign
	out.Look = look
	out.ReadRoots = func(data []byte) ([]proof.Citation, error) { return readRootsFor(c.Pool, data) }
	out.Recheck = func(context.Context, proof.ID) error { return nil } // what certificates say is true here
	out.Resting = func(_ context.Context, ids []proof.ID) ([]proof.ID, error) { return ids, nil }
	out.Conclude = func(_ context.Context, _ loop.Evidence,
		report func(string, string, loop.Phase)) (loop.Conclusion, error) {
		report(loop.StateVerifying, "", loop.Phase{})
		s.adding.Lock()
		defer s.adding.Unlock()
		c.settled = true
		return loop.Conclusion{Verified: true}, nil
	}
	return out
}

// certificateFor is a certificate for the facts of a campaign: it has another first letter for each.
func certificateFor(facts uint32, claims ...proof.Citation) []byte {
	data := certificate(claims...)
	data[0] += byte(facts - 1)
	return data
}

// readRootsFor reads it.
func readRootsFor(facts uint32, data []byte) ([]proof.Citation, error) {
	if len(data) == 0 {
		return readRoots(data)
	}
	data = slices.Clone(data)
	if data[0] -= byte(facts - 1); data[0] != word[0] && data[0]+byte(facts-1)-word[0] < rigCampaigns {
		return nil, loop.ErrOther
	}
	return readRoots(data)
}

// stop ends the master, at once, and what its workers have open.
func (r *rig) stop() error {
	r.kill()
	for _, w := range r.workers {
		r.hangUp(w)
	}
	return <-r.ended
}

// fresh makes another loop after one has ended, on the same store. What it knows must be what the last
// one knew.
func (r *rig) fresh() {
	before, full := r.loop.Still()
	durable := full == nil && r.store.fail == nil
	brief := func(c loop.Still) string {
		s := c.Tree
		// what one tree had no room for, it has from the other afterwards
		if r.store.shares(r.store.numbered(c.Number)) {
			return fmt.Sprint(s.Spent)
		}
		return fmt.Sprint(s.FactsWon, s.FactsLost, s.Spent, s.Nodes, s.Verdict, s.Settled, s.Phi, s.Delta)
	}
	standings := func() map[trust.Party]trust.Standing {
		all := map[trust.Party]trust.Standing{}
		for _, st := range r.loop.Standings() {
			st.Seen = time.Time{}
			all[st.Party] = st
		}
		return all
	}
	kept := r.store.room == nil && r.store.fail == nil
	r.stop()
	was := standings()
	if err := r.loop.Audit(); kept && err != nil {
		r.t.Fatalf("after the end: %v", err)
	}
	r.store.fail = nil
	r.boot()
	if now := standings(); kept && !maps.Equal(was, now) {
		r.t.Fatalf("the master knew %+v, after a restart %+v", was, now)
	}
	now, _ := r.loop.Still()
	for i, c := range now[:len(before)] {
		if b := brief(c); durable && brief(before[i]) != b {
			r.t.Fatalf("the master knew %s, the store has %s", brief(before[i]), b)
		}
		if o := c.Tree.Verdict; durable && before[i].Tree.Verdict != eval.Open && o != before[i].Tree.Verdict &&
			!r.deceived(c.Number, c.Whole) {
			r.t.Fatalf("the master knew that campaign %d is %v, from the store it is %v", c.Number,
				before[i].Tree.Verdict, o)
		}
	}
}

// hangUp ends a worker's stream as a broken connection does.
func (r *rig) hangUp(w *caller) {
	if w.work == nil {
		return
	}
	w.work.cancel()
	r.checkEnd(<-w.work.ended)
	w.work = nil
}

// checkEnd holds the end of a call to the codes that the contract has.
func (r *rig) checkEnd(err error) {
	switch c := status.Code(err); c {
	case codes.OK, codes.InvalidArgument, codes.FailedPrecondition, codes.ResourceExhausted, codes.PermissionDenied,
		codes.Unavailable, codes.Aborted,
		codes.DataLoss, codes.Canceled, codes.DeadlineExceeded, codes.NotFound, codes.AlreadyExists:
	case codes.Internal:
		// the tests' own: what no proto.Unmarshal takes, and a broken disk
		if !strings.Contains(err.Error(), "unmarshal") && r.store.fail == nil {
			r.t.Fatalf("a call ended with %v", err)
		}
	default:
		r.t.Fatalf("a call ended with %v", err)
	}
}

// call makes a unary call.
func call[Req, Resp any](r *rig, handler func(context.Context, Req) (Resp, error), req Req) (resp Resp, ok bool) {
	type answer struct {
		resp Resp
		err  error
	}
	ctx, cancel := context.WithTimeout(r.ctx, time.Minute) // of virtual time: for a loop that waits for its disk
	defer cancel()
	done := make(chan answer, 1)
	go func() {
		resp, err := handler(ctx, req)
		done <- answer{resp, coded(slog.New(slog.DiscardHandler), "", err)}
	}()
	a := <-done
	r.checkEnd(a.err)
	if a.err == nil {
		r.fits(any(a.resp).(proto.Message))
	}
	return a.resp, a.err == nil
}

// fits fails the test if a message could not be sent.
func (r *rig) fits(m proto.Message) {
	if data, err := proto.Marshal(m); err != nil || len(data) > farmv1.MaxMessageBytes {
		r.t.Fatalf("%d bytes, %v: %v", len(data), err, m)
	}
}

// matter chooses a campaign.
func (r *rig) matter() *matter {
	if len(r.matters) == 1 {
		return r.matters[0]
	}
	return r.matters[r.tape.Choose(len(r.matters))]
}

// matterOf returns that of a number, or any.
func (r *rig) matterOf(number uint32) *matter {
	if number > 0 && int(number) <= len(r.matters) {
		return r.matters[number-1]
	}
	return r.matter()
}

// number is what a message about a lease calls its campaign: as the lease does, mostly.
func (r *rig) number(l *farmv1.Lease) uint32 {
	if len(r.matters) > 1 {
		switch r.tape.Choose(8) {
		case 6:
			return r.matter().Number
		case 7:
			return r.number32()
		}
	}
	return l.GetCampaign().GetNumber()
}

// key chooses a position: one of the campaign, or any sixteen bytes.
func (r *rig) key(c *matter) []byte {
	n := r.tape.Choose(2*len(c.keys) + 1)
	if n < 2*len(c.keys) {
		n /= 2
	}
	if n >= len(c.keys) {
		return r.tape.Bytes(17)
	}
	b := c.keys[n].Bytes()
	return b[:]
}

func (r *rig) outcome() farmv1.Verdict {
	return []farmv1.Verdict{0, 1, 2, 1, 2, 1, 2, 3}[r.tape.Choose(8)]
}

// number32 is a proof number.
func (r *rig) number32() uint32 { return uint32(min(r.tape.Number(), 1<<32-1)) }

func (r *rig) facts(c *matter) (list []*farmv1.Fact) {
	for range r.tape.Choose(rigFacts + 2) {
		if n := r.tape.Choose(256); n&1 == 0 && len(c.claims) > 0 { // a founded one
			list = append(list, proto.CloneOf(c.claims[n/2%len(c.claims)]))
			continue
		}
		f := &farmv1.Fact{Key: r.key(c), Verdict: r.outcome(), Nodes: r.tape.Number()}
		if n := r.tape.Choose(len(c.ids) + 1); n < len(c.ids) {
			f.CertificateSha256 = c.ids[n][:]
		} else {
			f.CertificateSha256 = r.tape.Bytes(33)
		}
		list = append(list, f)
	}
	return list
}

// lease chooses one that somebody was given, or numbers.
func (r *rig) lease(w *caller) *farmv1.Lease {
	if n := r.tape.Choose(4); n > 0 {
		if n == 3 {
			w = r.workers[r.tape.Choose(len(r.workers))]
		}
		if len(w.leases) > 0 {
			return w.leases[r.tape.Choose(len(w.leases))]
		}
	}
	c := r.matter()
	return &farmv1.Lease{Id: r.tape.Number(), Epoch: r.tape.Number(), Key: r.key(c),
		Campaign: &farmv1.Campaign{Number: c.Number}}
}

// request makes a message of a worker.
func (r *rig) request(w *caller) *farmv1.WorkRequest {
	r.serial++
	serial := r.serial
	if r.tape.Choose(8) == 7 {
		serial = r.tape.Number()
	}
	switch r.tape.Choose(8) {
	case 0:
		return &farmv1.WorkRequest{Kind: &farmv1.WorkRequest_Ready{Ready: &farmv1.Ready{}}}
	case 1:
		l := r.lease(w)
		return &farmv1.WorkRequest{Kind: &farmv1.WorkRequest_Progress{Progress: &farmv1.Progress{
			Lease: l.GetId(), Epoch: l.GetEpoch(), Nodes: r.tape.Number(), Evaluations: r.tape.Number(),
			TableFill: float64(r.tape.Number()) / 2,
			Campaign:  r.number(l)}}}
	case 2:
		l := r.lease(w)
		n := r.number(l)
		c := r.matterOf(n)
		return &farmv1.WorkRequest{Kind: &farmv1.WorkRequest_Facts{Facts: &farmv1.Facts{Campaign: n,
			Serial: serial, Facts: r.facts(c), Key: r.key(c), Hints: r.tape.Bytes(40), Lease: l.GetId(),
			Epoch: l.GetEpoch(), Nodes: r.tape.Number()}}}
	case 3, 4:
		l := r.lease(w)
		n := r.number(l)
		c := r.matterOf(n)
		m := &farmv1.Result{Campaign: n, Serial: serial, Lease: l.GetId(), Epoch: l.GetEpoch(), Key: l.GetKey(),
			Verdict: r.outcome(), Phi: r.number32(), Delta: r.number32(),
			Nodes: r.tape.Number(), Evaluations: r.tape.Number(), Facts: r.facts(c), Cancelled: r.tape.Choose(2) == 1,
			Hints: r.tape.Bytes(40)}
		if r.tape.Choose(4) == 3 {
			m.Key = r.key(c)
		}
		for range r.tape.Choose(8) {
			m.Children = numbers.Append(m.Children, []numbers.Child{{Phi: r.number32(), Delta: r.number32()}})
		}
		if r.tape.Choose(8) == 7 {
			m.Children = r.tape.Bytes(40)
		}
		return &farmv1.WorkRequest{Kind: &farmv1.WorkRequest_Result{Result: m}}
	case 5:
		return &farmv1.WorkRequest{Kind: &farmv1.WorkRequest_Goodbye{Goodbye: &farmv1.Goodbye{Reason: "so"}}}
	case 6:
		c := r.matter()
		m := &farmv1.Checked{Campaign: c.Number, Sha256: r.tape.Bytes(40), Holds: r.tape.Choose(2) == 1}
		if len(c.ids) > 0 && r.tape.Choose(8) != 7 {
			id := c.ids[r.tape.Choose(len(c.ids))]
			m.Sha256 = id[:]
		}
		if r.tape.Choose(4) == 3 {
			m.Failed = "so"
		}
		return &farmv1.WorkRequest{Kind: &farmv1.WorkRequest_Checked{Checked: m}}
	}
	return &farmv1.WorkRequest{Kind: &farmv1.WorkRequest_Hello{Hello: &farmv1.Hello{Session: w.session}}}
}

// deliver puts a message into a worker's stream, if it has one and there is room.
func deliver[In, Out any](p *pipe[In, Out], next func() (*In, error)) {
	select {
	case p.in <- next:
	default:
	}
}

// raw is a message of bytes, as gRPC would hand it over.
func raw[M any, P interface {
	*M
	proto.Message
}](data []byte) func() (*M, error) {
	return func() (*M, error) {
		m := P(new(M))
		if err := proto.Unmarshal(data, m); err != nil {
			return nil, status.Errorf(codes.Internal, "grpc: failed to unmarshal the received message: %v", err)
		}
		return m, nil
	}
}

// upload makes a certificate and uploads it, right or not.
func (r *rig) upload(w *caller) {
	var claims []proof.Citation
	c := r.matter()
	for range r.tape.Choose(5) {
		if k, err := amazons.KeyFromBytes(r.key(c)); err == nil {
			claims = append(claims, claim(k, eval.Verdict(1+r.tape.Choose(2))))
		}
	}
	data := certificateFor(c.Pool, claims...)
	how := r.tape.Byte()
	if how&3 == 3 {
		data, claims = r.tape.Bytes(60), nil
	}
	id, ok := r.send(w, c, how, func(first *farmv1.UploadCertificateRequest) {
		switch how >> 2 & 7 {
		case 4:
			first.Campaign = r.number(nil)
		case 5:
			first.Size = r.tape.Number()
		case 6:
			first.Sha256 = r.tape.Bytes(33)
		case 7:
			first.Session = string(r.tape.Bytes(8))
		}
	}, data)
	for _, claim := range claims {
		if ok && len(c.claims) < 16 {
			c.claims = append(c.claims, fact(claim.Key, farmv1.Verdict(claim.Claim), id))
		}
	}
}

// send uploads bytes for a campaign, as the bits of how say: in small pieces, with a chunk of bytes
// after them, broken off or without an end.
func (r *rig) send(w *caller, c *matter, how byte, spoil func(*farmv1.UploadCertificateRequest),
	data []byte) (id proof.ID, ok bool) {
	id = proof.ID(sha256.Sum256(data))
	first := &farmv1.UploadCertificateRequest{Session: w.session, Sha256: id[:], Size: uint64(len(data)),
		Campaign: c.Number}
	if spoil != nil {
		spoil(first)
	}
	p := newPipe[farmv1.UploadCertificateRequest, farmv1.UploadCertificateResponse](r.ctx)
	for m, rest := first, data; m != nil; {
		n := len(rest)
		if how&32 != 0 {
			n = min(n, 1+r.tape.Choose(64))
		}
		m.Data, rest = rest[:n], rest[n:]
		chunk := m
		deliver(p, func() (*farmv1.UploadCertificateRequest, error) { return chunk, nil })
		if m = nil; len(rest) > 0 {
			m = new(farmv1.UploadCertificateRequest)
		}
	}
	if how&64 != 0 {
		deliver(p, raw[farmv1.UploadCertificateRequest](r.tape.Bytes(40)))
	}
	p.serve(func() error { return r.farm.UploadCertificate(p) })
	switch {
	case how&128 == 0:
		close(p.in)
	case how&64 == 0: // in the middle
		time.Sleep(time.Second)
		p.cancel()
	}
	err := <-p.ended
	r.checkEnd(err)
	stored := r.store.HasCertificate(c.Number, id)
	if err == nil && !stored {
		r.t.Fatalf("the master has taken %x, and does not have it", data)
	}
	if stored && !slices.Contains(c.ids, id) && len(c.ids) < 8 {
		c.ids = append(c.ids, id)
	}
	return id, err == nil
}

// work does what a sound worker would do next: join, ask for a lease, prove it and bring the
// result, or say how far the search is.
func (r *rig) work(w *caller) {
	if w.work == nil {
		r.connect(w, true)
		return
	}
	if len(w.leases) == 0 {
		deliver(w.work, func() (*farmv1.WorkRequest, error) {
			return &farmv1.WorkRequest{Kind: &farmv1.WorkRequest_Ready{Ready: &farmv1.Ready{}}}, nil
		})
		return
	}
	l := w.leases[0]
	w.leases = w.leases[1:]
	r.serial++
	c := r.matterOf(l.GetCampaign().GetNumber())
	m := &farmv1.Result{Campaign: c.Number, Serial: r.serial, Lease: l.GetId(), Epoch: l.GetEpoch(), Key: l.GetKey(),
		Phi: 2, Delta: 3, Nodes: l.GetBudgetNodes(), Hints: []byte("memory")}
	k, err := amazons.KeyFromBytes(l.GetKey())
	if err != nil {
		r.t.Fatal(err)
	}
	s, err := k.State(c.Root.Board)
	if err != nil {
		r.t.Fatal(err)
	}
	if bits.OnesCount64(s.Empty) <= 8 && r.tape.Choose(3) > 0 {
		m.Verdict = farmv1.Verdict_VERDICT_LOST
		if truth.Wins(s) {
			m.Verdict = farmv1.Verdict_VERDICT_WON
		}
		id, ok := r.send(w, c, 0, nil, certificateFor(c.Pool, claim(k, eval.Verdict(m.Verdict))))
		if !ok {
			return
		}
		m.Facts = []*farmv1.Fact{fact(k, m.Verdict, id)}
	} else {
		var list []numbers.Child
		for i, move := range s.Moves(nil) {
			list = append(list, numbers.Child{Key: s.After(move).CanonicalKey(c.Root.Board)})
			if i < 300 {
				list[i].Phi, list[i].Delta = r.number32(), r.number32()
			}
		}
		m.Children = numbers.Append(nil, list)
	}
	if w.work != nil {
		deliver(w.work, func() (*farmv1.WorkRequest, error) {
			return &farmv1.WorkRequest{Kind: &farmv1.WorkRequest_Result{Result: m}}, nil
		})
	}
}

// connect opens a worker's stream, after joining if it is to.
func (r *rig) connect(w *caller, join bool) {
	farm := r.farm
	if join {
		w.name = fmt.Sprint("w", r.tape.Choose(8))
		if a, ok := call(r, farm.Join, &farmv1.JoinRequest{Worker: w.name, ProtocolVersion: farmv1.ProtocolVersion,
			RulesVersion: farmv1.RulesVersion, Build: "b"}); ok {
			w.session = a.GetSession()
		}
	}
	r.hangUp(w)
	p := newPipe[farmv1.WorkRequest, farmv1.WorkResponse](r.ctx)
	w.work, w.leases = p, nil
	deliver(p, func() (*farmv1.WorkRequest, error) {
		return &farmv1.WorkRequest{Kind: &farmv1.WorkRequest_Hello{Hello: &farmv1.Hello{Session: w.session}}}, nil
	})
	p.serve(func() error { return farm.Work(p) })
}

// look says of positions with few empty squares who wins them, as if a certificate did.
func look(_ proof.ID, s amazons.State, _ int) explore.Proved {
	if bits.OnesCount64(s.Empty) > 8 {
		return explore.Proved{}
	}
	p := explore.Proved{Verdict: eval.Lost, After: map[amazons.Move]eval.Verdict{}}
	for m := range s.AllMoves() {
		if p.After[m] = eval.Won; !truth.Wins(s.After(m)) {
			p.Verdict, p.After[m], p.Best, p.Line = eval.Won, eval.Lost, &m, []amazons.Move{m}
		}
	}
	return p
}

// step makes the next call.
func (r *rig) step() {
	farm, control := r.farm, r.control
	w := r.workers[r.tape.Choose(len(r.workers))]
	switch r.tape.Choose(20) {
	case 0:
		r.connect(w, true)
	case 1:
		r.connect(w, false)
	case 2, 3, 4, 5, 6:
		m := r.request(w)
		r.sent = append(r.sent, m)
		if w.work != nil {
			deliver(w.work, func() (*farmv1.WorkRequest, error) { return m, nil })
		}
	case 7:
		if w.work != nil && len(r.sent) > 0 {
			m := proto.CloneOf(r.sent[r.tape.Choose(len(r.sent))])
			deliver(w.work, func() (*farmv1.WorkRequest, error) { return m, nil })
		}
	case 8:
		if w.work != nil {
			deliver(w.work, raw[farmv1.WorkRequest](r.tape.Bytes(200)))
		}
	case 9, 10:
		r.upload(w)
	case 11:
		for range 1 + r.tape.Choose(6) {
			select {
			case r.ticks <- time.Now():
			default:
			}
			time.Sleep(time.Second)
		}
	case 12:
		r.operate(control, w)
	case 13:
		c := r.matter()
		req := &farmv1.ExploreRequest{Moves: strings.Fields(string(r.tape.Bytes(40))), Campaign: c.Name}
		if moves := c.Root.State().Moves(nil); len(req.Moves) == 0 && len(moves) > 0 {
			req.Moves = []string{moves[r.tape.Choose(256)%len(moves)].String()}
		}
		call(r, control.Explore, req)
	case 14:
		switch r.tape.Choose(4) {
		case 0:
			r.store.fill(fmt.Errorf("%w: %w", store.ErrNoRoom, errors.New("the disk is full")))
		case 3:
			r.store.fail = errors.New("the disk is broken")
		default:
			r.store.fill(nil)
		}
	case 15:
		r.fresh()
	case 16:
		if w.work == nil {
			break
		}
		switch r.tape.Choose(3) {
		case 0:
			r.hangUp(w)
		case 1: // it says no more, and is not gone
			close(w.work.in)
			synctest.Wait()
			r.hangUp(w)
		case 2:
			w.work.mu.Lock()
			w.work.stuck = true
			w.work.mu.Unlock()
		}
	case 17:
		r.rawCall(farm, control)
	default:
		r.work(w)
	}
}

// operate makes an operator's call.
func (r *rig) operate(control *controlService, w *caller) {
	name := func() string { return r.matter().Name }
	switch r.tape.Choose(16) {
	case 0:
		call(r, control.Pause, &farmv1.PauseRequest{})
	case 1, 2:
		call(r, control.Resume, &farmv1.ResumeRequest{})
	case 3:
		call(r, control.Drain, &farmv1.DrainRequest{})
	case 4:
		call(r, control.Workers, &farmv1.WorkersRequest{})
	case 5:
		call(r, control.Status, &farmv1.StatusRequest{Campaign: name()})
	case 6:
		call(r, control.Quarantines, &farmv1.QuarantinesRequest{})
	case 7:
		call(r, control.Release, &farmv1.ReleaseRequest{Name: w.name})
	case 8, 9, 10:
		r.add(control)
	case 11, 12:
		req := &farmv1.SetCampaignRequest{Campaign: name()}
		if r.tape.Choose(3) > 0 {
			req.Priority = proto.Int32(int32(r.number32()))
		}
		if r.tape.Choose(3) > 0 {
			req.Share = proto.Uint32(r.number32())
		}
		call(r, control.SetCampaign, req)
	case 13:
		call(r, control.EndCampaign, &farmv1.EndCampaignRequest{Campaign: name()})
	case 14:
		call(r, control.Pause, &farmv1.PauseRequest{Campaign: name()})
	case 15:
		call(r, control.Resume, &farmv1.ResumeRequest{Campaign: name()})
	}
}

// add has an operator add a campaign: of the root of another, of what comes after it, of another board.
func (r *rig) add(control *controlService) {
	root := r.matter().Root
	moves := root.State().Moves(nil)
	req := &farmv1.AddCampaignRequest{Name: []string{"", "a", "b", "../x"}[r.tape.Choose(4)],
		RulesOnly: r.tape.Choose(4) == 3}
	switch n := r.tape.Choose(8); {
	case n < 2:
	case n < 4 && len(moves) > 0:
		root = root.After(moves[r.tape.Choose(256)%len(moves)])
	default:
		var err error
		if root, err = amazons.ParsePosition(fuzzRoots[n%len(fuzzRoots)]); err != nil {
			r.t.Fatal(err)
		}
	}
	req.Position = root.String()
	if moves := root.State().Moves(nil); len(moves) > 0 {
		for range r.tape.Choose(3) {
			req.FirstMoves = append(req.FirstMoves, moves[r.tape.Choose(256)%len(moves)].String())
		}
	}
	if r.tape.Choose(2) == 1 {
		req.Priority, req.Share = int32(r.number32()), r.number32()
	}
	call(r, control.AddCampaign, req)
	r.meet()
}

// meet learns what there is to say about the campaigns that are new in the store.
func (r *rig) meet() {
	for _, c := range r.store.all()[len(r.matters):] {
		s, board := c.Root.State(), c.Root.Board
		m := &matter{stored: c, keys: []amazons.Key{s.CanonicalKey(board)}}
		for layer := s; layer.CanMove() && len(m.keys) < 12; {
			moves := layer.Moves(nil)
			for _, move := range []amazons.Move{moves[0], moves[len(moves)/2], moves[len(moves)-1]} {
				m.keys = append(m.keys, layer.After(move).CanonicalKey(board))
			}
			layer = layer.After(moves[0])
		}
		r.matters = append(r.matters, m)
	}
}

// rawCall makes a call of bytes.
func (r *rig) rawCall(farm *farmService, control *controlService) {
	which, data := r.tape.Choose(10), r.tape.Bytes(255)
	ctx, cancel := context.WithTimeout(r.ctx, 3*time.Second)
	defer cancel()
	switch which {
	case 0:
		if m, err := raw[farmv1.JoinRequest](data)(); err == nil {
			call(r, farm.Join, m)
		}
	case 1:
		if m, err := raw[farmv1.ExploreRequest](data)(); err == nil {
			call(r, control.Explore, m)
		}
	case 2:
		if m, err := raw[farmv1.WatchRequest](data)(); err == nil {
			p := newPipe[farmv1.WatchRequest, farmv1.StatusResponse](ctx)
			p.serve(func() error { return control.Watch(m, p) })
			r.checkEnd(<-p.ended)
		}
	case 3:
		p := newPipe[farmv1.BackupRequest, farmv1.BackupResponse](ctx)
		p.stuck = len(data) > 0 && data[0] > 128
		p.serve(func() error { return control.Backup(nil, p) })
		r.checkEnd(<-p.ended)
		synctest.Wait() // its goroutine ends a little later
	case 4:
		p := newPipe[farmv1.WorkRequest, farmv1.WorkResponse](ctx)
		deliver(p, raw[farmv1.WorkRequest](data))
		p.serve(func() error { return farm.Work(p) })
		r.checkEnd(<-p.ended)
	case 5:
		p := newPipe[farmv1.UploadCertificateRequest, farmv1.UploadCertificateResponse](ctx)
		deliver(p, raw[farmv1.UploadCertificateRequest](data))
		close(p.in)
		p.serve(func() error { return farm.UploadCertificate(p) })
		r.checkEnd(<-p.ended)
	case 6:
		if m, err := raw[farmv1.ReleaseRequest](data)(); err == nil {
			call(r, control.Release, m)
		}
	case 7:
		// each name has its metrics
		if m, err := raw[farmv1.AddCampaignRequest](data)(); err == nil && len(m.GetName()) < 2 {
			call(r, control.AddCampaign, m)
			r.meet()
		}
	case 8:
		if m, err := raw[farmv1.SetCampaignRequest](data)(); err == nil {
			call(r, control.SetCampaign, m)
		}
	case 9:
		c := r.matter()
		m := &farmv1.FetchCertificateRequest{Session: r.workers[0].session, Campaign: c.Number, Sha256: data}
		if len(c.ids) > 0 && len(data)%4 != 3 {
			id := c.ids[len(data)%len(c.ids)]
			m.Sha256 = id[:]
		}
		p := newPipe[farmv1.FetchCertificateRequest, farmv1.FetchCertificateResponse](ctx)
		p.serve(func() error { return farm.FetchCertificate(m, p) })
		r.checkEnd(<-p.ended)
	}
}

// settle lets all that follows from a call happen, and takes what the workers are told.
func (r *rig) settle() {
	synctest.Wait()
	for _, w := range r.workers {
		if w.work == nil {
			continue
		}
		for _, m := range w.work.taken() {
			r.fits(m)
			if l := m.GetLease(); l != nil {
				w.leases = append(w.leases, l)
				if len(w.leases) > 4 {
					w.leases = w.leases[1:]
				}
			}
		}
		select {
		case err := <-w.work.ended:
			r.checkEnd(err)
			w.work = nil
		default:
		}
	}
	select {
	case err := <-r.ended:
		switch {
		case err == nil, errors.Is(err, loop.ErrDrained), errors.Is(err, store.ErrContradiction),
			errors.Is(err, loop.ErrStore):
		default:
			r.t.Fatalf("the master ended with %v", err)
		}
		r.ended <- err
		r.fresh()
	default:
	}
}

// audit looks at the state of the loop, which stands still.
func (r *rig) audit() {
	all, full := r.loop.Still()
	for _, c := range all {
		r.auditCampaign(c, full)
	}
	if err := r.loop.Audit(); err != nil {
		r.t.Fatal(err)
	}
	if n := len(r.farm.uploads.places.taken) + len(r.farm.uploads.small.taken); n > 0 {
		r.t.Fatalf("%d uploads", n)
	}
	for _, c := range r.store.all() {
		known := map[amazons.Key]bool{}
		for _, f := range c.own.facts {
			data, ok := c.own.certificates[f.Certificate]
			if !ok || known[f.Key] {
				r.t.Fatalf("the store has a fact without a certificate, or twice: %+v", f)
			}
			known[f.Key] = true
			if roots, err := readRootsFor(c.Pool, data); err != nil ||
				!slices.Contains(roots, claim(f.Key, f.Verdict)) {
				r.t.Fatalf("the certificate of a fact in the store does not claim it: %+v, %v", f, err)
			}
		}
	}
}

// auditCampaign looks at a campaign of the loop.
func (r *rig) auditCampaign(c loop.Still, full error) {
	kept := r.store.numbered(c.Number)
	if c.Settings != kept.Settings {
		r.t.Fatalf("campaign %d has the settings %+v, %+v in the store", c.Number, c.Settings, kept.Settings)
	}
	// without room it waits
	if kept.own.contra != nil && c.State != loop.StateStopped && c.Settled == nil && full == nil &&
		r.store.fail == nil {
		r.t.Fatal("a contradiction is on disk, and the campaign goes on")
	}
	if c.Settled != nil && r.store.room == nil && r.store.fail == nil {
		if s := r.store.snapshotOf(c.Number); s.Contradiction == nil {
			again, err := tree.New(rigTree(c.Root, c.FirstMoves), s)
			if err != nil || again.Status().Verdict != c.Settled.Verdict && !(c.Whole == nil &&
				r.deceived(c.Number, again)) {
				r.t.Fatalf("workers were told that the campaign is settled, and the store does not say so: %v", err)
			}
		}
	}
}

// deceived reports whether the tree of a campaign is stopped when it is read again: by a false fact
// that came for another campaign when its tree, or that of a third one, had been put away, and
// which that one had no reason to doubt. Nobody verifies certificates here.
func (r *rig) deceived(number uint32, again *tree.Tree) bool {
	return again != nil && r.store.shares(r.store.numbered(number)) && again.Status().Contradiction != nil
}

// fuzzRoots are campaigns of a few positions and of many.
var fuzzRoots = []string{"W../.x./..B w", "W.x/.../x.B b", "W.x./x..x/.x.B w", "4x4"}

// truth judges positions with few empty squares.
var truth reference.Fast

// FuzzMessages calls everything that a master's services have, also to add, change and end
// campaigns, in any order, with messages that make sense, with ones that nearly do and with bytes,
// from several workers, with full and broken disks, restarts and time in between. Nothing panics or
// hangs, no limit is passed, every call ends with a code of the contract, what is on disk has its
// evidence, a restart knows what was known, and the tree is in order after each call.
func FuzzMessages(f *testing.F) {
	fuzzing.AddTapes(f, 24, 1500, 20)
	f.Fuzz(func(t *testing.T, data []byte) {
		if len(data) > 4096 {
			return
		}
		fuzzing.Within(t, 20*time.Second, 256<<20, func() {
			synctest.Test(t, func(t *testing.T) { playTape(t, data) })
		})
	})
}

// playTape plays one input.
func playTape(t *testing.T, data []byte) {
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	r := &rig{t: t, ctx: ctx, tape: &fuzzing.Tape{Rest: data}, ticks: make(chan time.Time, 1)}
	how := int(r.tape.Byte())
	root, err := amazons.ParsePosition(fuzzRoots[how%len(fuzzRoots)])
	if err != nil {
		t.Fatal(err)
	}
	r.stay = how/len(fuzzRoots)%2 == 1
	var first []amazons.Move
	if moves := root.State().Moves(nil); r.tape.Choose(4) == 3 {
		first = []amazons.Move{moves[0], moves[len(moves)/2]}
	}
	r.store = newRigStore(root, first)
	r.store.copy = func(w io.Writer) error {
		_, err := w.Write([]byte("a store"))
		return err
	}
	r.meet()
	r.boot()
	for range how / 8 % 4 { // campaigns more to begin with
		r.add(r.control)
		r.settle()
		r.audit()
	}
	for calls := 0; r.tape.More() && calls < 100; calls++ {
		r.step()
		r.settle()
		r.audit()
	}
	r.store.fill(nil)
	r.fresh()
	r.audit()
	r.stop()
}
