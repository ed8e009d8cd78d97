// Package sgf writes games of Amazons in the Smart Game Format, FF[4] with GM[18], as its user
// guide defines it (https://www.red-bean.com/sgf/amazons.html): so that other programs show a
// proof, and people step through it.
//
// A point is two letters, the file from the left and the row from the top: on a board of six ranks
// A1 is "af" and A6 "aa". A move is three points, where the queen leaves, where she goes, where the
// arrow goes. The first node sets the position up (AW, AB, AA for burnt squares, PL) even where it
// is a starting position, because the format's own default is the board of ten by ten.
package sgf

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"strings"

	"amazonsfarm/shared/amazons"
	"amazonsfarm/shared/eval"
)

// ErrIllegal is wrapped by errors of [Write] about a move that the side to move cannot play.
var ErrIllegal = errors.New("not a legal move")

// Node is a position of a game and how it goes on. The first child is the main line.
type Node struct {
	Move     amazons.Move // that led here; of a game's first node it is not used
	Verdict  eval.Verdict // for the side to move after it
	Comment  string
	Children []*Node
}

// Game is a tree of games that begin with the same position.
type Game struct {
	Start amazons.Position
	Name  string // GN; empty: none
	First Node
}

// Point returns a square as the format writes it.
func Point(b amazons.Board, s amazons.Square) string {
	return string([]byte{'a' + byte(s.File()), 'a' + b.Height - 1 - byte(s.Rank())})
}

// Write writes the game as one SGF collection. Errors wrap ErrIllegal or are those of w.
func Write(w io.Writer, g Game) error {
	out := &writer{Writer: bufio.NewWriter(w), board: g.Start.Board}
	out.WriteString("(;FF[4]GM[18]CA[UTF-8]AP[amazonsfarm]")
	if b := g.Start.Board; b.Width == b.Height {
		fmt.Fprintf(out, "SZ[%d]", b.Width)
	} else {
		fmt.Fprintf(out, "SZ[%d:%d]", b.Width, b.Height)
	}
	if g.Name != "" {
		fmt.Fprintf(out, "GN[%s]", escape(g.Name))
	}
	out.WriteByte('\n')
	out.points("AW", g.Start.White)
	out.points("AB", g.Start.Black)
	out.points("AA", g.Start.Burnt)
	fmt.Fprintf(out, "PL[%c]", letter(g.Start.ToMove))
	out.about(&g.First, g.Start.ToMove)
	if err := out.children(g.Start, &g.First); err != nil {
		return err
	}
	out.WriteString(")\n")
	return out.Flush()
}

// writer keeps the first error of what it writes to until Flush.
type writer struct {
	*bufio.Writer
	board amazons.Board
}

func (w *writer) points(property string, x amazons.Set) {
	if x == 0 {
		return
	}
	w.WriteString(property)
	for s := range amazons.Squares(x) {
		fmt.Fprintf(w, "[%s]", Point(w.board, s))
	}
}

// about writes what is known of a position with the given side to move.
func (w *writer) about(n *Node, toMove amazons.Colour) {
	switch n.Verdict {
	case eval.Won:
		fmt.Fprintf(w, "G%c[1]", letter(toMove))
	case eval.Lost:
		fmt.Fprintf(w, "G%c[1]", letter(toMove.Other()))
	}
	if n.Comment != "" {
		fmt.Fprintf(w, "C[%s]", escape(n.Comment))
	}
}

// children writes what follows n, whose position is p. No game has more moves than a board has
// squares, so the depth is bounded.
func (w *writer) children(p amazons.Position, n *Node) error {
	for _, c := range n.Children {
		if !p.State().Legal(c.Move) {
			return fmt.Errorf("write game: %w: %v in %v", ErrIllegal, c.Move, p)
		}
		if len(n.Children) > 1 {
			w.WriteString("\n(")
		}
		from, to, arrow := Point(w.board, c.Move.From), Point(w.board, c.Move.To), Point(w.board, c.Move.Arrow)
		fmt.Fprintf(w, ";%c[%s%s%s]", letter(p.ToMove), from, to, arrow)
		w.about(c, p.ToMove.Other())
		if err := w.children(p.After(c.Move), c); err != nil {
			return err
		}
		if len(n.Children) > 1 {
			w.WriteByte(')')
		}
	}
	return nil
}

// letter returns what the format calls a colour.
func letter(c amazons.Colour) byte { return [...]byte{amazons.White: 'W', amazons.Black: 'B'}[c] }

// escape writes a text so that it can stand between brackets.
func escape(text string) string { return strings.NewReplacer(`\`, `\\`, `]`, `\]`).Replace(text) }
