package cgt

// A deliberately dumb second implementation: games as trees, comparison and outcome by the
// definitions, without canonical forms, memory or thermographs.

import (
	"fmt"
	"strings"
	"testing"

	"pgregory.net/rapid"
)

// tree is a game by its options.
type tree struct {
	left, right []*tree
}

// lessEq is Conway's definition.
func (g *tree) lessEq(h *tree) bool {
	for _, l := range g.left {
		if h.lessEq(l) {
			return false
		}
	}
	for _, r := range h.right {
		if r.lessEq(g) {
			return false
		}
	}
	return true
}

// plays reports whether the side to move wins the sum of the games.
func plays(side Side, games ...*tree) bool {
	for i, g := range games {
		next := g.left
		if side == Right {
			next = g.right
		}
		for _, n := range next {
			after := append([]*tree(nil), games...)
			after[i] = n
			if !plays(side.Other(), after...) {
				return true
			}
		}
	}
	return false
}

func (g *tree) neg() *tree {
	n := &tree{}
	for _, l := range g.left {
		n.right = append(n.right, l.neg())
	}
	for _, r := range g.right {
		n.left = append(n.left, r.neg())
	}
	return n
}

// plus is the sum by the definition.
func (g *tree) plus(h *tree) *tree {
	s := &tree{}
	for _, l := range g.left {
		s.left = append(s.left, l.plus(h))
	}
	for _, l := range h.left {
		s.left = append(s.left, g.plus(l))
	}
	for _, r := range g.right {
		s.right = append(s.right, r.plus(h))
	}
	for _, r := range h.right {
		s.right = append(s.right, g.plus(r))
	}
	return s
}

func (g *tree) String() string {
	side := func(ts []*tree) string {
		var all []string
		for _, t := range ts {
			all = append(all, t.String())
		}
		return strings.Join(all, ",")
	}
	return fmt.Sprintf("{%s|%s}", side(g.left), side(g.right))
}

// form returns the canonical form, built from the options up.
func (g *tree) form(a *Arena) Form {
	all := func(ts []*tree) (fs []Form) {
		for _, t := range ts {
			fs = append(fs, t.form(a))
		}
		return fs
	}
	f, err := a.Form(all(g.left), all(g.right))
	if err != nil {
		panic(err)
	}
	return f
}

// value returns the Value by the options' Values, without canonical forms.
func (g *tree) value() Value {
	all := func(ts []*tree) (vs []Value) {
		for _, t := range ts {
			vs = append(vs, t.value())
		}
		return vs
	}
	v, err := ValueOf(all(g.left), all(g.right))
	if err != nil {
		panic(err)
	}
	return v
}

// tree returns a form as a tree.
func (a *Arena) tree(f Form) *tree {
	t := &tree{}
	for _, l := range a.Left(f) {
		t.left = append(t.left, a.tree(l))
	}
	for _, r := range a.Right(f) {
		t.right = append(t.right, a.tree(r))
	}
	return t
}

// check runs a property on some times as many random cases as rapid does by itself.
func check(t *testing.T, times int, f func(*rapid.T)) {
	t.Helper()
	for range times {
		rapid.Check(t, f)
	}
}

// drawTree draws a game that lasts at most so many moves, with few options.
func drawTree(t *rapid.T, depth int, label string) *tree {
	g := &tree{}
	if depth == 0 {
		return g
	}
	// Booleans, unlike integers, are not drawn small more often than large.
	for range 2 {
		if rapid.Bool().Draw(t, label+" left") {
			g.left = append(g.left, drawTree(t, depth-1, label))
		}
		if rapid.Bool().Draw(t, label+" right") {
			g.right = append(g.right, drawTree(t, depth-1, label))
		}
	}
	return g
}

// drawForm draws a form whose leaves are numbers with ups and nimbers, so that it is hot more often
// than a drawTree.
func drawForm(t *rapid.T, a *Arena, depth int, label string) Form {
	if depth == 0 || rapid.IntRange(0, 3).Draw(t, label+" leaf") == 0 {
		n := reduce(int64(rapid.IntRange(-12, 12).Draw(t, label+" number")), rapid.IntRange(0, 3).Draw(t, label+
			" exponent"))
		f, err := a.Named(n, rapid.SampledFrom([]int{0, 0, 0, 1, -1, 2, -2}).Draw(t, label+" ups"),
			rapid.SampledFrom([]int{0, 0, 0, 1, 1, 2}).Draw(t, label+" nimber"))
		if err != nil {
			t.Fatal(err)
		}
		return f
	}
	draw := func(side string) (fs []Form) {
		for range rapid.IntRange(1, 2).Draw(t, label+side) {
			fs = append(fs, drawForm(t, a, depth-1, label))
		}
		return fs
	}
	f, err := a.Form(draw(" left"), draw(" right"))
	if err != nil {
		t.Fatal(err)
	}
	return f
}
