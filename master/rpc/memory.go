package rpc

import (
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
	maxSeen             = 1 << 8  // memories remembered per session as seen; the store keeps fewer than that
	maxVersions         = 1 << 12 // memories of this run whose versions are remembered
)

// takeMemory returns a memory that came with an event if it is worth keeping: its position is in the tree and open, and its worker is trusted, since a made-up one
// would mislead whoever gets it.
// It is called after the event's step.
func (m *Master) takeMemory(msg incoming) (Memory, bool) {
	c := msg.campaign
	if len(msg.memory.Data) == 0 || m.cfg.MaxMemoryEntries == 0 || c.Tree == nil || !c.Tree.Open(msg.memory.Key) || !c.Tree.Trusted(msg.session.name) {
		return Memory{}, false
	}
	c.memories++
	c.versions[msg.memory.Key] = c.memories
	msg.session.sawMemory(memoryOf{c.Number, msg.memory.Key}, c.memories)
	return msg.memory, true
}

// forgetMemories drops versions of positions that are not open any more.
func (m *Master) forgetMemories() {
	for _, c := range m.campaigns() {
		if len(c.versions) > maxVersions {
			clear(c.versions)
		}
		for k := range c.versions {
			if !c.Tree.Open(k) {
				delete(c.versions, k)
			}
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
		version, known := c.versions[k]
		if seen, ok := s.seen[memoryOf{c.Number, k}]; ok && seen == version {
			continue
		}
		data, err := m.store.Memory(c.Number, k)
		if err != nil {
			m.cfg.Log.Warn("a memory is passed over", "error", err)
		}
		if len(data) == 0 {
			continue // as with most positions: with thousands of workers it is too much to remember for each that there is nothing
		}
		if !known { // of an earlier run of the master
			c.versions[k] = 0
		}
		s.sawMemory(memoryOf{c.Number, k}, version)
		if size+len(data) > maxMemoryBytes {
			continue
		}
		size += len(data)
		out = append(out, data)
	}
	return out
}
