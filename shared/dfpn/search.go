package dfpn

import (
	"math/bits"

	"amazonsfarm/shared/amazons"
	"amazonsfarm/shared/eval"
)

// child is a reply under consideration while its parent is being searched.
type child struct {
	hash       uint64
	phi, delta uint32
	move       amazons.Move
}

// thread is one searching thread: its own counters and stack of children, over the shared table.
type thread struct {
	s     *Searcher
	b     amazons.Board
	table *Table
	stack []child // children of all nodes on the path, the deepest last

	nodes, evaluations uint64
	limit              uint64
}

// numbers are the proof and disproof number of a position for its side to move.
type numbers struct{ phi, delta uint32 }

func (n numbers) solved() bool { return n.phi == 0 || n.delta == 0 }

var (
	won  = numbers{0, Infinity}
	lost = numbers{Infinity, 0}
)

// search is multiple iterative deepening (df-pn, Nagai 2002, in the form with
// phi and delta): it searches below st until phi or delta reaches its threshold, the position is
// solved or the search is stopped, stores the numbers and returns them.
func (t *thread) search(st amazons.State, hash uint64, limit numbers, work uint64) numbers {
	t.nodes++
	before := t.nodes - 1
	base := len(t.stack)
	n := t.expand(st)
	if !n.solved() {
		n = t.deepen(st, base, limit)
	}
	t.stack = t.stack[:base]
	t.table.put(hash, pack(n.phi, n.delta, work+t.nodes-before))
	if n.solved() {
		t.s.report(st, n, work+t.nodes-before)
	}
	return n
}

// expand pushes the children of st that are not yet known to be won for the
// opponent. It returns won as soon as it meets a child that is lost, lost
// when nothing was pushed, and otherwise numbers that are not solved.
func (t *thread) expand(st amazons.State) numbers {
	base := len(t.stack)
	symmetric := st.Symmetric(t.b)
	for queens := st.Own; queens != 0; queens &= queens - 1 {
		from := amazons.Square(bits.TrailingZeros64(queens))
		open := st.Empty | from.Bit()
		for targets := amazons.QueenTargets(from, st.Empty); targets != 0; targets &= targets - 1 {
			to := amazons.Square(bits.TrailingZeros64(targets))
			for arrows := amazons.QueenTargets(to, open); arrows != 0; arrows &= arrows - 1 {
				m := amazons.Move{From: from, To: to, Arrow: amazons.Square(bits.TrailingZeros64(arrows))}
				next := st.After(m)
				hash := next.Hash(t.b)
				if symmetric && t.pushed(base, hash) {
					continue
				}
				n := t.look(next, hash)
				if n.delta == 0 {
					return won
				}
				if n.phi != 0 {
					t.stack = append(t.stack, child{hash, n.phi, n.delta, m})
				}
			}
		}
	}
	if len(t.stack) == base {
		return lost
	}
	return numbers{1, 1}
}

func (t *thread) pushed(base int, hash uint64) bool {
	for i := base; i < len(t.stack); i++ {
		if t.stack[i].hash == hash {
			return true
		}
	}
	return false
}

// look returns the numbers of a position: from the table, or by the static evaluation.
func (t *thread) look(st amazons.State, hash uint64) numbers {
	if data := t.table.get(hash); data != 0 {
		phi, delta, _ := unpack(data)
		return numbers{phi, delta}
	}
	t.evaluations++
	verdict, f := eval.Evaluate(st)
	switch verdict {
	case eval.Won:
		return won
	case eval.Lost:
		return lost
	}
	return initial(f)
}

// deepen searches the most promising child again and again until the numbers reach the thresholds.
func (t *thread) deepen(st amazons.State, base int, limit numbers) numbers {
	for {
		children := t.stack[base:]
		// phi = least delta of a child; delta = weighted sum of the children's phi.
		best, second := -1, uint32(Infinity)
		least := uint32(Infinity) + 1
		var sum uint64
		var largest, largestRest uint32 // the largest phi, and the largest among the children other than best
		for i := range children {
			c := &children[i]
			sum += uint64(c.phi)
			if c.delta < least {
				if best >= 0 {
					second = least
					largestRest = max(largestRest, children[best].phi)
				}
				best, least = i, c.delta
			} else {
				second = min(second, c.delta)
				largestRest = max(largestRest, c.phi)
			}
		}
		if best < 0 {
			return lost
		}
		c := &children[best]
		largest = max(largestRest, c.phi)
		n := numbers{least, weigh(largest, sum-uint64(largest))}
		if n.phi == 0 {
			return won
		}
		if n.phi >= limit.phi || n.delta >= limit.delta || t.stopped() {
			return n
		}

		next := numbers{
			phi:   childLimit(limit.delta, largestRest, sum-uint64(c.phi)-uint64(largestRest)),
			delta: min(limit.phi, slack(second)),
		}
		st2 := st.After(c.move)
		_, _, work := unpack(t.table.get(c.hash))
		r := t.search(st2, c.hash, next, work)
		children = t.stack[base:] // the stack may have moved
		c = &children[best]
		c.phi, c.delta = r.phi, r.delta
		switch {
		case r.delta == 0:
			return won
		case r.phi == 0:
			last := len(t.stack) - 1
			children[best] = t.stack[last]
			t.stack = t.stack[:last]
		}
	}
}

func (t *thread) stopped() bool { return t.nodes >= t.limit || t.s.stop.Load() }

// Weight of all children but the largest in a sum of proof numbers, in units of 1/256. A plain
// sum counts what transpositions share many times over; 0.15 of the rest was best among the values tried.
const sumWeight = 38

// weigh adds up the phi of children: the largest in full, the rest by sumWeight.
func weigh(largest uint32, rest uint64) uint32 {
	return uint32(min(uint64(largest)+(rest*sumWeight+255)>>8, largestUnsolved))
}

// childLimit returns the least phi of one child at which the weighted sum over
// all children reaches limit, where the other children's largest phi and the sum of the rest of theirs are given.
func childLimit(limit, largest uint32, rest uint64) uint32 {
	// If the child ends up the largest: x + w*(largest+rest) >= limit.
	if x := int64(limit) - int64((uint64(largest)+rest)*sumWeight+255)>>8; x >= int64(largest) {
		return uint32(x)
	}
	// Otherwise it is part of the rest: largest + w*(rest+x) >= limit.
	x := (int64(limit)-int64(largest))<<8/sumWeight - int64(rest)
	return uint32(min(max(x, 1), largestUnsolved))
}

// slack raises the threshold that the second best child sets by a quarter, so that the search does not jump
// between two equal children at every step.
func slack(second uint32) uint32 { return min(second+second/4+1, Infinity) }

// initial returns the numbers of a position nobody has searched yet.
func initial(f eval.Features) numbers {
	lead := f.Territory
	phi := f.OppMoves * scale(-lead)
	delta := f.OwnMoves * scale(lead)
	return numbers{uint32(max(1, phi/32)), uint32(max(1, delta/32))}
}

func scale(lead int) int {
	x := 32 + 4*lead
	if lead < 0 {
		x = 32 * 8 / (8 - lead)
	}
	return x
}
