package store

import (
	"bytes"
	"errors"
	"path/filepath"
	"testing"

	"amazonsfarm/shared/proof"
)

func TestMemories(t *testing.T) {
	o := quick
	o.MaxMemories, o.MaxMemoryBytes = 2, 100
	path := filepath.Join(t.TempDir(), "store")
	s, err := Create(path, testCampaign, o)
	if err != nil {
		t.Fatal(err)
	}
	put := func(i uint64, data string) {
		t.Helper()
		if err := s.Commit(Batch{Memories: []Memory{{keyOf(i), []byte(data)}}}); err != nil {
			t.Fatal(err)
		}
	}
	expect := func(i uint64, want string) {
		t.Helper()
		got, err := s.Memory(1, keyOf(i))
		if err != nil || string(got) != want {
			t.Errorf("memory %d: %q, %v, want %q", i, got, err, want)
		}
	}
	put(1, "one")
	put(2, "two")
	put(2, "two again")
	put(3, "no room")
	put(1, string(bytes.Repeat([]byte("x"), 101))) // too large: the old one stays
	expect(1, "one")
	expect(2, "two again")
	expect(3, "")

	// A position that is a fact needs no memory.
	p, id := payloadOf(5, 10)
	upload(t, s, p)
	if err := s.Commit(Batch{Facts: []proof.Fact{factOf(1, id)},
		Memories: []Memory{{keyOf(1), []byte("late")}}}); err != nil {
		t.Fatal(err)
	}
	expect(1, "")
	put(1, "later still")
	expect(1, "")
	put(3, "now there is room")
	expect(3, "now there is room")
	check(t, s)
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	s = mustOpen(t, path, o)
	expect(2, "two again")
	check(t, s)

	if _, err := s.Memory(1, keyOf(9)); err != nil {
		t.Error(err)
	}
	s.Close()
	if _, err := s.Memory(1, keyOf(2)); !errors.Is(err, ErrClosed) {
		t.Errorf("of a closed store: %v", err)
	}
}
