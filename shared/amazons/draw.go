package amazons

import (
	"fmt"
	"io"
	"strconv"
	"strings"

	"amazonsfarm/shared/svg"
)

// Text returns a picture of the position for a terminal: the ranks from the top
// with their numbers at the left, the files below, and a line that names the
// side to move. Every line ends with a newline.
func (p Position) Text() string { return p.text(0) }

// TextMarked is [Position.Text] with the squares of the move that led to the
// position in brackets: the square the queen left, hers now, and the burnt one.
func (p Position) TextMarked(last Move) string {
	return p.text(last.From.Bit() | last.To.Bit() | last.Arrow.Bit())
}

// text writes the picture. A bracket stands between two squares, so where both sides of it are
// marked one bar serves both.
func (p Position) text(marked Set) string {
	var sb strings.Builder
	width := int(p.Board.Width)
	for r := int(p.Board.Height) - 1; r >= 0; r-- {
		fmt.Fprintf(&sb, "%d ", r+1)
		for f := 0; f <= width; f++ {
			left := f > 0 && marked&p.Board.Square(f-1, r).Bit() != 0
			right := f < width && marked&p.Board.Square(f, r).Bit() != 0
			switch {
			case left && right:
				sb.WriteByte('|')
			case left:
				sb.WriteByte(']')
			case right:
				sb.WriteByte('[')
			case f < width:
				sb.WriteByte(' ')
			}
			if f < width {
				sb.WriteByte(p.Letter(p.Board.Square(f, r)))
			}
		}
		sb.WriteByte('\n')
	}
	sb.WriteString("  ")
	for f := range width {
		sb.WriteByte(' ')
		sb.WriteByte('A' + byte(f))
	}
	fmt.Fprintf(&sb, "\n%s to move\n", p.ToMove.title())
	return sb.String()
}

// title returns the colour as the first word of a sentence.
func (c Colour) title() string {
	name := c.String()
	return strings.ToUpper(name[:1]) + name[1:]
}

// Measures are in pixels.
const (
	svgSquare  = 48
	svgMargin  = 24 // left of the board and below it, for the coordinates
	svgFrame   = 6  // on the other sides
	svgCaption = 22 // below the coordinates, for the side to move

	svgLight = "#f1e3c6"
	svgDark  = "#d9bb8b"
	svgEdge  = "#5a4630"
	svgInk   = "#40362b"
	svgBurnt = "#4a4745"
	svgEmber = "#8b8580"
	svgMark  = "#f5c518"
	svgWay   = "#1d5fa8"
	svgShot  = "#c2321f"
	svgIvory = "#fffdf7"
	svgEbony = "#1c1a19"
	svgCrown = "M-11.5 9.5L-16 -7L-8.4 1.2L-8.6 -11.5L-2.6 0L0 -14L2.6 0" +
		"L8.6 -11.5L8.4 1.2L16 -7L11.5 9.5Q0 6 -11.5 9.5Z"
	svgBase  = "M-11.5 12.5Q0 9 11.5 12.5L11 17Q0 14.5 -11 17Z"
	svgBall  = "a2.2 2.2 0 1 0 4.4 0a2.2 2.2 0 1 0 -4.4 0"
	svgBalls = "M-18.2 -8.6" + svgBall + "M-11 -13.2" + svgBall + "M-2.2 -15.8" + svgBall + "M6.6 -13.2" + svgBall +
		"M13.8 -8.6" + svgBall
	svgFont = "Helvetica, Arial, sans-serif"
)

// SVG returns the position as a self-contained SVG picture. It uses no ids,
// classes, fonts to load or scripts, so many can stand in one HTML page.
// Last is the move that led to the position, to be marked on the board: the
// queen's way by a solid line, the arrow's by a dashed one. Nil marks nothing.
// Squares outside the board are not marked.
func (p Position) SVG(last *Move) string {
	var sb strings.Builder
	_ = p.WriteSVG(&sb, last) // a strings.Builder takes everything
	return sb.String()
}

// WriteSVG writes the picture that [Position.SVG] returns. Errors are those of w.
func (p Position) WriteSVG(w io.Writer, last *Move) error {
	d := drawing{Position: p, left: svgMargin, top: svgFrame,
		width: svgSquare * int(p.Board.Width), height: svgSquare * int(p.Board.Height)}
	width, height := d.left+d.width+svgFrame, d.top+d.height+svgMargin+svgCaption
	title := fmt.Sprintf("Amazons, %v board, %v to move", p.Board, p.ToMove)
	d.Writer = svg.Begin(w, width, height, "width", width, "height", height, "role", "img", "aria-label", title)
	d.Label("title", title)
	d.Label("desc", p.describe(last))
	d.Element("rect", "width", width, "height", height, "fill", "#ffffff")
	if last != nil && !(p.Board.Contains(last.From) && p.Board.Contains(last.To) && p.Board.Contains(last.Arrow)) {
		last = nil
	}
	d.squares(last)
	if last != nil {
		d.move(*last)
	}
	d.queens()
	d.margin()
	return d.End()
}

// drawing is a picture while it is written.
type drawing struct {
	*svg.Writer
	Position
	left, top, width, height int // of the board
}

// x and y return the centre of a square.
func (d *drawing) x(s Square) int { return d.left + svgSquare*s.File() + svgSquare/2 }
func (d *drawing) y(s Square) int { return d.top + d.height - svgSquare*s.Rank() - svgSquare/2 }

// path returns the outline of the squares of a set, made smaller by an inset on each side.
func (d *drawing) path(set Set, inset int) string {
	var path strings.Builder
	side := svgSquare - 2*inset
	for s := range Squares(set) {
		fmt.Fprintf(&path, "M%d %dh%dv%dh-%dz", d.x(s)-svgSquare/2+inset, d.y(s)-svgSquare/2+inset, side, side, side)
	}
	return path.String()
}

// frame draws the outline of a rectangle.
func (d *drawing) frame(x, y, width, height int, colour string, thick int) {
	d.Element("rect", "x", x, "y", y, "width", width, "height", height, "fill", "none", "stroke", colour,
		"stroke-width", thick)
}

// squares draws the board: one light field, the dark squares as one path, the squares of the last
// move, the burnt squares, and the edge.
func (d *drawing) squares(last *Move) {
	mask := d.Board.Mask()
	d.Element("rect", "x", d.left, "y", d.top, "width", d.width, "height", d.height, "fill", svgLight)
	const darkSquares Set = 0xaa55aa55aa55aa55 // A1 is dark
	if dark := mask & darkSquares; dark != 0 {
		d.Element("path", "fill", svgDark, "d", d.path(dark, 0))
	}
	if last != nil {
		d.Element("path", "fill", svgMark, "fill-opacity", "0.55",
			"d", d.path((last.From.Bit()|last.To.Bit())&^d.Burnt, 0))
	}
	if burnt := d.Burnt & mask; burnt != 0 {
		d.Element("path", "fill", svgBurnt, "d", d.path(burnt, 1))
		var crosses strings.Builder
		for s := range Squares(burnt) {
			fmt.Fprintf(&crosses, "M%d %dl18 18m0 -18l-18 18", d.x(s)-9, d.y(s)-9)
		}
		d.Element("path", "fill", "none", "stroke", svgEmber, "stroke-width", 3, "stroke-linecap", "round",
			"d", crosses.String())
	}
	d.frame(d.left-1, d.top-1, d.width+2, d.height+2, svgEdge, 2)
}

// move draws the way of the queen and of the arrow, below the queens. The second line is thinner, so
// that an arrow shot back along the queen's way shows on top of it.
func (d *drawing) move(m Move) {
	way := func(from, to Square) string {
		return fmt.Sprintf("M%d %dL%d %d", d.x(from), d.y(from), d.x(to), d.y(to))
	}
	d.Open("g", "fill", "none", "stroke-linecap", "round")
	d.Element("path", "stroke", svgWay, "stroke-width", 6, "stroke-opacity", "0.75", "d", way(m.From, m.To))
	d.Element("path", "stroke", svgShot, "stroke-width", "3.5", "stroke-dasharray", "1 8", "d", way(m.To, m.Arrow))
	d.frame(d.x(m.Arrow)-svgSquare/2+3, d.y(m.Arrow)-svgSquare/2+3, svgSquare-6, svgSquare-6, svgShot, 3)
	d.Close()
}

// queens draws the queens of both sides.
func (d *drawing) queens() {
	for _, side := range []struct {
		queens Set
		fill   string
	}{{d.White, svgIvory}, {d.Black, svgEbony}} {
		queens := side.queens & d.Board.Mask()
		if queens == 0 {
			continue
		}
		d.Open("g", "fill", side.fill, "stroke", svgEbony, "stroke-width", "1.8", "stroke-linejoin", "round")
		for s := range Squares(queens) {
			d.Element("path", "transform", fmt.Sprintf("translate(%d %d)", d.x(s), d.y(s)),
				"d", svgCrown+svgBase+svgBalls)
		}
		d.Close()
	}
}

// margin draws the coordinates, and a disc in the colour of the side to move with its name.
func (d *drawing) margin() {
	d.Open("g", "font-family", svgFont, "font-size", 14, "fill", svgInk, "text-anchor", "middle")
	for r := range int(d.Board.Height) {
		d.Label("text", strconv.Itoa(r+1), "x", d.left/2, "y", d.y(d.Board.Square(0, r))+5)
	}
	for f := range int(d.Board.Width) {
		d.Label("text", string(rune('A'+f)), "x", d.x(d.Board.Square(f, 0)), "y", d.top+d.height+18)
	}
	d.Close()
	fill := svgIvory
	if d.ToMove == Black {
		fill = svgEbony
	}
	y := d.top + d.height + svgMargin + 8
	caption := d.ToMove.title()
	if d.Board.Width >= 3 { // narrower boards have no room for it
		caption += " to move"
	}
	d.Element("circle", "cx", d.left+7, "cy", y, "r", 5, "fill", fill, "stroke", svgEbony, "stroke-width", "1.5")
	d.Label("text", caption, "x", d.left+18, "y", y+5, "font-family", svgFont, "font-size", 13, "fill", svgInk)
}

// describe says in words what the picture shows.
func (p Position) describe(last *Move) string {
	var sb strings.Builder
	list := func(what string, x Set) {
		if x &= p.Board.Mask(); x != 0 {
			fmt.Fprintf(&sb, "%s %s. ", what, strings.Join(Names(x), ", "))
		}
	}
	list("White queens:", p.White)
	list("Black queens:", p.Black)
	list("Burnt:", p.Burnt)
	if last != nil {
		fmt.Fprintf(&sb, "Last move: %v. ", *last)
	}
	fmt.Fprintf(&sb, "%s to move. Text: %v", p.ToMove.title(), p)
	return sb.String()
}
