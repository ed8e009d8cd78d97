package dfpn

import (
	"cmp"
	"slices"

	"amazonsfarm/shared/amazons"
)

// A recounter leaves some children out of a sum. A search does without one unless its options ask for it.
type recounter struct {
	widening int  // children that count at most; 0: all
	grouped  bool // of the children in which the same queen went to the same square, only the largest phi counts

	others []child         // children other than the best
	phi    []uint32        // what counts, that of the best child or its group first
	place  [64 * 64]uint16 // of a group in phi, from 1 on; 0: none of it was met yet
}

// newRecounter returns what o asks for: nil if all children count.
func newRecounter(o *Options) *recounter {
	if o.Widening == 0 && o.Sum != Grouped {
		return nil
	}
	return &recounter{widening: o.Widening, grouped: o.Sum == Grouped}
}

// recount corrects what s, the choice among children, says of sums over them. Where children are grouped, the best one's group
// stands for it.
func (r *recounter) recount(children []child, s *selection) {
	r.others = append(append(r.others[:0], children[:s.best]...), children[s.best+1:]...)
	if r.widening > 0 && len(r.others) >= r.widening {
		slices.SortStableFunc(r.others, func(a, b child) int { return cmp.Compare(a.delta, b.delta) })
		r.others = r.others[:r.widening-1]
	}
	r.phi = r.phi[:0]
	r.count(&children[s.best])
	for i := range r.others {
		r.count(&r.others[i])
	}
	if r.grouped {
		clear(r.place[:])
	}
	s.chosen, s.largestRest, s.sum, s.counted = r.phi[0], 0, uint64(r.phi[0]), len(r.phi)
	for _, phi := range r.phi[1:] {
		s.sum += uint64(phi)
		s.largestRest = max(s.largestRest, phi)
	}
	s.largest = max(s.largestRest, s.chosen)
}

// count adds a child to phi, or to its group there.
func (r *recounter) count(c *child) {
	if r.grouped {
		place := &r.place[queenMove(c.move)]
		if *place > 0 {
			r.phi[*place-1] = max(r.phi[*place-1], c.phi)
			return
		}
		*place = uint16(len(r.phi) + 1)
	}
	r.phi = append(r.phi, c.phi)
}

// queenMove is what the moves of a group have in common.
func queenMove(m amazons.Move) int { return int(m.From)*64 + int(m.To) }
