package amazons

import (
	"encoding/xml"
	"errors"
	"flag"
	"io"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

var update = flag.Bool("update", false, "write the golden files instead of comparing with them")

// checkGolden compares got with testdata/name.
func checkGolden(t *testing.T, name, got string) {
	t.Helper()
	path := filepath.Join("testdata", name)
	if *update {
		if err := os.MkdirAll("testdata", 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(got), 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	want, err := os.ReadFile(path)
	if err != nil {
		t.Fatalf("%v; go test -update writes it", err)
	}
	if diff := cmp.Diff(string(want), got); diff != "" {
		t.Errorf("%s (-want +got; go test -update accepts it):\n%s", path, diff)
	}
}

func mustPosition(t testing.TB, text string) Position {
	t.Helper()
	p, err := ParsePosition(text)
	if err != nil {
		t.Fatal(err)
	}
	return p
}

func mustPlay(t testing.TB, p Position, moves ...string) (Position, Move) {
	t.Helper()
	var last Move
	for _, text := range moves {
		m, err := p.ParseMove(text)
		if err != nil {
			t.Fatal(err)
		}
		p, last = p.After(m), m
	}
	return p, last
}

func TestDrawings(t *testing.T) {
	start := mustPosition(t, "5x6")
	played, last := mustPlay(t, start, "B1-B4xD4", "A5-A3xC3")
	back, lastBack := mustPlay(t, start, "B1-B2xB1")
	late := randomLine(mustPosition(t, "8x8"), 24, rand.New(rand.NewPCG(1, 2)))
	tests := []struct {
		name string
		p    Position
		last *Move
	}{
		{"start-5x6", start, nil},
		{"last-move-5x6", played, &last},
		{"shot-back-5x6", back, &lastBack},
		{"late-8x8", late[len(late)-1], nil},
		{"small-1x1", mustPosition(t, "W b"), nil},
		{"strip-7x1", mustPosition(t, "W..x..B w"), nil},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			svg := test.p.SVG(test.last)
			checkGolden(t, test.name+".svg", svg)
			for d := xml.NewDecoder(strings.NewReader(svg)); ; {
				if _, err := d.Token(); errors.Is(err, io.EOF) {
					break
				} else if err != nil {
					t.Fatalf("not well-formed XML: %v", err)
				}
			}
			text := test.p.Text()
			if test.last != nil {
				text = test.p.TextMarked(*test.last)
			}
			checkGolden(t, test.name+".txt", text)
		})
	}
}

// TestSVGPassesOverOtherMoves: a last move that leaves the board is not drawn.
func TestSVGPassesOverOtherMoves(t *testing.T) {
	p := mustPosition(t, "4x4")
	if svg := p.SVG(&Move{NoSquare, 63, 0}); strings.Contains(svg, svgMark) || strings.Contains(svg, svgWay) {
		t.Error("a move that leaves the board is marked")
	}
}

// failingWriter fails after n bytes.
type failingWriter struct{ n int }

var errFull = errors.New("full")

func (w *failingWriter) Write(p []byte) (int, error) {
	if len(p) > w.n {
		return w.n, errFull
	}
	w.n -= len(p)
	return len(p), nil
}

func TestWriteSVGReportsTheWritersError(t *testing.T) {
	p := mustPosition(t, "6x6")
	whole := len(p.SVG(nil))
	for _, n := range []int{0, 1, whole / 2, whole - 1} {
		if err := p.WriteSVG(&failingWriter{n}, nil); !errors.Is(err, errFull) {
			t.Errorf("room for %d of %d bytes: error %v", n, whole, err)
		}
	}
	if err := p.WriteSVG(&failingWriter{whole}, nil); err != nil {
		t.Errorf("room for all: %v", err)
	}
}
