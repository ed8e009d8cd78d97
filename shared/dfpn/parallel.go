package dfpn

import (
	"sync"
	"sync/atomic"

	"amazonsfarm/shared/amazons"
)

// Several threads run the same search from the same root over the same table. What keeps them from
// doing the same work: a thread counts itself in on every node of its path, and a node with other
// threads below it looks worse than it is to those who choose (virtual numbers, after Kaneko 2010).
// What one thread solves, the others find in the table; a thread whose path leads through a solved
// node notices within a few dozen nodes and goes back up to it.

// MaxThreads is the largest number of threads of one search.
const MaxThreads = 1024

const (
	busySlots     = 2048 // counters of busy nodes, for each thread; those of two threads fit the first-level cache
	publishPeriod = 64   // nodes between two looks at what the other threads did
)

// numbersSpent counts work.
type counters struct{ nodes, evaluations uint64 }

func (s *Searcher) busy(hash uint64) *atomic.Int32 { return &s.working[hash&uint64(len(s.working)-1)] }

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

func (t *thread) reset(limit uint64) {
	t.nodes, t.evaluations, t.published = 0, 0, counters{}
	t.limit = limit
	t.stack, t.path, t.cut = t.stack[:0], t.path[:0], noCut
}

// publish adds what this thread did since the last time to the searcher's counters.
func (t *thread) publish() {
	t.s.nodes.Add(t.nodes - t.published.nodes)
	t.s.evals.Add(t.evaluations - t.published.evaluations)
	t.published = counters{t.nodes, t.evaluations}
}

// enter puts a node on the path and, now and then, looks round.
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
		if t.known(h).solved() {
			t.cut = min(t.cut, i+1)
			break
		}
	}
}

// leave takes a node off the path.
func (t *thread) leave(hash uint64) {
	t.s.busy(hash).Add(-1)
	t.path = t.path[:len(t.path)-1]
	if len(t.path) < t.cut {
		t.cut = noCut
	}
}

// known returns the numbers the table has for hash; {1, 1} when it has none.
func (t *thread) known(hash uint64) numbers {
	if data := t.table.get(hash); data != 0 {
		phi, delta, _ := unpack(data)
		return numbers{phi, delta}
	}
	return numbers{1, 1}
}

// refresh brings in what other threads learned: it returns the numbers of the node itself, with the
// move if it is won, when it is solved, and otherwise reads the numbers of those children anew that
// others were searching when this node last looked.
func (t *thread) refresh(hash uint64, base int) (numbers, amazons.Move) {
	if n := t.known(hash); n.solved() {
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
