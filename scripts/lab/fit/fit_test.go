package main

import (
	"bytes"
	"errors"
	"io"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestTableIsReproducible makes the table from the recording that is kept here, and compares the bytes.
func TestTableIsReproducible(t *testing.T) {
	rows, err := readRecording(filepath.Join("testdata", "recording.tsv.gz"))
	if err != nil {
		t.Fatal(err)
	}
	got, err := tableFile(rows)
	if err != nil {
		t.Fatal(err)
	}
	want, err := os.ReadFile(filepath.Join("..", "..", "..", "shared", "estimate", "table.go"))
	if err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(got, want) {
		t.Errorf("the table of the recording is not the one in table.go; scripts/fit makes it anew:\n%s", got)
	}
}

// TestRecordIsReproducible records the search of a small board twice.
func TestRecordIsReproducible(t *testing.T) {
	suite, err := positionsOf([]string{"4x4"})
	if err != nil {
		t.Fatal(err)
	}
	var recorded [2]bytes.Buffer
	for i := range recorded {
		if err := record(t.Context(), suite, &recorded[i]); err != nil {
			t.Fatal(err)
		}
	}
	if !bytes.Equal(recorded[0].Bytes(), recorded[1].Bytes()) {
		t.Error("two recordings of the same searches differ")
	}
	lines := strings.Split(strings.TrimSpace(recorded[0].String()), "\n")
	if len(lines) < 20 {
		t.Errorf("only %d rows", len(lines))
	}
	for _, line := range lines {
		if _, err := parseRow(line); err != nil {
			t.Errorf("%q: %v", line, err)
		}
	}
	for _, bad := range []string{"", "a\tb\tc\td", "4x4 w\tB1-B2xB1\topen\t1", "4x4\tB1-B2xB1\twon\tmany",
		"4x4\tB1-A9xB1\twon\t1"} {
		if r, err := parseRow(bad); err == nil {
			t.Errorf("%q is taken for %+v", bad, r)
		}
	}
}

// TestRegression draws outcomes and values from known weights and finds them again.
func TestRegression(t *testing.T) {
	r := rand.New(rand.NewPCG(31, 32))
	want := []float64{0.5, -1, 2}
	var x [][]float64
	var outcomes []bool
	var values []float64
	for range 40000 {
		v := []float64{1, r.NormFloat64(), r.NormFloat64()}
		x = append(x, v)
		outcomes = append(outcomes, r.Float64() < probability(want, v))
		values = append(values, dot(want, v)+r.NormFloat64())
	}
	for name, got := range map[string][]float64{"logistic": logistic(x, outcomes),
		"linear": linear(x, values)} {
		for i := range want {
			if math.Abs(got[i]-want[i]) > 0.06 {
				t.Errorf("%s: weight %d is %.3f, want %.3f", name, i, got[i], want[i])
			}
		}
	}
}

// TestCompare solves small boards with all forms, and refuses what is no form.
func TestCompare(t *testing.T) {
	positions, err := positionsOf([]string{"4x4", "5x4"})
	if err != nil {
		t.Fatal(err)
	}
	positions[0].verdict, positions[1].verdict = "lost", "won"
	names := []string{"constant", "mobility", "territory", "fitted"}
	var out bytes.Buffer
	if err := compare(t.Context(), positions, names, 1_000_000, 16<<20, &out); err != nil {
		t.Fatal(err)
	}
	if lines := strings.Count(out.String(), "\n"); lines != 2+len(names) {
		t.Errorf("%d lines:\n%s", lines, out.String())
	}
	positions[0].verdict = "won"
	if err := compare(t.Context(), positions, names[:1], 1_000_000, 16<<20, &out); err == nil {
		t.Error("a wrong verdict was not noticed")
	}
	for _, bad := range []string{"", "best", "fitted,sum=3"} {
		if err := run(t.Context(), []string{"compare", "1", "4x4", bad}, io.Discard); !errors.Is(err, errUsage) {
			t.Errorf("%q is taken for a form", bad)
		}
	}
}
