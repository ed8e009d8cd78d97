package store

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"io"
	"iter"
	"slices"
	"time"

	"go.etcd.io/bbolt"

	"amazonsfarm/master/evidence"
	"amazonsfarm/master/store/record"
	"amazonsfarm/shared/disk"
	"amazonsfarm/shared/proof"
)

// The bytes of a certificate are a part in the folder of evidence; the file of the store has a record
// of it. The part is durable before the record, so a record without a part is damage, and a part
// without a record is what a crash has left, or belongs to a newer copy of the store: Collect removes it.

// RecordPart records a part that a worker has put into the bucket, with its outline. Nobody has looked
// at its bytes. Errors: those of PutCertificate, evidence.ErrMissing, evidence.ErrAway.
func (s *Store) RecordPart(campaign uint32, id proof.ID, size int64, outline []byte) (known bool, err error) {
	about, err := s.campaign(campaign)
	if err != nil {
		return false, err
	}
	if s.HasCertificate(campaign, id) {
		return true, nil
	}
	if err := s.options.room(s.path, int64(len(outline))); err != nil {
		return false, err
	}
	s.arrives(id)
	defer func() { s.arrived(id, err) }()
	found, there, err := s.evidence.Has(id)
	switch {
	case err != nil:
		return false, err
	case !there, found != size:
		// What is known by a record and has another size was cut short. Workers put a part where there is none.
		if kept, ok, _ := s.heldFor(campaign, id); there && ok && found != int64(kept.Size) {
			if err := s.evidence.Remove(id); err != nil {
				return false, err
			}
		}
		return false, fmt.Errorf("%w: %s has %d bytes of part %x, where %d were announced", evidence.ErrMissing,
			s.evidence, found, id[:], size)
	}
	return s.record(id, record.Certificate{Size: uint64(size), Pool: about.Pool, Outline: outline})
}

// Outline returns what a part cites and proves, from its record or else from the part. Errors: those of
// OpenCertificate and of proof.ReadCited.
func (s *Store) Outline(id proof.ID) (proof.Info, []proof.Citation, error) {
	c, _, err := s.certificate(id)
	if err == nil && c.Outline != nil {
		return proof.ReadOutline(c.Outline)
	}
	r, size, err := s.OpenCertificate(id)
	if err != nil {
		return proof.Info{}, nil, err
	}
	info, cited, err := proof.ReadCited(r, size)
	if err != nil { // the disk may have changed it since it was read whole
		err = cmp.Or(s.Reread(id), fmt.Errorf("certificate %x: %w", id[:], err))
	}
	return info, cited, err
}

// KeptOutline returns the outline in the record of a part for the facts of a campaign, and the name of its checker. It
// returns nil if there is no such part, or no outline in its record.
func (s *Store) KeptOutline(campaign uint32, id proof.ID) (outline []byte, by string) {
	if c, ok, _ := s.heldFor(campaign, id); ok {
		return c.Outline, c.Verified
	}
	return nil, ""
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
// It has three stages. First it finds out whether there is anything to do: a part that
// is whole, or verified and dropped, is known. Then the bytes go to the evidence store, which
// returns once they are durable. Last comes the record. A crash between the two leaves a part
// without a record, which the next Collect removes; the other order would leave a record without a
// part.
func (s *Store) PutCertificateFrom(campaign uint32, id proof.ID, size int64, r io.Reader) (known bool, err error) {
	defer func() { err = during(fmt.Sprintf("put certificate %x", id[:]), err) }()
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
	s.arrives(id)
	defer func() { s.arrived(id, err) }()
	stored, there, err := s.certificate(id)
	if err != nil {
		return false, err
	}
	if there && stored.Pool != about.Pool {
		return false, fmt.Errorf("%w: the store has it for another board or kind of proof", ErrMismatch)
	}
	// A record alone is not enough to turn the bytes away: the part may be damaged, and this upload
	// may be what mends it.
	if there && (stored.Dropped || s.cache.Verify(id, int64(stored.Size)) == nil) {
		return true, nil
	}
	if err := s.room(size); err != nil {
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
	_, err = s.record(id, record.Certificate{Size: uint64(size), Pool: about.Pool})
	return false, err
}

// record records a part which is durable. known says that somebody was faster, and that the record is his.
func (s *Store) record(id proof.ID, c record.Certificate) (known bool, err error) {
	var old []byte
	err = s.do(&request{
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
	})
	return old != nil, err
}

// arrives notes that a part is on its way: until arrived, nobody removes its file.
func (s *Store) arrives(id proof.ID) {
	s.parts.Lock()
	defer s.parts.Unlock()
	s.arriving[id]++
}

// arrived ends what arrives began, with its error.
func (s *Store) arrived(id proof.ID, err error) {
	s.parts.Lock()
	if s.arriving[id]--; s.arriving[id] == 0 {
		delete(s.arriving, id)
	}
	s.parts.Unlock()
	if err != nil {
		s.dropPart(id)
	}
}

// dropParts drops parts, those in a bucket beside the caller: it may take long to answer.
func (s *Store) dropParts(ids iter.Seq[proof.ID]) {
	drop := func() {
		for id := range ids {
			s.dropPart(id)
		}
	}
	if s.Bucket() != nil {
		s.removing.Go(drop)
		return
	}
	drop()
}

// dropPart removes a part without a record, or whose record says that it is dropped, unless it is just
// arriving. What stays behind is collected later.
func (s *Store) dropPart(id proof.ID) bool {
	s.parts.Lock()
	defer s.parts.Unlock()
	// After a failed write nobody knows which records are on disk.
	c, there, err := s.certificate(id)
	if s.arriving[id] > 0 || there && !c.Dropped || err != nil || s.failed.Load() != nil {
		return false
	}
	s.cache.Forget(id)
	return s.evidence.Remove(id) == nil
}

// Collect removes the parts without a record that came between two times. It removes nothing if a record is damaged,
// which may be that of any part, or if the store was replaced, because its parts belong to the newer store.
func (s *Store) Collect(since, before time.Time) (parts int, bytes int64, err error) {
	known := map[proof.ID]bool{}
	err = s.eachCertificate(func(id proof.ID, c record.Certificate) { known[id] = !c.Dropped })
	if err != nil || Replaced(s.path) {
		return 0, 0, nil
	}
	for p, err := range s.evidence.List() {
		if err == nil && !known[p.ID] && p.Since.After(since) && p.Since.Before(before) && s.dropPart(p.ID) {
			parts, bytes = parts+1, bytes+p.Bytes
		}
		if err != nil && !errors.Is(err, evidence.ErrForeign) {
			return parts, bytes, err
		}
	}
	return parts, bytes, nil
}

// certificate returns the record of a certificate.
func (s *Store) certificate(id proof.ID) (c record.Certificate, ok bool, err error) {
	err = s.view(func(tx *bbolt.Tx) error {
		v := tx.Bucket([]byte(record.BucketCertificates)).Get(id[:])
		if ok = v != nil; ok {
			_, c, err = record.DecodeCertificate(id[:], v)
		}
		return err
	})
	return c, ok, err
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
			id, c, err := record.DecodeCertificate(k, v)
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

// Holds reports whether facts of a campaign may name a certificate: there is a record of it. It looks at no part.
func (s *Store) Holds(campaign uint32, id [32]byte) bool {
	_, ok, _ := s.heldFor(campaign, id)
	return ok
}

// heldFor returns the record of a certificate for the facts of a campaign, if there is one.
func (s *Store) heldFor(campaign uint32, id proof.ID) (c record.Certificate, ok bool, err error) {
	about, err := s.campaign(campaign)
	if err == nil {
		c, ok, err = s.certificate(id)
	}
	return c, err == nil && ok && c.Pool == about.Pool, err
}

// HasCertificate reports whether the store has a whole certificate for the facts of a campaign. The first call reads
// all bytes of the certificate.
func (s *Store) HasCertificate(campaign uint32, id [32]byte) bool {
	c, ok, _ := s.heldFor(campaign, id)
	if !ok || c.Dropped {
		return ok
	}
	if s.Bucket() != nil { // whose parts those who verify them read
		size, there, err := s.evidence.Has(id)
		return err == nil && there && size == int64(c.Size)
	}
	return s.cache.Verify(id, int64(c.Size)) == nil
}

// Certificate returns the bytes of a certificate for the facts of a campaign. Errors are those of
// CertificateFor.
func (s *Store) Certificate(campaign uint32, id [32]byte) ([]byte, error) {
	r, size, err := s.CertificateFor(campaign, id)
	if err != nil {
		return nil, err
	}
	data := make([]byte, size)
	if _, err := r.ReadAt(data, 0); err != nil {
		return nil, err
	}
	return data, nil
}

// CertificateFor is OpenCertificate with one more condition: it returns ErrNoCertificate for a certificate that is
// not for the pool of the campaign.
func (s *Store) CertificateFor(campaign uint32, id [32]byte) (io.ReaderAt, int64, error) {
	_, ok, err := s.heldFor(campaign, id)
	if err == nil && !ok {
		err = ErrNoCertificate
	}
	if err != nil {
		return nil, 0, fmt.Errorf("certificate %x: %w", id, err)
	}
	return s.OpenCertificate(id)
}

// OpenCertificate returns a reader of a certificate, and its size in bytes. The first time it reads
// all of it, so that no wrong byte is ever returned. Any number of goroutines may use the reader
// until the store is closed; it needs no Close. Errors: ErrNoCertificate, ErrDropped, ErrCorrupt, ErrClosed,
// evidence.ErrAway.
func (s *Store) OpenCertificate(id [32]byte) (io.ReaderAt, int64, error) {
	c, ok, err := s.certificate(id)
	if err == nil && !ok {
		err = ErrNoCertificate
	}
	if err == nil && c.Dropped {
		err = ErrDropped
	}
	if err != nil {
		return nil, 0, fmt.Errorf("certificate %x: %w", id, err)
	}
	if err := s.partError(id, s.cache.Verify(id, int64(c.Size))); err != nil {
		return nil, 0, err
	}
	return partReader{s, id, int64(c.Size)}, int64(c.Size), nil
}

// Reread reads a certificate whole once more. OpenCertificate does so only once, and a disk may change bytes later
// under the same size: then they are no longer what its maker has sent. Errors: those of OpenCertificate.
func (s *Store) Reread(id [32]byte) error {
	s.cache.Forget(id)
	_, _, err := s.OpenCertificate(id)
	return err
}

// partReader reads a part through the cache.
type partReader struct {
	s    *Store
	id   proof.ID
	size int64
}

// ReadAt reads through the cache, which has read the whole part once before. So damage is found
// before the first byte is returned, and an error names the part.
func (r partReader) ReadAt(p []byte, at int64) (int, error) {
	n, err := r.s.cache.ReadAt(r.id, r.size, p, at)
	if err != nil && err != io.EOF {
		err = r.s.partError(r.id, err)
	}
	return n, err
}

// PartError says that the bytes of a part are missing or damaged. It matches ErrCorrupt.
type PartError struct {
	ID    proof.ID
	error // names the part
}

// Is reports whether target is ErrCorrupt.
func (e *PartError) Is(target error) bool { return target == ErrCorrupt }

// partError gives an error of the evidence its kind here: a part that is missing or damaged is damage
// of the store.
func (s *Store) partError(id proof.ID, err error) error {
	switch {
	case errors.Is(err, evidence.ErrMissing), errors.Is(err, evidence.ErrDamaged), errors.Is(err, evidence.ErrForeign):
		err = &PartError{id, err}
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
	Verified string // who has verified it; empty: nobody yet
	Dropped  bool   // its bytes are not kept
	Number   uint64 // of its arrival
}

// Parts returns the certificates for the facts of a campaign and its pool, in the order in which they
// came.
func (s *Store) Parts(campaign uint32) (list []PartRecord, err error) {
	about, err := s.campaign(campaign)
	if err == nil {
		err = s.eachCertificate(func(id proof.ID, c record.Certificate) {
			if c.Pool == about.Pool {
				list = append(list, PartRecord{id, int64(c.Size), c.Verified, c.Dropped, c.Number})
			}
		})
	}
	slices.SortFunc(list, func(a, b PartRecord) int { return cmp.Compare(a.Number, b.Number) })
	return list, during("list certificates", err)
}

// MissingParts returns the certificates whose part is not there or has another size, and how many are kept
// as digests only. It reads no part.
func (s *Store) MissingParts() (missing []proof.ID, digests int, err error) {
	there := map[proof.ID]int64{}
	for p, err := range s.evidence.List() {
		if err == nil {
			there[p.ID] = p.Bytes
		} else if !errors.Is(err, evidence.ErrForeign) {
			return nil, 0, err
		}
	}
	err = s.eachCertificate(func(id proof.ID, c record.Certificate) {
		if size, ok := there[id]; c.Dropped {
			digests++
		} else if !ok || size != int64(c.Size) {
			missing = append(missing, id)
		}
	})
	return missing, digests, err
}
