package main

import (
	"bytes"
	"context"
	"fmt"
	"math/rand/v2"
	"sync"
	"time"

	"google.golang.org/grpc"

	farmv1 "amazonsfarm/proto/farm/v1"
	"amazonsfarm/scripts/lab/farm"
	"amazonsfarm/shared/amazons"
	"amazonsfarm/shared/numbers"
)

// synthetic is a worker that does not search. It talks as worker/agent does: it asks for a lease
// when it has none, sends a heartbeat a second, and asks for the next lease right after a result.
type synthetic struct {
	settings
	name   string
	board  amazons.Board
	record *record
	random *rand.Rand
	parts  *evidence // nil: results bring none
	hands  chan handed

	client  farmv1.FarmClient
	session string
	stream  farmv1.Farm_WorkClient
	stop    context.CancelFunc // of all that the worker does
	serial  uint64
	lease   *farmv1.Lease
	begun   time.Time            // of the lease
	asked   time.Time            // for a lease; zero: not now
	sent    map[uint64]delivered // not acknowledged
}

// scratch is room for the making of one result. Workers share it: of thousands few deliver at a
// time, and what this process throws away is time that the master on the same machine lacks.
type scratch struct {
	moves    []amazons.Move
	children []numbers.Child
	encoded  []byte
}

var rooms = sync.Pool{New: func() any { return new(scratch) }}

type delivered struct {
	at    time.Time
	nodes uint64
}

// join introduces the worker and opens its stream.
func (w *synthetic) join(ctx context.Context, conn *grpc.ClientConn) error {
	w.client = farmv1.NewFarmClient(conn)
	joined, err := w.client.Join(ctx, &farmv1.JoinRequest{
		Worker: w.name, ProtocolVersion: farmv1.ProtocolVersion, RulesVersion: farmv1.RulesVersion, Build: "synthetic",
		Cores: 1, TableBytes: 1 << 30,
	}, grpc.WaitForReady(true))
	if err != nil {
		return err
	}
	w.session = joined.GetSession()
	if w.stream, err = w.client.Work(ctx); err != nil {
		return err
	}
	hello := &farmv1.Hello{Session: w.session}
	return w.stream.Send(&farmv1.WorkRequest{Kind: &farmv1.WorkRequest_Hello{Hello: hello}})
}

// run works until the stream or ctx ends.
func (w *synthetic) run(ctx context.Context) error {
	in, broken := make(chan *farmv1.WorkResponse), make(chan error, 1)
	go func() { broken <- farm.Receive(ctx, w.stream, in) }()
	defer func() { <-broken }()
	var beside sync.WaitGroup // of the stream: uploads and checks
	defer beside.Wait()
	defer w.stop()
	// Not all heartbeats at once: workers did not come at once either.
	beat := time.NewTicker(time.Second)
	defer beat.Stop()
	timer := time.NewTimer(time.Hour)
	defer timer.Stop()
	for {
		if w.lease == nil && w.asked.IsZero() {
			w.asked = time.Now()
			if err := w.send(&farmv1.WorkRequest{Kind: &farmv1.WorkRequest_Ready{Ready: &farmv1.Ready{}}}); err != nil {
				return err
			}
		}
		select {
		case <-ctx.Done():
			return nil
		case err := <-broken:
			broken <- err
			return fmt.Errorf("%s: %w", w.name, err)
		case h := <-w.hands:
			if h.err != nil {
				return fmt.Errorf("%s: upload: %w", w.name, h.err)
			}
			if err := w.send(h.message); err != nil {
				return err
			}
		case m := <-in:
			now := time.Now()
			switch k := m.GetKind().(type) {
			case *farmv1.WorkResponse_Lease:
				waited := now.Sub(w.asked)
				w.record.note(func(t *tally) { t.leases = append(t.leases, waited) })
				w.asked = time.Time{}
				w.lease, w.begun = k.Lease, now
				timer.Reset(w.during()/2 + time.Duration(w.random.Int64N(int64(w.during()))))
			case *farmv1.WorkResponse_Ack:
				s := w.sent[k.Ack.GetSerial()]
				delete(w.sent, k.Ack.GetSerial())
				w.record.acknowledged(now.Sub(s.at), s.nodes, k.Ack.GetRefused())
			case *farmv1.WorkResponse_Cancel:
				if w.lease != nil && w.lease.GetId() == k.Cancel.GetLease() {
					if err := w.deliver(ctx, &beside, true); err != nil {
						return err
					}
				}
			case *farmv1.WorkResponse_Check:
				beside.Go(func() { w.examine(ctx, k.Check) })
			case *farmv1.WorkResponse_Finished:
				return fmt.Errorf("%s: the campaign has ended: %s", w.name, k.Finished.GetReason())
			}
		case <-timer.C:
			if w.lease != nil {
				if err := w.deliver(ctx, &beside, false); err != nil {
					return err
				}
			}
		case <-beat.C: // its time may be that of a tick before the lease
			if w.lease != nil {
				p := &farmv1.Progress{Lease: w.lease.GetId(), Epoch: w.lease.GetEpoch(), Nodes: w.searched(time.Now())}
				if err := w.send(&farmv1.WorkRequest{Kind: &farmv1.WorkRequest_Progress{Progress: p}}); err != nil {
					return err
				}
			}
		}
	}
}

func (w *synthetic) send(m *farmv1.WorkRequest) error {
	if err := w.stream.Send(m); err != nil {
		return fmt.Errorf("%s: %w", w.name, err)
	}
	return nil
}

// during returns how long the lease takes in the mean.
func (w *synthetic) during() time.Duration {
	return time.Duration(float64(w.work) * float64(w.lease.GetBudgetNodes()) / budget)
}

// searched returns the nodes that a worker would have searched by now, at least 1 and less than the
// budget.
func (w *synthetic) searched(now time.Time) uint64 {
	most := w.lease.GetBudgetNodes()
	return max(1, min(most-1, uint64(float64(most)*now.Sub(w.begun).Seconds()/(1.5*w.during().Seconds()))))
}

// deliver ends the lease with an open result, which names a part that is uploaded before.
func (w *synthetic) deliver(ctx context.Context, beside *sync.WaitGroup, cancelled bool) error {
	l := w.lease
	w.lease = nil
	w.serial++
	now := time.Now()
	r := &farmv1.Result{
		Serial: w.serial, Lease: l.GetId(), Epoch: l.GetEpoch(), Key: l.GetKey(), Phi: w.number(), Delta: w.number(),
		Nodes:   l.GetBudgetNodes(),
		Seconds: now.Sub(w.begun).Seconds(), Cancelled: cancelled,
	}
	r.Evaluations = 20 * r.Nodes
	room := rooms.Get().(*scratch)
	defer rooms.Put(room) // the message is encoded when it is sent
	if err := w.addChildren(r, room); err != nil {
		return err
	}
	w.sent[w.serial] = delivered{now, r.Nodes}
	if w.parts != nil {
		p, err := w.parts.take()
		if err != nil {
			return err
		}
		r.Facts = farmv1.WriteFacts(p.Facts)
		r.Children = bytes.Clone(r.Children) // it waits for the upload
		beside.Go(func() { w.upload(ctx, p, r) })
		return nil
	}
	return w.send(&farmv1.WorkRequest{Kind: &farmv1.WorkRequest_Result{Result: r}})
}

// addChildren gives a result numbers for the positions after its own, each once, as the search of a
// worker does.
func (w *synthetic) addChildren(r *farmv1.Result, room *scratch) error {
	key, err := amazons.KeyFromBytes(r.GetKey())
	if err != nil {
		return err
	}
	state, err := key.State(w.board)
	if err != nil {
		return err
	}
	room.moves, room.children = state.Moves(room.moves[:0]), room.children[:0]
	for _, m := range room.moves {
		room.children = append(room.children, numbers.Child{Key: state.After(m).CanonicalKey(w.board),
			Phi: w.number(), Delta: w.number()})
	}
	room.encoded = numbers.Append(room.encoded[:0], room.children)
	r.Children = room.encoded
	return nil
}

// number returns 1,000 and more, 2,000 in the mean. None is much smaller than all others, so that
// the tree grows in its breadth.
func (w *synthetic) number() uint32 { return 1000 + uint32(1000*w.random.ExpFloat64()) }
