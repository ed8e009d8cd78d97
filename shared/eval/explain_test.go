package eval_test

import (
	"bufio"
	"encoding/json"
	"encoding/xml"
	"errors"
	"flag"
	"io"
	"math/bits"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"amazonsfarm/shared/amazons"
	"amazonsfarm/shared/area"
	"amazonsfarm/shared/cgt"
	"amazonsfarm/shared/endgame"
	"amazonsfarm/shared/eval"
	"amazonsfarm/shared/reference"
)

var areas = flag.Int("areas", 2000, "single areas in TestAreaBounds")

// TestAreaBounds holds the bounds of single areas, with and without a database and the parts that use it, against their exact values.
func TestAreaBounds(t *testing.T) {
	r := rand.New(rand.NewPCG(21, *from))
	solver := endgame.Solver{}
	set := eval.DefaultSettings()
	set.LocalSearch = 0
	without := set
	without.Databases, without.Territories = false, false
	judges := []*eval.Judge{eval.NewJudge(database(t), set), eval.NewJudge(database(t), without)}
	exact := 0
	for range *areas {
		p := singleArea(r)
		if bits.OnesCount64(p.Board.Mask()&^(p.Black|p.White|p.Burnt)) > 6 {
			continue
		}
		v, err := solver.Value(p.Black, p.White, p.Board.Mask()&^(p.Black|p.White|p.Burnt))
		if err != nil {
			t.Fatal(err)
		}
		for _, j := range judges {
			e := j.Explain(p)
			for _, s := range e.Sums {
				v, n := v, s.Bound.N
				if s.For == "white" { // seen by White
					v, n = v.Neg(), n.Neg()
				}
				if _, right := v.Stops(); right.Less(n) {
					t.Fatalf("%v: %s is sure of %s, but the stop is %v\n%s", p, s.For, s.Text(), right, e.Text())
				}
				if s.Bound.Strength == cgt.Relaxed || !n.IsInt() {
					continue
				}
				rest, err := v.AddInt(-n.Floor())
				if err != nil {
					t.Fatal(err)
				}
				if rest.Winner(cgt.Right) != cgt.Left || s.Bound.Strength == cgt.Tightened && rest.Winner(cgt.Left) != cgt.Left {
					t.Fatalf("%v: %s is sure of %s, but the value is %v\n%s", p, s.For, s.Text(), v.Bounds(), e.Text())
				}
				exact++
			}
		}
	}
	if exact < *areas/2 {
		t.Errorf("only %d bounds were compared exactly", exact)
	}
	t.Logf("%d areas, %d bounds that are not relaxed, 0 wrong", *areas, exact)
}

// singleArea returns a position of one 8-connected area of 4 to 10 squares.
func singleArea(r *rand.Rand) amazons.Position {
	b := amazons.Board{Width: 6, Height: 6}
	n := 4 + r.IntN(7)
	shape := reference.Region(r, b, n)
	p := amazons.Position{Board: b, Burnt: b.Mask() &^ shape, ToMove: amazons.Colour(r.IntN(2))}
	queens := 1 + r.IntN(min(5, n-2))
	for ; shape != 0; shape &= shape - 1 {
		if k := r.IntN(bits.OnesCount64(shape)); k < queens {
			queens--
			if r.IntN(2) == 0 {
				p.Black |= shape & -shape
			} else {
				p.White |= shape & -shape
			}
		}
	}
	return p
}

// TestOutcomes compares the verdicts with the oracle's.
func TestOutcomes(t *testing.T) {
	file, err := os.Open(filepath.Join("..", "..", "..", "shared", "oracle", "outcomes.tsv"))
	if errors.Is(err, os.ErrNotExist) {
		t.Skip("the oracle is not beside this checkout: ../shared/oracle/outcomes.tsv")
	}
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	judges := []*eval.Judge{eval.NewJudge(database(t), eval.DefaultSettings()), eval.NewJudge(nil, eval.DefaultSettings()), nil}
	var decided [3]int
	rows := 0
	lines := bufio.NewScanner(file)
	lines.Scan()
	for lines.Scan() {
		f := strings.Split(lines.Text(), "\t")
		p, err := amazons.ParsePosition(f[3] + " b")
		if err != nil {
			t.Fatalf("%s: %v", f[0], err)
		}
		rows++
		for k, s := range []amazons.State{p.State(), swap(p.State())} {
			for i, j := range judges {
				v, _ := j.Evaluate(s)
				if v == eval.Open {
					continue
				}
				decided[i]++
				if (v == eval.Won) != (f[4+k] == "win") {
					t.Errorf("%s: %s is %s for the side to move, judge %d says %v", f[0], f[3], f[4+k], i, v)
				}
			}
		}
	}
	t.Logf("%d rows, both movers: with database %.1f %%, without %.1f %%, function %.1f %%", rows,
		50*float64(decided[0])/float64(rows), 50*float64(decided[1])/float64(rows), 50*float64(decided[2])/float64(rows))
}

// TestFigures has positions built after the figures of the papers, as far as the text fixes them: what each side is sure of, as
// [Black's, White's].
func TestFigures(t *testing.T) {
	set := eval.DefaultSettings()
	set.LocalSearch = 0
	without := set
	without.Databases, without.Territories = false, false
	for _, c := range []struct {
		figure, position string
		settings         eval.Settings
		bounds           string // of both sides' sums
	}{
		{"001 figure 5: three AES, White begins", "..W/.Bx/xxx w", without, "[-1, 3]"},
		{"001 figure 6: two AES, and the opponent that could take both stands next to Black", "W.x/xB./xxx w", without, "[0, 2]"},
		{"001 figure 7: two AES that one move takes", "xxW/x.x/B.x b", without, "[-2, 2]"},
		{"001 figure 9: one safe move, not two, for queens that one move blocks", "WxW/.x./.B. b", without, "[-2, 2]"},
		{"001 figure 11 left: one blocker, three territories, of which it fills one", ".x.B/xWxx/.x.x b", without, "[-4, 0]"},
		{"001 figure 11 right: a safe move for each side makes 0", "W./.B w", without, "[0, 0]"},
		{"000 figure 8 left: rule 5", "xx.x/W.xB/xxxW b", without, "[-2, 0]"},
		{"000 figure 8 right: rule 6", "xWxx/Bxxx/x..x/xx.W b", without, "[-3, 1]"},
		{"001 section 2.2: a territory that a plod fills", "B..x/xxxx/xxxW w", without, "[2, 2]"},
	} {
		p, err := amazons.ParsePosition(c.position)
		if err != nil {
			t.Fatal(err)
		}
		e := eval.NewJudge(database(t), c.settings).Explain(p)
		var b cgt.Bounds
		for _, s := range e.Sums {
			if s.For == "black" {
				b.Lower = s.Bound
			} else {
				b.Upper = s.Bound
			}
		}
		if b.String() != c.bounds {
			t.Errorf("%s: %s: got %v, want %s\n%s", c.figure, c.position, b, c.bounds, e.Text())
		}
	}
}

// TestExplanationForms checks that every form of an explanation is well made and agrees with Evaluate.
func TestExplanationForms(t *testing.T) {
	r := rand.New(rand.NewPCG(3, 9))
	j := eval.NewJudge(database(t), eval.DefaultSettings())
	for i := range 300 {
		b, s := anyPosition(r)
		p := amazons.PositionOf(b, s, amazons.Colour(i&1))
		e := j.Explain(p)
		if v, _ := j.Evaluate(s); v != e.Verdict || (v == eval.Open) != (e.Rule == "") {
			t.Fatalf("%v: Evaluate says %v, explained as %v by %q", p, v, e.Verdict, e.Rule)
		}
		text, err := json.Marshal(e)
		if err != nil || !json.Valid(text) {
			t.Fatal(p, err)
		}
		d := xml.NewDecoder(strings.NewReader(e.SVG()))
		for {
			if _, err := d.Token(); err == io.EOF {
				break
			} else if err != nil {
				t.Fatal(p, err)
			}
		}
		for _, a := range e.Areas {
			if !area.Connected(a.Squares) && !strings.HasPrefix(a.Source, "local") {
				t.Fatalf("%v: an area that is not connected\n%s", p, e.Text())
			}
		}
		if !strings.Contains(e.Text(), "for the side to move") {
			t.Fatal("no verdict")
		}
	}
}

// FuzzJudge judges positions made from arbitrary bytes for both movers against exhaustive search.
func FuzzJudge(f *testing.F) {
	f.Add(uint8(5), uint8(5), []byte{0, 1, 2, 3, 0, 1, 2, 3, 0, 1, 2})
	f.Add(uint8(6), uint8(4), []byte("amazons on a small board"))
	set := eval.DefaultSettings()
	set.LocalSearch = 2
	judges := []*eval.Judge{eval.NewJudge(database(f), set), eval.NewJudge(nil, eval.DefaultSettings())}
	var search reference.Fast
	f.Fuzz(func(t *testing.T, width, height uint8, squares []byte) {
		b := amazons.Board{Width: 3 + width%4, Height: 3 + height%4}
		var s amazons.State
		for i, c := range squares[:min(len(squares), b.Squares())] {
			bit := b.UnpackSquare(uint8(i)).Bit()
			switch c % 6 {
			case 0:
				if bits.OnesCount64(s.Own) < 5 {
					s.Own |= bit
				}
			case 1:
				if bits.OnesCount64(s.Opp) < 5 {
					s.Opp |= bit
				}
			case 2, 3:
				if bits.OnesCount64(s.Empty) < 10 {
					s.Empty |= bit
				}
			}
		}
		for _, s := range []amazons.State{s, swap(s)} {
			for _, j := range judges {
				if v, _ := j.Evaluate(s); v != eval.Open && search.Wins(s) != (v == eval.Won) {
					t.Errorf("%v: the judge says %v, search says otherwise", amazons.PositionOf(b, s, amazons.White), v)
				}
			}
		}
	})
}
