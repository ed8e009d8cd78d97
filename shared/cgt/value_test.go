package cgt

import (
	"bytes"
	"errors"
	"slices"
	"testing"

	"pgregory.net/rapid"
)

// TestRawAndCanonical: a Value depends on the game, not on the form in which it is given.
func TestRawAndCanonical(t *testing.T) {
	a := NewArena(Limits{})
	check(t, 10, func(t *rapid.T) {
		g := drawTree(t, 4, "g")
		if v, w := g.value(), must[Value](t)(a.Value(g.form(a))); v != w {
			t.Fatalf("%v has %v, its canonical form %v", g, v.Thermograph(), w.Thermograph())
		}
	})
	check(t, 5, func(t *rapid.T) {
		// Sums by the definition, with no number translation or avoidance.
		f, g := drawForm(t, a, 2, "f"), drawForm(t, a, 1, "g")
		sum := must[Form](t)(a.Add(f, g))
		values := func(side func(Form) []Form) (vs []Value) {
			for _, x := range side(f) {
				vs = append(vs, must[Value](t)(a.Value(must[Form](t)(a.Add(x, g)))))
			}
			for _, x := range side(g) {
				vs = append(vs, must[Value](t)(a.Value(must[Form](t)(a.Add(f, x)))))
			}
			return vs
		}
		if v := must[Value](t)(ValueOf(values(a.Left), values(a.Right))); v != must[Value](t)(a.Value(sum)) {
			t.Fatalf("a sum has %v by its options", v.Thermograph())
		}
	})
}

// TestSumsOfValues: means add up, temperatures do not rise, negatives are mirrored, integers
// shift.
func TestSumsOfValues(t *testing.T) {
	a := NewArena(Limits{})
	check(t, 5, func(t *rapid.T) {
		f, g := drawForm(t, a, 3, "f"), drawForm(t, a, 2, "g")
		v, w := must[Value](t)(a.Value(f)), must[Value](t)(a.Value(g))
		sum := must[Value](t)(a.Value(must[Form](t)(a.Add(f, g))))
		if sum.Mean() != v.Mean().Add(w.Mean()) {
			t.Fatalf("means %v + %v, sum %v", v.Mean(), w.Mean(), sum.Mean())
		}
		hottest := v.Temperature()
		if hottest.Less(w.Temperature()) {
			hottest = w.Temperature()
		}
		if hottest.Less(sum.Temperature()) {
			t.Fatalf("temperatures %v, %v, sum %v", v.Temperature(), w.Temperature(), sum.Temperature())
		}
		if n := must[Value](t)(a.Value(must[Form](t)(a.Neg(f)))); n != v.Neg() || v.Neg().Neg() != v {
			t.Fatalf("negative of %v", v)
		}
		k := int64(rapid.IntRange(-5, 5).Draw(t, "k"))
		moved := must[Value](t)(a.Value(must[Form](t)(a.Add(f, must[Form](t)(a.Number(Int(k)))))))
		if got := must[Value](t)(v.AddInt(k)); got != moved {
			t.Fatalf("%v + %d is %v, want %v", v, k, got, moved)
		}
	})
}

// TestDetermines: what the package comment says that a Value determines, against canonical
// forms.
func TestDetermines(t *testing.T) {
	a := NewArena(Limits{})
	seen := map[Tail]int{}
	check(t, 10, func(t *rapid.T) {
		f := drawForm(t, a, 3, "f")
		v := must[Value](t)(a.Value(f))
		num := func(n Dyadic) Form { return must[Form](t)(a.Number(n)) }
		th := v.Thermograph()
		// Comparison with the multiples of 1/2^k.
		for k := range 5 {
			tax := reduce(-1, k)
			for m := range int64(20) {
				n := reduce(th.Mean().Floor()<<k+m-10, k)
				if a.LessEq(num(n), f) != (n.Cmp(th.Right.At(tax)) <= 0) ||
					a.LessEq(f, num(n)) != (th.Left.At(tax).Cmp(n) <= 0) {
					t.Fatalf("%v compared with %v", v, n)
				}
			}
		}
		for _, side := range []Side{Left, Right} {
			if v.Winner(side) != a.Winner(f, side) {
				t.Fatalf("%v: winner when %v begins", v, side)
			}
		}
		if !a.LessEq(num(Int(v.Floor())), f) || a.LessEq(num(Int(v.Floor()+1)), f) ||
			!a.LessEq(f, num(Int(v.Ceil()))) || a.LessEq(f, num(Int(v.Ceil()-1))) {
			t.Fatalf("%v: floor %d, ceiling %d", v, v.Floor(), v.Ceil())
		}
		// Class.
		n, isNumber := a.IsNumber(f)
		if isNumber != (v.Kind() == Number) || isNumber && n != v.Mean() {
			t.Fatalf("%v: a number: %v", v, isNumber)
		}
		l, r := v.Stops()
		starAt := func(n Dyadic) Form { return must[Form](t)(a.Named(n, 0, 1)) }
		if v.AtMostStar() != (!isNumber && a.LessEq(f, starAt(l))) ||
			v.AtLeastStar() != (!isNumber && a.LessEq(starAt(r), f)) {
			t.Fatalf("%v compared with star: %v, %v", v, v.AtMostStar(), v.AtLeastStar())
		}
		want := NoTail
		if l == r {
			want = map[Order]Tail{Equal: Zero, Less: Negative, Greater: Positive, Confused: Fuzzy}[a.Compare(f, num(l))]
			if f == starAt(l) {
				want = Star
			}
		}
		if v.Tail() != want || (l == r) != (v.Kind() != Hot) {
			t.Fatalf("%v: tail %v, want %v", v, v.Tail(), want)
		}
		seen[want]++
		// Stops by the definition.
		if !isNumber {
			for i, side := range [][]Form{a.Left(f), a.Right(f)} {
				best := Dyadic{}
				for j, x := range side {
					xl, xr := must[Value](t)(a.Value(x)).Stops()
					s := []Dyadic{xr, xl}[i]
					if j == 0 || i == 0 && best.Less(s) || i == 1 && s.Less(best) {
						best = s
					}
				}
				if best != []Dyadic{l, r}[i] {
					t.Fatalf("%v: stops", v)
				}
			}
		}
	})
	for tail := Zero; tail <= NoTail; tail++ {
		if seen[tail] == 0 {
			t.Errorf("no game with tail %v was drawn", tail)
		}
	}
}

// TestThermographShape: walls have no superfluous corner, slopes of 0 or 1, and meet at the mast.
func TestThermographShape(t *testing.T) {
	a := NewArena(Limits{})
	check(t, 5, func(t *rapid.T) {
		v := must[Value](t)(a.Value(drawForm(t, a, 3, "f")))
		th := v.Thermograph()
		if th.Mean() != v.Mean() || th.Temperature() != v.Temperature() || th.Right[len(th.Right)-1].Value != v.Mean() {
			t.Fatal(th)
		}
		if l, r := v.Stops(); l != th.Left.At(Dyadic{}) || r != th.Right.At(Dyadic{}) {
			t.Fatal(th, l, r)
		}
		for _, w := range []Wall{th.Left, th.Right} {
			if w[0].Temperature != Int(-1) || !w[0].Value.IsInt() {
				t.Fatal(th)
			}
			for i := 1; i < len(w); i++ {
				dt, dv := w[i].Temperature.Sub(w[i-1].Temperature), w[i].Value.Sub(w[i-1].Value)
				if dt.Sign() <= 0 || dv.Sign() != 0 && dv != dt && dv != dt.Neg() {
					t.Fatal(th)
				}
				diagonal := dv.Sign() != 0
				if diagonal != ((len(w)-i)%2 == 1) {
					t.Fatal(th)
				}
				if middle := w[i-1].Temperature.Add(dt.Half()); !diagonal && w.At(middle) != w[i].Value || diagonal &&
					w.At(middle) != w[i-1].Value.Add(dv.Half()) {
					t.Fatal(th, middle)
				}
			}
		}
	})
}

// TestPaperInfinitesimals: the four thermographs of infinitesimals, figure 5 of Song and Müller
// 2014, and that star is told from the other fuzzy ones by the Value only.
func TestPaperInfinitesimals(t *testing.T) {
	a := NewArena(Limits{})
	for _, row := range []struct {
		text, thermograph, bounds string
		tail                      Tail
		atMost, atLeast           bool
	}{
		{"0", "(0,-1) | (0,-1)", "[0, 0]", Zero, false, false},
		{"*", "(1,-1)(0,0) | (-1,-1)(0,0)", "[-e, +e]", Star, true, true},
		{"*2", "(1,-1)(0,0) | (-1,-1)(0,0)", "[-e, +e]", Fuzzy, false, false},
		{"^*", "(1,-1)(0,0) | (-1,-1)(0,0)", "[-e, +e]", Fuzzy, false, true},
		{"v*", "(1,-1)(0,0) | (-1,-1)(0,0)", "[-e, +e]", Fuzzy, true, false},
		{"^", "(1,-1)(0,0) | (0,-1)", "(0, +e]", Positive, false, false},
		{"^2", "(1,-1)(0,0) | (0,-1)", "(0, +e]", Positive, false, true},
		{"v", "(0,-1) | (-1,-1)(0,0)", "[-e, 0)", Negative, false, false},
		{"-3/2*", "(-1,-1)(-1,-1/2)(-3/2,0) | (-2,-1)(-2,-1/2)(-3/2,0)", "[-3/2-e, -3/2+e]", Star, true, true},
		{"3/8", "(1,-1)(1/2,-1/2)(1/2,-1/4)(3/8,-1/8) | (0,-1)(0,-1/2)(3/8,-1/8)", "[3/8, 3/8]", Zero, false, false},
		{"{2|1*}", "(3,-1)(3/2,1/2) | (1,-1)(1,0)(3/2,1/2)", "(1, 2+e]", NoTail, true, false},
		{"{1|-1}", "(2,-1)(0,1) | (-2,-1)(0,1)", "[-1-e, 1+e]", NoTail, true, true},
	} {
		v := must[Value](t)(a.Value(must[Form](t)(a.Parse(row.text))))
		if v.Thermograph().String() != row.thermograph || v.Bounds().String() != row.bounds || v.Tail() != row.tail ||
			v.AtMostStar() != row.atMost || v.AtLeastStar() != row.atLeast {
			t.Errorf("%s: %v, %v, %v, %v, %v", row.text, v.Thermograph(), v.Bounds(), v.Tail(), v.AtMostStar(),
				v.AtLeastStar())
		}
	}
	if v := IntValue(0); v != (Value{}) {
		t.Error("0 is not the zero Value")
	}
	if v, err := StarValue(Int(3)); err != nil || v.Tail() != Star || v.Mean() != Int(3) {
		t.Error(v, err)
	}
}

// TestNumberValue: numbers built by halving have the walls of their canonical forms.
func TestNumberValue(t *testing.T) {
	a := NewArena(Limits{})
	check(t, 2, func(t *rapid.T) {
		n := reduce(rapid.Int64Range(-500, 500).Draw(t, "num"), rapid.IntRange(0, 9).Draw(t, "exp"))
		v := must[Value](t)(NumberValue(n))
		if w := must[Value](t)(a.Value(must[Form](t)(a.Number(n)))); v != w {
			t.Fatalf("%v: %v, want %v", n, v, w)
		}
		_, exp := n.Fraction()
		if v.Temperature() != reduce(-1, exp) || v.Mean() != n || v.Kind() != Number || v.Bounds() != NumberBounds(n) {
			t.Fatal(v)
		}
	})
}

// TestValueOverflow: what does not fit is an error.
func TestValueOverflow(t *testing.T) {
	tiny, small := must[Value](t)(NumberValue(reduce(1, 55))), must[Value](t)(NumberValue(reduce(1, 54)))
	half := must[Value](t)(NumberValue(reduce(1, 1)))
	big := IntValue(1<<59 + 1)
	for i, row := range []struct{ left, right []Value }{
		{[]Value{{}}, []Value{tiny}},                     // a finer number
		{[]Value{big}, []Value{half}},                    // the mast
		{[]Value{small, IntValue(1 << 30)}, []Value{{}}}, // both do not fit one scale
		{[]Value{IntValue(1<<60 - 1)}, nil},              // the next integer
		{[]Value{big}, []Value{big.Neg()}},               // the mast
	} {
		if v, err := ValueOf(row.left, row.right); !errors.Is(err, ErrOverflow) {
			t.Errorf("%d: %v, %v", i, v, err)
		}
	}
	if _, err := NumberValue(reduce(1, 56)); !errors.Is(err, ErrOverflow) {
		t.Error(err)
	}
	if _, err := big.AddInt(1 << 59); !errors.Is(err, ErrOverflow) {
		t.Error(err)
	}
	if _, err := tiny.AddInt(1 << 10); !errors.Is(err, ErrOverflow) {
		t.Error(err)
	}
}

// TestValueBytes: bytes are read back, tell where they end, and any other bytes are refused.
func TestValueBytes(t *testing.T) {
	a := NewArena(Limits{})
	check(t, 5, func(t *rapid.T) {
		v := must[Value](t)(a.Value(drawForm(t, a, 3, "f")))
		b := v.Append(nil)
		w, n, err := DecodeValue(append(slices.Clone(b), 1, 2, 3))
		if err != nil || w != v || n != len(b) {
			t.Fatal(v, w, n, err)
		}
		for i := range b {
			if _, _, err := DecodeValue(b[:i]); !errors.Is(err, ErrValue) {
				t.Fatalf("%d of %d bytes are taken: %v", i, len(b), err)
			}
		}
	})
}

// TestDecodeRefuses: walls that no game has, and bytes that are not canonical.
func TestDecodeRefuses(t *testing.T) {
	for name, b := range map[string][]byte{
		"empty":                 {},
		"no denominator":        {0},
		"no mean":               {0, 0},
		"denominator too large": {0, 56, 1},
		"long zero":             {0, 0, 0x80, 0},
		"1/2 with a mast at -1": {0, 1, 2},
		"2/2":                   {0, 1, 4},
		"corner at -1":          {1<<2 | 1<<5, 0, 0, 0, 1},
		"corner cut off":        {1<<2 | 1<<5, 0, 0, 1},
		"a bend at -3/4":        {3<<2 | 1<<5, 2, 0, 1, 1, 6, 8},
		"a wall from 1/2":       {1<<2 | 1<<5, 1, 0, 1, 2},
		"the walls do not part": {1 << 2, 0, 0, 0},
		"1/4 with walls of 1/2": {1<<2 | 1<<5, 2, 2, 2, 2},
		"0 compared with star":  {1, 0, 0},
		"up at most star":       {1 | 1<<2, 0, 0, 1},
		"mean out of range":     {0, 0, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 1},
		"more corners than fit": {7 << 2, 0xff, 0xff, 0xff, 0xff, 0xf, 0, 0},
		"corner out of range":   {1 << 2, 0, 0, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 1},
		"few written as many":   {7 << 2, 0x80, 0, 0, 0},
	} {
		if v, n, err := DecodeValue(b); !errors.Is(err, ErrValue) || n != 0 || v != (Value{}) {
			t.Errorf("%s: %v, %d, %v", name, v, n, err)
		}
	}
}

func FuzzDecodeValue(f *testing.F) {
	a := NewArena(Limits{})
	for _, s := range []string{"0", "-5/8", "*", "^", "{2|1*}", "{{1|0}|-7/4, {{1|-1}, {2|-2}|-2}}"} {
		g, err := a.Parse(s)
		if err != nil {
			f.Fatal(err)
		}
		v, err := a.Value(g)
		if err != nil {
			f.Fatal(err)
		}
		b := v.Append(nil)
		f.Add(b)
	}
	f.Add([]byte{0xff, 1, 1, 3, 4})
	f.Fuzz(func(t *testing.T, b []byte) {
		v, n, err := DecodeValue(b)
		if err != nil {
			if !errors.Is(err, ErrValue) {
				t.Fatal(err)
			}
			return
		}
		if again := v.Append(nil); !bytes.Equal(again, b[:n]) {
			t.Fatalf("%x is read as %v and written %x", b[:n], v, again)
		}
		// Nothing that is read makes anything panic.
		_ = v.Thermograph().String()
		_ = v.Bounds().String()
		v.Stops()
		v.Tail()
		v.Kind()
		if v.Neg().Neg() != v {
			t.Fatalf("%v negated twice is %v", v, v.Neg().Neg())
		}
		for _, w := range []Value{{}, v, v.Neg()} {
			if u, err := ValueOf([]Value{v}, []Value{w}); err == nil {
				b := u.Append(nil)
				if x, _, err := DecodeValue(b); err != nil || x != u {
					t.Fatalf("{%v|%v} = %v is not read back: %v", v, w, u, err)
				}
			} else if !errors.Is(err, ErrOverflow) {
				t.Fatal(err)
			}
		}
	})
}
