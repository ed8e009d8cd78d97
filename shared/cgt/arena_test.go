package cgt

// What tests ask of canonical forms and no program does: how they compare, who wins them, and how
// they are read.

import (
	"errors"
	"fmt"
	"math/bits"
	"strconv"
	"strings"
)

// errForm is wrapped by every error about the text of a game.
var errForm = errors.New("not a game")

// Len returns the number of forms held.
func (a *Arena) Len() int { return len(a.nodes) }

// Left returns the left options of f, which the caller does not change.
func (a *Arena) Left(f Form) []Form { return a.nodes[f].options[Left] }

// Right returns the right options of f, which the caller does not change.
func (a *Arena) Right(f Form) []Form { return a.nodes[f].options[Right] }

// Birthday returns the length of the longest sequence of moves in f, of whichever sides.
func (a *Arena) Birthday(f Form) int { return a.nodes[f].birthday }

// Order is how two games compare.
type Order uint8

// The orders.
const (
	Equal    Order = iota // each is <= the other
	Less                  // the first is <= the second only
	Greater               // the second is <= the first only
	Confused              // neither: who moves first is better off
)

// String returns "=", "<", ">" or "||".
func (o Order) String() string {
	return [...]string{"=", "<", ">", "||"}[o]
}

// Compare returns how f compares with g.
func (a *Arena) Compare(f, g Form) Order {
	switch le, ge := a.LessEq(f, g), a.LessEq(g, f); {
	case le && ge:
		return Equal
	case le:
		return Less
	case ge:
		return Greater
	}
	return Confused
}

// Winner returns who wins f when mover (Left or Right) begins.
func (a *Arena) Winner(f Form, mover Side) Side {
	if mover == Left && !a.LessEq(f, 0) || mover == Right && a.LessEq(0, f) {
		return Left
	}
	return Right
}

// Named returns n plus a number of ups (negative: downs) plus the nimber *nimber, which is
// not negative. Errors wrap ErrLimit or ErrOverflow.
func (a *Arena) Named(n Dyadic, ups, nimber int) (f Form, err error) {
	defer catch(&err)
	return a.named(name{true, n, ups, nimber}), nil
}

// IsNumber returns the number that f is, if it is one.
func (a *Arena) IsNumber(f Form) (n Dyadic, ok bool) {
	return a.nodes[f].name.number, a.nodes[f].name.isNumber()
}

// Parse reads a game and returns its canonical form. A game is a number, then ups or downs ("^", "^2",
// "v", "v3"), then a nimber ("*", "*2"), any two of which may be absent, together
// their sum; or options in braces, those of a side with commas between them, the
// sides with a bar, such as "{0, ^|{1|-1/2}}". Spaces may stand between these parts. Errors wrap
// errForm, errNumber, ErrOverflow or ErrLimit.
func (a *Arena) Parse(text string) (f Form, err error) {
	defer catch(&err)
	if len(text) > a.limits.Text {
		panic(limit(fmt.Sprintf("a text of %d bytes", len(text))))
	}
	p := parser{a: a, text: text}
	if f, err = p.game(0); err != nil {
		return 0, err
	}
	if p.peek() != 0 {
		return 0, p.fail("an end")
	}
	return f, nil
}

type parser struct {
	a    *Arena
	text string
	pos  int
}

// peek skips spaces and returns the next byte, 0 at the end.
func (p *parser) peek() byte {
	for p.pos < len(p.text) && strings.IndexByte(" \t\r\n", p.text[p.pos]) >= 0 {
		p.pos++
	}
	if p.pos == len(p.text) {
		return 0
	}
	return p.text[p.pos]
}

func (p *parser) fail(want string) error {
	return fmt.Errorf("%w: at byte %d of %.40q: expected %s", errForm, p.pos, p.text, want)
}

// game reads a game inside so many braces.
func (p *parser) game(depth int) (Form, error) {
	if p.peek() != '{' {
		return p.named()
	}
	if depth > p.a.limits.Birthday {
		panic(limit(fmt.Sprintf("%d braces inside each other", depth)))
	}
	p.pos++
	left, err := p.options(depth, '|')
	if err != nil {
		return 0, err
	}
	right, err := p.options(depth, '}')
	if err != nil {
		return 0, err
	}
	return p.a.form(left, right), nil
}

// options reads the options of a side and the mark behind them.
func (p *parser) options(depth int, end byte) (fs []Form, err error) {
	if p.peek() == end {
		p.pos++
		return nil, nil
	}
	for {
		f, err := p.game(depth + 1)
		if err != nil {
			return nil, err
		}
		fs = append(fs, f)
		switch p.peek() {
		case end:
			p.pos++
			return fs, nil
		case ',':
			p.pos++
		default:
			return nil, p.fail(fmt.Sprintf("a comma or %q", end))
		}
	}
}

// named reads a number plus ups plus a nimber.
func (p *parser) named() (Form, error) {
	n := name{ok: true}
	c := p.peek()
	start := p.pos
	if c == '-' || c >= '0' && c <= '9' {
		d, rest, err := scanDyadic(p.text[p.pos:])
		if err != nil {
			return 0, err
		}
		n.number, p.pos = d, len(p.text)-len(rest)
	}
	var err error
	switch p.peek() {
	case '^':
		n.ups, err = p.count()
	case 'v':
		n.ups, err = p.count()
		n.ups = -n.ups
	}
	if err == nil && p.peek() == '*' {
		n.nimber, err = p.count()
	}
	if err != nil {
		return 0, err
	}
	if p.pos == start {
		return 0, p.fail("a game")
	}
	return p.a.named(n), nil
}

// count reads a letter and the number right behind it, 1 where there is none.
func (p *parser) count() (int, error) {
	p.pos++
	end := p.pos
	for end < len(p.text) && p.text[end] >= '0' && p.text[end] <= '9' {
		end++
	}
	if end == p.pos {
		return 1, nil
	}
	n, err := strconv.Atoi(p.text[p.pos:end])
	if err != nil {
		return 0, fmt.Errorf("%w: %.40q", ErrOverflow, p.text[p.pos:end])
	}
	p.pos = end
	return n, nil
}

// StarValue returns the Value of n plus star, or an error that wraps ErrOverflow.
func StarValue(n Dyadic) (Value, error) {
	v, err := NumberValue(n)
	if err != nil {
		return Value{}, err
	}
	return ValueOf([]Value{v}, []Value{v})
}

// errBounds is wrapped by every error about the text of bounds.
var errBounds = errors.New("not bounds")

// ParseBounds reads what Bounds.String writes; a Greek epsilon is read as e, and spaces
// do not matter. It does not ask whether the lower bound is below the upper one. Errors
// wrap errBounds.
func ParseBounds(text string) (Bounds, error) {
	s := strings.NewReplacer(" ", "", "ε", "e", "ϵ", "e").Replace(text)
	fail := func(why string) (Bounds, error) {
		return Bounds{}, fmt.Errorf("%w: %q: %s", errBounds, text, why)
	}
	if len(s) < 2 {
		return fail("too short")
	}
	lower, upper, ok := strings.Cut(s[1:len(s)-1], ",")
	if !ok {
		return fail("no comma")
	}
	l, err := parseBound(lower, "-e", s[0], '[', '(')
	if err != nil {
		return fail(err.Error())
	}
	u, err := parseBound(upper, "+e", s[len(s)-1], ']', ')')
	if err != nil {
		return fail(err.Error())
	}
	return Bounds{l, u}, nil
}

func parseBound(text, e string, bracket, square, round byte) (Bound, error) {
	var b Bound
	number, relaxed := strings.CutSuffix(text, e)
	if !relaxed && e == "+e" && text == "e" {
		number, relaxed = "", true
	}
	switch {
	case bracket != square && bracket != round:
		return b, fmt.Errorf("%q is no bracket", bracket)
	case relaxed && bracket == round:
		return b, fmt.Errorf("%q is both tightened and relaxed", text)
	case relaxed:
		b.Strength = Relaxed
		if number == "" {
			return b, nil
		}
	case bracket == round:
		b.Strength = Tightened
	}
	n, err := ParseDyadic(number)
	b.N = n
	return b, err
}

// errNumber is wrapped by every error about the text of a number.
var errNumber = errors.New("not a dyadic number")

// ParseDyadic reads an integer or a fraction whose denominator is a power of two,
// such as "-3", "3/4" or "6/8". Errors wrap errNumber, or ErrOverflow where the
// number is well written but out of range.
func ParseDyadic(text string) (Dyadic, error) {
	n, rest, err := scanDyadic(text)
	if err != nil {
		return Dyadic{}, err
	}
	if rest != "" {
		return Dyadic{}, fmt.Errorf("%w: %q", errNumber, text)
	}
	return n, nil
}

// scanDyadic reads a number at the start of text and returns what follows it.
func scanDyadic(text string) (d Dyadic, rest string, err error) {
	digits := func(s string) int {
		n := 0
		for n < len(s) && s[n] >= '0' && s[n] <= '9' {
			n++
		}
		return n
	}
	body := strings.TrimPrefix(text, "-")
	n := digits(body)
	if n == 0 {
		return Dyadic{}, "", fmt.Errorf("%w: %q", errNumber, text)
	}
	m := n
	if n+1 < len(body) && body[n] == '/' {
		m = n + 1 + digits(body[n+1:])
	}
	sign := len(text) - len(body)
	whole, rest := text[:sign+m], text[sign+m:]
	num, err := strconv.ParseInt(text[:sign+n], 10, 64)
	if err != nil {
		return Dyadic{}, "", fmt.Errorf("%w: %q", ErrOverflow, whole)
	}
	exp := 0
	if m > n {
		den, err := strconv.ParseUint(body[n+1:m], 10, 64)
		switch {
		case m == n+1 || err == nil && bits.OnesCount64(den) != 1:
			return Dyadic{}, "", fmt.Errorf("%w: %q: the denominator is no power of two", errNumber, whole)
		case err != nil:
			return Dyadic{}, "", fmt.Errorf("%w: %q", ErrOverflow, whole)
		}
		exp = bits.TrailingZeros64(den)
	}
	d, err = NewDyadic(num, exp)
	return d, rest, err
}

// At returns the value of the wall at temperature t; below -1, that at -1. It panics where the
// value is out of range (see Dyadic).
func (w Wall) At(t Dyadic) Dyadic {
	if t.Cmp(w[0].Temperature) <= 0 {
		return w[0].Value
	}
	for i := 1; i < len(w); i++ {
		if a, b := w[i-1], w[i]; t.Less(b.Temperature) {
			d := t.Sub(a.Temperature)
			switch b.Value.Cmp(a.Value) {
			case 1:
				return a.Value.Add(d)
			case -1:
				return a.Value.Sub(d)
			}
			return a.Value
		}
	}
	return w[len(w)-1].Value
}

// Mean returns the value of the mast.
func (t Thermograph) Mean() Dyadic { return t.Left[len(t.Left)-1].Value }

// Temperature returns the temperature of the foot of the mast.
func (t Thermograph) Temperature() Dyadic {
	l, r := t.Left[len(t.Left)-1].Temperature, t.Right[len(t.Right)-1].Temperature
	if l.Less(r) {
		return r
	}
	return l
}

// Sub returns f - g. Errors wrap ErrLimit or ErrOverflow.
func (a *Arena) Sub(f, g Form) (difference Form, err error) {
	defer catch(&err)
	return a.add(f, a.neg(g)), nil
}

// Number returns the number n. Errors wrap ErrLimit or ErrOverflow.
func (a *Arena) Number(n Dyadic) (f Form, err error) {
	defer catch(&err)
	return a.named(name{ok: true, number: n}), nil
}

// ValueOf returns the Value of the game whose options have these Values, in any order, repeated or
// not. The error wraps ErrOverflow where the walls do not fit in 60 bits at one denominator of at
// most 2^55.
func ValueOf(left, right []Value) (Value, error) {
	var c Combiner
	return c.Combine(left, right)
}

// String describes the value for people: the number that it is, or its kind, its tail where there
// is one, and its thermograph.
func (v Value) String() string {
	switch v.Kind() {
	case Number:
		return v.Mean().String()
	case Hot:
		return "hot " + v.Thermograph().String()
	}
	return v.Kind().String() + " " + v.Tail().String() + " " + v.Thermograph().String()
}

// Winner returns who wins when mover begins, by the rules of section II.D, or Nobody where
// the bounds do not tell. A mover of Nobody asks for the side that wins whoever begins.
//
// Left wins if the lower bound is above 0; or is 0 and tightened; or is 0, not relaxed, and
// it is Right's move. Right wins in the mirrored cases.
func (b Bounds) Winner(mover Side) Side {
	if wins(b.Lower.N.Sign(), b.Lower.Strength, mover == Right) {
		return Left
	}
	if wins(-b.Upper.N.Sign(), b.Upper.Strength, mover == Left) {
		return Right
	}
	return Nobody
}

// wins is the rule for the side whose bound has the given sign, seen from that side.
func wins(sign int, s Strength, second bool) bool {
	return sign > 0 || sign == 0 && (s == Tightened || s == Exact && second)
}
