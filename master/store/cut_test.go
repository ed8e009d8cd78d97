package store

import (
	"os"
	"path/filepath"
	"testing"
	"time"

	"amazonsfarm/master/tree"
)

// TestCutShort cuts the file of an open store short. Commits then fail with one sentence, and the store
// closes.
func TestCutShort(t *testing.T) {
	for _, left := range []int64{0, 8192, 30_000} {
		path := filepath.Join(t.TempDir(), "farm.db")
		s, err := Create(path, testCampaign, quick)
		if err != nil {
			t.Fatal(err)
		}
		if err := os.Truncate(path, left); err != nil {
			t.Fatal(err)
		}
		for range 3 {
			err = s.Commit([]tree.Persist{{Campaign: 1, Epoch: 7, Spent: 5}}, nil)
		}
		if left < 30_000 && err == nil {
			t.Errorf("%d bytes left: a commit succeeds", left)
		}
		closed := make(chan error, 1)
		go func() { closed <- s.Close() }()
		select {
		case <-closed:
		case <-time.After(20 * time.Second):
			t.Fatalf("%d bytes left: it does not close", left)
		}
	}
}
