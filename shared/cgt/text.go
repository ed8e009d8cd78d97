package cgt

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"strings"
)

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
	left, right := side(a.nodes[f].options[Left]), side(a.nodes[f].options[Right])
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
