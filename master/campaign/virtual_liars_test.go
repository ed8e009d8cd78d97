package campaign

import (
	"bytes"
	"context"
	"crypto/sha256"
	"fmt"
	"sync"
	"testing"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"amazonsfarm/master/rpc"
	"amazonsfarm/master/tree"
	"amazonsfarm/master/trust"
	farmv1 "amazonsfarm/proto/farm/v1"
	"amazonsfarm/shared/amazons"
	"amazonsfarm/shared/eval"
	"amazonsfarm/shared/proof"
	"amazonsfarm/worker/agent"
)

// cheat is a worker that speaks the protocol as it likes, on one session and one stream.
type cheat struct {
	v       *virtual
	ctx     context.Context
	client  farmv1.FarmClient
	name    string
	session string
	work    farmv1.Farm_WorkClient
	epoch   uint64 // of the leases that it has seen
	key     []byte // of the campaign's root
}

// enter joins and opens a stream.
func (c *cheat) enter() error {
	r, err := c.client.Join(c.ctx, &farmv1.JoinRequest{Worker: c.name, ProtocolVersion: farmv1.ProtocolVersion,
		RulesVersion: farmv1.RulesVersion, Build: agent.Build()})
	if err != nil {
		return err
	}
	c.session = r.GetSession()
	if c.work, err = c.client.Work(c.ctx); err != nil {
		return err
	}
	return c.work.Send(&farmv1.WorkRequest{Kind: &farmv1.WorkRequest_Hello{Hello: &farmv1.Hello{Session: c.session}}})
}

// upload sends a certificate in one chunk, with the size that is said.
func (c *cheat) upload(data []byte, size uint64) (id [32]byte, err error) {
	id = sha256.Sum256(data)
	up, err := c.client.UploadCertificate(c.ctx)
	if err != nil {
		return id, err
	}
	// An answer may come before all is sent; then CloseAndRecv says what it is.
	_ = up.Send(&farmv1.UploadCertificateRequest{Session: c.session, Sha256: id[:], Size: size, Data: data})
	_, err = up.CloseAndRecv()
	return id, err
}

// certificate encodes claims about positions.
func (c *cheat) certificate(set *proof.Set, roots ...proof.Root) []byte {
	c.v.t.Helper()
	data, err := proof.Encode(proof.Certificate{Board: c.v.options.Root.Board, Roots: roots, Set: set})
	if err != nil {
		c.v.t.Fatal(err)
	}
	return data
}

// result sends the result of a lease.
func (c *cheat) result(r *farmv1.Result) error {
	if r.Phi == 0 {
		r.Phi, r.Delta = 1, 1
	}
	return c.work.Send(&farmv1.WorkRequest{Kind: &farmv1.WorkRequest_Result{Result: r}})
}

// lease asks for a lease and returns it, with what came before it left out.
func (c *cheat) lease() (*farmv1.Lease, error) {
	if err := c.work.Send(&farmv1.WorkRequest{Kind: &farmv1.WorkRequest_Ready{Ready: &farmv1.Ready{}}}); err != nil {
		return nil, err
	}
	for {
		m, err := c.work.Recv()
		if err != nil {
			return nil, err
		}
		if m.GetLease() != nil || m.GetFinished() != nil {
			return m.GetLease(), nil
		}
	}
}

// drained reads the stream to its end and returns why it ended.
func (c *cheat) drained() error {
	for {
		if _, err := c.work.Recv(); err != nil {
			return err
		}
	}
}

// search takes as long for a lease as a search does, with a sign of life each second, and says then
// what it likes.
func (c *cheat) search(l *farmv1.Lease, phi, delta uint32) error {
	for n := range l.GetBudgetNodes() {
		time.Sleep(perNode)
		p := &farmv1.Progress{Lease: l.GetId(), Epoch: l.GetEpoch(), Nodes: n + 1}
		if err := c.work.Send(&farmv1.WorkRequest{Kind: &farmv1.WorkRequest_Progress{Progress: p}}); err != nil {
			return err
		}
	}
	return c.says(l, phi, delta)
}

// says returns a lease with all of its budget, and with numbers.
func (c *cheat) says(l *farmv1.Lease, phi, delta uint32) error {
	return c.result(&farmv1.Result{Serial: 1, Lease: l.GetId(), Epoch: l.GetEpoch(), Key: l.GetKey(),
		Nodes: l.GetBudgetNodes(), Phi: phi, Delta: delta})
}

// lying is one kind of lie: what is done again and again, and what it counts as.
type lying struct {
	name    string
	offence string
	do      func(c *cheat) error
}

// uploading is the lie of an upload.
func uploading(make func(c *cheat) (data []byte, size uint64)) func(*cheat) error {
	return func(c *cheat) error {
		data, size := make(c)
		_, err := c.upload(data, size)
		return err
	}
}

// whole is a certificate with the size that it has.
func whole(data []byte) ([]byte, uint64) { return data, uint64(len(data)) }

// sending is the lie of messages on the stream: it is over when the stream has ended.
func sending(send func(c *cheat) error) func(*cheat) error {
	return func(c *cheat) error {
		_ = send(c) // where the stream has ended before, it says why
		return fmt.Errorf("the stream has ended: %v", c.drained())
	}
}

// liarKinds are the kinds of lies. Black wins the campaign's root, and the position after
// winningMove is lost for white.
func liarKinds(root amazons.Position, winning amazons.Move) []lying {
	lost := root.After(winning)
	entry := func(p amazons.Position) *proof.Set {
		state, symmetry := p.State().Canonical(p.Board)
		set := new(proof.Set)
		set.Add(proof.Entry{Key: state.Key(p.Board), Move: p.Board.ApplyMove(symmetry, p.State().Moves(nil)[0])})
		return set
	}
	result := func(c *cheat, id uint64, o farmv1.Verdict, facts ...*farmv1.Fact) *farmv1.Result {
		return &farmv1.Result{Serial: 1, Lease: id, Epoch: c.epoch, Key: c.key, Verdict: o, Nodes: 1, Facts: facts}
	}
	return []lying{
		{"false wins", "false_certificate", uploading(func(c *cheat) ([]byte, uint64) {
			return whole(c.certificate(entry(lost), proof.RootOf(lost, eval.Won)))
		})},
		{"false losses", "false_certificate", uploading(func(c *cheat) ([]byte, uint64) {
			return whole(c.certificate(new(proof.Set), proof.RootOf(root, eval.Lost)))
		})},
		{"true claims without their proof", "false_certificate", uploading(func(c *cheat) ([]byte, uint64) {
			return whole(c.certificate(new(proof.Set), proof.RootOf(root, eval.Won)))
		})},
		{"damaged certificates", "false_certificate", uploading(func(c *cheat) ([]byte, uint64) {
			data := c.certificate(entry(root), proof.RootOf(root, eval.Won))
			data[len(data)-1] ^= 1
			return whole(data)
		})},
		{"what is no certificate", "false_certificate",
			uploading(func(*cheat) ([]byte, uint64) { return whole([]byte("trust me")) })},
		{"wins without a fact", "unfounded_claim", sending(func(c *cheat) error {
			l, err := c.lease()
			if err != nil || l == nil {
				return err
			}
			r := result(c, l.GetId(), farmv1.Verdict_VERDICT_WON)
			r.Key = l.GetKey()
			for range 3 {
				if err := c.result(r); err != nil {
					return err
				}
			}
			return nil
		})},
		{"somebody else's leases", "foreign_lease", sending(func(c *cheat) error {
			all, err := c.v.farm.Loop.Views(c.ctx)
			if err != nil {
				return err
			}
			for _, w := range all[0].Tree.Workers {
				for _, l := range w.Leases {
					if w.Name == c.name {
						continue
					}
					r, key := result(c, uint64(l.ID), 0), l.Key.Bytes()
					r.Key = key[:]
					if err := c.result(r); err != nil {
						return err
					}
				}
			}
			return c.result(result(c, 1<<40, 0)) // was never granted
		})},
		{"floods of results", "flood", sending(func(c *cheat) error {
			for range 2000 {
				if err := c.result(result(c, 1, 0)); err != nil {
					return err
				}
			}
			return nil
		})},
		{"giant messages", "oversize", sending(func(c *cheat) error {
			r := result(c, 1, 0)
			r.Hints = make([]byte, farmv1.MaxMessageBytes+1)
			return c.result(r)
		})},
		{"giant chunks", "oversize", uploading(func(*cheat) ([]byte,
			uint64) {
			return whole(bytes.Repeat([]byte("x"), farmv1.ChunkBytes+1))
		})},
		{"giant certificates", "oversize", uploading(func(*cheat) ([]byte, uint64) { return []byte("x"), 1 << 40 })},
		{"nonsense", "malformed", sending(func(c *cheat) error { return c.work.Send(&farmv1.WorkRequest{}) })},
		{"too few nodes", "short", func(c *cheat) error {
			l, err := c.lease()
			if err != nil || l == nil {
				return err
			}
			time.Sleep(100 * time.Millisecond)
			r := result(c, l.GetId(), 0)
			r.Key = l.GetKey()
			return c.result(r)
		}},
		{"made-up numbers at once", "numbers", func(c *cheat) error {
			l, err := c.lease()
			if err != nil || l == nil {
				return err
			}
			time.Sleep(100 * time.Millisecond)
			return c.says(l, 1, 1<<19)
		}},
		{"made-up numbers in good time", "numbers", func(c *cheat) error {
			l, err := c.lease()
			if err != nil || l == nil {
				return err
			}
			return c.search(l, 1<<19, 1)
		}},
	}
}

// lie does it again and again until the cheat is sent away for good, the campaign is over, or a
// time has passed. It returns what Join said last.
func (c *cheat) lie(kind lying, until time.Time) error {
	for time.Now().Before(until) {
		if err := c.enter(); err != nil {
			return err
		}
		for time.Now().Before(until) {
			if err := kind.do(c); err != nil && status.Code(err) != codes.InvalidArgument &&
				status.Code(err) != codes.ResourceExhausted {
				break // the session has ended
			}
		}
	}
	return nil
}

// throughput runs a campaign with two honest workers and, perhaps, a cheat beside them, and returns
// the nodes an honest one searched in a second of virtual time, and how long the campaign took.
func throughput(t *testing.T, kind *lying, root amazons.Position) (rate float64, took time.Duration) {
	t.Helper()
	inVirtualTime(t, 1, Options{Services: rpc.Config{SessionMessages: 50},
		Tree: tree.Config{CheckFirst: 2, CheckSeed: 1}},
		func(v *virtual) {
			v.serve()
			honest := []*member{v.work("one", nil, nil), v.work("two", nil, nil)}
			v.begun("one")
			ctx, cancel := context.WithTimeout(v.t.Context(), time.Hour)
			defer cancel()
			var all sync.WaitGroup
			defer all.Wait()
			began, before := time.Now(), honest[0].stats.Nodes.Load()+honest[1].stats.Nodes.Load()
			if kind != nil {
				large := grpc.WithDefaultCallOptions(grpc.MaxCallSendMsgSize(64 << 20))
				key := root.State().CanonicalKey(root.Board).Bytes()
				c := &cheat{v: v, ctx: ctx, client: farmv1.NewFarmClient(v.connect("liar", nil, large).conn),
					name:  "liar",
					epoch: v.summary("4x5").Tree.Epoch, key: key[:]}
				all.Go(func() {
					// A lie that takes as long as a search takes seven seconds each time, and three must be checked.
					err := c.lie(*kind, time.Now().Add(2*time.Minute))
					if status.Code(err) != codes.PermissionDenied {
						v.t.Errorf("the liar was told %v", err)
					}
				})
				v.await("the liar is quarantined",
					func() bool { return v.figure("workers_quarantined_total", "") == 1 })
			}
			select {
			case err := <-v.ended:
				v.ended <- err
			case <-time.After(24 * time.Hour):
			}
			nodes := honest[0].stats.Nodes.Load() + honest[1].stats.Nodes.Load() - before
			took = time.Since(began)
			rate = float64(nodes) / took.Seconds() / 2
			v.settle()
			v.done(honest...)
			for _, m := range honest {
				// When facts are taken back the leases that are out end, as when a master starts again.
				most := uint64(0)
				if kind != nil && kind.offence == trust.FalseCertificate {
					most = 1
				}
				if n := m.stats.Refused.Load(); n > most {
					v.t.Errorf("of honest worker %s %d messages were refused", m.name, n)
				}
			}
			if kind == nil {
				return
			}
			least := 3.0
			if kind.offence == trust.FalseCertificate { // a false part is no accident
				least = 1
			}
			if n := v.figure("worker_offences_total", kind.offence); n < least {
				v.t.Errorf("%v offences of the kind %s are counted", n, kind.offence)
			}
		})
	t.Logf("%.3f nodes a second of an honest worker; the campaign took %v", rate, took)
	return rate, took
}

// TestLiarsInVirtualTime has a worker lie in every way beside two honest ones. Each lie is counted,
// and whoever tells one that cannot be an accident is sent away for good; the certificate verifies,
// the honest workers search at least four fifths of the nodes in a second that they search without
// a liar, and the answer takes them at most a fifth longer.
func TestLiarsInVirtualTime(t *testing.T) {
	root := position(t, virtualRoot)
	winning, err := root.ParseMove(virtualWinning)
	if err != nil {
		t.Fatal(err)
	}
	alone, answer := throughput(t, nil, root)
	for i, kind := range liarKinds(root, winning) {
		if testing.Short() && i%3 > 0 { // for the race detector: the master deals with all of them in the same places
			continue
		}
		t.Run(kind.name, func(t *testing.T) {
			beside, took := throughput(t, &kind, root)
			t.Logf("beside a liar the answer takes %+.1f percent longer", 100*(took.Seconds()/answer.Seconds()-1))
			if beside < 0.8*alone {
				t.Errorf("beside a liar an honest worker searches %.3f nodes a second, without one %.3f", beside, alone)
			}
			if took > answer*6/5 {
				t.Errorf("beside a liar the answer takes %v, without one %v", took, answer)
			}
		})
	}
}
