package store

import (
	"errors"
	"path/filepath"
	"strings"
	"testing"

	"amazonsfarm/master/hints"
	"amazonsfarm/master/tree"
	"amazonsfarm/shared/proof"
)

// hintOf is a hint for a position of the first campaign.
func hintOf(i uint64, data string) hints.Hint {
	return hints.Hint{Place: hints.Place{Campaign: 1, Key: keyOf(i)}, Data: []byte(data)}
}

func TestHints(t *testing.T) {
	o := quick
	path := filepath.Join(t.TempDir(), "store")
	s, err := Create(path, testCampaign, o)
	if err != nil {
		t.Fatal(err)
	}
	put := func(i uint64, data string) {
		t.Helper()
		if err := s.Commit(nil, []hints.Hint{hintOf(i, data)}); err != nil {
			t.Fatal(err)
		}
	}
	expect := func(i uint64, want string) {
		t.Helper()
		got, err := s.Hint(1, keyOf(i))
		if err != nil || string(got) != want {
			t.Errorf("hint %d: %.100q, %v, want %q", i, got, err, want)
		}
	}
	put(1, "one")
	put(2, "two")
	put(2, "two again")
	for i := range uint64(maxHints - 2) {
		put(100+i, "another")
	}
	put(3, "no room")
	put(1, strings.Repeat("x", maxHintBytes+1)) // too large: the old one stays
	expect(1, "one")
	expect(2, "two again")
	expect(3, "")

	// A position that is a fact needs no hint.
	p, id := payloadOf(5, 10)
	upload(t, s, p)
	if err := s.Commit([]tree.Persist{{Facts: []proof.Fact{factOf(1, id)}}},
		[]hints.Hint{hintOf(1, "late")}); err != nil {
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

	if _, err := s.Hint(1, keyOf(9)); err != nil {
		t.Error(err)
	}
	s.Close()
	if _, err := s.Hint(1, keyOf(2)); !errors.Is(err, ErrClosed) {
		t.Errorf("of a closed store: %v", err)
	}
}
