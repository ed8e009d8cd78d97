package endgame

import (
	"errors"
	"math/rand/v2"
	"strings"
	"testing"

	"amazonsfarm/shared/area"
	"amazonsfarm/shared/cgt"
)

// TestStop ends a question in the middle of it, and asks it again.
func TestStop(t *testing.T) {
	black, white, empty, err := area.Parse("W..B/.xx./B..W")
	if err != nil {
		t.Fatal(err)
	}
	var plain Solver
	want, err := plain.Value(black, white, empty)
	if err != nil {
		t.Fatal(err)
	}
	enough, asked := errors.New("enough"), 0
	s := Solver{Stop: func() error {
		if asked++; asked > 100 {
			return enough
		}
		return nil
	}}
	if _, err := s.Value(black, white, empty); !errors.Is(err, enough) || asked != 101 {
		t.Errorf("after %d searches: %v", asked, err)
	}
	s.Stop = nil
	if got, err := s.Value(black, white, empty); err != nil || got != want {
		t.Errorf("%v, %v, want %v", got, err, want)
	}
	s = Solver{searched: solverLimit}
	if _, err := s.search(black, white, empty); !errors.Is(err, ErrLarge) {
		t.Errorf("beyond the limit: %v", err)
	}
}

// TestPlayedSums: who wins a sum of areas by playing their forms is who wins by a search of the whole as one game.
func TestPlayedSums(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 3))
	forms := NewForms(cgt.NewArena(cgt.Limits{}))
	solver := Solver{}
	fights := 0
	for range 120 {
		// Two or three areas with one queen a side each, in boxes of 2x3 squares, burnt ones among them.
		var rows [3][]string
		for range 2 + random.IntN(2) {
			box := []byte("......")
			for i, at := range random.Perm(len(box))[:2+random.IntN(3)] {
				box[at] = "WBxx"[i]
			}
			for y := range 3 {
				rows[y] = append(rows[y], string(box[2*y:2*y+2]))
			}
		}
		text := strings.Join(rows[0], "x") + "/" + strings.Join(rows[1], "x") + "/" + strings.Join(rows[2], "x")
		b, w, e, err := area.Parse(text)
		if err != nil {
			t.Fatal(err)
		}
		var p area.Partition
		p.Basic(b, w, e)
		var all []cgt.Form
		for _, a := range p.Areas() {
			f, err := forms.Form(a.Black, a.White, a.Empty)
			if err != nil {
				t.Fatal(err)
			}
			all = append(all, f)
		}
		v, err := solver.Value(b, w, e)
		if err != nil {
			t.Fatal(err)
		}
		for _, mover := range []cgt.Side{cgt.Left, cgt.Right} {
			got, err := forms.Arena.Play(all, mover)
			if err != nil || got != v.Winner(mover) {
				t.Fatalf("%s, %v begins: %v, %v by playing, %v by search", text, mover, got, err, v.Winner(mover))
			}
		}
		if v.Winner(cgt.Left) != v.Winner(cgt.Right) {
			fights++
		}
	}
	if fights < 12 {
		t.Errorf("it matters who begins in %d of 120 sums: too few to tell", fights)
	}
}
