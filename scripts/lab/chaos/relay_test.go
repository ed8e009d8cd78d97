package main

import (
	"context"
	"crypto/sha256"
	"errors"
	"net"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"amazonsfarm/master/store"
	"amazonsfarm/master/tree"
	farmv1 "amazonsfarm/proto/farm/v1"
	"amazonsfarm/shared/amazons"

	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"

	"amazonsfarm/shared/eval"
	"amazonsfarm/shared/proof"
)

// echo is a master that acknowledges whatever comes, and counts.
type echo struct {
	farmv1.UnimplementedFarmServer
	mu             sync.Mutex
	joins, uploads int
	serials        []uint64
	ended          int
}

func (e *echo) note(f func()) {
	e.mu.Lock()
	defer e.mu.Unlock()
	f()
}

func (e *echo) Join(context.Context, *farmv1.JoinRequest) (*farmv1.JoinResponse, error) {
	e.note(func() { e.joins++ })
	return &farmv1.JoinResponse{Session: "s"}, nil
}

func (e *echo) UploadCertificate(s farmv1.Farm_UploadCertificateServer) error {
	for {
		if _, err := s.Recv(); err != nil {
			break
		}
	}
	e.note(func() { e.uploads++ })
	return s.SendAndClose(&farmv1.UploadCertificateResponse{})
}

func (e *echo) Work(s farmv1.Farm_WorkServer) error {
	defer e.note(func() { e.ended++ })
	for {
		m, err := s.Recv()
		if err != nil {
			return nil
		}
		if f := m.GetFacts(); f != nil {
			e.note(func() { e.serials = append(e.serials, f.GetSerial()) })
			if err := s.Send(&farmv1.WorkResponse{
				Kind: &farmv1.WorkResponse_Ack{Ack: &farmv1.Ack{Serial: f.GetSerial()}}}); err != nil {
				return err
			}
		}
	}
}

func (e *echo) await(t *testing.T, what string, f func() bool) {
	t.Helper()
	for range 1000 {
		ok := false
		e.note(func() { ok = f() })
		if ok {
			return
		}
		time.Sleep(10 * time.Millisecond)
	}
	t.Fatalf("%s did not happen", what)
}

func keyOf(t *testing.T, n int) amazons.Key {
	t.Helper()
	p, err := amazons.ParsePosition("5x5")
	if err != nil {
		t.Fatal(err)
	}
	s := p.State()
	return s.After(s.Moves(nil)[n]).CanonicalKey(p.Board)
}

func factsMessage(serial uint64, k amazons.Key, certificate [32]byte) *farmv1.WorkRequest {
	key := k.Bytes()
	return &farmv1.WorkRequest{Kind: &farmv1.WorkRequest_Facts{Facts: &farmv1.Facts{Serial: serial,
		Facts: []*farmv1.Fact{
			{Key: key[:], Verdict: farmv1.Verdict_VERDICT_WON, Nodes: 7, CertificateSha256: certificate[:]}}}}}
}

// TestRelay sends messages through a relay that doubles all of them, over a wire that stands still
// and is cut.
func TestRelay(t *testing.T) {
	master := &echo{}
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	server := grpc.NewServer()
	farmv1.RegisterFarmServer(server, master)
	go func() { _ = server.Serve(l) }()
	defer server.Stop()
	book, w, n := newLedger(), newWire(), new(counts)
	r, err := newRelay(plan{Seed: 1, Noise: noise{Twice: 1000, Most: time.Millisecond}}, 1, l.Addr().String(), w, book,
		n, func() {})
	if err != nil {
		t.Fatal(err)
	}
	defer r.close()
	conn, err := grpc.NewClient(r.address, grpc.WithTransportCredentials(insecure.NewCredentials()))
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	client := farmv1.NewFarmClient(conn)
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	if _, err := client.Join(ctx, &farmv1.JoinRequest{Worker: "w"}); err != nil {
		t.Fatal(err)
	}
	up, err := client.UploadCertificate(ctx)
	if err != nil {
		t.Fatal(err)
	}
	id := sha256.Sum256([]byte("x"))
	if err := up.Send(&farmv1.UploadCertificateRequest{Session: "s", Sha256: id[:], Size: 1,
		Data: []byte("x")}); err != nil {
		t.Fatal(err)
	}
	if _, err := up.CloseAndRecv(); err != nil {
		t.Fatal(err)
	}
	work, err := client.Work(ctx)
	if err != nil {
		t.Fatal(err)
	}
	send := func(m *farmv1.WorkRequest) {
		t.Helper()
		if err := work.Send(m); err != nil {
			t.Fatal(err)
		}
	}
	send(&farmv1.WorkRequest{Kind: &farmv1.WorkRequest_Hello{Hello: &farmv1.Hello{Session: "s"}}})
	send(factsMessage(1, keyOf(t, 0), id))
	for range 4 { // two acknowledgements, each twice
		if m, err := work.Recv(); err != nil || m.GetAck().GetSerial() != 1 {
			t.Fatal(m, err)
		}
	}
	if facts, certificates := book.size(1); facts != 1 || certificates != 1 || master.joins != 2 ||
		master.uploads != 2 {
		t.Errorf("%d facts, %d certificates, %d joins, %d uploads", facts, certificates, master.joins, master.uploads)
	}
	// What stands still arrives once it is healed.
	w.hold(true, false)
	send(factsMessage(2, keyOf(t, 1), id))
	time.Sleep(100 * time.Millisecond)
	master.note(func() {
		if len(master.serials) != 2 {
			t.Errorf("held, and %v arrived", master.serials)
		}
	})
	w.heal(false)
	master.await(t, "what was held", func() bool { return len(master.serials) == 4 })
	// A cut ends the worker's stream at once and the master's later.
	r.linger.Store(int64(300 * time.Millisecond))
	w.cut()
	for err == nil {
		_, err = work.Recv()
	}
	master.note(func() {
		if master.ended != 0 {
			t.Error("the master noticed at once")
		}
	})
	if _, err := client.Join(ctx, &farmv1.JoinRequest{Worker: "w"}); err == nil {
		t.Error("joined over a wire that is cut")
	}
	master.await(t, "the end of the stream", func() bool { return master.ended == 1 })
	w.heal(false)
	if _, err := client.Join(ctx, &farmv1.JoinRequest{Worker: "w"}, grpc.WaitForReady(true)); err != nil {
		t.Error(err)
	}
}

// TestLedger wants the audit to miss nothing: a fact, a certificate, work.
func TestLedger(t *testing.T) {
	file := filepath.Join(t.TempDir(), "s")
	book := newLedger()
	if err := book.audit(file); err != nil {
		t.Errorf("nothing acknowledged, no store: %v", err)
	}
	s, err := store.Create(file, store.Campaign{Board: "5x5", Root: "5x5"}, store.Options{MinFreeBytes: -1})
	if err != nil {
		t.Fatal(err)
	}
	id := sha256.Sum256([]byte("x"))
	_, err = s.PutCertificate(1, id, []byte("x"))
	err = errors.Join(err, s.Commit([]tree.Persist{{Spent: 10, Epoch: 1,
		Facts: []proof.Fact{{Key: keyOf(t, 0), Verdict: eval.Won, Nodes: 7, Certificate: id}}}}, nil), s.Close())
	if err != nil {
		t.Fatal(err)
	}
	book.certificate(&farmv1.UploadCertificateRequest{Sha256: id[:], Size: 1})
	book.acknowledged(factsMessage(1, keyOf(t, 0), id), &farmv1.Ack{Serial: 1})
	result := func(lease, nodes uint64) *farmv1.WorkRequest {
		return &farmv1.WorkRequest{Kind: &farmv1.WorkRequest_Result{Result: &farmv1.Result{Epoch: 1, Lease: lease,
			Nodes: nodes}}}
	}
	book.acknowledged(result(1, 10), &farmv1.Ack{Serial: 2})
	book.acknowledged(result(1, 10), &farmv1.Ack{Serial: 2, Refused: "lease is not running"})
	book.acknowledged(result(2, 1000), &farmv1.Ack{Serial: 3, Refused: "lease is of another epoch"})
	book.acknowledged(factsMessage(4, keyOf(t, 2), id),
		&farmv1.Ack{Serial: 4, Refused: "certificate 00 is named by a fact and was not uploaded"})
	if err := book.audit(file); err != nil {
		t.Error(err)
	}
	for want, change := range map[string]func(l *ledger){
		"a fact was acknowledged": func(l *ledger) {
			l.acknowledged(factsMessage(5, keyOf(t, 1), id),
				&farmv1.Ack{Serial: 5, Refused: "lease is of another epoch"})
		},
		"as lost and":      func(l *ledger) { l.facts[about{1, keyOf(t, 0)}] = eval.Lost },
		"certificate":      func(l *ledger) { l.certificates[proof.ID{1}] = upload{1, 5} },
		"the store has co": func(l *ledger) { l.acknowledged(result(3, 1), &farmv1.Ack{Serial: 6}) },
		"of campaign 2":    func(l *ledger) { l.nodes[granted{2, 1, 1}] = 1 },
		"for campaign 2":   func(l *ledger) { l.certificates[id] = upload{2, 1} },
		"has 1 campaigns":  func(l *ledger) { l.facts[about{2, keyOf(t, 0)}] = eval.Won },
		"never sent":       func(l *ledger) { l.acknowledged(nil, &farmv1.Ack{Serial: 7}) },
	} {
		l := newLedger()
		book.mu.Lock()
		for k, v := range book.facts {
			l.facts[k] = v
		}
		for k, v := range book.certificates {
			l.certificates[k] = v
		}
		for k, v := range book.nodes {
			l.nodes[k] = v
		}
		book.mu.Unlock()
		change(l)
		if err := l.audit(file); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v", want, err)
		}
	}
	if err := os.Remove(file); err != nil {
		t.Fatal(err)
	}
	if err := book.audit(file); err == nil {
		t.Error("there is no store, and nobody noticed")
	}
}
