package store

import (
	"bytes"
	"cmp"
	"fmt"
	"io"
	"slices"
	"sync"

	"amazonsfarm/master/store/record"
	"amazonsfarm/shared/proof"

	"go.etcd.io/bbolt"
)

// A certificate comes in pieces, one transaction each; together these are an upload. An upload has a
// number; its chunks lie under the number, not under the certificate's id, so that two workers may
// send the same certificate at once and a broken upload cannot harm a good one. While it runs there
// is a record in the bucket "uploads". Its last transaction moves the record to "certificates", so
// every certificate there is whole. Open removes what is left in "uploads".

const (
	writeChunks  = 16 // chunks in one transaction: about 1 MiB
	writeBytes   = writeChunks * record.ChunkBytes
	removeChunks = 1024 // chunks removed in one transaction
)

// PutCertificate keeps a certificate, named by the SHA-256 of its bytes, for the facts of a campaign
// and its pool, and returns when all of it is on disk. known says that the store had it before, and
// nothing was written. Errors: ErrMismatch (the hash is another one, or the store has the
// certificate for another pool), ErrTooLarge, ErrInvalid, otherwise as of Commit; nothing of the
// certificate is then left.
func (s *Store) PutCertificate(campaign uint32, id [32]byte, data []byte) (known bool, err error) {
	if known, err = s.putCertificate(campaign, id, data); err != nil {
		return false, fmt.Errorf("put certificate %x: %w", id, err)
	}
	return known, nil
}

func (s *Store) putCertificate(campaign uint32, id proof.ID, data []byte) (known bool, err error) {
	size := int64(len(data))
	if size == 0 || id == (proof.ID{}) {
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
	stored, known, err := s.certificate(id)
	if err != nil {
		return false, err
	}
	if known {
		if stored.Pool != about.Pool {
			return false, fmt.Errorf("%w: the store has it for another board or kind of proof", ErrMismatch)
		}
		return true, nil
	}
	if got := proof.IDOf(data); got != id {
		return false, fmt.Errorf("%w: its SHA-256 is %x", ErrMismatch, got[:])
	}
	if err := s.Room(size + size/16); err != nil {
		return false, err
	}
	s.uploads.Add(1)
	defer s.uploads.Add(-1)
	in := incoming{s: s, id: id, size: uint64(size), pool: about.Pool}
	for ; len(data) > writeBytes && err == nil; data = data[writeBytes:] {
		err = in.write(data[:writeBytes], nil)
	}
	duplicate := false
	if err == nil {
		err = in.write(data, func(number uint64, tx *bbolt.Tx, c *record.Counters) (err error) {
			duplicate, err = in.complete(number, tx, c)
			return err
		})
	}
	if in.number != 0 && (err != nil || duplicate) {
		s.remove(in.number) // what fails here is removed at the next Open
	}
	return false, err
}

// incoming is an upload under way.
type incoming struct {
	s      *Store
	id     proof.ID
	size   uint64
	pool   uint32
	number uint64 // 0: nothing of it is in the store
	chunks uint64 // so many are in the store
}

// write writes the next bytes and, in the same transaction, calls last.
func (u *incoming) write(data []byte, last func(number uint64, tx *bbolt.Tx, c *record.Counters) error) error {
	number := u.number
	err := u.s.do(&request{
		records: 1 + int(record.ChunkCount(uint64(len(data)))),
		bytes:   int64(len(data)),
		apply: func(tx *bbolt.Tx, c *record.Counters) error {
			if u.number == 0 {
				c.Uploads++
				number = c.Uploads
				if err := tx.Bucket([]byte(record.BucketUploads)).Put(record.UploadKey(number),
					record.EncodeUpload(number, u.id, u.size)); err != nil {
					return err
				}
			}
			chunks := tx.Bucket([]byte(record.BucketChunks))
			for i, rest := u.chunks, data; len(rest) > 0; i++ {
				n := min(record.ChunkBytes, len(rest))
				key := record.ChunkKey(number, i)
				if err := chunks.Put(key, record.Seal(record.BucketChunks, key, rest[:n])); err != nil {
					return err
				}
				rest = rest[n:]
			}
			if last != nil {
				return last(number, tx, c)
			}
			return nil
		},
	})
	if err == nil {
		u.number = number
		u.chunks += record.ChunkCount(uint64(len(data)))
	}
	return err
}

// complete moves the record of the upload to the complete certificates, unless another upload of the
// certificate was faster.
func (u *incoming) complete(number uint64, tx *bbolt.Tx, c *record.Counters) (duplicate bool, err error) {
	certificates := tx.Bucket([]byte(record.BucketCertificates))
	if certificates.Get(u.id[:]) != nil {
		return true, nil
	}
	whole := record.Certificate{Number: number, Size: u.size, Pool: u.pool}
	if err := certificates.Put(u.id[:], record.EncodeCertificate(u.id, whole)); err != nil {
		return false, err
	}
	c.Certificates++
	c.CertificateBytes += u.size
	return false, tx.Bucket([]byte(record.BucketUploads)).Delete(record.UploadKey(number))
}

// certificate returns the record of a complete certificate.
func (s *Store) certificate(id proof.ID) (c record.Certificate, ok bool, err error) {
	err = s.view(func(tx *bbolt.Tx) error {
		v := tx.Bucket([]byte(record.BucketCertificates)).Get(id[:])
		if ok = v != nil; !ok {
			return nil
		}
		_, c, err = record.DecodeCertificate(id[:], v)
		return err
	})
	return c, ok, err
}

// remove deletes the chunks of an upload and then its record.
func (s *Store) remove(number uint64) error {
	for more := true; more; {
		err := s.do(&request{
			records: 1,
			bytes:   pageSize,
			apply: func(tx *bbolt.Tx, _ *record.Counters) (err error) {
				more,
					err = removeSome(tx, number)
				return err
			},
		})
		if err != nil {
			return err
		}
	}
	return nil
}

// removeSome deletes chunks of an upload, at most removeChunks, and its record once they are gone.
func removeSome(tx *bbolt.Tx, number uint64) (more bool, err error) {
	chunks := tx.Bucket([]byte(record.BucketChunks))
	prefix := record.UploadKey(number)
	var keys [][]byte
	cursor := chunks.Cursor()
	for k, _ := cursor.Seek(prefix); bytes.HasPrefix(k, prefix); k, _ = cursor.Next() {
		if len(keys) == removeChunks {
			more = true
			break
		}
		keys = append(keys, bytes.Clone(k))
	}
	for _, k := range keys {
		if err := chunks.Delete(k); err != nil {
			return false, err
		}
	}
	if more {
		return true, nil
	}
	return false, tx.Bucket([]byte(record.BucketUploads)).Delete(prefix)
}

// removeUnfinished removes the unfinished uploads of an earlier process. It runs before the writer
// starts.
func (s *Store) removeUnfinished() error {
	var numbers []uint64
	err := s.view(func(tx *bbolt.Tx) error {
		return tx.Bucket([]byte(record.BucketUploads)).ForEach(func(k, v []byte) error {
			number, _, _, err := record.DecodeUpload(k, v)
			numbers = append(numbers, number)
			return err
		})
	})
	if err != nil {
		return err
	}
	for _, number := range numbers {
		for more := true; more; {
			err := guard(func() error {
				return s.db.Update(func(tx *bbolt.Tx) (err error) {
					more, err = removeSome(tx, number)
					return err
				})
			})
			if err != nil {
				return err
			}
		}
	}
	return nil
}

// HasCertificate reports whether the store has a whole certificate for the facts of a campaign.
func (s *Store) HasCertificate(campaign uint32, id [32]byte) bool {
	about, err := s.campaign(campaign)
	if err != nil {
		return false
	}
	c, ok, err := s.certificate(id)
	return err == nil && ok && c.Pool == about.Pool
}

// Certificate returns the bytes of a certificate for the facts of a campaign. Errors:
// ErrNoCertificate, ErrCorrupt, ErrClosed.
func (s *Store) Certificate(campaign uint32, id [32]byte) ([]byte, error) {
	if !s.HasCertificate(campaign, id) {
		return nil, fmt.Errorf("%w: %x", ErrNoCertificate, id)
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

// OpenCertificate returns a reader of a complete certificate, and its size in bytes. The reader may
// be used by any number of goroutines until the store is closed; each read verifies the checksums
// of the bytes that it touches. The reader keeps one chunk in memory, so that small reads in a row
// are cheap. Errors: ErrNoCertificate, ErrCorrupt, ErrClosed.
func (s *Store) OpenCertificate(id [32]byte) (io.ReaderAt, int64, error) {
	c, ok, err := s.certificate(id)
	if err != nil {
		return nil, 0, fmt.Errorf("certificate %x: %w", id, err)
	}
	if !ok {
		return nil, 0, fmt.Errorf("%w: %x is not complete in the store", ErrNoCertificate, id)
	}
	return &certificateReader{s: s, id: id, record: c}, int64(c.Size), nil
}

type certificateReader struct {
	s      *Store
	id     proof.ID
	record record.Certificate

	mu    sync.Mutex
	index uint64 // of the chunk in last
	last  []byte // nil: none
}

func (r *certificateReader) ReadAt(p []byte, offset int64) (n int, err error) {
	if offset < 0 {
		return 0, fmt.Errorf("certificate %x: %w: a negative offset", r.id[:], ErrInvalid)
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	for n < len(p) {
		at := uint64(offset) + uint64(n)
		if at >= r.record.Size {
			return n, io.EOF
		}
		if err := r.load(at / record.ChunkBytes); err != nil {
			return n, fmt.Errorf("certificate %x: %w", r.id[:], err)
		}
		n += copy(p[n:], r.last[at%record.ChunkBytes:])
	}
	return n, nil
}

func (r *certificateReader) load(index uint64) error {
	if r.last != nil && r.index == index {
		return nil
	}
	buffer := r.last[:0]
	r.last = nil
	return r.s.view(func(tx *bbolt.Tx) error {
		data, err := readChunk(tx, r.record, index)
		if err == nil {
			r.index, r.last = index, append(buffer, data...)
		}
		return err
	})
}

// readChunk returns chunk i of a certificate, valid during the transaction.
func readChunk(tx *bbolt.Tx, c record.Certificate, i uint64) ([]byte, error) {
	key := record.ChunkKey(c.Number, i)
	v := tx.Bucket([]byte(record.BucketChunks)).Get(key)
	if v == nil {
		return nil, record.Corrupt(record.BucketChunks, key, "it is missing")
	}
	data, err := record.Unseal(record.BucketChunks, key, v)
	if err == nil && len(data) != record.ChunkSize(c.Size, i) {
		err = record.Corrupt(record.BucketChunks, key, "it has %d bytes, not %d", len(data),
			record.ChunkSize(c.Size, i))
	}
	return data, err
}

// Certificates returns how many complete certificates there are, and their bytes; zeros where the
// store cannot be read.
func (s *Store) Certificates() (count int, bytes int64) {
	_ = s.view(func(tx *bbolt.Tx) error {
		c, err := readCounters(tx)
		count, bytes = int(c.Certificates), int64(c.CertificateBytes)
		return err
	})
	return count, bytes
}

// CertificatesOf returns the ids of the complete certificates for the facts of a campaign and its
// pool, in the order in which their uploads began.
func (s *Store) CertificatesOf(campaign uint32) ([]proof.ID, error) {
	type numbered struct {
		id     proof.ID
		number uint64
	}
	var list []numbered
	about, err := s.campaign(campaign)
	if err != nil {
		return nil, fmt.Errorf("list certificates: %w", err)
	}
	err = s.view(func(tx *bbolt.Tx) error {
		c, err := readCounters(tx)
		if err != nil {
			return err
		}
		all := uint64(0)
		err = tx.Bucket([]byte(record.BucketCertificates)).ForEach(func(k, v []byte) error {
			all++
			id, c, err := record.DecodeCertificate(k, v)
			if c.Pool == about.Pool {
				list = append(list, numbered{id, c.Number})
			}
			return err
		})
		if err != nil {
			return err
		}
		return counted(record.BucketCertificates, all, c.Certificates)
	})
	if err != nil {
		return nil, fmt.Errorf("list certificates: %w", err)
	}
	slices.SortFunc(list, func(a, b numbered) int { return cmp.Compare(a.number, b.number) })
	ids := make([]proof.ID, len(list))
	for i, c := range list {
		ids[i] = c.id
	}
	return ids, nil
}
