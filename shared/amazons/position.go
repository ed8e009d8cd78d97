package amazons

import (
	"errors"
	"fmt"
	"math/bits"
	"regexp"
	"strconv"
	"strings"
	"unicode/utf8"
)

// ErrPosition is wrapped by every error about a position's text or content.
var ErrPosition = errors.New("not a position")

// Colour is the colour of a side. White moves first in a starting position.
type Colour uint8

// The two colours.
const (
	White Colour = 0
	Black Colour = 1
)

// Other returns the other colour.
func (c Colour) Other() Colour { return c ^ 1 }

// String returns "white" or "black".
func (c Colour) String() string { return [...]string{White: "white", Black: "black"}[c&1] }

// Position is a board with coloured queens, burnt squares and a side to move.
type Position struct {
	Board               Board
	White, Black, Burnt Set
	ToMove              Colour
}

// Start returns the starting position of a board: two queens a side on the edge next to
// the corners at the bottom for White (files B and the last but one on rank 1, files A and the last on
// rank 2), mirrored at the top for Black. Boards with fewer than 4 files or ranks have
// none (the queens would share squares); the error wraps ErrBoard.
func Start(b Board) (Position, error) {
	if !b.Valid() || b.Width < 4 || b.Height < 4 {
		return Position{}, fmt.Errorf("%w with a starting position: %v: at least 4 files and 4 ranks are needed; "+
			"give a position instead", ErrBoard, b)
	}
	w := int(b.Width)
	white := b.Square(1, 0).Bit() | b.Square(w-2, 0).Bit() | b.Square(0, 1).Bit() | b.Square(w-1, 1).Bit()
	return Position{Board: b, White: white, Black: flipRanks(white, b.Height)}, nil
}

// State returns the position from the view of the side to move.
func (p Position) State() State {
	s := State{Own: p.White, Opp: p.Black, Empty: p.Board.Mask() &^ (p.White | p.Black | p.Burnt)}
	if p.ToMove == Black {
		s.Own, s.Opp = s.Opp, s.Own
	}
	return s
}

// PositionOf puts the colours back: s with the given side to move.
func PositionOf(b Board, s State, toMove Colour) Position {
	p := Position{Board: b, White: s.Own, Black: s.Opp, Burnt: s.Burnt(b), ToMove: toMove}
	if toMove == Black {
		p.White, p.Black = p.Black, p.White
	}
	return p
}

// After returns the position after the move. m must be legal.
func (p Position) After(m Move) Position {
	return PositionOf(p.Board, p.State().After(m), p.ToMove.Other())
}

// Arrows returns the number of burnt squares.
func (p Position) Arrows() int { return bits.OnesCount64(p.Burnt) }

// String returns the canonical text: ranks from the top joined by "/", then "w" or "b".
func (p Position) String() string {
	var sb strings.Builder
	for r := int(p.Board.Height) - 1; r >= 0; r-- {
		for f := range int(p.Board.Width) {
			sb.WriteByte(p.Letter(p.Board.Square(f, r)))
		}
		if r > 0 {
			sb.WriteByte('/')
		}
	}
	return sb.String() + " " + p.ToMove.String()[:1]
}

// Letter returns what String writes for a square: W, B, x or a point.
func (p Position) Letter(s Square) byte {
	switch bit := s.Bit(); {
	case p.White&bit != 0:
		return 'W'
	case p.Black&bit != 0:
		return 'B'
	case p.Burnt&bit != 0:
		return 'x'
	default:
		return '.'
	}
}

// boardLike matches what somebody writes who means a board: 5, 5x, x5, 5*6, 5x5x5. As rows of squares it would
// be one row without a queen.
var boardLike = regexp.MustCompile(`^([0-9]+([xX×*][0-9]*)*|[xX×*][0-9]+)$`)

// rowLike matches one row with a queen. Such a text is meant as a position.
var rowLike = regexp.MustCompile(`^[wWbBxX.*#_1-9-]*[wWbB][wWbBxX.*#_1-9-]*$`)

// pathLike matches the path of a file, such as /no/such.proof or old/one.db: an ending of letters, not all of squares.
var pathLike = regexp.MustCompile(`(?i)^/|\.[a-z]*([ac-vyz][a-z]|[a-z][ac-vyz])[a-z]*$`)

// ParsePosition reads a position, or the name of a board such as 5x6, which stands for its
// starting position. Rows come from the top, joined by "/"; W and B are queens, x is a
// burnt square, "." an empty one, and a digit n stands for n empty ones. Letter case
// does not matter, "_" or "-" also mean empty, "*" and "#" burnt. After the rows or the name
// comes the side to move, "w" or "b" (also white, black); without it White moves. Numbers with or
// without an x are always meant as a board, never as one row. Errors wrap ErrPosition or ErrBoard.
func ParsePosition(text string) (p Position, err error) {
	fields := strings.Fields(text)
	if len(fields) == 0 {
		return p, fmt.Errorf("%w: the text is empty; write a board such as 5x6 or rows such as .B.B./...../.W.W. w",
			ErrPosition)
	}
	side := White
	switch strings.ToLower(strings.Join(fields[1:], " ")) {
	case "", "w", "white":
	case "b", "black":
		side = Black
	default:
		err = fmt.Errorf("%w: %s: after the rows comes the side to move, w or b, and nothing else", ErrPosition,
			quote(text))
	}
	rows := strings.Split(fields[0], "/")
	switch {
	case err != nil:
	case boardLike.MatchString(fields[0]):
		var b Board
		if b, err = ParseBoard(fields[0]); err == nil {
			p, err = Start(b)
		}
	default:
		p, err = parseRows(rows)
	}
	switch {
	case err == nil:
		p.ToMove = side
	// Another text without a slash is seldom meant as one row.
	case errors.Is(err, ErrPosition) && (len(rows) == 1 && !rowLike.MatchString(fields[0]) ||
		pathLike.MatchString(fields[0])):
		err = fmt.Errorf("%w or a board: %s: write WIDTHxHEIGHT, such as 5x6, or rows such as .B.B./...../.W.W. w",
			ErrPosition, quote(strings.TrimSpace(text)))
	}
	return p, err
}

// parseRows reads rows from the top. The width of the first row is the width of the board, and each error names the
// row by its number from the top, as it was written.
func parseRows(rows []string) (p Position, err error) {
	if len(rows) > MaxSide {
		return Position{}, fmt.Errorf("%w: %d rows; a board has at most %d", ErrPosition, len(rows), MaxSide)
	}
	for i, row := range rows {
		rank, file := len(rows)-1-i, 0
		for j := 0; j < len(row); j++ {
			c, n := row[j], 1
			var set *Set
			switch c {
			case 'W', 'w':
				set = &p.White
			case 'B', 'b':
				set = &p.Black
			case 'x', 'X', '*', '#':
				set = &p.Burnt
			case '.', '_', '-':
			case '1', '2', '3', '4', '5', '6', '7', '8':
				n = int(c - '0')
			default:
				r, _ := utf8.DecodeRuneInString(row[j:])
				return Position{}, fmt.Errorf("%w: row %d (%s) has %q; squares are W, B, x, . or 1 to 8 for empty "+
					"squares", ErrPosition, i+1, quote(row), r)
			}
			if file+n > MaxSide {
				return Position{}, fmt.Errorf("%w: row %d (%s) is longer than %d squares", ErrPosition, i+
					1, quote(row), MaxSide)
			}
			if set != nil {
				*set |= Square(8*rank + file).Bit()
			}
			file += n
		}
		if i == 0 {
			p.Board = Board{uint8(file), uint8(len(rows))}
		}
		if file == 0 {
			return Position{}, fmt.Errorf("%w: row %d of %d is empty", ErrPosition, i+1, len(rows))
		}
		if file != int(p.Board.Width) {
			return Position{}, fmt.Errorf("%w: row %d (%s) has %s where the first row has %d", ErrPosition, i+1,
				quote(row), squares(file), p.Board.Width)
		}
	}
	return p, nil
}

// CheckQueens returns nil if each side has a queen, and an error that wraps ErrPosition otherwise: a
// question about such a position is a slip more often than it is meant.
func (p Position) CheckQueens() error {
	for _, side := range []struct {
		name   string
		queens Set
	}{{"white", p.White}, {"black", p.Black}} {
		if side.queens == 0 {
			return fmt.Errorf("%w of both sides: %s has no %s queen", ErrPosition, quote(p.String()), side.name)
		}
	}
	return nil
}

// quote quotes text for an error message, and cuts it where it is long.
func quote(text string) string {
	const most = 96
	if len(text) > most {
		return strconv.Quote(text[:most]) + "..."
	}
	return strconv.Quote(text)
}

// squares counts squares in words.
func squares(n int) string {
	if n == 1 {
		return "1 square"
	}
	return fmt.Sprintf("%d squares", n)
}
