package amazons

import (
	"errors"
	"math/bits"
	"math/rand/v2"
	"strings"
	"testing"

	"pgregory.net/rapid"
)

func TestParsePositionForgives(t *testing.T) {
	const start = ".B.B./B...B/...../...../W...W/.W.W. w"
	tests := []struct{ text, want string }{
		{start, start},
		{"5x6", start},
		{" 5X6\n", start},
		{"05x6", start},
		{"5x6 w", start},
		{"5x6 black", strings.TrimSuffix(start, "w") + "b"},
		{".B.B./B...B/...../...../W...W/.W.W.", start},
		{"1B1B1/B3B/5/5/W3W/1W1W1 w", start},
		{"1b1b1/b3b/5/5/w3w/1w1w1 W", start},
		{"-b_b-/b-.-b/41/14/w1.1w/1w1w1\tWHITE ", start},
		{"x*#X/4 Black", "xxxx/.... b"},
		{"8/53", "......../........ w"},
		{"W", "W w"},
		{"x", "x w"},
		{"3x.", "...x. w"},
		{"x3. b", "x.... b"},
		{"W/B/./x/W/B/./x b", "W/B/./x/W/B/./x b"},
		{"8/8/8/8/8/8/8/8", strings.Repeat("......../", 7) + "........ w"},
		{"2x2/2x2", "..x../..x.. w"},
	}
	for _, test := range tests {
		p, err := ParsePosition(test.text)
		if err != nil {
			t.Errorf("ParsePosition(%q): %v", test.text, err)
		} else if p.String() != test.want {
			t.Errorf("ParsePosition(%q) = %v, want %v", test.text, p, test.want)
		}
	}
}

// checkSentence checks that an error wraps the sentinel and reads as one clause
// on one line.
func checkSentence(t *testing.T, err, sentinel error, want string) {
	t.Helper()
	if err == nil {
		t.Errorf("no error, want %q", want)
		return
	}
	if !errors.Is(err, sentinel) {
		t.Errorf("%q does not wrap %q", err, sentinel)
	}
	text := err.Error()
	if text != want {
		t.Errorf("error %q, want %q", text, want)
	}
	if !strings.HasPrefix(text, sentinel.Error()) || strings.ContainsAny(text, "\n\r\t") || len(text) > 250 {
		t.Errorf("not one short line that begins with %q: %q", sentinel, text)
	}
}

func TestParsePositionErrors(t *testing.T) {
	long := strings.Repeat("....", 100)
	neither := ": write WIDTHxHEIGHT, such as 5x6, or rows such as .B.B./...../.W.W. w"
	noStart := ": at least 4 files and 4 ranks are needed; give a position instead"
	tests := []struct {
		text     string
		sentinel error
		want     string
	}{
		{"", ErrPosition, "not a position: the text is empty; write a board such as 5x6 or rows such as " +
			".B.B./...../.W.W. w"},
		{" \n", ErrPosition, "not a position: the text is empty; write a board such as 5x6 or rows such as " +
			".B.B./...../.W.W. w"},
		{"3x9", ErrBoard, "not a board: 3x9: width and height must be 1 to 8"},
		{"0x4", ErrBoard, "not a board: 0x4: width and height must be 1 to 8"},
		{"9x9", ErrBoard, "not a board: 9x9: width and height must be 1 to 8"},
		{"9x9 b", ErrBoard, "not a board: 9x9: width and height must be 1 to 8"},
		{"99999999999999999999x4", ErrBoard, `not a board: "99999999999999999999x4": write WIDTHxHEIGHT, such ` +
			`as 5x6`},
		{"3x3", ErrBoard, "not a board with a starting position: 3x3" + noStart},
		{"3x3 w", ErrBoard, "not a board with a starting position: 3x3" + noStart},
		{"8x3", ErrBoard, "not a board with a starting position: 8x3" + noStart},
		{"1X1", ErrBoard, "not a board with a starting position: 1x1" + noStart},
		{"W/", ErrPosition, "not a position: row 2 of 2 is empty"},
		{"/W", ErrPosition, `not a position or a board: "/W"` + neither},
		{"W//B", ErrPosition, "not a position: row 2 of 3 is empty"},
		{"/no/such.proof", ErrPosition, `not a position or a board: "/no/such.proof"` + neither},
		{"no/such.proof", ErrPosition, `not a position or a board: "no/such.proof"` + neither},
		{"../x.db", ErrPosition, `not a position or a board: "../x.db"` + neither},
		{"W.B./.wb", ErrPosition, `not a position: row 2 (".wb") has 3 squares where the first row has 4`},
		{"/", ErrPosition, `not a position or a board: "/"` + neither},
		{"W../B.", ErrPosition, `not a position: row 2 ("B.") has 2 squares where the first row has 3`},
		{"........W", ErrPosition, `not a position: row 1 ("........W") is longer than 8 squares`},
		{"W8b w", ErrPosition, `not a position: row 1 ("W8b") is longer than 8 squares`},
		{".........", ErrPosition, `not a position or a board: "........."` + neither},
		{"4x4/8x", ErrPosition, `not a position: row 1 ("4x4") is longer than 8 squares`},
		{"54/8", ErrPosition, `not a position: row 1 ("54") is longer than 8 squares`},
		{"5", ErrBoard, `not a board: "5": write WIDTHxHEIGHT, such as 5x6`},
		{"54", ErrBoard, `not a board: "54": write WIDTHxHEIGHT, such as 5x6`},
		{"5x w", ErrBoard, `not a board: "5x": write WIDTHxHEIGHT, such as 5x6`},
		{"x5", ErrBoard, `not a board: "x5": write WIDTHxHEIGHT, such as 5x6`},
		{"5*6", ErrBoard, `not a board: "5*6": write WIDTHxHEIGHT, such as 5x6`},
		{"5×6", ErrBoard, `not a board: "5×6": write WIDTHxHEIGHT, such as 5x6`},
		{long, ErrPosition, `not a position or a board: "` + long[:96] + `"...` + neither},
		{long + "/.", ErrPosition, `not a position: row 1 ("` + long[:96] + `"...) is longer than 8 squares`},
		{"./././././././././.", ErrPosition, "not a position: 10 rows; a board has at most 8"},
		{"W.0/...", ErrPosition, `not a position: row 1 ("W.0") has '0'; squares are W, B, x, . or 1 to 8 for ` +
			`empty squares`},
		{"..9/...", ErrPosition, `not a position: row 1 ("..9") has '9'; squares are W, B, x, . or 1 to 8 for ` +
			`empty squares`},
		{"W♛./...", ErrPosition, `not a position: row 1 ("W♛.") has '♛'; squares are W, B, x, . or 1 to 8 for ` +
			`empty squares`},
		{"W\xff/...", ErrPosition, `not a position: row 1 ("W\xff") has '�'; squares are W, B, x, . or 1 to 8 for ` +
			`empty squares`},
		{"start", ErrPosition, `not a position or a board: "start"` + neither},
		{"W♛.", ErrPosition, `not a position or a board: "W♛."` + neither},
		{"5-5", ErrPosition, `not a position or a board: "5-5"` + neither},
		{"5by5", ErrPosition, `not a position or a board: "5by5"` + neither},
		{"4,5 b", ErrPosition, `not a position or a board: "4,5 b"` + neither},
		{" 5 5\n", ErrPosition, `not a position or a board: "5 5"` + neither},
		{"5 x 6", ErrPosition, `not a position or a board: "5 x 6"` + neither},
		{"W. x", ErrPosition, `not a position: "W. x": after the rows comes the side to move, w or b, and ` +
			`nothing else`},
		{"W./B. x", ErrPosition, `not a position: "W./B. x": after the rows comes the side to move, w or b, and ` +
			`nothing else`},
		{"W./B. w b", ErrPosition, `not a position: "W./B. w b": after the rows comes the side to move, w or b, and ` +
			`nothing else`},
	}
	for _, test := range tests {
		p, err := ParsePosition(test.text)
		checkSentence(t, err, test.sentinel, test.want)
		if p != (Position{}) {
			t.Errorf("ParsePosition(%q) = %v with the error", test.text, p)
		}
	}
}

func TestCheckQueens(t *testing.T) {
	for text, want := range map[string]string{
		"5x6": "", "W.B": "",
		"W.. b": `not a position of both sides: "W.. b" has no black queen`,
		"..B":   `not a position of both sides: "..B w" has no white queen`,
	} {
		p, err := ParsePosition(text)
		if err != nil {
			t.Fatal(err)
		}
		if err = p.CheckQueens(); want == "" && err != nil {
			t.Errorf("%s: %v", text, err)
		} else if want != "" {
			checkSentence(t, err, ErrPosition, want)
		}
	}
}

func TestParseBoard(t *testing.T) {
	for _, text := range []string{"5x6", "5X6", " 5x6 "} {
		if b, err := ParseBoard(text); err != nil || b != (Board{5, 6}) || b.String() != "5x6" {
			t.Errorf("ParseBoard(%q) = %v, %v", text, b, err)
		}
	}
	for w := 1; w <= MaxSide; w++ {
		for h := 1; h <= MaxSide; h++ {
			b := Board{uint8(w), uint8(h)}
			if back, err := ParseBoard(b.String()); err != nil || back != b {
				t.Errorf("ParseBoard(%q) = %v, %v", b, back, err)
			}
			p, err := Start(b)
			if w >= 4 && h >= 4 {
				if err != nil || p.White&p.Black != 0 || bits.OnesCount64(p.White) != 4 ||
					bits.OnesCount64(p.Black) != 4 ||
					p.Burnt != 0 || p.ToMove != White {
					t.Errorf("Start(%v) = %v, %v", b, p, err)
				}
			} else if !errors.Is(err, ErrBoard) {
				t.Errorf("Start(%v) = %v, %v, want an error that wraps ErrBoard", b, p, err)
			}
		}
	}
	for _, test := range []struct{ text, want string }{
		{"", `not a board: "": write WIDTHxHEIGHT, such as 5x6`},
		{"x", `not a board: "x": write WIDTHxHEIGHT, such as 5x6`},
		{"5", `not a board: "5": write WIDTHxHEIGHT, such as 5x6`},
		{"5x", `not a board: "5x": write WIDTHxHEIGHT, such as 5x6`},
		{"5x6x7", `not a board: "5x6x7": write WIDTHxHEIGHT, such as 5x6`},
		{"5*6", `not a board: "5*6": write WIDTHxHEIGHT, such as 5x6`},
		{"0x4", "not a board: 0x4: width and height must be 1 to 8"},
		{"4x0", "not a board: 4x0: width and height must be 1 to 8"},
		{"-1x4", "not a board: -1x4: width and height must be 1 to 8"},
		{"3x9", "not a board: 3x9: width and height must be 1 to 8"},
		{"256x257", "not a board: 256x257: width and height must be 1 to 8"},
	} {
		b, err := ParseBoard(test.text)
		checkSentence(t, err, ErrBoard, test.want)
		if b != (Board{}) || b.Valid() {
			t.Errorf("ParseBoard(%q) = %v with the error", test.text, b)
		}
	}
	if _, err := Start(Board{}); !errors.Is(err, ErrBoard) {
		t.Errorf("Start(Board{}): %v", err)
	}
}

func TestParseMove(t *testing.T) {
	b := Board{5, 6}
	want := Move{1, 25, 27}
	for _, text := range []string{
		"B1-B4xD4", "b1-b4xd4", "B1-B4/D4", "B1B4D4", "b1 b4 d4", "B1-B4(D4)", "b1, b4, d4", " B1-B4XD4\n", "b1:b4:d4",
		"(b1)(b4)(d4)", "B1–B4×D4", "B1->B4->D4", "B1>B4*D4",
	} {
		m, err := ParseMove(b, text)
		if err != nil || m != want {
			t.Errorf("ParseMove(%q) = %v, %v, want %v", text, m, err, want)
		}
	}
	if got := want.String(); got != "B1-B4xD4" {
		t.Errorf("String() = %q", got)
	}
	if got := (Move{NoSquare, 0, 255}).String(); got != "??-A1x??" {
		t.Errorf("String() = %q", got)
	}
	const three = ": write three squares, for example B1-B4xD4"
	for _, test := range []struct{ text, want string }{
		{"", `not a move: ""` + three},
		{"-x", `not a move: "-x"` + three},
		{"B1-B4", `not a move: "B1-B4"` + three},
		{"B1-B4xD", `not a move: "B1-B4xD"` + three},
		{"B1-B4xD4xD5", `not a move: "B1-B4xD4xD5"` + three},
		{"1B-4Bx4D", `not a move: "1B-4Bx4D"` + three},
		{"B1-B4x♛", `not a move: "B1-B4x♛"` + three},
		{strings.Repeat("?", 200), `not a move: "` + strings.Repeat("?", 96) + `"...` + three},
		{"B1-B7xD4", `not a move: "B1-B7xD4": square B7 is not on a 5x6 board`},
		{"f1-B4xD4", `not a move: "f1-B4xD4": square F1 is not on a 5x6 board`},
		{"B1-B0xD4", `not a move: "B1-B0xD4": square B0 is not on a 5x6 board`},
		{"B1-B4xI9", `not a move: "B1-B4xI9": square I9 is not on a 5x6 board`},
	} {
		m, err := ParseMove(b, test.text)
		checkSentence(t, err, ErrMove, test.want)
		if m != (Move{}) {
			t.Errorf("ParseMove(%q) = %v with the error", test.text, m)
		}
	}
}

func TestPositionParseMoveSaysWhatIsWrong(t *testing.T) {
	p := mustPosition(t, "5x6")
	const text = ".B.B./B...B/...../...../W...W/.W.W. w"
	for _, test := range []struct{ text, want string }{
		{"B2-B4xD4", "not a move: B2-B4xD4: white has no queen on B2"},
		{"B6-B4xD4", "not a move: B6-B4xD4: white has no queen on B6"},
		{"B1-C4xD4", "not a move: B1-C4xD4: the queen on B1 cannot go to C4 in " + text},
		{"B1-B1xD4", "not a move: B1-B1xD4: the queen on B1 cannot go to B1 in " + text},
		{"B1-B6xD4", "not a move: B1-B6xD4: the queen on B1 cannot go to B6 in " + text},
		{"B1-B4xD5", "not a move: B1-B4xD5: an arrow from B4 cannot reach D5 in " + text},
		{"B1-B4xB4", "not a move: B1-B4xB4: an arrow from B4 cannot reach B4 in " + text},
		{"B1-B9xB4", `not a move: "B1-B9xB4": square B9 is not on a 5x6 board`},
	} {
		_, err := p.ParseMove(test.text)
		checkSentence(t, err, ErrMove, test.want)
	}
	// Every legal move is read back; the arrow may go through and to the origin.
	for _, q := range randomLine(p, 20, rand.New(rand.NewPCG(15, 16))) {
		for _, m := range q.State().Moves(nil) {
			if back, err := q.ParseMove(m.String()); err != nil || back != m {
				t.Fatalf("%v: ParseMove(%q) = %v, %v", q, m, back, err)
			}
		}
	}
}

func TestPositionTextRoundTrip(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		b := drawBoard(t)
		p := PositionOf(b, drawState(t, b), Colour(rapid.IntRange(0, 1).Draw(t, "colour")))
		back, err := ParsePosition(p.String())
		if err != nil || back != p {
			t.Fatalf("ParsePosition(%q) = %v, %v", p, back, err)
		}
	})
}

func TestKeyErrors(t *testing.T) {
	for _, test := range []struct {
		board string
		key   Key
		want  string
	}{
		{"1x1", Key{2, 0}, "not a position key: 2 0 has bits outside a 1x1 board"},
		{"5x6", Key{0, 1 << 30}, "not a position key: 0 40000000 has bits outside a 5x6 board"},
		{"7x8", Key{1 << 63, 1}, "not a position key: 8000000000000000 1 has bits outside a 7x8 board"},
	} {
		b, err := ParseBoard(test.board)
		if err != nil {
			t.Fatal(err)
		}
		_, err = test.key.State(b)
		checkSentence(t, err, ErrKey, test.want)
	}
	if _, err := (Key{1 << 63, 1 << 63}).State(Board{8, 8}); err != nil {
		t.Errorf("the last square of 8x8: %v", err)
	}
	for _, n := range []int{0, 15, 17} {
		_, err := KeyFromBytes(make([]byte, n))
		if !errors.Is(err, ErrKey) {
			t.Errorf("%d bytes: %v", n, err)
		}
	}
}

func FuzzParsePosition(f *testing.F) {
	for _, text := range []string{
		"5x6", "8x8 b", "3x3", "0x4", ".B.B./B...B/...../...../W...W/.W.W. w", "1b1b1/b3b/5/5/w3w/1w1w1",
		"x*#X/4 Black", "/", "W\xff", "",
	} {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		p, err := ParsePosition(text)
		if err != nil {
			if !errors.Is(err, ErrPosition) && !errors.Is(err, ErrBoard) {
				t.Fatalf("%q: %v wraps no sentinel", text, err)
			}
			return
		}
		all := p.White | p.Black | p.Burnt
		if !p.Board.Valid() || all&^p.Board.Mask() != 0 || p.White&p.Black|p.White&p.Burnt|p.Black&p.Burnt != 0 {
			t.Fatalf("%q: not a sound position: %+v", text, p)
		}
		canonical := p.String()
		back, err := ParsePosition(canonical)
		if err != nil || back != p || back.String() != canonical {
			t.Fatalf("%q: read as %q, which is read as %v, %v", text, canonical, back, err)
		}
		if PositionOf(p.Board, p.State(), p.ToMove) != p {
			t.Fatalf("%q: not the position of its state", text)
		}
	})
}

func FuzzParseMove(f *testing.F) {
	for _, text := range []string{"B1-B4xD4", "b1b4d4", "B1 - B9", "", "h8-h8xh8", "B1-B4xD4xD5"} {
		f.Add(uint8(5), uint8(6), text)
	}
	f.Fuzz(func(t *testing.T, width, height uint8, text string) {
		b := Board{width&7 + 1, height&7 + 1}
		m, err := ParseMove(b, text)
		if err != nil {
			if !errors.Is(err, ErrMove) {
				t.Fatalf("%q: %v does not wrap ErrMove", text, err)
			}
			return
		}
		if !b.Contains(m.From) || !b.Contains(m.To) || !b.Contains(m.Arrow) {
			t.Fatalf("%q: %v leaves the %v board", text, m, b)
		}
		if back, err := ParseMove(b, m.String()); err != nil || back != m {
			t.Fatalf("%q: read as %v, which is read as %v, %v", text, m, back, err)
		}
	})
}

func FuzzKey(f *testing.F) {
	f.Add(uint8(5), uint8(6), make([]byte, KeyBytes))
	f.Add(uint8(8), uint8(8), []byte("\xff\xff\xff\xff\xff\xff\xff\xff0123456\xff"))
	f.Add(uint8(1), uint8(1), []byte{1})
	f.Fuzz(func(t *testing.T, width, height uint8, data []byte) {
		b := Board{width&7 + 1, height&7 + 1}
		k, err := KeyFromBytes(data)
		if err != nil {
			if !errors.Is(err, ErrKey) || len(data) == KeyBytes {
				t.Fatalf("%x: %v", data, err)
			}
			return
		}
		if got := k.Bytes(); string(got[:]) != string(data) {
			t.Fatalf("%x: bytes of its key are %x", data, got)
		}
		s, err := k.State(b)
		if err != nil {
			if !errors.Is(err, ErrKey) || b.Squares() == 64 {
				t.Fatalf("%v %x: %v", b, k, err)
			}
			return
		}
		if s.Own&s.Opp|s.Own&s.Empty|s.Opp&s.Empty != 0 || (s.Own|s.Opp|s.Empty)&^b.Mask() != 0 {
			t.Fatalf("%v %x: not a sound state: %+v", b, k, s)
		}
		if s.Key(b) != k {
			t.Fatalf("%v %x: key of its state is %x", b, k, s.Key(b))
		}
		canonical, sym := s.Canonical(b)
		if canonical.Key(b).Compare(k) > 0 || canonical.Apply(b, sym.Inverse()) != s {
			t.Fatalf("%v %x: canonical %x by symmetry %d", b, k, canonical.Key(b), sym)
		}
	})
}
