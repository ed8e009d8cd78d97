package area

import (
	"errors"
	"fmt"
	"math/bits"
	"strings"

	"amazonsfarm/shared/amazons"
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
	shift, width, height := Frame(all)
	board := amazons.Board{Width: uint8(width), Height: uint8(height)}
	p := amazons.Position{Board: board, White: white >> shift, Black: black >> shift,
		Burnt: board.Mask() &^ (all >> shift)}
	return strings.TrimSuffix(p.String(), " w")
}

// Frame returns the width and the height of a set of squares, not empty, and by how much the set is
// shifted down to come to the lower left corner.
func Frame(x Set) (shift, width, height int) {
	files := x | x>>32
	files |= files >> 16
	files |= files >> 8
	file, row := bits.TrailingZeros8(uint8(files)), bits.TrailingZeros64(x)&^7
	return row + file, bits.Len8(uint8(files)) - file, (bits.Len64(x) - row + 7) >> 3
}
