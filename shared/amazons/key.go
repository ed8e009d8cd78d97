package amazons

import (
	"cmp"
	"encoding/binary"
	"encoding/hex"
	"errors"
	"fmt"
)

// ErrKey is wrapped by errors about keys that do not fit their board.
var ErrKey = errors.New("not a position key")

// Key is a State written exactly, in as many bits as the board has squares, twice: bit
// Width*rank+file of A is set on own queens and burnt squares, of B on
// opponent queens and burnt squares (proof/FORMAT.md, "Positions"). Keys of the same board are equal if
// and only if the states are.
type Key struct{ A, B uint64 }

// Compare orders keys by A, then by B.
func (k Key) Compare(o Key) int {
	return cmp.Or(cmp.Compare(k.A, o.A), cmp.Compare(k.B, o.B))
}

// MarshalText writes the key in hexadecimal digits.
func (k Key) MarshalText() ([]byte, error) {
	b := k.Bytes()
	return hex.AppendEncode(nil, b[:]), nil
}

// UnmarshalText undoes MarshalText. Errors wrap ErrKey for a wrong length.
func (k *Key) UnmarshalText(text []byte) error {
	b, err := hex.AppendDecode(nil, text)
	if err == nil {
		*k, err = KeyFromBytes(b)
	}
	return err
}

// Pack squeezes a set on the 8x8 grid to bits Width*rank+file. Squares outside
// the board are dropped.
func (b Board) Pack(x Set) uint64 {
	// Rows are joined to pairs, pairs to fours, fours to the whole.
	gap := uint(8-b.Width) & 63
	x &= b.Mask()
	x = x&0x00ff00ff00ff00ff | x&0xff00ff00ff00ff00>>gap
	x = x&0x0000ffff0000ffff | x&0xffff0000ffff0000>>(2*gap&63)
	return x&0x00000000ffffffff | x&0xffffffff00000000>>(4*gap&63)
}

// Unpack undoes Pack. Bits that are no square of the board are dropped.
func (b Board) Unpack(p uint64) Set {
	w := uint(b.Width)
	gap := (8 - w) & 63
	four := uint64(1)<<(4*w&63) - 1
	two := (uint64(1)<<(2*w&63) - 1) * 0x0000000100000001
	one := (uint64(1)<<(w&63) - 1) * 0x0001000100010001
	x := p&four | p>>(4*w&63)&four<<32
	x = x&two | x&^two<<(2*gap&63)
	x = x&one | x&^one<<gap
	return x & b.Mask()
}

// PackSquare returns the number of a square in packed sets, Width*rank+file.
func (b Board) PackSquare(s Square) uint8 { return b.Width*uint8(s.Rank()) + uint8(s.File()) }

// UnpackSquare undoes PackSquare; NoSquare where p is not on the board.
func (b Board) UnpackSquare(p uint8) Square {
	if int(p) >= b.Squares() {
		return NoSquare
	}
	return Square(8*(p/b.Width) + p%b.Width)
}

// Key returns the exact key of s as it stands; [State.Canonical] comes first where symmetric images
// shall be one.
func (s State) Key(b Board) Key {
	a, c := s.planes(b)
	return Key{b.Pack(a), b.Pack(c)}
}

// CanonicalKey returns the key of the canonical image of s.
func (s State) CanonicalKey(b Board) Key {
	a, c, _ := s.canonicalPlanes(b)
	return Key{b.Pack(a), b.Pack(c)}
}

// State returns the state a key stands for. Errors wrap ErrKey: a bit outside the board.
func (k Key) State(b Board) (State, error) {
	if n := b.Squares(); n < 64 && (k.A|k.B)>>n != 0 {
		return State{}, fmt.Errorf("%w: %x %x has bits outside a %v board", ErrKey, k.A, k.B, b)
	}
	return fromPlanes(b, b.Unpack(k.A), b.Unpack(k.B)), nil
}

// KeyBytes is the length of a key in its byte form.
const KeyBytes = 16

// Bytes returns the key as 16 bytes, A then B, big endian, so that bytes sort as keys do.
func (k Key) Bytes() [KeyBytes]byte {
	var out [KeyBytes]byte
	binary.BigEndian.PutUint64(out[:8], k.A)
	binary.BigEndian.PutUint64(out[8:], k.B)
	return out
}

// KeyFromBytes undoes Key.Bytes. Errors wrap ErrKey: a wrong length.
func KeyFromBytes(p []byte) (Key, error) {
	if len(p) != KeyBytes {
		return Key{}, fmt.Errorf("%w: %d bytes where %d are expected", ErrKey, len(p), KeyBytes)
	}
	return Key{binary.BigEndian.Uint64(p[:8]), binary.BigEndian.Uint64(p[8:])}, nil
}
