package store

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"io"
	"path/filepath"
	"slices"
	"strings"

	"go.etcd.io/bbolt"

	"amazonsfarm/master/evidence"
	"amazonsfarm/master/store/record"
	"amazonsfarm/shared/disk"
	"amazonsfarm/shared/proof"
)

// The bytes of a certificate are a part in the folder of evidence; the file of the store has a record
// of it. The part is durable before the record, so a record without a part is damage, and a part
// without a record is what a crash has left: the next Open removes it.

// EvidenceFolder returns the folder with the parts of the store in a file: NAME.evidence beside NAME.db.
// A store that a compaction has kept has the parts of the one that replaced it.
func EvidenceFolder(file string) string {
	if path, err := filepath.EvalSymlinks(file); err == nil {
		file = path
	}
	return strings.TrimSuffix(strings.TrimSuffix(file, OldSuffix), ".db") + ".evidence"
}

// PutCertificate is PutCertificateFrom for a certificate in memory.
func (s *Store) PutCertificate(campaign uint32, id [32]byte, data []byte) (known bool, err error) {
	return s.PutCertificateFrom(campaign, id, int64(len(data)), bytes.NewReader(data))
}

// PutCertificateFrom keeps a certificate of so many bytes, named by their SHA-256, for the facts of a
// campaign and its pool, and returns when all of it is on disk. known says that the store had it
// before; then nothing was read and nothing written. A certificate whose part is lost or damaged
// is not known, and is whole again afterwards. Errors: ErrMismatch (the bytes are other ones, or the
// store has the certificate for another pool), ErrTooLarge, ErrInvalid, those of r, otherwise as
// of Commit; nothing of the certificate is then left.
func (s *Store) PutCertificateFrom(campaign uint32, id [32]byte, size int64, r io.Reader) (known bool, err error) {
	if known, err = s.putCertificate(campaign, id, size, r); err != nil {
		return false, fmt.Errorf("put certificate %x: %w", id, err)
	}
	return known, nil
}

func (s *Store) putCertificate(campaign uint32, id proof.ID, size int64, r io.Reader) (known bool, err error) {
	if size <= 0 || id == (proof.ID{}) {
		return false, fmt.Errorf("%w: a certificate has an id and at least one byte", ErrInvalid)
	}
	if size > s.options.certificateBytes {
		return false, fmt.Errorf("%w: it has %d bytes, the limit is %d; split the proof", ErrTooLarge, size,
			s.options.certificateBytes)
	}
	if s.options.ReadOnly {
		return false, fmt.Errorf("%w; open it without ReadOnly to write", ErrReadOnly)
	}
	about, err := s.campaign(campaign)
	if err != nil {
		return false, err
	}
	s.uploads.Add(1)
	defer s.uploads.Add(-1)
	s.arrives(id)
	defer func() { s.arrived(id, err) }()
	stored, there, err := s.certificate(id)
	if err != nil {
		return false, err
	}
	if there && stored.Pool != about.Pool {
		return false, fmt.Errorf("%w: the store has it for another board or kind of proof", ErrMismatch)
	}
	if there && s.cache.Verify(id, int64(stored.Size)) == nil {
		return true, nil
	}
	if err := s.Room(size); err != nil {
		return false, err
	}
	if err := s.evidence.Put(id, size, r); errors.Is(err, evidence.ErrMismatch) {
		return false, fmt.Errorf("%w: %w", ErrMismatch, err)
	} else if disk.Full(err) {
		return false, fmt.Errorf("%w: the disk under %s is full (%w); make room", ErrNoRoom, s.evidence, err)
	} else if err != nil {
		return false, err
	}
	s.cache.Forget(id) // perhaps a damaged one is open
	s.cache.Known(id)
	return false, s.do(recordOf(id, record.Certificate{Size: uint64(size), Pool: about.Pool}))
}

// recordOf is the request that records a part which is durable, unless somebody was faster.
func recordOf(id proof.ID, c record.Certificate) *request {
	var old []byte
	return &request{
		records: 1,
		bytes:   pageSize,
		check: func(tx *bbolt.Tx, _ *record.Counters) error {
			if old = tx.Bucket([]byte(record.BucketCertificates)).Get(id[:]); old == nil {
				return nil
			}
			_, known, err := record.DecodeCertificate(id[:], old)
			if err == nil && known.Pool != c.Pool {
				err = fmt.Errorf("%w: the store has it for another board or kind of proof", ErrMismatch)
			}
			return err
		},
		apply: func(tx *bbolt.Tx, n *record.Counters) error {
			if old != nil {
				return nil
			}
			n.Arrivals++
			n.Certificates++
			n.CertificateBytes += c.Size
			c.Number = n.Arrivals
			return tx.Bucket([]byte(record.BucketCertificates)).Put(id[:], record.EncodeCertificate(id, c))
		},
	}
}

// arrives notes that a part is on its way: until arrived, nobody removes its file.
func (s *Store) arrives(id proof.ID) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.arriving[id]++
}

// arrived ends what arrives began, with its error.
func (s *Store) arrived(id proof.ID, err error) {
	s.mu.Lock()
	if s.arriving[id]--; s.arriving[id] == 0 {
		delete(s.arriving, id)
	}
	s.mu.Unlock()
	if err != nil {
		s.dropPart(id)
	}
}

// dropPart removes the file of a part without a record, unless it is just arriving. What stays behind
// is removed by the next Open.
func (s *Store) dropPart(id proof.ID) {
	s.mu.Lock()
	defer s.mu.Unlock()
	// After a failed write nobody knows which records are on disk.
	if _, there, err := s.certificate(id); s.arriving[id] > 0 || there || err != nil || s.failed.Load() != nil {
		return
	}
	s.cache.Forget(id)
	_ = s.evidence.Remove(id)
}

// collect removes the parts without a record. It runs before the writer starts. Where a record is
// damaged, nobody knows what is not needed; and of a store that was replaced the parts belong to
// another one.
func (s *Store) collect() error {
	known := map[proof.ID]bool{}
	err := s.eachCertificate(func(id proof.ID, _ record.Certificate) { known[id] = true })
	if err != nil || strings.HasSuffix(s.path, OldSuffix) {
		return nil
	}
	for p, err := range s.evidence.List() {
		if err == nil && !known[p.ID] {
			err = s.evidence.Remove(p.ID)
		}
		if err != nil && !errors.Is(err, evidence.ErrForeign) {
			return err
		}
	}
	return nil
}

// certificate returns the record of a certificate.
func (s *Store) certificate(id proof.ID) (c record.Certificate, ok bool, err error) {
	err = s.view(func(tx *bbolt.Tx) error {
		v := tx.Bucket([]byte(record.BucketCertificates)).Get(id[:])
		if ok = v != nil; ok {
			_, c, err = s.decodeCertificate(id[:], v)
		}
		return err
	})
	return c, ok, err
}

// decodeCertificate decodes a record of the store's format.
func (s *Store) decodeCertificate(key, value []byte) (proof.ID, record.Certificate, error) {
	if s.format == record.OldFormat {
		return record.DecodeOldCertificate(key, value)
	}
	return record.DecodeCertificate(key, value)
}

// eachCertificate calls f with all records of certificates, and counts them.
func (s *Store) eachCertificate(f func(proof.ID, record.Certificate)) error {
	return s.view(func(tx *bbolt.Tx) error {
		c, err := readCounters(tx)
		if err != nil {
			return err
		}
		all := uint64(0)
		err = tx.Bucket([]byte(record.BucketCertificates)).ForEach(func(k, v []byte) error {
			all++
			id, c, err := s.decodeCertificate(k, v)
			if err == nil {
				f(id, c)
			}
			return err
		})
		if err != nil {
			return err
		}
		return counted(record.BucketCertificates, all, c.Certificates)
	})
}

// HasCertificate reports whether the store has a whole certificate for the facts of a campaign. The
// first time it reads it.
func (s *Store) HasCertificate(campaign uint32, id [32]byte) bool {
	about, err := s.campaign(campaign)
	if err != nil {
		return false
	}
	c, ok, err := s.certificate(id)
	return err == nil && ok && c.Pool == about.Pool &&
		(s.format == record.OldFormat || s.cache.Verify(id, int64(c.Size)) == nil)
}

// Certificate returns the bytes of a certificate for the facts of a campaign. Errors:
// ErrNoCertificate, ErrCorrupt, ErrClosed.
func (s *Store) Certificate(campaign uint32, id [32]byte) ([]byte, error) {
	c, ok, err := s.certificate(id)
	if err == nil && (!ok || c.Pool != s.PoolOf(campaign)) {
		err = ErrNoCertificate
	}
	if err != nil {
		return nil, fmt.Errorf("certificate %x: %w", id, err)
	}
	r, size, err := s.OpenCertificate(id)
	if err != nil {
		return nil, err
	}
	data := make([]byte, size)
	if _, err := r.ReadAt(data, 0); err != nil {
		return nil, err
	}
	return data, nil
}

// OpenCertificate returns a reader of a certificate, and its size in bytes. The first time it reads
// all of it, so that no wrong byte is ever returned. Any number of goroutines may use the reader
// until the store is closed; it needs no Close. Errors: ErrNoCertificate, ErrCorrupt, ErrClosed.
func (s *Store) OpenCertificate(id [32]byte) (io.ReaderAt, int64, error) {
	c, ok, err := s.certificate(id)
	if err == nil && !ok {
		err = ErrNoCertificate
	}
	if err == nil && s.format == record.OldFormat {
		return chunkReader{s, id, c}, int64(c.Size), nil
	}
	if err == nil {
		err = s.partError(id, s.cache.Verify(id, int64(c.Size)))
	}
	if err != nil {
		return nil, 0, fmt.Errorf("certificate %x: %w", id, err)
	}
	return partReader{s, id, int64(c.Size)}, int64(c.Size), nil
}

// partReader reads a part through the cache.
type partReader struct {
	s    *Store
	id   proof.ID
	size int64
}

func (r partReader) ReadAt(p []byte, at int64) (int, error) {
	n, err := r.s.cache.ReadAt(r.id, r.size, p, at)
	if err != nil && err != io.EOF {
		err = fmt.Errorf("certificate %x: %w", r.id[:], r.s.partError(r.id, err))
	}
	return n, err
}

// partError gives an error of the evidence its kind here: a part that is missing or damaged is damage
// of the store.
func (s *Store) partError(id proof.ID, err error) error {
	switch {
	case errors.Is(err, evidence.ErrMissing), errors.Is(err, evidence.ErrDamaged), errors.Is(err, evidence.ErrForeign):
		err = &record.CorruptError{Path: s.path, Bucket: record.BucketCertificates, Key: id[:],
			Reason: err.Error()}
	case errors.Is(err, evidence.ErrClosed):
		err = ErrClosed
	}
	return err
}

// Certificates returns how many certificates there are, and their bytes; zeros where the store cannot
// be read.
func (s *Store) Certificates() (count int, bytes int64) {
	_ = s.view(func(tx *bbolt.Tx) error {
		c, err := readCounters(tx)
		count, bytes = int(c.Certificates), int64(c.CertificateBytes)
		return err
	})
	return count, bytes
}

// PartRecord is what the store knows of a certificate.
type PartRecord struct {
	ID       proof.ID
	Bytes    int64
	Fragment bool   // it may rely on others that it does not name
	Verified string // who has verified it; empty: nobody yet
}

// Parts returns the certificates for the facts of a campaign and its pool, in the order in which they
// came.
func (s *Store) Parts(campaign uint32) ([]PartRecord, error) {
	type numbered struct {
		PartRecord
		number uint64
	}
	var list []numbered
	about, err := s.campaign(campaign)
	if err == nil {
		err = s.eachCertificate(func(id proof.ID, c record.Certificate) {
			if c.Pool == about.Pool {
				list = append(list, numbered{PartRecord{id, int64(c.Size), c.Fragment, c.Verified}, c.Number})
			}
		})
	}
	if err != nil {
		return nil, fmt.Errorf("list certificates: %w", err)
	}
	slices.SortFunc(list, func(a, b numbered) int { return cmp.Compare(a.number, b.number) })
	parts := make([]PartRecord, len(list))
	for i, c := range list {
		parts[i] = c.PartRecord
	}
	return parts, nil
}

// MissingParts returns the certificates whose part is not there or has another size. It reads no part.
func (s *Store) MissingParts() (missing []proof.ID, err error) {
	err = s.eachCertificate(func(id proof.ID, c record.Certificate) {
		if s.format == record.OldFormat {
			return
		}
		if size, ok := s.evidence.Has(id); !ok || size != int64(c.Size) {
			missing = append(missing, id)
		}
	})
	return missing, err
}

// CertificatesOf returns the ids of Parts.
func (s *Store) CertificatesOf(campaign uint32) ([]proof.ID, error) {
	parts, err := s.Parts(campaign)
	ids := make([]proof.ID, len(parts))
	for i, p := range parts {
		ids[i] = p.ID
	}
	return ids, err
}
