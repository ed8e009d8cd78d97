package forecast

import (
	"errors"
	"reflect"
	"testing"

	"amazonsfarm/shared/amazons"
)

func position(t *testing.T, text string) amazons.Position {
	t.Helper()
	p, err := amazons.ParsePosition(text)
	if err != nil {
		t.Fatal(err)
	}
	return p
}

// TestKnownBoards holds forecasts to a factor of ten of what one thread took: 19,418 nodes for 4x5, which is
// lost, and 4,332 for 5x5, which is won (deploy/docs/results/boards.md). The same seed gives the same one.
func TestKnownBoards(t *testing.T) {
	o := Options{Nodes: 40_000, Seed: 1, TableBytes: 16 << 20}
	r, err := Run(t.Context(), position(t, "4x5"), nil, o)
	if err != nil || r.Lost.Nodes < 1942 || r.Lost.Nodes > 194_180 || r.Lost.Low > r.Lost.High {
		t.Errorf("%+v, %+v, %v", r, r.Lost, err)
	}
	five := position(t, "5x5")
	r, err = Run(t.Context(), five, nil, o)
	if err != nil || r.Won.Nodes < 433 || r.Won.Nodes > 43_320 || r.Spent < o.Nodes || r.Spent > 2*o.Nodes {
		t.Errorf("%+v, %+v, %v", r, r.Won, err)
	}
	again, err := Run(t.Context(), five, nil, o)
	if err != nil || !reflect.DeepEqual(r, again) {
		t.Errorf("%+v, then %+v, %v", r, again, err)
	}
	m, err := five.ParseMove("B1-B4xB3")
	if err != nil {
		t.Fatal(err)
	}
	r, err = Run(t.Context(), five, []amazons.Move{m}, o)
	if err != nil || r.Won == nil || r.Lost != nil {
		t.Errorf("%+v, %v", r, err)
	}
}

// TestEasy: what a short search solves needs no lines, and too few nodes are refused.
func TestEasy(t *testing.T) {
	r, err := Run(t.Context(), position(t, "5x4"), nil, Options{Nodes: 100_000, Seed: 1, TableBytes: 16 << 20})
	if err != nil || !r.Solved || r.Likely != "won" {
		t.Errorf("%+v, %v", r, err)
	}
	few := Options{Nodes: 2, Seed: 1, TableBytes: 16 << 20}
	if _, err := Run(t.Context(), position(t, "5x5"), nil, few); !errors.Is(err, ErrNodes) {
		t.Errorf("%v", err)
	}
}
