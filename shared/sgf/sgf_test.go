package sgf

import (
	"errors"
	"fmt"
	"io"
	"reflect"
	"strconv"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"amazonsfarm/shared/amazons"
	"amazonsfarm/shared/eval"
)

// reader reads the format back, by its grammar and on its own: property names, values between
// brackets, "(" and ")" for variations. It knows no more of Amazons than how points and moves are
// written.
type reader struct {
	text   string
	board  amazons.Board
	toMove amazons.Colour // in the node that is read
}

func (r *reader) take(prefix string) bool {
	r.text = strings.TrimLeft(r.text, " \n")
	rest, ok := strings.CutPrefix(r.text, prefix)
	if ok {
		r.text = rest
	}
	return ok
}

// property reads a name with its values.
func (r *reader) property() (name string, values []string, err error) {
	r.take("")
	end := strings.IndexByte(r.text, '[')
	if end < 1 || strings.Trim(r.text[:end], "ABCDEFGHIJKLMNOPQRSTUVWXYZ") != "" {
		return "", nil, fmt.Errorf("no property at %.20q", r.text)
	}
	name, r.text = r.text[:end], r.text[end:]
	for r.take("[") {
		var value strings.Builder
		i := 0
		for ; i < len(r.text) && r.text[i] != ']'; i++ {
			if r.text[i] == '\\' {
				i++
			}
			value.WriteByte(r.text[i])
		}
		if i >= len(r.text) {
			return "", nil, errors.New("a value does not end")
		}
		r.text = r.text[i+1:]
		values = append(values, value.String())
	}
	return name, values, nil
}

// point reads a square: the format counts rows from the top.
func (r *reader) point(text string) (amazons.Square, error) {
	file, row := int(text[0]-'a'), int(text[1]-'a')
	if file >= int(r.board.Width) || row >= int(r.board.Height) {
		return 0, fmt.Errorf("%q is not on the board", text)
	}
	return r.board.Square(file, int(r.board.Height)-1-row), nil
}

func (r *reader) game() (g Game, err error) {
	if !r.take("(") || !r.take(";") {
		return g, errors.New("no game tree")
	}
	if err := r.node(&g, &g.First, true); err != nil {
		return g, err
	}
	if err := r.rest(&g, &g.First); err != nil {
		return g, err
	}
	if !r.take(")") || strings.TrimSpace(r.text) != "" {
		return g, fmt.Errorf("%.20q instead of the end", r.text)
	}
	return g, nil
}

// node reads the properties of a node.
func (r *reader) node(g *Game, n *Node, first bool) error {
	for r.take(""); r.text != "" && r.text[0] >= 'A' && r.text[0] <= 'Z'; r.take("") {
		name, values, err := r.property()
		if err != nil {
			return err
		}
		switch name {
		case "FF", "GM", "CA", "AP":
			if want := map[string]string{"FF": "4", "GM": "18", "CA": "UTF-8", "AP": "amazonsfarm"}[name]; !first ||
				values[0] != want {
				return fmt.Errorf("%s is %v", name, values)
			}
		case "SZ":
			w, h, two := strings.Cut(values[0], ":")
			if !two {
				h = w
			} else if w == h {
				return errors.New("the format forbids two numbers for a square board")
			}
			width, _ := strconv.Atoi(w)
			height, _ := strconv.Atoi(h)
			if g.Start.Board, err = amazons.NewBoard(width, height); err != nil {
				return err
			}
			r.board = g.Start.Board
		case "GN":
			g.Name = values[0]
		case "AW", "AB", "AA":
			for _, v := range values {
				s, err := r.point(v)
				if err != nil {
					return err
				}
				*map[string]*amazons.Set{"AW": &g.Start.White, "AB": &g.Start.Black,
					"AA": &g.Start.Burnt}[name] |= s.Bit()
			}
		case "PL":
			if values[0] == "B" {
				g.Start.ToMove = amazons.Black
			}
			r.toMove = g.Start.ToMove
		case "GW", "GB":
			n.Verdict = eval.Won
			if (name == "GB") != (r.toMove == amazons.Black) {
				n.Verdict = eval.Lost
			}
		case "C":
			n.Comment = values[0]
		case "W", "B":
			r.toMove = amazons.White
			if name == "W" {
				r.toMove = amazons.Black
			}
			var squares [3]amazons.Square
			for i := range squares {
				if squares[i], err = r.point(values[0][2*i:]); err != nil {
					return err
				}
			}
			n.Move = amazons.Move{From: squares[0], To: squares[1], Arrow: squares[2]}
		default:
			return fmt.Errorf("unexpected property %s", name)
		}
	}
	return nil
}

// rest reads what follows a node: one node, or variations.
func (r *reader) rest(g *Game, n *Node) error {
	for {
		variation := r.take("(")
		if !r.take(";") {
			if variation {
				return errors.New("an empty variation")
			}
			return nil
		}
		c := new(Node)
		n.Children = append(n.Children, c)
		if err := r.node(g, c, false); err != nil {
			return err
		}
		if err := r.rest(g, c); err != nil {
			return err
		}
		if !variation {
			return nil
		}
		if !r.take(")") {
			return errors.New("a variation does not end")
		}
	}
}

// TestRoundTrip writes random trees of games from random positions of all boards and reads them back.
func TestRoundTrip(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		b := amazons.Board{Width: uint8(rapid.IntRange(1, 8).Draw(t, "width")),
			Height: uint8(rapid.IntRange(1, 8).Draw(t, "height"))}
		p := amazons.Position{Board: b}
		for s := range b.Squares() {
			bit := b.UnpackSquare(uint8(s)).Bit()
			switch rapid.IntRange(0, 9).Draw(t, "square") {
			case 0:
				p.White |= bit
			case 1:
				p.Black |= bit
			case 2:
				p.Burnt |= bit
			}
		}
		if rapid.Bool().Draw(t, "black to move") {
			p.ToMove = amazons.Black
		}
		text := rapid.SampledFrom([]string{"", "plain", `]`, `\`, `a\]b`, "(;W[aa])", "a: é [1]", "two\nlines"})
		g := Game{Start: p, Name: text.Draw(t, "name")}
		nodes := 0
		var grow func(p amazons.Position, n *Node)
		grow = func(p amazons.Position, n *Node) {
			n.Comment = text.Draw(t, "comment")
			n.Verdict = eval.Verdict(rapid.IntRange(0, 2).Draw(t, "verdict"))
			moves := p.State().Moves(nil)
			for range rapid.IntRange(0, 3).Draw(t, "children") {
				if nodes++; len(moves) == 0 || nodes > 40 {
					return
				}
				c := &Node{Move: moves[rapid.IntRange(0, len(moves)-1).Draw(t, "move")]}
				n.Children = append(n.Children, c)
				grow(p.After(c.Move), c)
			}
		}
		grow(p, &g.First)
		var out strings.Builder
		if err := Write(&out, g); err != nil {
			t.Fatal(err)
		}
		r := reader{text: out.String()}
		back, err := r.game()
		if err != nil {
			t.Fatalf("%v\n%s", err, out.String())
		}
		if !reflect.DeepEqual(g, back) {
			t.Fatalf("read back as another game: %s", out.String())
		}
	})
}

// TestRowsFromTheTop holds points against the format's own example: "AW[da][ga][ad][jd]" lie in the
// top rows of its board, here on one of 8x8.
func TestRowsFromTheTop(t *testing.T) {
	b := amazons.Board{Width: 5, Height: 6}
	for text, want := range map[string]string{"A6": "aa", "E6": "ea", "A1": "af", "E1": "ef", "B4": "bc"} {
		m, err := amazons.ParseMove(b, text+text+text)
		if err != nil {
			t.Fatal(err)
		}
		if got := Point(b, m.From); got != want {
			t.Errorf("%s is written %s, want %s", text, got, want)
		}
	}
	p, err := amazons.ParsePosition("5x6")
	if err != nil {
		t.Fatal(err)
	}
	m, err := p.ParseMove("B1-B4xD4")
	if err != nil {
		t.Fatal(err)
	}
	var out strings.Builder
	if err := Write(&out, Game{Start: p, First: Node{Children: []*Node{{Move: m, Verdict: eval.Lost,
		Comment: "wins"}}}}); err != nil {
		t.Fatal(err)
	}
	const want = "(;FF[4]GM[18]CA[UTF-8]AP[amazonsfarm]SZ[5:6]\n" +
		"AW[bf][df][ae][ee]AB[ab][eb][ba][da]PL[W]" +
		";W[bfbcdc]GW[1]C[wins])\n"
	if out.String() != want {
		t.Errorf("got\n%swant\n%s", out.String(), want)
	}
}

func TestWriteRefuses(t *testing.T) {
	p, err := amazons.ParsePosition("4x4")
	if err != nil {
		t.Fatal(err)
	}
	err = Write(io.Discard, Game{Start: p, First: Node{Children: []*Node{{Move: amazons.Move{From: 0, To: 1,
		Arrow: 2}}}}})
	if !errors.Is(err, ErrIllegal) {
		t.Errorf("a move without a queen: %v", err)
	}
	if err := Write(full{}, Game{Start: p}); !errors.Is(err, errFull) {
		t.Errorf("a full disk: %v", err)
	}
}

var errFull = errors.New("full")

type full struct{}

func (full) Write([]byte) (int, error) { return 0, errFull }
