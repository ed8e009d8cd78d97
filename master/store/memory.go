package store

import (
	"bytes"
	"fmt"

	"go.etcd.io/bbolt"

	"amazonsfarm/shared/amazons"
	"amazonsfarm/shared/proof"
)

// Memory is what a worker's table knew of a position that was not solved (shared/dfpn, memory.go).
// It is a help and no evidence: it may be lost or wrong without harm to any fact.
type Memory struct {
	Key  amazons.Key // canonical
	Data []byte
}

// keepable returns the memories that are within the limits, and about how many bytes they take.
func (s *Store) keepable(board amazons.Board, all []Memory) (kept []Memory, size int64) {
	for _, m := range all {
		if len(m.Data) > 0 && len(m.Data) <= s.options.MaxMemoryBytes && onBoard(board, m.Key) == nil {
			kept = append(kept, m)
			size += 2 * int64(len(m.Data)) // pages next to it are written anew
		}
	}
	return kept, size
}

// putMemories writes memories, while there is room for more of them, and removes those of positions
// that are facts now.
func (s *Store) putMemories(tx *bbolt.Tx, campaign uint32, memories []Memory, fresh []proof.Fact) error {
	if len(memories) == 0 && len(fresh) == 0 {
		return nil
	}
	name := of(bucketMemories, campaign)
	bucket, facts := tx.Bucket([]byte(name)), tx.Bucket([]byte(of(bucketFacts, campaign)))
	n := 0
	cursor := bucket.Cursor()
	for k, _ := cursor.First(); k != nil; k, _ = cursor.Next() {
		n++
	}
	for _, m := range memories {
		k := m.Key.Bytes()
		if bucket.Get(k[:]) == nil {
			if n >= s.options.MaxMemories || facts.Get(k[:]) != nil {
				continue
			}
			n++
		}
		if err := bucket.Put(k[:], seal(name, k[:], m.Data)); err != nil {
			return err
		}
	}
	for _, f := range fresh {
		k := f.Key.Bytes()
		if err := bucket.Delete(k[:]); err != nil {
			return err
		}
	}
	return nil
}

// Memory returns the memory of a position of a campaign, nil where there is none. Errors:
// ErrCampaign, ErrCorrupt, ErrClosed.
func (s *Store) Memory(campaign uint32, key amazons.Key) (data []byte, err error) {
	about, err := s.campaign(campaign)
	if err != nil {
		return nil, fmt.Errorf("read memory: %w", err)
	}
	name := of(bucketMemories, about.Facts)
	err = s.view(func(tx *bbolt.Tx) error {
		k := key.Bytes()
		if v := tx.Bucket([]byte(name)).Get(k[:]); v != nil {
			data, err = unseal(name, k[:], v)
			data = bytes.Clone(data)
			return err
		}
		return nil
	})
	if err != nil {
		return nil, fmt.Errorf("read memory: %w", err)
	}
	return data, nil
}
