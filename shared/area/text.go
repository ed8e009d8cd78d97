package area

import (
	"errors"
	"fmt"
	"strings"
)

// ErrText is wrapped by every error about the text of an area.
var ErrText = errors.New("not an area")

// Parse reads rows from the top joined by "/": W and B for queens, x for burnt squares, . for empty
// ones; a digit stands for that many empty squares. Rows that are shorter than
// others are filled up with burnt squares. Errors wrap ErrText.
func Parse(text string) (black, white, empty Set, err error) {
	bad := func(format string, args ...any) (Set, Set, Set, error) {
		return 0, 0, 0, fmt.Errorf("%w: %q: %s", ErrText, text, fmt.Sprintf(format, args...))
	}
	rows := strings.Split(strings.TrimSpace(text), "/")
	if len(rows) > 8 {
		return bad("%d rows; the most are 8", len(rows))
	}
	for i, row := range rows {
		at := 0
		base := 8 * (len(rows) - 1 - i)
		for _, c := range row {
			n := 1
			if c >= '1' && c <= '8' {
				n, c = int(c-'0'), '.'
			}
			if at+n > 8 {
				return bad("row %q is longer than 8 squares", row)
			}
			s := (Set(1)<<n - 1) << at << base
			switch c {
			case 'B', 'b':
				black |= s
			case 'W', 'w':
				white |= s
			case '.':
				empty |= s
			case 'x', 'X':
			default:
				return bad("%q is none of W B x . and 1 to 8", c)
			}
			at += n
		}
	}
	if black|white|empty == 0 {
		return bad("no square that is not burnt")
	}
	return black, white, empty, nil
}

// Text returns the text that Parse reads of the smallest rectangle that holds the squares, or "x" where
// there are none.
func Text(black, white, empty Set) string {
	all := black | white | empty
	if all == 0 {
		return "x"
	}
	f := all | all>>32
	f |= f >> 16
	f |= f >> 8
	f &= 255
	var sb strings.Builder
	for r := 7; r >= 0; r-- {
		if all>>(8*r) == 0 {
			continue
		}
		for c := range 8 {
			s := Set(1) << (8*r + c)
			switch {
			case f>>c == 0 || f&(1<<(c+1)-1) == 0:
			case black&s != 0:
				sb.WriteByte('B')
			case white&s != 0:
				sb.WriteByte('W')
			case empty&s != 0:
				sb.WriteByte('.')
			default:
				sb.WriteByte('x')
			}
		}
		if r == 0 || all<<(64-8*r) == 0 {
			break
		}
		sb.WriteByte('/')
	}
	return sb.String()
}
