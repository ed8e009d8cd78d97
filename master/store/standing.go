package store

import (
	"fmt"
	"time"

	"go.etcd.io/bbolt"
)

// Standing is what is known of a party that is not in quarantine. The store keeps it and makes
// nothing of it.
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

func (s Standing) party() (name string, certificate bool) { return s.Name, s.Certificate }

// checkStanding verifies a record of meta: it decodes, and its party is not in quarantine.
func checkStanding(tx *bbolt.Tx, key, value []byte) error {
	st, err := decodeParty[Standing](kindStanding, key, value)
	if err == nil && tx.Bucket([]byte(bucketMeta)).Get([]byte(kindQuarantine.key(st.Name, st.Certificate))) != nil {
		err = corrupt(bucketMeta, key, "it is in quarantine, and has a standing")
	}
	return err
}

// Standings returns what is known of parties, those with certificates first, by name. Errors:
// ErrCorrupt, ErrClosed.
func (s *Store) Standings() ([]Standing, error) { return readParties[Standing](s, kindStanding) }

// SetStandings keeps standings in one transaction, each in the place of what there is about the
// same name; an empty one takes that away. That of a party in quarantine is passed over. Of equal
// names the last one counts. Errors as of Commit; after any of them but ErrFailed nothing has
// changed.
func (s *Store) SetStandings(list []Standing) error {
	if len(list) == 0 {
		return nil
	}
	r := &request{records: len(list)}
	keys, values := make([][]byte, len(list)), make([][]byte, len(list))
	for i, st := range list {
		if err := checkPartyName(st.Name); err != nil {
			return fmt.Errorf("keep standings: %w", err)
		}
		key := kindStanding.key(st.Name, st.Certificate)
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
			case meta.Get([]byte(kindQuarantine.key(st.Name, st.Certificate))) == nil:
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
