// Package numbers encodes the proof and disproof numbers of the positions after one position. A
// worker's result carries these bytes and the proof store keeps them.
//
// The positions themselves are not written. They follow from the rules: all canonical positions
// that one move leads to, each once, in the order of their keys (amazons.Key.Compare). Each has two
// unsigned varints (base 128, the low seven bits first, no longer than needed): phi and delta, as
// the side to move there sees them. Two zeros stand for unknown numbers.
package numbers

import (
	"encoding/binary"
	"errors"
	"math"
	"slices"

	"amazonsfarm/shared/amazons"
)

// Child has the numbers of one position after another. Both are zero where nothing is known.
type Child struct {
	Key        amazons.Key // canonical
	Phi, Delta uint32
}

// Append adds the numbers of all positions after one to p. It brings the list into the order of the
// keys; of equal keys the first counts.
func Append(p []byte, list []Child) []byte {
	slices.SortStableFunc(list, func(a, b Child) int { return a.Key.Compare(b.Key) })
	for i, c := range list {
		if i == 0 || c.Key != list[i-1].Key {
			p = Put(p, c.Phi, c.Delta)
		}
	}
	return p
}

// Put adds the numbers of the next position, in the order of the keys, to p.
func Put(p []byte, phi, delta uint32) []byte {
	return binary.AppendUvarint(binary.AppendUvarint(p, uint64(phi)), uint64(delta))
}

var errMalformed = errors.New("not the numbers of positions: two varints of 32 bits for each")

// Next returns the numbers that p begins with, and the rest of p.
func Next[B ~[]byte | ~string](p B) (phi, delta uint32, rest B, err error) {
	if phi, p, err = next(p); err == nil {
		delta, p, err = next(p)
	}
	return phi, delta, p, err
}

// next reads one varint.
func next[B ~[]byte | ~string](p B) (uint32, B, error) {
	x, n := binary.Uvarint([]byte(p[:min(len(p), binary.MaxVarintLen32)]))
	if n <= 0 || x > math.MaxUint32 || n > 1 && p[n-1] == 0 {
		return 0, p, errMalformed
	}
	return uint32(x), p[n:], nil
}

// Count returns the number of positions whose numbers p holds, or an error where p is malformed.
func Count[B ~[]byte | ~string](p B) (n int, err error) {
	for len(p) > 0 {
		if _, _, p, err = Next(p); err != nil {
			return n, err
		}
		n++
	}
	return n, nil
}
