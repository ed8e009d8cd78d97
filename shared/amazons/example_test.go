package amazons_test

import (
	"errors"
	"fmt"
	"strings"

	"amazonsfarm/shared/amazons"
)

func ExampleParsePosition() {
	for _, text := range []string{"5x6", "1b2/b..w/4/x.w1 black", "3x3"} {
		p, err := amazons.ParsePosition(text)
		if err != nil {
			fmt.Println(errors.Is(err, amazons.ErrBoard), err)
			continue
		}
		fmt.Println(p)
	}
	// Output:
	// .B.B./B...B/...../...../W...W/.W.W. w
	// .B../B..W/..../x.W. b
	// true not a board with a starting position: 3x3: at least 4 files and 4 ranks are needed; give a position instead
}

func ExamplePosition_ParseMove() {
	p, err := amazons.ParsePosition("5x6")
	if err != nil {
		panic(err)
	}
	m, err := p.ParseMove("b1 b4 d4")
	if err != nil {
		panic(err)
	}
	fmt.Println(m)
	fmt.Println(p.After(m))
	_, err = p.ParseMove("B1-C3xD4")
	fmt.Println(err)
	// Output:
	// B1-B4xD4
	// .B.B./B...B/.W.x./...../W...W/...W. b
	// not a move: B1-C3xD4: the queen on B1 cannot go to C3 in .B.B./B...B/...../...../W...W/.W.W. w
}

func ExamplePosition_Text() {
	p, err := amazons.ParsePosition("4x4")
	if err != nil {
		panic(err)
	}
	fmt.Print(p.Text())
	// Output:
	// 4  . B B .
	// 3  B . . B
	// 2  W . . W
	// 1  . W W .
	//    A B C D
	// White to move
}

func ExamplePosition_TextMarked() {
	p, err := amazons.ParsePosition("4x4")
	if err != nil {
		panic(err)
	}
	m, err := p.ParseMove("B1-B3xC3")
	if err != nil {
		panic(err)
	}
	fmt.Print(p.After(m).TextMarked(m))
	// Output:
	// 4  . B B .
	// 3  B[W|x]B
	// 2  W . . W
	// 1  .[.]W .
	//    A B C D
	// Black to move
}

func ExamplePosition_SVG() {
	p, err := amazons.ParsePosition("4x4")
	if err != nil {
		panic(err)
	}
	svg := p.SVG(nil)
	title := strings.Contains(svg, "<title>Amazons, 4x4 board, white to move</title>")
	fmt.Println(strings.Count(svg, "translate"), "queens,", title)
	// Output: 8 queens, true
}

func ExamplePosition_Divide() {
	p, err := amazons.ParsePosition("W../x.x/..B w")
	if err != nil {
		panic(err)
	}
	for _, part := range p.Divide(2) {
		fmt.Println(part.Move, part.Count)
	}
	// Output:
	// A3-B2xA1 1
	// A3-B2xA3 4
	// A3-B2xB1 0
	// A3-B2xB3 4
	// A3-B2xC3 4
	// A3-B3xA3 11
	// A3-B3xB1 6
	// A3-B3xB2 4
	// A3-B3xC3 12
	// A3-C3xA1 10
	// A3-C3xA3 11
	// A3-C3xB2 4
	// A3-C3xB3 12
}

func ExampleState_Moves() {
	p, err := amazons.ParsePosition("W.x/xB. w")
	if err != nil {
		panic(err)
	}
	fmt.Println(p.State().Moves(nil))
	// Output: [A2-B2xC1 A2-B2xA2]
}

// Facts about a position are kept under the key of its canonical image, which
// all its mirror images share, and the images with the colours exchanged.
func ExampleState_CanonicalKey() {
	for _, text := range []string{"W.../...B/x..B w", "...W/B.../B..x w", "x..B/...B/W... w", "B.../...W/x..W b"} {
		p, err := amazons.ParsePosition(text)
		if err != nil {
			panic(err)
		}
		key := p.State().CanonicalKey(p.Board)
		fmt.Printf("%x %x\n", key.A, key.B)
	}
	// Output:
	// 101 89
	// 101 89
	// 101 89
	// 101 89
}
