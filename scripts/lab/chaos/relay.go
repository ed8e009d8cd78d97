package main

import (
	"context"
	"errors"
	"io"
	"net"
	"sync"
	"sync/atomic"
	"time"

	farmv1 "amazonsfarm/proto/farm/v1"
	"amazonsfarm/scripts/lab/farm"

	"google.golang.org/grpc"
	"google.golang.org/grpc/backoff"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/keepalive"
)

// TCP and HTTP/2 bring every byte once and in order, so messages cannot be doubled beneath gRPC. A
// relay therefore stands between a worker and the master: to the worker it is a master, to the
// master a worker, and it hands each message on, perhaps late, perhaps twice. It keeps the book of
// what the master has acknowledged, and it keeps the master's end of a broken connection open for a
// while, as a network does that has not noticed.

// remembered is how many of a worker's latest messages may come again.
const remembered = 8

// relay is that of one worker.
type relay struct {
	farmv1.UnimplementedFarmServer
	client   farmv1.FarmClient
	conn     *grpc.ClientConn
	server   *grpc.Server
	address  string
	ledger   *ledger
	counts   *counts
	heard    func()       // called for each message of the worker
	linger   atomic.Int64 // nanoseconds that the master's end of a broken connection lives on
	readers  sync.WaitGroup
	life     atomic.Pointer[life] // of the worker's process that runs now
	mu       sync.Mutex           // of the dice
	up, down *dice
}

// counts are of the messages of a run.
type counts struct{ sent, twice, again, old, late atomic.Int64 }

// life is what one process of a worker has sent and been sent. Serial numbers are unique in it.
type life struct {
	mu       sync.Mutex
	serials  map[uint64]*farmv1.WorkRequest // what they stand for
	sent     latest[*farmv1.WorkRequest]
	received latest[*farmv1.WorkResponse]
}

func newLife() *life { return &life{serials: map[uint64]*farmv1.WorkRequest{}} }

// newRelay serves on a free port of this machine.
func newRelay(p plan, number int, master string, w *wire, l *ledger, c *counts, heard func()) (*relay, error) {
	conn, err := grpc.NewClient(master, grpc.WithTransportCredentials(insecure.NewCredentials()),
		grpc.WithDisableServiceConfig(),
		grpc.WithDefaultCallOptions(grpc.MaxCallRecvMsgSize(farmv1.MaxMessageBytes),
			grpc.MaxCallSendMsgSize(farmv1.MaxMessageBytes)),
		grpc.WithConnectParams(grpc.ConnectParams{Backoff: backoff.Config{BaseDelay: 50 * time.Millisecond,
			Multiplier: 1.5, MaxDelay: 300 * time.Millisecond}, MinConnectTimeout: time.Second}))
	if err != nil {
		return nil, err
	}
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return nil, errors.Join(err, conn.Close())
	}
	r := &relay{client: farmv1.NewFarmClient(conn), conn: conn, address: listener.Addr().String(), ledger: l, counts: c,
		heard: heard, up: newDice(p.Seed, number, 0, p.Noise), down: newDice(p.Seed, number, 1, p.Noise)}
	r.life.Store(newLife())
	r.server = grpc.NewServer(grpc.MaxRecvMsgSize(farmv1.MaxMessageBytes), grpc.MaxSendMsgSize(farmv1.MaxMessageBytes),
		grpc.KeepaliveEnforcementPolicy(keepalive.EnforcementPolicy{MinTime: 5 * time.Second,
			PermitWithoutStream: true}))
	farmv1.RegisterFarmServer(r.server, r)
	go func() { _ = r.server.Serve(wiredListener{listener, w}) }()
	return r, nil
}

func (r *relay) close() {
	r.server.Stop()
	r.conn.Close()
}

// reborn is called when the worker's process has ended and its connections are closed, before it is
// started again.
func (r *relay) reborn() {
	r.readers.Wait()
	r.life.Store(newLife())
}

// throw decides on the next message in one direction.
func (r *relay) throw(d *dice) fate {
	r.mu.Lock()
	f := d.throw()
	r.mu.Unlock()
	r.counts.sent.Add(1)
	if f.late > 0 {
		r.counts.late.Add(1)
	}
	return f
}

// Join hands a worker's introduction on, perhaps twice: a call that was tried again because its
// answer was lost.
func (r *relay) Join(ctx context.Context, m *farmv1.JoinRequest) (*farmv1.JoinResponse, error) {
	r.heard()
	f := r.throw(r.up)
	if err := farm.Wait(ctx, f.late); err != nil {
		return nil, err
	}
	if f.twice || f.again {
		r.counts.twice.Add(1)
		if answer, err := r.client.Join(ctx, m); err != nil {
			return answer, err
		}
	}
	return r.client.Join(ctx, m)
}

// UploadCertificate hands an upload on, and the same once more, at once or later.
func (r *relay) UploadCertificate(in farmv1.Farm_UploadCertificateServer) error {
	r.heard()
	f := r.throw(r.up)
	if err := farm.Wait(in.Context(), f.late); err != nil {
		return err
	}
	out, err := r.client.UploadCertificate(in.Context())
	if err != nil {
		return err
	}
	var all []*farmv1.UploadCertificateRequest
	for {
		m, err := in.Recv()
		if errors.Is(err, io.EOF) {
			break
		} else if err != nil {
			return err
		}
		all = append(all, m)
		if out.Send(m) != nil {
			break // the answer says why
		}
	}
	answer, err := out.CloseAndRecv()
	if err == nil {
		r.ledger.certificate(all[0])
	}
	if f.again {
		r.counts.again.Add(1)
		time.AfterFunc(f.later, func() { r.repeat(context.Background(), all) })
	}
	if f.twice {
		r.counts.twice.Add(1)
		r.repeat(in.Context(), all)
	}
	if err != nil {
		return err
	}
	return in.SendAndClose(answer)
}

// repeat sends an upload once more. The answer tells nothing new.
func (r *relay) repeat(ctx context.Context, all []*farmv1.UploadCertificateRequest) {
	ctx, cancel := context.WithTimeout(ctx, time.Minute)
	defer cancel()
	out, err := r.client.UploadCertificate(ctx)
	for _, m := range all {
		if err == nil {
			err = out.Send(m)
		}
	}
	if err == nil {
		_, _ = out.CloseAndRecv()
	}
}

// FetchCertificate hands a part on.
func (r *relay) FetchCertificate(m *farmv1.FetchCertificateRequest, out farmv1.Farm_FetchCertificateServer) error {
	in, err := r.client.FetchCertificate(out.Context(), m)
	for err == nil {
		var chunk *farmv1.FetchCertificateResponse
		if chunk, err = in.Recv(); err == nil {
			err = out.Send(chunk)
		}
	}
	if errors.Is(err, io.EOF) {
		return nil
	}
	return err
}

// Work hands a work stream's messages on, both ways.
func (r *relay) Work(worker farmv1.Farm_WorkServer) error {
	r.readers.Add(1)
	reading := sync.OnceFunc(r.readers.Done)
	defer reading()
	life := r.life.Load()
	ctx, end := context.WithCancel(context.WithoutCancel(worker.Context()))
	defer end()
	master, err := r.client.Work(ctx)
	if err != nil {
		return err
	}
	toMaster := &sender[*farmv1.WorkRequest]{to: master}
	toWorker := &sender[*farmv1.WorkResponse]{to: worker}
	go func() {
		err := r.fromWorker(ctx, worker, toMaster, life)
		reading()
		if errors.Is(err, io.EOF) {
			toMaster.close(master.CloseSend)
			return
		}
		// The worker is gone, and what it sent is still on its way.
		time.AfterFunc(time.Duration(r.linger.Load()), end)
	}()
	err = r.fromMaster(worker.Context(), master, toWorker, life)
	toWorker.close(func() error { return nil })
	return err
}

// sender sends messages of several goroutines one after the other, until it is closed.
type sender[M any] struct {
	mu     sync.Mutex
	closed bool
	to     interface{ Send(M) error }
}

func (s *sender[M]) send(m M) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if !s.closed {
		_ = s.to.Send(m) // whoever receives on the same stream is told
	}
}

func (s *sender[M]) close(last func() error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.closed = true
	_ = last()
}

func (r *relay) fromWorker(ctx context.Context, worker farmv1.Farm_WorkServer, out *sender[*farmv1.WorkRequest],
	l *life) error {
	for {
		m, err := worker.Recv()
		if err != nil {
			return err
		}
		r.heard()
		switch m.Kind.(type) {
		case *farmv1.WorkRequest_Hello, *farmv1.WorkRequest_Goodbye:
			out.send(m) // they begin and end the stream
			continue
		}
		f := r.throw(r.up)
		old := l.noteSent(m, f.old)
		if err := farm.Wait(ctx, f.late); err != nil {
			return err
		}
		hand(r.counts, out, m, old, f)
	}
}

func (r *relay) fromMaster(ctx context.Context, master farmv1.Farm_WorkClient, out *sender[*farmv1.WorkResponse],
	l *life) error {
	for {
		m, err := master.Recv()
		if errors.Is(err, io.EOF) {
			return nil
		} else if err != nil {
			return err
		}
		if ack := m.GetAck(); ack != nil {
			r.ledger.acknowledged(l.of(ack.GetSerial()), ack)
		}
		f := r.throw(r.down)
		old := l.noteReceived(m, f.old)
		if farm.Wait(ctx, f.late) != nil {
			continue // nobody hears it
		}
		hand(r.counts, out, m, old, f)
	}
}

// hand sends a message as its fate says, after an old one if there is one.
func hand[M any](c *counts, out *sender[*M], m, old *M, f fate) {
	if old != nil {
		c.old.Add(1)
		out.send(old)
	}
	out.send(m)
	if f.twice {
		c.twice.Add(1)
		out.send(m)
	}
	if f.again {
		c.again.Add(1)
		time.AfterFunc(f.later, func() { out.send(m) })
	}
}

// noteSent keeps a message of the worker, and returns the one that comes again before it, if any.
func (l *life) noteSent(m *farmv1.WorkRequest, old int) (again *farmv1.WorkRequest) {
	l.mu.Lock()
	defer l.mu.Unlock()
	keep := true
	switch k := m.Kind.(type) {
	case *farmv1.WorkRequest_Facts:
		l.serials[k.Facts.GetSerial()] = m
	case *farmv1.WorkRequest_Result:
		l.serials[k.Result.GetSerial()] = m
	case *farmv1.WorkRequest_Progress:
	default:
		keep = false
	}
	return l.sent.note(m, old, keep)
}

// noteReceived keeps a message of the master. The word that all is over comes on the stream on
// which it was said and on no other.
func (l *life) noteReceived(m *farmv1.WorkResponse, old int) (again *farmv1.WorkResponse) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.received.note(m, old, m.GetFinished() == nil)
}

// latest are the last messages in one direction that may come again.
type latest[M any] []M

// note returns the message that was the old-th latest, if any, and then keeps m where it is to be
// kept. An old of 0 asks for none.
func (l *latest[M]) note(m M, old int, keep bool) (again M) {
	if old > 0 && old <= len(*l) {
		again = (*l)[len(*l)-old]
	}
	if keep {
		*l = append(*l, m)
		*l = (*l)[max(0, len(*l)-remembered):]
	}
	return again
}

func (l *life) of(serial uint64) *farmv1.WorkRequest {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.serials[serial]
}
