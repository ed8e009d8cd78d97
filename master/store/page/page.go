// Package page verifies the page structure of a bbolt file by plain reads, before bbolt opens it.
//
// bbolt trusts its file. A page number that points past the end is a fault in a memory map; a page
// that points to its own ancestor is an endless loop; and opening for writing may write. So this
// package reads the structure first, with bounds on everything and without bbolt: [ReadHeaders]
// finds the two headers, [New] starts from one of them, [Image.Buckets] and [Image.Walk] visit
// buckets and records, and [Image.Whole] verifies that each page is used once or free.
//
// The layout (bbolt file version 2, byte order of the machine) is that of go.etcd.io/bbolt v1.5.0,
// internal/common: meta.go, page.go, bucket.go.
//
// # Why plain reads
//
// A memory map would be quicker, but a file that is cut short under a map kills the process with
// SIGBUS, and this package exists for files that may be anything. Each read names its offset and
// length, both are compared with the size of the file first, and a damaged page number ends in an
// error with its place. The walk visits each page once and marks it, so a page that points to its
// own ancestor is found at the second visit, however the circle runs.
package page

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"hash/fnv"
	"io"
	"math"

	"amazonsfarm/master/store/record"
)

// Sizes of the page format, in bytes.
const (
	HeaderBytes  = 16 // before the content of a page
	ElementBytes = 16 // before each entry of a branch or a leaf
	MetaBytes    = 64 // a header, with its checksum
)

const (
	boltMagic      = 0xED0CDAED
	boltVersion    = 2
	boltBucketHead = 16 // root page and sequence, at the start of a bucket's value
	boltNoFreelist = math.MaxUint64

	pageBranch   = 0x01
	pageLeaf     = 0x02
	pageFreelist = 0x10

	leafBucket = 0x01 // flag of a leaf element whose value is a bucket
)

// ErrForeign means that a file is no bbolt file.
var ErrForeign = errors.New("not a bbolt file")

// A Header is one of the two meta pages of a bbolt file. The one with the higher
// transaction counts; a commit overwrites the other.
type Header struct {
	PageSize int64
	Root     uint64 // page of the root bucket
	Freelist uint64 // page of the list of free pages
	High     uint64 // number of pages in use or free; pages from here on do not exist
	TxID     uint64
}

// parseHeader reads a header: magic 4 bytes, version 4, page size 4, flags 4, root page 8, sequence of
// the root bucket 8, list of free pages 8, number of pages 8, transaction 8, and the 64-bit FNV-1a hash
// of these 56 bytes. magic says that it begins like a header, ok that it is a whole one.
func parseHeader(p []byte) (h Header, magic, ok bool) {
	order := binary.NativeEndian
	if len(p) < MetaBytes || order.Uint32(p) != boltMagic {
		return Header{}, false, false
	}
	sum := fnv.New64a()
	sum.Write(p[:56])
	h = Header{
		PageSize: int64(order.Uint32(p[8:])),
		Root:     order.Uint64(p[16:]),
		Freelist: order.Uint64(p[32:]),
		High:     order.Uint64(p[40:]),
		TxID:     order.Uint64(p[48:]),
	}
	ok = order.Uint32(p[4:]) == boltVersion && order.Uint64(p[56:]) == sum.Sum64() &&
		h.PageSize >= 512 && h.PageSize <= 1<<24 && h.PageSize&(h.PageSize-1) == 0
	return h, true, ok
}

// ReadHeaders returns the valid headers of a bbolt file. Errors: ErrForeign if nothing looks like
// bbolt, a *record.CorruptError if no header is whole.
func ReadHeaders(r io.ReaderAt, size int64) ([]Header, error) {
	read := func(page int64) (Header, bool, bool) {
		var p [MetaBytes]byte
		if _, err := r.ReadAt(p[:], page+HeaderBytes); err != nil {
			return Header{}, false, false
		}
		return parseHeader(p[:])
	}
	var found []Header
	first, magic, ok := read(0)
	if ok {
		found = append(found, first)
		if second, _, ok := read(first.PageSize); ok && second.PageSize == first.PageSize {
			found = append(found, second)
		}
		return found, nil
	}
	// The second header is one page in, and the broken first one would say how long a page is. So all sizes are
	// tried, from 1 KiB to 16 MiB as bbolt does. A header counts where it gives its own place as the page size.
	for page := int64(1 << 10); page <= 1<<24 && page < size; page <<= 1 {
		second, m, ok := read(page)
		magic = magic || m
		if ok && second.PageSize == page {
			return []Header{second}, nil
		}
	}
	if magic {
		return nil, record.Damaged("", "neither of its two headers is whole")
	}
	return nil, ErrForeign
}

// An Image walks the page structure of one state of a bbolt file.
type Image struct {
	ctx context.Context
	r   io.ReaderAt
	Header
	seen []uint64 // bit per page: reached already
	done uint64   // of them

	Progress func(part string, done, total int64) // nil: nobody is told

	page []byte // buffer of one page
}

// New starts to walk one state of a file of the given size. The header is one of the file's own.
func New(ctx context.Context, r io.ReaderAt, size int64, h Header) (*Image, error) {
	// The smallest file has four pages: two headers, the list of free pages, and the root.
	if h.High < 4 || h.High > uint64(math.MaxInt64/h.PageSize) || int64(h.High)*h.PageSize > size {
		return nil, record.Damaged("", "the file has %d bytes where its header promises at least %d pages of %d, so "+
			"its end is missing", size, h.High, h.PageSize)
	}
	m := &Image{ctx: ctx, r: r, Header: h, seen: make([]uint64, (h.High+63)/64)}
	m.seen[0] = 3 // the two headers
	return m, nil
}

func (m *Image) damage(page uint64, format string, args ...any) error {
	return record.Damaged("", "page %d: %s", page, fmt.Sprintf(format, args...))
}

// mark claims pages first..first+n-1, once.
func (m *Image) mark(first, n uint64) error {
	if first < 2 || first >= m.High || n > m.High-first {
		return m.damage(first, "outside of the file's pages 2 to %d", m.High-1)
	}
	for id := first; id < first+n; id++ {
		if m.seen[id/64]&(1<<(id%64)) != 0 {
			return m.damage(id, "used twice")
		}
		m.seen[id/64] |= 1 << (id % 64)
	}
	before := m.done
	m.done += n
	if m.Progress != nil && before/4096 != m.done/4096 {
		m.Progress("pages", int64(m.done), int64(m.High))
	}
	return nil
}

// A Bucket is a bucket named in the root page.
type Bucket struct {
	root   uint64 // its first page, 0 for a bucket that lies inside its parent's value
	inline int64  // where that page starts in the file
	bytes  int64  // and how long it is
}

// A Leaf is a key and the place of its value in the file.
type Leaf struct {
	Key    []byte // valid until the next read
	Bucket bool
	Offset int64
	Bytes  int64
}

// Buckets returns the buckets at the top level.
func (m *Image) Buckets() (map[string]Bucket, error) {
	found := map[string]Bucket{}
	err := m.tree(m.Root, nil, nil, func(l Leaf) error {
		if !l.Bucket || l.Bytes < boltBucketHead {
			return m.damage(m.Root, "the root holds something that is not a bucket")
		}
		var p [8]byte
		if _, err := m.r.ReadAt(p[:], l.Offset); err != nil {
			return err
		}
		found[string(l.Key)] = Bucket{root: binary.NativeEndian.Uint64(p[:]), inline: l.Offset +
			boltBucketHead, bytes: l.Bytes - boltBucketHead}
		return nil
	})
	return found, err
}

// Walk visits the leaves of a bucket in the order of keys.
func (m *Image) Walk(b Bucket, visit func(Leaf) error) error {
	if b.root != 0 {
		return m.tree(b.root, nil, nil, visit)
	}
	if b.bytes < HeaderBytes || b.bytes > m.PageSize {
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
// All pages share one buffer. So the keys of a branch are copied before its children are read.
func (m *Image) tree(id uint64, lo, hi []byte, visit func(Leaf) error) error {
	if err := m.ctx.Err(); err != nil {
		return err
	}
	if id < 2 || id >= m.High {
		return m.damage(id, "outside of the file's pages 2 to %d", m.High-1)
	}
	if m.page == nil {
		m.page = make([]byte, m.PageSize)
	}
	offset := int64(id) * m.PageSize
	if _, err := m.r.ReadAt(m.page, offset); err != nil {
		return err
	}
	order := binary.NativeEndian
	flags, count, overflow := order.Uint16(m.page[8:]), int64(order.Uint16(m.page[10:])),
		uint64(order.Uint32(m.page[12:]))
	// A page names itself. This finds a page that was written to the place of another.
	if got := order.Uint64(m.page); got != id {
		return m.damage(id, "is marked as page %d", got)
	}
	if err := m.mark(id, overflow+1); err != nil {
		return err
	}
	total := int64(overflow+1) * m.PageSize
	if HeaderBytes+count*ElementBytes > total {
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
	// An element of a branch: where its key begins, counted from the element, 4 bytes; length of the key
	// 4; page of the child 8.
	children := make([]child, count)
	for i := range children {
		at := HeaderBytes + int64(i)*ElementBytes
		e, err := m.bytes(m.page, offset, total, at, ElementBytes)
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

// leaves visits the entries of a leaf page of total bytes at offset. The beginning of the page lies
// in p.
// An element of a leaf: flags 4 bytes; where its key begins, counted from the element, 4; lengths of key and
// value 4 each. The value follows its key. visit must not walk on in the image, since p may be its buffer.
func (m *Image) leaves(id uint64, p []byte, offset, total int64, lo, hi []byte, visit func(Leaf) error) error {
	order := binary.NativeEndian
	count := int64(order.Uint16(p[10:]))
	var last []byte
	for i := range count {
		at := HeaderBytes + i*ElementBytes
		e, err := m.bytes(p, offset, total, at, ElementBytes)
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
		if err := visit(Leaf{Key: last, Bucket: flags == leafBucket, Offset: offset + at + pos +
			keyBytes, Bytes: valueBytes}); err != nil {
			return err
		}
	}
	return nil
}

// bytes returns n bytes at position at of a page; p is its first part.
// What lies in its overflow pages is read from the file.
func (m *Image) bytes(p []byte, offset, total, at, n int64) ([]byte, error) {
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

// inOrder returns an error for a key below lo, or not below hi; nil stands for no bound. strict says
// that lo is the key before it, which must not come twice.
func inOrder(key, lo, hi []byte, strict bool) error {
	if c := bytes.Compare(lo, key); lo != nil && (c > 0 || strict && c == 0) {
		return fmt.Errorf("its key is not above the one before")
	}
	if hi != nil && bytes.Compare(key, hi) >= 0 {
		return fmt.Errorf("its key belongs to a later page")
	}
	return nil
}

// account reads the list of free pages and verifies that every page of the file is either reached or
// free. It comes after the walk through all buckets.
func (m *Image) account() error {
	if m.Freelist == boltNoFreelist {
		return record.Damaged("", "it has no list of free pages")
	}
	if m.Freelist < 2 || m.Freelist >= m.High {
		return m.damage(m.Freelist, "outside of the file's pages 2 to %d", m.High-1)
	}
	offset := int64(m.Freelist) * m.PageSize
	var p [HeaderBytes + 8]byte
	if _, err := m.r.ReadAt(p[:], offset); err != nil {
		return err
	}
	order := binary.NativeEndian
	id, flags, count, overflow := order.Uint64(p[:]), order.Uint16(p[8:]), uint64(order.Uint16(p[10:])),
		uint64(order.Uint32(p[12:]))
	if id != m.Freelist || flags != pageFreelist {
		return m.damage(m.Freelist, "is not the list of free pages")
	}
	if err := m.mark(m.Freelist, overflow+1); err != nil {
		return err
	}
	start := int64(HeaderBytes)
	// The header has 16 bits for the number. A longer list has its length in the first 8 bytes after it.
	if count == math.MaxUint16 {
		count, start = order.Uint64(p[HeaderBytes:]), start+8
	}
	if count > m.High || int64(count)*8 > int64(overflow+1)*m.PageSize-start {
		return m.damage(m.Freelist, "the list of free pages is longer than its pages")
	}
	ids := make([]byte, count*8)
	if _, err := m.r.ReadAt(ids, offset+start); err != nil {
		return err
	}
	var last uint64
	for i := range count {
		free := order.Uint64(ids[i*8:])
		if free <= last {
			return m.damage(m.Freelist, "the list of free pages is not sorted")
		}
		last = free
		if err := m.mark(free, 1); err != nil {
			return err
		}
	}
	for id := range m.High {
		if m.seen[id/64]&(1<<(id%64)) == 0 {
			return m.damage(id, "neither used nor free")
		}
	}
	return nil
}

// Whole verifies that the buckets have these names and are whole, and that each page is used once or
// free. It skips the bucket named walked, which the caller has walked already.
// It takes the names that it knows out of buckets.
func (m *Image) Whole(buckets map[string]Bucket, names []string, walked string) error {
	for _, name := range names {
		b, ok := buckets[name]
		if !ok {
			return record.Damaged(name, "it is missing")
		}
		delete(buckets, name)
		if name == walked {
			continue
		}
		err := m.Walk(b, func(l Leaf) error {
			if l.Bucket {
				return record.Corrupt(name, l.Key, "a bucket where a record should be")
			}
			return nil
		})
		if err != nil {
			return err
		}
	}
	for name := range buckets {
		return record.Damaged(name, "no such bucket belongs to a store")
	}
	return m.account()
}
