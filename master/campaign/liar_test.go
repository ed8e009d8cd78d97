package campaign

import (
	"context"
	"crypto/sha256"
	"net"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/status"
	"google.golang.org/grpc/test/bufconn"

	"amazonsfarm/master/rpc"
	farmv1 "amazonsfarm/proto/farm/v1"
	"amazonsfarm/shared/amazons"
	"amazonsfarm/shared/eval"
	"amazonsfarm/shared/proof"
	"amazonsfarm/worker/agent"
)

// liar speaks the protocol and tells lies.
type liar struct {
	t       *testing.T
	client  farmv1.FarmClient
	session string
}

func (l *liar) join(ctx context.Context, name string) error {
	r, err := l.client.Join(ctx, &farmv1.JoinRequest{Worker: name, ProtocolVersion: farmv1.ProtocolVersion,
		RulesVersion: farmv1.RulesVersion, Build: agent.Build()})
	l.session = r.GetSession()
	return err
}

func (l *liar) upload(ctx context.Context, c proof.Certificate) (id [32]byte, err error) {
	data, err := proof.Encode(c)
	if err != nil {
		l.t.Fatal(err)
	}
	return l.send(ctx, data)
}

func (l *liar) send(ctx context.Context, data []byte) (id [32]byte, err error) {
	id = sha256.Sum256(data)
	up, err := l.client.UploadCertificate(ctx)
	if err != nil {
		return id, err
	}
	// An answer may come before all is sent; then CloseAndRecv says what it is.
	_ = up.Send(&farmv1.UploadCertificateRequest{Session: l.session, Sha256: id[:], Size: uint64(len(data)),
		Data: data})
	_, err = up.CloseAndRecv()
	return id, err
}

// served is a campaign at work, and a connection to it.
type served struct {
	*Farm
	conn  *grpc.ClientConn
	ended chan error // how Master.Run ended
}

// serve opens a campaign and runs it until it ends or the test does, for a minute at most: then the
// context ends.
func serve(t *testing.T, o Options) (served, context.Context) {
	t.Helper()
	f, err := Open(o)
	if err != nil {
		t.Fatal(err)
	}
	listener := bufconn.Listen(memoryBuffer)
	server, err := rpc.NewServer(f.Loop, f.Services, rpc.ServerOptions{})
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	options := append(agent.DialOptions(), grpc.WithTransportCredentials(insecure.NewCredentials()),
		grpc.WithContextDialer(func(ctx context.Context, _ string) (net.Conn,
			error) {
			return listener.DialContext(ctx)
		}))
	conn, err := grpc.NewClient("passthrough:///farm", options...)
	if err != nil {
		t.Fatal(err)
	}
	s := served{f, conn, make(chan error, 1)}
	var all sync.WaitGroup
	all.Go(func() { _ = server.Serve(listener) })
	all.Go(func() { s.ended <- f.Loop.Run(ctx) })
	t.Cleanup(func() {
		cancel()
		conn.Close()
		server.Stop()
		all.Wait()
		f.Close()
	})
	return s, ctx
}

// lies returns false certificates about a root: a false win, a false loss, and a true win whose
// proof lacks an entry.
func lies(root amazons.Position) []proof.Certificate {
	state, symmetry := root.State().Canonical(root.Board)
	first := root.State().Moves(nil)[0]
	entry := new(proof.Set)
	entry.Add(proof.Entry{Key: state.Key(root.Board), Move: root.Board.ApplyMove(symmetry, first)})
	after := root.After(first)
	return []proof.Certificate{
		{Board: root.Board, Roots: []proof.Root{proof.RootOf(root, eval.Won)}, Set: entry},
		{Board: root.Board, Roots: []proof.Root{proof.RootOf(after, eval.Lost)}, Set: new(proof.Set)},
		{Board: root.Board, Roots: []proof.Root{proof.RootOf(after, eval.Won)}, Set: new(proof.Set)},
	}
}

// TestLiars has a worker send false certificates: a false win, a false loss, a proof with an entry
// missing. None is stored, each is counted, the third one sends the worker away for good, and an
// honest worker finishes the campaign with a proof that verifies.
func TestLiars(t *testing.T) {
	root := position(t, "4x4") // the second player wins: AMAZONS.md
	registry := prometheus.NewRegistry()
	o := Options{Root: root, StoreFile: filepath.Join(t.TempDir(), "s.store"), Build: agent.Build(), InitialBudget: 100,
		SplitAfter: 200,
		Heartbeat:  50 * time.Millisecond, Registerer: registry}
	f, ctx := serve(t, o)
	l := &liar{t: t, client: farmv1.NewFarmClient(f.conn)}
	if err := l.join(ctx, "liar"); err != nil {
		t.Fatal(err)
	}
	lies := lies(root)
	for i, c := range lies {
		id, err := l.upload(ctx, c)
		if status.Code(err) != codes.InvalidArgument || !strings.Contains(err.Error(), "not shown to") {
			t.Errorf("lie %d: %v", i+1, err)
		}
		if f.store.HasCertificate(1, id) {
			t.Errorf("lie %d is in the store", i+1)
		}
	}
	if _, err := l.upload(ctx, lies[0]); status.Code(err) != codes.FailedPrecondition {
		t.Errorf("the session lives on: %v", err)
	}
	if err := l.join(ctx, "liar"); status.Code(err) != codes.PermissionDenied ||
		!strings.Contains(err.Error(), "quarantined") {
		t.Errorf("the liar joins again: %v", err)
	}
	if n := metric(t, registry, "amazons_master_false_certificates_total"); n != 3 {
		t.Errorf("%v false certificates were counted", n)
	}
	if n := metric(t, registry, "amazons_master_workers_quarantined_total"); n != 1 {
		t.Errorf("%v workers were quarantined", n)
	}

	if err := agent.Run(ctx, f.conn, agent.Config{Name: "honest", Cores: 1, TableBytes: 4 << 20}); err != nil {
		t.Errorf("the honest worker ended with %v", err)
	}
	err := <-f.ended
	if r := f.Result(err); err != nil || r.Winner != "second" || !r.Verified {
		t.Errorf("the campaign ended with %+v, %v", r, err)
	}

	// A master that starts again knows what was proved before.
	if err := f.Close(); err != nil {
		t.Fatal(err)
	}
	o.Registerer = prometheus.NewRegistry()
	again, err := Open(o)
	if err != nil {
		t.Fatal(err)
	}
	defer again.Close()
	a := &admission{campaign: again.campaigns[0], ledger: proof.NewLedger(root.Board, eval.SumLeaves, 0)}
	data, err := proof.Encode(proof.Certificate{Board: root.Board, Roots: []proof.Root{proof.RootOf(root, eval.Lost)}})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := a.admit(ctx, data); err != nil {
		t.Errorf("what follows from the store is refused: %v", err)
	}
	// Without room for what comes, uploads are not verified any more, and false ones are left to
	// the final check.
	a = &admission{campaign: again.campaigns[0], ledger: proof.NewLedger(root.Board, eval.SumLeaves, 1)}
	if data, err = proof.Encode(lies[0]); err != nil {
		t.Fatal(err)
	}
	if _, err := a.admit(ctx, data); err != nil || !a.full {
		t.Errorf("with a full ledger: %v", err)
	}
}

// TestDamagedUploads has a worker send a certificate with a damaged block, again and again. It is
// refused, not stored, and counted, with and without verification of what is whole.
func TestDamagedUploads(t *testing.T) {
	root := position(t, "4x4")
	for _, c := range []struct {
		name      string
		maxProved int
		falseGoes bool // a false certificate that is whole is stored
	}{
		{"verified", 0, false},
		{"not verified", -1, true},
	} {
		t.Run(c.name, func(t *testing.T) {
			registry := prometheus.NewRegistry()
			f, ctx := serve(t, Options{Root: root, StoreFile: filepath.Join(t.TempDir(), "s.store"),
				Build:     agent.Build(),
				Heartbeat: 50 * time.Millisecond, Registerer: registry, MaxProved: c.maxProved})
			l := &liar{t: t, client: farmv1.NewFarmClient(f.conn)}
			if err := l.join(ctx, "damaging"); err != nil {
				t.Fatal(err)
			}
			whole, err := proof.Encode(lies(root)[0])
			if err != nil {
				t.Fatal(err)
			}
			damaged := slices.Clone(whole)
			damaged[len(damaged)-1] ^= 1
			for i := range 3 {
				id, err := l.send(ctx, damaged)
				if status.Code(err) != codes.InvalidArgument ||
					!strings.Contains(err.Error(), "does not match its checksum") {
					t.Errorf("damaged upload %d: %v", i+1, err)
				}
				if f.store.HasCertificate(1, id) {
					t.Errorf("damaged upload %d is in the store", i+1)
				}
			}
			if n := metric(t, registry, "amazons_master_false_certificates_total"); n != 3 {
				t.Errorf("%v damaged certificates were counted", n)
			}
			if err := l.join(ctx, "damaging"); status.Code(err) != codes.PermissionDenied {
				t.Errorf("after three damaged uploads the worker joins again: %v", err)
			}
			if err := l.join(ctx, "lying"); err != nil {
				t.Fatal(err)
			}
			id, err := l.send(ctx, whole)
			if stored := f.store.HasCertificate(1, id); stored != c.falseGoes || (err == nil) != c.falseGoes {
				t.Errorf("a false certificate that is whole: stored %v, %v", stored, err)
			}
		})
	}
}

// metric returns the value of a counter.
func metric(t *testing.T, r *prometheus.Registry, name string) float64 {
	t.Helper()
	families, err := r.Gather()
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range families {
		if f.GetName() == name {
			return f.GetMetric()[0].GetCounter().GetValue()
		}
	}
	t.Fatalf("there is no metric %s", name)
	return 0
}
