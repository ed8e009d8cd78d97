package cgt

import (
	"encoding/binary"
	"errors"
	"fmt"
	"math/bits"
	"slices"
)

// checkCode looks at the bytes of a Value at the start of b and returns how many they are, or
// what is wrong with them.
func checkCode(b []byte) (n int, why string) {
	const short = "cut short"
	if len(b) == 0 {
		return 0, short
	}
	pos := 1
	next := func() (uint64, bool) {
		u, k := binary.Uvarint(b[pos:])
		// The last byte of a number is 0 only where it is the only one.
		if k <= 0 || k > 1 && b[pos+k-1] == 0 {
			return 0, false
		}
		pos += k
		return u, true
	}
	head := b[0]
	count := [2]int{int(head >> 2 & 7), int(head >> 5)}
	for i := range count {
		if count[i] == 7 {
			u, ok := next()
			if !ok || u > uint64(len(b)) {
				return 0, short
			}
			count[i] += int(u)
		}
	}
	if pos >= len(b) {
		return 0, short
	}
	scale := int(b[pos])
	pos++
	if scale > maxScale {
		return 0, "denominator out of range"
	}
	u, ok := next()
	mean := int64(u>>1) ^ -int64(u&1)
	if !ok || !fits(mean, 0) {
		return 0, "mean out of range"
	}
	all := uint64(mean)
	for _, n := range count {
		t := int64(-1) << scale
		for range n {
			u, ok := next()
			if !ok || u == 0 || u >= maxUnits || t+int64(u) >= maxUnits {
				return 0, "corner out of range"
			}
			t += int64(u)
			all |= u
		}
	}
	if scale > 0 && bits.TrailingZeros64(all) > 0 {
		return 0, "not in lowest terms"
	}
	v := valueOf(b[:pos])
	var in room
	l, r, _ := v.walls(&in)
	if why := checkWalls(l, r, scale); why != "" {
		return 0, why
	}
	return pos, checkFlags(v, l, r)
}

// checkWalls says what is wrong with a left wall and a negated right one.
func checkWalls(l, r climb, scale int) (why string) {
	one := int64(1) << scale
	if !fits(l[0].v, 0) || !fits(r[0].v, 0) {
		return "wall out of range"
	}
	if l[0].v&(one-1) != 0 || r[0].v&(one-1) != 0 {
		return "a wall begins at a fraction"
	}
	foot := max(l[len(l)-1].t, r[len(r)-1].t)
	for _, c := range []climb{l, r} {
		for _, p := range c {
			// Between -1/2^k and -1/2^(k+1) a wall goes from a multiple of 1/2^k to one of
			// 1/2^(k+1), so it does not bend.
			if p.t < 0 && -p.t&(-p.t-1) != 0 {
				return "a wall bends between two powers of two"
			}
			if p.t < foot && l.at(p.t)+r.at(p.t) <= 0 {
				return "the walls meet below the mast"
			}
		}
	}
	if foot >= 0 {
		return ""
	}
	// A number: its walls are known.
	n, err := NewDyadic(l[len(l)-1].v, scale)
	if err != nil {
		return err.Error()
	}
	v, err := NumberValue(n)
	if err != nil {
		return err.Error()
	}
	var in room
	nl, nr, _ := v.walls(&in)
	if scaleOf(v.code) != scale || !slices.Equal(nl, l) || !slices.Equal(nr, r) {
		return "not the walls of a number"
	}
	return ""
}

// checkFlags says what is wrong with the flags of a code with these walls.
func checkFlags(v Value, l, r climb) (why string) {
	foot := max(l[len(l)-1].t, r[len(r)-1].t)
	switch {
	case v.code == "":
		return ""
	case foot < 0 && (v.AtMostStar() || v.AtLeastStar()):
		return "a number compared with star"
	case foot == 0 && v.AtMostStar() && r[len(r)-1].t < 0, foot == 0 && v.AtLeastStar() && l[len(l)-1].t < 0:
		return "star on the wrong side"
	}
	return ""
}

// ErrValue is wrapped by every error about bytes that are no Value.
var ErrValue = errors.New("not a value")

// DecodeValue reads a Value at the start of b and returns how many bytes it took. Only
// canonical bytes are taken, and only walls as games have them: integers at
// temperature -1, corners below 0 at temperatures -1/2^k only, apart below the mast; those of
// a number below temperature 0. Errors wrap ErrValue.
func DecodeValue(b []byte) (Value, int, error) {
	n, why := checkCode(b)
	if why != "" {
		return Value{}, 0, fmt.Errorf("%w: %s", ErrValue, why)
	}
	return valueOf(b[:n]), n, nil
}
