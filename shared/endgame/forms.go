package endgame

import (
	"amazonsfarm/shared/area"
	"amazonsfarm/shared/cgt"
)

// maxFormAreas is how many areas a Forms remembers, some 20 MB. Beyond this number it forgets all.
const maxFormAreas = 1 << 18

// Forms computes canonical forms of positions, for people and for tests. Their size grows fast, so it
// is for small areas. NewForms makes one. A Forms is not safe for concurrent use.
type Forms struct {
	Arena *cgt.Arena
	areas map[area.Key]cgt.Form
}

// NewForms returns a Forms whose forms live in a.
func NewForms(a *cgt.Arena) *Forms { return &Forms{Arena: a, areas: map[area.Key]cgt.Form{}} }

// Form returns the canonical form of a position: of one area or of the sum of several. Errors wrap
// cgt.ErrLimit or cgt.ErrOverflow.
func (s *Forms) Form(black, white, empty Set) (sum cgt.Form, err error) {
	var p area.Partition
	p.Basic(black, white, empty)
	for _, a := range p.Areas() {
		f, err := s.area(&a)
		if err != nil {
			return 0, err
		}
		if sum, err = s.Arena.Add(sum, f); err != nil {
			return 0, err
		}
	}
	return sum, nil
}

// area returns the form of one area. Areas that differ by symmetry or colours are computed once.
func (s *Forms) area(a *area.Area) (cgt.Form, error) {
	c := area.Canonical(a.Black, a.White, a.Empty)
	f, ok := s.areas[c.Key()]
	if !ok {
		left, right, err := options(c.Black, c.White, c.Shape&^(c.Black|c.White), s.Form)
		if err != nil {
			return 0, err
		}
		if f, err = s.Arena.Form(left, right); err != nil {
			return 0, err
		}
		if len(s.areas) >= maxFormAreas {
			clear(s.areas)
		}
		s.areas[c.Key()] = f
	}
	if c.Negated {
		return s.Arena.Neg(f)
	}
	return f, nil
}
