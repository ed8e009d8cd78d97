package cgt

import (
	"encoding/binary"
	"slices"
)

// mostPlayed bounds the positions of a sum that Play looks at: a few seconds.
const mostPlayed = 4_000_000

// Play returns the winner of the sum of some forms when mover (Left or Right) begins. It searches the moves of the
// forms, in the hottest form first. A position is not searched where the rules of [Sum] decide it, or the means do:
// the side that begins gets at least the sum of the means, and at most this sum plus the largest temperature (Winning
// Ways, chapter 6). The form of the sum is never made: eight areas of nine squares take less than a millisecond.
// Errors wrap ErrLimit or ErrOverflow.
func (a *Arena) Play(forms []Form, mover Side) (winner Side, err error) {
	defer catch(&err)
	p := play{a: a, known: map[string]bool{}, facts: map[Form]fact{}}
	if p.wins(mover, forms, Int(0)) {
		return mover, nil
	}
	return mover.Other(), nil
}

// play is what is known while a sum is played.
type play struct {
	a     *Arena
	known map[string]bool // by mover and sum: the mover wins
	facts map[Form]fact
	key   []byte
}

// fact is what a form adds to bounds.
type fact struct {
	part              Part
	mean, temperature Dyadic
}

func (p *play) fact(f Form) fact {
	x, ok := p.facts[f]
	if !ok {
		v, err := p.a.Value(f)
		if err != nil {
			panic(overflow(err.Error()))
		}
		x = fact{v.Part(), v.Mean(), v.Temperature()}
		p.facts[f] = x
	}
	return x
}

// wins reports whether mover begins and wins the sum of forms and a number. It does not change forms.
func (p *play) wins(mover Side, forms []Form, number Dyadic) bool {
	forms, number = p.simplest(forms, number)
	if won, ok := p.told(mover, forms, number); ok {
		return won
	}
	num, exp := number.Fraction()
	k := binary.AppendVarint(append(p.key[:0], byte(mover), byte(exp)), num)
	for _, f := range forms {
		k = binary.AppendUvarint(k, uint64(f))
	}
	p.key = k
	won, ok := p.known[string(k)]
	if ok {
		return won
	}
	if len(p.known) >= mostPlayed {
		panic(limit("too many positions of a sum"))
	}
	key := string(k)
	// A move in the number is never better than all moves elsewhere (number avoidance).
	for i, f := range forms {
		if i > 0 && f == forms[i-1] {
			continue
		}
		rest := slices.Delete(slices.Clone(forms), i, i+1)
		if won = slices.ContainsFunc(p.a.nodes[f].options[mover], func(to Form) bool {
			return !p.wins(mover.Other(), append(rest, to), number)
		}); won {
			break
		}
	}
	p.known[key] = won
	return won
}

// simplest returns the same sum with all numbers in one, all infinitesimals with a name in one form, and without pairs
// of a form and its negative. The hottest form is the first.
func (p *play) simplest(forms []Form, number Dyadic) ([]Form, Dyadic) {
	small := name{ok: true}
	var hot []Form
	for _, f := range forms {
		if n := p.a.nodes[f].name; n.ok {
			number = number.Add(n.number)
			small.ups, small.nimber = small.ups+n.ups, small.nimber^n.nimber
		} else if i := slices.Index(hot, p.a.neg(f)); i >= 0 {
			hot = slices.Delete(hot, i, i+1)
		} else {
			hot = append(hot, f)
		}
	}
	if f := p.a.named(small); f != 0 {
		hot = append(hot, f)
	}
	slices.SortFunc(hot, func(f, g Form) int {
		if c := p.fact(g).temperature.Cmp(p.fact(f).temperature); c != 0 {
			return c
		}
		return int(f) - int(g)
	})
	return hot, number
}

// told reports whether mover begins and wins. ok is false where the bounds do not decide it.
func (p *play) told(mover Side, forms []Form, number Dyadic) (won, ok bool) {
	var sum Sum
	sum.Add(Part{Bounds: NumberBounds(number)})
	mean := number
	for _, f := range forms {
		x := p.fact(f)
		sum.Add(x.part)
		mean = mean.Add(x.mean)
	}
	if winner := sum.Winner(mover); winner != Nobody {
		return winner == mover, true
	}
	if mover == Right {
		mean = mean.Neg()
	}
	switch {
	case mean.Sign() > 0:
		return true, true
	case len(forms) > 0 && mean.Add(p.fact(forms[0]).temperature).Sign() < 0:
		return false, true
	}
	return false, len(forms) == 0 // then the number is 0, and the side that begins loses
}
