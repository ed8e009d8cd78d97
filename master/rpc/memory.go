package rpc

import (
	"container/list"

	"amazonsfarm/master/tree"
	"amazonsfarm/shared/amazons"
)

// Memory is what a worker's table knew of a position that it left unsolved. Whoever goes on with the position, or with one
// below it, gets it with the lease, unless the table it comes from is their own.
type Memory struct {
	Campaign uint32 // its number
	Key      amazons.Key
	Data     []byte
}

// Limits of what travels with a lease.
const (
	maxMemoriesPerLease = 4       // of the position itself and those above it
	maxMemoryBytes      = 4 << 20 // of them together
	maxSeen             = 1 << 8  // memories remembered per session as seen; beyond it some are sent again
)

// memoryCache holds the memories that came or were asked for last, up to a number of bytes (Config.MemoryBytes). The store keeps far fewer, for after a restart.
type memoryCache struct {
	most, bytes int64
	version     uint64     // of the last one
	order       *list.List // of *remembered, the one used last in front
	of          map[memoryOf]*list.Element
}

// remembered is a memory in the cache. Its version tells it from earlier ones of its position.
type remembered struct {
	of      memoryOf
	data    []byte
	version uint64
}

func newMemoryCache(most int64) *memoryCache {
	return &memoryCache{most: most, order: list.New(), of: map[memoryOf]*list.Element{}}
}

// put keeps a memory in place of an earlier one of its position, and drops the ones that were used longest ago where there are too many, perhaps this one. It returns it as it is kept.
func (c *memoryCache) put(of memoryOf, data []byte) *remembered {
	c.version++
	c.drop(of)
	r := &remembered{of, data, c.version}
	c.of[of] = c.order.PushFront(r)
	c.bytes += int64(len(data))
	for c.bytes > c.most {
		c.drop(c.order.Back().Value.(*remembered).of)
	}
	return r
}

// get returns the memory of a position, nil if it is not here.
func (c *memoryCache) get(of memoryOf) *remembered {
	e := c.of[of]
	if e == nil {
		return nil
	}
	c.order.MoveToFront(e)
	return e.Value.(*remembered)
}

func (c *memoryCache) drop(of memoryOf) {
	if e := c.of[of]; e != nil {
		c.bytes -= int64(len(e.Value.(*remembered).data))
		c.order.Remove(e)
		delete(c.of, of)
	}
}

// takeMemory returns a memory that came with an event if it is worth keeping: its position is in the tree and open, and its worker is trusted, since a made-up one
// would mislead whoever gets it.
// It is called after the event's step.
func (m *Master) takeMemory(msg incoming) (Memory, bool) {
	c := msg.campaign
	if len(msg.memory.Data) == 0 || m.cfg.MaxMemoryEntries == 0 || c.Tree == nil || !c.Tree.Open(msg.memory.Key) || !c.Tree.Trusted(msg.session.name) {
		return Memory{}, false
	}
	of := memoryOf{c.Number, msg.memory.Key}
	msg.session.sawMemory(of, m.memories.put(of, msg.memory.Data).version)
	return msg.memory, true
}

// forgetMemories drops those of positions that are not open any more, in trees that are still there.
func (m *Master) forgetMemories() {
	trees := map[uint32]*tree.Tree{}
	for _, c := range m.campaigns() {
		trees[c.Number] = c.Tree
	}
	for of := range m.memories.of {
		if t := trees[of.campaign]; t == nil || !t.Open(of.key) {
			m.memories.drop(of)
		}
	}
}

// memoryOf names a memory.
type memoryOf struct {
	campaign uint32
	key      amazons.Key
}

func (s *session) sawMemory(k memoryOf, version uint64) {
	if len(s.seen) >= maxSeen {
		clear(s.seen)
	}
	s.seen[k] = version
}

// memoriesFor returns the memories that a worker lacks for a lease. What cannot be read is passed over: it is a help only.
func (m *Master) memoriesFor(c *campaign, worker string, lease tree.Lease) [][]byte {
	m.mu.Lock()
	s := m.byName[worker]
	m.mu.Unlock()
	if s == nil || m.cfg.MaxMemoryEntries == 0 || lease.Check {
		return nil
	}
	if s.table != c.Facts {
		clear(s.seen) // it changes to another board, with an empty table
		s.table = c.Facts
	}
	var out [][]byte
	size := 0
	for _, k := range c.Tree.Above(lease.Key, maxMemoriesPerLease) {
		of := memoryOf{c.Number, k}
		known := m.memories.get(of)
		if known == nil {
			data, err := m.store.Memory(c.Number, k)
			if err != nil {
				m.cfg.Log.Warn("a memory is passed over", "error", err)
			}
			if len(data) == 0 {
				continue
			}
			known = m.memories.put(of, data)
		}
		if s.seen[of] == known.version || size+len(known.data) > maxMemoryBytes {
			continue
		}
		s.sawMemory(of, known.version)
		size += len(known.data)
		out = append(out, known.data)
	}
	return out
}
