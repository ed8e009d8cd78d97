package store

import (
	"bytes"
	"errors"
	"fmt"
	"strings"

	"go.etcd.io/bbolt"

	"amazonsfarm/master/store/record"
	"amazonsfarm/master/trust"
)

// The bucket "meta" holds what the master knows of parties: for each party one quarantine or one
// standing at most. The store keeps these records and draws no conclusion from them.

// partyKind is a kind of record about parties: the beginning of its keys.
type partyKind string

const (
	kindQuarantine partyKind = "quarantine/"
	kindStanding   partyKind = "standing/"
)

// maxPartyName bounds a name, in bytes.
const maxPartyName = 256

// prefixes returns the beginnings of the keys of a kind: for names in credentials, then for names
// of workers without one.
func (kind partyKind) prefixes() [2]string {
	return [2]string{string(kind) + "certificate/", string(kind) + "name/"}
}

// key returns the key of a party's record.
func (kind partyKind) key(p trust.Party) []byte {
	prefixes := kind.prefixes()
	if p.Credential {
		return []byte(prefixes[0] + p.Name)
	}
	return []byte(prefixes[1] + p.Name)
}

// has reports whether a key is one of the kind.
func (kind partyKind) has(key []byte) bool {
	prefixes := kind.prefixes()
	return strings.HasPrefix(string(key), prefixes[0]) || strings.HasPrefix(string(key), prefixes[1])
}

// encode returns a party's record, about being a quarantine or a standing.
func (kind partyKind) encode(p trust.Party, about any) (key, value []byte, err error) {
	if p.Name == "" || len(p.Name) > maxPartyName {
		return nil, nil, fmt.Errorf("%w: the name of a party has 1 to %d bytes", ErrInvalid, maxPartyName)
	}
	key = kind.key(p)
	value, err = record.EncodeJSON(string(key), about)
	return key, value, err
}

// partyOfQuarantine returns the party of a quarantine, or what is wrong with the record.
func partyOfQuarantine(q trust.Quarantine) (trust.Party, error) {
	if q.Offences < 0 {
		return q.Party, errors.New("it has a negative count")
	}
	return q.Party, nil
}

// partyOfStanding returns the party of a standing, or what is wrong with the record.
func partyOfStanding(s trust.Standing) (trust.Party, error) {
	if min(s.Confirmed, s.Solved, s.Contradicted, s.Offences) < 0 || !(s.CoreSeconds >= 0) {
		return s.Party, errors.New("it has a negative count")
	}
	return s.Party, nil
}

// decodeParty reads a record of a kind.
func decodeParty[R any](kind partyKind, party func(R) (trust.Party, error), key, value []byte) (r R, err error) {
	if err := record.DecodeJSON(string(key), value, &r); err != nil {
		return r, err
	}
	p, err := party(r)
	if err != nil {
		return r, record.Corrupt(record.BucketMeta, key, "%v", err)
	}
	if !bytes.Equal(kind.key(p), key) {
		return r, record.Corrupt(record.BucketMeta, key, "it is about another party, %v", p)
	}
	return r, nil
}

// readParties returns the records of a kind: of credentials first, then by name.
func readParties[R any](s *Store, kind partyKind, party func(R) (trust.Party, error)) (list []R, err error) {
	err = s.view(func(tx *bbolt.Tx) error {
		for _, prefix := range kind.prefixes() {
			for k, v := range withPrefix(tx, prefix) {
				r, err := decodeParty(kind, party, []byte(k), v)
				if err != nil {
					return err
				}
				list = append(list, r)
			}
		}
		return nil
	})
	return list, during("read "+strings.TrimSuffix(string(kind), "/")+"s", err)
}

// Quarantines returns all quarantines. Errors: ErrCorrupt, ErrClosed.
func (s *Store) Quarantines() ([]trust.Quarantine, error) {
	return readParties(s, kindQuarantine, partyOfQuarantine)
}

// Quarantine keeps a quarantine, in place of an earlier one of the same party, and removes the
// party's standing. Errors as of Commit.
func (s *Store) Quarantine(q trust.Quarantine) error {
	key, value, err := kindQuarantine.encode(q.Party, q)
	if err != nil {
		return fmt.Errorf("quarantine: %w", err)
	}
	standing := kindStanding.key(q.Party)
	err = s.do(&request{records: 2, bytes: int64(len(key) + len(value) + len(standing)),
		apply: func(tx *bbolt.Tx, _ *record.Counters) error {
			meta := metaOf(tx)
			return errors.Join(meta.Delete(standing), meta.Put(key, value))
		}})
	return during("quarantine", err)
}

// Release removes a party's quarantine and standing; neither need exist. Errors as of Commit.
func (s *Store) Release(p trust.Party) error {
	key, standing := kindQuarantine.key(p), kindStanding.key(p)
	err := s.do(&request{records: 2, bytes: int64(len(key) + len(standing)),
		apply: func(tx *bbolt.Tx, _ *record.Counters) error {
			meta := metaOf(tx)
			return errors.Join(meta.Delete(key), meta.Delete(standing))
		}})
	return during("release from quarantine", err)
}

// checkStanding verifies a record of meta: it decodes, and its party is not in quarantine.
func checkStanding(tx *bbolt.Tx, key, value []byte) error {
	st, err := decodeParty(kindStanding, partyOfStanding, key, value)
	if err == nil && metaOf(tx).Get(kindQuarantine.key(st.Party)) != nil {
		err = record.Corrupt(record.BucketMeta, key, "its party is in quarantine, and has a standing")
	}
	return err
}

// Standings returns all standings: of credentials first, then by name. Errors: ErrCorrupt,
// ErrClosed.
func (s *Store) Standings() ([]trust.Standing, error) {
	return readParties(s, kindStanding, partyOfStanding)
}

// SetStandings keeps standings in one transaction, in place of earlier ones of the same parties. An
// empty standing removes the stored one. Standings of parties in quarantine are passed over. Of
// equal parties the last one counts. Errors as of Commit; after any of them but ErrFailed nothing
// has changed.
func (s *Store) SetStandings(list []trust.Standing) error {
	if len(list) == 0 {
		return nil
	}
	r := &request{records: len(list)}
	keys, values := make([][]byte, len(list)), make([][]byte, len(list))
	for i, st := range list {
		if _, err := partyOfStanding(st); err != nil {
			return fmt.Errorf("keep standings: %w: %w", ErrInvalid, err)
		}
		var err error
		if keys[i], values[i], err = kindStanding.encode(st.Party, st); err != nil {
			return fmt.Errorf("keep standings: %w", err)
		}
		r.bytes += int64(len(keys[i]) + len(values[i]))
	}
	r.apply = func(tx *bbolt.Tx, _ *record.Counters) error {
		meta := metaOf(tx)
		for i, st := range list {
			var err error
			switch {
			case st.Empty():
				err = meta.Delete(keys[i])
			case meta.Get(kindQuarantine.key(st.Party)) == nil:
				err = meta.Put(keys[i], values[i])
			}
			if err != nil {
				return err
			}
		}
		return nil
	}
	return during("keep standings", s.do(r))
}
