package endgame

import (
	"bytes"
	"encoding/binary"
	"math/bits"
	"slices"

	"amazonsfarm/shared/amazons"
	"amazonsfarm/shared/area"
	"amazonsfarm/shared/cgt"
)

// Solver computes values of positions by exhaustive recursion over moves, with a memory of every
// area and every sum of areas met. It is the definition that the databases are tested against, and
// what values areas outside them. The zero value is ready. A Solver is not safe for concurrent use.
type Solver struct {
	DB *DB // where areas are looked up first; may be nil

	c       cgt.Combiner
	areas   map[area.Key]cgt.Value
	guarded map[[4]Set]cgt.Value
	sums    map[string]cgt.Value
}

// solverLimit is how many areas and sums a Solver remembers: up to about a gigabyte. Beyond the
// limit it forgets all before the next question.
const solverLimit = 4 << 20

// Forget drops what is remembered.
func (s *Solver) Forget() { s.areas, s.guarded, s.sums = nil, nil, nil }

// Value returns the value of a position: of one area or of the sum of several. Errors wrap
// cgt.ErrOverflow.
func (s *Solver) Value(black, white, empty Set) (cgt.Value, error) {
	return s.Guarded(black, white, 0, empty)
}

// Guarded returns the value of a position in which the first move of each of the given blockers,
// all of one colour, shoots back at its origin. Only their owner is bound, so the position without
// that rule is worth at least as much to the owner: with blockers of Black the value is a lower
// bound, with blockers of White an upper one. It is what remains of an area when territories are
// cut off (area.Partition.Guarded); a blocker that is used up in a territory is to be left out, as
// a burnt square. Errors wrap cgt.ErrOverflow.
func (s *Solver) Guarded(black, white, blockers, empty Set) (cgt.Value, error) {
	if len(s.areas)+len(s.guarded)+len(s.sums) > solverLimit {
		s.Forget()
	}
	if s.areas == nil {
		s.areas, s.guarded, s.sums = map[area.Key]cgt.Value{}, map[[4]Set]cgt.Value{}, map[string]cgt.Value{}
	}
	if blockers&white != 0 {
		v, err := s.value(white, black, blockers, empty)
		return v.Neg(), err
	}
	return s.value(black, white, blockers, empty)
}

// term is one area of a sum.
type term struct {
	area.Area
	key []byte
}

// value returns the value of a sum of areas, in which blockers are of black. Integers are added;
// what remains is one area, or a sum whose options are computed as such, because the value of a sum
// does not follow from those of its parts.
func (s *Solver) value(black, white, blockers, empty Set) (cgt.Value, error) {
	var p area.Partition
	p.Basic(black, white, empty)
	var terms [area.MaxAreas]term
	n, whole := 0, int64(0)
	last := cgt.Value{}
	for i := range p.Areas() {
		a := &p.Areas()[i]
		v, key, err := s.one(a, a.Black&blockers)
		if err != nil {
			return v, err
		}
		if v.Kind() == cgt.Number && v.Mean().IsInt() {
			whole += v.Mean().Floor()
			continue
		}
		terms[n] = term{*a, key}
		n++
		last = v
	}
	if n <= 1 {
		return last.AddInt(whole)
	}
	rest := terms[:n]
	slices.SortFunc(rest, func(a, b term) int { return bytes.Compare(a.key, b.key) })
	var key []byte
	black, white, empty = 0, 0, 0
	for i := range rest {
		key = append(append(key, byte(len(rest[i].key))), rest[i].key...)
		black |= rest[i].Black
		white |= rest[i].White
		empty |= rest[i].Empty
	}
	v, ok := s.sums[string(key)]
	if !ok {
		var err error
		if v, err = s.search(black, white, blockers&black, empty); err != nil {
			return v, err
		}
		s.sums[string(key)] = v
	}
	return v.AddInt(whole)
}

// one returns the value of one area and bytes that name it up to equal values.
func (s *Solver) one(a *area.Area, blockers Set) (cgt.Value, []byte, error) {
	if blockers != 0 {
		return s.oneGuarded(a, blockers)
	}
	f := area.Canonical(a.Black, a.White, a.Empty)
	k := f.Key()
	name := binary.LittleEndian.AppendUint64(binary.LittleEndian.AppendUint64(nil, k.A), k.B)
	if f.Negated {
		name = append(name, 1)
	}
	if s.DB != nil {
		if v, ok := s.DB.Value(a.Black, a.White, a.Empty); ok {
			return v, name, nil
		}
	}
	v, ok := s.areas[k]
	if !ok {
		var err error
		if v, err = s.search(f.Black, f.White, 0, f.Shape&^(f.Black|f.White)); err != nil {
			return v, nil, err
		}
		s.areas[k] = v
	}
	if f.Negated {
		v = v.Neg()
	}
	return v, name, nil
}

// oneGuarded is one for an area with blockers. It is remembered up to shifts only.
func (s *Solver) oneGuarded(a *area.Area, blockers Set) (cgt.Value, []byte, error) {
	shift := cornerShift(a.Squares())
	k := [4]Set{a.Black >> shift, a.White >> shift, blockers >> shift, a.Empty >> shift}
	name := make([]byte, 0, 32)
	for _, x := range k {
		name = binary.LittleEndian.AppendUint64(name, x)
	}
	v, ok := s.guarded[k]
	if !ok {
		var err error
		if v, err = s.search(a.Black, a.White, blockers, a.Empty); err != nil {
			return v, nil, err
		}
		s.guarded[k] = v
	}
	return v, name, nil
}

// search values a position from its options.
func (s *Solver) search(black, white, blockers, empty Set) (cgt.Value, error) {
	var left, right []cgt.Value
	seen := map[cgt.Value]bool{}
	for q := black; q != 0; q &= q - 1 {
		from := q & -q
		for t := amazons.QueenTargets(amazons.Square(bits.TrailingZeros64(q)), empty); t != 0; t &= t - 1 {
			to := t & -t
			open := empty&^to | from
			arrows := from
			if blockers&from == 0 {
				arrows = amazons.QueenTargets(amazons.Square(bits.TrailingZeros64(t)), open)
			}
			for x := arrows; x != 0; x &= x - 1 {
				v, err := s.value(black&^from|to, white, blockers&^from, open&^(x&-x))
				if err != nil {
					return v, err
				}
				if !seen[v] {
					seen[v] = true
					left = append(left, v)
				}
			}
		}
	}
	clear(seen)
	for q := white; q != 0; q &= q - 1 {
		from := q & -q
		for t := amazons.QueenTargets(amazons.Square(bits.TrailingZeros64(q)), empty); t != 0; t &= t - 1 {
			to := t & -t
			open := empty&^to | from
			for x := amazons.QueenTargets(amazons.Square(bits.TrailingZeros64(t)), open); x != 0; x &= x - 1 {
				v, err := s.value(black, white&^from|to, blockers, open&^(x&-x))
				if err != nil {
					return v, err
				}
				if !seen[v] {
					seen[v] = true
					right = append(right, v)
				}
			}
		}
	}
	return s.c.Combine(left, right)
}
