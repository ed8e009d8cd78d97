// Package hints keeps what workers' search tables knew of positions that they left unsolved, and
// picks the hints that go along with a lease. Without them another worker that goes on with the
// position would search all of it again. The master (master/rpc) and simulated farms
// (master/simulate) use it alike.
//
// Each hint has a version, and each worker a [Seen]: the versions that its table has. A hint is
// sent once to a worker, until a newer one replaces it. Whoever brought a hint has it already. The
// cache drops the hints that were used longest ago; a few of each pool survive in the store.
package hints

import (
	"container/list"

	"amazonsfarm/shared/amazons"
)

const (
	// PerLease is the number of hints of one lease: for the position itself and for positions above
	// it. Hints from farther above say little of the position.
	PerLease = 4
	// BytesPerLease bounds the hints of one lease together, so that they fit into one message.
	BytesPerLease = 4 << 20
	// maxSeen is the number of hints that one worker is known to have. Beyond it some are sent
	// again, which does no harm.
	maxSeen = 1 << 8
	// DefaultBytes is the room of a cache: with less, hints of positions that nobody asked for
	// lately are gone, but for the few in the store.
	DefaultBytes = 256 << 20
)

// Place is the position of a campaign.
type Place struct {
	Campaign uint32 // its number
	Key      amazons.Key
}

// Hint is what a worker's table knew of a position that it left unsolved. It is a help and no
// evidence: it may be lost or wrong without harm to any fact.
type Hint struct {
	Place
	Data []byte
}

// Cache holds the hints that came or were asked for last, up to a number of bytes. It is not safe
// for concurrent use.
type Cache struct {
	most, bytes int64
	version     uint64     // of the last one
	order       *list.List // of *cached, the one used last in front
	at          map[Place]*list.Element
}

// cached is a hint in the cache. Its version tells it from earlier ones of its position.
type cached struct {
	Hint
	version uint64
}

// Seen says which hints one worker's table has, by their versions. It is empty where the table is.
type Seen map[Place]uint64

// NewCache returns an empty cache for so many bytes of hints.
func NewCache(most int64) *Cache {
	return &Cache{most: most, order: list.New(), at: map[Place]*list.Element{}}
}

// Put keeps a hint that comes from the worker with this Seen, in place of an earlier one of its
// position. Where there are too many it drops those used longest ago, perhaps this one. It keeps
// the data itself.
func (c *Cache) Put(h Hint, from Seen) { from.saw(c.put(h)) }

// put makes room for a hint, and returns it with the version by which workers know it.
func (c *Cache) put(h Hint) *cached {
	c.version++
	c.drop(h.Place)
	r := &cached{h, c.version}
	c.at[h.Place] = c.order.PushFront(r)
	c.bytes += int64(len(h.Data))
	for c.bytes > c.most {
		c.drop(c.order.Back().Value.(*cached).Place)
	}
	return r
}

// get returns the hint of a position, nil if it is not here.
func (c *Cache) get(p Place) *cached {
	e := c.at[p]
	if e == nil {
		return nil
	}
	c.order.MoveToFront(e)
	return e.Value.(*cached)
}

// drop forgets the hint of a position, if there is one.
func (c *Cache) drop(p Place) {
	if e := c.at[p]; e != nil {
		c.bytes -= int64(len(e.Value.(*cached).Data))
		c.order.Remove(e)
		delete(c.at, p)
	}
}

// Retain drops the hints of positions that are not open any more.
func (c *Cache) Retain(open func(Place) bool) {
	for p := range c.at {
		if !open(p) {
			c.drop(p)
		}
	}
}

// For returns the hints of a lease's position and of those above it, given in this order, that its
// worker lacks, and marks them as seen. Hints that are not in the cache are looked for with find,
// which returns nil where there is none.
func (c *Cache) For(campaign uint32, keys []amazons.Key, seen Seen, find func(Place) []byte) (out [][]byte) {
	size := 0
	for _, k := range keys {
		p := Place{campaign, k}
		known := c.get(p)
		if known == nil {
			data := find(p)
			if len(data) == 0 {
				continue
			}
			known = c.put(Hint{p, data})
		}
		if seen[p] == known.version || size+len(known.Data) > BytesPerLease {
			continue
		}
		seen.saw(known)
		size += len(known.Data)
		out = append(out, known.Data)
	}
	return out
}

// saw notes that a worker has a hint. It forgets all where it notes too many: then some are sent
// again.
func (s Seen) saw(r *cached) {
	if len(s) >= maxSeen {
		clear(s)
	}
	s[r.Place] = r.version
}
