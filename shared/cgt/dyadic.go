package cgt

import (
	"cmp"
	"errors"
	"fmt"
	"math/bits"
	"strconv"
)

// ErrOverflow is wrapped by every error, and every panic of arithmetic, about a
// number or a wall that does not fit its representation. Nothing is ever rounded.
var ErrOverflow = errors.New("number out of range")

// Limits of Dyadic: numerators lie strictly between -2^60 and 2^60, and
// denominators go up to 2^60.
const (
	maxNumBits = 60
	maxExp     = 60
)

// Dyadic is a number m/2^k, held exactly in lowest terms with |m| < 2^60 and k <= 60. The
// zero value is 0. Dyadics are equal exactly if == says so.
//
// Arithmetic is exact or panics: a method whose result cannot be held panics
// with an error that wraps ErrOverflow. Functions of this package that return
// an error return that one instead of panicking.
type Dyadic struct {
	num int64
	exp uint8 // 0 where num is even
}

// overflow is what arithmetic panics with.
type overflow string

func (o overflow) Error() string { return ErrOverflow.Error() + ": " + string(o) }
func (overflow) Unwrap() error   { return ErrOverflow }

// catch turns a panic of arithmetic, or of an Arena at its limits, into an error. It is
// deferred.
func catch(err *error) {
	switch r := recover().(type) {
	case nil:
	case overflow:
		*err = r
	case limit:
		*err = r
	default:
		panic(r)
	}
}

// Int returns the integer n. It panics where |n| >= 2^60.
func Int(n int64) Dyadic {
	if n <= -1<<maxNumBits || n >= 1<<maxNumBits {
		panic(overflow(strconv.FormatInt(n, 10)))
	}
	return Dyadic{num: n}
}

// NewDyadic returns num/2^exp. It fails with an error that wraps ErrOverflow where the
// number in lowest terms is out of range.
func NewDyadic(num int64, exp int) (d Dyadic, err error) {
	defer catch(&err)
	return reduce(num, exp), nil
}

// reduce returns num/2^exp in lowest terms. It panics where that is out of range.
func reduce(num int64, exp int) Dyadic {
	if exp > 0 {
		k := min(bits.TrailingZeros64(uint64(num)), exp) // 64 for 0
		num, exp = num>>k, exp-k
	} else if exp < 0 {
		if num != 0 && (exp < -maxNumBits || bits.Len64(abs(num))-exp > maxNumBits) {
			panic(overflow(fmt.Sprintf("%d*2^%d", num, -exp)))
		}
		num, exp = num<<-exp, 0
	}
	if num <= -1<<maxNumBits || num >= 1<<maxNumBits || exp > maxExp {
		panic(overflow(fmt.Sprintf("%d/2^%d", num, exp)))
	}
	if num == 0 {
		exp = 0
	}
	return Dyadic{num, uint8(exp)}
}

// abs returns the magnitude of n as an unsigned number, which holds that of the smallest one as
// well.
func abs(n int64) uint64 {
	if n < 0 {
		return -uint64(n)
	}
	return uint64(n)
}

// Fraction returns the numerator and the exponent k of the denominator 2^k, in lowest
// terms.
func (d Dyadic) Fraction() (num int64, exp int) { return d.num, int(d.exp) }

// IsInt reports whether d is an integer.
func (d Dyadic) IsInt() bool { return d.exp == 0 }

// Floor returns the greatest integer that is at most d.
func (d Dyadic) Floor() int64 { return d.num >> d.exp }

// Sign returns -1, 0 or 1.
func (d Dyadic) Sign() int { return cmp.Compare(d.num, 0) }

// Cmp returns -1, 0 or 1 as d is less than, equal to or greater than o.
func (d Dyadic) Cmp(o Dyadic) int {
	a, b := d.Floor(), o.Floor()
	if a == b { // then the fractions decide, in units of 1/2^60
		a = (d.num - a<<d.exp) << (maxExp - d.exp)
		b = (o.num - b<<o.exp) << (maxExp - o.exp)
	}
	return cmp.Compare(a, b)
}

// Less reports whether d < o.
func (d Dyadic) Less(o Dyadic) bool { return d.Cmp(o) < 0 }

// Neg returns -d.
func (d Dyadic) Neg() Dyadic { return Dyadic{-d.num, d.exp} }

// Add returns d + o, or panics (see Dyadic).
func (d Dyadic) Add(o Dyadic) Dyadic {
	if d.exp < o.exp {
		d, o = o, d
	}
	// o.num is to be shifted to the larger denominator. If it then had 62 bits or more, the
	// other numerator, of 60 at most, could not bring the sum back into range.
	k := int(d.exp - o.exp)
	if bits.Len64(abs(o.num))+k > 62 && o.num != 0 {
		panic(overflow(fmt.Sprintf("%v + %v", d, o)))
	}
	return reduce(d.num+o.num<<k, int(d.exp))
}

// Sub returns d - o, or panics (see Dyadic).
func (d Dyadic) Sub(o Dyadic) Dyadic { return d.Add(o.Neg()) }

// Half returns d/2, or panics (see Dyadic).
func (d Dyadic) Half() Dyadic { return reduce(d.num, int(d.exp)+1) }

// String returns the canonical text, such as "-3", "3/4" or "-11/16".
func (d Dyadic) String() string {
	if d.exp == 0 {
		return strconv.FormatInt(d.num, 10)
	}
	return strconv.FormatInt(d.num, 10) + "/" + strconv.FormatUint(1<<d.exp, 10)
}

// MarshalText returns the canonical text, also for JSON.
func (d Dyadic) MarshalText() ([]byte, error) { return []byte(d.String()), nil }
