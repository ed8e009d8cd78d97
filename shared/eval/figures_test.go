package eval_test

import (
	"math/bits"
	"strings"
	"testing"

	"amazonsfarm/shared/amazons"
	"amazonsfarm/shared/area"
	"amazonsfarm/shared/cgt"
	"amazonsfarm/shared/endgame"
	"amazonsfarm/shared/eval"
	"amazonsfarm/shared/testkit/reference"
)

// The worked examples of Müller 2001 and of Song and Müller 2014, by the numbers of their figures.
// We have the text of the papers and not their pictures, so each test says what the text fixes and
// what was chosen; where few squares do, the test goes over all positions that fit the text. Not
// here, because the text fixes no position and no value: 2001 figure 2 (a partition into three and
// into five areas) and figures 13 to 15 (measurements); 2014 figures 2 and 3 (partitions, of which
// only some squares are named), 6 (sizes of databases that others depend on), 14 (a line of play
// from moves in the picture), 13 and 15 (measurements). Figure 1 of both is a starting position,
// and figure 5 of 2014, the thermographs of the four kinds of infinitesimals, is a matter of
// shared/cgt.

// static returns the settings of the rules alone: no database, no local search, no closing moves.
func static() eval.Settings {
	s := eval.DefaultSettings()
	s.LocalSearch, s.GuardedSearch, s.Closing = 0, 0, false
	s.Databases, s.Territories = false, false
	return s
}

func parse(t *testing.T, text string) amazons.Position {
	t.Helper()
	p, err := amazons.ParsePosition(text)
	if err != nil {
		t.Fatal(err)
	}
	return p
}

// explain judges a position and fails the test where search to the end disagrees with the verdict
// or a value with the bounds.
func explain(t *testing.T, settings eval.Settings, p amazons.Position) eval.Explanation {
	t.Helper()
	e := eval.NewJudge(database(t), settings).Explain(p)
	if won := reference.Wins(p.Board, p.State()); e.Verdict != eval.Open && won != (e.Verdict == eval.Won) {
		t.Errorf("%v is %v, search says won=%v\n%s", p, e.Verdict, won, e.Text())
	}
	v, err := new(endgame.Solver).Value(p.Black, p.White, p.State().Empty)
	if err != nil {
		t.Fatal(err)
	}
	left, right := v.Stops()
	sums := []cgt.Bounds{e.Bounds}
	if e.Searched != nil {
		sums = append(sums, *e.Searched)
	}
	for _, b := range sums {
		if right.Less(b.Lower.N) || b.Upper.N.Less(left) {
			t.Errorf("%v: the stops are %v and %v, the sum is %v\n%s", p, left, right, b, e.Text())
		}
	}
	return e
}

// contains fails the test unless an area of the explanation is as described: for whom, kind,
// bounds, how the source begins, and the queens.
func contains(t *testing.T, e eval.Explanation, want string) {
	t.Helper()
	for line := range strings.Lines(e.Text()) {
		if strings.Contains(strings.Join(strings.Fields(line), " ")+" ", want+" ") {
			return
		}
	}
	t.Errorf("no %q in\n%s", want, e.Text())
}

// regions returns all 8-connected regions of n squares up to the symmetries of the square.
func regions(n int) []amazons.Set {
	level := []amazons.Set{1}
	for range n - 1 {
		seen := map[amazons.Set]bool{}
		var next []amazons.Set
		for _, x := range level {
			x <<= 9 // room on all sides
			for near := amazons.Grow(x) &^ x; near != 0; near &= near - 1 {
				if y := area.CanonicalShape(x | near&-near); !seen[y] {
					seen[y] = true
					next = append(next, y)
				}
			}
		}
		level = next
	}
	return level
}

// eachArea calls tell with every area of n squares, up to symmetry, that has so many queens of
// Black and of White.
func eachArea(n, black, white int, tell func(black, white, empty amazons.Set)) {
	subsets := func(x amazons.Set, n int, tell func(amazons.Set)) {
		for y := x; ; y = (y - 1) & x {
			if bits.OnesCount64(y) == n {
				tell(y)
			}
			if y == 0 {
				return
			}
		}
	}
	for _, x := range regions(n) {
		subsets(x, black, func(b amazons.Set) {
			subsets(x&^b, white, func(w amazons.Set) { tell(b, w, x&^b&^w) })
		})
	}
}

// alone returns the position of one area on an otherwise burnt 8x8 board.
func alone(black, white, empty amazons.Set, toMove amazons.Colour) amazons.Position {
	b := amazons.Board{Width: 8, Height: 8}
	return amazons.Position{Board: b, Black: black, White: white, Burnt: b.Mask() &^ (black | white | empty),
		ToMove: toMove}
}

// withMoves gives a side up to two free moves in the upper right corner of a position made by alone.
func withMoves(p amazons.Position, side amazons.Colour, n int) amazons.Position {
	corner := []amazons.Set{p.Board.Square(7, 7).Bit(), p.Board.Square(6, 7).Bit(), p.Board.Square(7, 6).Bit()}[:n+1]
	for _, s := range corner {
		p.Burnt &^= s
	}
	if side == amazons.Black {
		p.Black |= corner[0]
	} else {
		p.White |= corner[0]
	}
	return p
}

// TestFigures has positions chosen so that they have what the text says of a figure: the bounds
// [Black's, White's] by the rules alone, and the source of a bound.
func TestFigures(t *testing.T) {
	for _, c := range []struct {
		figure, position, bounds, line string
	}{
		{"2001 figure 5: three AES, White begins", "..W/.Bx/xxx w", "[-1, 3]",
			"black active [-1, 3] safe move, 3 empty squares beside it (paper's rule 2); queens B2"},
		{"2001 figure 6: two AES, and the opponent that could take both stands next to Black", "W.x/xB./xxx w",
			"[0, 2]", "black active [0, 2] safe move, 2 empty squares beside it (paper's rule 3); queens B2"},
		{"2001 figure 7: two AES that one move takes", "xxW/x.x/B.x b", "[-2, 2]",
			"black active [-2, 2] no safe move; queens A1"},
		{"2001 figure 8: one AES each, which the other is too far away to reach", "x..xx/Bxx.W w", "[-1, 1]",
			"white active [-3, 1] safe move, 1 empty square beside it (paper's rule 4); queens E1"},
		{"2001 figure 9: two AES that the other side can take, but not both", "xWx/.x./.B. b", "[-2, 2]",
			"white active [-4, 2] safe move, 2 empty squares beside it (paper's rule 3); queens B3"},
		{"2001 figure 9: one move blocks two opponents", "W.B.W b", "[0, 2]",
			"white active [-2, 2] no safe move; queens A1 E1"},
		{"2001 figure 10: a safe move for each of two queens, into the same square", "Wxxxx/x.x.x/Wx.xB b", "[-3, 1]",
			"white active [-3, 1] safe move, 1 empty square beside it (paper's rule 4); queens A1"},
		{"2001 figure 11 left: one blocker, three territories, of which it fills one", ".x.B/xWxx/.x.x b", "[-4, 0]",
			"white blocker [-1, -1] plodding; queens B2"},
		{"2001 figure 11 right: a safe move for each side makes 0", "W./.B w", "[0, 0]",
			"black active [0, 2] safe move, 2 empty squares beside it (paper's rule 3); queens B1"},
		{"2014 figure 8 left: rule 5", "xx.x/W.xB/xxxW b", "[-2, 0]",
			"white active [-2, 0] safe move of several queens, 1 empty square beside them " +
				"(paper's rule 5); queens D1 A2"},
		{"2014 figure 8 right: rule 6", "xWxx/Bxxx/x..x/xx.W b", "[-3, 1]",
			"white active [-3, 1] safe move of several queens, 2 empty squares beside them " +
				"(paper's rule 6); queens D1 B4"},
		{"2001 section 2.2: a territory that a plod fills", "B..x/xxxx/xxxW w", "[2, 2]",
			"black simple [2, 2] plodding; queens A3"},
	} {
		e := explain(t, static(), parse(t, c.position))
		if got := e.Bounds.String(); got != c.bounds {
			t.Errorf("%s: %s: got %s, want %s\n%s", c.figure, c.position, got, c.bounds, e.Text())
		}
		contains(t, e, c.line)
	}
}

// TestMueller2001Figure3 plays the two variations that the paper gives in full, the one of figure
// 12 and that of section 4 of which it says that "Black ends up with a five point area at the
// bottom, which is sufficient to win against the five empty points left at the top": that is what
// it says of figure 3. White is to play, and Black wins by static evaluation. (In that paper Black
// stands at the bottom and begins.)
func TestMueller2001Figure3(t *testing.T) {
	for _, c := range []struct {
		name, line, territory string
	}{
		{"figure 3 and section 4", "B1-D3xB3 A4-A3xC1 D1-D2xB2 B5-C4xB4 D2-C3xE5 E4-E3xE4 E2-D2xE2",
			"black blocker [5, 5] plodding; queens A2"},
		{"figure 12", "B1-B3xD3 B5-B4xE1 D1-C1xC3 E4-E3xD2 B3-C4xB3 A4-A3xB2 C4-D4xE4",
			"black blocker [4, 4] plodding; queens C1"},
	} {
		p := parse(t, "5x5")
		p.White, p.Black, p.ToMove = p.Black, p.White, amazons.Black
		for text := range strings.FieldsSeq(c.line) {
			m, err := p.ParseMove(text)
			if err != nil {
				t.Fatal(err)
			}
			p = p.After(m)
		}
		e := eval.NewJudge(nil, static()).Explain(p)
		if e.Verdict != eval.Lost || e.Winner() != "black" || e.Rule != "sum of the bounds" ||
			e.Bounds.Lower != (cgt.Bound{}) {
			t.Errorf("%s: %v\n%s", c.name, p, e.Text())
		}
		contains(t, e, c.territory)
		var search reference.Fast
		if search.Wins(p.State()) {
			t.Errorf("%s: search says that White wins %v", c.name, p)
		}
	}
}

// TestMueller2001Figure4 is about a queen with one adjacent empty square (AES) that goes first. The
// text fixes nothing else, so these are all areas of up to five squares with such a queen as
// Black's only one: with n empty squares Black gets one move and White n-1 at most, so n-1 more
// moves elsewhere are enough.
func TestMueller2001Figure4(t *testing.T) {
	j := eval.NewJudge(nil, static())
	var search reference.Fast
	count := 0
	for n := 3; n <= 5; n++ {
		for queens := 1; queens <= n-2; queens++ {
			eachArea(n, 1, queens, func(black, white, empty amazons.Set) {
				moves := bits.OnesCount64(empty) - 1
				if bits.OnesCount64(amazons.Grow(black)&empty) != 1 {
					return
				}
				p := withMoves(alone(black, white, empty, amazons.Black), amazons.Black, moves)
				count++
				if e := j.Explain(p); e.Verdict != eval.Won || !search.Wins(p.State()) {
					t.Fatalf("%v: not won\n%s", p, e.Text())
				}
			})
		}
	}
	if count < 1000 {
		t.Errorf("only %d areas", count)
	}
	p := parse(t, "B..W/xxxx/B.xx b")
	if e := explain(t, static(), p); e.Verdict != eval.Won || e.Rule != "first move in area b (rule 1)" {
		t.Errorf("%v\n%s", p, e.Text())
	}
	without := static()
	without.FirstMove = false
	if e := explain(t, without, p); e.Sums[0].Wins || e.Sums[0].Text() != "-1 or more" {
		t.Errorf("%v without rule 1\n%s", p, e.Text())
	}
}

// TestMueller2001Figure8 goes over all areas of up to six squares with one queen a side where no
// move of either reaches a square next to the other: "each amazon has a safe move because the
// opponent is too far away to block it".
func TestMueller2001Figure8(t *testing.T) {
	j := eval.NewJudge(nil, static())
	far := func(own, opp, empty amazons.Set) bool {
		near := amazons.Grow(own) & empty
		s := amazons.State{Own: opp, Opp: own, Empty: empty}
		for _, m := range s.Moves(nil) {
			if (m.To.Bit()|m.Arrow.Bit())&near != 0 {
				return false
			}
		}
		return near != 0
	}
	count := 0
	for n := 5; n <= 6; n++ {
		eachArea(n, 1, 1, func(black, white, empty amazons.Set) {
			if !far(black, white, empty) || !far(white, black, empty) {
				return
			}
			count++
			for _, side := range []amazons.Colour{amazons.White, amazons.Black} {
				e := j.Explain(alone(black, white, empty, side))
				// Nobody is sure of more than the empty squares that the other side leaves; less is
				// a mistake.
				if k := cgt.Int(int64(n - 4)); e.Bounds.Lower.N.Less(k.Neg()) || k.Less(e.Bounds.Upper.N) {
					t.Fatalf("want [%v, %v] or better\n%s", k.Neg(), k, e.Text())
				}
			}
		})
	}
	if count == 0 {
		t.Error("no such areas")
	}
	t.Logf("%d areas", count)
}

// TestMueller2001Figure10 goes over all areas of up to six squares with two queens of White, each
// of which taken by itself has a safe move, and one of Black: "they are dependent, and if Black
// moves first then White cannot make two safe moves". In these the left stop is above n-4, which
// two safe moves would make it, and the bound is that of one safe move or none.
func TestMueller2001Figure10(t *testing.T) {
	j := eval.NewJudge(nil, static())
	var solver endgame.Solver
	count := 0
	for n := 4; n <= 6; n++ {
		one, two := cgt.Int(int64(n-5)), cgt.Int(int64(n-7)) // upper bounds with n-3 empty squares
		eachArea(n, 1, 2, func(black, white, empty amazons.Set) {
			for w := white; w != 0; w &= w - 1 {
				if area.Component(black|w&-w|empty) != black|w&-w|empty ||
					j.Explain(alone(black, w&-w, empty, amazons.Black)).Bounds.Upper.N != one {
					return
				}
			}
			v, err := solver.Value(black, white, empty)
			if err != nil {
				t.Fatal(err)
			}
			left, _ := v.Stops()
			if !two.Less(left) {
				return // they do not depend on each other
			}
			count++
			if e := j.Explain(alone(black, white, empty, amazons.Black)); e.Bounds.Upper.N.Less(left) {
				t.Fatalf("the left stop is %v\n%s", left, e.Text())
			}
		})
	}
	if count == 0 {
		t.Error("no such areas")
	}
	t.Logf("%d areas", count)
}

// TestSong2014Figure4 goes over all areas of up to six squares with the stops 2 and 1 whose
// thermograph is vertical on the right and diagonal on the left at temperature 0: the text says
// that of figure 4, and that the bounds are [1, 2+e]. Such an area is hot and so not 1 itself, and
// we say (1, 2+e]. (No area of five squares or fewer is so.) That the game is at least 1 and not at
// most 2 is played out: with a move more for White, Black wins as the second; with two, as the
// first.
func TestSong2014Figure4(t *testing.T) {
	var solver endgame.Solver
	var search reference.Fast
	count := map[int]int{}
	for n := 3; n <= 6; n++ {
		for black := 1; black < n-1; black++ {
			for white := 1; black+white < n; white++ {
				eachArea(n, black, white, func(b, w, e amazons.Set) {
					v, err := solver.Value(b, w, e)
					if err != nil {
						t.Fatal(err)
					}
					left, right := v.Stops()
					th := v.Thermograph()
					if left != cgt.Int(2) || right != cgt.Int(1) || th.Right[0].Value != right ||
						th.Left[0].Value == left {
						return
					}
					count[n]++
					if got := v.Bounds().String(); got != "(1, 2+e]" {
						t.Fatalf("%s: bounds %s", area.Text(b, w, e), got)
					}
					if search.Wins(withMoves(alone(b, w, e, amazons.White), amazons.White, 1).State()) ||
						!search.Wins(withMoves(alone(b, w, e, amazons.Black), amazons.White, 2).State()) {
						t.Fatalf("%s: the game is not as the bounds say", area.Text(b, w, e))
					}
				})
			}
		}
	}
	if len(count) != 1 || count[6] == 0 {
		t.Errorf("areas by squares: %v", count)
	}
	b, w, e, err := area.Parse("B..xx/Wxx.B")
	if err != nil {
		t.Fatal(err)
	}
	if v, err := solver.Value(b, w, e); err != nil ||
		v.Thermograph().String() != "(3,-1)(5/4,3/4) | (1,-1)(1,1/2)(5/4,3/4)" {
		t.Errorf("thermograph %v, %v", v.Thermograph(), err)
	}
}

// TestSong2014Figure7 has the defective territory on the left, all positions of one queen and two
// squares of which it fills only one: [1, 2] by plodding, 1 by the database. On the right the
// blocker B2 has three squares and can fill one, since it shoots back: [1, 3] by plodding. If none
// of the three touches another they are three corners, and White stands on the fourth.
func TestSong2014Figure7(t *testing.T) {
	full := eval.DefaultSettings()
	count := 0
	eachArea(3, 1, 0, func(black, _, empty amazons.Set) {
		// A side that can move makes the judge look at more than rule 1.
		p := withMoves(alone(black, 0, empty, amazons.White), amazons.White, 1)
		if n, _, ok := database(t).Territory(black, 0, empty); !ok || n == 2 {
			return
		}
		count++
		contains(t, explain(t, static(), p), "black simple [1, 2] plodding; queens")
		contains(t, explain(t, full, p), "both simple [1, 1] database, number; queens")
	})
	if count == 0 {
		t.Error("no defective territory of two squares")
	}
	for _, position := range []string{".xW/xBx/.x. w", ".x./xBx/.xW w", ".x./xBx/Wx. w", "Wx./xBx/.x. w"} {
		e := explain(t, static(), parse(t, position))
		contains(t, e, "black blocker [1, 1] plodding; queens B2") // one of the squares, the others are [0, 1]
		if got := e.Bounds.String(); got != "[1, 3]" {
			t.Errorf("%s: %s\n%s", position, got, e.Text())
		}
		full.Databases = false // the whole position is in the database
		contains(t, explain(t, full, parse(t, position)), "black blocker [1, 1] database; queens B2")
	}
}

// TestSong2014Figure9 has the queens A1 and B2 of Black, the blocker B2 beside an active area r of
// four empty squares where White has a safe move; the text fixes these and that A1 can fill A2. r
// is chosen. With B2 at work in r its bounds are [-2, 2]; where A1 is missing, so that B2 fills A2,
// they are [-4, 2]. Black's territory adds 1.
func TestSong2014Figure9(t *testing.T) {
	e := explain(t, static(), parse(t, "xxW./.B../Bx.x w"))
	contains(t, e, "black blocker [1, 1] plodding; queens A1")
	contains(t, e, "black active [-2, 4] safe move, 2 empty squares beside it (paper's rule 3); queens B2")
	if got := e.Bounds.String(); got != "[-1, 3]" { // 1 + [-2, 2]
		t.Errorf("with A1: %s\n%s", got, e.Text())
	}
	set := static()
	set.Retract = false // B2 fills A2, whatever it might do in r
	e = explain(t, set, parse(t, "xxW./.B../xx.x w"))
	contains(t, e, "black blocker [1, 1] plodding; queens B2")
	contains(t, e, "black active [-4, 4] the number of squares")
	if got := e.Bounds.String(); got != "[-3, 3]" { // 1 + [-4, 2]
		t.Errorf("without A1: %s\n%s", got, e.Text())
	}
}

// TestSong2014Figure10 has a territory with the blocker C2 that is full of moves with it and
// defective without: the text says that it then has the bounds [1, 2], so it has two empty squares.
// The other squares are chosen so that the blocker is worth more in the active area, and Black wins
// by sparing it.
func TestSong2014Figure10(t *testing.T) {
	p := parse(t, "W.xx/xx../.xBx/xB.x w")
	b := p.Board
	other, c2, empty := b.Square(1, 0).Bit(), b.Square(2, 1).Bit(), b.Square(0, 1).Bit()|b.Square(2, 0).Bit()
	db := database(t)
	if n, needed, ok := db.Territory(other, c2, empty); !ok || n != 2 || needed != c2 {
		t.Errorf("with C2: %d moves, %v needed", n, needed)
	}
	if n, _, ok := db.Territory(other, 0, empty); !ok || n != 1 {
		t.Errorf("without C2: %d moves", n)
	}
	set := eval.DefaultSettings()
	set.LocalSearch = 0
	e := explain(t, set, p)
	contains(t, e, "black blocker [1, 2] database; queens B1")
	contains(t, e, "black active [-1, 3] safe move, 2 empty squares beside it (paper's rule 3); queens C2")
	if e.Verdict != eval.Lost || e.Bounds.Lower != (cgt.Bound{}) {
		t.Errorf("C2 spared: %s", e.Text())
	}
	set.Retract = false
	e = explain(t, set, p)
	contains(t, e, "black blocker [2, 2] database; queens B1 C2")
	if e.Verdict != eval.Open {
		t.Errorf("C2 not spared: %s", e.Text())
	}
}

// TestSong2014Figure11 has a 6x6 position with nine empty squares in four active areas, one star
// and three zeros, Black to move; so far the text. With four queens a side each area has one of
// each, and with nine empty squares it is Black's move indeed. The areas are chosen to be in the
// database. The mover wins by the star; without the database the zeros are only known up to
// infinitesimals, by local search, and the rules alone do not find the winner.
func TestSong2014Figure11(t *testing.T) {
	const position = "WBx.x./..xxWB/xxxxx./x.xxxx/WxxxxW/.B.x.B"
	for side, winner := range map[string]string{" b": "black", " w": "white"} {
		p := parse(t, position+side)
		set := eval.DefaultSettings()
		set.LocalSearch = 0
		e := explain(t, set, p)
		if e.Winner() != winner || e.Rule != "first move in a star" || e.Bounds.String() != "[-e, +e]" ||
			len(e.Areas) != 4 {
			t.Errorf("with the database:\n%s", e.Text())
		}
		contains(t, e, "both active [-e, +e] database, infinitesimal, star; queens F1 F2")
		for _, queens := range []string{"B1 A2", "E5 F5", "A6 B6"} {
			contains(t, e, "both active [0, 0] database, number; queens "+queens)
		}
		if e := explain(t, static(), p); e.Verdict != eval.Open {
			t.Errorf("by the rules alone:\n%s", e.Text())
		}
		set = static()
		set.LocalSearch = 9
		e = explain(t, set, p)
		for _, queens := range []string{"B1 A2", "E5 F5", "A6 B6"} {
			contains(t, e, "both active [-e, +e] local search; queens "+queens)
		}
		if e.Searched == nil || e.Searched.String() != "[-e, +e]" || e.Winner() != winner || e.Rule != "local search" {
			t.Errorf("by local search:\n%s", e.Text())
		}
	}
}

// TestSong2014Figure12 has a 6x6 position with six empty squares, White to move. The text fixes:
// area A is 3 wide and 6 high with two queens a side; B is a star; C is a territory of value 1. A
// has bounds [-2, 2] by one safe move of each side, so it has four empty squares, and B and C have
// one each. What is chosen is which squares A has. By local search A is [-e, 2+e] and the sum [1-e,
// 3+e], a win for Black; without it the sum is [-1, 3] and a star, which tells nothing.
func TestSong2014Figure12(t *testing.T) {
	p := parse(t, "xBxxWx/.xxx.x/WxWxBx/x.Bxxx/x.xxx./x.xWxB w")
	set := eval.DefaultSettings()
	e := explain(t, set, p)
	if e.Winner() != "black" || e.Rule != "local search" || e.Searched == nil || e.Searched.String() != "[1-e, 3+e]" ||
		e.Bounds.String() != "[-1-e, 3+e]" {
		t.Errorf("with local search:\n%s", e.Text())
	}
	contains(t, e, "both active [-e, +e] database, infinitesimal, star; queens E4 E6")
	contains(t, e, "both simple [1, 1] database, number; queens F1")
	contains(t, e, "both active [-e, 2+e] local search; queens C3 A4 C4 B6")
	set.LocalSearch = 0
	if e := explain(t, set, p); e.Verdict != eval.Open || e.Searched != nil || e.Bounds.String() != "[-1-e, 3+e]" {
		t.Errorf("without local search:\n%s", e.Text())
	}
}
