package rpc

import (
	"amazonsfarm/master/hints"
	"amazonsfarm/master/tree"
	"amazonsfarm/shared/amazons"
)

// Memory is what a worker's table knew of a position that it left unsolved. Whoever goes on with
// the position, or with one below it, gets it with the lease, unless the table it comes from is
// their own. The store keeps far fewer than the cache, for after a restart.
type Memory struct {
	Campaign uint32 // its number
	Key      amazons.Key
	Data     []byte
}

// takeMemory returns a memory that came with an event if it is worth keeping: its position is in
// the tree and open, and its worker is trusted, since a made-up one would mislead whoever gets it.
// It is called after the event's step.
func (m *Master) takeMemory(msg incoming) (Memory, bool) {
	c := msg.campaign
	if len(msg.memory.Data) == 0 || m.cfg.MaxMemoryEntries == 0 || c.Tree == nil || !c.Tree.Open(msg.memory.Key) ||
		!c.Tree.Trusted(msg.session.name) {
		return Memory{}, false
	}
	m.memories.Put(hints.Hint{Place: hints.Place{Campaign: c.Number, Key: msg.memory.Key}, Data: msg.memory.Data}, msg.session.seen)
	return msg.memory, true
}

// forgetMemories drops those of positions that are not open any more, in trees that are still there.
func (m *Master) forgetMemories() {
	trees := map[uint32]*tree.Tree{}
	for _, c := range m.campaigns() {
		trees[c.Number] = c.Tree
	}
	m.memories.Retain(func(of hints.Place) bool {
		t := trees[of.Campaign]
		return t != nil && t.Open(of.Key)
	})
}

// memoriesFor returns the memories that a worker lacks for a lease. What cannot be read is passed
// over: it is a help only.
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
	return m.memories.For(c.Number, c.Tree.Above(lease.Key, hints.PerLease), s.seen, func(of hints.Place) []byte {
		data, err := m.store.Memory(of.Campaign, of.Key)
		if err != nil {
			m.cfg.Log.Warn("a memory is passed over", "error", err)
		}
		return data
	})
}
