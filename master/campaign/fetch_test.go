package campaign

import (
	"bytes"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"amazonsfarm/master/evidence"
	"amazonsfarm/shared/amazons"
	"amazonsfarm/shared/eval"
	"amazonsfarm/shared/proof"
)

// TestFetchDamaged fetches parts from a place where two of them are damaged: both are named, and the others come.
func TestFetchDamaged(t *testing.T) {
	root, folder := position(t, "4x4"), t.TempDir()
	place, name := filepath.Join(folder, "place"), filepath.Join(folder, "x.proof")
	m := proof.Manifest{Board: root.Board}
	for _, p := range []amazons.Position{root, root.After(root.State().Moves(nil)[0]),
		root.After(root.State().Moves(nil)[1])} {
		c := proof.Certificate{Board: root.Board, Roots: []proof.Root{proof.RootOf(p, eval.Lost)}, Set: new(proof.Set)}
		data, err := proof.Encode(c)
		if err != nil {
			t.Fatal(err)
		}
		part, err := proof.SavePart(folder, c)
		put := evidence.OpenFolder(place).Put(part.ID, part.Bytes, bytes.NewReader(data))
		if err := errors.Join(err, put); err != nil {
			t.Fatal(err)
		}
		m.Roots, m.Parts = append(m.Roots, c.Roots...), append(m.Parts, part)
	}
	if err := proof.WriteManifest(name, m); err != nil {
		t.Fatal(err)
	}
	for _, p := range m.Parts[:2] {
		if err := os.WriteFile(filepath.Join(place, p.ID.Name()[:2], p.ID.Name()), []byte("other"), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	done, err := Fetch(t.Context(), name, place)
	if !errors.Is(err, evidence.ErrDamaged) || done.Parts != 1 {
		t.Errorf("fetched %d parts, %v", done.Parts, err)
	}
	for _, p := range m.Parts[:2] {
		if !strings.Contains(err.Error(), p.ID.Name()) {
			t.Errorf("%v does not name %s", err, p.ID.Name())
		}
	}
}
