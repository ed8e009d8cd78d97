package proof

import (
	"math/bits"
	"sync"
	"sync/atomic"
	"unsafe"

	"amazonsfarm/shared/amazons"
	"amazonsfarm/shared/memory"
)

// Marks of positions. Failures may be owed to a search that erred or forgot, so they count in one
// call of Prove only.
const (
	markWon    = 1 << iota // won: an entry
	markLost               // lost: all replies are won
	failedWon              // not shown to be won in the call with the slot's stamp
	failedLost             // not shown to be lost in that call
)

// marks is what a builder has found out about positions, by canonical key. All its goroutines read
// and write it at once. It is cut into shards; who writes to one holds its lock. Readers hold none,
// since most of an extraction is looking positions up: they may miss what is being written, and
// then do again what another one has done.
//
// Only positions whose side to move has a queen are marked. The others are leaves.
type marks struct {
	shards [markShards]markShard
	n      atomic.Int64 // positions
	limit  int64        // of them; 0: none
}

type markShard struct {
	slots atomic.Pointer[[]markSlot]
	mu    sync.Mutex
	n     int
	_     [64]byte // on a cache line of its own
}

// markSlot is one place of a shard: an open-addressing hash table, at most 3/4 full, where nothing
// is ever taken out. The key's first word is written last, and is 0 as long as the slot is free.
type markSlot struct {
	a, b atomic.Uint64 // the key
	said atomic.Uint64 // marks, and from bit 8 the stamp of the failures among them
}

// markShards is the number of shards: so many that goroutines seldom meet, and that one of them
// growing takes little memory beside all of them.
const markShards = 256

// newMarks makes empty marks. All shards begin with slots of one common array, so that a small
// proof costs one allocation and not 256.
func newMarks(limit int) *marks {
	m := &marks{limit: int64(limit)}
	first := make([]markSlot, 8*len(m.shards))
	for i := range m.shards {
		slots := first[8*i : 8*i+8]
		m.shards[i].slots.Store(&slots)
	}
	return m
}

// spread returns a hash of k.
func spread(k amazons.Key) uint64 {
	hi, lo := bits.Mul64(k.A^0x2d358dccaa6c78a5, k.B^0x8bb84b93962eacc9)
	return (hi ^ lo ^ k.A) * 0xa0761d6478bd642f
}

// of returns the shard of a key with the given hash.
func (m *marks) of(hash uint64) *markShard { return &m.shards[hash%markShards] }

// seek returns the slot of k, or the free one where it would go.
func seek(slots []markSlot, k amazons.Key, hash uint64) *markSlot {
	home, _ := bits.Mul64(hash, uint64(len(slots)))
	for i := int(home); ; {
		s := &slots[i]
		if a := s.a.Load(); a == 0 || a == k.A && s.b.Load() == k.B {
			return s
		}
		if i++; i == len(slots) {
			i = 0
		}
	}
}

// prefetch has the processor load the slot of k, which is looked up soon.
func (m *marks) prefetch(k amazons.Key) {
	hash := spread(k)
	slots := *m.of(hash).slots.Load()
	home, _ := bits.Mul64(hash, uint64(len(slots)))
	memory.Prefetch(unsafe.Pointer(&slots[home].a), unsafe.Pointer(&slots[home].said))
}

// get returns the marks of k and the stamp of its failures: none if it is not marked.
func (m *marks) get(k amazons.Key) (mark uint8, stamp uint64) {
	hash := spread(k)
	s := seek(*m.of(hash).slots.Load(), k, hash)
	if s.a.Load() != k.A || s.b.Load() != k.B {
		return 0, 0 // the slot was free; by now it may be that of another position
	}
	said := s.said.Load()
	return uint8(said), said >> 8
}

// add adds a mark to k and returns whether it was not there. run is the
// stamp of failures. ok is false when there is no room for another position.
func (m *marks) add(k amazons.Key, mark uint8, run uint64) (fresh, ok bool) {
	hash := spread(k)
	shard := m.of(hash)
	shard.mu.Lock()
	defer shard.mu.Unlock()
	s := seek(*shard.slots.Load(), k, hash)
	said := uint64(0)
	if s.a.Load() != 0 {
		said = s.said.Load()
	} else if m.limit > 0 && m.n.Load() >= m.limit {
		return false, false
	}
	if mark&(failedWon|failedLost) != 0 && said>>8 != run {
		said = said&(markWon|markLost) | run<<8
	}
	fresh = uint8(said)&mark == 0
	s.said.Store(said | uint64(mark))
	if s.a.Load() == 0 {
		s.b.Store(k.B)
		s.a.Store(k.A)
		m.n.Add(1)
		shard.n++
		shard.grow()
	}
	return fresh, true
}

// grow makes room for another position, half as many slots again, if there is none.
func (s *markShard) grow() {
	old := *s.slots.Load()
	if (s.n+1)*4 <= len(old)*3 {
		return
	}
	slots := make([]markSlot, len(old)+len(old)/2)
	for i := range old {
		if o := &old[i]; o.a.Load() != 0 {
			k := amazons.Key{A: o.a.Load(), B: o.b.Load()}
			to := seek(slots, k, spread(k))
			to.b.Store(k.B)
			to.said.Store(o.said.Load())
			to.a.Store(k.A)
		}
	}
	s.slots.Store(&slots)
}
