package amazons

import (
	"bufio"
	"fmt"
	"io"
	"strings"
	"unicode/utf8"
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
				sb.WriteByte(p.letter(p.Board.Square(f, r)))
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
	if c == White {
		return "White"
	}
	return "Black"
}

// SVGOptions says how a position is drawn. The zero value is a good picture.
type SVGOptions struct {
	// Square is the side of a square in pixels, 8 to 512; 0 means 48, and
	// other values are taken to the nearest end of the range.
	Square int
	// Last is the move that led to the position, to be marked on the board: the
	// queen's way by a solid line, the arrow's by a dashed one. Nil marks nothing.
	// Squares outside the board are not marked.
	Last *Move
	// Title is the accessible title, which browsers also show as a tooltip.
	// Empty means the board and the side to move.
	Title string
	// Bare leaves out the coordinates and the line that names the side to move.
	Bare bool
}

// The drawing is made in units of which a square has 48; the width and height
// attributes scale it.
const (
	svgSquare        = 48
	svgDefaultPixels = 48
	svgMargin        = 24 // left of the board and below it, for the coordinates
	svgFrame         = 6  // on the other sides
	svgCaption       = 22 // below the coordinates, for the side to move

	svgLight   = "#f1e3c6"
	svgDark    = "#d9bb8b"
	svgEdge    = "#5a4630"
	svgInk     = "#40362b"
	svgBurnt   = "#4a4745"
	svgEmber   = "#8b8580"
	svgMark    = "#f5c518"
	svgWay     = "#1d5fa8"
	svgShot    = "#c2321f"
	svgIvory   = "#fffdf7"
	svgEbony   = "#1c1a19"
	svgCrown   = "M-11.5 9.5L-16 -7L-8.4 1.2L-8.6 -11.5L-2.6 0L0 -14L2.6 0L8.6 -11.5L8.4 1.2L16 -7L11.5 9.5Q0 6 -11.5 9.5Z"
	svgBase    = "M-11.5 12.5Q0 9 11.5 12.5L11 17Q0 14.5 -11 17Z"
	svgBalls   = "M-18.2 -8.6a2.2 2.2 0 1 0 4.4 0a2.2 2.2 0 1 0 -4.4 0M-11 -13.2a2.2 2.2 0 1 0 4.4 0a2.2 2.2 0 1 0 -4.4 0M-2.2 -15.8a2.2 2.2 0 1 0 4.4 0a2.2 2.2 0 1 0 -4.4 0M6.6 -13.2a2.2 2.2 0 1 0 4.4 0a2.2 2.2 0 1 0 -4.4 0M13.8 -8.6a2.2 2.2 0 1 0 4.4 0a2.2 2.2 0 1 0 -4.4 0"
	svgFontSet = `font-family="Helvetica, Arial, sans-serif"`
)

// SVG returns the position as a self-contained SVG picture. It uses no ids,
// classes, fonts to load or scripts, so many can stand in one HTML page.
func (p Position) SVG(opts SVGOptions) string {
	var sb strings.Builder
	_ = p.WriteSVG(&sb, opts) // a strings.Builder takes everything
	return sb.String()
}

// WriteSVG writes the picture that [Position.SVG] returns. Errors are those of w.
func (p Position) WriteSVG(w io.Writer, opts SVGOptions) error {
	out := bufio.NewWriter(w) // keeps the first error until Flush
	b := p.Board
	boardWidth, boardHeight := svgSquare*int(b.Width), svgSquare*int(b.Height)
	left, right, top, bottom := svgMargin, svgFrame, svgFrame, svgMargin+svgCaption
	if opts.Bare {
		left, bottom = svgFrame, svgFrame
	}
	width, height := left+boardWidth+right, top+boardHeight+bottom
	pixels := svgDefaultPixels
	if opts.Square != 0 {
		pixels = min(max(opts.Square, 8), 512)
	}
	title := opts.Title
	if title == "" {
		title = fmt.Sprintf("Amazons, %v board, %v to move", b, p.ToMove)
	}
	// Centres of squares, and their top left corners.
	cx := func(s Square) int { return left + svgSquare*s.File() + svgSquare/2 }
	cy := func(s Square) int { return top + boardHeight - svgSquare*s.Rank() - svgSquare/2 }

	fmt.Fprintf(out, `<svg xmlns="http://www.w3.org/2000/svg" width="%d" height="%d" viewBox="0 0 %d %d" role="img" aria-label="%s">`+"\n",
		(width*pixels+svgSquare/2)/svgSquare, (height*pixels+svgSquare/2)/svgSquare, width, height, xmlText(title))
	fmt.Fprintf(out, "<title>%s</title>\n<desc>%s</desc>\n", xmlText(title), xmlText(p.describe(opts.Last)))
	fmt.Fprintf(out, `<rect width="%d" height="%d" fill="#ffffff"/>`+"\n", width, height)

	// The squares: one light field, the dark squares as one path, then the burnt ones.
	fmt.Fprintf(out, `<rect x="%d" y="%d" width="%d" height="%d" fill="%s"/>`+"\n", left, top, boardWidth, boardHeight,
		svgLight)
	const darkSquares Set = 0xaa55aa55aa55aa55 // A1 is dark
	if dark := b.Mask() & darkSquares; dark != 0 {
		fmt.Fprintf(out, `<path fill="%s" d="`, svgDark)
		for _, s := range squaresOf(dark) {
			fmt.Fprintf(out, "M%d %dh%dv%dh-%dz", cx(s)-svgSquare/2, cy(s)-svgSquare/2, svgSquare, svgSquare, svgSquare)
		}
		fmt.Fprintf(out, `"/>`+"\n")
	}
	var last Move
	marked := opts.Last != nil
	if marked {
		last = *opts.Last
		marked = b.Contains(last.From) && b.Contains(last.To) && b.Contains(last.Arrow)
	}
	if marked {
		fmt.Fprintf(out, `<path fill="%s" fill-opacity="0.55" d="`, svgMark)
		for _, s := range squaresOf((last.From.Bit() | last.To.Bit()) &^ p.Burnt) {
			fmt.Fprintf(out, "M%d %dh%dv%dh-%dz", cx(s)-svgSquare/2, cy(s)-svgSquare/2, svgSquare, svgSquare, svgSquare)
		}
		fmt.Fprintf(out, `"/>`+"\n")
	}
	if burnt := p.Burnt & b.Mask(); burnt != 0 {
		fmt.Fprintf(out, `<path fill="%s" d="`, svgBurnt)
		for _, s := range squaresOf(burnt) {
			fmt.Fprintf(out, "M%d %dh%dv%dh-%dz", cx(s)-svgSquare/2+1, cy(s)-svgSquare/2+1, svgSquare-2, svgSquare-2,
				svgSquare-2)
		}
		fmt.Fprintf(out, `"/>`+"\n"+`<path fill="none" stroke="%s" stroke-width="3" stroke-linecap="round" d="`,
			svgEmber)
		for _, s := range squaresOf(burnt) {
			fmt.Fprintf(out, "M%d %dl18 18m0 -18l-18 18", cx(s)-9, cy(s)-9)
		}
		fmt.Fprintf(out, `"/>`+"\n")
	}
	fmt.Fprintf(out, `<rect x="%d" y="%d" width="%d" height="%d" fill="none" stroke="%s" stroke-width="2"/>`+"\n",
		left-1, top-1, boardWidth+2, boardHeight+2, svgEdge)

	if marked {
		// Both lines lie below the queens. The second is a little thinner, so that
		// an arrow shot back along the queen's way shows on top of it.
		fmt.Fprintf(out, `<g fill="none" stroke-linecap="round"><path stroke="%s" stroke-width="6" stroke-opacity="0.75" d="M%d %dL%d %d"/>`,
			svgWay, cx(last.From), cy(last.From), cx(last.To), cy(last.To))
		fmt.Fprintf(out, `<path stroke="%s" stroke-width="3.5" stroke-dasharray="1 8" d="M%d %dL%d %d"/>`,
			svgShot, cx(last.To), cy(last.To), cx(last.Arrow), cy(last.Arrow))
		fmt.Fprintf(out, `<rect x="%d" y="%d" width="%d" height="%d" stroke="%s" stroke-width="3"/></g>`+"\n",
			cx(last.Arrow)-svgSquare/2+3, cy(last.Arrow)-svgSquare/2+3, svgSquare-6, svgSquare-6, svgShot)
	}

	for _, side := range []struct {
		queens       Set
		fill, stroke string
	}{{p.White, svgIvory, svgEbony}, {p.Black, svgEbony, svgEbony}} {
		if side.queens&b.Mask() == 0 {
			continue
		}
		fmt.Fprintf(out, `<g fill="%s" stroke="%s" stroke-width="1.8" stroke-linejoin="round">`+
			"\n", side.fill, side.stroke)
		for _, s := range squaresOf(side.queens & b.Mask()) {
			fmt.Fprintf(out, `<path transform="translate(%d %d)" d="%s%s%s"/>`+"\n", cx(s), cy(s), svgCrown, svgBase,
				svgBalls)
		}
		fmt.Fprintf(out, "</g>\n")
	}

	if !opts.Bare {
		fmt.Fprintf(out, `<g %s font-size="14" fill="%s" text-anchor="middle">`+"\n", svgFontSet, svgInk)
		for r := range int(b.Height) {
			fmt.Fprintf(out, `<text x="%d" y="%d">%d</text>`, left/2, cy(b.Square(0, r))+5, r+1)
		}
		fmt.Fprintln(out)
		for f := range int(b.Width) {
			fmt.Fprintf(out, `<text x="%d" y="%d">%c</text>`, cx(b.Square(f, 0)), top+boardHeight+18, 'A'+f)
		}
		fmt.Fprintf(out, "\n</g>\n")
		// A disc in the colour of the side to move, then its name.
		fill := svgIvory
		if p.ToMove == Black {
			fill = svgEbony
		}
		y := top + boardHeight + svgMargin + 8
		caption := p.ToMove.title()
		if b.Width >= 3 { // narrower boards have no room for it
			caption += " to move"
		}
		fmt.Fprintf(out, `<circle cx="%d" cy="%d" r="5" fill="%s" stroke="%s" stroke-width="1.5"/>`, left+
			7, y, fill, svgEbony)
		fmt.Fprintf(out, `<text x="%d" y="%d" %s font-size="13" fill="%s">%s</text>`+"\n", left+18, y+
			5, svgFontSet, svgInk, caption)
	}
	fmt.Fprintf(out, "</svg>\n")
	return out.Flush()
}

// describe says in words what the picture shows.
func (p Position) describe(last *Move) string {
	var sb strings.Builder
	list := func(what string, x Set) {
		if x &= p.Board.Mask(); x == 0 {
			return
		}
		sb.WriteString(what)
		for i, s := range squaresOf(x) {
			if i > 0 {
				sb.WriteByte(',')
			}
			sb.WriteByte(' ')
			sb.WriteString(s.String())
		}
		sb.WriteString(". ")
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

// squaresOf lists a set by increasing square number.
func squaresOf(x Set) []Square {
	var out []Square
	for s := range NoSquare {
		if x&s.Bit() != 0 {
			out = append(out, s)
		}
	}
	return out
}

// xmlText escapes s for text and attribute values. What XML 1.0 cannot hold
// (control characters, bytes that are not UTF-8) becomes U+FFFD.
func xmlText(s string) string {
	var sb strings.Builder
	for _, r := range s {
		switch {
		case r == '&':
			sb.WriteString("&amp;")
		case r == '<':
			sb.WriteString("&lt;")
		case r == '>':
			sb.WriteString("&gt;")
		case r == '"':
			sb.WriteString("&#34;")
		case r < ' ' && r != '\t' && r != '\n' && r != '\r', r == 0xfffe, r == 0xffff:
			sb.WriteRune(utf8.RuneError)
		default:
			sb.WriteRune(r)
		}
	}
	return sb.String()
}
