package cgt

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
)

// ErrForm is wrapped by every error about the text of a game.
var ErrForm = errors.New("not a game")

// Text returns f in the notation that Parse reads, the same text in every Arena: numbers
// plus ups and a nimber by name, such as "-3/4", "^2*" or "1v*3", other games
// by their options, such as "{2, {3|1*}|0}". It fails with an error that wraps ErrLimit where the
// text would be longer than the limit.
func (a *Arena) Text(f Form) (s string, err error) {
	defer catch(&err)
	return a.text(f, map[Form]string{}), nil
}

// text is Text; it keeps what it has written in known.
func (a *Arena) text(f Form, known map[Form]string) string {
	if n := a.nodes[f].name; n.ok {
		return n.String()
	}
	if s, ok := known[f]; ok {
		return s
	}
	size := len("{|}")
	side := func(fs []Form) []string {
		var all []string
		for _, f := range fs {
			s := a.text(f, known)
			size += len(s) + len(", ")
			if size > a.limits.Text {
				panic(limit(fmt.Sprintf("a text of more than %d bytes", a.limits.Text)))
			}
			all = append(all, s)
		}
		slices.SortFunc(all, func(a, b string) int {
			return cmp.Or(cmp.Compare(len(a), len(b)), cmp.Compare(a, b))
		})
		return all
	}
	left, right := side(a.nodes[f].left), side(a.nodes[f].right)
	s := "{" + strings.Join(left, ", ") + "|" + strings.Join(right, ", ") + "}"
	known[f] = s
	return s
}

// String returns the name, such as "0", "1/2*", "^2" or "-1v*3".
func (n name) String() string {
	var sb strings.Builder
	if n.number != (Dyadic{}) || n.isNumber() {
		sb.WriteString(n.number.String())
	}
	count := func(letter string, k int) {
		if k > 0 {
			sb.WriteString(letter)
		}
		if k > 1 {
			sb.WriteString(strconv.Itoa(k))
		}
	}
	count("^", n.ups)
	count("v", -n.ups)
	count("*", n.nimber)
	return sb.String()
}

// Parse reads a game and returns its canonical form. A game is a number, then ups or downs ("^", "^2",
// "v", "v3"), then a nimber ("*", "*2"), any two of which may be absent, together
// their sum; or options in braces, those of a side with commas between them, the
// sides with a bar, such as "{0, ^|{1|-1/2}}". Spaces may stand between these parts. Errors wrap
// ErrForm, ErrNumber, ErrOverflow or ErrLimit.
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
	return fmt.Errorf("%w: at byte %d of %.40q: expected %s", ErrForm, p.pos, p.text, want)
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
