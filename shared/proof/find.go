package proof

import (
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"slices"

	"amazonsfarm/shared/amazons"
)

// ErrFindLimit is returned by [Finder.Find] when it has read as much as it may.
var ErrFindLimit = errors.New("more of the certificate would have to be read")

// Finder looks single positions up in certificates, for people to look at: it reads only the layer
// they are in, and does not look at checksums. It is for one goroutine.
type Finder struct {
	Board amazons.Board
	// Left is how many bytes of blocks may still be read, for all calls of Find together. Reading a
	// mebibyte takes some ten milliseconds.
	Left int64
}

// Find looks canonical positions, all with the same number of burnt squares and in increasing
// order, up in the certificate in the first size bytes of r, and tells each one that it has with
// its winning move. Errors: ErrFindLimit, those of [Read] but ErrChecksum, and r's.
func (f *Finder) Find(r io.ReaderAt, size int64, keys []amazons.Key, found func(Entry)) error {
	if len(keys) == 0 {
		return nil
	}
	d := decoder{in: r, size: size, sum: sha256.New()}
	if err := d.header(); err != nil {
		return fmt.Errorf("find in certificate: %w", err)
	}
	if d.info.Board != f.Board {
		return fmt.Errorf("find in certificate: %w: it is for board %v, not %v", ErrMismatch, d.info.Board, f.Board)
	}
	arrows := layerOf(keys[0])
	for _, layer := range d.info.Layers { // the deepest comes first
		if layer.Arrows < arrows {
			return nil
		}
		if err := d.skip(layer.Citations, claimBytes); err != nil {
			return fmt.Errorf("find in certificate: citations of %d arrows: %w", layer.Arrows, err)
		}
		if layer.Arrows > arrows {
			if err := d.skip(layer.Entries, moveBytes); err != nil {
				return fmt.Errorf("find in certificate: layer of %d arrows: %w", layer.Arrows, err)
			}
			continue
		}
		left := layer.Entries
		for range layer.Blocks {
			var b block
			stored, err := d.head(&b, left, moveBytes)
			if err == nil && stored > f.Left {
				return ErrFindLimit
			}
			if err == nil {
				f.Left -= stored
				if b.stored, err = d.next(stored, "block"); err == nil {
					err = b.find(f.Board, arrows, keys, found)
				}
			}
			if err != nil {
				return fmt.Errorf("find in certificate: layer of %d arrows: %w", layer.Arrows, err)
			}
			left -= int64(b.n)
		}
	}
	return nil
}

// find tells those of the sorted keys that are in the block.
func (b *block) find(board amazons.Board, arrows int, keys []amazons.Key, found func(Entry)) error {
	entries, err := b.unchecked(board)
	if err != nil {
		return err
	}
	for _, k := range keys {
		i, ok := slices.BinarySearchFunc(entries, k, func(e Entry, k amazons.Key) int { return e.Key.Compare(k) })
		if !ok {
			continue
		}
		if why := checkEntry(board, entries[i], arrows); why != "" {
			return corrupt("entry %d, %x %x: %s", i, k.A, k.B, why)
		}
		found(entries[i])
	}
	return nil
}
