package store

import (
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	"amazonsfarm/master/store/record"
	"amazonsfarm/master/trust"

	"go.etcd.io/bbolt"
)

// TestQuarantines writes, replaces and removes quarantines; they survive a restart, a backup and a
// check, and what is damaged is found.
func TestQuarantines(t *testing.T) {
	s := newStore(t, Options{})
	file := s.Path()
	since := time.Unix(1700000000, 0).UTC()
	all := []trust.Quarantine{
		{Party: trust.Party{Name: "w1", Credential: true}, Since: since, Offences: 3, Offence: "flood", Why: "too many",
			Worker:  "w1/x",
			Address: "192.0.2.1:1"},
		{Party: trust.Party{Name: "w1"}, Since: since, Offences: 4, Offence: "short", Why: "nothing in it",
			Worker: "w1"},
		{Party: trust.Party{Name: "w2 and a slash/"}, Since: since, Offences: 1, Offence: "flood", Why: "too many",
			Worker: "w2"},
	}
	old := all[0]
	old.Offences = 2
	for _, q := range append([]trust.Quarantine{old}, all...) {
		if err := s.Quarantine(q); err != nil {
			t.Fatal(err)
		}
	}
	for _, name := range []string{"", strings.Repeat("x", 257)} {
		if err := s.Quarantine(trust.Quarantine{Party: trust.Party{Name: name}}); !errors.Is(err, ErrInvalid) {
			t.Errorf("a name of %d bytes: %v", len(name), err)
		}
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	s = mustOpen(t, file, Options{})
	if list, err := s.Quarantines(); err != nil || !slices.Equal(list, all) {
		t.Errorf("stored are %v, %v", list, err)
	}
	if err := s.Check(); err != nil {
		t.Error(err)
	}
	for range 2 { // the second time it is not there
		if err := s.Release(trust.Party{Name: "w1", Credential: true}); err != nil {
			t.Fatal(err)
		}
	}
	if list, err := s.Quarantines(); err != nil || !slices.Equal(list, all[1:]) {
		t.Errorf("after a release there are %v, %v", list, err)
	}
	// A record under another name.
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	db, err := bbolt.Open(file, 0o600, nil)
	if err != nil {
		t.Fatal(err)
	}
	err = db.Update(func(tx *bbolt.Tx) error {
		key := kindQuarantine.key(trust.Party{Name: "x", Credential: false})
		value, err := record.EncodeJSON(string(key), all[1])
		if err != nil {
			return err
		}
		return tx.Bucket([]byte(record.BucketMeta)).Put(key, value)
	})
	if err := errors.Join(err, db.Close()); err != nil {
		t.Fatal(err)
	}
	s = mustOpen(t, file, Options{})
	if _, err := s.Quarantines(); !errors.Is(err, ErrCorrupt) {
		t.Errorf("a record about another name: %v", err)
	}
	if err := s.Check(); !errors.Is(err, ErrCorrupt) {
		t.Errorf("its check: %v", err)
	}
}
