package proof

import (
	"sync"
	"sync/atomic"

	"amazonsfarm/shared/amazons"
)

// Marks of positions. Failures may be owed to a search that erred or forgot, so they count in one call of Prove only.
const (
	markWon    = 1 << iota // won: an entry
	markLost               // lost: all replies are won
	failedWon              // not shown to be won in the call with the slot's stamp
	failedLost             // not shown to be lost in that call
)

// marks is what a builder has found out about positions, by canonical key. All its goroutines read and write it at once; it is
// cut into shards with a lock each.
type marks struct {
	shards []markShard
	n      atomic.Int64 // positions
	limit  int64        // of them; 0: none
}

type markShard struct {
	mu sync.Mutex
	table
	_ [64]byte // on a cache line of its own
}

// manyShards is the number of shards where several goroutines work: so many that they seldom meet.
const manyShards = 256

func newMarks(goroutines, limit int) *marks {
	m := &marks{limit: int64(limit), shards: make([]markShard, 1)}
	if goroutines > 1 {
		m.shards = make([]markShard, manyShards)
	}
	return m
}

// of returns the shard of k.
func (m *marks) of(k amazons.Key) *markShard {
	if len(m.shards) == 1 {
		return &m.shards[0]
	}
	return &m.shards[spread(k)%manyShards]
}

// spread returns a hash of k.
func spread(k amazons.Key) uint64 {
	h := (k.A ^ k.B*0x9e3779b97f4a7c15) * 0xd1342543de82ef95
	return h >> 40
}

// get returns what is marked for k: the zero slot if nothing is.
func (m *marks) get(k amazons.Key) slot {
	s := m.of(k)
	s.mu.Lock()
	defer s.mu.Unlock()
	if at := s.find(k); at != nil {
		return *at
	}
	return slot{}
}

// add adds a mark to k and returns whether it was not there, with the move if it is markWon. run is the
// stamp of failures. ok is false when there is no room for another position.
func (m *marks) add(k amazons.Key, mark uint8, move amazons.Move, run uint32) (fresh, ok bool) {
	s := m.of(k)
	s.mu.Lock()
	defer s.mu.Unlock()
	at := s.find(k)
	if at == nil {
		if m.limit > 0 && m.n.Load() >= m.limit {
			return false, false
		}
		at, _ = s.insert(k)
		m.n.Add(1)
	}
	if mark&(failedWon|failedLost) != 0 && at.stamp != run {
		at.stamp = run
		at.mark &= markWon | markLost
	}
	fresh = at.mark&mark == 0
	at.mark |= mark
	if fresh && mark == markWon {
		at.move = move
	}
	return fresh, true
}

// forgetFailures drops the marks of all failures.
func (m *marks) forgetFailures() {
	for i := range m.shards {
		s := &m.shards[i]
		s.mu.Lock()
		for j := range s.slots {
			s.slots[j].mark &= markWon | markLost
		}
		s.mu.Unlock()
	}
}
