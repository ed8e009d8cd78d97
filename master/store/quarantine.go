package store

import (
	"errors"
	"fmt"
	"time"

	"go.etcd.io/bbolt"
)

// Quarantine is who may not work on the store's campaigns any more, and why. The store keeps it and
// makes nothing of it.
type Quarantine struct {
	Name        string    `json:"name"`
	Certificate bool      `json:"certificate"` // the name is that in a certificate; otherwise a worker's own
	Since       time.Time `json:"since"`
	Offences    int       `json:"offences"`
	Offence     string    `json:"offence"` // kind of the last one
	Why         string    `json:"why"`     // the last one in words
	Worker      string    `json:"worker"`  // who committed it
	Address     string    `json:"address,omitempty"`
}

func (q Quarantine) party() (name string, certificate bool) { return q.Name, q.Certificate }

// Quarantines returns who is quarantined. Errors: ErrCorrupt, ErrClosed.
func (s *Store) Quarantines() ([]Quarantine, error) {
	return readParties[Quarantine](s, kindQuarantine)
}

// Quarantine keeps that somebody is quarantined, in the place of what it has about the same name,
// and takes the standing away. Errors as of Commit.
func (s *Store) Quarantine(q Quarantine) error {
	if err := checkPartyName(q.Name); err != nil {
		return fmt.Errorf("quarantine: %w", err)
	}
	key := kindQuarantine.key(q.Name, q.Certificate)
	value, err := encodeJSON(key, q)
	if err != nil {
		return fmt.Errorf("quarantine: %w", err)
	}
	standing := []byte(kindStanding.key(q.Name, q.Certificate))
	err = s.do(&request{records: 2, bytes: int64(len(key) + len(value) + len(standing)),
		apply: func(tx *bbolt.Tx, _ *counters) error {
			meta := tx.Bucket([]byte(bucketMeta))
			if err := meta.Delete(standing); err != nil {
				return err
			}
			return meta.Put([]byte(key), value)
		}})
	if err != nil {
		return fmt.Errorf("quarantine: %w", err)
	}
	return nil
}

var errNotThere = errors.New("not there")

// Release forgets a quarantine, and the standing where the quarantine was never kept; there need
// not be either. Errors as of Commit.
func (s *Store) Release(name string, certificate bool) error {
	key, standing := []byte(kindQuarantine.key(name, certificate)), []byte(kindStanding.key(name, certificate))
	err := s.do(&request{records: 2, bytes: int64(len(key) + len(standing)),
		check: func(tx *bbolt.Tx, _ *counters) error {
			if meta := tx.Bucket([]byte(bucketMeta)); meta.Get(key) == nil && meta.Get(standing) == nil {
				return errNotThere
			}
			return nil
		},
		apply: func(tx *bbolt.Tx, _ *counters) error {
			meta := tx.Bucket([]byte(bucketMeta))
			if err := meta.Delete(key); err != nil {
				return err
			}
			return meta.Delete(standing)
		},
	})
	if err != nil && !errors.Is(err, errNotThere) {
		return fmt.Errorf("release from quarantine: %w", err)
	}
	return nil
}
