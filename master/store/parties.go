package store

import (
	"bytes"
	"fmt"
	"strings"

	"go.etcd.io/bbolt"
)

// What the store keeps of parties are records of the meta bucket. A party is a name, that in a
// certificate or a worker's own; each kind of record has one for each at most.

// partyKind is a kind of such records: what their keys begin with.
type partyKind string

const (
	kindQuarantine partyKind = "quarantine/"
	kindStanding   partyKind = "standing/"
)

// maxPartyName bounds a name, in bytes.
const maxPartyName = 256

// prefixes returns what the keys of the kind begin with: those of certificates, then those of
// workers' own names.
func (kind partyKind) prefixes() [2]string {
	return [2]string{string(kind) + "certificate/", string(kind) + "name/"}
}

// key returns that of a party's record.
func (kind partyKind) key(name string, certificate bool) string {
	prefixes := kind.prefixes()
	if certificate {
		return prefixes[0] + name
	}
	return prefixes[1] + name
}

// has reports whether a key is one of the kind.
func (kind partyKind) has(key []byte) bool {
	prefixes := kind.prefixes()
	return strings.HasPrefix(string(key), prefixes[0]) || strings.HasPrefix(string(key), prefixes[1])
}

// partyRecord is a record about a party.
type partyRecord interface {
	party() (name string, certificate bool)
}

func checkPartyName(name string) error {
	if name == "" || len(name) > maxPartyName {
		return fmt.Errorf("%w: a name has 1 to %d bytes", ErrInvalid, maxPartyName)
	}
	return nil
}

// decodeParty reads a record of a kind.
func decodeParty[R partyRecord](kind partyKind, key, value []byte) (r R, err error) {
	if err := decodeJSON(string(key), value, &r); err != nil {
		return r, err
	}
	if name, certificate := r.party(); kind.key(name, certificate) != string(key) {
		return r, corrupt(bucketMeta, key, "it is about another name, %q", name)
	}
	return r, nil
}

// readParties returns the records of a kind, those of certificates first, by name.
func readParties[R partyRecord](s *Store, kind partyKind) (list []R, err error) {
	err = s.view(func(tx *bbolt.Tx) error {
		list = nil
		for _, prefix := range kind.prefixes() {
			cursor := tx.Bucket([]byte(bucketMeta)).Cursor()
			for k, v := cursor.Seek([]byte(prefix)); bytes.HasPrefix(k, []byte(prefix)); k, v = cursor.Next() {
				r, err := decodeParty[R](kind, k, v)
				if err != nil {
					return err
				}
				list = append(list, r)
			}
		}
		return nil
	})
	if err != nil {
		return nil, fmt.Errorf("read %ss: %w", strings.TrimSuffix(string(kind), "/"), err)
	}
	return list, nil
}
