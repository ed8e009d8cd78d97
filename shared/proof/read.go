package proof

import (
	"bytes"
	"crypto/sha256"
	"encoding/binary"
	"errors"
	"fmt"
	"hash"
	"io"
	"os"
	"runtime"
	"sync"

	"amazonsfarm/shared/amazons"
	"amazonsfarm/shared/eval"

	"github.com/klauspost/compress/zstd"
)

// Info is what the header of a certificate says.
type Info struct {
	Board   amazons.Board
	Leaves  eval.Leaves
	Roots   []Root
	Entries int64
	Layers  []LayerInfo // deepest first
}

// LayerInfo is what the header says about one layer.
type LayerInfo struct {
	Arrows, Blocks int
	Entries        int64
}

// ReadFile reads the named certificate, as [Read] does.
func ReadFile(name string) (Certificate, error) {
	f, err := os.Open(name)
	if err != nil {
		return Certificate{}, fmt.Errorf("read certificate: %w", err)
	}
	defer f.Close()
	st, err := f.Stat()
	if err != nil {
		return Certificate{}, fmt.Errorf("read certificate: %w", err)
	}
	if !st.Mode().IsRegular() {
		return Certificate{}, fmt.Errorf("read certificate %s: %w: not a regular file", name, ErrNotCertificate)
	}
	c, err := Read(f, st.Size())
	if err != nil {
		return Certificate{}, fmt.Errorf("%s: %w", name, err)
	}
	return c, nil
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
	if v := le.Uint32(p); v != Format {
		return fmt.Errorf("%w: it is version %d, this program reads version %d", ErrVersion, v, Format)
	}
	copy(d.want[:], p[8:])
	n := int64(le.Uint32(p[4:]))
	if n < fixedHeader+rootBytes || n > maxHeader {
		return corrupt("the header's length is %d, which is not %d to %d", n, fixedHeader+rootBytes, maxHeader)
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
	if int(flags) >= len(leavesOf) || flags == 2 || h[3] != 0 {
		return corrupt("unknown flags %#x %#x", flags, h[3])
	}
	roots, layers, entries := int64(le.Uint32(h[4:])), int64(le.Uint32(h[8:])), le.Uint64(h[12:])
	if roots < 1 || n != fixedHeader+rootBytes*roots+layerBytes*layers {
		return corrupt("a header of %d bytes does not fit %d roots and %d layers", n, roots, layers)
	}
	if entries > 1<<62 {
		return corrupt("it cannot have %d entries", entries)
	}
	d.info = Info{Board: board, Leaves: leavesOf[flags], Entries: int64(entries)}
	d.info.Roots = make([]Root, roots)
	h = h[fixedHeader:]
	for i := range d.info.Roots {
		s, err := amazons.Key{A: le.Uint64(h), B: le.Uint64(h[8:])}.State(board)
		if err != nil {
			return corrupt("root %d: %v", i, err)
		}
		r := Root{State: s, ToMove: amazons.Colour(h[16]), Claim: eval.Verdict(h[17])}
		if r.ToMove > amazons.Black || r.Claim != eval.Won && r.Claim != eval.Lost || [6]byte(h[18:24]) != ([6]byte{}) {
			return corrupt("root %d has an unknown side to move, claim or supplement: %x", i, h[16:24])
		}
		d.info.Roots[i] = r
		h = h[rootBytes:]
	}
	d.info.Layers = make([]LayerInfo, layers)
	above, left := int64(board.Squares())+1, int64(entries)
	for i := range d.info.Layers {
		arrows, blocks, n := int64(le.Uint32(h)), int64(le.Uint32(h[4:])), le.Uint64(h[8:])
		if arrows >= above {
			return corrupt("a layer of %d arrows cannot come here", arrows)
		}
		if n > uint64(left) || blocks < 1 || int64(n) < blocks || int64(n) > blocks*maxBlock {
			return corrupt("the layer of %d arrows cannot have %d entries in %d blocks", arrows, n, blocks)
		}
		above = arrows
		left -= int64(n)
		d.info.Layers[i] = LayerInfo{Arrows: int(arrows), Blocks: int(blocks), Entries: int64(n)}
		h = h[layerBytes:]
	}
	if left != 0 {
		return corrupt("%d entries are in no layer", left)
	}
	return nil
}

// block is one block, before and after it is decoded.
type block struct {
	head, stored []byte
	n, raw       int
	entries      []Entry
	err          error
}

func (d *decoder) read() (Certificate, error) {
	c, err := d.parse()
	if errors.Is(err, ErrCorrupt) {
		// Something is wrong with the content. Most likely it is not what was written.
		if sum, sumErr := d.sumAll(); sumErr == nil && sum != d.want {
			return c, fmt.Errorf("%w (%v)", ErrChecksum, err)
		}
	}
	return c, err
}

// sumAll returns the hash of the whole file.
func (d *decoder) sumAll() (sum [sha256.Size]byte, err error) {
	h := sha256.New()
	if _, err = io.Copy(h, io.NewSectionReader(d.in, 0, 16)); err == nil {
		_, err = io.Copy(h, io.NewSectionReader(d.in, preamble, d.size-preamble))
	}
	h.Sum(sum[:0])
	return sum, err
}

// parse reads the file once, from its beginning to its end.
func (d *decoder) parse() (Certificate, error) {
	if err := d.header(); err != nil {
		return Certificate{}, err
	}
	c := Certificate{Board: d.info.Board, Leaves: d.info.Leaves, Roots: d.info.Roots, Set: new(Set)}
	workers := runtime.GOMAXPROCS(0)
	for _, layer := range d.info.Layers {
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
				if err := d.block(&batch[i], left); err != nil {
					return Certificate{}, fmt.Errorf("layer of %d arrows, block %d: %w", layer.Arrows, done+i, err)
				}
				left -= int64(batch[i].n)
			}
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
					at, _ := into.insert(e.Key)
					at.move = e.Move
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
		return Certificate{}, corrupt("%d bytes follow the last block", d.size-d.offset)
	}
	if [sha256.Size]byte(d.sum.Sum(nil)) != d.want {
		return Certificate{}, ErrChecksum
	}
	return c, nil
}

// block reads a block of at most left entries.
func (d *decoder) block(b *block, left int64) error {
	stored, err := d.head(b, left)
	if err != nil {
		return err
	}
	b.stored, err = d.next(stored, "block")
	return err
}

// head reads the header of a block of at most left entries, and returns how many bytes of it follow.
func (d *decoder) head(b *block, left int64) (stored int64, err error) {
	if b.head, err = d.next(blockHeader, "block header"); err != nil {
		return 0, err
	}
	le := binary.LittleEndian
	n, raw, stored := int64(le.Uint32(b.head)), int64(le.Uint32(b.head[4:])), int64(le.Uint32(b.head[8:]))
	b.n, b.raw = int(n), int(raw)
	switch shortest := n * int64(1+wordBytes(d.info.Board)+moveBytes); {
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

// unchecked returns the entries of the block without a look at what they say.
func (b *block) unchecked(board amazons.Board) ([]Entry, error) {
	p, err := b.unpacked()
	if err != nil {
		return nil, err
	}
	entries := make([]Entry, b.n)
	a := uint64(0)
	for i := range entries {
		delta, n := binary.Uvarint(p)
		if n <= 0 || a+delta < a {
			return nil, corrupt("entry %d has no first word", i)
		}
		a += delta
		entries[i].Key.A = a
		p = p[n:]
	}
	width := wordBytes(board)
	if len(p) != len(entries)*(width+moveBytes) {
		return nil, corrupt("%d bytes remain for the second words and moves of %d entries", len(p), b.n)
	}
	words, moves := p[:len(entries)*width], p[len(entries)*width:]
	for i := range entries {
		e := &entries[i]
		for j, x := range words[i*width : (i+1)*width] {
			e.Key.B |= uint64(x) << (8 * j)
		}
		m := moves[i*moveBytes : (i+1)*moveBytes]
		e.Move = amazons.Move{From: board.UnpackSquare(m[0]), To: board.UnpackSquare(m[1]),
			Arrow: board.UnpackSquare(m[2])}
	}
	return entries, nil
}

// columns returns the entries of the block, each of them in order and an entry of its layer.
func (b *block) columns(board amazons.Board, arrows int) ([]Entry, error) {
	entries, err := b.unchecked(board)
	for i, e := range entries {
		if why := checkEntry(board, e, arrows); why != "" {
			return nil, corrupt("entry %d, %x %x: %s", i, e.Key.A, e.Key.B, why)
		}
		if i > 0 && e.Key.Compare(entries[i-1].Key) <= 0 {
			return nil, corrupt("entry %d does not follow the entry before", i)
		}
	}
	return entries, err
}

var errFrame = errors.New("no complete zstd frame")

// frameLen returns the length of the zstd frame at the beginning of p (RFC 8878, section 3.1.1):
// the decompressor would also take several frames, and frames to be skipped.
func frameLen(p []byte) (int, error) {
	var h zstd.Header
	if err := h.Decode(p); err != nil {
		return 0, err
	}
	if h.Skippable {
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
