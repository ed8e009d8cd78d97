package checker

import (
	"bytes"
	"errors"
	"testing"
)

// TestTableSlots: tables take three times the raw data at most, and always have a free slot.
func TestTableSlots(t *testing.T) {
	for _, n := range []int64{0, 1, 2, 7, 8, 100, 1 << 20} {
		for _, each := range []int64{6, 7, 8, 9, 12, 20} {
			slots := tableSlots(n, n*each)
			if slots <= n || slots > n+n/2+1 {
				t.Errorf("%d slots for %d entries", slots, n)
			}
			if slotBytes*slots > 3*n*each+2*slotBytes {
				t.Errorf("%d entries of %d bytes take %d bytes", n, each, slotBytes*slots)
			}
		}
	}
}

// TestMemory: what Memory says is what Check asks for.
func TestMemory(t *testing.T) {
	f := late(t).write()
	need, err := Memory(bytes.NewReader(f), int64(len(f)))
	if err != nil {
		t.Fatal(err)
	}
	mustHold(t, f, Options{MaxMemory: need})
	if _, err := checkBytes(f, Options{MaxMemory: need - 1}); !errors.Is(err, ErrMemory) {
		t.Error(err)
	}
	if _, err := Memory(bytes.NewReader(f[:len(f)-1]), int64(len(f)-1)); !errors.Is(err, ErrTruncated) {
		t.Error(err)
	}
}
