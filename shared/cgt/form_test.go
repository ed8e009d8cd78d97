package cgt

import (
	"errors"
	"fmt"
	"slices"
	"testing"

	"pgregory.net/rapid"
)

func must[T any](t interface{ Fatal(...any) }) func(T, error) T {
	return func(v T, err error) T {
		if err != nil {
			t.Fatal(err)
		}
		return v
	}
}

// TestFormAgainstDumb: comparison, identity, outcome, sums and negatives of canonical forms agree with
// the definitions on trees.
func TestFormAgainstDumb(t *testing.T) {
	a := NewArena(Limits{})
	check(t, 5, func(t *rapid.T) {
		g, h := drawTree(t, 3, "g"), drawTree(t, 3, "h")
		f, e := g.form(a), h.form(a)
		ge, le := h.lessEq(g), g.lessEq(h)
		want := [...]Order{Confused, Less, Greater, Equal}[b2i(le)+2*b2i(ge)]
		if got := a.Compare(f, e); got != want || (f == e) != (want == Equal) {
			t.Fatalf("%v compared with %v: %v, want %v", g, h, got, want)
		}
		for _, side := range []Side{Left, Right} {
			if got, want := a.Winner(f, side) == side, plays(side, g); got != want {
				t.Fatalf("%v: %v begins and wins: %v, want %v", g, side, got, want)
			}
		}
		if n := must[Form](t)(a.Neg(f)); n != g.neg().form(a) {
			t.Fatalf("negative of %v", g)
		}
	})
}

func b2i(b bool) int {
	if b {
		return 1
	}
	return 0
}

// TestSumAgreesWithPlay: the outcome of a sum is that of playing its parts.
func TestSumAgreesWithPlay(t *testing.T) {
	a := NewArena(Limits{})
	check(t, 5, func(t *rapid.T) {
		g, h := drawTree(t, 3, "g"), drawTree(t, 2, "h")
		sum := must[Form](t)(a.Add(g.form(a), h.form(a)))
		if sum != g.plus(h).form(a) {
			t.Fatalf("%v + %v is not the canonical form of the sum's tree", g, h)
		}
		for _, side := range []Side{Left, Right} {
			if got, want := a.Winner(sum, side) == side, plays(side, g, h); got != want {
				t.Fatalf("%v + %v: %v begins and wins: %v, want %v", g, h, side, got, want)
			}
		}
	})
}

// TestGroup: games under addition are a group whose order is partial and kept by sums.
func TestGroup(t *testing.T) {
	a := NewArena(Limits{})
	check(t, 5, func(t *rapid.T) {
		add := func(f, g Form) Form { return must[Form](t)(a.Add(f, g)) }
		f, g, h := drawForm(t, a, 2, "f"), drawForm(t, a, 2, "g"), drawForm(t, a, 1, "h")
		if must[Form](t)(a.Sub(f, f)) != 0 {
			t.Fatal("f - f is not 0")
		}
		if add(f, 0) != f || add(f, g) != add(g, f) || add(add(f, g), h) != add(f, add(g, h)) {
			t.Fatal("not a group")
		}
		if a.LessEq(f, g) != a.LessEq(add(f, h), add(g, h)) {
			t.Fatal("adding h changes the order")
		}
		if a.LessEq(f, g) && a.LessEq(g, h) && !a.LessEq(f, h) {
			t.Fatal("the order is not transitive")
		}
		d := must[Form](t)(a.Sub(f, g))
		if a.LessEq(f, g) != a.LessEq(d, 0) {
			t.Fatal("f <= g is not f - g <= 0")
		}
	})
}

// TestCanonical: forms have no dominated and no reversible options, by the definitions.
func TestCanonical(t *testing.T) {
	a := NewArena(Limits{})
	check(t, 5, func(t *rapid.T) {
		f := drawForm(t, a, 3, "f")
		l, r := a.Left(f), a.Right(f)
		if !slices.IsSorted(l) || !slices.IsSorted(r) {
			t.Fatal("options out of order")
		}
		for i, x := range l {
			for j, y := range l {
				if i != j && a.LessEq(x, y) {
					t.Fatal("dominated left option")
				}
			}
			for _, y := range a.Right(x) {
				if a.LessEq(y, f) {
					t.Fatal("reversible left option")
				}
			}
		}
		for i, x := range r {
			for j, y := range r {
				if i != j && a.LessEq(y, x) {
					t.Fatal("dominated right option")
				}
			}
			for _, y := range a.Left(x) {
				if a.LessEq(f, y) {
					t.Fatal("reversible right option")
				}
			}
		}
	})
}

func TestNames(t *testing.T) {
	a := NewArena(Limits{})
	parse := func(s string) Form { t.Helper(); return must[Form](t)(a.Parse(s)) }
	for _, row := range []struct{ text, want string }{
		{"{|}", "0"}, {"{0|}", "1"}, {"{|-1}", "-2"}, {"{0|1}", "1/2"}, {"{1/2|3/4}", "5/8"},
		{"{-1|1}", "0"}, {"{-3|17}", "0"}, {"{3/8|1}", "1/2"}, {"{3|17}", "4"}, {"{*|*}", "0"},
		{"{0|0}", "*"}, {"{0,*|*,0}", "*2"}, {"{0,*2|0,*}", "{0, *2|*, 0}"}, {"{*,*2|*,*2}", "0"},
		{"{3/4|3/4}", "3/4*"},
		{"{0|*}", "^"}, {"{*|0}", "v"}, {"{0,*|0}", "^*"}, {"{0|^*}", "^2"}, {"{0|^}", "^2*"}, {"{0|*3}", "^*2"},
		{"{0|*2}", "^*3"},
		{"{^|*}", "{^|*}"}, {"{^|v}", "*"}, {"{0|v}", "*"}, {"{0|v*}", "{0|v*}"}, {"{1|1*}", "1^"}, {"{-1^|-1}", "-1*"},
		{"{-1v|-1}", "-1v2*"}, {"{1 | { 1 | -1 } }", "{1|{1|-1}}"},
		{"{1|-1}", "{1|-1}"}, {"{0|{0|-2}}", "{0|{0|-2}}"}, {"{ 2 *, {4|0} | -1, {0|-2}}", "{2*, {4|0}|-1, {0|-2}}"},
		{"-0", "0"}, {"6/8", "3/4"}, {"1^2*3", "1^2*3"}, {"^0*0", "0"}, {"v1*1", "v*"},
	} {
		if got := must[string](t)(a.Text(parse(row.text))); got != row.want {
			t.Errorf("%s is %s, want %s", row.text, got, row.want)
		}
	}
	// Names mean what they say: sums of numbers, ups and nimbers, formed on trees.
	up, star := a.tree(parse("{0|*}")), a.tree(parse("{0|0}"))
	down, star2 := up.neg(), a.tree(parse("{0,*|0,*}"))
	x := a.tree(parse("-1/2"))
	for n, name := range []string{"0", "^", "^2", "^3"} {
		sum := &tree{}
		for range n {
			sum = sum.plus(up)
		}
		for _, row := range []struct {
			text string
			t    *tree
		}{{name, sum}, {name + "*", sum.plus(star)}} {
			if name == "0" {
				continue
			}
			if row.t.form(a) != parse(row.text) {
				t.Errorf("%s is no sum of ups and a nimber", row.text)
			}
			if n < 3 && row.t.plus(x).form(a) != parse("-1/2"+row.text) {
				t.Errorf("-1/2%s is no sum of a number, ups and a nimber", row.text)
			}
		}
		if n > 0 && n < 3 && sum.plus(star2).form(a) != parse(name+"*2") {
			t.Errorf("%s*2 is no sum of ups and a nimber", name)
		}
	}
	if down.plus(star).form(a) != parse("v*") || down.plus(down).form(a) != parse("v2") ||
		star2.plus(star).form(a) != parse("*3") {
		t.Error("downs")
	}
}

func TestParseErrors(t *testing.T) {
	a := NewArena(Limits{Birthday: 20, Text: 100})
	for _, row := range []struct {
		text string
		want error
	}{
		{"", errForm}, {"{", errForm}, {"{0", errForm}, {"{0|", errForm}, {"{0|1", errForm}, {"{0,|1}", errForm},
		{"{0|1}}", errForm},
		{"{0|1|2}", errForm}, {"1 2", errForm}, {"x", errForm}, {"^v", errForm}, {"*^", errForm}, {"1/3", errNumber},
		{"-", errNumber},
		{"99999999999999999999", ErrOverflow}, {"*99999999999999999999", ErrOverflow},
		{"21", ErrLimit}, {"-21", ErrLimit}, {"^21", ErrLimit}, {"*21", ErrLimit}, {"1/1048576", ErrLimit},
		{fmt.Sprintf("%200s", "0"), ErrLimit}, {"{{{{{{{{{{{{{{{{{{{{{{{{{{", ErrLimit},
	} {
		if _, err := a.Parse(row.text); !errors.Is(err, row.want) {
			t.Errorf("%q: %v, want %v", row.text, err, row.want)
		}
	}
}

// TestLimits: an arena that is full says so and goes on with what it has; forgetting
// comparisons changes nothing.
func TestLimits(t *testing.T) {
	a := NewArena(Limits{Forms: 10})
	if _, err := a.Parse("{3|{2|1}}"); err != nil {
		t.Fatal(err)
	}
	if _, err := a.Parse("{30|{20|1}}"); !errors.Is(err, ErrLimit) {
		t.Fatal(err)
	}
	if s := must[string](t)(a.Text(must[Form](t)(a.Parse("{3|{2|1}}")))); s != "{3|{2|1}}" {
		t.Fatal(s)
	}
	if a.Len() > 10 {
		t.Fatal(a.Len())
	}
	small, large := NewArena(Limits{Memo: 1}), NewArena(Limits{})
	const text = "{{2|1, {1|*}}, 3/2|^*, {1/2|-1/2, {*|-1}}}"
	for _, a := range []*Arena{small, large} {
		f := must[Form](t)(a.Parse(text))
		if d := must[Form](t)(a.Sub(f, f)); d != 0 {
			t.Error(a.Text(d))
		}
	}
	tight := NewArena(Limits{Text: 20})
	f := must[Form](t)(tight.Parse("{1|-1}"))
	g := must[Form](t)(tight.Parse("{7/2|-5/2}"))
	s := must[Form](t)(tight.Add(f, g))
	if _, err := tight.Text(s); !errors.Is(err, ErrLimit) {
		t.Error(err)
	}
}

// TestText: text is read back, in another arena too, and does not depend on the arena.
func TestText(t *testing.T) {
	a := NewArena(Limits{})
	check(t, 5, func(t *rapid.T) {
		f := drawForm(t, a, 3, "f")
		s := must[string](t)(a.Text(f))
		if g := must[Form](t)(a.Parse(s)); g != f {
			t.Fatalf("%s is read as another form", s)
		}
		b := NewArena(Limits{})
		if again := must[string](t)(b.Text(must[Form](t)(b.Parse(s)))); again != s {
			t.Fatalf("%s is written %s in another arena", s, again)
		}
	})
}

func FuzzParse(f *testing.F) {
	for _, s := range []string{"0", "{0|*}", "{2*, {4|0}|-1, {0|-2}}", "1/2^2*3", "{|}", "{1|{"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, text string) {
		a := NewArena(Limits{Birthday: 6, Forms: 2000, Text: 60})
		g, err := a.Parse(text)
		if err != nil {
			if !errors.Is(err, errForm) && !errors.Is(err, errNumber) && !errors.Is(err, ErrOverflow) &&
				!errors.Is(err, ErrLimit) {
				t.Fatal(err)
			}
			return
		}
		s, err := a.Text(g)
		if errors.Is(err, ErrLimit) {
			return
		}
		if err != nil {
			t.Fatal(err)
		}
		if h, err := a.Parse(s); err != nil || h != g {
			t.Fatalf("%q is written %q and read back as another form (%v)", text, s, err)
		}
	})
}
