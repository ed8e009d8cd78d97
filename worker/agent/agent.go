package agent

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"slices"
	"strings"
	"time"

	farmv1 "amazonsfarm/proto/farm/v1"
	"amazonsfarm/shared/amazons"
	"amazonsfarm/shared/prefetch"
	"amazonsfarm/worker/engine"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
)

// Run works for the master at the other end of conn until the campaign is finished (nil), there is
// no work for Config.IdleTimeout (nil), Config.Drain is closed and everything is handed back (nil,
// or an error that wraps ErrUndelivered), ctx ends (its error, at once, nothing is handed back), or
// something stands in the way: errors wrap ErrConfig, ErrUnreachable, ErrRefused, ErrProtocol or
// are the engine's. All goroutines have ended when it returns; conn stays open.
func Run(ctx context.Context, conn grpc.ClientConnInterface, c Config) error {
	c, err := c.withDefaults()
	if err != nil {
		return err
	}
	ctx, cancel := context.WithCancel(ctx)
	a := &agent{
		Config:  c,
		client:  farmv1.NewFarmClient(conn),
		handed:  make(chan *parcel),
		ended:   make(chan error, 1),
		drained: c.Drain,
	}
	err = a.run(ctx)
	cancel()
	if a.lease != nil {
		<-a.ended
	}
	if a.solver != nil {
		err = errors.Join(err, a.solver.Close())
	}
	return err
}

// agent is the state of Run, owned by its goroutine.
type agent struct {
	Config
	client farmv1.FarmClient

	campaigns map[uint32]campaign // of the master that was joined last, by number
	first     campaign            // of them
	maxFacts  int                 // of one message
	engine    engine.Config       // but for board and kind of proof
	solver    Solver              // nil: none yet
	board     amazons.Board       // of the solver
	rules     bool                // of the solver: rules only

	lease   *lease       // being searched; nil: none
	next    *lease       // to be searched after it; nil: none. It goes with its stream: the master takes it back
	handed  chan *parcel // from the lease's goroutine
	ended   chan error   // the lease's goroutine has returned
	waiting []*parcel    // not acknowledged, oldest first
	serial  uint64       // of the last parcel

	drained  <-chan struct{} // nil once the drain is under way
	draining bool
	deadline time.Time // of the drain

	waits prefetch.Waits // for leases
	rate  float64        // nodes a second, over the last leases; 0: unknown
	// since when it has no work, where it has none: the start of this stream or the end of the last
	// lease
	workless time.Time

	onHold time.Time // when it was last logged that the master acknowledges nothing for now
}

// sayAgain is the time after which something that goes on is logged again.
const sayAgain = 10 * time.Minute

// errLost says that the stream to the master broke; it is opened anew.
var errLost = errors.New("connection to the master lost")

func (a *agent) run(ctx context.Context) error {
	away := time.Now() // since when there is no master
	limit := a.JoinTimeout
	pause := a.BackoffMin
	for {
		session, err := a.join(ctx)
		if err == nil {
			a.Stats.Joins.Add(1)
			began := time.Now()
			err = a.serve(ctx, session)
			if err == nil || !errors.Is(err, errLost) {
				return err
			}
			away, limit = time.Now(), a.AwayTimeout
			if away.Sub(began) > 10*a.BackoffMax {
				pause = a.BackoffMin
			}
		}
		switch {
		case ctx.Err() != nil:
			return ctx.Err()
		case errors.Is(err, ErrRefused) || errors.Is(err, ErrProtocol) || errors.Is(err, errEngine):
			return err
		case time.Since(away) >= limit:
			return fmt.Errorf("%w after trying for %v: %v", ErrUnreachable, limit, Reason(err))
		}
		a.Log.Warn("no connection to the master, trying again", "error", Reason(err), "pause", pause)
		wait := min(pause/2+rand.N(pause/2+1), max(0, limit-time.Since(away)))
		pause = min(2*pause, a.BackoffMax)
		if err := a.wait(ctx, wait); err != nil || a.draining && a.idle() {
			return err
		}
	}
}

var errEngine = errors.New("engine")

// Reason returns what a person needs of an error that may come from gRPC.
func Reason(err error) string {
	text := err.Error()
	if s, ok := status.FromError(err); ok && s.Code() != codes.OK {
		text = s.Message()
	}
	// connection error: desc = "transport: Error while dialing: dial tcp ...: connect: connection
	// refused", and so on
	for _, before := range []string{"Error while dialing: ", "authentication handshake failed: ",
		"error reading server preface: "} {
		if _, cause, ok := strings.Cut(text, before); ok {
			text = strings.TrimSuffix(cause, `"`)
		}
	}
	switch text {
	case "EOF":
		text = "the connection was closed at once; a master that serves with --certs does so where they are missing"
	case "tls: first record does not look like a TLS handshake":
		text += "; a master that serves without --certs answers so"
	case "remote error: tls: bad certificate":
		text += "; it is revoked, or not for this"
	}
	return text
}

// wait lets a pause pass. The search goes on meanwhile, and a drain begins if it is asked for.
func (a *agent) wait(ctx context.Context, pause time.Duration) error {
	timer := time.NewTimer(pause)
	defer timer.Stop()
	for {
		if a.draining && (a.idle() || !time.Now().Before(a.deadline)) {
			return a.drainError()
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-timer.C:
			return nil
		case <-a.drained:
			a.drain()
		case p := <-a.room():
			a.take(p)
		case err := <-a.ended:
			if err := a.leaseEnded(err); err != nil {
				return err
			}
		}
	}
}

func (a *agent) idle() bool { return a.lease == nil && len(a.waiting) == 0 }

func (a *agent) drain() {
	a.drained, a.draining, a.deadline = nil, true, time.Now().Add(a.DrainTimeout)
	if !a.idle() {
		a.Log.Info("draining: handing back what is being searched")
	}
	if a.lease != nil {
		a.lease.cancel()
	}
}

func (a *agent) drainError() error {
	if a.idle() {
		return nil
	}
	return fmt.Errorf("%w within %v of the drain", ErrUndelivered, a.DrainTimeout)
}

// room returns the channel of parcels while there is room for one.
func (a *agent) room() <-chan *parcel {
	if len(a.waiting) < a.MaxWaiting {
		return a.handed
	}
	return nil
}

func (a *agent) take(p *parcel) {
	if !a.wanted(p) {
		return
	}
	a.serial++
	p.serial = a.serial
	switch k := p.message.Kind.(type) {
	case *farmv1.WorkRequest_Facts:
		k.Facts.Serial = p.serial
	case *farmv1.WorkRequest_Result:
		k.Result.Serial = p.serial
	}
	a.waiting = append(a.waiting, p)
}

// forget has the engine forget what was delivered: now, or when the lease's goroutine, which owns
// the engine, comes to it.
func (a *agent) forget() {
	if a.lease != nil {
		a.lease.forget.Store(true)
	} else if a.solver != nil {
		a.solver.Forget()
	}
}

// ratesAveraged is the number of leases over which the rate of the search is averaged, about.
const ratesAveraged = 4

func (a *agent) leaseEnded(err error) error {
	if a.lease.forget.Load() {
		a.solver.Forget()
	}
	if nodes := float64(a.lease.nodes.Load()); nodes > 0 {
		rate := nodes / max(time.Since(a.lease.begun), time.Microsecond).Seconds()
		if a.rate == 0 {
			a.rate = rate
		}
		a.rate += (rate - a.rate) / ratesAveraged
	}
	a.lease, a.workless = nil, time.Now()
	a.Stats.Lease.Store(0)
	if err != nil {
		return fmt.Errorf("%w: %w", errEngine, err)
	}
	return nil
}

// join introduces the worker and readies an engine.
func (a *agent) join(ctx context.Context) (*farmv1.JoinResponse, error) {
	call, cancel := context.WithTimeout(ctx, a.CallTimeout)
	defer cancel()
	r, err := a.client.Join(call, &farmv1.JoinRequest{
		Worker: a.Name, ProtocolVersion: ProtocolVersion, RulesVersion: RulesVersion, Build: Build(),
		Cores: uint32(a.Cores), TableBytes: uint64(a.TableBytes),
	})
	switch code := status.Code(err); {
	case code == codes.OK:
	case code == codes.FailedPrecondition, code == codes.InvalidArgument, code == codes.Unimplemented,
		RefusedByCertificate(err):
		return nil, fmt.Errorf("%w: %s", ErrRefused, Reason(err))
	default:
		return nil, err
	}
	if r.GetSession() == "" || !(r.GetHeartbeatSeconds() >= 0.01 && r.GetHeartbeatSeconds() <= 3600) {
		return nil, fmt.Errorf("%w: joined without a session or with a heartbeat of %v s", ErrProtocol,
			r.GetHeartbeatSeconds())
	}
	if err := a.meet(r); err != nil {
		return nil, err
	}
	a.engine = a.engineOf(r)
	if a.solver != nil {
		// Perhaps another store: it must not lack what was delivered to the one before. What is
		// waiting was promised evidence that it may not find, too; facts without evidence are
		// refused, not believed.
		a.forget()
	} else if err := a.ready(a.first); err != nil { // the others may do for the leases that come
		return nil, err
	}
	a.maxFacts = factLimit(r.GetMaxFactsPerMessage())
	a.Log.Info("joined", "campaign", r.GetCampaign().GetBoard(), "root", r.GetCampaign().GetRoot(), "session",
		r.GetSession())
	return r, nil
}

// factLimit is the number of facts to gather for one message of a master that takes so many, 0: any
// number.
func factLimit(taken uint32) int {
	if taken == 0 || taken > engine.DefaultMaxFacts {
		return engine.DefaultMaxFacts
	}
	return int(taken)
}

// stream is one connection's worth of talk: three goroutines that wait for the
// network, so that the owner of the agent never does.
type stream struct {
	in       chan *farmv1.WorkResponse // from the reader
	out      chan *farmv1.WorkRequest  // to the writer; closed: no more
	upload   chan *parcel              // to the uploader
	uploaded chan upload               // from it
	broken   chan error                // of the reader or the writer; holds two
	// waiting for the writer: a Hello, a Ready, one progress of each lease, the parcels, and leases
	// handed back
	outgoing []*farmv1.WorkRequest
	busy     bool               // a parcel is with the uploader
	asked    bool               // a Ready is open
	leaving  bool               // Goodbye was said
	askedAt  time.Time          // when; zero: there was no work then
	ahead    *time.Timer        // when the next lease is to be asked for although one is running
	early    bool               // it is that time
	beats    int                // heartbeats since the agent has a next lease
	latest   map[uint32]granted // lease of each campaign: each counts its own
}

type upload struct {
	*parcel
	err error
}

// serve opens a work stream and works until the campaign ends or the drain is
// done (nil), the stream breaks (an error that wraps errLost), or for the other reasons of Run.
func (a *agent) serve(ctx context.Context, session *farmv1.JoinResponse) error {
	sctx, cancel := context.WithCancel(ctx)
	work, err := a.client.Work(sctx)
	if err != nil {
		cancel()
		return fmt.Errorf("%w: %s", errLost, Reason(err))
	}
	s := &stream{
		in: make(chan *farmv1.WorkResponse), out: make(chan *farmv1.WorkRequest),
		upload: make(chan *parcel), uploaded: make(chan upload), broken: make(chan error, 2),
		latest: map[uint32]granted{},
		ahead:  time.NewTimer(0), // at once: a lease may be running since the stream before
	}
	done := make(chan struct{}, 3)
	go func() { defer func() { done <- struct{}{} }(); s.read(sctx, work) }()
	go func() { defer func() { done <- struct{}{} }(); s.write(sctx, work) }()
	go func() { defer func() { done <- struct{}{} }(); a.uploader(sctx, s, session) }()
	defer func() {
		cancel()
		for range 3 {
			<-done
		}
		s.ahead.Stop()
		a.next = nil
		a.Stats.Connected.Store(false)
	}()
	a.Stats.Connected.Store(true)
	a.workless = time.Now()
	kept := a.waiting[:0]
	for _, p := range a.waiting {
		p.sentAt = time.Time{}
		if p.sends >= a.MaxSends {
			a.Log.Error("given up: the stream broke each time this was sent", "serial", p.serial, "times", p.sends)
			a.Stats.Refused.Add(1)
			continue
		}
		kept = append(kept, p)
	}
	a.waiting = kept
	s.outgoing = append(s.outgoing, &farmv1.WorkRequest{Kind: &farmv1.WorkRequest_Hello{Hello: &farmv1.Hello{Session: session.GetSession()}}})
	beat := time.NewTicker(time.Duration(session.GetHeartbeatSeconds() * float64(time.Second)))
	defer beat.Stop()
	return a.loop(ctx, s, beat.C)
}

func (a *agent) loop(ctx context.Context, s *stream, beat <-chan time.Time) error {
	var goodbye <-chan time.Time // the master had time enough to end the stream
	for {
		switch {
		case a.next == nil:
		case a.draining:
			a.giveBack(s)
		case a.lease == nil:
			next := a.next
			a.next = nil
			a.Stats.Prefetched.Add(1)
			if err := a.begin(ctx, s, next); err != nil {
				return err
			}
		}
		if a.draining && a.idle() && !s.leaving {
			s.leaving = true
			s.send(&farmv1.WorkRequest{Kind: &farmv1.WorkRequest_Goodbye{Goodbye: &farmv1.Goodbye{Reason: "drained"}}})
			timer := time.NewTimer(min(a.CallTimeout, max(time.Second, time.Until(a.deadline))))
			defer timer.Stop()
			goodbye = timer.C
		}
		if a.draining && !s.leaving && !time.Now().Before(a.deadline) {
			return a.drainError()
		}
		if !s.asked && !a.draining && (a.lease == nil || s.early && a.next == nil) && len(a.waiting) < a.MaxWaiting &&
			s.allSent(a) {
			s.asked, s.askedAt, s.early = true, time.Now(), false
			if a.lease == nil {
				s.askedAt = a.workless // evidence had to be delivered before
			}
			s.send(&farmv1.WorkRequest{Kind: &farmv1.WorkRequest_Ready{Ready: &farmv1.Ready{}}})
		}
		var out chan *farmv1.WorkRequest
		var next *farmv1.WorkRequest
		if len(s.outgoing) > 0 {
			out, next = s.out, s.outgoing[0]
		} else if s.leaving && s.out != nil {
			close(s.out)
			s.out = nil
		}
		var up chan *parcel
		candidate := s.nextUpload(a)
		if candidate != nil {
			up = s.upload
		}

		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-a.drained:
			a.drain()
		case err := <-s.broken:
			if s.leaving {
				return nil
			}
			if RefusedByCertificate(err) {
				return fmt.Errorf("%w: %s", ErrRefused, Reason(err))
			}
			return fmt.Errorf("%w: %s", errLost, Reason(err))
		case <-goodbye:
			return nil
		case out <- next:
			s.outgoing = s.outgoing[1:]
		case up <- candidate:
			s.busy = true
		case u := <-s.uploaded:
			s.busy = false
			if err := a.uploadEnded(u); err != nil {
				return err
			}
		case p := <-a.room():
			a.take(p)
		case err := <-a.ended:
			if err := a.leaseEnded(err); err != nil {
				return err
			}
		case m := <-s.incoming():
			if finished, err := a.receive(ctx, s, m); finished || err != nil {
				return err
			}
		case <-s.ahead.C:
			s.planAhead(a)
		case now := <-beat:
			if a.next != nil {
				if s.beats++; s.beats > 1 {
					a.giveBack(s) // the running one takes longer than it seemed; the next one is asked for at its end
				}
			}
			if err := a.heartbeat(s, now); err != nil {
				return err
			}
			if a.IdleTimeout > 0 && !a.draining && a.idle() && time.Since(a.workless) >= a.IdleTimeout {
				a.Log.Info("there was no work for as long as this worker waits for it", "waited", a.IdleTimeout)
				a.drain()
			}
		}
		s.pump(a)
	}
}

// maxOutgoing bounds the messages that wait for the writer: beyond it nothing is read that may
// cause more.
const maxOutgoing = 256

// incoming returns the channel of what the master sends while there is room for what it may cause.
func (s *stream) incoming() <-chan *farmv1.WorkResponse {
	if len(s.outgoing) < maxOutgoing {
		return s.in
	}
	return nil
}

func (s *stream) send(m *farmv1.WorkRequest) { s.outgoing = append(s.outgoing, m) }

// nextUpload returns the oldest parcel that has to be uploaded, while the uploader is free.
func (s *stream) nextUpload(a *agent) *parcel {
	if s.busy {
		return nil
	}
	for _, p := range a.waiting {
		if len(p.fragment.Data) > 0 && !p.uploaded {
			return p
		}
	}
	return nil
}

// pump sends the messages of parcels whose fragments are with the master, in order.
func (s *stream) pump(a *agent) {
	for _, p := range a.waiting {
		if len(p.fragment.Data) > 0 && !p.uploaded {
			return
		}
		if p.sentAt.IsZero() {
			p.sentAt = time.Now()
			p.sends++
			s.send(p.message)
		}
	}
}

func (s *stream) allSent(a *agent) bool {
	for _, p := range a.waiting {
		if p.sentAt.IsZero() {
			return false
		}
	}
	return true
}

// receive handles a message of the master; finished says that the campaign is over.
func (a *agent) receive(ctx context.Context, s *stream, m *farmv1.WorkResponse) (finished bool, err error) {
	switch k := m.GetKind().(type) {
	case *farmv1.WorkResponse_Lease:
		of := a.first
		if m := k.Lease.GetCampaign(); m != nil {
			if of, err = campaignOf(m); err != nil {
				return false, err
			}
		}
		l, err := newLease(of, k.Lease)
		if err != nil {
			return false, err
		}
		if latest := s.latest[of.number]; !l.after(latest) || a.has(l) {
			a.Log.Debug("this lease came before", "lease", l.id)
			return false, nil
		}
		if err := a.note(of); err != nil {
			return false, err
		}
		s.latest[of.number] = granted{l.epoch, l.id}
		asked := s.asked
		if asked {
			s.asked = false
			if !s.askedAt.IsZero() {
				a.waits.Saw(time.Since(s.askedAt))
			}
		}
		switch {
		case a.lease == nil:
			return false, a.begin(ctx, s, l)
		case asked && a.next == nil:
			a.Log.Debug("lease in hand", "lease", l.id)
			a.next, s.beats = l, 0
		default: // it was not asked for, or the question came twice
			a.Log.Debug("handing back a lease beside the one that is running", "lease", l.id)
			s.send(l.handBack())
		}
	case *farmv1.WorkResponse_News:
		if err := a.hear(k.News); err != nil {
			return false, err
		}
	case *farmv1.WorkResponse_Cancel:
		if a.lease.named(k.Cancel.GetCampaign(), k.Cancel.GetLease()) {
			a.Log.Debug("lease cancelled", "lease", a.lease.id, "reason", k.Cancel.GetReason())
			a.lease.cancel()
		}
		if a.next.named(k.Cancel.GetCampaign(), k.Cancel.GetLease()) {
			a.giveBack(s)
			s.planAhead(a)
		}
	case *farmv1.WorkResponse_Ack:
		a.acknowledged(k.Ack)
	case *farmv1.WorkResponse_Hold:
		a.holdOn(k.Hold.GetReason())
	case *farmv1.WorkResponse_NoWork:
		s.askedAt = time.Time{}
		if a.lease == nil {
			a.Log.Info("waiting for work", "reason", k.NoWork.GetReason())
		}
	case *farmv1.WorkResponse_Finished:
		a.Log.Info("campaign finished", "reason", k.Finished.GetReason())
		return true, nil
	}
	return false, nil
}

// holdOn notes that the master is there and acknowledges nothing for now.
func (a *agent) holdOn(reason string) {
	if time.Since(a.onHold) >= sayAgain {
		a.onHold = time.Now()
		a.Log.Warn("the master has no room now; what is not acknowledged waits", "reason", reason, "waiting",
			len(a.waiting))
	}
	for _, p := range a.waiting {
		if !p.sentAt.IsZero() {
			p.sentAt = time.Now()
		}
	}
}

// has reports whether a lease is being searched, or its result is on the way.
func (a *agent) has(l *lease) bool {
	same := func(o *lease) bool { return o != nil && o.of == l.of && o.id == l.id && o.epoch == l.epoch }
	return same(a.lease) || same(a.next) || slices.ContainsFunc(a.waiting,
		func(p *parcel) bool { return same(p.lease) })
}

// begin readies the engine and starts to search a lease.
func (a *agent) begin(ctx context.Context, s *stream, l *lease) error {
	if err := a.ready(l.of); err != nil {
		return err
	}
	search, cancel := context.WithCancel(ctx)
	l.cancel = cancel
	l.begun = time.Now()
	a.lease = l
	l.maxFacts = a.maxFacts
	a.Stats.Leases.Add(1)
	a.Stats.Lease.Store(l.id)
	a.Log.Debug("lease begun", "lease", l.id, "epoch", l.epoch, "budget", l.job.Budget, "facts", len(l.job.Facts))
	if a.draining {
		cancel()
	}
	go func() {
		defer cancel()
		err := l.run(ctx, search, a.Config, a.solver, func(p *parcel) bool {
			select {
			case a.handed <- p:
				return true
			case <-ctx.Done():
				return false
			}
		})
		a.ended <- err
	}()
	s.planAhead(a)
	return nil
}

func (a *agent) acknowledged(ack *farmv1.Ack) {
	a.onHold = time.Time{}
	for i, p := range a.waiting {
		if p.serial != ack.GetSerial() {
			continue
		}
		a.waiting = append(a.waiting[:i:i], a.waiting[i+1:]...)
		switch {
		case ack.GetRefused() != "":
			a.Stats.Refused.Add(1)
			a.Log.Warn("refused by the master", slog.Uint64("serial", p.serial),
				slog.String("reason", ack.GetRefused()))
		case p.lease != nil:
			a.Stats.Results.Add(1)
		}
		return
	}
}

// heartbeat reports on what is being searched or was and has not been told, and breaks off a stream
// on which acknowledgements are overdue.
func (a *agent) heartbeat(s *stream, now time.Time) error {
	for _, p := range a.waiting {
		if !p.sentAt.IsZero() && now.Sub(p.sentAt) > a.AckTimeout {
			return fmt.Errorf("%w: no acknowledgement within %v", errLost, a.AckTimeout)
		}
	}
	for _, p := range a.waiting {
		if p.lease != nil && p.sentAt.IsZero() {
			s.report(a, p.lease) // searched, but its result is still on the way
		}
	}
	if a.lease != nil {
		s.report(a, a.lease)
	}
	return nil
}

// report sends how far a lease is, in the place of an older report that still waits for the writer.
func (s *stream) report(a *agent, l *lease) {
	m := &farmv1.WorkRequest{Kind: &farmv1.WorkRequest_Progress{Progress: &farmv1.Progress{
		Lease: l.id, Epoch: l.epoch, Nodes: l.nodes.Load(),
		Evaluations: l.evaluations.Load() + l.activity.Load(), TableFill: a.Stats.TableFill(), Campaign: l.of.number,
	}}}
	for i, old := range s.outgoing {
		if p := old.GetProgress(); p != nil && p.GetLease() == l.id && p.GetEpoch() == l.epoch &&
			p.GetCampaign() == l.of.number {
			s.outgoing[i] = m
			return
		}
	}
	s.send(m)
}

func (s *stream) read(ctx context.Context, work farmv1.Farm_WorkClient) {
	for {
		m, err := work.Recv()
		if err != nil {
			s.broken <- err
			return
		}
		select {
		case s.in <- m:
		case <-ctx.Done():
			return
		}
	}
}

func (s *stream) write(ctx context.Context, work farmv1.Farm_WorkClient) {
	out := s.out
	for {
		select {
		case m, ok := <-out:
			if !ok {
				work.CloseSend()
				return
			}
			if err := work.Send(m); err != nil {
				return // the reader gets the reason
			}
		case <-ctx.Done():
			return
		}
	}
}
