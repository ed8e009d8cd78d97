package endgame

import (
	"bytes"
	"math/bits"
	"slices"

	"amazonsfarm/shared/amazons"
	"amazonsfarm/shared/area"
	"amazonsfarm/shared/cgt"
)

// Solver computes values of positions by exhaustive recursion over moves, with a
// memory of every area and every sum of areas met. It is the definition that the
// databases are tested against, and what values areas outside them. A Solver is not safe for concurrent use.
type Solver struct {
	DB *DB // where areas are looked up first; may be nil

	c     cgt.Combiner
	areas map[area.Key]cgt.Value
	sums  map[string]cgt.Value
}

// Len returns the number of areas and sums remembered.
func (s *Solver) Len() int { return len(s.areas) + len(s.sums) }

// Forget drops what is remembered.
func (s *Solver) Forget() { s.areas, s.sums = nil, nil }

// Value returns the value of a position: of one area or of the sum of several. Errors wrap
// cgt.ErrOverflow.
func (s *Solver) Value(black, white, empty Set) (cgt.Value, error) {
	var p area.Partition
	p.Basic(black, white, empty)
	return s.sum(p.Areas())
}

// sum returns the value of a sum of areas. Integers are added; what remains is one
// area, or a sum whose options are computed as such, because the value of a sum
// does not follow from those of its parts.
func (s *Solver) sum(areas []area.Area) (cgt.Value, error) {
	type part struct {
		area.Area
		key area.Key
		neg bool
	}
	var hot [area.MaxAreas]part
	n, whole := 0, int64(0)
	value := cgt.Value{}
	for i := range areas {
		a := &areas[i]
		f := area.Canonical(a.Black, a.White, a.Empty)
		v, err := s.one(a, f)
		if err != nil {
			return v, err
		}
		if v.Kind() == cgt.Number && v.Mean().IsInt() {
			whole += v.Mean().Floor()
			continue
		}
		hot[n] = part{*a, f.Key(), f.Negated}
		n++
		value = v
	}
	if n <= 1 {
		return value.AddInt(whole)
	}
	rest := hot[:n]
	slices.SortFunc(rest, func(a, b part) int {
		if c := bytes.Compare(keyBytes(a.key, a.neg), keyBytes(b.key, b.neg)); c != 0 {
			return c
		}
		return 0
	})
	var key []byte
	var black, white, empty Set
	for i := range rest {
		key = append(key, keyBytes(rest[i].key, rest[i].neg)...)
		black |= rest[i].Black
		white |= rest[i].White
		empty |= rest[i].Empty
	}
	v, ok := s.sums[string(key)]
	if !ok {
		var err error
		if v, err = s.search(black, white, empty); err != nil {
			return v, err
		}
		if s.sums == nil {
			s.sums = map[string]cgt.Value{}
		}
		s.sums[string(key)] = v
	}
	return v.AddInt(whole)
}

func keyBytes(k area.Key, neg bool) []byte {
	b := make([]byte, 17)
	for i := range 8 {
		b[i], b[8+i] = byte(k.A>>(8*i)), byte(k.B>>(8*i))
	}
	if neg {
		b[16] = 1
	}
	return b
}

// one returns the value of one area.
func (s *Solver) one(a *area.Area, f area.Form) (cgt.Value, error) {
	if s.DB != nil {
		if v, ok := s.DB.Value(a.Black, a.White, a.Empty); ok {
			return v, nil
		}
	}
	v, ok := s.areas[f.Key()]
	if !ok {
		var err error
		if v, err = s.search(f.Black, f.White, f.Shape&^(f.Black|f.White)); err != nil {
			return v, err
		}
		if s.areas == nil {
			s.areas = map[area.Key]cgt.Value{}
		}
		s.areas[f.Key()] = v
	}
	if f.Negated {
		v = v.Neg()
	}
	return v, nil
}

// search values a position from its options.
func (s *Solver) search(black, white, empty Set) (cgt.Value, error) {
	var err error
	options := func(own, opp Set, swap bool) (out []cgt.Value) {
		seen := map[cgt.Value]bool{}
		for q := own; q != 0 && err == nil; q &= q - 1 {
			from := q & -q
			for t := amazons.QueenTargets(amazons.Square(bits.TrailingZeros64(q)), empty); t != 0; t &= t - 1 {
				to := t & -t
				open := empty&^to | from
				for x := amazons.QueenTargets(amazons.Square(bits.TrailingZeros64(t)), open); x != 0; x &= x - 1 {
					b, w := own&^from|to, opp
					if swap {
						b, w = w, b
					}
					var v cgt.Value
					if v, err = s.Value(b, w, open&^(x&-x)); err != nil {
						return nil
					}
					if !seen[v] {
						seen[v] = true
						out = append(out, v)
					}
				}
			}
		}
		return out
	}
	left := options(black, white, false)
	right := options(white, black, true)
	if err != nil {
		return cgt.Value{}, err
	}
	return s.c.Combine(left, right)
}
