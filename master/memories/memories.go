// Package memories keeps what workers' search tables knew of positions that they left unsolved, and
// picks what goes along with a lease: whoever goes on with a position elsewhere would search all of
// it again. The master (master/rpc) and simulated farms (master/simulate) use it alike.
package memories

import (
	"container/list"

	"amazonsfarm/shared/amazons"
)

// Limits of what travels with a lease.
const (
	PerLease      = 4       // memories: of the position itself and of those above it
	BytesPerLease = 4 << 20 // of them together
	maxSeen       = 1 << 8  // memories of which is known that a worker has them; beyond it some are sent again
)

// DefaultBytes is the room for a cache where nothing else is said.
const DefaultBytes = 256 << 20

// Of says whose memory it is.
type Of struct {
	Campaign uint32 // its number
	Key      amazons.Key
}

// Cache holds the memories that came or were asked for last, up to a number of bytes. It is not
// safe for concurrent use.
type Cache struct {
	most, bytes int64
	version     uint64     // of the last one
	order       *list.List // of *remembered, the one used last in front
	of          map[Of]*list.Element
}

// remembered is a memory in the cache. Its version tells it from earlier ones of its position.
type remembered struct {
	of      Of
	data    []byte
	version uint64
}

// Seen says which memories one worker's table has, by their versions. It is empty where the table is.
type Seen map[Of]uint64

// NewCache returns an empty cache for so many bytes of memories.
func NewCache(most int64) *Cache {
	return &Cache{most: most, order: list.New(), of: map[Of]*list.Element{}}
}

// Len returns the number of memories in the cache, and Bytes how large they are together.
func (c *Cache) Len() int     { return len(c.of) }
func (c *Cache) Bytes() int64 { return c.bytes }

// Put keeps a memory that comes from the worker with this Seen in place of an earlier one of its
// position, and drops the ones that were used longest ago where there are too many, perhaps this
// one. It keeps data itself.
func (c *Cache) Put(of Of, data []byte, from Seen) { from.saw(c.put(of, data)) }

func (c *Cache) put(of Of, data []byte) *remembered {
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
func (c *Cache) get(of Of) *remembered {
	e := c.of[of]
	if e == nil {
		return nil
	}
	c.order.MoveToFront(e)
	return e.Value.(*remembered)
}

func (c *Cache) drop(of Of) {
	if e := c.of[of]; e != nil {
		c.bytes -= int64(len(e.Value.(*remembered).data))
		c.order.Remove(e)
		delete(c.of, of)
	}
}

// Retain drops the memories of positions that are not open any more.
func (c *Cache) Retain(open func(Of) bool) {
	for of := range c.of {
		if !open(of) {
			c.drop(of)
		}
	}
}

// For returns the memories of a lease's position and of those above it, given in this order, that
// its worker lacks, and marks them as seen. What is not in the cache is looked for with find, which
// returns nil where there is none.
func (c *Cache) For(campaign uint32, keys []amazons.Key, seen Seen, find func(Of) []byte) (out [][]byte) {
	size := 0
	for _, k := range keys {
		of := Of{campaign, k}
		known := c.get(of)
		if known == nil {
			data := find(of)
			if len(data) == 0 {
				continue
			}
			known = c.put(of, data)
		}
		if seen[of] == known.version || size+len(known.data) > BytesPerLease {
			continue
		}
		seen.saw(known)
		size += len(known.data)
		out = append(out, known.data)
	}
	return out
}

func (s Seen) saw(r *remembered) {
	if len(s) >= maxSeen {
		clear(s)
	}
	s[r.of] = r.version
}
