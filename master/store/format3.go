package store

import (
	"errors"
	"fmt"
	"io"

	"go.etcd.io/bbolt"

	"amazonsfarm/master/evidence"
	"amazonsfarm/master/store/record"
	"amazonsfarm/shared/disk"
	"amazonsfarm/shared/proof"
)

// A store of format 3 has the bytes of its certificates in chunks. Opened for reading only, it is read
// as it is; otherwise migrate brings it to today's format.

// chunkReader reads a certificate of a store of format 3.
type chunkReader struct {
	s      *Store
	id     proof.ID
	record record.Certificate
}

func (r chunkReader) ReadAt(p []byte, offset int64) (n int, err error) {
	err = r.s.view(func(tx *bbolt.Tx) error {
		n, err = record.ReadChunks(tx.Bucket([]byte(record.BucketChunks)).Get, r.record, p, offset)
		if err == io.EOF {
			return nil
		}
		return err
	})
	if err == nil && n < len(p) {
		err = io.EOF
	}
	return n, err
}

// migrate brings a store of format 3 to today's: first all certificates become parts, then one
// transaction writes their records anew and removes the chunks. A crash before its end leaves the
// store in format 3, with some parts that the next Open uses. It runs before the writer starts.
// Damage is an error, and the store stays as it is.
func (s *Store) migrate() error {
	list, total := map[proof.ID]record.Certificate{}, int64(0)
	if err := s.eachCertificate(func(id proof.ID, c record.Certificate) {
		list[id] = c
		total += int64(c.Size)
	}); err != nil {
		return err
	}
	if err := s.Room(total); err != nil {
		return err
	}
	for id, c := range list {
		size := int64(c.Size)
		if _, there, _ := s.evidence.Has(id); there && s.cache.Verify(id, size) == nil {
			continue
		}
		in := io.NewSectionReader(chunkReader{s, id, c}, 0, size)
		if err := s.evidence.Put(id, size, in); errors.Is(err, evidence.ErrMismatch) {
			return record.Corrupt(record.BucketCertificates, id[:], "its chunks do not have its SHA-256")
		} else if disk.Full(err) {
			return fmt.Errorf("%w: the disk under %s is full (%w); make room", ErrNoRoom, s.evidence, err)
		} else if err != nil {
			return err
		}
		s.cache.Known(id)
	}
	disk.AfterStep("parts")
	err := guard(func() error {
		return s.db.Update(func(tx *bbolt.Tx) error {
			for id, c := range list {
				if err := tx.Bucket([]byte(record.BucketCertificates)).Put(id[:],
					record.EncodeCertificate(id, c)); err != nil {
					return err
				}
			}
			return errors.Join(tx.DeleteBucket([]byte(record.BucketUploads)),
				tx.DeleteBucket([]byte(record.BucketChunks)),
				tx.Bucket([]byte(record.BucketMeta)).Put([]byte(record.KeyFormat), record.EncodeFormat(record.Format)))
		})
	})
	if err != nil {
		return err
	}
	s.format = record.Format
	disk.AfterStep("migrated")
	return nil
}
