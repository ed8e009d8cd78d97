package campaign

import (
	"os"
	"path/filepath"
	"testing"

	"amazonsfarm/shared/checker"
	"amazonsfarm/shared/proof"
)

// TestMoveProof: a proof in parts takes the place of an older one. The parts of that one go, what somebody else has put
// into the folders stays.
func TestMoveProof(t *testing.T) {
	c, err := proof.ReadFile("../archive/testdata/4x4.proof")
	if err != nil {
		t.Fatal(err)
	}
	draft, name := filepath.Join(t.TempDir(), "x.proof"), filepath.Join(t.TempDir(), "y.proof")
	theirs := filepath.Join(proof.PartsFolder(name), "thesis.txt")
	if err := os.MkdirAll(filepath.Dir(theirs), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(theirs, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	for _, size := range []int{30, 60, 60} {
		m, err := proof.WriteParts(t.Context(), draft, c, size)
		if err != nil {
			t.Fatal(err)
		}
		if err := moveProof(draft, name); err != nil {
			t.Fatal(err)
		}
		if _, err := checker.CheckFile(t.Context(), name, checker.Options{}); err != nil {
			t.Errorf("parts of %d positions: %v", size, err)
		}
		if files, err := os.ReadDir(filepath.Dir(theirs)); err != nil || len(files) != len(m.Parts)+1 {
			t.Errorf("%d files for %d parts and one of somebody else: %v", len(files), len(m.Parts), err)
		}
		if left, err := os.ReadDir(filepath.Dir(draft)); err != nil || len(left) > 0 {
			t.Errorf("of the draft is left: %v, %v", left, err)
		}
	}
}
