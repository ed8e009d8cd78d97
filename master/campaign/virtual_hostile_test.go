package campaign

import (
	"context"
	"fmt"
	"path/filepath"
	"sync"
	"testing"
	"time"

	"amazonsfarm/master/tree"
	farmv1 "amazonsfarm/proto/farm/v1"
)

// hold takes every lease that it gets and reports on each once a second what it likes. It returns no
// result, obeys no cancel, and comes back until it is sent away for good.
func (c *cheat) hold(report func(n uint64) *farmv1.Progress) {
	for c.enter() == nil {
		c.holdOn(report)
	}
}

// tickOffset is how long after a tick of the master a cheat does something.
const tickOffset = 300 * time.Millisecond

// holdOn holds leases on one stream.
func (c *cheat) holdOn(report func(n uint64) *farmv1.Progress) {
	leases, ended := make(chan *farmv1.Lease), make(chan struct{})
	go func() {
		defer close(ended)
		for {
			m, err := c.work.Recv()
			if err != nil {
				return
			}
			if m.GetLease() != nil {
				leases <- m.GetLease()
			}
		}
	}()
	send := func(m *farmv1.WorkRequest) { _ = c.work.Send(m) } // where it fails the stream has ended
	ready := &farmv1.WorkRequest{Kind: &farmv1.WorkRequest_Ready{Ready: &farmv1.Ready{}}}
	send(ready)
	// Between two ticks of the master: what comes at the very same moment comes in any order.
	time.Sleep(tickOffset)
	ticker := time.NewTicker(time.Second)
	defer ticker.Stop()
	var held []*farmv1.Lease // in the order in which they came
	reports := map[*farmv1.Lease]uint64{}
	for {
		select {
		case l := <-leases:
			held = append(held, l)
			send(ready)
		case <-ticker.C:
			for _, l := range held {
				reports[l]++
				p := report(reports[l])
				p.Lease, p.Epoch = l.GetId(), l.GetEpoch()
				send(&farmv1.WorkRequest{Kind: &farmv1.WorkRequest_Progress{Progress: p}})
			}
		case <-ended:
			return
		}
	}
}

// beside runs a campaign with two honest workers that come when so many cheats have done their worst
// for five seconds. It returns how long the campaign takes from then on, and how many nodes the honest
// workers search.
func beside(t *testing.T, cheats int, honest []string, do func(c *cheat), look func(v *virtual)) (took time.Duration,
	nodes uint64) {
	t.Helper()
	inVirtualTime(t, 1, Options{Tree: tree.Config{CheckFirst: 2, CheckSeed: 1}}, func(v *virtual) {
		v.serve()
		ctx, cancel := context.WithCancel(v.t.Context())
		var all sync.WaitGroup
		defer all.Wait()
		defer cancel()
		for i := range cheats {
			name := fmt.Sprint("cheat-", i)
			c := &cheat{v: v, ctx: ctx, client: farmv1.NewFarmClient(v.connect(name, nil).conn), name: name}
			all.Go(func() { do(c) })
		}
		time.Sleep(5 * time.Second)
		began := time.Now()
		var members []*member
		for _, name := range honest {
			members = append(members, v.work(name, nil, nil))
		}
		select {
		case err := <-v.ended:
			v.ended <- err
		case <-time.After(time.Hour):
			t.Fatal("the campaign does not end in an hour")
		}
		took = time.Since(began)
		if look != nil {
			look(v)
		}
		for _, m := range members {
			nodes += m.stats.Nodes.Load()
			if n := m.stats.Refused.Load(); n != 0 {
				t.Errorf("of honest worker %s %d messages were refused", m.name, n)
			}
		}
		v.settle()
		v.done(members...)
	})
	t.Logf("beside %d cheats the campaign takes %v, and %d nodes of honest workers", cheats, took, nodes)
	return took, nodes
}

// TestLeasesThatAreHeld has workers take all leases there are, the first one first, and keep them
// alive with progress that leads nowhere. Each lease has an end, the ends are offences, and who holds
// leases again and again is sent away.
func TestLeasesThatAreHeld(t *testing.T) {
	two := []string{"one", "two"}
	alone, way := beside(t, 0, two, nil, nil)
	for _, c := range []struct {
		name   string
		cheats int
		report func(n uint64) *farmv1.Progress
		longer time.Duration // than as many nodes take without cheats, at most
	}{
		{"evaluations", 1, func(n uint64) *farmv1.Progress { return &farmv1.Progress{Evaluations: n} }, time.Minute},
		{"nodes", 1, func(n uint64) *farmv1.Progress { return &farmv1.Progress{Nodes: n} }, time.Minute},
		{"more nodes than anybody has", 1,
			func(n uint64) *farmv1.Progress { return &farmv1.Progress{Nodes: 1<<60 + n} },
			10 * time.Second},
		{"nodes that go back", 1, func(n uint64) *farmv1.Progress { return &farmv1.Progress{Nodes: 1000 - n} },
			20 * time.Second},
		{"ten at once", 10, func(n uint64) *farmv1.Progress { return &farmv1.Progress{Evaluations: n} },
			3 * time.Minute},
	} {
		if testing.Short() && c.cheats == 1 {
			continue
		}
		t.Run(c.name, func(t *testing.T) {
			took, nodes := beside(t, c.cheats, two, func(h *cheat) { h.hold(c.report) }, func(v *virtual) {
				if n := v.figure("worker_offences_total", "progress"); n < float64(c.cheats) {
					t.Errorf("%v offences are counted", n)
				}
			})
			if nodes > way*6/5 {
				t.Errorf("the honest workers search %d nodes, without cheats %d", nodes, way)
			}
			if usual := alone * time.Duration(nodes) / time.Duration(way); took > usual+c.longer {
				t.Errorf("the campaign takes %v, without cheats as many nodes take %v", took, usual)
			}
		})
	}
}

// TestAnotherStore: a worker whose master comes back with another store, at the same place, brings what it has
// of the first one. That is no offence. The next epoch of one store is a later one.
func TestAnotherStore(t *testing.T) {
	inVirtualTime(t, 5, Options{}, func(v *virtual) {
		v.serve()
		v.work("one", nil, nil)
		v.begun("one")
		before := v.summary("4x5").Tree.Epoch
		kept := v.options.StoreFile
		v.crash()
		v.options.StoreFile = filepath.Join(v.t.TempDir(), "other.store")
		v.serve()
		v.await("it works on the other store", func() bool { return v.summary("4x5").Tree.Spent > 0 })
		if n := v.figure("worker_offences_total", ""); n != 0 {
			v.t.Errorf("%v offences are counted", n)
		}
		if other := v.summary("4x5").Tree.Epoch; other == before {
			v.t.Errorf("two stores are in epoch %d", other)
		}
		v.stop()
		v.options.StoreFile = kept + "+"
		v.serve()
		if next := v.summary("4x5").Tree.Epoch; next <= before {
			v.t.Errorf("epoch %d comes after %d", next, before)
		}
	})
}

// TestWorkersThatDoNotWork has workers join that never ask for work: they delay nobody, and a lone
// honest worker is as fast as without them. One that asks and never searches takes leaves away for some
// ticks, once in Patience; also if it joins again before a lease of its own ends.
func TestWorkersThatDoNotWork(t *testing.T) {
	one := []string{"one"}
	alone, _ := beside(t, 0, one, nil, nil)
	idle := func(c *cheat) {
		if c.enter() == nil {
			_ = c.drained() // until the campaign is over
		}
	}
	asking := func(c *cheat) {
		for c.enter() == nil {
			for {
				if l, err := c.lease(); l == nil || err != nil {
					return
				}
			}
		}
	}
	again := func(c *cheat) {
		for c.enter() == nil {
			ready := &farmv1.WorkRequest{Kind: &farmv1.WorkRequest_Ready{Ready: &farmv1.Ready{}}}
			_, _ = c.work.Send(ready), c.work.Send(ready)
			time.Sleep(200 * time.Millisecond)
		}
	}
	for _, c := range []struct {
		name   string
		cheats int
		do     func(c *cheat)
		most   time.Duration
	}{
		{"idle", 1, idle, alone * 11 / 10}, {"five idle", 5, idle, alone * 11 / 10}, {"asking", 1, asking, 4 * alone},
		{"asking, joining again and again", 1, again, 4 * alone},
	} {
		t.Run(c.name, func(t *testing.T) {
			if took, _ := beside(t, c.cheats, one, c.do, nil); took > c.most {
				t.Errorf("the campaign takes %v, without the others %v", took, alone)
			}
		})
	}
}
