package main

import (
	"encoding/xml"
	"errors"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"amazonsfarm/master/document"
	"amazonsfarm/shared/cli"
)

func settled() (document.Status, history) {
	return document.Status{Board: "5x5", Root: ".B.B./B...B/...../W...W/.W.W. w", Winner: "first", Nodes: 1234567,
			Certificate: &cli.Certificate{Positions: 13605, Bytes: 52335},
			FirstMoves: []document.FirstMove{{Move: "B1-B2xB1", Verdict: "unknown"},
				{Move: "B1-B3xD3", Verdict: "wins"}}},
		history{Seconds: []float64{9, 6, 3, 0}, Phi: []uint32{1, 40, 0, 0}, Delta: []uint32{1, 900, 1 << 30, 1 << 30},
			Nodes: []uint64{0, 10, 20, 20}}
}

// TestPicture wants well-formed XML with what matters in it, and nothing after the answer.
func TestPicture(t *testing.T) {
	text, err := picture(settled())
	if err != nil {
		t.Fatal(err)
	}
	for d := xml.NewDecoder(strings.NewReader(text)); ; {
		if _, err := d.Token(); errors.Is(err, io.EOF) {
			break
		} else if err != nil {
			t.Fatalf("%v\n%s", err, text)
		}
	}
	for _, want := range []string{"5x5: the first player wins",
		"1,234,567 positions expanded; certificate of 13,605 positions, 0.1 MB, verified", "B1-B3xD3 wins", ">1,000<",
		`points="88.0,286.0 328.0,167.4 568.0,286"`, `points="88.0,286.0 328.0,67.4 568.0,64"`} {
		if !strings.Contains(text, want) {
			t.Errorf("no %q in\n%s", want, text)
		}
	}
}

func TestPictureRefuses(t *testing.T) {
	s, h := settled()
	open := s
	open.Certificate = nil
	if _, err := picture(open, h); err == nil {
		t.Error("a campaign that is not settled has a picture")
	}
	if _, err := picture(s, history{Seconds: []float64{1}, Phi: []uint32{1}, Delta: []uint32{1}}); err == nil {
		t.Error("one moment has a picture")
	}
	broken := s
	broken.Root = "x"
	if _, err := picture(broken, h); err == nil {
		t.Error("a campaign without a root has a picture")
	}
	text := filepath.Join(t.TempDir(), "text")
	if err := os.WriteFile(text, []byte("no JSON"), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, args := range [][]string{nil, {text}, {text, text}, {"missing", text}} {
		if run(args, io.Discard) == nil {
			t.Errorf("%q are taken", args)
		}
	}
}
