package cgt

import (
	"errors"
	"testing"

	"pgregory.net/rapid"
)

// TestPaperBoundsSums: the examples of section II.D, rules 1 to 3.
func TestPaperBoundsSums(t *testing.T) {
	for _, row := range []struct{ a, b, sum string }{
		{"[1, 2+e]", "[1-e, 3]", "[2-e, 5+e]"},
		{"(1, 2)", "[1-e, 3+e]", "[2-e, 5+e]"},
		{"[1, 2]", "(1, 3)", "(2, 5)"},
		{"(1, 2)", "[1-e, 3]", "[2-e, 5)"}, // the paper prints 5], by its own rule 2 it is 5)
		{"[1, 2]", "[1, 3]", "[2, 5]"},
		{"[-e, 2+e]", "[1, 1]", "[1-e, 3+e]"}, // section IV.C.3
		{"[-3/2, 5/16]", "[1/2, 1/16)", "[-1, 3/8)"},
	} {
		a, b := must[Bounds](t)(ParseBounds(row.a)), must[Bounds](t)(ParseBounds(row.b))
		if got := a.Add(b); got.String() != row.sum || b.Add(a) != got || got.Neg() != a.Neg().Add(b.Neg()) {
			t.Errorf("%v + %v = %v, want %s", a, b, got, row.sum)
		}
	}
}

// TestPaperWinner: the winner rules of section II.D.
func TestPaperWinner(t *testing.T) {
	for _, row := range []struct {
		bounds                string
		left, right, whatever Side // who wins when Left, when Right, when anyone begins
	}{
		{"[1, 2]", Left, Left, Left}, {"[1/2-e, 2+e]", Left, Left, Left}, {"(0, 2+e]", Left, Left, Left},
		{"[0, 2]", Nobody, Left, Nobody}, {"[-e, 2]", Nobody, Nobody, Nobody}, {"[-1, 1]", Nobody, Nobody, Nobody},
		{"[0, 0]", Right, Left, Nobody}, {"[-1, 0]", Right, Nobody, Nobody}, {"[-1, 0)", Right, Right, Right},
		{"[-1, +e]", Nobody, Nobody, Nobody}, {"[-3, -1/4+e]", Right, Right, Right},
		{"(-1, 1)", Nobody, Nobody, Nobody},
	} {
		b := must[Bounds](t)(ParseBounds(row.bounds))
		if b.Winner(Left) != row.left || b.Winner(Right) != row.right || b.Winner(Nobody) != row.whatever {
			t.Errorf("%v: %v, %v, %v", b, b.Winner(Left), b.Winner(Right), b.Winner(Nobody))
		}
		n := b.Neg()
		if n.Winner(Right) != row.left.Other() || n.Winner(Left) != row.right.Other() {
			t.Errorf("%v, the negative of %v, is not won by the other side", n, b)
		}
	}
}

// holds reports whether f keeps its bounds, and whether they are as good as a number and a strength can
// say, by canonical forms.
func holds(t *rapid.T, a *Arena, f Form, b Bounds) (true_, best bool) {
	num := func(n Dyadic) Form { return must[Form](t)(a.Number(n)) }
	side := func(b Bound, le func(n, f Form) bool) (true_, best bool) {
		fine := reduce(1, 20)
		if le(num(Int(1)), num(Int(0))) {
			fine = fine.Neg()
		}
		n, below, above := num(b.N), num(b.N.Sub(fine)), num(b.N.Add(fine))
		switch b.Strength {
		case Exact:
			return le(n, f), f == n
		case Tightened:
			return le(n, f) && f != n, !le(above, f)
		}
		return le(below, f), !le(n, f)
	}
	lt, lb := side(b.Lower, a.LessEq)
	ut, ub := side(b.Upper, func(n, f Form) bool { return a.LessEq(f, n) })
	return lt && ut, lb && ub
}

// TestBoundsHold: bounds from Values are true and the best there are, those of sums are true, and the
// winner rules agree with the winners of canonical forms.
func TestBoundsHold(t *testing.T) {
	a := NewArena(Limits{})
	decided := 0
	check(t, 10, func(t *rapid.T) {
		f, g := drawForm(t, a, 3, "f"), drawForm(t, a, 2, "g")
		b, c := must[Value](t)(a.Value(f)).Bounds(), must[Value](t)(a.Value(g)).Bounds()
		if ok, best := holds(t, a, f, b); !ok || !best {
			t.Fatalf("bounds %v: true %v, best %v", b, ok, best)
		}
		sum := must[Form](t)(a.Add(f, g))
		s := b.Add(c)
		if ok, _ := holds(t, a, sum, s); !ok {
			t.Fatalf("%v + %v = %v is not true of the sum", b, c, s)
		}
		for _, mover := range []Side{Left, Right} {
			if w := s.Winner(mover); w != Nobody {
				decided++
				if w != a.Winner(sum, mover) {
					t.Fatalf("%v: %v wins when %v begins", s, w, mover)
				}
			}
		}
		if w := s.Winner(Nobody); w != Nobody && (s.Winner(Left) != w || s.Winner(Right) != w) {
			t.Fatalf("%v: %v wins always", s, w)
		}
		if s.Width() != s.Upper.N.Sub(s.Lower.N) || s.Width().Sign() < 0 {
			t.Fatal(s)
		}
	})
	if decided == 0 {
		t.Error("the rules never said who wins")
	}
}

func TestParseBoundsErrors(t *testing.T) {
	for _, text := range []string{"", "[", "[]", "[1]", "[1,2", "1,2]", "[1,2,3]", "(1-e, 2]", "[1+e, 2]", "[1, 2-e]",
		"[1, e2]", "[1/3, 2]", "[, 2]", "[1, ]", "{1, 2}"} {
		if b, err := ParseBounds(text); !errors.Is(err, errBounds) {
			t.Errorf("%q: %v, %v", text, b, err)
		}
	}
	for text, want := range map[string]string{"[ -ε,ε]": "[-e, +e]", "[0-e,0+e]": "[-e, +e]", "(0, e]": "(0, +e]",
		"[-1-ϵ, 4/2]": "[-1-e, 2]"} {
		if b, err := ParseBounds(text); err != nil || b.String() != want {
			t.Errorf("%q: %v, %v", text, b, err)
		}
	}
}

func FuzzParseBounds(f *testing.F) {
	for _, s := range []string{"[3, -1+e]", "(0, +e]", "[-3/2-e, 5/16)", "[,]"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, text string) {
		b, err := ParseBounds(text)
		if err != nil {
			if !errors.Is(err, errBounds) {
				t.Fatal(err)
			}
			return
		}
		if c, err := ParseBounds(b.String()); err != nil || c != b {
			t.Fatalf("%q is written %v and read back as %v, %v", text, b, c, err)
		}
	})
}
