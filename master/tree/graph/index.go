package graph

import (
	"iter"
	"math/bits"

	"amazonsfarm/shared/amazons"
)

// index has all nodes of a tree, by key.
//
// A Go map does that too, but a position that is split is looked up with hundreds of others, and
// with millions of nodes each look waits for memory: it took more than a third of the tree's time.
// Here the places of all are read first (warm), which a processor does side by side, and the
// garbage collector has nothing to follow.
type index struct {
	slabs []*slab
	n     int // nodes
	parts [indexParts]indexPart
}

// indexParts tables grow one at a time, so that none of them takes long to copy.
const indexParts = 256

// indexPart is a hash table with open addressing. A slot is 0 or has the lower half of a key's hash
// above the number of its node, from 1. So 4,294,967,295 nodes are the most.
type indexPart struct {
	slots []uint64 // a power of two
	used  int
}

// slabNodes is how many nodes are made at a time. They are not moved.
const slabNodes = 256

type slab [slabNodes]Node

// hash scatters the bits of a key: the upper eight say which part it is in, the lower 32 where.
func hash(k amazons.Key) uint64 { return Mix(k.A ^ bits.RotateLeft64(k.B*0x9e3779b97f4a7c15, 29)) }

func (x *index) at(i uint32) *Node { return &x.slabs[i/slabNodes][i%slabNodes] }

// get returns the node of a key, or nil.
func (x *index) get(k amazons.Key) *Node { return x.find(k, hash(k)) }

func (x *index) find(k amazons.Key, h uint64) *Node {
	slots := x.parts[h>>56].slots
	mask := len(slots) - 1
	for i := int(uint32(h)) & mask; mask >= 0 && slots[i] != 0; i = (i + 1) & mask {
		if uint32(slots[i]>>32) == uint32(h) {
			if n := x.at(uint32(slots[i]) - 1); n.Key == k {
				return n
			}
		}
	}
	return nil
}

// warm reads where find will look first for some positions. What it returns means nothing.
func (x *index) warm(next []child) (sum uint64) {
	for i := range next {
		h := next[i].hash
		if slots := x.parts[h>>56].slots; len(slots) > 0 {
			sum ^= slots[int(uint32(h))&(len(slots)-1)]
		}
	}
	return sum
}

// add makes a node for a key that is not there yet. It is zero but for its key.
func (x *index) add(k amazons.Key) *Node {
	if x.n%slabNodes == 0 {
		x.slabs = append(x.slabs, new(slab))
	}
	n := x.at(uint32(x.n))
	x.n++
	n.Key = k
	h := hash(k)
	p := &x.parts[h>>56]
	if p.used*4 >= len(p.slots)*3 {
		p.grow()
	}
	p.put(uint64(uint32(h))<<32 | uint64(x.n))
	return n
}

func (p *indexPart) put(slot uint64) {
	mask := len(p.slots) - 1
	i := int(slot>>32) & mask
	for p.slots[i] != 0 {
		i = (i + 1) & mask
	}
	p.slots[i] = slot
	p.used++
}

func (p *indexPart) grow() {
	old := p.slots
	p.slots, p.used = make([]uint64, max(8, 2*len(old))), 0
	for _, slot := range old {
		if slot != 0 {
			p.put(slot)
		}
	}
}

// all yields the nodes in the order in which they came.
func (x *index) all() iter.Seq[*Node] {
	return func(yield func(*Node) bool) {
		for i := range x.n {
			if !yield(x.at(uint32(i))) {
				return
			}
		}
	}
}

// Mix scatters the bits of x (the finalizer of splitmix64).
func Mix(x uint64) uint64 {
	x += 0x9e3779b97f4a7c15
	x = (x ^ x>>30) * 0xbf58476d1ce4e5b9
	x = (x ^ x>>27) * 0x94d049bb133111eb
	return x ^ x>>31
}
