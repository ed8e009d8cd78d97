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
	rows := strings.Split(points.Replace(strings.TrimSpace(text)), "/")
	for i, row := range rows {
		rows[i] = row + strings.Repeat("x", max(0, amazons.MaxSide-len(row)))
	}
	// The rows are as wide as the grid, so they are the rows of a position.
	p, err := amazons.ParsePosition(strings.Join(rows, "/"))
	switch {
	case len(strings.Fields(text)) > 1:
		err = errors.New("an area is one word: it has no side to move, and + joins several")
	case strings.ContainsFunc(text, func(c rune) bool { return !strings.ContainsRune("WwBbXx./12345678 \t\n", c) }):
		err = errors.New("squares are W, B, x, . and 1 to 8")
	case len(rows[0]) > amazons.MaxSide:
		err = fmt.Errorf("its first row is longer than %d squares", amazons.MaxSide)
	case err == nil && p.Burnt == p.Board.Mask():
		err = errors.New("it has no square that is not burnt; on each side of a + stands an area")
	}
	if err != nil {
		return 0, 0, 0, fmt.Errorf("%w: %q: %w", ErrText, text, err)
	}
	return p.Black, p.White, p.Board.Mask() &^ (p.Black | p.White | p.Burnt), nil
}

// points replaces a digit by as many empty squares.
var points = strings.NewReplacer("1", ".", "2", "..", "3", "...", "4", "....", "5", ".....", "6", "......",
	"7", ".......", "8", "........")

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
