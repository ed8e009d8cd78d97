package dfpn

import (
	"sync"
	"sync/atomic"

	"amazonsfarm/shared/amazons"
)

// Several threads run the same search from the same root over the same table. Each thread counts
// itself in on every position of its path. A position with other threads below it looks worse than
// it is (virtual numbers, after Kaneko 2010), so threads take different ways. A thread finds in the
// table what another one solved. If that position is on its path, the thread notices within a few
// dozen nodes and returns to it.

// MaxThreads is the largest number of threads of one search.
const MaxThreads = 1024

const (
	busySlots     = 2048 // counters of busy positions for each thread; those of two threads fit the first-level cache
	publishPeriod = 64   // nodes between two looks at the other threads
)

// counters count what a thread has done.
type counters struct{ nodes, evaluations uint64 }

// busy returns the counter of the threads at work on a position. Positions may share one.
func (s *Searcher) busy(hash uint64) *atomic.Int32 { return &s.working[hash&uint64(len(s.working)-1)] }

// searchParallel is run on all threads. The first one that solves st stops the others.
func (s *Searcher) searchParallel(st amazons.State) numbers {
	var wg sync.WaitGroup
	results := make([]numbers, len(s.threads))
	for i, t := range s.threads {
		wg.Go(func() {
			results[i] = t.run(st)
			if results[i].solved() {
				s.crowded.Store(true) // the others come back
			}
		})
	}
	wg.Wait()
	for _, n := range results {
		if n.solved() {
			return n
		}
	}
	return results[0]
}

// reset prepares the thread for a search.
func (t *thread) reset(limit uint64) {
	t.nodes, t.evaluations, t.published = 0, 0, counters{}
	t.limit = limit
	t.stack, t.models, t.path = t.stack[:0], t.models[:0], t.path[:0]
	t.cut, t.guess = noCut, noMove
	// A table is cleared where two positions turned out to share a hash: nothing may outlive it.
	clear(t.recent[:])
}

// publish adds to the searcher's counters what this thread did since the last time.
func (t *thread) publish() {
	t.s.nodes.Add(t.nodes - t.published.nodes)
	t.s.evals.Add(t.evaluations - t.published.evaluations)
	t.published = counters{t.nodes, t.evaluations}
}

// enter puts a position on the path and, now and then, looks for a solved position on the path.
func (t *thread) enter(hash uint64) {
	t.path = append(t.path, hash)
	t.s.busy(hash).Add(1)
	if t.nodes%publishPeriod != 0 {
		return
	}
	if t.s.nodes.Load() >= t.s.limit {
		t.s.stop.Store(true)
	}
	for i, h := range t.path {
		if n, _ := t.table.known(h); n.solved() {
			t.cut = min(t.cut, i+1)
			break
		}
	}
}

// leave takes the last position off the path.
func (t *thread) leave(hash uint64) {
	t.s.busy(hash).Add(-1)
	t.path = t.path[:len(t.path)-1]
	if len(t.path) < t.cut {
		t.cut = noCut
	}
}

// refresh reads what other threads learned. If the position itself is solved, refresh returns its
// numbers. Otherwise it reads the numbers of the busy children again; where one of them is solved,
// the position may be, too.
func (t *thread) refresh(hash uint64, base int) (numbers, amazons.Move) {
	if n, _ := t.table.known(hash); n.solved() {
		return n, noMove // the table has the move and keeps it
	}
	for i := base; i < len(t.stack); i++ {
		c := &t.stack[i]
		busy := t.s.busy(c.hash).Load()
		if busy == 0 && c.busy == 0 {
			continue
		}
		c.busy = uint8(min(busy, 255))
		data := t.table.get(c.hash)
		if data == 0 {
			continue
		}
		c.phi, c.delta, _ = unpack(data)
		switch {
		case c.delta == 0:
			return won, c.move
		case c.phi == 0:
			t.drop(i)
			i--
		}
	}
	return numbers{1, 1}, noMove
}
