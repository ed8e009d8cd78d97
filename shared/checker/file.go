package checker

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"errors"
	"fmt"
	"hash"
	"io"
	"slices"

	"github.com/klauspost/compress/zstd"
)

// The faults of the file itself, for errors.Is. Each error that Check returns for them is one
// sentence: it says what is wrong and what would be right.
var (
	ErrNotCertificate     = errors.New("not a certificate")
	ErrUnsupportedVersion = errors.New("unsupported certificate version")
	ErrTruncated          = errors.New("truncated certificate")
	ErrTrailing           = errors.New("bytes after the end of the certificate")
	ErrChecksum           = errors.New("certificate checksum mismatch")
	ErrHeader             = errors.New("malformed certificate header")
	ErrBlock              = errors.New("malformed certificate block")
	ErrMemory             = errors.New("certificate needs more memory than allowed")
	ErrCitations          = errors.New("a part of a proof: check the manifest that lists it")
	ErrManifest           = errors.New("malformed list of parts")
	ErrPart               = errors.New("not the part that the list names")
	ErrOneFile            = errors.New("a certificate is one file: sample, shard and state are for proofs in parts")
	ErrState              = errors.New("not a state of this check")
)

// Invalid reports whether err, of Check or CheckFile, says that a proof does not hold or that a file
// is none. Other errors say that it could not be read or checked.
func Invalid(err error) bool {
	return Refutes(err) || errors.Is(err, ErrManifest) || errors.Is(err, ErrPart)
}

// The numbers of FORMAT.md.
const (
	// Format is the last version of the file format that this checker reads. Version 2 has citations.
	Format = 2

	magic           = "AMZCERT\n"
	prefixBytes     = 48 // magic, version, header length, hash
	hashedPrefix    = 16 // of these, what the hash covers
	headerFixed     = 20
	rootBytes       = 24
	layerBytes      = 16
	citingHeader    = 28 // in format 2, with the number of citations
	citingLayer     = 32 // in format 2, with the citations
	blockHeader     = 12
	maxHeader       = 64 << 20
	maxBlockRaw     = 4 << 20
	maxBlockEntries = 1 << 16
	maxBlockStored  = maxBlockRaw + 64<<10 // zstd adds a few bytes to each 128 KiB that it cannot compress
	moveBytes       = 3
	claimBytes      = 1
	claimWin        = 1
	claimLoss       = 2
)

// root is a claim of the certificate: the side to move wins (or loses) the position. It need not be
// canonical.
type root struct {
	position
	black, win bool
}

// needs is the layer against which the root is checked: its own, or that of its replies.
func (r root) needs() int {
	if r.win {
		return r.arrows()
	}
	return r.arrows() + 1
}

// layer is a line of the header's list of layers.
type layer struct {
	arrows     int
	blocks     uint32
	entries    int64
	citeBlocks uint32 // of citations; they come before the blocks of entries
	citations  int64
	raw        int64 // bytes of its blocks before compression
}

// certificate is an opened file whose header has been read.
type certificate struct {
	*board
	r       io.ReaderAt
	size    int64
	rules   int // leaf rules that the flags allow, in their order
	roots   []root
	layers  []layer
	version uint32
	entries int64
	// citations are positions that other parts of the same proof show to be as claimed.
	citations int64
	start     int64    // offset of the first block
	stated    [32]byte // the hash that the file states
	hashed    []byte   // the part of the prefix that the hash covers, and the header
}

// readAt fills p from offset. A file that is shorter than it was said to be is ErrTruncated.
func (c *certificate) readAt(p []byte, offset int64) error {
	if offset > c.size || int64(len(p)) > c.size-offset {
		return fmt.Errorf("%w: the file has %d bytes, but its contents go on to byte %d at least", ErrTruncated, c.size,
			offset+int64(len(p)))
	}
	n, err := c.r.ReadAt(p, offset)
	if n == len(p) {
		return nil
	}
	if err == nil || errors.Is(err, io.EOF) {
		return fmt.Errorf("%w: the file was said to have %d bytes, but it ends before byte %d", ErrTruncated, c.size,
			offset+int64(len(p)))
	}
	return fmt.Errorf("read certificate: %w", err)
}

// open reads the header and steps over all blocks, so that all sizes are known to fit the file
// before anything large is allocated. It does not look at the hash. With an error it still returns
// the certificate if magic and version are right.
func open(r io.ReaderAt, size int64) (*certificate, error) {
	c := &certificate{r: r, size: size}
	var prefix [prefixBytes]byte
	n := max(0, min(size, int64(len(magic))))
	if err := c.readAt(prefix[:n], 0); err != nil && n > 0 {
		return nil, err
	}
	if n == 0 || string(prefix[:n]) != magic[:n] {
		return nil, fmt.Errorf("%w: a certificate begins with the %d bytes %q", ErrNotCertificate, len(magic), magic)
	}
	if err := c.readAt(prefix[:], 0); err != nil {
		return nil, err
	}
	if c.version = binary.LittleEndian.Uint32(prefix[8:]); c.version != 1 && c.version != Format {
		return nil, fmt.Errorf("%w: the file has format version %d, this checker reads versions 1 and %d",
			ErrUnsupportedVersion, c.version, Format)
	}
	copy(c.stated[:], prefix[hashedPrefix:])
	length := binary.LittleEndian.Uint32(prefix[12:])
	if length < headerFixed || length > maxHeader {
		return c, fmt.Errorf("%w: it is said to have %d bytes, %d to %d are allowed", ErrHeader, length, headerFixed,
			maxHeader)
	}
	if int64(length) > size-prefixBytes {
		return c, fmt.Errorf("%w: the header ends at byte %d, the file has %d bytes", ErrTruncated, prefixBytes+
			int64(length), size)
	}
	c.hashed = append(make([]byte, 0, hashedPrefix+int(length)), prefix[:hashedPrefix]...)[:hashedPrefix+length]
	header := c.hashed[hashedPrefix:]
	if err := c.readAt(header, prefixBytes); err != nil {
		return c, err
	}
	c.start = prefixBytes + int64(length)
	if err := c.parseHeader(header); err != nil {
		return c, err
	}
	return c, c.walkBlocks()
}

// badHeader is an ErrHeader with a reason.
func badHeader(format string, args ...any) error {
	return fmt.Errorf("%w: "+format, append([]any{ErrHeader}, args...)...)
}

// parseHeader reads the header in the order of FORMAT.md. Each length is compared with the bytes
// that are there before anything is allocated by it, and every sum that the header states is added
// up again.
func (c *certificate) parseHeader(h []byte) error {
	le := binary.LittleEndian
	if err := c.parseBoard(h); err != nil {
		return err
	}
	fixed, perLayer := headerFixed, layerBytes
	if c.version == Format {
		fixed, perLayer = citingHeader, citingLayer
	}
	roots, layers := le.Uint32(h[4:]), le.Uint32(h[8:])
	if want := uint64(fixed) + rootBytes*uint64(roots) + uint64(perLayer)*uint64(layers); want != uint64(len(h)) {
		return badHeader("%d roots and %d layers make %d bytes, but the header has %d", roots, layers, want, len(h))
	}
	if roots == 0 {
		return badHeader("it has no root, at least one is needed")
	}
	var err error
	if c.roots, err = c.parseRoots(h[fixed:][:rootBytes*int(roots)]); err != nil {
		return err
	}
	for l := range slices.Chunk(h[fixed+rootBytes*int(roots):], perLayer) {
		if err := c.parseLayer(l); err != nil {
			return err
		}
	}
	if total := le.Uint64(h[12:]); uint64(c.entries) != total {
		return badHeader("its layers have %s together, but it states %d", count(c.entries, "entry", "entries"), total)
	}
	if c.version == Format && uint64(c.citations) != le.Uint64(h[headerFixed:]) {
		return badHeader("its layers have %s together, but it states %d", count(c.citations, "citation", "citations"),
			le.Uint64(h[headerFixed:]))
	}
	return nil
}

// parseBoard reads the size of the board and the flags.
func (c *certificate) parseBoard(h []byte) error {
	if c.board = boardOf(int(h[0]), int(h[1])); c.board == nil {
		return badHeader("the board is said to be %dx%d, sides are 1 to %d", h[0], h[1], maxSide)
	}
	if c.rules = [256]int{0: 1, 1: 2, 3: 3, 7: 4}[h[2]]; c.rules == 0 || h[3] != 0 {
		return badHeader("its flags and the byte after them are %#02x %#02x, the flags may be 0, 1, 3 or 7 and the "+
			"byte 0", h[2], h[3])
	}
	return nil
}

// parseRoots reads a list of roots.
func (b *board) parseRoots(h []byte) ([]root, error) {
	le := binary.LittleEndian
	roots := make([]root, len(h)/rootBytes)
	for i := range roots {
		r := root{position: position{le.Uint64(h), le.Uint64(h[8:])}, black: h[16] == 1, win: h[17] == claimWin}
		switch {
		case r.occupied()&^b.full != 0:
			return nil, badHeader("root %d has bits beyond the %d squares of the board", i, b.squares)
		case h[16] > 1:
			return nil, badHeader("root %d has side to move %d, 0 is white and 1 is black", i, h[16])
		case h[17] != claimWin && h[17] != claimLoss:
			return nil, badHeader("root %d has claim %d, 1 is a win and 2 a loss of the side to move", i, h[17])
		case !bytes.Equal(h[18:rootBytes], make([]byte, rootBytes-18)):
			return nil, badHeader("the last six bytes of root %d are not zero", i)
		}
		roots[i] = r
		h = h[rootBytes:]
	}
	return roots, nil
}

// parseLayer reads a line of the list of layers. Citations have more arrows than every root, so no
// argument of several parts can run in a circle.
func (c *certificate) parseLayer(h []byte) error {
	le := binary.LittleEndian
	arrows, l := le.Uint32(h), layer{blocks: le.Uint32(h[4:])}
	entries, citations := le.Uint64(h[8:]), uint64(0)
	if c.version == Format {
		l.citeBlocks, citations = le.Uint32(h[16:]), le.Uint64(h[24:])
		if le.Uint32(h[20:]) != 0 {
			return badHeader("the bytes before the number of citations of %d arrows are not zero", arrows)
		}
	}
	fits := func(n uint64, blocks uint32) bool { return n >= uint64(blocks) && n <= uint64(blocks)*maxBlockEntries }
	switch i := len(c.layers); {
	case arrows > uint32(c.squares):
		return badHeader("layer %d has %d arrows on a board of %d squares", i, arrows, c.squares)
	case i > 0 && int(arrows) >= c.layers[i-1].arrows:
		return badHeader("the layer of %d arrows follows that of %d, the arrows must decrease strictly", arrows,
			c.layers[i-1].arrows)
	case l.blocks == 0 && l.citeBlocks == 0 || !fits(entries, l.blocks):
		return badHeader("the layer of %d arrows has %s in %s, a block has 1 to %d", arrows,
			count(entries, "entry", "entries"), count(l.blocks, "block", "blocks"), maxBlockEntries)
	case !fits(citations, l.citeBlocks):
		return badHeader("the layer of %d arrows has %s in %s, a block has 1 to %d", arrows,
			count(citations, "citation", "citations"), count(l.citeBlocks, "block", "blocks"), maxBlockEntries)
	}
	for i, r := range c.roots {
		if citations > 0 && r.arrows() >= int(arrows) {
			return badHeader("it cites positions of %d arrows, root %d has %d: a part cites only positions with more "+
				"arrows than its roots", arrows, i, r.arrows())
		}
	}
	l.arrows, l.entries, l.citations = int(arrows), int64(entries), int64(citations)
	c.layers = append(c.layers, l)
	c.entries += l.entries
	c.citations += l.citations
	return nil
}

// block is the header of a block.
type block struct{ entries, raw, stored uint32 }

// parseBlock checks the header of a block against the limits of the format. Its last column has so
// many bytes an entry: moveBytes, or claimBytes in a block of citations.
func (c *certificate) parseBlock(h []byte, last int) (block, error) {
	le := binary.LittleEndian
	b := block{le.Uint32(h), le.Uint32(h[4:]), le.Uint32(h[8:])}
	fixed := uint64(b.entries) * uint64(c.wordBytes()+last)
	switch {
	case b.entries == 0 || b.entries > maxBlockEntries:
		return b, fmt.Errorf("%w: it has %d entries, 1 to %d are allowed", ErrBlock, b.entries, maxBlockEntries)
	case b.raw > maxBlockRaw || uint64(b.raw) < fixed+uint64(b.entries) || uint64(b.raw) > fixed+
		binary.MaxVarintLen64*uint64(b.entries):
		return b, fmt.Errorf("%w: %d bytes of raw data do not fit its entries, %d", ErrBlock, b.raw, b.entries)
	case b.stored == 0 || b.stored > maxBlockStored:
		return b, fmt.Errorf("%w: it has %d stored bytes, 1 to %d are allowed", ErrBlock, b.stored, maxBlockStored)
	}
	return b, nil
}

// wordBytes is the width of a word b in a block.
func (c *certificate) wordBytes() int { return (c.squares + 7) / 8 }

// walkBlocks steps over the blocks without decoding them: each layer has the entries it says, and
// the file ends with the last one.
func (c *certificate) walkBlocks() error {
	offset := c.start
	for i := range c.layers {
		l := &c.layers[i]
		citations, err := c.walk(&offset, l, l.citeBlocks, claimBytes)
		if err != nil {
			return err
		}
		entries, err := c.walk(&offset, l, l.blocks, moveBytes)
		if err != nil {
			return err
		}
		if entries != l.entries || citations != l.citations {
			return fmt.Errorf("%w: the layer of %d arrows states %s and %s, its blocks %d and %d", ErrBlock, l.arrows,
				count(l.entries, "entry", "entries"), count(l.citations, "citation", "citations"), entries, citations)
		}
	}
	if offset != c.size {
		return fmt.Errorf("%w: it ends at byte %d, the file has %d bytes", ErrTrailing, offset, c.size)
	}
	return nil
}

// walk steps over some blocks of a layer and returns how many entries they have.
func (c *certificate) walk(offset *int64, l *layer, blocks uint32, last int) (entries int64, err error) {
	var h [blockHeader]byte
	for range blocks {
		if err := c.readAt(h[:], *offset); err != nil {
			return 0, err
		}
		b, err := c.parseBlock(h[:], last)
		if err != nil {
			return 0, fmt.Errorf("block at byte %d: %w", *offset, err)
		}
		*offset += blockHeader
		if int64(b.stored) > c.size-*offset {
			return 0, fmt.Errorf("%w: the block at byte %d ends at byte %d, the file has %d bytes", ErrTruncated,
				*offset-blockHeader, *offset+int64(b.stored), c.size)
		}
		*offset += int64(b.stored)
		entries += int64(b.entries)
		l.raw += int64(b.raw)
	}
	return entries, nil
}

// sums are the hash that the certificate should state, and that of the whole file.
type sums struct{ certificate, file [32]byte }

// hashFile reads the whole file once.
func hashFile(ctx context.Context, r io.ReaderAt, size int64) (s sums, err error) {
	own, whole := sha256.New(), sha256.New()
	c := certificate{r: r, size: size}
	buffer := make([]byte, min(size, 1<<20))
	for offset := int64(0); offset < size; {
		if err := ctx.Err(); err != nil {
			return s, err
		}
		p := buffer[:min(size-offset, int64(len(buffer)))]
		if err := c.readAt(p, offset); err != nil {
			return s, err
		}
		whole.Write(p)
		if offset == 0 { // the buffer is longer than the prefix, or holds the whole file
			own.Write(p[:min(hashedPrefix, len(p))])
			own.Write(p[min(prefixBytes, len(p)):])
		} else {
			own.Write(p)
		}
		offset += int64(len(p))
	}
	own.Sum(s.certificate[:0])
	whole.Sum(s.file[:0])
	return s, nil
}

// checksumError says that the contents of a file are not those that its hash was made of.
func checksumError(stated, found []byte) error {
	return fmt.Errorf("%w: the file states %s, its contents have %s, so it was damaged or changed", ErrChecksum,
		hex.EncodeToString(stated), hex.EncodeToString(found))
}

// blockReader decodes the blocks in file order. It hashes what it reads, so that a file which is
// changed between the first reading and this one does not go unnoticed: what is verified is what
// was hashed.
type blockReader struct {
	*certificate
	offset  int64
	zstd    *zstd.Decoder
	hash    hash.Hash
	stored  []byte
	raw     []byte
	entries []entry
}

// newBlockReader returns a reader that stands before the first block. Its hash begins with the
// header, as the file's own hash does.
func newBlockReader(c *certificate) (*blockReader, error) {
	// Output is limited by the slice it goes to; what is called memory limits windows as well
	// (FORMAT.md).
	d, err := zstd.NewReader(nil, zstd.WithDecoderConcurrency(1), zstd.WithDecodeAllCapLimit(true),
		zstd.WithDecoderMaxMemory(64<<20))
	if err != nil {
		return nil, fmt.Errorf("start zstd decoder: %w", err)
	}
	b := &blockReader{certificate: c, offset: c.start, zstd: d, hash: sha256.New()}
	b.hash.Write(c.hashed)
	return b, nil
}

// next returns the entries of the next block, whose last column has so many bytes an entry; the
// slice is valid until the next call. It does not look at them: words may have any bits, and the
// order may be wrong. The claim of a citation is in the place of the first square of a move.
func (r *blockReader) next(last int) ([]entry, error) {
	entries, err := r.decode(last)
	if err != nil {
		return nil, fmt.Errorf("block at byte %d: %w", r.offset, err)
	}
	r.offset += blockHeader + int64(len(r.stored))
	return entries, nil
}

// decode reads the block at the reader's offset: its header, its one zstd frame, and the columns in
// it. A block has three columns, so that like bytes lie together and compress well: the differences
// of the words A as varints, the words B, and the moves or claims.
func (r *blockReader) decode(last int) ([]entry, error) {
	var h [blockHeader]byte
	if err := r.readAt(h[:], r.offset); err != nil {
		return nil, err
	}
	b, err := r.parseBlock(h[:], last)
	if err != nil {
		return nil, err
	}
	r.stored = slices.Grow(r.stored[:0], int(b.stored))[:b.stored]
	if err := r.readAt(r.stored, r.offset+blockHeader); err != nil {
		return nil, err
	}
	r.hash.Write(h[:])
	r.hash.Write(r.stored)
	if err := oneFrame(r.stored); err != nil {
		return nil, err
	}
	r.raw = slices.Grow(r.raw[:0], int(b.raw))
	raw, err := r.zstd.DecodeAll(r.stored, r.raw[:0:b.raw])
	if err != nil {
		return nil, fmt.Errorf("%w: its zstd frame cannot be decoded to %d bytes: %w", ErrBlock, b.raw, err)
	}
	if len(raw) != int(b.raw) {
		return nil, fmt.Errorf("%w: its zstd frame decodes to %d bytes, it says %d", ErrBlock, len(raw), b.raw)
	}

	// The last two columns have a fixed width, so the first one, whose width varies, is what is
	// left.
	n, width := int(b.entries), r.wordBytes()
	firsts := raw[:len(raw)-n*(width+last)]
	seconds := raw[len(firsts):]
	moves := seconds[n*width:]
	r.entries = slices.Grow(r.entries[:0], n)[:n]
	var a uint64
	for i := range n {
		// Words A never fall within a block. A sum that wraps around would begin again at small
		// words, and an entry could stand where nobody looks for it.
		delta, used := binary.Uvarint(firsts)
		if used <= 0 || a+delta < a {
			return nil, fmt.Errorf("%w: word A of its entry %d is not a number of at most 64 bits", ErrBlock, i)
		}
		firsts = firsts[used:]
		a += delta
		var second uint64
		for j := width - 1; j >= 0; j-- {
			second = second<<8 | uint64(seconds[i*width+j])
		}
		r.entries[i] = entry{position: position{a, second}, move: move{from: moves[last*i]}}
		if last == moveBytes {
			r.entries[i].move = move{moves[last*i], moves[last*i+1], moves[last*i+2]}
		}
	}
	if len(firsts) != 0 {
		return nil, fmt.Errorf("%w: its column of words A has %d bytes more than its %d entries take", ErrBlock,
			len(firsts), n)
	}
	return r.entries, nil
}

// oneFrame refuses stored data that is anything but one zstd frame (RFC 8878, section 3.1.1), by
// stepping over its blocks.
func oneFrame(p []byte) error {
	bad := fmt.Errorf("%w: its stored data is not exactly one zstd frame", ErrBlock)
	var h zstd.Header
	// The decoder takes the largest content size, 2^64-1, for none at all. Any other that is wrong it refuses.
	if err := h.Decode(p); err != nil || h.Skippable || h.DictionaryID != 0 ||
		h.HasFCS && h.FrameContentSize > maxBlockRaw {
		return bad
	}
	for i := h.HeaderSize; ; {
		if len(p)-i < 3 {
			return bad
		}
		b := int(p[i]) | int(p[i+1])<<8 | int(p[i+2])<<16
		size := b >> 3
		if b>>1&3 == 1 { // a block of one repeated byte
			size = 1
		}
		i += 3
		if size > len(p)-i {
			return bad
		}
		i += size
		if b&1 != 0 { // the last block
			if h.HasCheckSum {
				i += 4
			}
			if i != len(p) {
				return bad
			}
			return nil
		}
	}
}
