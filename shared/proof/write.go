package proof

import (
	"bytes"
	"crypto/sha256"
	"encoding/binary"
	"errors"
	"fmt"
	"os"
	"runtime"
	"slices"
	"sync"

	"amazonsfarm/shared/amazons"
	"amazonsfarm/shared/disk"
	"amazonsfarm/shared/eval"

	"github.com/klauspost/compress/zstd"
	"golang.org/x/sync/errgroup"
)

// Format is the last version of the file format that this package writes and reads. A certificate
// that cites nothing is written in format 1.
const Format = 2

// The numbers of FORMAT.md.
const (
	magic       = "AMZCERT\n"
	preamble    = 48 // magic, version, header length, hash
	fixedHeader = 20
	rootBytes   = 24
	layerBytes  = 16
	citingFixed = 28 // in format 2
	citingLayer = 32 // in format 2
	maxHeader   = 64 << 20
	blockHeader = 12
	maxBlock    = 1 << 16 // entries
	maxRaw      = 4 << 20 // bytes
	maxStored   = maxRaw + 64<<10
	moveBytes   = 3
	claimBytes  = 1
)

// Encode returns c in the format of FORMAT.md. The same content gives the same bytes, whatever the
// order in which the entries were added and the number of cores. Errors wrap ErrInvalid.
func Encode(c Certificate) ([]byte, error) {
	var blocks [][]byte
	head, err := emit(&c, func(p []byte) error {
		blocks = append(blocks, p)
		return nil
	})
	if err != nil {
		return nil, fmt.Errorf("write certificate: %w", err)
	}
	return bytes.Join(append([][]byte{head}, blocks...), nil), nil
}

// WriteFile writes what [Encode] returns to the named file, but block by block. The file appears
// complete and on stable storage, or not at all: what had the name before stays until then.
func WriteFile(name string, c Certificate) error {
	return replaceFile(name, func(f *os.File) error {
		offset := int64(preamble)
		head, err := emit(&c, func(p []byte) error {
			if offset == preamble {
				offset += int64(len(c.header()))
			}
			n, err := f.WriteAt(p, offset)
			offset += int64(n)
			return err
		})
		if err != nil {
			return err
		}
		_, err = f.WriteAt(head, 0)
		return err
	})
}

// WriteEncoded writes what [Encode] returned to the named file, in the way of [WriteFile].
func WriteEncoded(name string, data []byte) error {
	return replaceFile(name, func(f *os.File) error {
		_, err := f.Write(data)
		return err
	})
}

// replaceFile gives the named file the content that fill writes: whole and durable, or not at all.
func replaceFile(name string, fill func(*os.File) error) error {
	if err := disk.Replace(name, 0o644, fill); err != nil {
		return fmt.Errorf("write certificate %s: %w", name, err)
	}
	return nil
}

// citations are those of a certificate by layer, in order.
func (c *Certificate) citations() (layers [maxLayers][]Citation) {
	for _, q := range c.Cited {
		layers[layerOf(q.Key)] = append(layers[layerOf(q.Key)], q)
	}
	for _, l := range layers {
		slices.SortFunc(l, Citation.compare)
	}
	return layers
}

// sizes are the lengths of the fixed header and of a line of the list of layers.
func sizes(format uint32) (fixed, layer int64) {
	if format == 1 {
		return fixedHeader, layerBytes
	}
	return citingFixed, citingLayer
}

// emit gives the blocks of c to sink, one after the other, and returns what goes before them.
func emit(c *Certificate, sink func([]byte) error) ([]byte, error) {
	if err := c.validate(); err != nil {
		return nil, err
	}
	header := c.header()
	head := append(make([]byte, preamble), header...)
	copy(head, magic)
	binary.LittleEndian.PutUint32(head[8:], c.format())
	binary.LittleEndian.PutUint32(head[12:], uint32(len(header)))
	// The hash covers everything but itself, so its place is left free, and what comes before the
	// blocks is handed out last.
	sum := sha256.New()
	sum.Write(head[:16])
	sum.Write(head[preamble:])

	workers := runtime.GOMAXPROCS(0)
	// While one layer is written, the next one is sorted.
	sorted := func(arrows int) <-chan []Entry {
		done := make(chan []Entry, 1)
		go func() { done <- c.Set.Sorted(arrows) }()
		return done
	}
	next := sorted(maxLayers - 1)
	citations := c.citations()
	for arrows := maxLayers - 1; arrows >= 0; arrows-- {
		entries := <-next
		next = sorted(arrows - 1)
		for cited := range slices.Chunk(citations[arrows], maxBlock) {
			p, err := encodeCitations(c.Board, arrows, cited)
			if err == nil {
				sum.Write(p)
				err = sink(p)
			}
			if err != nil {
				return nil, err
			}
		}
		for len(entries) > 0 {
			// A few blocks for each worker at a time, written in their order.
			batch := make([][]byte, min(4*workers, blockCount(len(entries))))
			fault := make([]error, len(batch))
			parallel(workers, len(batch), func(i int) {
				part := entries[i*maxBlock : min(len(entries), (i+1)*maxBlock)]
				batch[i], fault[i] = encodeBlock(c.Board, arrows, part)
			})
			entries = entries[min(len(entries), len(batch)*maxBlock):]
			if err := errors.Join(fault...); err != nil {
				return nil, err
			}
			for _, p := range batch {
				sum.Write(p)
				if err := sink(p); err != nil {
					return nil, err
				}
			}
		}
	}
	sum.Sum(head[16:16])
	return head, nil
}

// wordBytes is the length of the second word of an entry.
func wordBytes(b amazons.Board) int { return (b.Squares() + 7) / 8 }

// blockCount returns how many blocks so many entries take.
func blockCount(entries int) int { return (entries + maxBlock - 1) / maxBlock }

// format is the version in which c is written.
func (c *Certificate) format() uint32 {
	if len(c.Cited) > 0 {
		return Format
	}
	return 1
}

// header returns the header of FORMAT.md.
func (c *Certificate) header() []byte {
	flags := flagsOf[c.Leaves]
	le := binary.LittleEndian
	citing := c.format() > 1
	citations := c.citations()
	var list []byte
	layers := 0
	for arrows := maxLayers - 1; arrows >= 0; arrows-- {
		n, cited := c.Set.LayerLen(arrows), len(citations[arrows])
		if n+cited == 0 {
			continue
		}
		layers++
		list, _ = binary.Append(list, le, []uint32{uint32(arrows), uint32(blockCount(n))})
		list = le.AppendUint64(list, uint64(n))
		if citing {
			list, _ = binary.Append(list, le, []uint64{uint64(blockCount(cited)), uint64(cited)})
		}
	}
	p := []byte{c.Board.Width, c.Board.Height, flags, 0}
	p, _ = binary.Append(p, le, []uint32{uint32(len(c.Roots)), uint32(layers)})
	p = le.AppendUint64(p, uint64(c.Set.Len()))
	if citing {
		p = le.AppendUint64(p, uint64(len(c.Cited)))
	}
	return append(appendRoots(p, c.Board, c.Roots), list...)
}

// appendRoots appends a list of roots.
func appendRoots(p []byte, b amazons.Board, roots []Root) []byte {
	for _, r := range roots {
		p, _ = binary.Append(p, binary.LittleEndian, r.State.Key(b))
		p = append(p, byte(r.ToMove), byte(r.Claim), 0, 0, 0, 0, 0, 0)
	}
	return p
}

// encoders holds compressors. One of them works on one block at a time, so that the bytes depend on
// the block alone.
var encoders = sync.Pool{New: func() any {
	e, err := zstd.NewWriter(nil, zstd.WithEncoderLevel(zstd.SpeedDefault), zstd.WithEncoderConcurrency(1),
		zstd.WithEncoderCRC(false), zstd.WithSingleSegment(true))
	if err != nil {
		panic(err) // the options are constants
	}
	return e
}}

// encodeBlock returns the block of sorted entries, its header included. Errors wrap ErrInvalid: an
// entry that is not one of the layer.
func encodeBlock(b amazons.Board, arrows int, entries []Entry) ([]byte, error) {
	moves := make([]byte, 0, len(entries)*moveBytes)
	for _, e := range entries {
		if why := checkEntry(b, e, arrows); why != "" {
			return nil, fmt.Errorf("%w: entry %x %x of layer %d: %s", ErrInvalid, e.Key.A, e.Key.B, arrows, why)
		}
		moves = append(moves, b.PackSquare(e.Move.From), b.PackSquare(e.Move.To), b.PackSquare(e.Move.Arrow))
	}
	return pack(b, len(entries), func(i int) amazons.Key { return entries[i].Key }, moves), nil
}

// encodeCitations is encodeBlock for citations. A position that is cited twice is an error too.
func encodeCitations(b amazons.Board, arrows int, cited []Citation) ([]byte, error) {
	claims := make([]byte, 0, len(cited))
	for i, q := range cited {
		_, why := checkKey(b, q.Key, arrows)
		if i > 0 && q.Key == cited[i-1].Key {
			why = "it is cited twice"
		}
		if why != "" {
			return nil, fmt.Errorf("%w: citation %x %x of layer %d: %s", ErrInvalid, q.Key.A, q.Key.B, arrows, why)
		}
		claims = append(claims, byte(q.Claim))
	}
	return pack(b, len(cited), func(i int) amazons.Key { return cited[i].Key }, claims), nil
}

// pack returns the block of n positions in order, with its last column.
func pack(b amazons.Board, n int, key func(int) amazons.Key, last []byte) []byte {
	width := wordBytes(b)
	raw := make([]byte, 0, n*(6+width)+len(last))
	before := uint64(0)
	for i := range n {
		k := key(i)
		// Positions in order differ by little in their first word, so a difference mostly takes a
		// few bytes.
		raw = binary.AppendUvarint(raw, k.A-before)
		before = k.A
	}
	for i := range n {
		raw = binary.LittleEndian.AppendUint64(raw, key(i).B)[:len(raw)+width]
	}
	raw = append(raw, last...)
	block := make([]byte, blockHeader, blockHeader+len(raw)/2)
	enc := encoders.Get().(*zstd.Encoder)
	block = enc.EncodeAll(raw, block)
	encoders.Put(enc)
	_, _ = binary.Encode(block, binary.LittleEndian,
		[]uint32{uint32(n), uint32(len(raw)), uint32(len(block) - blockHeader)})
	return block
}

// parallel calls f for 0..n-1 on up to the given number of goroutines and returns when all calls
// have returned.
func parallel(workers, n int, f func(i int)) {
	var group errgroup.Group
	group.SetLimit(max(1, workers))
	for i := range n {
		group.Go(func() error {
			f(i)
			return nil
		})
	}
	_ = group.Wait() // none of them fails
}

// The flags of the header, and the leaf rules that they allow.
var (
	flagsOf  = [...]byte{eval.ClosingLeaves: 7, eval.SumLeaves: 3, eval.CountLeaves: 1, eval.MoveLeaves: 0}
	leavesOf = map[byte]eval.Leaves{0: eval.MoveLeaves, 1: eval.CountLeaves, 3: eval.SumLeaves, 7: eval.ClosingLeaves}
)
