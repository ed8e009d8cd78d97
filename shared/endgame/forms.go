package endgame

import (
	"amazonsfarm/shared/amazons"
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

func (s *Forms) area(a *area.Area) (cgt.Form, error) {
	c := area.Canonical(a.Black, a.White, a.Empty)
	f, ok := s.areas[c.Key()]
	if !ok {
		left, err := s.options(c.Black, c.White, c.Shape, false)
		if err != nil {
			return 0, err
		}
		right, err := s.options(c.White, c.Black, c.Shape, true)
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

// options returns the distinct forms after the moves of own. swap says that own is White.
func (s *Forms) options(own, opp, shape Set, swap bool) (forms []cgt.Form, err error) {
	seen := map[cgt.Form]bool{}
	state := amazons.State{Own: own, Opp: opp, Empty: shape &^ (own | opp)}
	for m := range state.AllMoves() {
		after := state.After(m)
		black, white := after.Opp, after.Own
		if swap {
			black, white = white, black
		}
		f, err := s.Form(black, white, after.Empty)
		if err != nil {
			return nil, err
		}
		if !seen[f] {
			seen[f] = true
			forms = append(forms, f)
		}
	}
	return forms, nil
}
