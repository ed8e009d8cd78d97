package agent

import (
	"context"
	"errors"
	"fmt"
	"io"
	"math"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	farmv1 "amazonsfarm/proto/farm/v1"
	"amazonsfarm/shared/amazons"
	"amazonsfarm/shared/eval"
	"amazonsfarm/shared/numbers"
	"amazonsfarm/shared/testkit/fuzzing"
	"amazonsfarm/worker/engine"

	"amazonsfarm/shared/proof"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/proto"
)

// tyrant is a master that sends whatever a tape says, without a network, in the virtual time of a
// synctest.
type tyrant struct {
	t    *testing.T
	tape *fuzzing.Tape

	mu      sync.Mutex
	joins   []byte // how the next calls of Join are answered
	uploads []byte // and the next uploads
	work    *tyrantStream
	granted map[string]bool // leases that were sent, as leaseName names them
	many    bool            // it has several campaigns, or says so
	serials []uint64        // that may be acknowledged
	known   int             // joins that went well
}

func leaseName(campaign uint32, id uint64, key []byte) string {
	return fmt.Sprintf("%d %d %x", campaign, id, key)
}

// next takes a byte off a list of answers; at its end all is well.
func (y *tyrant) next(list *[]byte) byte {
	y.mu.Lock()
	defer y.mu.Unlock()
	if len(*list) == 0 {
		return 0
	}
	b := (*list)[0]
	*list = (*list)[1:]
	return b
}

// codeOf is an error of a call.
func codeOf(b byte) error { return status.Error(codes.Code(1+b%16), "so it is said") }

// Invoke answers Join.
func (y *tyrant) Invoke(ctx context.Context, method string, in, out any, _ ...grpc.CallOption) error {
	if _, err := proto.Marshal(in.(proto.Message)); err != nil {
		y.t.Errorf("%s cannot be sent: %v", method, err)
	}
	answer := &farmv1.JoinResponse{
		Session: "s", Campaign: &farmv1.Campaign{Board: "4x4", Root: start().String()}, HeartbeatSeconds: 1,
		MaxCertificateBytes: 1 << 20,
		MaxFactsPerMessage:  100, MinFactNodes: 10,
	}
	switch how := y.next(&y.joins); how % 12 {
	case 1:
		return codeOf(how / 12)
	case 2:
		answer.Campaign.Root = "5x5"
	case 3:
		answer.Campaign.Root = "nothing"
	case 4:
		answer.HeartbeatSeconds = []float64{math.NaN(), math.Inf(1), -1, 1e-9, 1e300, 0.01}[how/12%6]
	case 5:
		answer.Session = ""
	case 6:
		answer.MaxCertificateBytes, answer.MaxFactsPerMessage, answer.MinFactNodes, answer.MaxHintEntries = 1, 1,
			math.MaxUint64, math.MaxUint32
	case 7:
		answer.MaxCertificateBytes, answer.MaxFactsPerMessage, answer.MinFactNodes = math.MaxUint64, math.MaxUint32, 0
	case 8:
		answer.Campaign = nil
	case 9:
		select { // no answer
		case <-ctx.Done():
		case <-time.After(time.Hour):
		}
		return status.FromContextError(ctx.Err()).Err()
	case 10:
		answer.Campaign.RulesOnly = true
	}
	if y.many {
		how := y.next(&y.joins)
		for i := range []int{0, 2, 3, 5, 1, 9, 300, maxCampaigns + 1}[how%8] {
			answer.Campaigns = append(answer.Campaigns, campaignNumbered(uint32(i)+uint32(how/64)))
		}
	}
	proto.Merge(out.(proto.Message), answer)
	y.mu.Lock()
	y.known++
	y.mu.Unlock()
	return ctx.Err()
}

// campaignNumbered is a campaign as a master may describe it: those of some numbers are of the
// first one's board, of one that it shares with none, or no campaigns.
func campaignNumbered(n uint32) *farmv1.Campaign {
	c := &farmv1.Campaign{Number: n, Board: "4x4", Root: start().String()}
	switch n % 8 {
	case 3:
		c.Board, c.Root = "5x5", "5x5"
	case 4:
		c.RulesOnly = true
	case 5:
		c.Board, c.Root = "3x3", "W../.x./..B w"
	case 7:
		if n > 1000 {
			c.Root = "nothing"
		}
	}
	return c
}

// NewStream begins a stream of work, or an upload.
func (y *tyrant) NewStream(ctx context.Context, desc *grpc.StreamDesc, method string,
	_ ...grpc.CallOption) (grpc.ClientStream, error) {
	s := &tyrantStream{y: y, ctx: ctx, in: make(chan func(proto.Message) error, 256), method: method}
	if desc.StreamName == "Work" {
		y.mu.Lock()
		y.work = s
		y.mu.Unlock()
		return s, nil
	}
	s.how = y.next(&y.uploads)
	if s.how%8 == 7 {
		return nil, codeOf(s.how / 8)
	}
	return s, nil
}

// tyrantStream is the worker's end of a stream.
type tyrantStream struct {
	y      *tyrant
	ctx    context.Context
	in     chan func(proto.Message) error
	method string
	how    byte // of an upload
	sent   int
}

func (s *tyrantStream) Header() (metadata.MD, error) { return nil, nil }
func (s *tyrantStream) Trailer() metadata.MD         { return nil }
func (s *tyrantStream) CloseSend() error             { return nil }
func (s *tyrantStream) Context() context.Context     { return s.ctx }

// SendMsg looks at what a worker sends.
func (s *tyrantStream) SendMsg(m any) error {
	if s.ctx.Err() != nil {
		return io.EOF
	}
	data, err := proto.Marshal(m.(proto.Message))
	if err != nil || len(data) > farmv1.MaxMessageBytes {
		s.y.t.Errorf("%d bytes, %v: %v", len(data), err, m)
	}
	s.sent++
	r, ok := m.(*farmv1.WorkRequest)
	if !ok {
		if s.how%8 == 6 && s.sent > int(s.how/8) {
			return io.EOF
		}
		return nil
	}
	s.y.mu.Lock()
	defer s.y.mu.Unlock()
	if (r.GetHello() != nil) != (s.sent == 1) {
		s.y.t.Errorf("message %d of a stream is %v", s.sent, r)
	}
	if x := r.GetFacts(); x != nil {
		s.y.serials = append(s.y.serials, x.GetSerial())
	}
	if x := r.GetResult(); x != nil {
		s.y.serials = append(s.y.serials, x.GetSerial())
		// One that names no campaign is of the first.
		if !s.y.granted[leaseName(x.GetCampaign(), x.GetLease(), x.GetKey())] &&
			!s.y.granted[leaseName(0, x.GetLease(), x.GetKey())] {
			s.y.t.Errorf("a result of lease %d of campaign %d about %x, which was not granted", x.GetLease(),
				x.GetCampaign(), x.GetKey())
		}
	}
	return nil
}

func (s *tyrantStream) RecvMsg(m any) error {
	if s.method == farmv1.Farm_UploadCertificate_FullMethodName {
		switch s.how % 8 {
		case 4:
			return codeOf(s.how / 8)
		case 5:
			select {
			case <-s.ctx.Done():
			case <-time.After(time.Hour):
			}
			return status.FromContextError(s.ctx.Err()).Err()
		case 6:
			return codeOf(byte(codes.ResourceExhausted) - 1)
		}
		return s.ctx.Err()
	}
	select {
	case f := <-s.in:
		return f(m.(proto.Message))
	case <-s.ctx.Done():
		return status.FromContextError(s.ctx.Err()).Err()
	}
}

// say sends a message on the stream of work, if there is one.
func (y *tyrant) say(m *farmv1.WorkResponse) {
	y.raw(func(into proto.Message) error { proto.Merge(into, m); return nil })
}

func (y *tyrant) raw(f func(proto.Message) error) {
	y.mu.Lock()
	defer y.mu.Unlock()
	if y.work == nil {
		return
	}
	select {
	case y.work.in <- f:
	default:
	}
}

// key is a position of the campaign, or bytes.
func (y *tyrant) key() []byte {
	switch y.tape.Choose(6) {
	case 4:
		return y.tape.Bytes(17)
	case 5:
		k := rootKey().Bytes()
		return k[:]
	}
	k := childKey().Bytes()
	return k[:]
}

func (y *tyrant) facts() (list []*farmv1.Fact) {
	for range y.tape.Choose(4) {
		list = append(list, &farmv1.Fact{Key: y.key(), Verdict: farmv1.Verdict(1 + y.tape.Choose(2)),
			Nodes: y.tape.Number(), CertificateSha256: y.tape.Bytes(4)})
	}
	if y.tape.Choose(16) == 15 {
		list = append(list, nil, &farmv1.Fact{})
	}
	return list
}

// number is that of a campaign.
func (y *tyrant) number() uint32 {
	switch {
	case !y.many:
		return 0
	case y.tape.Choose(8) == 7:
		return uint32(y.tape.Number())
	}
	return uint32(y.tape.Choose(6))
}

// name gives a lease a campaign, mostly with a position of its board.
func (y *tyrant) name(l *farmv1.Lease) {
	l.Campaign = campaignNumbered(y.number())
	if root, err := amazons.ParsePosition(l.Campaign.Root); err == nil && y.tape.Choose(4) > 0 {
		k := root.State().CanonicalKey(root.Board).Bytes()
		l.Key = k[:]
	}
	if y.tape.Choose(16) == 15 { // one of many
		for range 200 {
			l := proto.CloneOf(l)
			l.Id, l.Campaign.Number = l.Id+1, l.Campaign.Number+8
			y.mu.Lock()
			y.granted[leaseName(l.GetCampaign().GetNumber(), l.Id, l.Key)] = true
			y.mu.Unlock()
			y.say(&farmv1.WorkResponse{Kind: &farmv1.WorkResponse_Lease{Lease: l}})
			synctest.Wait()
		}
	}
}

// step does the next thing.
func (y *tyrant) step() {
	switch y.tape.Choose(12) {
	case 0, 1, 2:
		l := &farmv1.Lease{Id: y.tape.Number(), Epoch: y.tape.Number(), Key: y.key(), BudgetNodes: y.tape.Number(),
			Facts: y.facts(), Patient: y.tape.Choose(2) == 1}
		for range y.tape.Choose(3) {
			l.Hints = append(l.Hints, y.tape.Bytes(20))
		}
		if y.many {
			y.name(l)
		}
		y.mu.Lock()
		y.granted[leaseName(l.GetCampaign().GetNumber(), l.Id, l.Key)] = true
		y.mu.Unlock()
		y.say(&farmv1.WorkResponse{Kind: &farmv1.WorkResponse_Lease{Lease: l}})
	case 3:
		y.say(&farmv1.WorkResponse{Kind: &farmv1.WorkResponse_Cancel{Cancel: &farmv1.Cancel{Lease: y.tape.Number(),
			Reason: string(y.tape.Bytes(5)), Campaign: y.number()}}})
	case 4, 5, 6:
		a := &farmv1.Ack{Serial: y.tape.Number()}
		y.mu.Lock()
		if n := len(y.serials); n > 0 && y.tape.Choose(4) > 0 {
			a.Serial = y.serials[y.tape.Choose(256)%n]
		}
		y.mu.Unlock()
		if y.tape.Choose(4) == 0 {
			a.Refused = "no"
		}
		y.say(&farmv1.WorkResponse{Kind: &farmv1.WorkResponse_Ack{Ack: a}})
	case 7:
		switch y.tape.Choose(8) {
		case 0:
			y.say(&farmv1.WorkResponse{Kind: &farmv1.WorkResponse_Finished{Finished: &farmv1.Finished{Reason: "so"}}})
		case 1, 2:
			y.say(&farmv1.WorkResponse{Kind: &farmv1.WorkResponse_Hold{Hold: &farmv1.Hold{Reason: "full"}}})
		case 3:
			y.say(&farmv1.WorkResponse{})
		default:
			y.say(&farmv1.WorkResponse{Kind: &farmv1.WorkResponse_NoWork{NoWork: &farmv1.NoWork{Reason: "why"}}})
		}
	case 8:
		data := y.tape.Bytes(200)
		y.raw(func(m proto.Message) error {
			if err := proto.Unmarshal(data, m); err != nil {
				return status.Errorf(codes.Internal, "grpc: failed to unmarshal the received message: %v", err)
			}
			if l := m.(*farmv1.WorkResponse).GetLease(); l != nil {
				y.mu.Lock()
				y.granted[leaseName(l.GetCampaign().GetNumber(), l.GetId(), l.GetKey())] = true
				y.mu.Unlock()
			}
			return nil
		})
	case 9:
		err := codeOf(y.tape.Byte())
		if y.tape.Choose(3) == 0 {
			err = io.EOF
		}
		y.raw(func(proto.Message) error { return err })
	case 10:
		y.mu.Lock()
		y.joins, y.uploads = y.tape.Bytes(3), y.tape.Bytes(3)
		y.mu.Unlock()
	case 11:
		time.Sleep(time.Duration(1+y.tape.Choose(100)) * time.Second)
	}
	synctest.Wait()
}

// FuzzMaster lets a worker work for a master that sends anything at any time: leases nobody asked
// for, acknowledgements of nothing, streams that end, calls that fail, wait for ever or say what
// makes no sense. The worker neither panics nor hangs, sends nothing about leases it was not given,
// ends with an error of a known kind and leaves no goroutine behind.
func FuzzMaster(f *testing.F) {
	fuzzing.AddTapes(f, 16, 700, 12)
	f.Fuzz(func(t *testing.T, data []byte) {
		if len(data) > 4096 {
			return
		}
		fuzzing.Within(t, 20*time.Second, 256<<20, func() {
			synctest.Test(t, func(t *testing.T) { obey(t, data) })
		})
	})
}

// countedSolver counts those that are open.
type countedSolver struct {
	*fakeSolver
	open *atomic.Int32
}

func (s countedSolver) Close() error {
	s.open.Add(-1)
	return s.fakeSolver.Close()
}

// obey runs a worker under the master of one input.
func obey(t *testing.T, data []byte) {
	y := &tyrant{t: t, tape: &fuzzing.Tape{Rest: data}, granted: map[string]bool{}}
	how := y.tape.Byte()
	y.many = how&4 != 0
	y.joins = y.tape.Bytes(4)
	solver := &fakeSolver{}
	searched := 0
	var board amazons.Board // of the campaign that the engine is for
	solver.search = func(ctx context.Context, job engine.Job) engine.Result {
		if job.Budget == 0 {
			t.Error("a search without a limit")
		}
		searched++
		wait := time.NewTimer(time.Duration(1+searched%7) * time.Second)
		defer wait.Stop()
		nodes := job.Budget
		select {
		case <-ctx.Done():
			nodes /= 2
		case <-wait.C:
		}
		r := engine.Result{Phi: 3, Delta: 4, Nodes: nodes,
			Children: []numbers.Child{{Key: childKey(), Phi: 1, Delta: 2}}}
		key := job.State.CanonicalKey(board)
		switch (searched + int(how)) % 4 {
		case 0:
			r.Verdict, r.Phi, r.Delta, r.Children = eval.Won, 0, math.MaxUint32, nil
		case 1:
			r.Solved = []proof.Fact{{Key: key, Verdict: eval.Lost, Nodes: 20}}
		}
		return r
	}
	drain := make(chan struct{})
	stats := new(Stats)
	var open atomic.Int32 // engines
	c := Config{Name: "w", Drain: drain, Stats: stats, MaxWaiting: 2, MaxSends: 3,
		NewSolver: func(c engine.Config) (Solver, error) {
			if open.Add(1) > 1 {
				t.Error("there are two engines")
			}
			board = c.Board
			return countedSolver{solver, &open}, nil
		}}
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() { ended <- Run(ctx, y, c) }()
	synctest.Wait()
	var err error
	over := false
	for steps := 0; !over && y.tape.More() && steps < 200; steps++ {
		y.step()
		select {
		case err = <-ended:
			over = true
		default:
		}
	}
	if !over {
		if how&1 != 0 {
			cancel()
		} else {
			close(drain)
		}
		select {
		case err = <-ended:
		case <-time.After(time.Hour):
			cancel()
			err = fmt.Errorf("not before the end of all: %w", <-ended)
			if how&1 == 0 {
				t.Error("the drain did not end")
			}
		}
	}
	cancel()
	switch {
	case err == nil, errors.Is(err, context.Canceled), errors.Is(err, ErrUnreachable), errors.Is(err, ErrRefused),
		errors.Is(err, ErrProtocol), errors.Is(err, ErrUndelivered):
	default:
		t.Errorf("ended with %v", err)
	}
	if n := open.Load(); n != 0 {
		t.Errorf("%d engines were not closed", n)
	}
}
