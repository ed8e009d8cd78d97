package simulate

import (
	"cmp"
	"errors"
	"fmt"
	"math"
	"time"

	"amazonsfarm/master/hints"
	"amazonsfarm/master/tree"
	farmv1 "amazonsfarm/proto/farm/v1"
	"amazonsfarm/shared/amazons"
	"amazonsfarm/shared/dfpn"
	"amazonsfarm/worker/agent"
)

// worker is one virtual worker: the machine of worker/agent, with a link and a search in virtual
// time.
type worker struct {
	*farm
	number int
	lives  int    // it crashed once less
	name   string // of this life
	speed  float64

	table  *dfpn.Table
	search *dfpn.Searcher
	solved *[]solved
	seen   hints.Seen // hints that its table has

	machine *agent.Machine // of this life; nil: it is down
	stats   *agent.Stats   // of the machine
	wakes   int            // Ticks planned; only the last one counts

	link        int  // number of its present link; messages of older ones are lost
	linked      bool // the link is up
	sent, heard time.Duration
	asked       time.Duration
	asking      bool          // a request is with the master
	idle        time.Duration // when it ran out of leases

	slice    *slice        // being searched; nil: none
	unproved time.Duration // of extraction that its search has brought about
	proving  time.Duration // until when it extracts
	proofs   int           // extractions begun or stopped; only the last one counts

	position amazons.State // that was searched last
	leased   uint64        // nodes of the running lease, in rounds that ended
	closing  bool          // the running lease is cancelled because its position is closed
	called   time.Duration // since when
}

// errBroken is the reason of every broken link.
var errBroken = errors.New("link broken")

// start brings a worker to life.
func (w *worker) start() (err error) {
	if w.table == nil {
		if err := w.equip(); err != nil {
			return err
		}
	}
	w.lives++
	w.name = fmt.Sprintf("w%d.%d", w.number+1, w.lives)
	w.byName[w.name] = w
	w.seen, w.stats = hints.Seen{}, new(agent.Stats)
	prefetch := cmp.Or(w.c.PrefetchPercent, -1)
	w.machine, err = agent.NewMachine(agent.Config{
		Name: w.name, FirstSlice: w.c.Tree.InitialBudget, PrefetchPercent: prefetch, BackoffMin: reconnect,
		BackoffMax: reconnect, Stats: w.stats,
	}, w.now)
	if err != nil {
		return err
	}
	return w.tell(agent.Tick{})
}

// tell gives the machine events, and carries out what it wants, until nothing follows any more.
func (w *worker) tell(events ...agent.Event) error {
	running := w.stats.Lease.Load() != 0
	for ; len(events) > 0; events = events[1:] {
		for _, e := range w.machine.Step(w.now, events[0]) {
			next, err := w.carryOut(e)
			if err != nil {
				return err
			}
			if next != nil {
				events = append(events, next)
			}
		}
	}
	if running && w.stats.Lease.Load() == 0 {
		w.idle = w.now
	}
	w.wakes++
	wakes, life := w.wakes, w.lives
	if at := w.machine.Wake(); at < math.MaxInt64 {
		w.at(at, func() error {
			if w.machine == nil || w.lives != life || w.wakes != wakes {
				return nil
			}
			switch {
			case w.slice != nil:
				return w.tell(agent.Searching{Nodes: w.slice.nodes + w.slice.inRound(w)}, agent.Tick{})
			case w.proving > w.now:
				return w.tell(agent.Alive{}, agent.Tick{})
			}
			return w.tell(agent.Tick{})
		})
	}
	return nil
}

// carryOut does what the machine wants, and returns the event that follows at once, if one does.
func (w *worker) carryOut(e agent.Effect) (agent.Event, error) {
	switch e := e.(type) {
	case agent.Join:
		w.link++
		w.linked = true
		return agent.Joined{Session: w.session(), FirstBeat: time.Duration(w.r.Float64() * float64(tick))}, nil
	case agent.HangUp:
		return w.disconnect(), nil
	case agent.Send:
		if w.linked && w.breaks() {
			w.result.Breaks++
			return w.disconnect(), nil
		}
		w.send(e.Message)
	case agent.Upload: // it takes no time
		return agent.Uploaded{}, nil
	case agent.Search:
		return nil, w.begin(e)
	case agent.Stop:
		if w.slice != nil {
			w.slice.stopped = true // it is noticed at the end of a round
		} else if w.stopProof() {
			return agent.Gathered{}, nil
		}
	case agent.Gather:
		d := w.extraction(e)
		if d == 0 {
			return w.gather(e), nil
		}
		w.later(d, w.gather(e))
	case agent.Learn:
		return nil, w.learn(e.Facts)
	case agent.End:
		return nil, fmt.Errorf("worker %s ended: %w", w.name, e.Err)
	}
	return nil, nil
}

// session is the master's answer to a worker that joins.
func (w *worker) session() *farmv1.JoinResponse {
	return &farmv1.JoinResponse{
		Session:            w.name,
		Campaign:           &farmv1.Campaign{Board: w.c.Tree.Root.Board.String(), Root: w.c.Tree.Root.String()},
		HeartbeatSeconds:   tick.Seconds(),
		MaxFactsPerMessage: maxFacts,
	}
}

// disconnect breaks the link. The master notices at once; the worker comes back later.
func (w *worker) disconnect() agent.Event {
	w.linked = false
	w.hangUp()
	return agent.Lost{Err: errBroken, Jitter: 1}
}

// hangUp tells the master that the link is broken: it withdraws the requests of the worker.
func (w *worker) hangUp() {
	name := w.name
	w.after(w.delay(), func() error {
		w.granted()
		return w.step(tree.Joined{Worker: name, Slots: tree.WorkerSlots})
	})
}

// crash ends this life of the worker.
func (w *worker) crash() {
	if w.machine == nil {
		return
	}
	w.result.Crashes++
	if w.stats.Lease.Load() != 0 {
		w.result.Lost++
	}
	w.account()
	w.machine, w.linked, w.slice, w.leased, w.closing = nil, false, nil, 0, false
	w.stopProof()
	w.unproved = 0
	w.link++
	w.table.Clear()
	w.hangUp()
	name := w.name
	w.after(leavingTicks*tick, func() error {
		delete(w.byName, name)
		return w.step(tree.Left{Worker: name})
	})
	w.after(w.c.Restart, w.start)
}

// send puts a message on the link, if there is one. What was sent arrives although the link breaks
// meanwhile, but for a request.
func (w *worker) send(m *farmv1.WorkRequest) {
	if !w.linked {
		return
	}
	// A link keeps the order of its messages, although each takes another time: none arrives before
	// the one sent ahead of it.
	w.sent = max(w.sent, w.now+w.delay())
	link, name := w.link, w.name
	here := func() bool { return link == w.link && w.linked && w.name == name }
	do := func(ev tree.Event, serial uint64) error {
		if err := w.step(ev); err != nil || serial == 0 || !here() {
			return err
		}
		return w.receive(&farmv1.WorkResponse{Kind: &farmv1.WorkResponse_Ack{Ack: &farmv1.Ack{Serial: serial}}})
	}
	switch k := m.GetKind().(type) {
	case *farmv1.WorkRequest_Hello:
		w.at(w.sent, func() error { return do(tree.Joined{Worker: name, Slots: tree.WorkerSlots}, 0) })
	case *farmv1.WorkRequest_Ready:
		w.at(w.sent, func() error {
			if !here() {
				return nil // the stream that asked is gone
			}
			w.asked, w.asking = w.now, true
			return do(tree.Ready{Worker: name}, 0)
		})
	case *farmv1.WorkRequest_Progress:
		p := k.Progress
		w.at(w.sent, func() error {
			return do(tree.Progress{Worker: name, Lease: tree.LeaseID(p.Lease), Epoch: p.Epoch, Nodes: p.Nodes,
				Activity: p.Evaluations}, 0)
		})
	case *farmv1.WorkRequest_Facts:
		ev := provedBy(name, k.Facts)
		w.at(w.sent, func() error {
			w.keep(w, k.Facts.Key, k.Facts.Hints)
			return do(ev, k.Facts.Serial)
		})
	case *farmv1.WorkRequest_Result:
		ev := resultOf(name, k.Result)
		w.at(w.sent, func() error {
			w.keep(w, k.Result.Key, k.Result.Hints) // the leases that the result brings about have it
			return do(ev, k.Result.Serial)
		})
	}
}

// receive sends a message of the master to the worker, nil for one that has crashed. It is lost when the link breaks
// first.
func (w *worker) receive(m *farmv1.WorkResponse) error {
	if w == nil || !w.linked {
		return nil
	}
	if w.breaks() {
		w.result.Breaks++
		return w.tell(w.disconnect())
	}
	w.heard = max(w.heard, w.now+w.delay())
	link := w.link
	w.at(w.heard, func() error {
		if w.link != link {
			return nil
		}
		return w.arrive(m)
	})
	return nil
}

// arrive hands a message to the machine. A cancel because the position is closed is noted first:
// what is searched from now on is wasted, and the result counts it. A worker that has crashed is nil here too.
func (w *worker) arrive(m *farmv1.WorkResponse) error {
	if w == nil || w.machine == nil || !w.linked {
		return nil
	}
	if c := m.GetCancel(); c.GetReason() == tree.CancelClosed.String() && w.stats.Lease.Load() == c.GetLease() &&
		!w.closing {
		w.closing, w.called = true, w.now
	}
	return w.tell(agent.Received{Message: m})
}

// granted notes that the request is not with the master any more.
func (w *worker) granted() {
	if w.asking {
		w.asking = false
		if w.stats.Lease.Load() == 0 {
			w.wait += w.now - max(w.asked, w.idle)
		}
	}
}

// ended counts the nodes of a lease whose search has ended.
func (w *worker) ended() {
	if w.closing {
		w.closed += w.leased
		w.late += min(w.leased, uint64((w.now-w.called).Seconds()*w.speed))
	}
	w.closing, w.leased = false, 0
}

// settle counts what is under way at the end.
func (w *worker) settle() {
	w.granted()
	w.account()
	w.stopProof()
	if w.closing {
		w.closed += w.leased
	}
}
