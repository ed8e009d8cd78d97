package simulate

import (
	"cmp"
	"context"
	"fmt"
	"math"
	"slices"
	"time"

	"amazonsfarm/master/hints"
	"amazonsfarm/master/tree"
	"amazonsfarm/shared/amazons"
	"amazonsfarm/shared/dfpn"
	"amazonsfarm/shared/eval"
	"amazonsfarm/shared/numbers"
	"amazonsfarm/shared/prefetch"
	"amazonsfarm/shared/proof"
)

// slots is the number of leases a worker may hold, as in master/rpc.
const slots = 2

// vouched names the certificate of all facts: evidence is not simulated.
var vouched = proof.ID{1}

// worker is one virtual worker: what worker/agent and worker/engine do, in virtual time.
type worker struct {
	*farm
	number int
	lives  int    // it crashed once less
	name   string // of this life
	speed  float64

	table  *dfpn.Table
	search *dfpn.Searcher
	solved *[]solved
	seen   hints.Seen // memories that its table has

	up           bool
	link         int  // number of its present link; messages of older ones are lost
	linked       bool // the link is up
	sent, heard  time.Duration
	outbox       []parcel // what waits for a link
	asked        time.Duration
	asking       bool // a request is with the master
	waits        prefetch.Waits
	wanted       bool          // a request is under way, with the master, or answered by a lease that is under way
	since        time.Duration // when that began; negative: there was no work then
	idle         time.Duration // when it ran out of leases
	job          *job
	next         *held // to be searched after job
	heartbeating bool
}

// held is a lease that a worker has, with what came with it.
type held struct {
	lease    tree.Lease
	memories [][]byte
}

// parcel is a message to the master that must not get lost.
type parcel struct {
	event  tree.Event
	key    amazons.Key
	memory []byte
}

// solved is a position that the search solved on the way.
type solved struct {
	state   amazons.State
	verdict eval.Verdict
	nodes   uint64
}

// job is a lease on the side of its worker.
type job struct {
	lease      tree.Lease
	state      amazons.State
	begun      time.Duration
	nodes      uint64 // of slices that ended
	sliceBegun time.Duration
	sliceNodes uint64
	facts      time.Duration // when the next facts go out
	phi, delta uint32
	verdict    eval.Verdict
	cancelled  bool
	closed     bool          // because its position was closed
	called     time.Duration // when it was called back
}

// start brings a worker to life.
func (w *worker) start() error {
	if w.table == nil {
		if err := w.equip(); err != nil {
			return err
		}
	}
	w.lives++
	w.name = fmt.Sprintf("w%d.%d", w.number+1, w.lives)
	w.byName[w.name] = w
	w.up, w.seen = true, hints.Seen{}
	w.connect()
	if !w.heartbeating {
		w.heartbeating = true
		w.after(time.Duration(w.r.Float64()*float64(w.c.Tick)), w.heartbeat)
	}
	return nil
}

func (w *worker) equip() (err error) {
	if first := w.workers[0]; w.c.SharedTable && first.table != nil {
		w.table, w.search, w.solved = first.table, first.search, first.solved
		return nil
	}
	if w.table, err = dfpn.NewTable(w.c.TableBytes); err != nil {
		return fmt.Errorf("reserve table: %w", err)
	}
	found := new([]solved)
	w.solved = found
	w.search, err = dfpn.New(dfpn.Options{
		Board: w.c.Tree.Root.Board, Table: w.table, Judge: w.judge, MinSolvedNodes: w.c.MinFactNodes,
		OnSolved: func(s amazons.State, v eval.Verdict, nodes uint64) { *found = append(*found, solved{s, v, nodes}) },
	})
	return err
}

func (w *worker) close() error {
	if w.table == nil || w.c.SharedTable && w.number > 0 {
		return nil
	}
	return w.table.Close()
}

// connect opens a link and sends what waited for it.
func (w *worker) connect() {
	w.link++
	w.linked = true
	w.send(parcel{event: tree.Joined{Worker: w.name, Slots: slots}})
	waiting := w.outbox
	w.outbox = nil
	for _, p := range waiting {
		w.deliver(p)
	}
	if w.job == nil {
		w.ask()
	} else {
		w.plan()
	}
}

// disconnect breaks the link. The master notices at once; the worker comes back later.
func (w *worker) disconnect() {
	w.result.Breaks++
	w.linked, w.wanted, w.next = false, false, nil
	w.hangUp()
	life := w.lives
	w.after(w.c.Reconnect, func() error {
		if w.up && w.lives == life {
			w.connect()
		}
		return nil
	})
}

// hangUp tells the master that the link is broken: it withdraws the requests of the worker.
func (w *worker) hangUp() {
	name := w.name
	w.after(w.delay(), func() error {
		w.granted()
		return w.step(tree.Joined{Worker: name, Slots: slots})
	})
}

// crash ends this life of the worker.
func (w *worker) crash() {
	if !w.up {
		return
	}
	w.result.Crashes++
	if w.job != nil {
		w.result.Lost++
		w.account()
	}
	w.up, w.linked, w.wanted, w.job, w.next, w.outbox = false, false, false, nil, nil, nil
	w.link++
	w.table.Clear()
	w.hangUp()
	name := w.name
	w.after(time.Duration(w.c.LeavingTicks)*w.c.Tick, func() error {
		delete(w.byName, name)
		return w.step(tree.Left{Worker: name})
	})
	w.after(w.c.Restart, w.start)
}

// send puts a message on the link and reports whether it is on the way: false if the link is down
// or breaks by it.
func (w *worker) send(p parcel) bool {
	if !w.linked {
		return false
	}
	if w.breaks() {
		w.disconnect()
		return false
	}
	w.sent = max(w.sent, w.now+w.delay())
	link := w.link
	w.at(w.sent, func() error {
		if ready, ok := p.event.(tree.Ready); ok {
			if link != w.link || !w.linked || ready.Worker != w.name {
				return nil // the stream that asked is gone
			}
			w.asked, w.asking = w.now, true
		}
		w.keep(w, p.key, p.memory) // the leases that the event brings about take it along
		return w.step(p.event)
	})
	return true
}

// deliver sends a message that must arrive, now or when there is a link again.
func (w *worker) deliver(p parcel) {
	if !w.send(p) {
		w.outbox = append(w.outbox, p)
	}
}

// ask asks for a lease.
func (w *worker) ask() {
	w.wanted, w.since = true, w.now
	w.send(parcel{event: tree.Ready{Worker: w.name}})
}

// plan asks for the next lease ahead of the end of the running one, if that is worth it.
func (w *worker) plan() {
	j := w.job
	lead := w.waits.Lead(w.takes(j.lease.Budget), w.c.PrefetchPercent)
	if lead == 0 {
		return
	}
	left := w.takes(j.lease.Budget - min(j.lease.Budget, j.searched(w)))
	link := w.link
	w.after(max(0, left-lead), func() error {
		if w.job == j && w.linked && w.link == link && !w.wanted && w.next == nil {
			w.ask()
		}
		return nil
	})
}

// granted notes that the request is not with the master any more.
func (w *worker) granted() {
	if w.asking {
		w.asking = false
		if w.job == nil {
			w.wait += w.now - max(w.asked, w.idle)
		}
	}
}

// receive lets do happen when a message of the master, sent now, arrives; not if the link breaks first.
func (w *worker) receive(do func() error) {
	if !w.linked {
		return
	}
	if w.breaks() {
		w.disconnect()
		return
	}
	w.heard = max(w.heard, w.now+w.delay())
	link := w.link
	w.at(w.heard, func() error {
		if !w.up || !w.linked || w.link != link {
			return nil
		}
		return do()
	})
}

// take begins a lease, or keeps it for later.
func (w *worker) take(l tree.Lease, memories [][]byte) error {
	if !w.wanted {
		return nil // the request was withdrawn, and the lease goes to another
	}
	w.wanted = false
	if w.since >= 0 {
		w.waits.Saw(w.now - w.since)
	}
	if w.job != nil {
		w.next = &held{l, memories}
		return nil
	}
	return w.begin(l, memories)
}

// begin begins a lease.
func (w *worker) begin(l tree.Lease, memories [][]byte) error {
	s, err := l.Key.State(w.c.Tree.Root.Board)
	if err != nil {
		return err
	}
	if err := w.learn(l.Facts); err != nil {
		return err
	}
	for _, m := range memories {
		if _, err := w.table.AddHints(w.c.Tree.Root.Board, m); err != nil {
			return err
		}
	}
	w.job = &job{lease: l, state: s, begun: w.now, facts: w.now + w.c.FactsAfter, phi: 1, delta: 1}
	w.slice()
	w.plan()
	return nil
}

// learn tells the table facts of others.
func (w *worker) learn(facts []proof.Fact) error {
	for _, f := range facts {
		s, err := f.Key.State(w.c.Tree.Root.Board)
		if err != nil {
			return err
		}
		w.search.Insert(s, f.Verdict, f.Nodes)
	}
	return nil
}

// slice searches the job for one slice, and plans its end.
func (w *worker) slice() {
	j := w.job
	r := w.search.Search(context.Background(), j.state, min(w.c.Slice, j.lease.Budget-j.nodes))
	j.sliceBegun, j.sliceNodes = w.now, r.Nodes
	life := w.lives
	w.after(max(w.takes(r.Nodes), time.Nanosecond), func() error {
		if w.up && w.lives == life {
			return w.sliceEnded(r)
		}
		return nil
	})
}

// takes returns how long the worker searches so many nodes.
func (w *worker) takes(nodes uint64) time.Duration {
	return time.Duration(float64(nodes) / w.speed * float64(time.Second))
}

// account counts what the running slice has searched so far.
func (w *worker) account() {
	j := w.job
	if j == nil {
		return
	}
	n := j.searched(w) - j.nodes
	w.farm.nodes += n
	w.busy += w.now - j.sliceBegun
	j.nodes, j.sliceNodes, j.sliceBegun = j.nodes+n, 0, w.now
}

// searched returns the nodes of the job until now.
func (j *job) searched(w *worker) uint64 {
	return j.nodes + min(j.sliceNodes, uint64(math.Round((w.now-j.sliceBegun).Seconds()*w.speed)))
}

func (w *worker) sliceEnded(r dfpn.Result) error {
	j := w.job
	w.farm.nodes += j.sliceNodes
	w.busy += w.now - j.sliceBegun
	j.nodes += j.sliceNodes
	j.phi, j.delta, j.verdict = r.Phi, r.Delta, r.Verdict
	switch {
	case j.verdict != eval.Open || j.cancelled || j.nodes >= j.lease.Budget || r.Nodes == 0:
		return w.finish()
	default:
		if w.now >= j.facts {
			age := w.now - j.begun
			j.facts = w.now + min(max(age, time.Millisecond), w.c.FactsEvery)
			w.tell()
		}
		w.slice()
		return nil
	}
}

// tell sends facts while the lease goes on, with what the table knows. Without failures that is not
// read before the result brings it anew.
func (w *worker) tell() {
	j := w.job
	if facts := w.facts(); len(facts) > 0 {
		var memory []byte
		if w.c.CrashRate+w.c.LossRate > 0 {
			memory = w.remember(j)
		}
		w.deliver(parcel{
			event: tree.Proved{Worker: w.name, Lease: j.lease.ID, Epoch: j.lease.Epoch, Nodes: j.nodes, Facts: facts,
				Certificates: []proof.ID{vouched}},
			key: j.lease.Key, memory: memory,
		})
	}
}

// finish sends the result, and begins the next lease or asks for it.
func (w *worker) finish() error {
	j := w.job
	w.job, w.idle = nil, w.now
	if j.closed {
		w.closed += j.nodes
		w.late += min(j.nodes, uint64((w.now-j.called).Seconds()*w.speed))
	}
	p := parcel{key: j.lease.Key}
	result := tree.Result{
		Worker: w.name, Lease: j.lease.ID, Epoch: j.lease.Epoch, Key: j.lease.Key, Phi: j.phi, Delta: j.delta,
		Nodes:     j.nodes,
		Cancelled: j.cancelled && j.verdict == eval.Open, Facts: w.facts(), Certificates: []proof.ID{vouched},
	}
	if j.verdict != eval.Open {
		result.Verdict = j.verdict
		own := func(f proof.Fact) bool { return f.Key == j.lease.Key }
		if !slices.ContainsFunc(result.Facts, own) {
			result.Facts = append(result.Facts, proof.Fact{Key: j.lease.Key, Verdict: result.Verdict,
				Nodes: max(1, j.nodes), Certificate: vouched})
		}
	} else {
		var list []numbers.Child
		for _, c := range w.search.Children(j.state) {
			list = append(list, numbers.Child{Key: c.State.CanonicalKey(w.c.Tree.Root.Board), Phi: c.Phi, Delta: c.Delta})
		}
		result.Children = numbers.Append(nil, list)
		p.memory = w.remember(j)
	}
	p.event = result
	w.deliver(p)
	if next := w.next; next != nil {
		w.next = nil
		return w.begin(next.lease, next.memories)
	}
	if w.linked && !w.wanted {
		w.ask()
	}
	return nil
}

// facts returns what was solved since the last time: those with most work, each position once.
func (w *worker) facts() []proof.Fact {
	slices.SortStableFunc(*w.solved, func(a, b solved) int { return cmp.Compare(b.nodes, a.nodes) })
	var out []proof.Fact
	met := map[amazons.Key]bool{}
	for _, s := range *w.solved {
		if len(out) == w.c.MaxFacts {
			break
		}
		if k := s.state.CanonicalKey(w.c.Tree.Root.Board); !met[k] {
			met[k] = true
			out = append(out, proof.Fact{Key: k, Verdict: s.verdict, Nodes: s.nodes, Certificate: vouched})
		}
	}
	*w.solved = (*w.solved)[:0]
	return out
}

func (w *worker) remember(j *job) []byte {
	if w.c.MemoryEntries == 0 || w.c.Workers == 1 && w.c.CrashRate == 0 { // a lone worker remembers by itself
		return nil
	}
	return w.search.Hints(j.state, w.c.MemoryEntries)
}

// cancel calls a lease back; the worker notices at the end of its slice, and hands back at once
// what it has not begun.
func (w *worker) cancel(e tree.Cancel) error {
	called := func(l tree.Lease) bool { return l.ID == e.Lease && l.Epoch == e.Epoch }
	if n := w.next; n != nil && called(n.lease) {
		w.next = nil
		w.deliver(parcel{event: tree.Result{Worker: w.name, Lease: n.lease.ID, Epoch: n.lease.Epoch, Key: n.lease.Key,
			Phi: 1, Delta: 1, Cancelled: true}, key: n.lease.Key})
		w.plan()
	}
	if j := w.job; j != nil && called(j.lease) && !j.cancelled {
		j.cancelled, j.closed, j.called = true, e.Reason == tree.CancelClosed, w.now
	}
	return nil
}

func (w *worker) heartbeat() error {
	w.after(w.c.Tick, w.heartbeat)
	if j := w.job; j != nil && w.linked {
		w.send(parcel{event: tree.Progress{Worker: w.name, Lease: j.lease.ID, Epoch: j.lease.Epoch,
			Nodes: j.searched(w)}})
	}
	return nil
}

// settle counts what is under way at the end.
func (w *worker) settle() {
	w.granted()
	if j := w.job; j != nil {
		w.account()
		if j.closed {
			w.closed += j.nodes
		}
	}
}
