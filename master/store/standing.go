package store

import (
	"bytes"
	"fmt"
	"strings"
	"time"

	"go.etcd.io/bbolt"
)

// Standing is what is known of a party that is not in quarantine. The store keeps it and makes nothing of it.
type Standing struct {
	Name        string    `json:"name"`
	Certificate bool      `json:"certificate"` // the name is that in a certificate; otherwise a worker's own
	Confirmed   uint32    `json:"confirmed"`   // results that others confirmed
	Solved      uint32    `json:"solved"`      // positions of its leases, with evidence
	Doubts      uint32    `json:"doubts"`      // results that others contradict, for which no confirmed one has made up
	Doubted     bool      `json:"doubted"`     // the first of them is no offence
	Offences    uint32    `json:"offences"`    // counted until it is quarantined
	Seen        time.Time `json:"seen"`        // when it was last there, or this changed
}

// Empty reports whether nothing is known.
func (s Standing) Empty() bool {
	return s.Confirmed == 0 && s.Solved == 0 && s.Doubts == 0 && s.Offences == 0
}

// Records of standings are in the meta bucket under one of these and the name.
const (
	keyStandingCertificate = "standing/certificate/"
	keyStandingName        = "standing/name/"
)

func standingKey(name string, certificate bool) string {
	if certificate {
		return keyStandingCertificate + name
	}
	return keyStandingName + name
}

func isStandingKey(key []byte) bool {
	return strings.HasPrefix(string(key), keyStandingCertificate) || strings.HasPrefix(string(key), keyStandingName)
}

func decodeStanding(key, value []byte) (st Standing, err error) {
	if err := decodeJSON(string(key), value, &st); err != nil {
		return st, err
	}
	if standingKey(st.Name, st.Certificate) != string(key) {
		return st, corrupt(bucketMeta, key, "it is about another name, %q", st.Name)
	}
	return st, nil
}

// checkStanding verifies a record of meta: it decodes, and its party is not in quarantine.
func checkStanding(tx *bbolt.Tx, key, value []byte) error {
	st, err := decodeStanding(key, value)
	if err == nil && tx.Bucket([]byte(bucketMeta)).Get([]byte(quarantineKey(st.Name, st.Certificate))) != nil {
		err = corrupt(bucketMeta, key, "it is in quarantine, and has a standing")
	}
	return err
}

// Standings returns what is known of parties, those with certificates first, by name. Errors: ErrCorrupt, ErrClosed.
func (s *Store) Standings() (list []Standing, err error) {
	err = s.view(func(tx *bbolt.Tx) error {
		list = nil
		for _, prefix := range []string{keyStandingCertificate, keyStandingName} {
			cursor := tx.Bucket([]byte(bucketMeta)).Cursor()
			for k, v := cursor.Seek([]byte(prefix)); bytes.HasPrefix(k, []byte(prefix)); k, v = cursor.Next() {
				st, err := decodeStanding(k, v)
				if err != nil {
					return err
				}
				list = append(list, st)
			}
		}
		return nil
	})
	if err != nil {
		return nil, fmt.Errorf("read standings: %w", err)
	}
	return list, nil
}

// SetStandings keeps standings in one transaction, each in the place of what there is about the same name; an empty one takes that away. That of a party in
// quarantine is passed over. Of equal names the last one counts. Errors as of Commit; after any of them but ErrFailed nothing has changed.
func (s *Store) SetStandings(list []Standing) error {
	if len(list) == 0 {
		return nil
	}
	r := &request{records: len(list)}
	keys, values := make([][]byte, len(list)), make([][]byte, len(list))
	for i, st := range list {
		if st.Name == "" || len(st.Name) > maxQuarantineName {
			return fmt.Errorf("keep standings: %w: a name has 1 to %d bytes", ErrInvalid, maxQuarantineName)
		}
		key := standingKey(st.Name, st.Certificate)
		keys[i] = []byte(key)
		if !st.Empty() {
			value, err := encodeJSON(key, st)
			if err != nil {
				return fmt.Errorf("keep standings: %w", err)
			}
			values[i] = value
		}
		r.bytes += int64(len(key) + len(values[i]))
	}
	r.apply = func(tx *bbolt.Tx, _ *counters) error {
		meta := tx.Bucket([]byte(bucketMeta))
		for i, st := range list {
			var err error
			switch {
			case values[i] == nil:
				err = meta.Delete(keys[i])
			case meta.Get([]byte(quarantineKey(st.Name, st.Certificate))) == nil:
				err = meta.Put(keys[i], values[i])
			}
			if err != nil {
				return err
			}
		}
		return nil
	}
	if err := s.do(r); err != nil {
		return fmt.Errorf("keep standings: %w", err)
	}
	return nil
}
