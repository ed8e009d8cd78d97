package store

import (
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"amazonsfarm/master/store/record"
	"amazonsfarm/master/trust"

	"go.etcd.io/bbolt"
)

// wantStandings fails the test if the store has others.
func wantStandings(t *testing.T, s *Store, when string, want ...trust.Standing) {
	t.Helper()
	if list, err := s.Standings(); err != nil || !slices.Equal(list, want) {
		t.Errorf("%s the store has %+v, %v; want %+v", when, list, err, want)
	}
	check(t, s)
}

// TestStandings writes, replaces and removes standings, many in one transaction; they survive a
// restart and a compaction, a quarantine takes one away and keeps it away, and what is damaged is
// found.
func TestStandings(t *testing.T) {
	s := newStore(t, Options{})
	file := s.Path()
	seen := time.Unix(1700000000, 5).UTC()
	all := []trust.Standing{
		{Party: trust.Party{Name: "w1", Credential: true}, Confirmed: 12, Solved: 1<<32 - 1, Seen: seen},
		{Party: trust.Party{Name: "w1"}, Contradicted: 3, Forgiven: true, Offences: 2, Seen: seen.Add(time.Hour)},
		{Party: trust.Party{Name: "w2 and a slash/"}, Solved: 1, Seen: seen},
	}
	put := func(list ...trust.Standing) {
		t.Helper()
		before, err := s.Stats()
		if err != nil {
			t.Fatal(err)
		}
		if err := s.SetStandings(list); err != nil {
			t.Fatal(err)
		}
		if after, err := s.Stats(); err != nil || after.Commits > before.Commits+1 {
			t.Errorf("%d standings took %d transactions, %v", len(list), after.Commits-before.Commits, err)
		}
	}
	old := all[0]
	old.Confirmed = 2
	put(old, trust.Standing{Party: trust.Party{Name: "w9"}, Solved: 4}, all[1])
	put(all[2], all[0], trust.Standing{Party: trust.Party{Name: "w9"}, Seen: seen},
		trust.Standing{Party: trust.Party{Name: "never there"}})
	put()
	for _, name := range []string{"", strings.Repeat("x", 257)} {
		if err := s.SetStandings([]trust.Standing{{Party: trust.Party{Name: "w5"}, Solved: 1},
			{Party: trust.Party{Name: name}, Solved: 1}}); !errors.Is(err,
			ErrInvalid) {
			t.Errorf("a name of %d bytes: %v", len(name), err)
		}
	}
	wantStandings(t, s, "at first", all...)
	reopen := func() {
		t.Helper()
		if err := s.Close(); err != nil {
			t.Fatal(err)
		}
		s = mustOpen(t, file, Options{})
	}
	reopen()
	wantStandings(t, s, "after a restart", all...)
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	if _, err := Compact(t.Context(), file, "", false, nil); err != nil {
		t.Fatal(err)
	}
	s = mustOpen(t, file, Options{})
	wantStandings(t, s, "after a compaction", all...)

	// Who is quarantined has none, and gets none before it is released; the one of the same name
	// without a certificate keeps its own.
	if err := s.Quarantine(trust.Quarantine{Party: trust.Party{Name: "w1", Credential: true}}); err != nil {
		t.Fatal(err)
	}
	wantStandings(t, s, "after a quarantine", all[1:]...)
	put(all[0], all[2])
	wantStandings(t, s, "in quarantine", all[1:]...)
	for _, certificate := range []bool{true, false} { // the second one has a standing alone
		if err := s.Release(trust.Party{Name: "w1", Credential: certificate}); err != nil {
			t.Fatal(err)
		}
	}
	wantStandings(t, s, "after two releases", all[2])
	put(all[0])
	wantStandings(t, s, "after a release it has begun anew:", all[0], all[2])

	// Damage: under another name, beside a quarantine, a count that is none.
	for what, write := range map[string]func(*bbolt.Bucket) error{
		"another name": func(b *bbolt.Bucket) error {
			value, err := record.EncodeJSON(string(kindStanding.key(trust.Party{Name: "x", Credential: false})), all[2])
			return errors.Join(err, b.Put(kindStanding.key(trust.Party{Name: "x"}), value))
		},
		"beside a quarantine": func(b *bbolt.Bucket) error {
			key := kindQuarantine.key(trust.Party{Name: "w1", Credential: true})
			value, err := record.EncodeJSON(string(key),
				trust.Quarantine{Party: trust.Party{Name: "w1", Credential: true}})
			return errors.Join(err, b.Put(key, value))
		},
		"a negative count": func(b *bbolt.Bucket) error {
			key := kindStanding.key(trust.Party{Name: "y", Credential: false})
			return b.Put(key, record.Seal(record.BucketMeta, key, []byte(`{"name":"y","offences":-1}`)))
		},
	} {
		path := filepath.Join(t.TempDir(), "damaged")
		if err := s.Close(); err != nil {
			t.Fatal(err)
		}
		if _, err := Compact(t.Context(), file, path, false, nil); err != nil {
			t.Fatal(err)
		}
		db, err := bbolt.Open(path, 0o600, nil)
		if err != nil {
			t.Fatal(err)
		}
		err = db.Update(func(tx *bbolt.Tx) error { return write(tx.Bucket([]byte(record.BucketMeta))) })
		if err := errors.Join(err, db.Close()); err != nil {
			t.Fatal(err)
		}
		damaged := mustOpen(t, path, Options{})
		if err := damaged.Check(); !errors.Is(err, ErrCorrupt) || !strings.Contains(err.Error(), "standing/") {
			t.Errorf("%s: the check says %v", what, err)
		}
		if _, err := damaged.Standings(); errors.Is(err, ErrCorrupt) == (what == "beside a quarantine") {
			t.Errorf("%s: reading says %v", what, err)
		}
		damaged.Close()
		s = mustOpen(t, file, Options{})
	}
}

// TestManyStandings keeps as many as a large farm has, and takes them away again; the disk that is
// full takes none, and loses none.
func TestManyStandings(t *testing.T) {
	free := int64(1 << 40)
	o := quick
	o.MinFreeBytes, o.FreeBytes = 1<<20, func(string) (int64, bool) { return free, true }
	s := newStore(t, o)
	defer s.Close()
	list := make([]trust.Standing, 10_000)
	for i := range list {
		list[i] = trust.Standing{Party: trust.Party{Name: fmt.Sprintf("w%05d", i)}, Confirmed: i + 1}
	}
	if err := s.SetStandings(list); err != nil {
		t.Fatal(err)
	}
	wantStandings(t, s, "in one go", list...)
	free = 1 << 19
	gone := make([]trust.Standing, len(list)-1)
	for i := range gone {
		gone[i].Name = list[i].Name
	}
	if err := s.SetStandings(gone); !errors.Is(err, ErrNoRoom) {
		t.Errorf("on a full disk: %v", err)
	}
	wantStandings(t, s, "on a full disk", list...)
	free = 1 << 40
	if err := s.SetStandings(gone); err != nil {
		t.Fatal(err)
	}
	wantStandings(t, s, "in the end", list[len(list)-1])
}
