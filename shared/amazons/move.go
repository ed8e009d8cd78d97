package amazons

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"strings"
)

// ErrMove is wrapped by every error about a move's text or legality.
var ErrMove = errors.New("not a move")

// String returns the canonical text, such as "B1-B4xD4".
func (m Move) String() string { return m.From.String() + "-" + m.To.String() + "x" + m.Arrow.String() }

// Compare orders moves as [State.Moves] does: by queen, target and arrow square.
func (m Move) Compare(o Move) int {
	return cmp.Or(cmp.Compare(m.From, o.From), cmp.Compare(m.To, o.To), cmp.Compare(m.Arrow, o.Arrow))
}

// ParseMove reads a move on board b: three squares, in either case, with any of the
// separators - – > x × * / , : ( ) and spaces between them, or none. It does not ask whether the move is
// legal; see [Position.ParseMove]. Errors wrap ErrMove.
func ParseMove(b Board, text string) (Move, error) {
	var squares []Square
	rest := strings.ToUpper(strings.TrimSpace(text))
	for {
		rest = strings.TrimLeft(rest, "-–>X×*/,:() \t")
		if rest == "" {
			break
		}
		if len(rest) < 2 || rest[0] < 'A' || rest[0] > 'Z' || rest[1] < '0' || rest[1] > '9' || len(squares) == 3 {
			return Move{}, fmt.Errorf("%w: %s: write three squares, for example B1-B4xD4", ErrMove, quote(text))
		}
		file, rank := int(rest[0])-'A', int(rest[1])-'1'
		if file >= int(b.Width) || rank < 0 || rank >= int(b.Height) {
			return Move{}, fmt.Errorf("%w: %s: square %s is not on a %v board", ErrMove, quote(text), rest[:2], b)
		}
		squares = append(squares, b.Square(file, rank))
		rest = rest[2:]
	}
	if len(squares) != 3 {
		return Move{}, fmt.Errorf("%w: %s: write three squares, for example B1-B4xD4", ErrMove, quote(text))
	}
	return Move{squares[0], squares[1], squares[2]}, nil
}

// ParseMove reads a move and checks that the side to move may play it. Errors wrap ErrMove and say
// what is wrong.
func (p Position) ParseMove(text string) (Move, error) {
	m, err := ParseMove(p.Board, text)
	if err != nil {
		return Move{}, err
	}
	s := p.State()
	switch {
	case s.Own&m.From.Bit() == 0:
		return Move{}, fmt.Errorf("%w: %v: %v has no queen on %v", ErrMove, m, p.ToMove, m.From)
	case QueenTargets(m.From, s.Empty)&m.To.Bit() == 0:
		return Move{}, fmt.Errorf("%w: %v: the queen on %v cannot go to %v in %v", ErrMove, m, m.From, m.To, p)
	case QueenTargets(m.To, s.Empty|m.From.Bit())&m.Arrow.Bit() == 0:
		return Move{}, fmt.Errorf("%w: %v: an arrow from %v cannot reach %v in %v", ErrMove, m, m.To, m.Arrow, p)
	}
	return m, nil
}

// ParseMoves reads moves, each once. Errors are those of ParseMove.
func (p Position) ParseMoves(texts []string) ([]Move, error) {
	var moves []Move
	for _, text := range texts {
		m, err := p.ParseMove(text)
		if err != nil {
			return nil, err
		}
		if !slices.Contains(moves, m) {
			moves = append(moves, m)
		}
	}
	return moves, nil
}
