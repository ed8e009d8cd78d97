package store

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"amazonsfarm/shared/disk"
	"amazonsfarm/shared/proof"
)

// TestPlaceOfOneStore wants a place of parts to belong to one store, also before it has a part.
func TestPlaceOfOneStore(t *testing.T) {
	folder := t.TempDir()
	path := filepath.Join(folder, "x.db")
	s, err := Create(path, testCampaign, quick)
	if err != nil {
		t.Fatal(err)
	}
	for range 2 { // while it is open, and later
		for _, name := range []string{"x", "x.db.old"} {
			if _, err := Create(filepath.Join(folder, name), testCampaign, quick); !errors.Is(err, disk.ErrExists) ||
				!strings.Contains(err.Error(), path) {
				t.Errorf("%s beside x.db: %v", name, err)
			}
		}
		s.Close()
	}
	for _, name := range []string{"x", "x.db.old"} {
		to := filepath.Join(folder, name)
		if _, err := BackupFile(t.Context(), path, to, false, nil); !errors.Is(err, disk.ErrExists) {
			t.Errorf("a backup to %s: %v", name, err)
		}
		if _, err := Compact(t.Context(), path, to, false, nil); !errors.Is(err, disk.ErrExists) {
			t.Errorf("a compaction to %s: %v", name, err)
		}
	}
	if err := os.WriteFile(filepath.Join(folder, "y"), []byte("no store"), 0o600); err != nil {
		t.Fatal(err)
	}
	if s, err = Create(filepath.Join(folder, "y.db"), testCampaign, quick); err != nil {
		t.Fatalf("beside a file that is no store: %v", err)
	}
	s.Close()

	o := quick
	o.Evidence = filepath.Join(folder, "parts")
	for _, name := range []string{"a.db", "b.db"} {
		s, err := Create(filepath.Join(folder, name), testCampaign, o)
		if first := name == "a.db"; first != (err == nil) || !first && !errors.Is(err, disk.ErrExists) {
			t.Errorf("%s with the parts in %s: %v", name, o.Evidence, err)
		} else if first {
			s.Close()
		}
	}
	if err := os.Remove(filepath.Join(folder, "a.db")); err != nil {
		t.Fatal(err)
	}
	if s, err = Create(filepath.Join(folder, "b.db"), testCampaign, o); err != nil {
		t.Fatalf("the place of a store that is gone: %v", err)
	}
	s.Close()
}

// TestRelativePlace wants a place to mean the same folder whatever the working directory is.
func TestRelativePlace(t *testing.T) {
	folder := t.TempDir()
	t.Chdir(folder)
	if err := os.Mkdir("sub", 0o700); err != nil {
		t.Fatal(err)
	}
	o := quick
	o.Evidence = "parts"
	s, err := Create("r.db", testCampaign, o)
	if err == nil {
		_, err = s.PutCertificate(1, proof.IDOf([]byte("x")), []byte("x"))
	}
	if err := errors.Join(err, s.Close()); err != nil {
		t.Fatal(err)
	}
	t.Chdir("sub")
	s = mustOpen(t, filepath.Join("..", "r.db"), quick)
	defer s.Close()
	if data, err := s.Certificate(1, proof.IDOf([]byte("x"))); string(data) != "x" {
		t.Errorf("from another folder: %q, %v", data, err)
	}
	if entries, _ := os.ReadDir("."); len(entries) > 0 {
		t.Errorf("it made %v", entries)
	}
}

// TestReplacedStoreKeepsParts wants no part removed on behalf of a store that was replaced: the newer one has the same.
func TestReplacedStoreKeepsParts(t *testing.T) {
	path := filepath.Join(t.TempDir(), "x.db")
	id := proof.IDOf([]byte("x"))
	s, err := Create(path, testCampaign, quick)
	if err == nil {
		_, err = s.PutCertificate(1, id, []byte("x"))
	}
	if err := errors.Join(err, s.Close()); err != nil {
		t.Fatal(err)
	}
	if _, err := Compact(t.Context(), path, "", false, nil); err != nil {
		t.Fatal(err)
	}
	s = mustOpen(t, path+OldSuffix, quick)
	if gone, err := s.RemoveParts([]proof.ID{id}); len(gone) > 0 || err != nil {
		t.Errorf("removed %d parts, %v", len(gone), err)
	}
	s.Close()
	s = mustOpen(t, path, quick)
	defer s.Close()
	if data, err := s.Certificate(1, id); string(data) != "x" {
		t.Errorf("the newer store has %q, %v", data, err)
	}
}
