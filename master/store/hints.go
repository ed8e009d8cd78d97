package store

import (
	"bytes"
	"fmt"

	"go.etcd.io/bbolt"

	"amazonsfarm/master/hints"
	"amazonsfarm/master/store/record"
	"amazonsfarm/shared/amazons"
	"amazonsfarm/shared/proof"
)

const (
	// maxHints is the number of hints of one pool. A hint of another position than the stored ones
	// is dropped when there are as many; after a restart its position is then searched anew.
	maxHints = 64
	// maxHintBytes is the size of the largest hint that is kept.
	maxHintBytes = 1 << 20
)

// keepable reports whether a hint is within the limits.
func keepable(board amazons.Board, h hints.Hint) bool {
	return len(h.Data) > 0 && len(h.Data) <= maxHintBytes && record.OnBoard(board, h.Key) == nil
}

// putHints writes hints of a pool as far as there is room, and removes the hints of positions with
// fresh facts.
func putHints(tx *bbolt.Tx, pool uint32, list []hints.Hint, fresh []proof.Fact) error {
	if len(list) == 0 && len(fresh) == 0 {
		return nil
	}
	name := record.Of(record.BucketHints, pool)
	bucket, facts := tx.Bucket([]byte(name)), tx.Bucket([]byte(record.Of(record.BucketFacts, pool)))
	n := 0
	cursor := bucket.Cursor()
	for k, _ := cursor.First(); k != nil; k, _ = cursor.Next() {
		n++
	}
	for _, h := range list {
		k := h.Key.Bytes()
		if bucket.Get(k[:]) == nil {
			if n >= maxHints || facts.Get(k[:]) != nil {
				continue
			}
			n++
		}
		if err := bucket.Put(k[:], record.Seal(name, k[:], h.Data)); err != nil {
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

// Hint returns the data of the hint for a position of a campaign, nil if there is none. Errors:
// ErrCampaign, ErrCorrupt, ErrClosed.
func (s *Store) Hint(campaign uint32, key amazons.Key) (data []byte, err error) {
	about, err := s.campaign(campaign)
	if err != nil {
		return nil, fmt.Errorf("read hint: %w", err)
	}
	name := record.Of(record.BucketHints, about.Pool)
	err = s.view(func(tx *bbolt.Tx) error {
		k := key.Bytes()
		if v := tx.Bucket([]byte(name)).Get(k[:]); v != nil {
			data, err = record.Unseal(name, k[:], v)
			data = bytes.Clone(data)
			return err
		}
		return nil
	})
	return data, during("read hint", err)
}
