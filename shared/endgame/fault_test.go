//go:build unix

package endgame

import (
	"errors"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"golang.org/x/sys/unix"
)

// TestCutShort cuts the file of an open database short. Look-ups then find nothing, and a check says what
// is wrong; nothing crashes.
func TestCutShort(t *testing.T) {
	whole := slices.Clone(database(t).data)
	for _, left := range []int64{0, 4096, int64(len(whole)) / 2, int64(len(whole)) - 4096} {
		name := filepath.Join(t.TempDir(), "areas.db")
		if err := os.WriteFile(name, whole, 0o600); err != nil {
			t.Fatal(err)
		}
		db, err := openSize(name, 0) // blocks are checked by look-ups
		if err != nil {
			t.Fatal(err)
		}
		if err := os.Truncate(name, left); err != nil {
			t.Fatal(err)
		}
		for n := range Set(1 << 12) { // areas of a row and a half
			db.Find(n&1, n&2, n&^3)
			db.Territory(n&1, n&2, n&^3)
			db.Value(n&1, 0, n&^1)
		}
		if err := db.Check(); !errors.Is(err, ErrDamaged) {
			t.Errorf("%d bytes left: the check says %v", left, err)
		}
		if left < int64(len(whole))/2 {
			if err := db.Damaged(); !errors.Is(err, ErrDamaged) {
				t.Errorf("%d bytes left: %v", left, err)
			}
			if _, ok := db.Find(1, 0, 2); ok {
				t.Errorf("%d bytes left: it finds something", left)
			}
		}
		db.Close()
	}
}

// TestPipe: a pipe is no database, and nobody waits for its other end.
func TestPipe(t *testing.T) {
	name := filepath.Join(t.TempDir(), "areas-pipe.db")
	if err := unix.Mkfifo(name, 0o600); err != nil {
		t.Skip(err)
	}
	if _, err := Open(name); !errors.Is(err, ErrFormat) {
		t.Error(err)
	}
}
