package checker

import (
	"bufio"
	"bytes"
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/binary"
	"errors"
	"fmt"
	"hash/maphash"
	"io"
	"math/bits"
	"os"
	"slices"
	"sort"
	"strings"
)

// The numbers of FORMAT.md, "The manifest".
const (
	manifestMagic   = "AMZLIST\n"
	manifestVersion = 1
	manifestFixed   = 64 // magic, version, number of claims, hash, board, numbers of parts and of roots
	recordBytes     = 64 // a part
	provedBytes     = 24 // a root of a part
	maxClaims       = 1 << 16
	pageRecords     = 128 // records read at a time
)

// manifest is the list of the parts of a proof. Neither the list of parts nor that of their roots is
// kept in memory.
type manifest struct {
	certificate        // board, rule2, size; its roots are the claims of the proof
	parts       *pages // records, increasing by SHA-256
	proved      *pages // roots of the parts, increasing
	firsts      []proved
	file        [32]byte // SHA-256 of the whole manifest
	positions   int64    // of all parts
	partBytes   int64    // of all parts
}

// part is the record of a part.
type part struct {
	sum                              [32]byte
	bytes, entries, citations, roots int64 // roots is the number of its records in the list of roots
}

// proved is a claim that a part proves.
type proved struct {
	position
	win  bool
	part uint32
}

// compare is the order of the roots in a manifest: wins before losses.
func (p proved) compare(q proved) int {
	claim := func(win bool) int {
		if win {
			return claimWin
		}
		return claimLoss
	}
	return cmp.Or(cmp.Compare(p.a, q.a), cmp.Compare(p.b, q.b), claim(p.win)-claim(q.win), cmp.Compare(p.part, q.part))
}

// PartsFolder is the folder with the parts of a manifest: NAME.parts for NAME.proof, none for standard input ("-").
func PartsFolder(manifest string) string {
	if manifest == "-" {
		return ""
	}
	return strings.TrimSuffix(manifest, ".proof") + ".parts"
}

// openFile opens a regular file, or standard input for "-", which is read to its end if it is no
// regular file. A file that is none is refused before it is opened: a pipe would wait for a writer.
func openFile(ctx context.Context, path string, limit int64) (f *file, size int64, err error) {
	f = &file{Closer: io.NopCloser(nil)}
	in, info := os.Stdin, os.FileInfo(nil)
	if path == "-" {
		info, err = in.Stat()
	} else {
		info, err = os.Stat(path)
	}
	switch {
	case err != nil:
		return nil, 0, err
	case path == "-" && !info.Mode().IsRegular():
		given := interruptible(ctx, in)
		data, err := io.ReadAll(io.LimitReader(given, int64(len(magic))))
		if s := string(data); s == magic || s == manifestMagic { // what begins otherwise may have no end
			data, err = io.ReadAll(io.LimitReader(io.MultiReader(strings.NewReader(s), given), limit+1))
		}
		if err == nil && int64(len(data)) > limit {
			err = fmt.Errorf("%w: standard input has more than %d bytes", ErrMemory, limit)
		}
		f.ReaderAt = bytes.NewReader(data)
		return f, int64(len(data)), err
	case !info.Mode().IsRegular():
		return nil, 0, fmt.Errorf("%s: %w: it is not a regular file", path, ErrNotCertificate)
	case path != "-":
		if in, err = os.Open(path); err != nil {
			return nil, 0, err
		}
		f.Closer = in
	}
	f.ReaderAt = in
	return f, info.Size(), nil
}

// interruptible returns a reader of what r has, which fails once ctx ends: nothing else ends a read of a pipe that
// waits.
func interruptible(ctx context.Context, r io.Reader) io.Reader {
	out, in := io.Pipe()
	context.AfterFunc(ctx, func() { in.CloseWithError(ctx.Err()) })
	go func() {
		_, err := io.Copy(in, r)
		in.CloseWithError(err)
	}()
	return out
}

// file is an open file.
type file struct {
	io.ReaderAt
	io.Closer
}

// isManifest reports whether a file begins as a manifest.
func isManifest(r io.ReaderAt, size int64) bool {
	var p [len(manifestMagic)]byte
	n, _ := r.ReadAt(p[:min(size, int64(len(p)))], 0)
	return n == len(p) && string(p[:]) == manifestMagic
}

// pages reads records of one width. It keeps a hash of each page with a key that nobody else knows:
// what is read later is what was checked.
type pages struct {
	in     io.ReaderAt
	offset int64
	width  int
	n      int64
	seed   maphash.Seed
	sums   []uint64
}

// cursor reads records of pages one by one. Each goroutine has its own.
type cursor struct {
	*pages
	at  int64 // the page that is in buf, plus one
	buf []byte
}

// record returns record i, valid until the next call.
func (c *cursor) record(i int64) ([]byte, error) {
	page := i / pageRecords
	if c.at != page+1 {
		c.at = 0
		n := c.width * int(min(pageRecords, c.n-page*pageRecords))
		c.buf = slices.Grow(c.buf[:0], n)[:n]
		if n, err := c.in.ReadAt(c.buf, c.offset+page*pageRecords*int64(c.width)); n < len(c.buf) {
			return nil, fmt.Errorf("read list of parts: %w", err)
		}
		if maphash.Bytes(c.seed, c.buf) != c.sums[page] {
			return nil, fmt.Errorf("%w: the list of parts was changed while the parts were checked", ErrChecksum)
		}
		c.at = page + 1
	}
	k := int(i%pageRecords) * c.width
	return c.buf[k : k+c.width], nil
}

// openManifest reads and checks the whole list: its length before anything else, its hash, and the
// order of its records.
func openManifest(ctx context.Context, r io.ReaderAt, size int64) (*manifest, error) {
	m := &manifest{certificate: certificate{r: r, size: size}}
	var h [manifestFixed]byte
	if err := m.readAt(h[:], 0); err != nil {
		return nil, err
	}
	le := binary.LittleEndian
	claims, parts, roots := le.Uint32(h[12:]), le.Uint32(h[52:]), le.Uint64(h[56:])
	switch v := le.Uint32(h[8:]); {
	case v != manifestVersion:
		return nil, fmt.Errorf("%w: the list of parts has version %d, this checker reads version %d",
			ErrUnsupportedVersion, v, manifestVersion)
	case claims < 1 || claims > maxClaims || parts < 1 || roots < uint64(parts) || roots > 1<<40:
		return nil, fmt.Errorf("%w: %d claims, %d parts and %d roots are not possible", ErrManifest, claims, parts,
			roots)
	}
	m.parts = &pages{in: r, offset: manifestFixed + rootBytes*int64(claims), width: recordBytes, n: int64(parts),
		seed: maphash.MakeSeed()}
	m.proved = &pages{in: r, offset: m.parts.offset + recordBytes*int64(parts), width: provedBytes, n: int64(roots),
		seed: m.parts.seed}
	switch want := m.proved.offset + provedBytes*int64(roots); {
	case size < want:
		return nil, fmt.Errorf("%w: the list of parts has %d bytes, it should have %d", ErrTruncated, size, want)
	case size > want:
		return nil, fmt.Errorf("%w: the list of parts has %d bytes, it should have %d", ErrTrailing, size, want)
	}
	sum, err := hashFile(ctx, r, size)
	if err != nil {
		return nil, err
	}
	copy(m.stated[:], h[hashedPrefix:])
	if m.stated != sum.certificate {
		return nil, checksumError(m.stated[:], sum.certificate[:])
	}
	m.file = sum.file
	if err := m.parseBoard(h[prefixBytes:]); err != nil {
		return nil, err
	}
	list := make([]byte, rootBytes*int(claims))
	if err := m.readAt(list, manifestFixed); err != nil {
		return nil, err
	}
	if m.roots, err = m.parseRoots(list); err != nil {
		return nil, err
	}
	// The list may be larger than memory, so it is read again, piece by piece, whenever a record is
	// needed. Somebody could change the file in between. The second reading here is hashed once
	// more as a whole, and each page of it gets a keyed hash of its own, which later readings have
	// to have.
	whole := sha256.New() // what is read now is what was hashed above
	whole.Write(h[:])
	whole.Write(list)
	if err := errors.Join(m.readParts(ctx, whole), m.readProved(ctx, whole)); err != nil {
		return nil, err
	}
	if [32]byte(whole.Sum(nil)) != m.file {
		return nil, fmt.Errorf("%w: the list of parts was changed while it was read", ErrChecksum)
	}
	if err := m.claimsListed(); err != nil {
		return nil, err
	}
	return m, nil
}

// each reads all pages once, in order, and gives each record to check.
func (p *pages) each(ctx context.Context, whole io.Writer, check func(i int64, record []byte) error) error {
	in := bufio.NewReaderSize(io.NewSectionReader(p.in, p.offset, p.n*int64(p.width)), 1<<16)
	buf := make([]byte, pageRecords*p.width)
	for i := int64(0); i < p.n; i += pageRecords {
		if err := ctx.Err(); err != nil {
			return err
		}
		page := buf[:p.width*int(min(pageRecords, p.n-i))]
		if _, err := io.ReadFull(in, page); err != nil {
			return fmt.Errorf("read list of parts: %w", err)
		}
		whole.Write(page)
		p.sums = append(p.sums, maphash.Bytes(p.seed, page))
		for k := range len(page) / p.width {
			if err := check(i+int64(k), page[k*p.width:(k+1)*p.width]); err != nil {
				return fmt.Errorf("%w: %w", ErrManifest, err)
			}
		}
	}
	return nil
}

// parsePart reads the record of a part. Its numbers may be anything yet; readParts looks at them.
func parsePart(h []byte) part {
	le := binary.LittleEndian
	return part{[32]byte(h), int64(le.Uint64(h[32:])), int64(le.Uint64(h[40:])), int64(le.Uint64(h[48:])),
		int64(le.Uint64(h[56:]))}
}

// readParts checks the records of the parts.
func (m *manifest) readParts(ctx context.Context, whole io.Writer) error {
	var before [32]byte
	var listed int64
	err := m.parts.each(ctx, whole, func(i int64, h []byte) error {
		p := parsePart(h)
		if i > 0 && bytes.Compare(before[:], p.sum[:]) >= 0 {
			return fmt.Errorf("part %d, %x, does not follow the part before it by its SHA-256", i+1, p.sum)
		}
		const most = 1 << 48
		if p.bytes < 1 || p.bytes > most || uint64(p.entries) > most || uint64(p.citations) > most || p.roots < 1 ||
			p.roots > m.proved.n-listed {
			return fmt.Errorf("part %d, %x, cannot have %d bytes, %d positions, %d citations and %d roots", i+1, p.sum,
				p.bytes, p.entries, p.citations, p.roots)
		}
		before = p.sum
		listed += p.roots
		if total := m.positions + p.entries; total>>60 == 0 && (m.partBytes+p.bytes)>>60 == 0 {
			m.positions, m.partBytes = total, m.partBytes+p.bytes
			return nil
		}
		return errors.New("its parts are too large together")
	})
	if err == nil && listed != m.proved.n {
		err = fmt.Errorf("%w: the number of its parts' roots is %d, it lists %d", ErrManifest, listed, m.proved.n)
	}
	return err
}

// parseProved reads the record of a root. Any claim but a win reads as a loss here; readProved has
// refused other bytes before anybody relies on that.
func (b *board) parseProved(h []byte) proved {
	le := binary.LittleEndian
	return proved{position{le.Uint64(h), le.Uint64(h[8:])}, h[20] == claimWin, le.Uint32(h[16:])}
}

// readProved checks the roots of the parts, and keeps the first one of each page.
func (m *manifest) readProved(ctx context.Context, whole io.Writer) error {
	var before proved
	return m.proved.each(ctx, whole, func(i int64, h []byte) error {
		p := m.parseProved(h)
		switch {
		case p.occupied()&^m.full != 0 || m.canonical(p.position) != p.position:
			return fmt.Errorf("root %d, %x %x, is no canonical position", i, p.a, p.b)
		case h[20] != claimWin && h[20] != claimLoss || [3]byte(h[21:]) != [3]byte{} || int64(p.part) >= m.parts.n:
			return fmt.Errorf("root %d has an unknown claim or part: %x", i, h[16:])
		case i > 0 && before.compare(p) >= 0:
			return fmt.Errorf("root %d does not follow the root before it", i)
		}
		if i%pageRecords == 0 {
			m.firsts = append(m.firsts, p)
		}
		before = p
		return nil
	})
}

// find returns the first listed root that is not before p.
func (m *manifest) find(c *cursor, p proved) (proved, bool, error) {
	// The first root of each page is in memory, one in 128. So one page is read for each question.
	page := int64(sort.Search(len(m.firsts), func(i int) bool { return m.firsts[i].compare(p) > 0 })) - 1
	if page < 0 {
		return m.firsts[0], true, nil
	}
	first, last := page*pageRecords, min((page+1)*pageRecords, c.n)
	var err error
	i := first + int64(sort.Search(int(last-first), func(i int) bool {
		h, failed := c.record(first + int64(i))
		if failed != nil {
			err = failed
			return true
		}
		return m.parseProved(h).compare(p) >= 0
	}))
	switch {
	case err != nil || i == c.n:
		return proved{}, false, err
	case i == last:
		return m.firsts[page+1], true, nil
	}
	h, err := c.record(i)
	if err != nil {
		return proved{}, false, err
	}
	return m.parseProved(h), true, nil
}

// lists reports whether some part is listed for the claim about a canonical position.
func (m *manifest) lists(c *cursor, p position, win bool) (bool, error) {
	got, found, err := m.find(c, proved{position: p, win: win})
	return found && got.position == p && got.win == win, err
}

// claimsListed checks that each claim of the proof is a root of a part.
func (m *manifest) claimsListed() error {
	c := &cursor{pages: m.proved}
	for i, r := range m.roots {
		if ok, err := m.lists(c, m.canonical(r.position), r.win); err != nil {
			return err
		} else if !ok {
			return fmt.Errorf("%w: no part is listed for claim %d, %s: %s wins", ErrManifest, i,
				m.positionText(r.position, r.black), sideName(r.black == r.win))
		}
	}
	return nil
}

// rootsListed checks that the roots of part number i are those that are listed for it.
func (m *manifest) rootsListed(c *cursor, i uint32, p part, roots []root) error {
	own := make([]proved, 0, len(roots))
	for _, r := range roots {
		own = append(own, proved{m.canonical(r.position), r.win, i})
	}
	slices.SortFunc(own, proved.compare)
	own = slices.Compact(own)
	for _, k := range own {
		if got, found, err := m.find(c, k); err != nil {
			return err
		} else if !found || got != k {
			return fmt.Errorf("%w: its root %s is not listed for it", ErrPart, m.positionText(k.position, false))
		}
	}
	if int64(len(own)) != p.roots {
		return fmt.Errorf("%w: it has %s, %d are listed for it", ErrPart, count(len(own), "root", "roots"), p.roots)
	}
	return nil
}

// bitmap is a set of numbers of parts.
type bitmap []uint64

func (b bitmap) has(i int64) bool { return b[i/64]>>(i%64)&1 != 0 }
func (b bitmap) add(i int64)      { b[i/64] |= 1 << (i % 64) }

// len counts the parts in the set.
func (b bitmap) len() (n int64) {
	for _, word := range b {
		n += int64(bits.OnesCount64(word))
	}
	return n
}
