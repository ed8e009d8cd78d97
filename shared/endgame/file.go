package endgame

import (
	"bufio"
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
	"slices"
)

// Errors of Open and Check. They say what is wrong with a file.
var (
	ErrFormat  = errors.New("not a database of areas")
	ErrVersion = errors.New("a database of another version")
	ErrDamaged = errors.New("damaged database")
)

// The file: see FORMAT.md.
const (
	magic       = "AMZAREAS"
	headerBytes = 4096
	blockBytes  = 1 << 16
	escaped     = 0xffff // an entry whose id is in the list of escapes
)

// Kinds of sections.
const (
	sectionValueEnds  = 1 + iota // u32 a value: where its bytes end
	sectionValues                // bytes of the values
	sectionNegatives             // u32 a value: the id of its negative
	sectionShapes                // u64 a shape of n squares
	sectionHash                  // slots
	sectionActive                // u16 an entry of shapes of n squares
	sectionEscapeKeys            // u64 an escape
	sectionEscapeIDs             // u32 an escape
	sectionTerritory             // u8 an entry of shapes of n squares
	sectionCRCs                  // u32 a block of what comes between the header and this section
)

// section is a part of the file. Its fields stand in the header as they stand here.
type section struct {
	kind, n               uint32
	offset, length, count uint64
}

const sectionBytes = 32

// header is the first page of a file.
type header struct {
	config   string
	sum      [32]byte // SHA-256 of configuration and version
	size     uint64   // of the file
	sections []section
}

// encode returns the header as it stands in the file: headerBytes long, zeros after the last section,
// and in the last four bytes the CRC-32C of all before.
func (h *header) encode() []byte {
	b := make([]byte, 0, headerBytes)
	b = append(b, magic...)
	le := binary.LittleEndian
	b, _ = binary.Append(b, le, []uint32{Version, headerBytes, blockBytes, uint32(len(h.sections))})
	b = le.AppendUint64(b, h.size)
	b = append(b, h.sum[:]...)
	b = le.AppendUint32(b, uint32(len(h.config)))
	b = append(b, h.config...)
	b, _ = binary.Append(b, le, h.sections)
	b = append(b, make([]byte, headerBytes-4-len(b))...)
	return le.AppendUint32(b, crc32.Checksum(b, castagnoli))
}

// decodeHeader reads the first page. Errors wrap ErrFormat, ErrVersion or ErrDamaged.
func decodeHeader(b []byte) (h header, err error) {
	le := binary.LittleEndian
	if len(b) < len(magic) || string(b[:len(magic)]) != magic {
		return h, fmt.Errorf("%w: it does not begin with %s", ErrFormat, magic)
	}
	if len(b) < headerBytes {
		return h, fmt.Errorf("%w: it ends within its header", ErrDamaged)
	}
	b = b[:headerBytes]
	// The version comes before the checksum: the header of another version may be laid out in another
	// way, which is no damage.
	if v := le.Uint32(b[8:]); v != Version {
		return h, fmt.Errorf("%w: version %d, this program reads version %d; build it again", ErrVersion, v, Version)
	}
	if le.Uint32(b[headerBytes-4:]) != crc32.Checksum(b[:headerBytes-4], castagnoli) {
		return h, fmt.Errorf("%w: the header's checksum does not agree", ErrDamaged)
	}
	count := int(le.Uint32(b[20:]))
	h.size = le.Uint64(b[24:])
	copy(h.sum[:], b[32:])
	size := int(le.Uint32(b[64:]))
	if le.Uint32(b[12:]) != headerBytes || le.Uint32(b[16:]) != blockBytes || size > 256 || 68+size+
		count*sectionBytes > headerBytes-4 || count > 100 {
		return h, fmt.Errorf("%w: the header makes no sense", ErrDamaged)
	}
	h.config = string(b[68 : 68+size])
	b = b[68+size:]
	for i := range count {
		s := b[i*sectionBytes:]
		h.sections = append(h.sections, section{le.Uint32(s), le.Uint32(s[4:]), le.Uint64(s[8:]), le.Uint64(s[16:]),
			le.Uint64(s[24:])})
	}
	return h, nil
}

// writer writes a file: sections one after the other from offset headerBytes on, each at a multiple
// of 8 bytes, their checksums by blocks, and the header. It keeps the first error.
type writer struct {
	f     file
	buf   *bufio.Writer
	h     header
	at    uint64
	block uint32 // CRC of the block under way
	crcs  []uint32
	word  [8]byte
	err   error
}

func newWriter(f file, c Config) *writer {
	w := &writer{f: f, buf: bufio.NewWriterSize(f, 1<<20), at: headerBytes}
	w.h.config, w.h.sum = c.String(), c.Sum()
	_, w.err = w.buf.Write(make([]byte, headerBytes))
	return w
}

// begin begins a section of areas of n squares, or of all areas with n 0.
func (w *writer) begin(kind, n int) {
	if pad := -w.at & 7; pad > 0 {
		w.write(make([]byte, pad))
	}
	w.h.sections = append(w.h.sections, section{kind: uint32(kind), n: uint32(n), offset: w.at})
}

// end ends a section with its number of entries.
func (w *writer) end(count uint64) {
	s := &w.h.sections[len(w.h.sections)-1]
	s.length, s.count = w.at-s.offset, count
}

// write appends to the section, with checksums by blocks.
func (w *writer) write(b []byte) {
	for len(b) > 0 && w.err == nil {
		room := blockBytes - (w.at-headerBytes)%blockBytes
		k := min(len(b), int(room))
		w.block = crc32.Update(w.block, castagnoli, b[:k])
		_, w.err = w.buf.Write(b[:k])
		w.at += uint64(k)
		b = b[k:]
		if uint64(k) == room {
			w.crcs = append(w.crcs, w.block)
			w.block = 0
		}
	}
}

func (w *writer) u32(x uint32) {
	binary.LittleEndian.PutUint32(w.word[:], x)
	w.write(w.word[:4])
}

func (w *writer) u64(x uint64) {
	binary.LittleEndian.PutUint64(w.word[:], x)
	w.write(w.word[:])
}

// finish writes the checksums and then the header in its place. Until then the file has no magic.
func (w *writer) finish() error {
	w.begin(sectionCRCs, 0)
	crcs := slices.Clone(w.crcs)
	// write keeps the checksum of a block until the block is full; the last one rarely is.
	if w.at%blockBytes != headerBytes%blockBytes {
		crcs = append(crcs, w.block)
	}
	start := w.at
	b, _ := binary.Append(nil, binary.LittleEndian, crcs)
	b = binary.LittleEndian.AppendUint32(b, crc32.Checksum(b, castagnoli))
	if w.err == nil {
		_, w.err = w.buf.Write(b)
	}
	w.at = start + uint64(len(b))
	w.end(uint64(len(crcs)))
	w.h.size = w.at
	if w.err == nil {
		w.err = w.buf.Flush()
	}
	if w.err != nil {
		return w.err
	}
	_, w.err = w.f.WriteAt(w.h.encode(), 0)
	return w.err
}
