package agent

import (
	"context"
	"testing"
	"time"

	"amazonsfarm/worker/engine"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
)

// masterDelay is how long the master takes for a lease in these tests, and a lease of 1000 nodes
// takes a second. So the next one is worth asking for ahead of the end, by lead.
const (
	masterDelay = 150 * time.Millisecond
	lead        = masterDelay * 3 / 2
)

// steady is a search of a node a millisecond that finds nothing.
func steady(ctx context.Context, job engine.Job) engine.Result {
	begun := time.Now()
	select {
	case <-time.After(time.Duration(job.Budget) * time.Millisecond):
	case <-ctx.Done():
		job.Budget = uint64(time.Since(begun) / time.Millisecond)
	}
	return spent(ctx, job)
}

// known gives the agent a first lease, by which it learns how fast it and the master are. The next
// one has been asked for then.
func known(s *fakeStream) {
	s.t.Helper()
	s.ready()
	time.Sleep(masterDelay)
	s.lease(1, 1, 1000)
	s.ack(s.result().Serial, "")
	s.ready()
	time.Sleep(masterDelay)
}

// inHand gives the agent lease 2 and, so long after it has asked early, lease 3.
func inHand(s *fakeStream, delay time.Duration) {
	s.t.Helper()
	s.lease(2, 1, 1000)
	s.ready()
	time.Sleep(delay)
	s.lease(3, 1, 1000)
}

// within checks that a time is what it should be, but for a few milliseconds.
func within(t *testing.T, what string, got, want time.Duration) {
	t.Helper()
	if got < want-10*time.Millisecond || got > want+10*time.Millisecond {
		t.Errorf("%s after %v; want %v", what, got, want)
	}
}

// TestPrefetch has the agent ask for each lease before the one before ends: when that one ends the
// search goes on at once.
func TestPrefetch(t *testing.T) {
	work(t, Config{}, steady, nil, func(f *farm) {
		s := f.stream()
		known(s)
		begun := time.Now()
		s.lease(2, 1, 1000)
		for id := uint64(3); id < 8; id++ {
			s.ready()
			within(t, "the next lease is asked for", time.Since(begun), time.Second-lead)
			time.Sleep(masterDelay)
			s.lease(id, 1, 1000)
			r := s.result()
			if r.Lease != id-1 || r.Nodes != 1000 || r.Cancelled {
				t.Errorf("result %v", r)
			}
			within(t, "a result", time.Since(begun), time.Second)
			s.ack(r.Serial, "")
			begun = time.Now()
		}
		if n := f.stats.Prefetched.Load(); n != 5 {
			t.Errorf("%d leases were there in time; want 5", n)
		}
		s.finish()
	})
}

// TestPrefetchNotWorthIt has leases beside which the wait for the next one is nothing, or a worker
// that is told never to ask early: it asks when it has nothing to do.
func TestPrefetchNotWorthIt(t *testing.T) {
	for _, test := range []struct {
		name   string
		config Config
		budget uint64
	}{{"long leases", Config{}, 2000}, {"never", Config{PrefetchPercent: -1}, 500},
		{"only where waiting takes a fifth", Config{PrefetchPercent: 20}, 1000}} {
		t.Run(test.name, func(t *testing.T) {
			work(t, test.config, steady, nil, func(f *farm) {
				s := f.stream()
				known(s)
				for id := uint64(2); id < 5; id++ {
					s.lease(id, 1, test.budget)
					if r := s.result(); r.Lease != id || r.Nodes != test.budget {
						t.Errorf("result %v", r)
					} else {
						s.ack(r.Serial, "")
					}
					s.ready()
					time.Sleep(masterDelay)
				}
				s.finish()
			})
		})
	}
}

// TestPrefetchWithoutWork has a master without work for ten seconds: that says nothing of how long
// it takes when there is some.
func TestPrefetchWithoutWork(t *testing.T) {
	work(t, Config{}, steady, nil, func(f *farm) {
		s := f.stream()
		known(s)
		s.noWork()
		time.Sleep(10 * time.Second)
		begun := time.Now()
		s.lease(2, 1, 1000)
		s.ready()
		within(t, "the next lease is asked for", time.Since(begun), time.Second-lead)
		s.finish()
	})
}

// TestPrefetchCancelled cancels the lease in hand: it is returned at once, another one is
// asked for, and the running one goes on.
func TestPrefetchCancelled(t *testing.T) {
	work(t, Config{}, steady, nil, func(f *farm) {
		s := f.stream()
		known(s)
		inHand(s, masterDelay)
		s.cancelLease(3)
		s.returned(3, 1)
		s.ready()
		time.Sleep(masterDelay / 4)
		s.lease(4, 1, 1000)
		if r := s.result(); r.Lease != 2 || r.Nodes != 1000 || r.Cancelled {
			t.Errorf("result %v", r)
		}
		s.ready()
		if r := s.result(); r.Lease != 4 || r.Nodes != 1000 {
			t.Errorf("result %v", r)
		}
		if len(f.solver.jobs) != 3 {
			t.Errorf("%d searches of three leases", len(f.solver.jobs))
		}
		s.finish()
	})
}

// TestPrefetchWaitsTooLong has a lease that takes far longer than its nodes say: the one in hand
// goes back to the master after two heartbeats, for others.
func TestPrefetchWaitsTooLong(t *testing.T) {
	work(t, Config{}, steady, nil, func(f *farm) {
		s := f.stream()
		known(s)
		f.solver.search = endless
		inHand(s, 0)
		begun := time.Now()
		s.returned(3, 1)
		if waited := time.Since(begun); waited > 2*heartbeat || waited < heartbeat {
			t.Errorf("it waited for %v", waited)
		}
		s.cancelLease(2)
		if r := s.result(); r.Lease != 2 {
			t.Errorf("result %v", r)
		}
		s.ready()
		s.finish()
	})
}

// TestPrefetchOnBrokenStream breaks the connection while there is a lease in hand: the master takes
// it back, so it is not searched, and on the next stream the next lease is asked for in time again.
func TestPrefetchOnBrokenStream(t *testing.T) {
	work(t, Config{BackoffMin: time.Millisecond}, steady, nil, func(f *farm) {
		s := f.stream()
		known(s)
		inHand(s, masterDelay)
		time.Sleep(masterDelay / 4)
		s.ended <- status.Error(codes.Unavailable, "restarting")
		s = f.stream()
		s.ready()
		time.Sleep(masterDelay / 8)
		s.lease(4, 1, 1000)
		for _, id := range []uint64{2, 4} {
			if r := s.result(); r.Lease != id || r.Nodes != 1000 {
				t.Errorf("result %v", r)
			}
			if id == 2 {
				s.ready()
			}
		}
		if len(f.solver.jobs) != 3 {
			t.Errorf("%d searches of three leases", len(f.solver.jobs))
		}
		s.finish()
	})
}

// TestPrefetchDuringUpload has the evidence of a lease travel for long. The next one is searched
// meanwhile, and the master hears of both with each heartbeat: it would take either of them for
// lost.
func TestPrefetchDuringUpload(t *testing.T) {
	work(t, Config{}, steady, nil, func(f *farm) {
		s := f.stream()
		f.master.upload = func(int) error { time.Sleep(10 * heartbeat); return nil }
		known(s)
		f.solver.search = func(ctx context.Context, job engine.Job) engine.Result {
			steady(ctx, job)
			f.solver.search = endless
			return solvedLost(ctx, job)
		}
		inHand(s, masterDelay)
		time.Sleep(time.Second - lead + masterDelay + heartbeat) // what was told before lease 2 ended
		for len(s.in) > 0 {
			<-s.in
		}
		told := map[uint64]int{}
		for range 5 {
			time.Sleep(heartbeat)
			for len(s.in) > 0 {
				told[(<-s.in).GetProgress().GetLease()]++
			}
		}
		if told[2] < 4 || told[3] < 4 || len(told) != 2 {
			t.Errorf("in five heartbeats the leases were told of so many times: %v", told)
		}
		if r := s.result(); r.Lease != 2 {
			t.Errorf("result %v", r)
		}
		s.finish()
	})
}

// TestDrainWithLeaseInHand drains a worker that has one lease running and one in hand: both go back.
func TestDrainWithLeaseInHand(t *testing.T) {
	work(t, Config{}, steady, nil, func(f *farm) {
		s := f.stream()
		known(s)
		inHand(s, 0)
		time.Sleep(time.Millisecond)
		close(f.drain)
		s.returned(3, 1)
		r := s.result()
		if r.Lease != 2 || !r.Cancelled || r.Nodes < 765 || r.Nodes > 785 {
			t.Errorf("result %v", r)
		}
		s.ack(r.Serial, "")
		if m := s.next(); m.GetGoodbye() == nil {
			t.Errorf("got %v; want Goodbye", m)
		}
		s.ended <- nil
	})
}
