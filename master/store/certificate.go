package store

import (
	"bytes"
	"cmp"
	"crypto/sha256"
	"fmt"
	"hash"
	"io"
	"slices"
	"sync"

	"amazonsfarm/master/store/record"
	"amazonsfarm/shared/proof"

	"go.etcd.io/bbolt"
)

// An upload has a number; its chunks lie under the number, not under the certificate's id, so that
// two workers may send the same certificate at once and a broken upload cannot harm a good one.
// While it runs there is a record in the bucket "uploads"; its last transaction moves that to
// "certificates", and so whatever is in "certificates" is whole. Open removes what is left in
// "uploads".

const (
	writeChunks  = 16                              // chunks in one write: about 1 MiB
	writeBytes   = writeChunks * record.ChunkBytes // memory that an upload holds
	removeChunks = 1024                            // chunks removed in one transaction
)

// Upload takes one certificate in. It is an io.Writer for one goroutine.
type Upload struct {
	s       *Store
	id      proof.ID
	size    int64
	pool    uint32 // the campaign for whose facts it is evidence
	known   bool   // the store has it already
	number  uint64
	begun   bool // there is a record in the bucket "uploads"
	sum     hash.Hash
	taken   int64 // bytes given to Write
	chunks  uint64
	pending []byte
	err     error // of an earlier call
	ended   bool
}

// PutCertificate keeps a certificate for the facts of a campaign and its pool. known says that the
// store had it before. Errors as of BeginCertificate and Upload.Close.
func (s *Store) PutCertificate(campaign uint32, id [32]byte, data []byte) (known bool, err error) {
	u, err := s.BeginCertificate(campaign, id, int64(len(data)))
	if err != nil {
		return false, err
	}
	if !u.Known() {
		if _, err := u.Write(data); err != nil {
			return false, err
		}
	}
	return u.Known(), u.Close()
}

// BeginCertificate starts to take in, for a campaign and its pool, the
// certificate with the given SHA-256 and size in bytes. If the store has it already, the upload is
// Known: Write and Close then succeed at once and write nothing. The caller ends each upload with
// Close or Abort. Errors: ErrCampaign, ErrInvalid, ErrMismatch (the store has it with another size,
// or for another board or kind of proof), ErrTooLarge, ErrBusy, ErrNoSpace, ErrReadOnly, ErrFailed,
// ErrClosed, ErrCorrupt.
func (s *Store) BeginCertificate(campaign uint32, id [32]byte, size int64) (*Upload, error) {
	u, err := s.beginUpload(campaign, id, size)
	if err != nil {
		return nil, fmt.Errorf("begin certificate %x: %w", id, err)
	}
	return u, nil
}

func (s *Store) beginUpload(campaign uint32, id proof.ID, size int64) (*Upload, error) {
	if size <= 0 || id == (proof.ID{}) {
		return nil, fmt.Errorf("%w: a certificate has an id and at least one byte, not %d", ErrInvalid, size)
	}
	if size > s.options.certificateBytes {
		return nil, fmt.Errorf("%w: it has %d bytes, the limit is %d; raise the limit or split the proof", ErrTooLarge,
			size, s.options.certificateBytes)
	}
	if s.options.ReadOnly {
		return nil, fmt.Errorf("%w; open it without ReadOnly to write", ErrReadOnly)
	}
	about, err := s.campaign(campaign)
	if err != nil {
		return nil, err
	}
	u := &Upload{s: s, id: id, size: size, pool: about.Pool}
	record, known, err := s.certificate(id)
	if err != nil {
		return nil, err
	}
	if known {
		if record.Size != uint64(size) {
			return nil, fmt.Errorf("%w: it was announced with %d bytes, the store has it with %d", ErrMismatch, size,
				record.Size)
		}
		if record.Pool != about.Pool {
			return nil, fmt.Errorf("%w: the store has it for another board or kind of proof", ErrMismatch)
		}
		u.known = true
		return u, nil
	}
	if err := s.Room(size + size/16); err != nil {
		return nil, err
	}
	if n := s.uploads.Add(1); n > int64(s.options.uploads) {
		s.uploads.Add(-1)
		return nil, fmt.Errorf("%w: %d are open, which is the limit; try again later", ErrBusy, n-1)
	}
	u.sum = sha256.New()
	u.pending = make([]byte, 0, min(size, writeBytes))
	return u, nil
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

// Known reports whether the store had the certificate when the upload began, so that its bytes need
// not be sent.
func (u *Upload) Known() bool { return u.known }

// Write takes the next bytes, in pieces of any size. An error ends the upload and is what all later
// calls return: ErrMismatch for more bytes than announced, otherwise as of Commit.
func (u *Upload) Write(p []byte) (int, error) {
	if u.ended && u.err == nil {
		return 0, fmt.Errorf("write certificate: %w", ErrClosed)
	}
	if u.err != nil {
		return 0, u.err
	}
	u.taken += int64(len(p))
	if u.taken > u.size {
		return 0, u.fail(fmt.Errorf("%w: it was announced with %d bytes and has more", ErrMismatch, u.size))
	}
	if u.known {
		return len(p), nil
	}
	u.sum.Write(p)
	for rest := p; len(rest) > 0; {
		if len(u.pending) == writeBytes { // a full buffer waits for more: what is in the last one goes with Close
			if err := u.flush(nil); err != nil {
				return 0, u.fail(err)
			}
		}
		n := min(writeBytes-len(u.pending), len(rest))
		u.pending = append(u.pending, rest[:n]...)
		rest = rest[n:]
	}
	return len(p), nil
}

// flush writes the pending bytes and, in the same transaction, what last does.
func (u *Upload) flush(last func(tx *bbolt.Tx, c *record.Counters) error) error {
	data, begun, number := u.pending, u.begun, u.number
	err := u.s.do(&request{
		records: 1 + int(record.ChunkCount(uint64(len(data)))),
		bytes:   int64(len(data)),
		apply: func(tx *bbolt.Tx, c *record.Counters) error {
			if !begun {
				c.Uploads++
				number = c.Uploads
				if err := tx.Bucket([]byte(record.BucketUploads)).Put(record.UploadKey(number),
					record.EncodeUpload(number, u.id, uint64(u.size))); err != nil {
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
			u.number = number
			if last != nil {
				return last(tx, c)
			}
			return nil
		},
	})
	if err != nil {
		return err
	}
	u.begun = true
	u.chunks += record.ChunkCount(uint64(len(data)))
	u.pending = u.pending[:0]
	return nil
}

// fail ends the upload with an error and removes what it has written.
func (u *Upload) fail(err error) error {
	u.err = fmt.Errorf("certificate %x: %w", u.id[:], err)
	u.end()
	return u.err
}

func (u *Upload) end() {
	if u.ended {
		return
	}
	u.ended = true
	u.pending = nil
	if u.known {
		return
	}
	u.s.uploads.Add(-1)
	if u.begun {
		u.s.remove(u.number) // what fails here is removed at the next Open
	}
}

// Abort ends an upload and removes what it has written. After Close it does nothing.
func (u *Upload) Abort() {
	if u.err == nil && !u.ended {
		u.err = fmt.Errorf("certificate %x: %w", u.id[:], ErrClosed)
	}
	u.end()
}

// Close verifies size and SHA-256, marks the certificate complete and returns when all of it is on
// disk. Where another upload of the same certificate was faster, this one is removed and Close
// succeeds. Errors: ErrMismatch, otherwise as of Commit; nothing of the certificate is then left.
func (u *Upload) Close() error {
	if u.err != nil {
		return u.err
	}
	if u.ended {
		return nil
	}
	if u.known {
		u.ended = true
		return nil
	}
	if u.taken != u.size {
		return u.fail(fmt.Errorf("%w: it was announced with %d bytes and has %d", ErrMismatch, u.size, u.taken))
	}
	if got := u.sum.Sum(nil); !bytes.Equal(got, u.id[:]) {
		return u.fail(fmt.Errorf("%w: its SHA-256 is %x", ErrMismatch, got))
	}
	duplicate := false
	err := u.flush(func(tx *bbolt.Tx, c *record.Counters) error {
		certificates := tx.Bucket([]byte(record.BucketCertificates))
		if duplicate = certificates.Get(u.id[:]) != nil; duplicate {
			return nil
		}
		if err := certificates.Put(u.id[:], record.EncodeCertificate(u.id,
			record.Certificate{Number: u.number, Size: uint64(u.size),
				Pool: u.pool})); err != nil {
			return err
		}
		c.Certificates++
		c.CertificateBytes += uint64(u.size)
		return tx.Bucket([]byte(record.BucketUploads)).Delete(record.UploadKey(u.number))
	})
	if err != nil {
		return u.fail(err)
	}
	if !duplicate {
		u.begun = false // its chunks belong to the certificate now
	}
	u.end()
	return nil
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

// removeUnfinished removes the uploads that an earlier process has not finished. It runs before the
// writer does.
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

// readChunk returns chunk i of a certificate, valid as long as the transaction.
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
