package cgt

import (
	"cmp"
	"encoding/binary"
	"errors"
	"fmt"
	"slices"
)

// ErrLimit is wrapped by the errors of an Arena that would grow beyond its Limits.
var ErrLimit = errors.New("limit on canonical forms reached")

// limit is what the inner functions of an Arena panic with.
type limit string

func (l limit) Error() string { return ErrLimit.Error() + ": " + string(l) }
func (limit) Unwrap() error   { return ErrLimit }

// Limits bound an Arena. A field of 0 means its default.
type Limits struct {
	Forms    int // how many forms it holds; default 1,000,000
	Birthday int // how many moves a form may last; default 500
	// how many comparisons, sums and games by their options it remembers, each; beyond it forgets
	// all and begins again; default 4,000,000
	Memo int
	Text int // how many bytes the text of a form may have, written or read; default 1,000,000
}

// Form is a canonical form in an Arena: games are equal exactly if their Forms are. Form 0
// is the game 0 in every Arena.
type Form uint32

// Arena holds canonical forms, each once. It is not safe for concurrent use. An error that wraps
// ErrLimit or ErrOverflow leaves it as it was.
type Arena struct {
	limits Limits
	nodes  []node
	ids    map[string]Form // by the options, as keyOf writes them
	le     map[[2]Form]bool
	sums   map[[2]Form]Form
	games  map[string]Form // forms by the options that were given, as keyOf writes them
	names  map[name]Form
	key    []byte
	c      Combiner
}

// node is what an Arena knows of a form. Options are in the order of their ids.
type node struct {
	options    bySide[[]Form]
	birthday   int
	name       name
	neg        Form // 0: not known, or the game 0
	value      Value
	valueKnown bool
}

// bySide has one thing for Left and one for Right; Nobody has none.
type bySide[T any] = [Right + 1]T

// name is what a form is called where it is a number plus ups plus a nimber.
type name struct {
	ok     bool
	number Dyadic
	ups    int // negative: downs
	nimber int
}

func (n name) isNumber() bool { return n.ok && n.ups == 0 && n.nimber == 0 }

// NewArena returns an arena that holds the game 0.
func NewArena(limits Limits) *Arena {
	a := &Arena{
		limits: Limits{Forms: cmp.Or(limits.Forms, 1_000_000), Birthday: cmp.Or(limits.Birthday, 500),
			Memo: cmp.Or(limits.Memo, 4_000_000), Text: cmp.Or(limits.Text, 1_000_000)},
		ids:   map[string]Form{},
		le:    map[[2]Form]bool{},
		sums:  map[[2]Form]Form{},
		games: map[string]Form{},
		names: map[name]Form{},
	}
	a.intern(nil, nil)
	return a
}

// intern returns the form with these options, which are those of a canonical form, in order.
func (a *Arena) intern(left, right []Form) Form {
	k := a.keyOf(left, right)
	if f, ok := a.ids[string(k)]; ok {
		return f
	}
	n := node{options: bySide[[]Form]{Left: left, Right: right}, name: a.nameOf(left, right)}
	for _, f := range slices.Concat(left, right) {
		n.birthday = max(n.birthday, a.nodes[f].birthday+1)
	}
	if n.birthday > a.limits.Birthday {
		panic(limit(fmt.Sprintf("a form of birthday %d", n.birthday)))
	}
	if len(a.nodes) >= a.limits.Forms {
		panic(limit(fmt.Sprintf("%d forms", len(a.nodes))))
	}
	f := Form(len(a.nodes))
	a.nodes = append(a.nodes, n)
	a.ids[string(k)] = f
	return f
}

// keyOf writes options for a map. The bytes are good until the next call.
func (a *Arena) keyOf(left, right []Form) []byte {
	k := binary.AppendUvarint(a.key[:0], uint64(len(left)))
	for _, f := range left {
		k = binary.AppendUvarint(k, uint64(f))
	}
	for _, f := range right {
		k = binary.AppendUvarint(k, uint64(f))
	}
	a.key = k
	return k
}

// nameOf recognises the canonical forms of numbers plus ups plus nimbers.
func (a *Arena) nameOf(left, right []Form) name {
	one := func(fs []Form) name {
		if len(fs) != 1 {
			return name{}
		}
		return a.nodes[fs[0]].name
	}
	l, r := one(left), one(right)
	switch {
	case len(left) == 0 && len(right) == 0:
		return name{ok: true}
	case len(right) == 0 && l.isNumber():
		return name{ok: true, number: l.number.Add(Int(1))}
	case len(left) == 0 && r.isNumber():
		return name{ok: true, number: r.number.Sub(Int(1))}
	case l.isNumber() && r.isNumber() && l.number.Less(r.number):
		return name{ok: true, number: l.number.Add(r.number).Half()}
	case slices.Equal(left, right):
		// n*k is {n, n*, ..., n*(k-1) | the same}.
		x := a.nodes[left[0]].name.number
		for _, f := range left {
			if n := a.nodes[f].name; !n.ok || n.number != x || n.ups != 0 || n.nimber >= len(left) {
				return name{}
			}
		}
		return name{ok: true, number: x, nimber: len(left)}
	}
	if u := a.upOf(1, left, right); u.ok {
		return u
	}
	return a.upOf(-1, right, left)
}

// upOf recognises, for sign 1, n + k ups + a nimber with k > 0: {n | n + (k-1) ups + (nimber xor
// 1)}, but n^* is {n, n*|n}; for sign -1 and sides exchanged, the same with downs.
func (a *Arena) upOf(sign int, left, right []Form) name {
	if len(right) != 1 {
		return name{}
	}
	r := a.nodes[right[0]].name
	isBase := func(f Form) bool { return a.nodes[f].name == name{ok: true, number: r.number} }
	isStar := func(f Form) bool { return a.nodes[f].name == name{ok: true, number: r.number, nimber: 1} }
	switch {
	case !r.ok || r.ups*sign < 0:
	case len(left) == 1 && isBase(left[0]) && !r.isNumber():
		return name{true, r.number, r.ups + sign, r.nimber ^ 1}
	case len(left) == 2 && r.isNumber() && (isBase(left[0]) && isStar(left[1]) || isBase(left[1]) && isStar(left[0])):
		return name{true, r.number, sign, 1}
	}
	return name{}
}

// Form returns the canonical form of the game with these options. Errors wrap ErrLimit or
// ErrOverflow.
func (a *Arena) Form(left, right []Form) (f Form, err error) {
	defer catch(&err)
	return a.form(slices.Clone(left), slices.Clone(right)), nil
}

// form is Form, but may keep or change the slices.
func (a *Arena) form(left, right []Form) Form {
	slices.Sort(left)
	slices.Sort(right)
	left, right = slices.Compact(left), slices.Compact(right)
	k := a.keyOf(left, right)
	if f, ok := a.games[string(k)]; ok {
		return f
	}
	key := string(k)
	f := a.canonical(left, right)
	remember(a, a.games, key, f)
	return f
}

// remember puts an answer into one of the tables of an arena; a full table forgets all it had.
func remember[K comparable, V any](a *Arena, table map[K]V, key K, answer V) {
	if len(table) >= a.limits.Memo {
		clear(table)
	}
	table[key] = answer
}

// canonical makes the canonical form of a game whose options are canonical: without reversible options,
// and without dominated ones. Bypassing brings new options, which may dominate others, so dominated
// ones are dropped before and after. Equal games have one canonical form, so they become equal Forms.
func (a *Arena) canonical(left, right []Form) Form {
	g := &raw{a: a, options: bySide[[]Form]{Left: a.undominated(Left, left), Right: a.undominated(Right, right)},
		known: bySide[map[Form]bool]{Left: {}, Right: {}}}
	g.bypass(Left)
	g.bypass(Right)
	return a.intern(a.undominated(Left, g.options[Left]), a.undominated(Right, g.options[Right]))
}

// undominated sorts options of a side and drops those that are no better for it than another.
func (a *Arena) undominated(side Side, fs []Form) []Form {
	slices.Sort(fs)
	fs = slices.Compact(fs)
	kept := fs[:0:0]
	for i, f := range fs {
		dominates := func(g Form) bool { return a.atLeast(side, g, f) }
		if !slices.ContainsFunc(fs[i+1:], dominates) && !slices.ContainsFunc(kept, dominates) {
			kept = append(kept, f)
		}
	}
	return kept
}

// atLeast reports whether f is at least as good as g for a side.
func (a *Arena) atLeast(side Side, f, g Form) bool {
	if side == Left {
		f, g = g, f
	}
	return a.LessEq(f, g)
}

// raw is a game given by its options, not yet canonical.
type raw struct {
	a       *Arena
	options bySide[[]Form]
	known   bySide[map[Form]bool] // comparisons: whether the game is at least as good as a form for a side
}

// bypass replaces each reversible option of a side by what it reverses to. The game keeps its value, so
// comparisons stay known.
func (g *raw) bypass(side Side) {
	for i := 0; i < len(g.options[side]); i++ {
		for _, reply := range g.a.nodes[g.options[side][i]].options[side.Other()] {
			if g.atLeast(side, reply) {
				g.options[side] = replace(g.options[side], i, g.a.nodes[reply].options[side])
				i--
				break
			}
		}
	}
}

// replace takes element i out of fs and appends those of by which it lacks.
func replace(fs []Form, i int, by []Form) []Form {
	fs = slices.Delete(fs, i, i+1)
	for _, f := range by {
		if !slices.Contains(fs, f) {
			fs = append(fs, f)
		}
	}
	return fs
}

// atLeast reports whether the game is at least as good as f for a side: the other side has no good first
// move in the difference.
func (g *raw) atLeast(side Side, f Form) bool {
	if is, ok := g.known[side][f]; ok {
		return is
	}
	other := side.Other()
	is := !slices.ContainsFunc(g.options[other], func(o Form) bool { return g.a.atLeast(side, f, o) }) &&
		!slices.ContainsFunc(g.a.nodes[f].options[side], func(o Form) bool { return g.atLeast(other, o) })
	g.known[side][f] = is
	return is
}

// LessEq reports whether f <= g: Right wins f - g if Left begins.
func (a *Arena) LessEq(f, g Form) bool {
	if f == g {
		return true
	}
	x, y := &a.nodes[f], &a.nodes[g]
	if x.name.isNumber() && y.name.isNumber() {
		return x.name.number.Cmp(y.name.number) <= 0
	}
	k := [2]Form{f, g}
	if is, ok := a.le[k]; ok {
		return is
	}
	is := !slices.ContainsFunc(x.options[Left], func(l Form) bool { return a.LessEq(g, l) }) &&
		!slices.ContainsFunc(y.options[Right], func(r Form) bool { return a.LessEq(r, f) })
	remember(a, a.le, k, is)
	return is
}

// Neg returns -f. Errors wrap ErrLimit.
func (a *Arena) Neg(f Form) (g Form, err error) {
	defer catch(&err)
	return a.neg(f), nil
}

// neg exchanges the sides all the way down. The negative of a canonical form is canonical, so
// nothing is compared.
func (a *Arena) neg(f Form) Form {
	if g := a.nodes[f].neg; g != 0 {
		return g
	}
	all := func(fs []Form) (to []Form) {
		for _, f := range fs {
			to = append(to, a.neg(f))
		}
		slices.Sort(to)
		return to
	}
	g := a.intern(all(a.nodes[f].options[Right]), all(a.nodes[f].options[Left]))
	a.nodes[f].neg, a.nodes[g].neg = g, f
	return g
}

// Add returns f + g. Errors wrap ErrLimit or ErrOverflow.
func (a *Arena) Add(f, g Form) (sum Form, err error) {
	defer catch(&err)
	return a.add(f, g), nil
}

// add sums forms by their names where both have one, which is the common case on small boards.
// Otherwise it makes the moves of both, as the definition says.
func (a *Arena) add(f, g Form) Form {
	if f > g {
		f, g = g, f
	}
	if f == 0 {
		return g
	}
	x, y := a.nodes[f].name, a.nodes[g].name
	if x.ok && y.ok {
		return a.named(name{true, x.number.Add(y.number), x.ups + y.ups, x.nimber ^ y.nimber})
	}
	k := [2]Form{f, g}
	if s, ok := a.sums[k]; ok {
		return s
	}
	var options bySide[[]Form]
	moves := func(f, g Form) { // in f, beside g
		for side, list := range a.nodes[f].options {
			for _, to := range list {
				options[side] = append(options[side], a.add(to, g))
			}
		}
	}
	// No one moves in a number beside a game that is none.
	if !x.isNumber() {
		moves(f, g)
	}
	if !y.isNumber() {
		moves(g, f)
	}
	s := a.form(options[Left], options[Right])
	remember(a, a.sums, k, s)
	return s
}

// named returns the form with this name, built from its canonical options (see nameOf).
func (a *Arena) named(n name) Form {
	if f, ok := a.names[n]; ok {
		return f
	}
	// Out of range for sure, so do not begin.
	if b := int64(a.limits.Birthday); n.nimber < 0 || int64(n.nimber) > b || int64(n.ups) > b || int64(n.ups) < -b ||
		n.number.Floor() > b || n.number.Floor() < -b-1 {
		panic(limit(fmt.Sprintf("the game %v", n)))
	}
	base := name{ok: true, number: n.number}
	x := func(n name) []Form { return []Form{a.named(n)} }
	var f Form
	switch {
	case n.ups != 0:
		sign := 1
		if n.ups < 0 {
			sign = -1
		}
		towards := x(base)
		if n.ups == sign && n.nimber == 1 {
			towards = append(towards, a.named(name{true, n.number, 0, 1}))
			slices.Sort(towards)
		}
		away := x(name{true, n.number, n.ups - sign, n.nimber ^ 1})
		if sign > 0 {
			f = a.intern(towards, away)
		} else {
			f = a.intern(away, towards)
		}
	case n.nimber > 0:
		var all []Form
		for k := range n.nimber {
			all = append(all, a.named(name{true, n.number, 0, k}))
		}
		slices.Sort(all)
		f = a.intern(all, all)
	case !n.number.IsInt():
		num, exp := n.number.Fraction()
		f = a.intern(x(name{ok: true, number: reduce(num-1, exp)}), x(name{ok: true, number: reduce(num+1, exp)}))
	case n.number.Sign() > 0:
		f = a.intern(x(name{ok: true, number: n.number.Sub(Int(1))}), nil)
	case n.number.Sign() < 0:
		f = a.intern(nil, x(name{ok: true, number: n.number.Add(Int(1))}))
	}
	a.names[n] = f
	return f
}

// Value returns the Value of f. Errors wrap ErrOverflow.
func (a *Arena) Value(f Form) (Value, error) {
	if a.nodes[f].valueKnown {
		return a.nodes[f].value, nil
	}
	var options bySide[[]Value]
	for side, list := range a.nodes[f].options {
		for _, to := range list {
			v, err := a.Value(to)
			if err != nil {
				return Value{}, err
			}
			options[side] = append(options[side], v)
		}
	}
	v, err := a.c.Combine(options[Left], options[Right])
	if err == nil {
		a.nodes[f].value, a.nodes[f].valueKnown = v, true
	}
	return v, err
}
