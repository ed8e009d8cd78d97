package endgame

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"slices"

	"amazonsfarm/shared/amazons"
	"amazonsfarm/shared/area"
	"amazonsfarm/shared/cgt"
)

// Solver computes values of positions by exhaustive recursion over moves. It remembers every area
// and every sum of areas that it meets. Tests compare the databases with it, and it values the areas
// that a database lacks. The zero value is ready. A Solver is not safe for concurrent use.
type Solver struct {
	DB *DB // where areas are looked up first; may be nil
	// Stop is asked before an area or a sum is searched, nil: never. Its error ends the question.
	Stop func() error

	c        cgt.Combiner
	areas    map[area.Key]cgt.Value
	sums     map[string]cgt.Value
	searched int // areas and sums, for the question of the moment
}

// solverLimit is how many areas and sums a Solver searches for one question, which takes a minute or two. It
// remembers as many from questions before, half a gigabyte in all, and forgets these once there are more.
const solverLimit = 1 << 20

// ErrLarge is wrapped by the error about an area that would take too long.
var ErrLarge = errors.New("too large an area to search")

// Forget drops what is remembered.
func (s *Solver) Forget() { s.areas, s.sums = nil, nil }

// Value returns the value of a position: of one area or of the sum of several. Errors wrap
// cgt.ErrOverflow, or ErrLarge, or are those of Stop.
func (s *Solver) Value(black, white, empty Set) (cgt.Value, error) {
	s.searched = 0
	if len(s.areas)+len(s.sums) > solverLimit {
		s.Forget()
	}
	if s.areas == nil {
		s.areas, s.sums = map[area.Key]cgt.Value{}, map[string]cgt.Value{}
	}
	return s.value(black, white, empty)
}

// term is one area of a sum, with bytes that name it up to equal values.
type term struct {
	area.Area
	name []byte
}

// value returns the value of a sum of areas. Areas that are worth integers are added up. A sum of
// several others is searched as a whole, since its value does not follow from theirs.
func (s *Solver) value(black, white, empty Set) (cgt.Value, error) {
	var p area.Partition
	p.Basic(black, white, empty)
	var terms [area.MaxAreas]term
	n, whole := 0, int64(0)
	last := cgt.Value{}
	for i := range p.Areas() {
		a := &p.Areas()[i]
		v, name, err := s.one(a)
		if err != nil {
			return v, err
		}
		if v.Kind() == cgt.Number && v.Mean().IsInt() {
			whole += v.Mean().Floor()
			continue
		}
		terms[n] = term{*a, name}
		n++
		last = v
	}
	if n <= 1 {
		return last.AddInt(whole)
	}
	rest := terms[:n]
	// The order of the areas does not change their sum, so the key has them in one order.
	slices.SortFunc(rest, func(a, b term) int { return bytes.Compare(a.name, b.name) })
	var key []byte
	black, white, empty = 0, 0, 0
	for i := range rest {
		key = append(append(key, byte(len(rest[i].name))), rest[i].name...)
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
		s.sums[string(key)] = v
	}
	return v.AddInt(whole)
}

// one returns the value of one area and its name in a sum.
func (s *Solver) one(a *area.Area) (cgt.Value, []byte, error) {
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
		if v, err = s.search(f.Black, f.White, f.Shape&^(f.Black|f.White)); err != nil {
			return v, nil, err
		}
		s.areas[k] = v
	}
	if f.Negated {
		v = v.Neg()
	}
	return v, name, nil
}

// search values a position from its options.
func (s *Solver) search(black, white, empty Set) (cgt.Value, error) {
	if s.searched++; s.searched > solverLimit {
		return cgt.Value{}, fmt.Errorf("%w: more than %d areas and sums follow from it", ErrLarge, solverLimit)
	}
	if s.Stop != nil {
		if err := s.Stop(); err != nil {
			return cgt.Value{}, err
		}
	}
	left, right, err := options(black, white, empty, s.value)
	if err != nil {
		return cgt.Value{}, err
	}
	return s.c.Combine(left, right)
}

// options returns the distinct values, as value computes them, after the moves of Black and of White.
func options[V comparable](black, white, empty Set,
	value func(black, white, empty Set) (V, error)) (left, right []V, err error) {
	if left, err = optionsOf(black, white, empty, false, value); err == nil {
		right, err = optionsOf(white, black, empty, true, value)
	}
	return left, right, err
}

// optionsOf returns the distinct values after the moves of own. swap says that own is White.
func optionsOf[V comparable](own, opp, empty Set, swap bool,
	value func(black, white, empty Set) (V, error)) (values []V, err error) {
	seen := map[V]bool{}
	state := amazons.State{Own: own, Opp: opp, Empty: empty}
	for m := range state.AllMoves() {
		after := state.After(m)
		// After looks from the other side: the side that has moved is Opp now.
		black, white := after.Opp, after.Own
		if swap {
			black, white = white, black
		}
		v, err := value(black, white, after.Empty)
		if err != nil {
			return nil, err
		}
		if !seen[v] {
			seen[v] = true
			values = append(values, v)
		}
	}
	return values, nil
}
