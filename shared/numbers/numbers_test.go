package numbers

import (
	"bytes"
	"math"
	"math/rand/v2"
	"testing"

	"amazonsfarm/shared/amazons"
)

func keyOf(n uint64) amazons.Key { return amazons.Key{A: n * 0x9e3779b97f4a7c15 >> 3, B: n} }

// TestAppend: what is written is read back, in the order of the keys, of equal keys the first.
func TestAppend(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	for range 2000 {
		var list []Child
		want := map[amazons.Key]Child{}
		for range r.IntN(40) {
			c := Child{keyOf(r.Uint64N(60)), uint32(r.Uint64()) >> r.IntN(32), uint32(r.Uint64()) >> r.IntN(32)}
			list = append(list, c)
			if _, ok := want[c.Key]; !ok {
				want[c.Key] = c
			}
		}
		p := Append([]byte{7}, list)
		if p[0] != 7 {
			t.Fatal("what was there is gone")
		}
		p = p[1:]
		if n, err := Count(p); n != len(want) || err != nil {
			t.Fatalf("%d positions, %v; want %d", n, err, len(want))
		}
		var last *Child
		for i := range list {
			c := want[list[i].Key]
			if last != nil && list[i].Key == last.Key {
				continue
			}
			if last != nil && last.Key.Compare(c.Key) >= 0 {
				t.Fatal("not in the order of the keys")
			}
			last = &c
			phi, delta, rest, err := Next(p)
			if phi != c.Phi || delta != c.Delta || err != nil {
				t.Fatalf("%d %d %v, want %d %d", phi, delta, err, c.Phi, c.Delta)
			}
			p = rest
		}
		if len(p) > 0 {
			t.Fatalf("%d bytes are left", len(p))
		}
	}
}

// TestMalformed: one way to write a number, and none that does not fit 32 bits.
func TestMalformed(t *testing.T) {
	for _, c := range []struct {
		p    string
		n    int
		good bool
	}{
		{"", 0, true},
		{"\x00\x00", 1, true},
		{"\x01\x7f\x80\x01\x00", 2, true},
		{"\xff\xff\xff\xff\x0f\x01", 1, true}, // 2^32 - 1
		{"\x01", 0, false},
		{"\x01\x01\x01", 1, false},
		{"\x80\x00\x01", 0, false},                 // 0 in two bytes
		{"\x80", 0, false},                         // cut short
		{"\xff\xff\xff\xff\x1f\x01", 0, false},     // 33 bits
		{"\xff\xff\xff\xff\xff\x01\x01", 0, false}, // six bytes
	} {
		n, err := Count(c.p)
		if n != c.n || (err == nil) != c.good {
			t.Errorf("%x: %d positions, %v", c.p, n, err)
		}
	}
}

func FuzzCount(f *testing.F) {
	f.Add([]byte{1, 2, 0, 0, 0x80, 1, 5})
	f.Add([]byte("\xff\xff\xff\xff\x0f\x01"))
	f.Fuzz(func(t *testing.T, p []byte) {
		n, err := Count(p)
		if err != nil {
			return
		}
		var list []Child
		for i, rest := 0, p; i < n; i++ {
			c := Child{Key: keyOf(0)}
			c.Key.A, c.Key.B = uint64(i), math.MaxUint64
			c.Phi, c.Delta, rest, _ = Next(rest)
			list = append(list, c)
		}
		if again := Append(nil, list); !bytes.Equal(again, p) {
			t.Errorf("%x reads as %v and is written as %x", p, list, again)
		}
	})
}
