package cgt

import (
	"errors"
	"math/big"
	"strings"
	"testing"

	"pgregory.net/rapid"
)

func drawDyadic(t *rapid.T, label string) Dyadic {
	bits := rapid.IntRange(0, 59).Draw(t, label+" bits")
	num := rapid.Int64Range(-1<<bits, 1<<bits).Draw(t, label+" num")
	return reduce(num, rapid.IntRange(0, maxExp).Draw(t, label+" exp"))
}

func (d Dyadic) rat() *big.Rat {
	return new(big.Rat).SetFrac(big.NewInt(d.num), new(big.Int).Lsh(big.NewInt(1), uint(d.exp)))
}

// held returns r as a Dyadic if it can be held.
func held(r *big.Rat) (Dyadic, bool) {
	exp := r.Denom().BitLen() - 1
	if exp > maxExp || r.Num().BitLen() > maxNumBits {
		return Dyadic{}, false
	}
	return Dyadic{r.Num().Int64(), uint8(exp)}, true
}

// TestDyadicAgainstBig: every operation gives the exact result, or panics exactly where
// that cannot be held.
func TestDyadicAgainstBig(t *testing.T) {
	check(t, 20, func(t *rapid.T) {
		x, y := drawDyadic(t, "x"), drawDyadic(t, "y")
		if rapid.Bool().Draw(t, "near") { // so that sums cancel
			y = Dyadic{-x.num, x.exp}
			if x.num&1 != 0 && x.num+2 < maxUnits {
				y.num = -x.num - 2
				y = reduce(y.num, int(y.exp))
			}
		}
		for _, op := range []struct {
			name string
			do   func() Dyadic
			want *big.Rat
		}{
			{"+", func() Dyadic { return x.Add(y) }, new(big.Rat).Add(x.rat(), y.rat())},
			{"-", func() Dyadic { return x.Sub(y) }, new(big.Rat).Sub(x.rat(), y.rat())},
			{"neg", func() Dyadic { return x.Neg() }, new(big.Rat).Neg(x.rat())},
			{"half", func() Dyadic { return x.Half() }, new(big.Rat).Mul(x.rat(), big.NewRat(1, 2))},
			{"floor", func() Dyadic { return Int(x.Floor()) },
				new(big.Rat).SetInt(new(big.Int).Div(x.rat().Num(), x.rat().Denom()))},
		} {
			got, err := func() (d Dyadic, err error) {
				defer catch(&err)
				return op.do(), nil
			}()
			want, ok := held(op.want)
			if ok != (err == nil) || got != want || err != nil && !errors.Is(err, ErrOverflow) {
				t.Fatalf("%v %s %v = %v, %v; want %v", x, op.name, y, got, err, op.want)
			}
		}
		if x.Cmp(y) != x.rat().Cmp(y.rat()) || x.Less(y) != (x.Cmp(y) < 0) || x.Sign() != x.rat().Sign() ||
			x.IsInt() != x.rat().IsInt() {
			t.Fatalf("%v compared with %v", x, y)
		}
		if s := strings.TrimSuffix(x.rat().String(), "/1"); x.String() != s {
			t.Fatalf("%v is written %s", x.rat(), x)
		}
		if z, err := ParseDyadic(x.String()); err != nil || z != x {
			t.Fatal(x, z, err)
		}
		if num, exp := x.Fraction(); must[Dyadic](t)(NewDyadic(num, exp)) != x {
			t.Fatal(x)
		}
	})
}

func TestParseDyadic(t *testing.T) {
	for _, row := range []struct {
		text, want string
		err        error
	}{
		{"0", "0", nil}, {"-0", "0", nil}, {"3/4", "3/4", nil}, {"6/8", "3/4", nil}, {"-12/4", "-3", nil},
		{"7/1", "7", nil}, {"0/64", "0", nil}, {"007", "7", nil},
		{"1152921504606846975", "1152921504606846975", nil}, {"1/1152921504606846976", "1/1152921504606846976", nil},
		{"1152921504606846976/2", "576460752303423488", nil},
		{"1152921504606846976", "", ErrOverflow}, {"1/2305843009213693952", "", ErrOverflow},
		{"1/18446744073709551616", "", ErrOverflow}, {"-99999999999999999999/2", "", ErrOverflow},
		{"", "", errNumber}, {"-", "", errNumber}, {"+1", "", errNumber}, {"1/0", "", errNumber},
		{"1/3", "", errNumber}, {"1/", "", errNumber}, {"1/-2", "", errNumber}, {" 1", "", errNumber},
		{"1.5", "", errNumber}, {"1/2/2", "", errNumber}, {"--1", "", errNumber},
	} {
		d, err := ParseDyadic(row.text)
		if !errors.Is(err, row.err) || err == nil && d.String() != row.want {
			t.Errorf("%q: %v, %v; want %s, %v", row.text, d, err, row.want, row.err)
		}
	}
}

func FuzzParseDyadic(f *testing.F) {
	for _, s := range []string{"0", "-3/4", "6/8", "1/", "99999999999999999999"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, text string) {
		d, err := ParseDyadic(text)
		if err != nil {
			if !errors.Is(err, errNumber) && !errors.Is(err, ErrOverflow) {
				t.Fatal(err)
			}
			return
		}
		top, bottom, isFraction := strings.Cut(text, "/")
		if !isFraction {
			bottom = "1"
		}
		num, ok1 := new(big.Int).SetString(top, 10)
		den, ok2 := new(big.Int).SetString(bottom, 10)
		if !ok1 || !ok2 || new(big.Rat).SetFrac(num, den).Cmp(d.rat()) != 0 {
			t.Fatalf("%q is read as %v", text, d)
		}
	})
}
