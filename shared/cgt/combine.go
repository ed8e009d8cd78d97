package cgt

import "fmt"

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

// Combiner computes Values of games from the Values of their options, and reuses its memory. The zero
// value is ready. It is not safe for concurrent use.
type Combiner struct {
	fold        [2][2]climb // per side: the maximum so far, and the next one
	one         climb       // of one option
	left, right climb       // the walls of the game, the right one negated
	code        []byte
}

// Combine returns the Value of the game whose options have these Values, in any order, repeated or
// not. The error wraps ErrOverflow where the walls do not fit in 60 bits at one denominator of at most
// 2^55. The walls of the options give the scaffolds of the game, and the scaffolds its
// walls, as the package comment says.
func (c *Combiner) Combine(left, right []Value) (Value, error) {
	scale := 0
	for _, v := range left {
		scale = max(scale, scaleOf(v.code))
	}
	for _, v := range right {
		scale = max(scale, scaleOf(v.code))
	}
	scale++ // where walls meet half-way between two units
	tooFine := func() error { return overflow(fmt.Sprintf("a wall with denominator 2^%d", scale)) }
	if scale > maxScale {
		return Value{}, tooFine()
	}
	// The scaffolds before taxes.
	ok := true
	for i, v := range left {
		ok = c.join(Left, i == 0, v.code, scale) && ok
	}
	for i, v := range right {
		ok = c.join(Right, i == 0, v.code, scale) && ok
	}
	if !ok {
		return Value{}, tooFine()
	}
	l, r := c.fold[0][0], c.fold[1][0]
	one := int64(1) << scale
	// a and b are l(-1) and r(-1) of the package comment.
	switch {
	case len(left) == 0 && len(right) == 0:
		return Value{}, nil
	case len(left) == 0:
		return c.integer(min(0, -r[0].v/one-1))
	case len(right) == 0:
		return c.integer(max(0, l[0].v/one+1))
	}
	// Where an integer lies strictly between all left and all right options, the game is the
	// simplest such integer: the one nearest to 0.
	if a, b := l[0].v/one+1, -r[0].v/one-1; a <= b {
		return c.integer(min(max(a, 0), b))
	}
	c.left, c.right = mast(c.left[:0], c.right[:0], l, r)
	foot := max(c.left[len(c.left)-1].t, c.right[len(c.right)-1].t)
	if !fits(c.left[0].v, 0) || !fits(c.right[0].v, 0) || foot >= maxUnits {
		return Value{}, tooFine()
	}
	head := byte(0)
	if foot >= 0 { // no number
		// The game is at most its left stop s plus star if Left, beginning, loses the difference:
		// moving in the star must leave something not >= s, and so must each left option
		// leave something not >= s plus star (numbers need no move).
		ls, rs := c.left.at(0), c.right.at(0) // rs is negated
		atMost := -c.right.at(-1) < ls
		for i := 0; i < len(left) && atMost; i++ {
			atMost = !c.reaches(Left, left[i].code, scale, ls)
		}
		atLeast := -c.left.at(-1) < rs
		for i := 0; i < len(right) && atLeast; i++ {
			atLeast = !c.reaches(Right, right[i].code, scale, rs)
		}
		head = flags(atMost, atLeast)
	}
	return c.encode(head, scale), nil
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

// integer returns the value of the integer n.
func (c *Combiner) integer(n int64) (Value, error) {
	if !fits(n, 0) {
		return Value{}, overflow(fmt.Sprint(n))
	}
	c.left = append(c.left[:0], point{-1, n})
	c.right = append(c.right[:0], point{-1, -n})
	return c.encode(0, 0), nil
}

// number returns the value of the number n, built from its canonical options.
func (c *Combiner) number(n Dyadic) (Value, error) {
	num, exp := n.Fraction()
	if exp > maxScale {
		return Value{}, overflow(n.String())
	}
	if exp == 0 {
		return c.integer(num)
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
