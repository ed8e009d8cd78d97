package campaign

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
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

	"amazonsfarm/master/loop"
	"amazonsfarm/master/rpc"
	"amazonsfarm/master/store"
	"amazonsfarm/master/tree"
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
	server := rpc.NewServer(f.Loop, f.Services, rpc.ServerOptions{})
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
	moves := root.State().Moves(nil)
	first := moves[slices.IndexFunc(moves, func(m amazons.Move) bool {
		after, _ := root.State().After(m).Canonical(root.Board)
		return eval.Plain(root.Board, after, eval.ClosingLeaves) == eval.Open
	})]
	entry := new(proof.Set)
	entry.Add(proof.Entry{Key: state.Key(root.Board), Move: root.Board.ApplyMove(symmetry, first)})
	after := root.After(first)
	return []proof.Certificate{
		{Board: root.Board, Roots: []proof.Root{proof.RootOf(root, eval.Won)}, Set: entry},
		{Board: root.Board, Roots: []proof.Root{proof.RootOf(after, eval.Lost)}, Set: new(proof.Set)},
		{Board: root.Board, Roots: []proof.Root{proof.RootOf(after, eval.Won)}, Set: new(proof.Set)},
	}
}

// lie uploads a false part and says what it claims. It returns when the master has believed it.
func (l *liar) lie(ctx context.Context, c proof.Certificate) error {
	id, err := l.upload(ctx, c)
	if err != nil {
		return err
	}
	work, err := l.client.Work(ctx)
	if err != nil {
		return err
	}
	facts := farmv1.WriteFacts([]proof.Fact{{Key: c.Roots[0].State.CanonicalKey(c.Board), Verdict: c.Roots[0].Claim,
		Nodes: 1_000_000, Certificate: id}})
	for _, m := range []*farmv1.WorkRequest{
		{Kind: &farmv1.WorkRequest_Hello{Hello: &farmv1.Hello{Session: l.session}}},
		{Kind: &farmv1.WorkRequest_Facts{Facts: &farmv1.Facts{Serial: 1, Facts: facts}}},
	} {
		if err := work.Send(m); err != nil {
			return err
		}
	}
	for {
		if m, err := work.Recv(); err != nil || m.GetAck() != nil {
			return err
		}
	}
}

// TestFoundLies goes on with stores that have a false part of somebody else, as an import leaves it: in the process
// that holds the workers, too, what the part claims is taken back, and the campaign comes to its end.
func TestFoundLies(t *testing.T) {
	root := position(t, "4x4")
	for i, lie := range lies(root) {
		file := filepath.Join(t.TempDir(), "s.store")
		about := aboutOf(loop.Asked{Name: "4x4", Root: root}, "")
		s, err := store.Create(file, about, store.Options{})
		if err != nil {
			t.Fatal(err)
		}
		data, err := proof.Encode(lie)
		if err != nil {
			t.Fatal(err)
		}
		id := proof.IDOf(data)
		fact := proof.Fact{Key: lie.Roots[0].State.CanonicalKey(root.Board), Verdict: lie.Roots[0].Claim, Nodes: 9,
			Certificate: id}
		_, err = s.PutCertificate(1, id, data)
		err = errors.Join(err, s.Commit([]tree.Persist{{Campaign: 1, Facts: []proof.Fact{fact}}}, nil), s.Close())
		if err != nil {
			t.Fatal(err)
		}
		r, err := solve(t, Options{Root: root, StoreFile: file, Embedded: true,
			Tree: tree.Config{InitialBudget: 50, SplitAfter: 100}}, nil, 2)
		if err != nil || !r.Verified || r.Winner != "second" {
			t.Errorf("lie %d: %+v, %v", i, r, err)
		}
	}
}

// TestOwned: a false part that has come since this process began is its own fault, and nobody else's. A lost one is
// nobody's.
func TestOwned(t *testing.T) {
	_, f, _ := inParts(t)
	defer f.Close()
	c := f.campaigns[0]
	all, err := f.store.Parts(c.about.Number)
	if err != nil || len(all) < 2 {
		t.Fatalf("%d parts, %v", len(all), err)
	}
	c.found = all[0].Number
	for _, x := range []struct {
		err  error
		ids  []proof.ID
		want bool
	}{
		{nil, []proof.ID{all[1].ID}, false},
		{loop.ErrFalse, []proof.ID{all[0].ID}, false},
		{loop.ErrFalse, []proof.ID{all[1].ID}, true},
		{loop.ErrFalse, []proof.ID{all[0].ID, all[1].ID}, true},
		{loop.ErrLost, []proof.ID{all[1].ID}, false},
	} {
		if got := c.owned(x.err, x.ids...); errors.Is(got, loop.ErrOwn) != x.want || !errors.Is(got, x.err) {
			t.Errorf("%v of %v: %v", x.err, x.ids, got)
		}
	}
}

// TestLiars has workers claim a false win, a false loss and a win without a proof, also of the root
// itself. Each false part is found, what it claims is taken back, its maker is quarantined, and honest
// workers finish the campaign with a proof that verifies, in one file and in parts.
func TestLiars(t *testing.T) {
	root := position(t, "4x4") // the second player wins: README.md
	for _, liars := range []int{1, 3, 10} {
		t.Run(fmt.Sprint(liars), func(t *testing.T) {
			registry := prometheus.NewRegistry()
			f, ctx := serve(t, Options{Root: root, StoreFile: filepath.Join(t.TempDir(), "s.store"),
				Services: rpc.Config{Build: agent.Build()}, Tree: tree.Config{InitialBudget: 100, SplitAfter: 200},
				Loop: loop.Config{Heartbeat: 50 * time.Millisecond}, Registerer: registry})
			lies := lies(root)
			told := 0
			for i := range liars {
				l := &liar{t: t, client: farmv1.NewFarmClient(f.conn)}
				name := fmt.Sprintf("liar-%d", i)
				if err := l.join(ctx, name); err != nil {
					t.Fatal(err)
				}
				c := lies[i%len(lies)]
				if i >= len(lies) { // one file each
					c.Set = new(proof.Set)
					c.Roots = append(slices.Clone(c.Roots), proof.RootOf(root.After(root.State().Moves(nil)[i]),
						eval.Lost))
				}
				if err := l.lie(ctx, c); err == nil {
					told++
				}
			}
			if told == 0 {
				t.Fatal("no lie was believed for a moment: nothing is tested")
			}
			var workers sync.WaitGroup
			working, leave := context.WithCancel(ctx)
			defer leave()
			for i := range 4 {
				workers.Go(func() {
					if err := agent.Run(working, f.conn, agent.Config{Name: fmt.Sprintf("honest-%d", i), Cores: 1,
						TableBytes: 4 << 20}); err != nil && working.Err() == nil {
						t.Errorf("an honest worker ended with %v", err)
					}
				})
			}
			err := <-f.ended
			leave() // some may be about to join again
			workers.Wait()
			if r := f.Result(err); err != nil || r.Winner != "second" || !r.Verified {
				t.Errorf("the campaign ended with %+v, %v", r, err)
			}
			quarantines, err := f.store.Quarantines()
			if err != nil || len(quarantines) == 0 {
				t.Errorf("%d quarantines, %v", len(quarantines), err)
			}
			for _, q := range quarantines {
				if !strings.HasPrefix(q.Name, "liar") {
					t.Errorf("%s is honest, and quarantined: %s", q.Name, q.Why)
				}
			}
			if n := metric(t, registry, "amazons_master_false_certificates_total"); n == 0 {
				t.Error("no false part was counted")
			}
			if n := metric(t, registry, "amazons_master_retracted_facts_total"); n == 0 {
				t.Error("no fact was taken back")
			}
			if err := f.store.Check(); err != nil {
				t.Error(err)
			}
		})
	}
}

// TestFirstLies has new workers bring false parts where the first parts of a party are checked before they count:
// each is refused and not stored, and its maker is quarantined at once. The campaign then ends as it should.
func TestFirstLies(t *testing.T) {
	root := position(t, "4x4")
	registry := prometheus.NewRegistry()
	f, ctx := serve(t, Options{Root: root, StoreFile: filepath.Join(t.TempDir(), "s.store"),
		Services: rpc.Config{Build: agent.Build()},
		Tree:     tree.Config{InitialBudget: 100, SplitAfter: 200, CheckFirst: 2},
		Loop:     loop.Config{Heartbeat: 50 * time.Millisecond}, Registerer: registry})
	for i, c := range lies(root) {
		l := &liar{t: t, client: farmv1.NewFarmClient(f.conn)}
		name := fmt.Sprintf("liar-%d", i)
		if err := l.join(ctx, name); err != nil {
			t.Fatal(err)
		}
		id, err := l.upload(ctx, c)
		if status.Code(err) != codes.InvalidArgument || !strings.Contains(err.Error(), "does not hold") {
			t.Errorf("lie %d: %v", i, err)
		}
		if f.store.HasCertificate(1, id) {
			t.Errorf("lie %d is in the store", i)
		}
		if err := l.join(ctx, name); status.Code(err) != codes.PermissionDenied {
			t.Errorf("its maker joins again: %v", err)
		}
	}
	err := agent.Run(ctx, f.conn, agent.Config{Name: "honest", Cores: 1, TableBytes: 4 << 20})
	if r := f.Result(<-f.ended); err != nil || r.Winner != "second" || !r.Verified {
		t.Errorf("the campaign ended with %+v, the worker with %v", r, err)
	}
	if n := metric(t, registry, "amazons_master_retracted_facts_total"); n != 0 {
		t.Errorf("%v facts were taken back: they had counted", n)
	}
}

// TestLieBesideTheRoot has a worker deny a fact under a campaign whose root the position cannot come after. The tree of
// that campaign does not know the fact, which another campaign of the board has in the store.
func TestLieBesideTheRoot(t *testing.T) {
	root := position(t, "4x4")
	f, ctx := serve(t, Options{Root: root, StoreFile: filepath.Join(t.TempDir(), "s.store"),
		Services: rpc.Config{Build: agent.Build()}, Loop: loop.Config{Heartbeat: 50 * time.Millisecond}})
	moves := root.State().Moves(nil)
	if _, err := f.Loop.Add(ctx, loop.Asked{Root: root.After(moves[0])}); err != nil {
		t.Fatal(err)
	}
	l := &liar{t: t, client: farmv1.NewFarmClient(f.conn)}
	if err := l.join(ctx, "liar"); err != nil {
		t.Fatal(err)
	}
	work, err := l.client.Work(ctx)
	if err != nil {
		t.Fatal(err)
	}
	_ = work.Send(&farmv1.WorkRequest{Kind: &farmv1.WorkRequest_Hello{Hello: &farmv1.Hello{Session: l.session}}})
	beside := root.After(moves[len(moves)-1])
	for i, claim := range []eval.Verdict{eval.Lost, eval.Won} {
		c := proof.Certificate{Board: root.Board, Roots: []proof.Root{proof.RootOf(beside, claim)}, Set: new(proof.Set)}
		id, err := l.upload(ctx, c)
		if err != nil {
			t.Fatal(err)
		}
		_ = work.Send(&farmv1.WorkRequest{Kind: &farmv1.WorkRequest_Facts{Facts: &farmv1.Facts{Campaign: uint32(i + 1),
			Serial: uint64(i + 1), Facts: farmv1.WriteFacts([]proof.Fact{{Key: beside.State().CanonicalKey(root.Board),
				Verdict: claim, Nodes: 1000, Certificate: id}})}}})
		m, err := work.Recv()
		if err != nil {
			t.Fatalf("the facts of campaign %d are answered with %v", i+1, err)
		}
		if refused := m.GetAck().GetFactsRefused(); refused != (i > 0) {
			t.Errorf("the facts of campaign %d are answered with %v", i+1, m)
		}
	}
	if _, err := f.Loop.Views(ctx); err != nil {
		t.Errorf("the master ended: %v", err)
	}
}

// TestDamagedUploads has a worker send a part with a damaged block, again and again. It is refused, not
// stored, and counted.
func TestDamagedUploads(t *testing.T) {
	root := position(t, "4x4")
	registry := prometheus.NewRegistry()
	f, ctx := serve(t, Options{Root: root, StoreFile: filepath.Join(t.TempDir(), "s.store"),
		Services: rpc.Config{Build: agent.Build()}, Loop: loop.Config{Heartbeat: 50 * time.Millisecond},
		Registerer: registry})
	l := &liar{t: t, client: farmv1.NewFarmClient(f.conn)}
	if err := l.join(ctx, "damaging"); err != nil {
		t.Fatal(err)
	}
	damaged, err := proof.Encode(lies(root)[0])
	if err != nil {
		t.Fatal(err)
	}
	damaged[len(damaged)-1] ^= 1
	for i := range 3 {
		id, err := l.send(ctx, damaged)
		if status.Code(err) != codes.InvalidArgument || !strings.Contains(err.Error(), "does not match its checksum") {
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
