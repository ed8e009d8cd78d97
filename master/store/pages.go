package store

import (
	"bytes"
	"context"
	"encoding/binary"
	"fmt"
	"hash/fnv"
	"io"
	"math"
)

// bbolt trusts its file: a page number that points past the end is a fault in a memory
// map, a page that points to its own ancestor is an endless loop, and opening for
// writing may write. So the structure of the file is read here first, with plain reads,
// bounds on everything and no bbolt. The layout (bbolt file version 2, host byte order) is
// described in go.etcd.io/bbolt v1.5.0, internal/common: meta.go, page.go, bucket.go.

const (
	boltMagic      = 0xED0CDAED
	boltVersion    = 2
	boltMetaBytes  = 64 // with its checksum
	boltPageHeader = 16
	boltElement    = 16 // of a branch or leaf page
	boltBucketHead = 16 // root page and sequence, at the start of a bucket's value
	boltNoFreelist = math.MaxUint64

	pageBranch   = 0x01
	pageLeaf     = 0x02
	pageFreelist = 0x10

	leafBucket = 0x01 // flag of a leaf element whose value is a bucket
)

// A header is one of the two meta pages of a bbolt file. The one with the higher
// transaction counts; a commit overwrites the other.
type header struct {
	pageSize int64
	root     uint64 // page of the root bucket
	freelist uint64 // page of the list of free pages
	high     uint64 // number of pages in use or free; pages from here on do not exist
	txid     uint64
}

func parseHeader(p []byte) (h header, magic, ok bool) {
	order := binary.NativeEndian
	if len(p) < boltMetaBytes || order.Uint32(p) != boltMagic {
		return header{}, false, false
	}
	sum := fnv.New64a()
	sum.Write(p[:56])
	h = header{
		pageSize: int64(order.Uint32(p[8:])),
		root:     order.Uint64(p[16:]),
		freelist: order.Uint64(p[32:]),
		high:     order.Uint64(p[40:]),
		txid:     order.Uint64(p[48:]),
	}
	ok = order.Uint32(p[4:]) == boltVersion && order.Uint64(p[56:]) == sum.Sum64() &&
		h.pageSize >= 512 && h.pageSize <= 1<<24 && h.pageSize&(h.pageSize-1) == 0
	return h, true, ok
}

// readHeaders returns the valid headers of a bbolt file. Errors: ErrForeign where
// nothing looks like bbolt, a CorruptError where it does and no header is whole.
func readHeaders(r io.ReaderAt, size int64) ([]header, error) {
	read := func(page int64) (header, bool, bool) {
		var p [boltMetaBytes]byte
		if _, err := r.ReadAt(p[:], page+boltPageHeader); err != nil {
			return header{}, false, false
		}
		return parseHeader(p[:])
	}
	var found []header
	first, magic, ok := read(0)
	if ok {
		found = append(found, first)
		if second, _, ok := read(first.pageSize); ok && second.pageSize == first.pageSize {
			found = append(found, second)
		}
		return found, nil
	}
	for page := int64(1 << 10); page <= 1<<24 && page < size; page <<= 1 {
		second, m, ok := read(page)
		magic = magic || m
		if ok && second.pageSize == page {
			return []header{second}, nil
		}
	}
	if magic {
		return nil, &CorruptError{Reason: "neither of its two headers is whole"}
	}
	return nil, ErrForeign
}

// An image walks the page structure of one state of a bbolt file.
type image struct {
	ctx  context.Context
	r    io.ReaderAt
	size int64
	header
	seen []uint64 // bit per page: reached already
	done uint64   // of them

	progress Progress // nil: nobody is told

	page []byte // buffer of one page

	metaWalked bool // the bucket "meta" was reached already
}

func newImage(ctx context.Context, r io.ReaderAt, size int64, h header) (*image, error) {
	if h.high < 4 || h.high > uint64(math.MaxInt64/h.pageSize) || int64(h.high)*h.pageSize > size {
		return nil, &CorruptError{Reason: fmt.Sprintf(
			"the file has %d bytes where its header promises at least %d pages of %d, so its end is missing", size,
			h.high, h.pageSize)}
	}
	m := &image{ctx: ctx, r: r, size: size, header: h, seen: make([]uint64, (h.high+63)/64)}
	m.seen[0] = 3 // the two headers
	return m, nil
}

func (m *image) damage(page uint64, format string, args ...any) error {
	return &CorruptError{Reason: fmt.Sprintf("page %d: ", page) + fmt.Sprintf(format, args...)}
}

// mark claims pages first..first+n-1, once.
func (m *image) mark(first, n uint64) error {
	if first < 2 || first >= m.high || n > m.high-first {
		return m.damage(first, "outside of the file's pages 2 to %d", m.high-1)
	}
	for id := first; id < first+n; id++ {
		if m.seen[id/64]&(1<<(id%64)) != 0 {
			return m.damage(id, "used twice")
		}
		m.seen[id/64] |= 1 << (id % 64)
	}
	if before := m.done; before/4096 != (before+n)/4096 {
		m.progress.tell("pages", int64(before+n), int64(m.high))
	}
	m.done += n
	return nil
}

// A bucketAt is a bucket named in the root page.
type bucketAt struct {
	root   uint64 // its first page, 0 for a bucket that lies inside its parent's value
	inline int64  // where that page starts in the file
	bytes  int64  // and how long it is
}

// A leafAt is a key and where its value lies in the file.
type leafAt struct {
	key    []byte // valid until the next read
	bucket bool
	offset int64
	bytes  int64
}

// buckets returns the buckets at the top level.
func (m *image) buckets() (map[string]bucketAt, error) {
	found := map[string]bucketAt{}
	err := m.tree(m.root, nil, nil, func(l leafAt) error {
		if !l.bucket || l.bytes < boltBucketHead {
			return m.damage(m.root, "the root holds something that is not a bucket")
		}
		var p [8]byte
		if _, err := m.r.ReadAt(p[:], l.offset); err != nil {
			return err
		}
		found[string(l.key)] = bucketAt{root: binary.NativeEndian.Uint64(p[:]), inline: l.offset +
			boltBucketHead, bytes: l.bytes - boltBucketHead}
		return nil
	})
	return found, err
}

// walk visits the leaves of a bucket in the order of keys.
func (m *image) walk(b bucketAt, visit func(leafAt) error) error {
	if b.root != 0 {
		return m.tree(b.root, nil, nil, visit)
	}
	if b.bytes < boltPageHeader || b.bytes > m.pageSize {
		return m.damage(0, "a bucket inside a page has %d bytes", b.bytes)
	}
	p := make([]byte, b.bytes)
	if _, err := m.r.ReadAt(p, b.inline); err != nil {
		return err
	}
	if flags := binary.NativeEndian.Uint16(p[8:]); flags != pageLeaf {
		return m.damage(0, "a bucket inside a page has type %#x", flags)
	}
	return m.leaves(0, p, b.inline, b.bytes, nil, nil, visit)
}

// tree visits the leaves under a page. Keys are within lo (included) and hi (not included).
func (m *image) tree(id uint64, lo, hi []byte, visit func(leafAt) error) error {
	if err := m.ctx.Err(); err != nil {
		return err
	}
	if id < 2 || id >= m.high {
		return m.damage(id, "outside of the file's pages 2 to %d", m.high-1)
	}
	if m.page == nil {
		m.page = make([]byte, m.pageSize)
	}
	offset := int64(id) * m.pageSize
	if _, err := m.r.ReadAt(m.page, offset); err != nil {
		return err
	}
	order := binary.NativeEndian
	flags, count, overflow := order.Uint16(m.page[8:]), int64(order.Uint16(m.page[10:])),
		uint64(order.Uint32(m.page[12:]))
	if got := order.Uint64(m.page); got != id {
		return m.damage(id, "is marked as page %d", got)
	}
	if err := m.mark(id, overflow+1); err != nil {
		return err
	}
	total := int64(overflow+1) * m.pageSize
	if boltPageHeader+count*boltElement > total {
		return m.damage(id, "%d entries do not fit in it", count)
	}
	switch flags {
	case pageLeaf:
		return m.leaves(id, m.page, offset, total, lo, hi, visit)
	case pageBranch:
	default:
		return m.damage(id, "has type %#x, not branch or leaf", flags)
	}
	if count == 0 {
		return m.damage(id, "a branch without children")
	}
	type child struct {
		key []byte
		id  uint64
	}
	children := make([]child, count)
	for i := range children {
		at := boltPageHeader + int64(i)*boltElement
		e, err := m.bytes(m.page, offset, total, at, boltElement)
		if err != nil {
			return m.damage(id, "entry %d: %v", i, err)
		}
		pos, n := int64(order.Uint32(e)), int64(order.Uint32(e[4:]))
		children[i].id = order.Uint64(e[8:])
		key, err := m.bytes(m.page, offset, total, at+pos, n)
		if err != nil {
			return m.damage(id, "key of entry %d: %v", i, err)
		}
		children[i].key = bytes.Clone(key)
		if err := inOrder(children[i].key, lo, hi, i > 0); err != nil {
			return m.damage(id, "entry %d: %v", i, err)
		}
		lo = children[i].key
	}
	for i, c := range children {
		end := hi
		if i+1 < len(children) {
			end = children[i+1].key
		}
		if err := m.tree(c.id, c.key, end, visit); err != nil {
			return err
		}
	}
	return nil
}

// leaves visits the entries of a leaf page of total bytes at offset, of which the
// first part lies in p.
func (m *image) leaves(id uint64, p []byte, offset, total int64, lo, hi []byte, visit func(leafAt) error) error {
	order := binary.NativeEndian
	count := int64(order.Uint16(p[10:]))
	var last []byte
	for i := range count {
		at := boltPageHeader + i*boltElement
		e, err := m.bytes(p, offset, total, at, boltElement)
		if err != nil {
			return m.damage(id, "entry %d: %v", i, err)
		}
		flags := order.Uint32(e)
		pos, keyBytes, valueBytes := int64(order.Uint32(e[4:])), int64(order.Uint32(e[8:])), int64(order.Uint32(e[12:]))
		if flags > leafBucket {
			return m.damage(id, "entry %d has unknown flags %#x", i, flags)
		}
		key, err := m.bytes(p, offset, total, at+pos, keyBytes)
		if err != nil {
			return m.damage(id, "key of entry %d: %v", i, err)
		}
		if valueBytes > total-(at+pos+keyBytes) {
			return m.damage(id, "value of entry %d: reaches past the page", i)
		}
		if i > 0 {
			lo = last
		}
		if err := inOrder(key, lo, hi, i > 0); err != nil {
			return m.damage(id, "entry %d: %v", i, err)
		}
		last = append(last[:0], key...)
		if err := visit(leafAt{key: last, bucket: flags == leafBucket, offset: offset + at + pos +
			keyBytes, bytes: valueBytes}); err != nil {
			return err
		}
	}
	return nil
}

// bytes returns n bytes at position at of a page; p is its first part.
func (m *image) bytes(p []byte, offset, total, at, n int64) ([]byte, error) {
	if at < 0 || n > total || at > total-n {
		return nil, fmt.Errorf("reaches past the page")
	}
	if at+n <= int64(len(p)) {
		return p[at : at+n], nil
	}
	q := make([]byte, n)
	_, err := m.r.ReadAt(q, offset+at)
	return q, err
}

func inOrder(key, lo, hi []byte, strict bool) error {
	if c := bytes.Compare(lo, key); lo != nil && (c > 0 || strict && c == 0) {
		return fmt.Errorf("its key is not above the one before")
	}
	if hi != nil && bytes.Compare(key, hi) >= 0 {
		return fmt.Errorf("its key belongs to a later page")
	}
	return nil
}

// account reads the list of free pages and verifies that every page of the file is
// either reached or free. It comes after all buckets have been walked.
func (m *image) account() error {
	if m.freelist == boltNoFreelist {
		return &CorruptError{Reason: "it has no list of free pages"}
	}
	if m.freelist < 2 || m.freelist >= m.high {
		return m.damage(m.freelist, "outside of the file's pages 2 to %d", m.high-1)
	}
	offset := int64(m.freelist) * m.pageSize
	var p [boltPageHeader + 8]byte
	if _, err := m.r.ReadAt(p[:], offset); err != nil {
		return err
	}
	order := binary.NativeEndian
	id, flags, count, overflow := order.Uint64(p[:]), order.Uint16(p[8:]), uint64(order.Uint16(p[10:])),
		uint64(order.Uint32(p[12:]))
	if id != m.freelist || flags != pageFreelist {
		return m.damage(m.freelist, "is not the list of free pages")
	}
	if err := m.mark(m.freelist, overflow+1); err != nil {
		return err
	}
	start := int64(boltPageHeader)
	if count == math.MaxUint16 {
		count, start = order.Uint64(p[boltPageHeader:]), start+8
	}
	if count > m.high || int64(count)*8 > int64(overflow+1)*m.pageSize-start {
		return m.damage(m.freelist, "the list of free pages is longer than its pages")
	}
	ids := make([]byte, count*8)
	if _, err := m.r.ReadAt(ids, offset+start); err != nil {
		return err
	}
	var last uint64
	for i := range count {
		free := order.Uint64(ids[i*8:])
		if free <= last {
			return m.damage(m.freelist, "the list of free pages is not sorted")
		}
		last = free
		if err := m.mark(free, 1); err != nil {
			return err
		}
	}
	for id := range m.high {
		if m.seen[id/64]&(1<<(id%64)) == 0 {
			return m.damage(id, "neither used nor free")
		}
	}
	return nil
}
