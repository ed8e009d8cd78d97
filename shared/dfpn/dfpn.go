package dfpn

import (
	"context"
	"math/bits"
	"sync"
	"sync/atomic"

	"amazonsfarm/shared/amazons"
	"amazonsfarm/shared/eval"
	"amazonsfarm/shared/memory"
)

const (
	// Infinity says that a proof is impossible: phi of a lost position, delta of a won one.
	Infinity = 1<<24 - 1
	// largestUnsolved is the largest number of an unsolved position. Sums are clamped to it, or
	// arithmetic would disprove a position.
	largestUnsolved = Infinity - 1
)

// Options are the settings of a Searcher.
type Options struct {
	Board amazons.Board // required
	Table *Table        // shared by all searches; required

	// OnSolved, if given, is told every position that gets solved with at least MinSolvedNodes nodes
	// behind it, before the search of its parent continues. Every search thread calls it. It must
	// not call a Searcher.
	OnSolved       func(s amazons.State, v eval.Verdict, nodes uint64)
	MinSolvedNodes uint64

	// Threads is the number of threads of a search, up to MaxThreads; 0 means 1. With one thread,
	// the same search in a cleared table always takes the same number of nodes.
	Threads int

	// Judge returns a judge for one thread; nil means the counting lemma alone. Default: a judge with
	// the default settings and without a database.
	Judge func() *eval.Judge

	// FirstNumbers, if given, returns the numbers of the reply m to s where the reply was never
	// searched and no static rule decides it. f holds the features of the position after m.
	// Every search thread calls it. Default: estimate.Numbers.
	FirstNumbers func(s amazons.State, m amazons.Move, f eval.Features) (phi, delta uint32)
}

// Searcher runs searches, one at a time. Its table keeps what they learn. Several searchers may use
// one table at the same time.
type Searcher struct {
	o        Options
	one      sync.Mutex // held by the search that runs
	parallel bool
	stop     *atomic.Bool // the search shall end; one for each search, since a context may tell late
	crowded  atomic.Bool  // the stretch shall end so that the table can grow
	threads  []*thread
	limit    uint64
	nodes    atomic.Uint64 // of the search that runs or ran last
	evals    atomic.Uint64
	earlier  atomic.Uint64  // nodes of all searches before
	working  []atomic.Int32 // threads at work on a node, by hash; a power of two
	judges   sync.Pool      // of *eval.Judge, for questions beside the search
}

// New returns a searcher. It keeps the table open; the caller closes it.
func New(o Options) *Searcher {
	if o.Judge == nil {
		o.Judge = eval.NewJudge(nil, eval.DefaultSettings()).Clone
	}
	s := &Searcher{o: o, parallel: o.Threads > 1}
	s.judges.New = func() any { return o.Judge() }
	if s.parallel {
		s.working = make([]atomic.Int32, 1<<bits.Len(uint(o.Threads*busySlots-1)))
	}
	for range max(o.Threads, 1) {
		s.threads = append(s.threads, &thread{s: s, b: o.Board, table: o.Table, judge: o.Judge(),
			recent: new(recent), ways: map[uint64][]step{}, stack: make([]child, 0, 1<<13)})
	}
	return s
}

// Result is the outcome of one search.
type Result struct {
	Verdict     eval.Verdict // for the side to move; Open: stopped by the limit or the context
	Phi, Delta  uint32       // the numbers of the position
	Nodes       uint64       // positions expanded by this search
	Evaluations uint64       // positions that this search evaluated, or had evaluated just before
}

// Progress counts what a running search has done.
type Progress struct {
	Nodes, Evaluations uint64 // a little behind
}

// Nodes returns the number of positions expanded by all searches that have ended.
func (s *Searcher) Nodes() uint64 { return s.earlier.Load() }

// Progress returns the counters of the search that runs or ran last. Any goroutine may call it.
func (s *Searcher) Progress() Progress { return Progress{s.nodes.Load(), s.evals.Load()} }

func (n numbers) verdict() eval.Verdict {
	switch {
	case n.phi == 0:
		return eval.Won
	case n.delta == 0:
		return eval.Lost
	}
	return eval.Open
}

// numbersOf returns the numbers of a position that is won or lost.
func numbersOf(v eval.Verdict) numbers {
	if v == eval.Won {
		return won
	}
	return lost
}

// Search searches st until it is solved, it has expanded nodeLimit positions (0: no limit) or ctx
// ends. Several threads may expand some dozens more each. The search continues from what the table
// knows. It waits while another goroutine searches.
func (s *Searcher) Search(ctx context.Context, st amazons.State, nodeLimit uint64) Result {
	return s.SearchBelow(ctx, nil, st, nodeLimit)
}

// SearchBelow is Search for a position after a move of parent. What the table knows of the other
// positions after a move of parent helps as it would in a search of parent: the proofs of siblings are
// tried first. With a nil parent it is Search.
func (s *Searcher) SearchBelow(ctx context.Context, parent *amazons.State, st amazons.State, nodeLimit uint64) Result {
	s.one.Lock()
	defer s.one.Unlock()
	stop, root := new(atomic.Bool), st.Hash(s.o.Board)
	s.stop = stop
	s.nodes.Store(0)
	s.evals.Store(0)
	s.limit = nodeLimit
	if nodeLimit == 0 {
		s.limit = 1<<64 - 1
	}
	defer context.AfterFunc(ctx, func() { stop.Store(true) })()
	for _, t := range s.threads {
		t.reset(s.limit)
		t.takeWay(root)
	}
	if parent != nil {
		s.threads[0].begin(*parent, st)
	}
	for {
		n := s.stretch(st)
		if n.solved() || ctx.Err() != nil || s.nodes.Load() >= s.limit {
			s.earlier.Add(s.nodes.Load())
			for _, t := range s.threads {
				t.keepWay(root)
			}
			return Result{n.verdict(), n.phi, n.delta, s.nodes.Load(), s.evals.Load()}
		}
		s.o.Table.grow()
	}
}

// stretch searches until st is solved, the search is stopped or the table is crowded.
func (s *Searcher) stretch(st amazons.State) numbers {
	s.o.Table.mu.RLock()
	defer s.o.Table.mu.RUnlock()
	s.crowded.Store(false)
	if s.parallel {
		return s.searchParallel(st)
	}
	return s.threads[0].run(st)
}

// run searches st on one thread until it is solved or stopped.
func (t *thread) run(st amazons.State) numbers {
	hash := st.Hash(t.b)
	n := t.look(st, hash)
	for !n.solved() && !t.stopped() {
		_, _, nodes := unpack(t.table.get(hash))
		n = t.search(st, hash, numbers{Infinity, Infinity}, nodes)
	}
	t.publish()
	return n
}

// Child is one reply to a position, with what is known of it.
type Child struct {
	Move    amazons.Move
	State   amazons.State // after the move, seen by the other side
	Verdict eval.Verdict  // for the side to move in State
	Phi     uint32
	Delta   uint32
	Nodes   uint64 // nodes behind the numbers; 0: they come from the static evaluation
}

// Children returns every legal move of st with what the table, or else the static evaluation, knows
// of the position after the move.
func (s *Searcher) Children(st amazons.State) []Child {
	s.o.Table.mu.RLock()
	defer s.o.Table.mu.RUnlock()
	var out []Child
	judge := s.judges.Get().(*eval.Judge)
	defer s.judges.Put(judge)
	for _, m := range st.Moves(nil) {
		next := st.After(m)
		n, nodes := s.o.Table.known(next.Hash(s.o.Board))
		if nodes == 0 {
			n = static(judge, next)
		}
		out = append(out, Child{m, next, n.verdict(), n.phi, n.delta, nodes})
	}
	return out
}

// Probe returns what is known of st without a search: the verdict of the table with the nodes behind
// it, or the verdict of the static rules with 0 nodes.
func (s *Searcher) Probe(st amazons.State) (eval.Verdict, uint64) {
	if n, nodes := s.stored(st); n.solved() {
		return n.verdict(), nodes
	}
	judge := s.judges.Get().(*eval.Judge)
	defer s.judges.Put(judge)
	return judge.Verdict(st), 0
}

// stored returns what the table has of st, and the nodes behind it.
func (s *Searcher) stored(st amazons.State) (numbers, uint64) {
	s.o.Table.mu.RLock()
	defer s.o.Table.mu.RUnlock()
	return s.o.Table.known(st.Hash(s.o.Board))
}

// Best returns the move with which a search won st, false where the table has no such move. Best
// checks that the move is legal, since two positions may have the same hash.
func (s *Searcher) Best(st amazons.State) (amazons.Move, bool) {
	s.o.Table.mu.RLock()
	defer s.o.Table.mu.RUnlock()
	return s.o.Table.best(s.o.Board, st)
}

// Prefetch has the processor load what the table has of st, which Best or Probe is asked about soon.
func (s *Searcher) Prefetch(st amazons.State) {
	s.o.Table.mu.RLock()
	defer s.o.Table.mu.RUnlock()
	home := s.o.Table.home(st.Hash(s.o.Board))
	memory.Prefetch(home, home)
}

// best returns the move with which a search won st, if the table has one and it is legal.
func (t *Table) best(b amazons.Board, st amazons.State) (amazons.Move, bool) {
	m, ok := unpackMove(t.get(st.Hash(b)))
	if !ok {
		return noMove, false
	}
	_, symmetry := st.Canonical(b)
	m = b.ApplyMove(symmetry.Inverse(), m)
	return m, st.Legal(m)
}

// Solve searches st until it is solved or ctx ends. The error is the cause of the context's end.
func (s *Searcher) Solve(ctx context.Context, st amazons.State) (eval.Verdict, error) {
	r := s.Search(ctx, st, 0)
	if r.Verdict == eval.Open {
		return eval.Open, context.Cause(ctx)
	}
	return r.Verdict, nil
}

// Insert puts a verdict from outside into the table, with the nodes behind it. It ignores Open.
func (s *Searcher) Insert(st amazons.State, v eval.Verdict, nodes uint64) {
	s.o.Table.mu.RLock()
	defer s.o.Table.mu.RUnlock()
	if v != eval.Open {
		n := numbersOf(v)
		s.o.Table.put(st.Hash(s.o.Board), pack(n.phi, n.delta, max(nodes, 1)))
	}
}
