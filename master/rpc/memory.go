package rpc

import (
	"amazonsfarm/master/tree"
	"amazonsfarm/shared/amazons"
)

// Memory is what a worker's table knew of a position that it left unsolved. Whoever goes on with the position, or with one
// below it, gets it with the lease, unless the table it comes from is their own.
type Memory struct {
	Key  amazons.Key
	Data []byte
}

// Limits of what travels with a lease.
const (
	maxMemoriesPerLease = 4       // of the position itself and those above it
	maxMemoryBytes      = 4 << 20 // of them together
	maxSeen             = 1 << 8  // memories remembered per session as seen; the store keeps fewer than that
	maxVersions         = 1 << 12 // memories of this run whose versions are remembered
)

// takeMemory returns a memory that came with an event if it is worth keeping: its position is in the tree and open.
// It is called after the event's step.
func (m *Master) takeMemory(msg incoming) (Memory, bool) {
	if len(msg.memory.Data) == 0 || m.cfg.MaxMemoryEntries == 0 || !m.tree.Open(msg.memory.Key) {
		return Memory{}, false
	}
	m.memories++
	m.versions[msg.memory.Key] = m.memories
	msg.session.sawMemory(msg.memory.Key, m.memories)
	return msg.memory, true
}

// forgetMemories drops versions of positions that are not open any more.
func (m *Master) forgetMemories() {
	if len(m.versions) > maxVersions {
		clear(m.versions)
	}
	for k := range m.versions {
		if !m.tree.Open(k) {
			delete(m.versions, k)
		}
	}
}

func (s *session) sawMemory(k amazons.Key, version uint64) {
	if len(s.seen) >= maxSeen {
		clear(s.seen)
	}
	s.seen[k] = version
}

// memoriesFor returns the memories that a worker lacks for a lease. What cannot be read is passed over: it is a help only.
func (m *Master) memoriesFor(worker string, lease tree.Lease) [][]byte {
	m.mu.Lock()
	s := m.byName[worker]
	m.mu.Unlock()
	if s == nil || m.cfg.MaxMemoryEntries == 0 {
		return nil
	}
	var out [][]byte
	size := 0
	for _, k := range m.tree.Above(lease.Key, maxMemoriesPerLease) {
		version, known := m.versions[k]
		if seen, ok := s.seen[k]; ok && seen == version {
			continue
		}
		data, err := m.store.Memory(k)
		if err != nil {
			m.cfg.Log.Warn("a memory is passed over", "error", err)
		}
		if len(data) == 0 {
			continue // as with most positions: with thousands of workers it is too much to remember for each that there is nothing
		}
		if !known { // of an earlier run of the master
			m.versions[k] = 0
		}
		s.sawMemory(k, version)
		if size+len(data) > maxMemoryBytes {
			continue
		}
		size += len(data)
		out = append(out, data)
	}
	return out
}
