package campaign

import (
	"bytes"
	"context"
	"errors"
	"log/slog"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	grpccredentials "google.golang.org/grpc/credentials"

	"amazonsfarm/master/credentials"
	"amazonsfarm/master/loop"
	"amazonsfarm/master/store"
	"amazonsfarm/master/tree"
	"amazonsfarm/master/trust"
	farmv1 "amazonsfarm/proto/farm/v1"
	"amazonsfarm/shared/eval"
	"amazonsfarm/shared/identity"
	"amazonsfarm/shared/proof"
	"amazonsfarm/worker/agent"
	"amazonsfarm/worker/engine"
)

// seeds are those with which each trouble is played, in short tests the first.
var seeds = []uint64{1, 2}

// trouble plays a test once with each seed.
func trouble(t *testing.T, o Options, play func(v *virtual)) {
	t.Helper()
	for i, seed := range seeds {
		if i > 0 && testing.Short() {
			break
		}
		t.Run("", func(t *testing.T) { inVirtualTime(t, seed, o, play) })
	}
}

// some returns a time from least to twice that.
func (v *virtual) some(least time.Duration) time.Duration {
	return least + time.Duration(v.random.Int64N(int64(least)))
}

// begun waits until a worker has a lease and has worked on it for a while.
func (v *virtual) begun(name string) {
	v.t.Helper()
	v.await(name+" holds a lease", func() bool { return v.holds(name) })
	time.Sleep(v.some(5 * time.Second))
	v.await(name+" holds a lease", func() bool { return v.holds(name) })
}

// done holds that workers end by themselves, without an error.
func (v *virtual) done(members ...*member) {
	v.t.Helper()
	for _, m := range members {
		if err := v.wait(m); err != nil {
			v.t.Errorf("worker %s ended with %v", m.name, err)
		}
	}
}

// TestWorkerVanishes has a worker lose power while it holds a lease: nothing says that it is gone.
// Its lease is freed after ten seconds without a sign and goes to the other worker.
func TestWorkerVanishes(t *testing.T) {
	trouble(t, Options{}, func(v *virtual) {
		v.serve()
		gone := v.work("gone", nil, nil)
		v.begun("gone")
		gone.wire.cut()
		gone.abort()
		other := v.work("other", nil, nil)
		began := time.Now()
		v.await("the lease is freed", func() bool { return v.figure("leases_expired_total", "") == 1 })
		if took := time.Since(began); took < 2*time.Second || took > 13*time.Second {
			v.t.Errorf("the lease was freed after %v", took)
		}
		v.settle()
		v.done(other)
	})
}

// TestDistantWorkers has workers whose messages travel for a good part of the time of a lease. They
// ask for the next one early, so that a good part of them (38 % on average) is there in time.
func TestDistantWorkers(t *testing.T) {
	trouble(t, Options{Tree: tree.Config{InitialBudget: 4, SplitAfter: 20, MaxBudget: 4}}, func(v *virtual) {
		v.distance = 300 * time.Millisecond
		v.serve()
		a, b := v.work("a", nil, nil), v.work("b", nil, nil)
		v.settle()
		v.done(a, b)
		leases, early := uint64(0), uint64(0)
		for _, m := range v.members {
			leases, early = leases+m.stats.Leases.Load(), early+m.stats.Prefetched.Load()
			v.t.Logf("%s: %d leases, %d of them there in time", m.name, m.stats.Leases.Load(),
				m.stats.Prefetched.Load())
		}
		if early*6 < leases {
			v.t.Errorf("the workers had %d leases and %d of them in time", leases, early)
		}
	})
}

// TestPartitionAndHeal cuts one of two workers off while it holds a lease: for a moment, which
// nobody notices, and for so long that the lease is given to the other one and the connection is
// given up. It comes back by itself, and what it brings in is taken.
func TestPartitionAndHeal(t *testing.T) {
	for _, c := range []struct {
		name    string
		least   time.Duration
		noticed bool
	}{{"short", 500 * time.Millisecond, false}, {"long", 40 * time.Second, true}} {
		t.Run(c.name, func(t *testing.T) {
			var said strings.Builder // by the loop alone
			trouble(t, Options{Log: slog.New(slog.NewTextHandler(&said, nil))}, func(v *virtual) {
				said.Reset()
				v.serve()
				cut, other := v.work("cut", nil, nil), v.work("other", nil, nil)
				v.begun("cut")
				cut.wire.cut()
				time.Sleep(v.some(c.least))
				cut.wire.heal()
				results := cut.stats.Results.Load()
				v.await("the worker's results are taken again",
					func() bool { return cut.stats.Results.Load() > results })
				expired, joins := v.figure("leases_expired_total", ""), cut.stats.Joins.Load()
				if (expired > 0) != c.noticed || (joins > 1) != c.noticed {
					v.t.Errorf("%v leases expired and the worker joined %d times; a long cut: %v", expired, joins,
						c.noticed)
				}
				v.settle()
				v.done(cut, other)
				const word = `level=WARN msg="worker lost: its connection has ended" worker=cut`
				lost := strings.Contains(said.String(), word)
				if lost != c.noticed {
					v.t.Errorf("a long cut: %v; the log: %s", c.noticed, said.String())
				}
			})
		})
	}
}

// TestMasterRestartsWithLeasesOut has the master crash twice while two workers hold leases. The
// next one finds what was on disk at that moment; the workers go on with their leases, join again,
// and bring in what they had.
func TestMasterRestartsWithLeasesOut(t *testing.T) {
	trouble(t, Options{}, func(v *virtual) {
		v.serve()
		one, two := v.work("one", nil, nil), v.work("two", nil, nil)
		for range 2 {
			v.begun("one")
			v.begun("two")
			v.crash()
			time.Sleep(v.some(3 * time.Second))
			v.serve()
		}
		v.settle()
		v.done(one, two)
		if one.stats.Joins.Load() != 3 || two.stats.Joins.Load() != 3 {
			v.t.Errorf("the workers joined %d and %d times, want 3", one.stats.Joins.Load(), two.stats.Joins.Load())
		}
	})
}

// hanging is a search that hangs in its third job: it shows no progress, and does not hear that it
// is called back.
type hanging struct {
	agent.Solver
	jobs    int
	hangs   *atomic.Bool
	release <-chan struct{}
}

func (h *hanging) Run(ctx context.Context, job engine.Job, progress func(engine.Progress)) (engine.Result, error) {
	r, err := h.Solver.Run(ctx, job, progress)
	if h.jobs++; h.jobs == 3 {
		h.hangs.Store(true)
		<-h.release
	}
	return r, err
}

// TestStuckWorkerWithLiveConnection has a worker's search hang while its agent goes on to report.
// Reports without progress are no sign of life: the lease is freed although the connection is there
// all the time, and what the worker says when it wakes up is refused without harm, unless its leaf is
// still free.
func TestStuckWorkerWithLiveConnection(t *testing.T) {
	trouble(t, Options{}, func(v *virtual) {
		v.serve()
		release, hangs := make(chan struct{}), new(atomic.Bool)
		wake := sync.OnceFunc(func() { close(release) })
		defer wake()
		stuck := v.work("stuck", nil, func(s agent.Solver) agent.Solver {
			return &hanging{Solver: s, hangs: hangs,
				release: release}
		})
		v.await("the search hangs", hangs.Load)
		began := time.Now()
		v.await("its lease is freed", func() bool { return v.figure("leases_expired_total", "") == 1 })
		if took := time.Since(began); took < 2*time.Second || took > 13*time.Second {
			v.t.Errorf("the lease was freed after %v", took)
		}
		if !stuck.stats.Connected.Load() || stuck.stats.Joins.Load() != 1 {
			v.t.Error("the connection did not live on")
		}
		other := v.work("other", nil, nil)
		time.Sleep(v.some(10 * time.Second))
		wake()
		v.await("the late result is refused, or taken where nobody has its leaf", func() bool {
			return stuck.stats.Refused.Load() == 1 || stuck.stats.Results.Load() >= 3
		})
		v.settle()
		v.done(stuck, other)
		if n := v.figure("worker_offences_total", "foreign_lease"); n != 0 {
			v.t.Errorf("a late result counts as %v offences", n)
		}
	})
}

// TestClockJump sets the master's clock a day ahead and two days back while leases are out. Leases
// are counted in beats, not by the clock: none is lost, and no worker is shown as silent for less
// than nothing.
func TestClockJump(t *testing.T) {
	var jump atomic.Int64
	o := Options{Loop: loop.Config{
		Now: func() time.Time { return time.Now().Add(time.Duration(jump.Load())) }}}
	trouble(t, o, func(v *virtual) {
		jump.Store(0)
		v.serve()
		one, two := v.work("one", nil, nil), v.work("two", nil, nil)
		control := farmv1.NewControlClient(v.connect("operator", nil).conn)
		for _, to := range []time.Duration{24 * time.Hour, -24 * time.Hour, 0} {
			v.begun("one")
			jump.Store(int64(to))
			time.Sleep(v.some(3 * time.Second))
			status, err := control.Status(v.t.Context(), &farmv1.StatusRequest{})
			if err != nil {
				v.t.Fatal(err)
			}
			list, err := control.Workers(v.t.Context(), &farmv1.WorkersRequest{})
			if err != nil {
				v.t.Fatal(err)
			}
			if status.GetSeconds() < 0 || len(list.GetWorkers()) != 2 {
				v.t.Errorf("after a jump to %v: %v, %v", to, status, list)
			}
			for _, w := range list.GetWorkers() {
				if w.GetSilentSeconds() < 0 || w.GetConnectedSeconds() < 0 {
					v.t.Errorf("after a jump to %v: %v", to, w)
				}
			}
		}
		if n := v.figure("leases_expired_total", ""); n != 0 {
			v.t.Errorf("%v leases were lost", n)
		}
		v.settle()
		v.done(one, two)
		if one.stats.Joins.Load() != 1 || two.stats.Joins.Load() != 1 {
			v.t.Error("a worker had to join again")
		}
	})
}

// TestTendWithoutRoom has a commit find no room for facts whose parts are there. Then there is enough room to remove
// parts, but not to go on. These parts stay, although no fact of the store names them yet.
func TestTendWithoutRoom(t *testing.T) {
	const least, large = 1 << 20, 1 << 40
	var free atomic.Int64
	free.Store(large)
	var fresh atomic.Pointer[store.Store] // without a part
	o := Options{Store: store.Options{MinFreeBytes: least, FreeBytes: func(string) (int64, bool) {
		if s := fresh.Load(); s != nil {
			if n, _ := s.Certificates(); n > 0 && fresh.CompareAndSwap(s, nil) {
				free.Store(least + 1<<19) // too little for a commit
			}
		}
		return free.Load(), true
	}}}
	trouble(t, o, func(v *virtual) {
		v.serve()
		fresh.Store(v.farm.store)
		ctx, enough := context.WithCancel(context.WithoutCancel(v.t.Context()))
		v.wires.Go(func() { v.farm.Tend(ctx) })
		defer enough()
		w := v.work("w", nil, nil)
		v.await("a commit finds no room", func() bool { return v.figure("space_pauses_total", "") > 0 })
		free.Store(least + 8<<20)
		time.Sleep(3 * tendEvery)
		free.Store(large)
		v.settle()
		v.done(w)
	})
}

// TestTendBesideSlowUploads has a worker bring a proof in parts over a line so slow, or to a bucket that is away for so
// long, that each part comes a quarter of an hour after the one before. The facts follow the last part. All of them
// count, and the worker has done nothing wrong. Parts whose facts never come are removed in the end.
func TestTendBesideSlowUploads(t *testing.T) {
	inVirtualTime(t, 1, Options{Tree: tree.Config{CheckFirst: 2, CheckSeed: 1},
		Loop: loop.Config{Heartbeat: 20 * time.Second}}, func(v *virtual) {
		v.serve()
		ctx, cancel := context.WithCancel(context.WithoutCancel(v.t.Context()))
		v.wires.Go(func() { v.farm.Tend(ctx) })
		defer cancel()
		board := v.options.Root.Board
		e, err := engine.New(engine.Config{Board: board, Cores: 1, TableBytes: 1 << 18, MinFactNodes: 1})
		if err != nil {
			v.t.Fatal(err)
		}
		_, err = e.Run(v.t.Context(), engine.Job{State: v.options.Root.State(), Budget: 1 << 20}, nil)
		root := proof.Fact{Key: v.options.Root.State().CanonicalKey(board), Verdict: eval.Won, Nodes: 1000}
		proved, failed := e.Prove(v.t.Context(), []proof.Fact{root}, nil)
		if err = errors.Join(err, failed, e.Close()); err != nil || len(proved) != 1 {
			v.t.Fatal(len(proved), err)
		}
		certificate, err := proof.Read(bytes.NewReader(proved[0].Data), int64(len(proved[0].Data)))
		if err != nil {
			v.t.Fatal(err)
		}
		var parts []proof.Certificate // the last one proves the root
		if err := proof.Split(v.t.Context(), certificate, 12, func(c proof.Certificate) error {
			parts = append([]proof.Certificate{c}, parts...)
			return nil
		}); err != nil || len(parts) < 3 {
			v.t.Fatal(len(parts), err)
		}
		slow := &cheat{v: v, ctx: ctx, client: farmv1.NewFarmClient(v.connect("slow", nil).conn), name: "slow"}
		if err := slow.enter(); err != nil {
			v.t.Fatal(err)
		}
		never, err := slow.upload(proved[0].Data, uint64(len(proved[0].Data)))
		if err != nil {
			v.t.Fatal(err)
		}
		time.Sleep(unnamedAge - time.Hour)
		facts := &farmv1.Facts{Serial: 1}
		for _, c := range parts {
			data, err := proof.Encode(c)
			if err != nil {
				v.t.Fatal(err)
			}
			id, err := slow.upload(data, uint64(len(data)))
			if err != nil {
				v.t.Fatal(err)
			}
			for _, r := range c.Roots {
				facts.Facts = append(facts.Facts, farmv1.WriteFacts([]proof.Fact{{Key: r.State.CanonicalKey(board),
					Verdict: r.Claim, Nodes: 1000, Certificate: id}})...)
			}
			time.Sleep(15 * time.Minute)
		}
		if err := slow.work.Send(&farmv1.WorkRequest{Kind: &farmv1.WorkRequest_Facts{Facts: facts}}); err != nil {
			v.t.Fatal(err)
		}
		m, err := slow.work.Recv()
		if err != nil || m.GetAck().GetRefused() != "" {
			v.t.Errorf("the facts are answered with %v, %v", m, err)
		}
		if v.farm.store.Holds(1, never) {
			v.t.Error("a part without a fact is there after more than a day")
		}
		err = <-v.ended
		if r := v.farm.Result(err); err != nil || r.Winner != "black" || !r.Verified {
			v.t.Errorf("the campaign ended with %+v, %v", r, err)
		}
		if n := v.figure("worker_offences_total", trust.FalseCertificate); n > 0 {
			v.t.Errorf("the slow worker is accused of %v false parts", n)
		}
	})
}

// TestMasterOfAnotherVersion replaces the master by one of another build while a worker holds a
// lease. The worker is told which build is asked for and ends; what it had brought in stays, and a
// worker of the new build finishes.
func TestMasterOfAnotherVersion(t *testing.T) {
	trouble(t, Options{}, func(v *virtual) {
		ours := agent.Build()
		v.serve()
		old := v.work("old", nil, nil)
		v.await("results are in", func() bool { return old.stats.Results.Load() > 2 })
		v.begun("old")
		v.crash()
		v.options.Services.Build = "another build"
		v.serve()
		if err := v.wait(old); !errors.Is(err, agent.ErrRefused) ||
			!strings.Contains(err.Error(), "by build another build, the worker is build "+ours) {
			v.t.Errorf("the worker of the old build ended with %v", err)
		}
		stranger := v.connect("stranger", nil)
		for _, r := range []*farmv1.JoinRequest{
			{Worker: "w", ProtocolVersion: farmv1.ProtocolVersion + 1, RulesVersion: farmv1.RulesVersion,
				Build: "another build"},
			{Worker: "w", ProtocolVersion: farmv1.ProtocolVersion, RulesVersion: farmv1.RulesVersion +
				1, Build: "another build"},
		} {
			if _, err := farmv1.NewFarmClient(stranger.conn).Join(v.t.Context(), r); err == nil ||
				!strings.Contains(err.Error(), "version") {
				v.t.Errorf("%v: %v", r, err)
			}
		}
		v.crash()
		v.options.Services.Build = ours
		v.serve()
		fresh := v.work("fresh", nil, nil)
		v.settle()
		v.done(fresh)
	})
}

// TestRevokedInVirtualTime takes a worker's certificate back while it holds a lease. Within some
// seconds it is sent away and says why, its lease goes to the other worker, and started again it
// does not come in. A worker whose folder has a new credential by then goes on with that one.
func TestRevokedInVirtualTime(t *testing.T) {
	trouble(t, Options{}, func(v *virtual) {
		folder := filepath.Join(v.t.TempDir(), "certs")
		authority, err := credentials.Init(folder, credentials.Options{})
		if err != nil {
			v.t.Fatal(err)
		}
		defer authority.Close()
		var serial string // of the credential that was made last
		issue := func(role identity.Role, name string, hosts ...string) string {
			v.t.Helper()
			out, err := authority.Issue(credentials.Request{Identity: identity.Identity{Role: role, Name: name},
				Hosts: hosts, Renew: true})
			if err != nil {
				v.t.Fatal(err)
			}
			serial = out.Serial
			return out.Folder
		}
		issue(identity.Master, "master", "master")
		files, err := identity.Open(folder, identity.Master)
		if err != nil {
			v.t.Fatal(err)
		}
		refused := v.certify(files)
		enter := func(folder string) grpccredentials.TransportCredentials {
			v.t.Helper()
			files, err := identity.Open(folder, identity.Worker)
			if err != nil {
				v.t.Fatal(err)
			}
			return agent.Credentials(files, slog.New(slog.DiscardHandler))
		}
		v.serve()
		badFolder := issue(identity.Worker, "bad")
		bad := v.work("bad", enter(badFolder), nil)
		good := v.work("good", enter(issue(identity.Worker, "good")), nil)
		v.begun("bad")
		old := serial
		issue(identity.Worker, "good")
		for _, revoked := range []string{"bad", old} {
			if _, err := authority.Revoke(revoked); err != nil {
				v.t.Fatal(err)
			}
		}
		began := time.Now()
		if err := v.wait(bad); !errors.Is(err, agent.ErrRefused) ||
			!strings.Contains(err.Error(), "the credential is revoked, or not made for this use") {
			v.t.Errorf("the revoked worker ended with %v", err)
		}
		if took := time.Since(began); took > 4*time.Second {
			v.t.Errorf("the revoked worker was sent away after %v", took)
		}
		again := v.work("bad", enter(badFolder), nil)
		if err := v.wait(again); !errors.Is(err, agent.ErrRefused) ||
			!strings.Contains(err.Error(), "the credential is revoked, or not made for this use") {
			v.t.Errorf("started again, the revoked worker ended with %v", err)
		}
		if n := refused("revoked"); n < 3 {
			v.t.Errorf("%v refusals are counted", n)
		}
		v.settle()
		v.done(good)
	})
}
