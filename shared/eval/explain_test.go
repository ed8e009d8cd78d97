package eval_test

import (
	"bufio"
	"encoding/json"
	"encoding/xml"
	"errors"
	"flag"
	"fmt"
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
	"amazonsfarm/shared/testkit/reference"
)

var areas = flag.Int("areas", 2000, "single areas in TestAreaBounds")

// TestAreaBounds holds the bounds of single areas, with and without a database and the parts that
// use it, against their exact values.
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
				if rest.Winner(cgt.Right) != cgt.Left || s.Bound.Strength == cgt.Tightened &&
					rest.Winner(cgt.Left) != cgt.Left {
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
	judges := []*eval.Judge{eval.NewJudge(database(t), eval.DefaultSettings()),
		eval.NewJudge(nil, eval.DefaultSettings()), nil}
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
				v := j.Verdict(s)
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
		50*float64(decided[0])/float64(rows), 50*float64(decided[1])/float64(rows),
		50*float64(decided[2])/float64(rows))
}

// TestExplanationForms checks that every form of an explanation is well made and agrees with Evaluate.
func TestExplanationForms(t *testing.T) {
	r := rand.New(rand.NewPCG(3, 9))
	j := eval.NewJudge(database(t), eval.DefaultSettings())
	var search reference.Fast
	searched := 0 // positions of which the sum with local search tells the winner
	for i := range 300 {
		b, s := anyPosition(r)
		p := amazons.PositionOf(b, s, amazons.Colour(i&1))
		e := j.Explain(p)
		if v := j.Verdict(s); v != e.Verdict || (v == eval.Open) != (e.Rule == "") {
			t.Fatalf("%v: Evaluate says %v, explained as %v by %q", p, v, e.Verdict, e.Rule)
		}
		data, err := json.Marshal(e)
		if err != nil {
			t.Fatal(p, err)
		}
		var object struct {
			Position, Rule, Bounds, Searched string
			Areas                            []struct {
				Name, For, Kind, Bounds, Source string
				Squares, Queens                 []string
			}
		}
		if err := json.Unmarshal(data, &object); err != nil || object.Position != p.String() || object.Rule != e.Rule ||
			len(object.Areas) != len(e.Areas) {
			t.Fatalf("%v: %v\n%s", p, err, data)
		}
		if len(e.Sums) > 0 && object.Bounds != e.Bounds.String() || (object.Searched != "") != (e.Searched != nil) {
			t.Fatalf("%v: sums %q and %q\n%s", p, object.Bounds, object.Searched, e.Text())
		}
		if e.Searched != nil {
			mover := cgt.Right
			if p.ToMove == amazons.Black {
				mover = cgt.Left
			}
			if w := winnerBy(*e.Searched, mover); w != cgt.Nobody {
				searched++
				if (w == mover) != search.Wins(s) {
					t.Fatalf("%v: the sum with local search names the wrong winner\n%s", p, e.Text())
				}
			}
		}
		// Every form names the area, and marks it on its squares.
		text, picture := e.Text(), e.SVG()
		grids := map[string]string{} // the marked board of each side
		for _, part := range strings.Split(text, "\n\n") {
			side := ""
			if _, err := fmt.Sscanf(part, "areas as %s counts them", &side); err == nil ||
				strings.HasPrefix(part, "areas\n") {
				grids[side] = part
			}
		}
		squares := 0
		for k, a := range e.Areas {
			o := object.Areas[k]
			if o.For != a.For || o.Kind != a.Kind || o.Bounds != a.Bounds.String() || o.Source != a.Source ||
				len(o.Squares) != bits.OnesCount64(a.Squares) || len(o.Queens) != bits.OnesCount64(a.Queens) {
				t.Fatalf("%v: area %s: %+v\n%s", p, o.Name, o, text)
			}
			if !strings.Contains(text, "\n"+o.Name+"  "+a.For) || !strings.Contains(picture, ">"+o.Name+"  "+a.For) {
				t.Fatalf("%v: area %s is missing\n%s", p, o.Name, text)
			}
			for side, grid := range grids {
				marked := 0
				for word := range strings.FieldsSeq(grid[strings.Index(grid, "\n")+1:]) {
					if len(word) > 1 && strings.Contains(word[1:], o.Name) {
						marked++
					}
				}
				if want := len(o.Squares); marked != want && (a.For == "both" || a.For == side) || marked != 0 &&
					a.For != "both" && a.For != side {
					t.Fatalf("%v: area %s is marked on %d squares for %q\n%s", p, o.Name, marked, side, text)
				}
			}
			squares += len(o.Squares)
		}
		if n := strings.Count(picture, "fill=\"none\" stroke=\"#"); n < squares || len(e.Areas) > 0 && len(grids) == 0 {
			t.Fatalf("%v: %d squares marked in the picture, want %d; %d boards in\n%s", p, n, squares, len(grids), text)
		}
		d := xml.NewDecoder(strings.NewReader(picture))
		for {
			if _, err := d.Token(); err == io.EOF {
				break
			} else if err != nil {
				t.Fatal(p, err)
			}
		}
		for _, a := range e.Areas {
			if area.Component(a.Squares) != a.Squares && !strings.HasPrefix(a.Source, "local") {
				t.Fatalf("%v: an area that is not connected\n%s", p, e.Text())
			}
		}
		if !strings.Contains(text, "for the side to move") || !strings.Contains(picture, "for the side to move") {
			t.Fatal("no verdict")
		}
	}
	if searched == 0 {
		t.Error("local search never tells the winner: the test tests little")
	}
}

// TestExplainedCrowd explains a position whose few empty squares many queens stand around. Their stops take
// seconds, so with a limit the explanation goes without them.
func TestExplainedCrowd(t *testing.T) {
	p, err := amazons.ParsePosition(".WB.WW/W.BW.W/xB.xB. w")
	if err != nil {
		t.Fatal(err)
	}
	set := eval.FullSettings()
	set.Stops = 1000
	e := eval.NewJudge(nil, set).Explain(p)
	if e.Verdict != eval.Won || e.Rule != "local search" || e.Searched != nil {
		t.Errorf("%v by %q, sum %v", e.Verdict, e.Rule, e.Searched)
	}
	for _, a := range e.Areas {
		if a.Source == "local search" {
			t.Errorf("an area of %x has the value of a search that was given up", a.Squares)
		}
	}
}

// TestExplainedRules counts positions that are decided by closing moves and by guarded search, as
// their explanations say, and compares them with exhaustive search.
func TestExplainedRules(t *testing.T) {
	r := rand.New(rand.NewPCG(*from, 12))
	set := eval.DefaultSettings()
	set.GuardedSearch, set.LocalSearch = 5, 0 // explaining local search takes its time
	j := eval.NewJudge(nil, set)
	var search reference.Fast
	count := map[string]int{}
	for range 6000 {
		b, s := anyPosition(r)
		e := j.Explain(amazons.PositionOf(b, s, amazons.White))
		rule, move, _ := strings.Cut(e.Rule, ": ")
		count[rule]++
		switch rule {
		case "guarded search":
			if (e.Verdict == eval.Won) != search.Wins(s) {
				t.Errorf("%v: guarded search says %v", e.Position, e.Verdict)
			}
		case "first move that closes squares off":
			m, err := amazons.ParseMove(b, move)
			if err != nil || !s.Legal(m) || search.Wins(s.After(m)) {
				t.Errorf("%v: %q does not win (%v)", e.Position, move, err)
			}
		}
	}
	t.Log(count)
	if count["guarded search"] < 10 || count["first move that closes squares off"] < 10 {
		t.Error("the test tests little")
	}
}

// TestExplainedSums holds the sum of a side in an explanation against the sum of its areas.
func TestExplainedSums(t *testing.T) {
	r := rand.New(rand.NewPCG(*from, 13))
	set := eval.DefaultSettings()
	set.LocalSearch, set.GuardedSearch, set.Closing = 0, 0, false
	j := eval.NewJudge(nil, set)
	for range 20000 {
		b, s := anyPosition(r)
		e := j.Explain(amazons.PositionOf(b, s, amazons.White))
		for _, sum := range e.Sums {
			var of cgt.Bounds
			for _, a := range e.Areas {
				if a.For == sum.For {
					of = of.Add(a.Bounds)
				}
			}
			if n := of.Lower.N; sum.For == "black" && n != sum.Bound.N {
				t.Fatalf("%v: the sum of %s is %v, its areas make %v", e.Position, sum.For, sum.Bound.N, n)
			}
			if n := of.Upper.N; sum.For == "white" && n != sum.Bound.N {
				t.Fatalf("%v: the sum of %s is %v, its areas make %v", e.Position, sum.For, sum.Bound.N, n)
			}
		}
	}
}

// FuzzJudge judges positions made from arbitrary bytes for both movers against exhaustive search.
func FuzzJudge(f *testing.F) {
	f.Add(uint8(5), uint8(5), []byte{0, 1, 2, 3, 0, 1, 2, 3, 0, 1, 2})
	f.Add(uint8(6), uint8(4), []byte("amazons on a small board"))
	set := eval.DefaultSettings()
	set.LocalSearch, set.GuardedSearch = 2, 5
	judges := []*eval.Judge{eval.NewJudge(database(f), set), eval.NewJudge(nil, eval.DefaultSettings())}
	var search reference.Fast
	f.Fuzz(func(t *testing.T, width, height uint8, squares []byte) {
		b := amazons.Board{Width: 3 + width%4, Height: 3 + height%4}
		s := reference.Read(squares, b, 5, 10)
		for _, s := range []amazons.State{s, swap(s)} {
			for _, j := range judges {
				if v := j.Verdict(s); v != eval.Open && search.Wins(s) != (v == eval.Won) {
					t.Errorf("%v: the judge says %v, search says otherwise", amazons.PositionOf(b, s, amazons.White), v)
				}
			}
		}
	})
}

// winnerBy returns who wins a game with these bounds when mover begins, Nobody where they do not tell
// (Song and Müller 2014, section II.D).
func winnerBy(b cgt.Bounds, mover cgt.Side) cgt.Side {
	// wins is the rule for the side whose bound has the given sign, seen from that side.
	wins := func(sign int, s cgt.Strength, second bool) bool {
		return sign > 0 || sign == 0 && (s == cgt.Tightened || s == cgt.Exact && second)
	}
	switch {
	case wins(b.Lower.N.Sign(), b.Lower.Strength, mover == cgt.Right):
		return cgt.Left
	case wins(-b.Upper.N.Sign(), b.Upper.Strength, mover == cgt.Left):
		return cgt.Right
	}
	return cgt.Nobody
}
