package store

import (
	"bytes"
	"errors"
	"fmt"
	"strings"
	"time"

	"go.etcd.io/bbolt"
)

// Quarantine is who may not work on the store's campaigns any more, and why. The store keeps it and makes nothing of it.
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

// Records of quarantines are in the meta bucket under one of these and the name.
const (
	keyQuarantinedCertificate = "quarantine/certificate/"
	keyQuarantinedName        = "quarantine/name/"
)

// maxQuarantineName bounds a name, in bytes.
const maxQuarantineName = 256

func quarantineKey(name string, certificate bool) string {
	if certificate {
		return keyQuarantinedCertificate + name
	}
	return keyQuarantinedName + name
}

func isQuarantineKey(key []byte) bool {
	return strings.HasPrefix(string(key), keyQuarantinedCertificate) || strings.HasPrefix(string(key), keyQuarantinedName)
}

func decodeQuarantine(key, value []byte) (q Quarantine, err error) {
	if err := decodeJSON(string(key), value, &q); err != nil {
		return q, err
	}
	if quarantineKey(q.Name, q.Certificate) != string(key) {
		return q, corrupt(bucketMeta, key, "it is about another name, %q", q.Name)
	}
	return q, nil
}

// Quarantines returns who is quarantined. Errors: ErrCorrupt, ErrClosed.
func (s *Store) Quarantines() (list []Quarantine, err error) {
	err = s.view(func(tx *bbolt.Tx) error {
		list = nil
		for _, prefix := range []string{keyQuarantinedCertificate, keyQuarantinedName} {
			cursor := tx.Bucket([]byte(bucketMeta)).Cursor()
			for k, v := cursor.Seek([]byte(prefix)); bytes.HasPrefix(k, []byte(prefix)); k, v = cursor.Next() {
				q, err := decodeQuarantine(k, v)
				if err != nil {
					return err
				}
				list = append(list, q)
			}
		}
		return nil
	})
	if err != nil {
		return nil, fmt.Errorf("read quarantines: %w", err)
	}
	return list, nil
}

// Quarantine keeps that somebody is quarantined, in the place of what it has about the same name, and takes the standing away. Errors as of Commit.
func (s *Store) Quarantine(q Quarantine) error {
	if q.Name == "" || len(q.Name) > maxQuarantineName {
		return fmt.Errorf("quarantine: %w: a name has 1 to %d bytes", ErrInvalid, maxQuarantineName)
	}
	key := quarantineKey(q.Name, q.Certificate)
	value, err := encodeJSON(key, q)
	if err != nil {
		return fmt.Errorf("quarantine: %w", err)
	}
	standing := []byte(standingKey(q.Name, q.Certificate))
	err = s.do(&request{records: 2, bytes: int64(len(key) + len(value) + len(standing)), apply: func(tx *bbolt.Tx, _ *counters) error {
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

// Release forgets a quarantine, and the standing where the quarantine was never kept; there need not be either. Errors as of Commit.
func (s *Store) Release(name string, certificate bool) error {
	key, standing := []byte(quarantineKey(name, certificate)), []byte(standingKey(name, certificate))
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
