package main

import (
	"slices"
	"testing"

	"amazonsfarm/shared/amazons"
)

// The node count is the signature of the build: the same on every run.
func TestBenchIsDeterministic(t *testing.T) {
	all := benchPositions
	defer func() { benchPositions = all }()
	benchPositions = slices.Clone(all)
	for i := range benchPositions {
		benchPositions[i].nodes /= 4 // it takes long enough so
	}
	first, err := bench(t.Context(), 1)
	if err != nil {
		t.Fatal(err)
	}
	second, err := bench(t.Context(), 1)
	if err != nil {
		t.Fatal(err)
	}
	if first.Nodes != second.Nodes || first.Evaluations != second.Evaluations || first.Nodes == 0 {
		t.Errorf("%d nodes, %d evaluations, then %d, %d", first.Nodes, first.Evaluations, second.Nodes, second.Evaluations)
	}
	for i, p := range first.Positions {
		if p.Nodes != second.Positions[i].Nodes || p.Verdict != second.Positions[i].Verdict {
			t.Errorf("%s: %+v, then %+v", p.Position, p, second.Positions[i])
		}
		if _, err := amazons.ParsePosition(p.Position); err != nil {
			t.Error(err)
		}
	}
}
