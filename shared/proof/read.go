package proof

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/binary"
	"errors"
	"fmt"
	"hash"
	"io"
	"os"
	"runtime"
	"slices"
	"sync"

	"amazonsfarm/shared/amazons"
	"amazonsfarm/shared/disk"
	"amazonsfarm/shared/eval"

	"github.com/klauspost/compress/zstd"
)

// Info is what the header of a certificate says.
type Info struct {
	Board     amazons.Board
	Leaves    eval.Leaves
	Roots     []Root
	Entries   int64
	Citations int64       // positions that other parts prove; 0 for a whole proof
	Layers    []LayerInfo // deepest first
}

// LayerInfo is what the header says about one layer. The blocks of citations come first.
type LayerInfo struct {
	Arrows, Blocks, CitationBlocks int
	Entries, Citations             int64
}

// ReadWhole reads the named certificate, or the proof in parts of a manifest, as [Pack] does.
func ReadWhole(ctx context.Context, name string, limit int64) (Certificate, error) {
	c, err := ReadFile(name)
	if errors.Is(err, ErrInParts) {
		return Pack(ctx, name, limit)
	}
	return c, err
}

// ReadFile reads the named certificate, as [Read] does.
func ReadFile(name string) (Certificate, error) {
	f, err := open(name)
	if errors.Is(err, ErrNotCertificate) {
		return Certificate{}, fmt.Errorf("read certificate %s: %w", name, err)
	} else if err != nil {
		return Certificate{}, fmt.Errorf("read certificate: %w", err)
	}
	defer f.Close()
	st, err := f.Stat()
	if err != nil {
		return Certificate{}, fmt.Errorf("read certificate: %w", err)
	}
	c, err := Read(f, st.Size())
	if err != nil {
		return Certificate{}, fmt.Errorf("%s: %w", name, err)
	}
	return c, nil
}

// open opens a file that may be a certificate or a manifest.
func open(name string) (*os.File, error) {
	f, err := disk.Open(name)
	if errors.Is(err, disk.ErrIrregular) {
		err = fmt.Errorf("%w: not a regular file", ErrNotCertificate)
	}
	return f, err
}

// Read reads the certificate in the first size bytes of r. It checks all that FORMAT.md says about
// a single entry: canonical, of its layer, in order, with a legal move. It does not check that
// moves win; that is the checker's work.
//
// Errors wrap ErrNotCertificate, ErrVersion, ErrTruncated, ErrChecksum (the bytes are not those
// that were written), or ErrCorrupt (they are, but are not a certificate), or are r's.
func Read(r io.ReaderAt, size int64) (Certificate, error) {
	d := decoder{in: r, size: size, sum: sha256.New()}
	c, err := d.read()
	if err != nil {
		return Certificate{}, fmt.Errorf("read certificate: %w", err)
	}
	return c, nil
}

// ReadInfo reads the header only. The checksum is not looked at, as it covers the whole file.
func ReadInfo(r io.ReaderAt, size int64) (Info, error) {
	d := decoder{in: r, size: size, sum: sha256.New()}
	if err := d.header(); err != nil {
		return Info{}, fmt.Errorf("read certificate: %w", err)
	}
	return d.info, nil
}

// Intact returns an error that wraps ErrChecksum unless the bytes of a certificate are those that were
// written. It looks at nothing else. Further errors: ErrTruncated, those of r.
func Intact(r io.Reader) error {
	var head [preamble]byte
	if _, err := io.ReadFull(r, head[:]); errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) {
		return ErrTruncated
	} else if err != nil {
		return err
	}
	h := sha256.New()
	h.Write(head[:16])
	if _, err := io.Copy(h, r); err != nil {
		return err
	}
	if !bytes.Equal(h.Sum(nil), head[16:16+sha256.Size]) {
		return ErrChecksum
	}
	return nil
}

// ReadCited reads the header and what the certificate cites. Checksums and entries are not looked at.
func ReadCited(r io.ReaderAt, size int64) (Info, []Citation, error) {
	d := decoder{in: r, size: size, sum: sha256.New()}
	c, err := d.cited()
	if err != nil {
		return Info{}, nil, fmt.Errorf("read citations: %w", err)
	}
	return d.info, c.Cited, nil
}

// cited reads all citations, and passes over the blocks of entries.
func (d *decoder) cited() (c Certificate, err error) {
	if err := d.header(); err != nil {
		return c, err
	}
	if err := d.keep(0); err != nil {
		return c, err
	}
	c.Board = d.info.Board
	left := d.info.Citations
	for _, layer := range d.info.Layers {
		if left == 0 {
			return c, nil
		}
		from := d.offset
		if err := d.citations(layer, &c); err != nil {
			return c, fmt.Errorf("citations of %d arrows: %w", layer.Arrows, err)
		}
		if err := d.keep(from); err != nil {
			return c, err
		}
		left -= layer.Citations
		if left > 0 && !d.noEntries {
			if err := d.skip(layer.Entries, moveBytes); err != nil {
				return c, fmt.Errorf("layer of %d arrows: %w", layer.Arrows, err)
			}
		}
	}
	return c, nil
}

// skip passes over the blocks of so many entries, whose last column has so many bytes an entry.
func (d *decoder) skip(entries int64, last int) error {
	for entries > 0 {
		var b block
		stored, err := d.head(&b, entries, last)
		if err != nil {
			return err
		}
		entries -= int64(b.n)
		d.offset += stored
	}
	return nil
}

func corrupt(format string, args ...any) error {
	return fmt.Errorf("%w: "+format, append([]any{ErrCorrupt}, args...)...)
}

type decoder struct {
	in     io.ReaderAt
	size   int64
	offset int64     // of what has not been read yet
	sum    hash.Hash // of what has been read
	want   [sha256.Size]byte
	info   Info

	outline   *bytes.Buffer // gets the header and the blocks of citations; nil: nobody wants them
	noEntries bool          // it is an outline: the blocks of entries were left out
}

// keep gives the outline what was read since an offset.
func (d *decoder) keep(from int64) error {
	if d.outline == nil {
		return nil
	}
	_, err := io.Copy(d.outline, io.NewSectionReader(d.in, from, d.offset-from))
	return err
}

// next returns the next n bytes. The caller bounds n.
func (d *decoder) next(n int64, what string) ([]byte, error) {
	if n > d.size-d.offset {
		return nil, fmt.Errorf("%w: %d bytes of %s are expected at offset %d, the file ends at %d", ErrTruncated, n,
			what, d.offset, d.size)
	}
	p := make([]byte, n)
	if got, err := d.in.ReadAt(p, d.offset); int64(got) < n {
		if err == nil || errors.Is(err, io.EOF) {
			err = fmt.Errorf("%w: the file ends at %d, before its size of %d", ErrTruncated, d.offset+
				int64(got), d.size)
		}
		return nil, err
	}
	d.offset += n
	return p, nil
}

// header reads all that comes before the first block.
func (d *decoder) header() error {
	m, err := d.next(min(int64(len(magic)), max(d.size, 0)), "magic")
	if err != nil {
		return err
	}
	if string(m) == manifestMagic {
		return ErrInParts
	}
	if !bytes.Equal(m, []byte(magic[:len(m)])) || len(m) == 0 {
		return fmt.Errorf("%w: it does not begin as one", ErrNotCertificate)
	}
	if len(m) < len(magic) {
		return fmt.Errorf("%w: it has only %d bytes", ErrTruncated, d.size)
	}
	p, err := d.next(preamble-int64(len(magic)), "preamble")
	if err != nil {
		return err
	}
	le := binary.LittleEndian
	format := le.Uint32(p)
	if format != 1 && format != Format {
		return fmt.Errorf("%w: it is version %d, this program reads versions 1 and %d", ErrVersion, format, Format)
	}
	copy(d.want[:], p[8:])
	n := int64(le.Uint32(p[4:]))
	fixed, perLayer := sizes(format)
	if n < fixed+rootBytes || n > maxHeader {
		return corrupt("the header's length is %d, which is not %d to %d", n, fixed+rootBytes, maxHeader)
	}
	d.sum.Write(m)
	d.sum.Write(p[:8])
	h, err := d.next(n, "header")
	if err != nil {
		return err
	}
	d.sum.Write(h)

	board, flags := amazons.Board{Width: h[0], Height: h[1]}, h[2]
	if !board.Valid() {
		return corrupt("%v is not a board", board)
	}
	leaves, known := leavesOf[flags]
	if !known || h[3] != 0 {
		return corrupt("unknown flags %#x %#x", flags, h[3])
	}
	roots, layers, entries := int64(le.Uint32(h[4:])), int64(le.Uint32(h[8:])), le.Uint64(h[12:])
	if roots < 1 || n != fixed+rootBytes*roots+perLayer*layers {
		return corrupt("a header of %d bytes does not fit %d roots and %d layers", n, roots, layers)
	}
	d.info = Info{Board: board, Leaves: leaves}
	if d.info.Roots, err = parseRoots(board, h[fixed:fixed+rootBytes*roots]); err != nil {
		return err
	}
	above := int64(board.Squares()) + 1
	for l := range slices.Chunk(h[fixed+rootBytes*roots:], int(perLayer)) {
		if above, err = d.layer(l, above); err != nil {
			return err
		}
	}
	if uint64(d.info.Entries) != entries {
		return corrupt("its layers have %d entries, it states %d", d.info.Entries, entries)
	}
	if format > 1 && uint64(d.info.Citations) != le.Uint64(h[fixedHeader:]) {
		return corrupt("its layers have %d citations, it states %d", d.info.Citations, le.Uint64(h[fixedHeader:]))
	}
	return nil
}

// parseRoots reads a list of roots.
func parseRoots(board amazons.Board, h []byte) ([]Root, error) {
	le := binary.LittleEndian
	roots := make([]Root, len(h)/rootBytes)
	for i := range roots {
		s, err := amazons.Key{A: le.Uint64(h), B: le.Uint64(h[8:])}.State(board)
		if err != nil {
			return nil, corrupt("root %d: %v", i, err)
		}
		r := Root{State: s, ToMove: amazons.Colour(h[16]), Claim: eval.Verdict(h[17])}
		if r.ToMove > amazons.Black || r.Claim != eval.Won && r.Claim != eval.Lost || [6]byte(h[18:24]) != ([6]byte{}) {
			return nil, corrupt("root %d has an unknown side to move, claim or supplement: %x", i, h[16:24])
		}
		roots[i] = r
		h = h[rootBytes:]
	}
	return roots, nil
}

// layer reads a line of the list of layers. It must have less than above arrows, and returns those
// it has.
func (d *decoder) layer(h []byte, above int64) (int64, error) {
	le := binary.LittleEndian
	arrows, blocks, n := int64(le.Uint32(h)), int64(le.Uint32(h[4:])), le.Uint64(h[8:])
	citationBlocks, citations := int64(0), uint64(0)
	if len(h) == citingLayer {
		citationBlocks, citations = int64(le.Uint32(h[16:])), le.Uint64(h[24:])
		if le.Uint32(h[20:]) != 0 {
			return 0, corrupt("the layer of %d arrows has an unknown supplement", arrows)
		}
	}
	fits := func(n uint64, blocks int64) bool { return n >= uint64(blocks) && n <= uint64(blocks)*maxBlock }
	switch {
	case arrows >= above:
		return 0, corrupt("a layer of %d arrows cannot come here", arrows)
	case blocks+citationBlocks == 0 || !fits(n, blocks) || !fits(citations, citationBlocks):
		return 0, corrupt("the layer of %d arrows cannot have %d entries in %d blocks and %d citations in %d", arrows,
			n, blocks, citations, citationBlocks)
	}
	for _, r := range d.info.Roots {
		if root := layerOf(r.State.Key(d.info.Board)); citations > 0 && int64(root) >= arrows {
			return 0, corrupt("it cites positions of %d arrows and has a root of %d", arrows, root)
		}
	}
	d.info.Layers = append(d.info.Layers, LayerInfo{Arrows: int(arrows), Blocks: int(blocks), Entries: int64(n),
		CitationBlocks: int(citationBlocks), Citations: int64(citations)})
	d.info.Entries += int64(n)
	d.info.Citations += int64(citations)
	return arrows, nil
}

// block is one block, before and after it is decoded.
type block struct {
	head, stored []byte
	n, raw       int
	entries      []Entry
	err          error
}

// read is parse with a better error. Where the content is wrong, a flipped bit is the likelier
// cause than a writer that made a mistake. So the checksum of the whole file is looked at, and
// blamed if it is wrong.
func (d *decoder) read() (Certificate, error) {
	c, err := d.parse()
	if errors.Is(err, ErrCorrupt) {
		// Something is wrong with the content. Most likely it is not what was written.
		if errors.Is(Intact(io.NewSectionReader(d.in, 0, d.size)), ErrChecksum) {
			return c, fmt.Errorf("%w (%v)", ErrChecksum, err)
		}
	}
	return c, err
}

// parse reads the file once, from its beginning to its end.
func (d *decoder) parse() (Certificate, error) {
	if err := d.header(); err != nil {
		return Certificate{}, err
	}
	c := Certificate{Board: d.info.Board, Leaves: d.info.Leaves, Roots: d.info.Roots, Set: new(Set)}
	workers := runtime.GOMAXPROCS(0)
	for _, layer := range d.info.Layers {
		if err := d.citations(layer, &c); err != nil {
			return Certificate{}, fmt.Errorf("citations of %d arrows: %w", layer.Arrows, err)
		}
		into := &c.Set.layers[layer.Arrows]
		if layer.Entries <= d.size {
			// Room for all, unless the header promises more than the file's size makes likely: then
			// the table grows with what is really there.
			into.reserve(int(layer.Entries))
		}
		left, last := layer.Entries, amazons.Key{}
		for done := 0; done < layer.Blocks; {
			batch := make([]block, min(4*workers, layer.Blocks-done))
			for i := range batch {
				if err := d.block(&batch[i], left, moveBytes, "block"); err != nil {
					return Certificate{}, fmt.Errorf("layer of %d arrows, block %d: %w", layer.Arrows, done+i, err)
				}
				left -= int64(batch[i].n)
			}
			// Blocks are independent of each other, so they are decoded by all cores, some at a
			// time. The order of the entries across blocks is looked at afterwards, by this
			// goroutine alone.
			// One more piece of work: the hash of the batch.
			parallel(workers, len(batch)+1, func(i int) {
				if i > 0 {
					b := &batch[i-1]
					b.entries, b.err = b.columns(c.Board, layer.Arrows)
					return
				}
				for j := range batch {
					d.sum.Write(batch[j].head)
					d.sum.Write(batch[j].stored)
				}
			})
			for i := range batch {
				b := &batch[i]
				if b.err == nil && b.entries[0].Key.Compare(last) <= 0 {
					b.err = corrupt("its first entry does not follow the block before")
				}
				if b.err != nil {
					return Certificate{}, fmt.Errorf("layer of %d arrows, block %d: %w", layer.Arrows, done+i, b.err)
				}
				last = b.entries[b.n-1].Key
				for _, e := range b.entries {
					into.insert(e.Key, e.Move)
				}
				*b = block{}
			}
			done += len(batch)
		}
		if left != 0 {
			return Certificate{}, corrupt("the blocks of the layer of %d arrows lack %d entries", layer.Arrows, left)
		}
	}
	if d.offset != d.size {
		return Certificate{}, corrupt("after the last block: %d more bytes", d.size-d.offset)
	}
	if [sha256.Size]byte(d.sum.Sum(nil)) != d.want {
		return Certificate{}, ErrChecksum
	}
	return c, nil
}

// citations reads those of a layer.
func (d *decoder) citations(layer LayerInfo, c *Certificate) error {
	left := layer.Citations
	for range layer.CitationBlocks {
		var b block
		if err := d.block(&b, left, claimBytes, "citations"); err != nil {
			return err
		}
		d.sum.Write(b.head)
		d.sum.Write(b.stored)
		left -= int64(b.n)
		first := left+int64(b.n) == layer.Citations
		err := b.unpack(c.Board, claimBytes, func(_ int, k amazons.Key, last []byte) error {
			q := Citation{k, eval.Verdict(last[0])}
			_, why := checkKey(c.Board, k, layer.Arrows)
			switch {
			case q.Claim != eval.Won && q.Claim != eval.Lost:
				why = "its claim is unknown"
			case !first && k.Compare(c.Cited[len(c.Cited)-1].Key) <= 0:
				why = "it does not follow the one before"
			}
			if why != "" {
				return corrupt("citation %x %x: %s", k.A, k.B, why)
			}
			first = false
			c.Cited = append(c.Cited, q)
			return nil
		})
		if err != nil {
			return err
		}
	}
	if left != 0 {
		return corrupt("its blocks lack %d citations", left)
	}
	return nil
}

// block reads a block of at most left entries, or citations, whose last column has so many bytes an entry.
func (d *decoder) block(b *block, left int64, last int, what string) error {
	stored, err := d.head(b, left, last)
	if err == nil {
		b.stored, err = d.next(stored, what)
	}
	return err
}

// head reads the header of a block of at most left entries, whose last column has so many bytes an
// entry, and returns how many bytes of it follow.
func (d *decoder) head(b *block, left int64, last int) (stored int64, err error) {
	if b.head, err = d.next(blockHeader, "block header"); err != nil {
		return 0, err
	}
	le := binary.LittleEndian
	n, raw, stored := int64(le.Uint32(b.head)), int64(le.Uint32(b.head[4:])), int64(le.Uint32(b.head[8:]))
	b.n, b.raw = int(n), int(raw)
	switch shortest := n * int64(1+wordBytes(d.info.Board)+last); {
	case n < 1 || n > maxBlock || n > left:
		return 0, corrupt("it cannot have %d entries", n)
	case raw < shortest || raw > maxRaw:
		return 0, corrupt("%d entries cannot take %d bytes", n, raw)
	case stored < 1 || stored > maxStored:
		return 0, corrupt("%d bytes cannot be stored in %d", raw, stored)
	}
	return stored, nil
}

// decoders is the decompressor, made when first needed. Many goroutines may use it at once.
var decoders = sync.OnceValue(func() *zstd.Decoder {
	// The limits on memory are those of windows; output is limited by the slice it goes to.
	d, err := zstd.NewReader(nil, zstd.WithDecoderConcurrency(0), zstd.WithDecoderMaxMemory(64<<20),
		zstd.WithDecodeAllCapLimit(true))
	if err != nil {
		panic(err) // the options are constants
	}
	return d
})

// unpacked returns the raw data of the block.
func (b *block) unpacked() ([]byte, error) {
	if n, err := frameLen(b.stored); err != nil {
		return nil, corrupt("%v", err)
	} else if n != len(b.stored) {
		return nil, corrupt("its zstd frame has %d bytes where %d are stored", n, len(b.stored))
	}
	p, err := decoders().DecodeAll(b.stored, make([]byte, 0, b.raw))
	if err != nil {
		return nil, corrupt("%v", err)
	}
	if len(p) != b.raw {
		return nil, corrupt("it has %d bytes where %d are announced", len(p), b.raw)
	}
	return p, nil
}

// unpack gives each position of the block, with its part of the last column, which has so many bytes
// an entry. It does not look at what they say.
func (b *block) unpack(board amazons.Board, last int, each func(i int, k amazons.Key, last []byte) error) error {
	p, err := b.unpacked()
	if err != nil {
		return err
	}
	width := wordBytes(board)
	if len(p) < b.n*(width+last) {
		return corrupt("%d bytes are too few for %d entries", len(p), b.n)
	}
	firsts, words := p[:len(p)-b.n*(width+last)], p[len(p)-b.n*(width+last):]
	rest := words[b.n*width:]
	var k amazons.Key
	for i := range b.n {
		delta, n := binary.Uvarint(firsts)
		if n <= 0 || k.A+delta < k.A {
			return corrupt("entry %d has no first word", i)
		}
		firsts = firsts[n:]
		k.A, k.B = k.A+delta, 0
		for j, x := range words[i*width : (i+1)*width] {
			k.B |= uint64(x) << (8 * j)
		}
		if err := each(i, k, rest[i*last:(i+1)*last]); err != nil {
			return err
		}
	}
	if len(firsts) > 0 {
		return corrupt("%d bytes follow the first words of its %d entries", len(firsts), b.n)
	}
	return nil
}

// unchecked returns the entries of the block without a look at what they say.
func (b *block) unchecked(board amazons.Board) ([]Entry, error) {
	entries := make([]Entry, b.n)
	err := b.unpack(board, moveBytes, func(i int, k amazons.Key, m []byte) error {
		entries[i] = Entry{k, amazons.Move{From: board.UnpackSquare(m[0]), To: board.UnpackSquare(m[1]),
			Arrow: board.UnpackSquare(m[2])}}
		return nil
	})
	return entries, err
}

// columns returns the entries of the block, each of them in order and an entry of its layer.
func (b *block) columns(board amazons.Board, arrows int) ([]Entry, error) {
	entries, err := b.unchecked(board)
	if err != nil {
		return nil, err
	}
	for i, e := range entries {
		if why := checkEntry(board, e, arrows); why != "" {
			return nil, corrupt("entry %d, %x %x: %s", i, e.Key.A, e.Key.B, why)
		}
		if i > 0 && e.Key.Compare(entries[i-1].Key) <= 0 {
			return nil, corrupt("entry %d does not follow the entry before", i)
		}
	}
	return entries, nil
}

var errFrame = errors.New("no complete zstd frame")

// frameLen returns the length of the zstd frame at the beginning of p (RFC 8878, section 3.1.1):
// the decompressor would also take several frames, and frames to be skipped.
func frameLen(p []byte) (int, error) {
	var h zstd.Header
	if err := h.Decode(p); err != nil {
		return 0, err
	}
	// The decompressor takes the largest content size, 2^64-1, for none at all. Any other that is wrong it refuses.
	if h.Skippable || h.HasFCS && h.FrameContentSize > maxRaw {
		return 0, errFrame
	}
	n := h.HeaderSize
	for {
		if len(p)-n < 3 {
			return 0, errFrame
		}
		head := uint32(p[n]) | uint32(p[n+1])<<8 | uint32(p[n+2])<<16
		size := int(head >> 3)
		if head>>1&3 == 1 { // one byte, repeated
			size = 1
		}
		if n += 3 + size; n > len(p) {
			return 0, errFrame
		}
		if head&1 != 0 { // the last block
			break
		}
	}
	if h.HasCheckSum {
		n += 4
	}
	return n, nil
}
