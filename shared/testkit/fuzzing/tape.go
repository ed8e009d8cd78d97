package fuzzing

import (
	"encoding/binary"
	"math"
)

// Tape reads decisions from the bytes of an input. At its end all decisions are 0 and all texts empty.
type Tape struct{ Rest []byte }

// More reports whether there is anything left.
func (t *Tape) More() bool { return len(t.Rest) > 0 }

// Byte reads one byte.
func (t *Tape) Byte() byte {
	if len(t.Rest) == 0 {
		return 0
	}
	b := t.Rest[0]
	t.Rest = t.Rest[1:]
	return b
}

// Choose reads a number from 0 to n-1, for n up to 256.
func (t *Tape) Choose(n int) int { return int(t.Byte()) % n }

// Bytes reads a length, at most so many, and as many bytes as it says and there are.
func (t *Tape) Bytes(most int) []byte {
	n := min(int(t.Byte()), most, len(t.Rest))
	out := t.Rest[:n:n]
	t.Rest = t.Rest[n:]
	return out
}

// Number reads a number of any size, small ones and those beside the limits of what numbers can be
// more often than others.
func (t *Tape) Number() uint64 {
	switch kind := t.Choose(8); kind {
	case 5:
		return math.MaxUint64 - uint64(t.Byte())
	case 6:
		return 1<<t.Choose(64) + uint64(t.Byte()) - 128
	case 7:
		var b [8]byte
		t.Rest = t.Rest[copy(b[:], t.Rest):]
		return binary.LittleEndian.Uint64(b[:])
	case 4:
		return 1000 * uint64(t.Byte())
	default:
		return uint64(t.Byte())
	}
}
