package cgt

import (
	"encoding/binary"
	"errors"
	"fmt"
	"math/bits"
	"strings"
)

// ErrValue is wrapped by every error about bytes that are no Value.
var ErrValue = errors.New("not a value")

// Value is a summary of a game: its thermograph, and how it compares with a star at its stops. The
// package comment says what a Value determines. Games with the same summary have equal Values under
// ==, so a Value can be a map key. The zero Value is the value of the game 0.
type Value struct {
	code string // the canonical bytes, but "" for 0
}

// zeroCode is the encoding of 0.
const zeroCode = "\x00\x00\x00"

// Kind is the coarse class of a game.
type Kind uint8

// The kinds. A Value determines them exactly.
const (
	Number Kind = iota // equal to a number; temperature below 0
	// not 0, but between all negative and all positive numbers; temperature 0, mean 0
	Infinitesimal
	NumberPlusInfinitesimal // a number other than 0 plus an Infinitesimal; temperature 0
	Hot                     // left stop above right stop; temperature above 0
)

// String returns "number", "infinitesimal", "number+infinitesimal" or "hot".
func (k Kind) String() string {
	switch k {
	case Number:
		return "number"
	case Infinitesimal:
		return "infinitesimal"
	case NumberPlusInfinitesimal:
		return "number+infinitesimal"
	case Hot:
		return "hot"
	}
	return fmt.Sprintf("Kind(%d)", uint8(k))
}

// Tail is the class of a game minus its mean, where that difference is 0 or infinitesimal (Song
// and Müller 2014, section II.D.2, with star told from the other fuzzy ones).
type Tail uint8

// The tails. A Value determines them exactly.
const (
	Zero     Tail = iota // the game is its mean, a number
	Star                 // the game is its mean plus star
	Positive             // above its mean, by an infinitesimal
	Negative             // below its mean, by an infinitesimal
	Fuzzy                // confused with its mean, but not that plus star
	NoTail               // hot
)

// String returns "zero", "star", "positive", "negative", "fuzzy" or "none".
func (t Tail) String() string {
	switch t {
	case Zero:
		return "zero"
	case Star:
		return "star"
	case Positive:
		return "positive"
	case Negative:
		return "negative"
	case Fuzzy:
		return "fuzzy"
	case NoTail:
		return "none"
	}
	return fmt.Sprintf("Tail(%d)", uint8(t))
}

// ValueOf returns the Value of the game whose options have these Values, in any order, repeated or
// not. The error wraps ErrOverflow where the walls do not fit in 60 bits at one denominator of at
// most 2^55.
func ValueOf(left, right []Value) (Value, error) {
	var c Combiner
	return c.Combine(left, right)
}

// NumberValue returns the Value of the number n, or an error that wraps ErrOverflow.
func NumberValue(n Dyadic) (Value, error) {
	var c Combiner
	return c.number(n)
}

// IntValue returns the Value of the integer n. It panics where |n| >= 2^60.
func IntValue(n int64) Value {
	v, err := NumberValue(Int(n))
	if err != nil {
		panic(err)
	}
	return v
}

// Combiner computes Values of games from those of their options, with memory that it
// reuses. The zero value is ready. It is not safe for concurrent use.
type Combiner struct {
	fold    [2][2]climb // per side: the maximum so far, and the next one
	one     climb
	left    climb
	right   climb
	code    []byte
	options []string
}

// Combine is ValueOf.
func (c *Combiner) Combine(left, right []Value) (Value, error) {
	c.options = c.options[:0]
	for _, v := range left {
		c.options = append(c.options, v.code)
	}
	for _, v := range right {
		c.options = append(c.options, v.code)
	}
	code, err := c.combine(c.options[:len(left)], c.options[len(left):])
	if err != nil {
		return Value{}, err
	}
	return valueOf(code), nil
}

// valueOf returns the value with the given code.
func valueOf(code []byte) Value {
	if string(code) == zeroCode {
		return Value{}
	}
	return Value{string(code)}
}

// combine returns the code of the game whose options have these codes ("" for 0). The code is valid
// until the next call.
func (c *Combiner) combine(left, right []string) ([]byte, error) {
	scale := 0
	for _, code := range left {
		scale = max(scale, scaleOf(code))
	}
	for _, code := range right {
		scale = max(scale, scaleOf(code))
	}
	scale++ // where walls meet half-way between two units
	if scale > maxScale {
		return nil, overflow(fmt.Sprintf("a wall with denominator 2^%d", scale))
	}
	// The scaffolds before taxes.
	ok := true
	for i, code := range left {
		ok = c.join(Left, i == 0, code, scale) && ok
	}
	for i, code := range right {
		ok = c.join(Right, i == 0, code, scale) && ok
	}
	if !ok {
		return nil, overflow(fmt.Sprintf("a wall with denominator 2^%d", scale))
	}
	l, r := c.fold[0][0], c.fold[1][0]
	one := int64(1) << scale
	// a and b are l(-1) and r(-1) of the package comment.
	switch {
	case len(left) == 0 && len(right) == 0:
		return []byte(zeroCode), nil
	case len(left) == 0:
		return c.integer(min(0, -r[0].v/one-1))
	case len(right) == 0:
		return c.integer(max(0, l[0].v/one+1))
	}
	if a, b := l[0].v/one+1, -r[0].v/one-1; a <= b {
		return c.integer(min(max(a, 0), b))
	}
	c.left, c.right = mast(c.left[:0], c.right[:0], l, r)
	foot := max(c.left[len(c.left)-1].t, c.right[len(c.right)-1].t)
	if !fits(c.left[0].v, 0) || !fits(c.right[0].v, 0) || foot >= maxUnits {
		return nil, overflow(fmt.Sprintf("a wall with denominator 2^%d", scale))
	}
	head := byte(0)
	if foot >= 0 { // no number
		// The game is at most its left stop s plus star if Left, beginning, loses the difference:
		// moving in the star must leave something not >= s, and so must each left option
		// leave something not >= s plus star (numbers need no move).
		ls, rs := c.left.at(0), c.right.at(0) // rs is negated
		atMost := -c.right.at(-1) < ls
		for i := 0; i < len(left) && atMost; i++ {
			atMost = !c.reaches(Left, left[i], scale, ls)
		}
		atLeast := -c.left.at(-1) < rs
		for i := 0; i < len(right) && atLeast; i++ {
			atLeast = !c.reaches(Right, right[i], scale, rs)
		}
		head = flags(atMost, atLeast)
	}
	return c.encode(head, scale)
}

// The flags in the first byte of a code: the game is at most its left stop plus star; it
// is at least its right stop plus star.
const (
	atMostStar  = 1
	atLeastStar = 2
)

func flags(atMost, atLeast bool) (f byte) {
	if atMost {
		f |= atMostStar
	}
	if atLeast {
		f |= atLeastStar
	}
	return f
}

// join raises the fold of a side by the wall of one option, or begins with it. It reports
// whether the numbers fit.
func (c *Combiner) join(side Side, first bool, code string, scale int) bool {
	f := &c.fold[side-Left]
	var ok bool
	if first {
		f[0], ok = facing(f[0][:0], side, code, scale)
		return ok
	}
	c.one, ok = facing(c.one[:0], side, code, scale)
	if ok {
		f[1] = higher(f[1][:0], f[0], c.one)
		f[0], f[1] = f[1], f[0]
	}
	return ok
}

// reaches reports whether an option of the given side has the stop s for the other side to begin
// (negated for right options) and is at least s plus star (at most, for right options).
func (c *Combiner) reaches(side Side, code string, scale int, s int64) bool {
	if code == "" {
		return false
	}
	f := code[0]
	if side == Left && f&atLeastStar == 0 || side == Right && f&atMostStar == 0 {
		return false
	}
	c.one, _ = facing(c.one[:0], side, code, scale)
	return c.one.at(0) == s
}

// integer returns the code of the integer n.
func (c *Combiner) integer(n int64) ([]byte, error) {
	if !fits(n, 0) {
		return nil, overflow(fmt.Sprint(n))
	}
	c.left = append(c.left[:0], point{-1, n})
	c.right = append(c.right[:0], point{-1, -n})
	return c.encode(0, 0)
}

// number returns the value of the number n, built from its canonical options.
func (c *Combiner) number(n Dyadic) (Value, error) {
	num, exp := n.Fraction()
	if exp > maxScale {
		return Value{}, overflow(n.String())
	}
	if exp == 0 {
		code, err := c.integer(num)
		if err != nil {
			return Value{}, err
		}
		return valueOf(code), nil
	}
	// The walls of m/2^k: at each coarser -1/2^j they are its floor and ceiling there.
	// Building them from the two neighbours, both of a smaller k, and one of
	// those being an option of the other, takes k steps.
	lo, hi := n.Floor(), n.Floor()+1
	l, err := c.number(Int(lo))
	if err != nil {
		return Value{}, err
	}
	h, err := c.number(Int(hi))
	if err != nil {
		return Value{}, err
	}
	frac := num - lo<<exp
	for k := exp - 1; ; k-- {
		m, err := c.Combine([]Value{l}, []Value{h})
		if err != nil || k == 0 {
			return m, err
		}
		if frac>>k&1 != 0 {
			l = m
		} else {
			h = m
		}
	}
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

// encode returns the code of the walls in c.left and c.right (negated), given at a scale.
func (c *Combiner) encode(head byte, scale int) ([]byte, error) {
	l, r := c.left, c.right
	mean := l[len(l)-1].v
	all := uint64(mean)
	for _, p := range l[1:] {
		all |= uint64(p.t)
	}
	for _, p := range r[1:] {
		all |= uint64(p.t)
	}
	k := min(bits.TrailingZeros64(all), scale)
	nl, nr := len(l)-1, len(r)-1
	b := append(c.code[:0], head|byte(min(nl, 7))<<2|byte(min(nr, 7))<<5)
	if nl >= 7 {
		b = binary.AppendUvarint(b, uint64(nl-7))
	}
	if nr >= 7 {
		b = binary.AppendUvarint(b, uint64(nr-7))
	}
	b = append(b, byte(scale-k))
	b = binary.AppendVarint(b, mean>>k)
	for i := range nl {
		b = binary.AppendUvarint(b, uint64(l[i+1].t-l[i].t)>>k)
	}
	for i := range nr {
		b = binary.AppendUvarint(b, uint64(r[i+1].t-r[i].t)>>k)
	}
	c.code = b
	return b, nil
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

// Mean returns the value of the mast.
func (v Value) Mean() Dyadic {
	var in room
	l, _, scale := v.walls(&in)
	return reduce(l[len(l)-1].v, scale)
}

// Temperature returns the temperature of the foot of the mast, at least -1.
func (v Value) Temperature() Dyadic {
	var in room
	l, r, scale := v.walls(&in)
	return reduce(max(l[len(l)-1].t, r[len(r)-1].t), scale)
}

// Stops returns the left and the right stop: the values of the walls at temperature 0.
func (v Value) Stops() (left, right Dyadic) {
	var in room
	l, r, scale := v.walls(&in)
	return reduce(l.at(0), scale), reduce(-r.at(0), scale)
}

// Kind returns the coarse class.
func (v Value) Kind() Kind {
	t := v.Temperature()
	switch {
	case t.Sign() < 0:
		return Number
	case t.Sign() > 0:
		return Hot
	case v.Mean() == Dyadic{}:
		return Infinitesimal
	}
	return NumberPlusInfinitesimal
}

// Tail returns the class of the game minus its mean.
func (v Value) Tail() Tail {
	var in room
	l, r, _ := v.walls(&in)
	switch t := max(l[len(l)-1].t, r[len(r)-1].t); {
	case t < 0:
		return Zero
	case t > 0:
		return NoTail
	case l[len(l)-1].t < 0:
		return Negative
	case r[len(r)-1].t < 0:
		return Positive
	case v.code[0]&(atMostStar|atLeastStar) == atMostStar|atLeastStar:
		return Star
	}
	return Fuzzy
}

// AtMostStar reports whether the game is no number and at most its left stop plus star.
func (v Value) AtMostStar() bool { return v.code != "" && v.code[0]&atMostStar != 0 }

// AtLeastStar reports whether the game is no number and at least its right stop plus star.
func (v Value) AtLeastStar() bool { return v.code != "" && v.code[0]&atLeastStar != 0 }

// Floor returns the greatest integer that is at most the game: its right wall at temperature -1.
func (v Value) Floor() int64 {
	var in room
	_, r, scale := v.walls(&in)
	return -r[0].v >> scale
}

// Ceil returns the least integer that is at least the game: its left wall at temperature
// -1.
func (v Value) Ceil() int64 {
	var in room
	l, _, scale := v.walls(&in)
	return l[0].v >> scale
}

// Winner returns who wins the game alone when mover (Left or Right) begins.
func (v Value) Winner(mover Side) Side {
	switch {
	case mover == Left && v.Ceil() > 0, mover == Right && v.Floor() >= 0:
		return Left
	}
	return Right
}

// Bounds returns the best bounds by a number on either side (Song and Müller 2014, sections
// II.D.1 and II.D.2). Numbers are bounded by themselves; n plus an
// infinitesimal by (n, n+e], [n-e, n) or [n-e, n+e] as that is positive, negative
// or fuzzy; hot games by their stops.
//
// A stop of a hot game is relaxed where the wall is diagonal below temperature 0. Where
// it is vertical, the paper takes the bound as exact; but a hot game is no number, so it is
// never equal to its bound, and the bound is tightened here.
func (v Value) Bounds() Bounds {
	var in room
	l, r, scale := v.walls(&in)
	if max(l[len(l)-1].t, r[len(r)-1].t) < 0 {
		return NumberBounds(reduce(l[len(l)-1].v, scale))
	}
	bound := func(c climb, n int64) Bound {
		s := c.at(0)
		b := Bound{reduce(n*s, scale), Tightened}
		// Just below 0 the wall goes on to the next corner, at a scale with that corner.
		if below := climbBelow(c); below {
			b.Strength = Relaxed
		}
		return b
	}
	return Bounds{Lower: bound(r, -1), Upper: bound(l, 1)}
}

// climbBelow reports whether the wall is diagonal just below temperature 0.
func climbBelow(c climb) bool {
	for i := len(c) - 1; i > 0; i-- {
		if c[i-1].t < 0 {
			return c[i].t >= 0 && c[i].v != c[i-1].v
		}
	}
	return false
}

// Neg returns the Value of the negative.
func (v Value) Neg() Value {
	if v.code == "" {
		return v
	}
	var c Combiner
	var scale int
	var in room
	c.right, c.left, scale = v.walls(&in)
	f := v.code[0]
	code, _ := c.encode(flags(f&atLeastStar != 0, f&atMostStar != 0), scale)
	return valueOf(code)
}

// AddInt returns the Value of the game plus the integer n. (Adding other numbers moves the
// walls above temperature 0 alike, but not below.) It fails with an error that wraps
// ErrOverflow.
func (v Value) AddInt(n int64) (Value, error) {
	var c Combiner
	var scale int
	var in room
	c.left, c.right, scale = v.walls(&in)
	if !fits(n, scale) || !fits(c.left[0].v+n<<scale, 0) || !fits(c.right[0].v-n<<scale, 0) {
		return Value{}, overflow(fmt.Sprintf("a wall moved by %d", n))
	}
	for i := range c.left {
		c.left[i].v += n << scale
	}
	for i := range c.right {
		c.right[i].v -= n << scale
	}
	head := byte(0)
	if v.code != "" {
		head = v.code[0] & (atMostStar | atLeastStar)
	}
	code, err := c.encode(head, scale)
	if err != nil {
		return Value{}, err
	}
	return valueOf(code), nil
}

// AppendBinary appends the canonical bytes, which tell where they end. Equal Values have
// equal bytes.
func (v Value) AppendBinary(b []byte) ([]byte, error) {
	if v.code == "" {
		return append(b, zeroCode...), nil
	}
	return append(b, v.code...), nil
}

// MarshalBinary returns the canonical bytes.
func (v Value) MarshalBinary() ([]byte, error) { return v.AppendBinary(nil) }

// Compare orders Values totally, by their canonical bytes; it is not the order of games.
func (v Value) Compare(o Value) int { return strings.Compare(v.bytes(), o.bytes()) }

func (v Value) bytes() string {
	if v.code == "" {
		return zeroCode
	}
	return v.code
}

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
