package store

import (
	"path/filepath"
	"testing"

	"amazonsfarm/master/tree"
	"amazonsfarm/shared/proof"
)

// TestRetractOfContradiction takes a certificate back whose fact contradicts another, and so was never
// stored. What was said of the contradiction goes with it; otherwise the campaign would stop again.
func TestRetractOfContradiction(t *testing.T) {
	s, err := Create(filepath.Join(t.TempDir(), "farm.db"), testCampaign, quick)
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	data := []byte("a false part")
	id := proof.IDOf(data)
	if _, err := s.PutCertificate(1, id, data); err != nil {
		t.Fatal(err)
	}
	if err := s.Commit([]tree.Persist{{Campaign: 1, Epoch: 1, Contradiction: &tree.Contradiction{}}}, nil); err != nil {
		t.Fatal(err)
	}
	if c, err := s.Contradicted(1); err != nil || c == nil {
		t.Fatalf("before: %v, %v", c, err)
	}
	if _, err := s.Retract([]proof.ID{id}); err != nil {
		t.Fatal(err)
	}
	if c, err := s.Contradicted(1); err != nil || c != nil {
		t.Errorf("after: %v, %v", c, err)
	}
}
