package cgt

import (
	"encoding/binary"
	"math/bits"
)

// zeroCode is the encoding of 0.
const zeroCode = "\x00\x00\x00"

// valueOf returns the value with the given code.
func valueOf(code []byte) Value {
	if string(code) == zeroCode {
		return Value{}
	}
	return Value{string(code)}
}

// The flags in the first byte of a code: the game is at most its left stop plus star; it
// is at least its right stop plus star.
const (
	atMostStar  = 1
	atLeastStar = 2
)

// flags returns the bits of a code.
func flags(atMost, atLeast bool) (f byte) {
	if atMost {
		f |= atMostStar
	}
	if atLeast {
		f |= atLeastStar
	}
	return f
}

// The encoding of a Value, all numbers in units of 1/2^e with the smallest e that will do:
//
//	byte     flags, nl<<2, nr<<5: the numbers of corners above temperature -1 of the left and
//	         the right wall; 7 stands for 7 and the uvarint that follows the byte
//	         (first for the left wall, then for the right)
//	byte     e
//	varint   mean
//	uvarint  for each wall, left first, for each corner above -1: how much it is hotter than
//	         the one before (the first: than -1)
//
// From the foot of the mast down, the pieces of a wall are by turns diagonal and
// vertical, the top one diagonal; so temperatures tell the values.

// encode returns the Value with the walls in c.left and c.right (negated), given at a scale.
func (c *Combiner) encode(head byte, scale int) Value {
	l, r := c.left, c.right
	mean := l[len(l)-1].v
	all := uint64(mean)
	for _, wall := range [2]climb{l, r} {
		for _, p := range wall[1:] {
			all |= uint64(p.t)
		}
	}
	k := min(bits.TrailingZeros64(all), scale)
	nl, nr := len(l)-1, len(r)-1
	b := append(c.code[:0], head|byte(min(nl, 7))<<2|byte(min(nr, 7))<<5)
	for _, n := range [2]int{nl, nr} {
		if n >= 7 {
			b = binary.AppendUvarint(b, uint64(n-7))
		}
	}
	b = append(b, byte(scale-k))
	b = binary.AppendVarint(b, mean>>k)
	for _, wall := range [2]climb{l, r} {
		for i, p := range wall[1:] {
			b = binary.AppendUvarint(b, uint64(p.t-wall[i].t)>>k)
		}
	}
	c.code = b
	return valueOf(b)
}

// scaleOf returns the e of a code.
func scaleOf(code string) int {
	if code == "" {
		return 0
	}
	_, _, code = counts(code)
	return int(code[0])
}

// counts reads the numbers of corners at the start of a code and returns the rest.
func counts(code string) (nl, nr int, rest string) {
	nl, nr = int(code[0]>>2&7), int(code[0]>>5)
	code = code[1:]
	if nl == 7 {
		n, k := uvarint(code)
		nl, code = nl+int(n), code[k:]
	}
	if nr == 7 {
		n, k := uvarint(code)
		nr, code = nr+int(n), code[k:]
	}
	return nl, nr, code
}

// uvarint is binary.Uvarint for strings.
func uvarint(s string) (uint64, int) {
	if len(s) > 0 && s[0] < 0x80 {
		return uint64(s[0]), 1
	}
	return binary.Uvarint([]byte(s[:min(len(s), binary.MaxVarintLen64)]))
}

// facing appends to dst the wall of a code at a scale as a climb: that of an option of side for
// the other side to begin, so the right wall of a left option, the left wall negated
// of a right option. It reports whether the numbers fit.
func facing(dst climb, side Side, code string, scale int) (climb, bool) {
	if code == "" {
		return append(dst, point{-1 << scale, 0}), true
	}
	nl, nr, code := counts(code)
	k := scale - int(code[0])
	u, n := uvarint(code[1:])
	code = code[1+n:]
	v := int64(u>>1) ^ -int64(u&1) // zigzag
	if !fits(v, k) {
		return dst, false
	}
	v <<= k
	n = nr
	if side == Right {
		v, n = -v, nl
	} else {
		for range nl {
			_, w := uvarint(code)
			code = code[w:]
		}
	}
	base := len(dst)
	t := int64(-1) << scale
	dst = append(dst, point{t, 0})
	for range n {
		u, w := uvarint(code)
		code = code[w:]
		if !fits(int64(u), k) {
			return dst, false
		}
		t += int64(u) << k
		if t >= maxUnits {
			return dst, false
		}
		dst = append(dst, point{t, 0})
	}
	// From the top down: diagonal, vertical, diagonal, ...
	for i := n; i >= 0; i-- {
		p := &dst[base+i]
		p.v = v
		if i > 0 && (n-i)%2 == 0 {
			v -= p.t - dst[base+i-1].t
		}
	}
	return dst, fits(dst[base].v, 0)
}

// room is memory for two walls, of as many corners as all but odd games have.
type room [2][12]point

// walls returns the left wall and the negated right wall at a scale, in the room where they fit.
func (v Value) walls(in *room) (left, negRight climb, scale int) {
	scale = scaleOf(v.code)
	l, _ := facing(in[0][:0], Right, v.code, scale) // the left wall negated
	for i := range l {
		l[i].v = -l[i].v
	}
	r, _ := facing(in[1][:0], Left, v.code, scale)
	for i := range r {
		r[i].v = -r[i].v
	}
	return l, r, scale
}

// Append appends the canonical bytes, which tell where they end. Equal Values have equal bytes.
func (v Value) Append(b []byte) []byte { return append(b, v.bytes()...) }

// bytes returns the canonical bytes.
func (v Value) bytes() string {
	if v.code == "" {
		return zeroCode
	}
	return v.code
}
