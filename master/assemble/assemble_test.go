package assemble

import (
	"bytes"
	"context"
	"errors"
	"os"
	"path/filepath"
	"testing"

	"amazonsfarm/master/tree"
	"amazonsfarm/shared/amazons"
	"amazonsfarm/shared/eval"
	"amazonsfarm/shared/proof"
)

func part(t *testing.T, c proof.Certificate) Part {
	t.Helper()
	data, err := proof.Encode(c)
	if err != nil {
		t.Fatal(err)
	}
	return Part{ID: proof.ID{1}, Data: bytes.NewReader(data), Size: int64(len(data))}
}

func TestWrite(t *testing.T) {
	root, err := amazons.ParsePosition("4x4")
	if err != nil {
		t.Fatal(err)
	}
	roots := Roots(root, nil, tree.Settled{Verdict: eval.Lost})
	empty := proof.Certificate{Board: root.Board, Roots: roots, Set: new(proof.Set)}
	in := Input{Board: root.Board, Roots: roots, Parts: []Part{part(t, empty)}}
	name := filepath.Join(t.TempDir(), "p")
	stale := filepath.Join(filepath.Dir(name), ".p.123.tmp")
	if err := os.WriteFile(stale, nil, 0o644); err != nil {
		t.Fatal(err)
	}

	// A single part with the roots asked for is taken as it is; whether it is good is for the
	// checker to say.
	if _, err := Write(context.Background(), name, in); err != nil {
		t.Fatalf("one part: %v", err)
	}
	if c, err := proof.ReadFile(name); err != nil || len(c.Roots) != 1 {
		t.Errorf("what was written: %+v, %v", c, err)
	}
	one := make([]byte, in.Parts[0].Size)
	if _, err := in.Parts[0].Data.ReadAt(one, 0); err != nil {
		t.Fatal(err)
	}
	if data, err := os.ReadFile(name); err != nil || !bytes.Equal(data, one) {
		t.Errorf("the part was not taken as it is: %v", err)
	}
	if entries, err := os.ReadDir(filepath.Dir(name)); err != nil || len(entries) != 1 {
		t.Errorf("the folder holds %v, %v", entries, err)
	}

	// Of several, what the roots need is put together, and what is missing has a name.
	in.Parts = append(in.Parts, in.Parts[0])
	missing := filepath.Join(t.TempDir(), "q")
	_, err = Write(context.Background(), missing, in)
	var m *MissingError
	if !errors.Is(err, ErrMissing) || !errors.As(err, &m) || len(m.Keys) == 0 {
		t.Errorf("two parts without evidence: %v", err)
	}
	if _, err := os.Stat(missing); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("a certificate that lacks evidence is there: %v", err)
	}

	in.Parts = []Part{{Data: bytes.NewReader([]byte("damaged")), Size: 7}}
	if _, err := Write(context.Background(), missing, in); !errors.Is(err, proof.ErrNotCertificate) {
		t.Errorf("a damaged part: %v", err)
	}
	if _, err := Write(context.Background(), filepath.Join(name, "x"),
		Input{Board: root.Board, Roots: roots, Parts: []Part{part(t, empty)}}); err == nil {
		t.Error("written into a file as if it were a folder")
	}
}

func TestRoots(t *testing.T) {
	root, err := amazons.ParsePosition("4x4")
	if err != nil {
		t.Fatal(err)
	}
	m, err := root.ParseMove("B1-B2xB1")
	if err != nil {
		t.Fatal(err)
	}
	if got := Roots(root, []amazons.Move{m}, tree.Settled{Verdict: eval.Won}); len(got) != 1 ||
		got[0] != proof.RootOf(root, eval.Won) {
		t.Errorf("a given move wins: %v", got)
	}
	if got := Roots(root, []amazons.Move{m}, tree.Settled{NoGivenMoveWins: true}); len(got) != 1 ||
		got[0] != proof.RootOf(root.After(m), eval.Won) {
		t.Errorf("no given move wins: %v", got)
	}
}
