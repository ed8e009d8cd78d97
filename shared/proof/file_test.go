package proof_test

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/binary"
	"errors"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"amazonsfarm/shared/amazons"
	"amazonsfarm/shared/checker"
	"amazonsfarm/shared/eval"
	"amazonsfarm/shared/proof"
	"amazonsfarm/shared/testkit/reference"

	"github.com/klauspost/compress/zstd"
)

// sample returns a certificate for 4x4 from the start, and its bytes.
func sample(t testing.TB) (proof.Certificate, []byte) {
	t.Helper()
	p := position(t, "4x4")
	x := newExact(p.Board, true)
	c := build(t, p.Board, p.State(), x.wins(p.State()), x, eval.CountLeaves)
	c.Roots[0] = proof.RootOf(p, eval.Lost)
	data, err := proof.Encode(c)
	if err != nil {
		t.Fatal(err)
	}
	return c, data
}

// rehash makes the checksum right again.
func rehash(data []byte) []byte {
	if len(data) >= 48 {
		h := sha256.New()
		h.Write(data[:16])
		h.Write(data[48:])
		h.Sum(data[16:16])
	}
	return data
}

func read(data []byte) (proof.Certificate, error) {
	return proof.Read(bytes.NewReader(data), int64(len(data)))
}

// TestWriteDeterministic writes the same content from sets that were filled in different orders.
func TestWriteDeterministic(t *testing.T) {
	c, data := sample(t)
	var entries []proof.Entry
	for e := range c.Set.All() {
		entries = append(entries, e)
	}
	r := rand.New(rand.NewPCG(1, 3))
	for range 5 {
		r.Shuffle(len(entries), func(i, j int) { entries[i], entries[j] = entries[j], entries[i] })
		c.Set = new(proof.Set)
		for _, e := range entries {
			c.Set.Add(e)
		}
		if again, err := proof.Encode(c); err != nil || !bytes.Equal(again, data) {
			t.Fatalf("other bytes, %v", err)
		}
	}
}

// TestFile writes a file, again over it, and in vain over it.
func TestFile(t *testing.T) {
	c, data := sample(t)
	dir := t.TempDir()
	name := filepath.Join(dir, "proof.amzcert")
	if err := os.WriteFile(name, []byte("older"), 0o600); err != nil {
		t.Fatal(err)
	}
	for range 2 {
		if err := proof.WriteFile(name, c); err != nil {
			t.Fatal(err)
		}
		if got, err := os.ReadFile(name); err != nil || !bytes.Equal(got, data) {
			t.Fatalf("the file differs from what Write writes: %v", err)
		}
	}
	got, err := proof.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	same(t, got, c)
	if _, err := checker.CheckFile(context.Background(), name, checker.Options{}); err != nil {
		t.Error(err)
	}

	// Entries that are no entries: after the first blocks have gone to the temporary file.
	for _, e := range []proof.Entry{
		{Key: amazons.Key{A: 1 << 20}},                         // outside the board
		{Key: amazons.Key{A: 1, B: 2}},                         // without a move
		{Key: amazons.Key{A: 0x8000, B: 1}, Move: someMove(t)}, // not canonical
	} {
		bad := c
		bad.Set = new(proof.Set)
		bad.Set.Merge(c.Set)
		bad.Set.Add(e)
		if err := proof.WriteFile(name, bad); !errors.Is(err, proof.ErrInvalid) {
			t.Errorf("%v: %v", e, err)
		} else {
			t.Log(err)
		}
	}
	for _, change := range []func(*proof.Certificate){
		func(c *proof.Certificate) { c.Roots = nil },
		func(c *proof.Certificate) { c.Board = amazons.Board{} },
		func(c *proof.Certificate) { c.Roots = []proof.Root{{State: c.Roots[0].State}} },
		func(c *proof.Certificate) {
			c.Roots = []proof.Root{{State: amazons.State{Own: 1, Opp: 1}, Claim: eval.Won}}
		},
		func(c *proof.Certificate) {
			c.Roots = []proof.Root{{State: amazons.State{Own: 1 << 63}, Claim: eval.Won}}
		},
		func(c *proof.Certificate) { c.Roots = []proof.Root{{ToMove: 2, Claim: eval.Won}} },
	} {
		bad := c
		change(&bad)
		if err := proof.WriteFile(name, bad); !errors.Is(err, proof.ErrInvalid) {
			t.Errorf("%+v: %v", bad.Roots, err)
		}
	}
	if err := proof.WriteFile(filepath.Join(dir, "no", "folder"), c); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("no folder: %v", err)
	}
	if err := proof.WriteFile(dir, c); err == nil { // a folder has the name
		t.Error("a folder was replaced")
	}
	if got, err := os.ReadFile(name); err != nil || !bytes.Equal(got, data) {
		t.Errorf("the old file is damaged: %v", err)
	}
	if files, _ := os.ReadDir(dir); len(files) != 1 {
		t.Errorf("files remain: %v", files)
	}
	if _, err := proof.ReadFile(dir); !errors.Is(err, proof.ErrNotCertificate) {
		t.Errorf("read a folder: %v", err)
	}
	if _, err := proof.ReadFile(name + "x"); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("read nothing: %v", err)
	}
}

func someMove(t testing.TB) amazons.Move {
	m, err := amazons.ParseMove(amazons.Board{Width: 4, Height: 4}, "D4-D3xD4")
	if err != nil {
		t.Fatal(err)
	}
	return m
}

// TestReadFormat1 reads a file that the first version of this package wrote.
func TestReadFormat1(t *testing.T) {
	c, err := proof.ReadFile("testdata/format1.amzcert")
	if err != nil {
		t.Fatal(err)
	}
	want, _ := sample(t)
	if c.Set.Len() < 100 || c.Leaves != eval.CountLeaves || c.Roots[0] != want.Roots[0] {
		t.Errorf("%d entries, %+v", c.Set.Len(), c.Roots)
	}
	if err := dumbCheck(c); err != nil {
		t.Error(err)
	}
}

func TestReadInfo(t *testing.T) {
	c, data := sample(t)
	info, err := proof.ReadInfo(bytes.NewReader(data), int64(len(data)))
	if err != nil {
		t.Fatal(err)
	}
	entries := int64(0)
	for _, l := range info.Layers {
		if int(l.Entries) != c.Set.LayerLen(l.Arrows) || l.Blocks != 1 {
			t.Errorf("%+v", l)
		}
		entries += l.Entries
	}
	if info.Entries != entries || int(entries) != c.Set.Len() || info.Board != c.Board ||
		info.Leaves != eval.CountLeaves ||
		info.Roots[0] != c.Roots[0] {
		t.Errorf("%+v", info)
	}
}

// TestReadRefuses damages a file in many ways.
func TestReadRefuses(t *testing.T) {
	if testing.Short() {
		t.Skip("one goroutine: nothing for the race detector to find")
	}
	_, data := sample(t)
	headerEnd := 48 + int(binary.LittleEndian.Uint32(data[12:]))
	for _, c := range []struct {
		name   string
		change func(p []byte) []byte
		want   error
	}{
		{"empty", func(p []byte) []byte { return nil }, proof.ErrNotCertificate},
		{"other file", func(p []byte) []byte { return []byte(strings.Repeat("text\n", 100)) }, proof.ErrNotCertificate},
		{"short other file", func(p []byte) []byte { return []byte("text") }, proof.ErrNotCertificate},
		{"version", func(p []byte) []byte { p[8] = 3; return p }, proof.ErrVersion},
		{"version hashed", func(p []byte) []byte { p[8] = 3; return rehash(p) }, proof.ErrVersion},
		{"hash", func(p []byte) []byte { p[20] ^= 1; return p }, proof.ErrChecksum},
		{"header length 0", func(p []byte) []byte { p[12], p[13] = 0, 0; return rehash(p) }, proof.ErrCorrupt},
		{"header length less", func(p []byte) []byte { p[12]--; return rehash(p) }, proof.ErrCorrupt},
		{"header length too large", func(p []byte) []byte { p[15] = 127; return rehash(p) }, proof.ErrCorrupt},
		{"header length more than the file", func(p []byte) []byte { p[14] = 127; return rehash(p) },
			proof.ErrTruncated},
		{"board", func(p []byte) []byte { p[48] = 9; return rehash(p) }, proof.ErrCorrupt},
		{"other board", func(p []byte) []byte { p[48] = 5; return rehash(p) }, proof.ErrCorrupt},
		{"flags", func(p []byte) []byte { p[50] = 2; return rehash(p) }, proof.ErrCorrupt},
		{"zero byte", func(p []byte) []byte { p[51] = 1; return rehash(p) }, proof.ErrCorrupt},
		{"no root", func(p []byte) []byte { p[52] = 0; return rehash(p) }, proof.ErrCorrupt},
		{"layers", func(p []byte) []byte { p[56]--; return rehash(p) }, proof.ErrCorrupt},
		{"entries", func(p []byte) []byte { p[60]++; return rehash(p) }, proof.ErrCorrupt},
		{"entries, many", func(p []byte) []byte { p[67] = 0xff; return rehash(p) }, proof.ErrCorrupt},
		{"root outside", func(p []byte) []byte { p[68+4] = 1; return rehash(p) }, proof.ErrCorrupt},
		{"side to move", func(p []byte) []byte { p[68+16] = 2; return rehash(p) }, proof.ErrCorrupt},
		{"claim", func(p []byte) []byte { p[68+17] = 3; return rehash(p) }, proof.ErrCorrupt},
		{"no claim", func(p []byte) []byte { p[68+17] = 0; return rehash(p) }, proof.ErrCorrupt},
		{"root supplement", func(p []byte) []byte { p[68+23] = 1; return rehash(p) }, proof.ErrCorrupt},
		{"layer arrows", func(p []byte) []byte { p[92] = 17; return rehash(p) }, proof.ErrCorrupt},
		{"layer arrows less", func(p []byte) []byte { p[92]--; return rehash(p) }, proof.ErrCorrupt},
		{"layer blocks 0", func(p []byte) []byte { p[96] = 0; return rehash(p) }, proof.ErrCorrupt},
		{"layer blocks 2", func(p []byte) []byte { p[96] = 2; return rehash(p) }, proof.ErrCorrupt},
		{"layers swapped", func(p []byte) []byte {
			for i := range 16 {
				p[92+i], p[108+i] = p[108+i], p[92+i]
			}
			return rehash(p)
		}, proof.ErrCorrupt},
		{"block entries 0", func(p []byte) []byte { clear(p[headerEnd : headerEnd+4]); return rehash(p) },
			proof.ErrCorrupt},
		{"block entries", func(p []byte) []byte { p[headerEnd+2] = 1; return rehash(p) }, proof.ErrCorrupt},
		{"block raw", func(p []byte) []byte { p[headerEnd+4]++; return rehash(p) }, proof.ErrCorrupt},
		{"block raw limit", func(p []byte) []byte { p[headerEnd+7] = 1; return rehash(p) }, proof.ErrCorrupt},
		{"block stored limit", func(p []byte) []byte { p[headerEnd+11] = 1; return rehash(p) }, proof.ErrCorrupt},
		{"block stored 0", func(p []byte) []byte { clear(p[headerEnd+8 : headerEnd+12]); return rehash(p) },
			proof.ErrCorrupt},
		{"longer", func(p []byte) []byte { return append(p, 0) }, proof.ErrChecksum},
		{"longer, hashed", func(p []byte) []byte { return rehash(append(p, 0)) }, proof.ErrCorrupt},
	} {
		_, err := read(c.change(bytes.Clone(data)))
		if !errors.Is(err, c.want) {
			t.Errorf("%s: %v, want %v", c.name, err, c.want)
		}
	}
	for n := range len(data) {
		want := proof.ErrTruncated
		if n == 0 {
			want = proof.ErrNotCertificate
		}
		if _, err := read(data[:n]); !errors.Is(err, want) {
			t.Errorf("%d of %d bytes: %v", n, len(data), err)
		}
		if _, err := proof.Read(bytes.NewReader(data[:n]), int64(len(data))); !errors.Is(err, proof.ErrTruncated) {
			t.Errorf("%d of %d bytes in a file that shrank: %v", n, len(data), err)
		}
	}
	r := rand.New(rand.NewPCG(2, 2))
	for range 1000 {
		p := bytes.Clone(data)
		i, bit := r.IntN(len(p)), byte(1)<<r.IntN(8)
		p[i] ^= bit
		if _, err := read(p); err == nil {
			t.Errorf("byte %d, bit %d: not noticed", i, bit)
		}
	}
}

// TestReadBlocks refuses blocks whose content is wrong though everything about them fits.
func TestReadBlocks(t *testing.T) {
	p := position(t, "4x4")
	enc, err := zstd.NewWriter(nil)
	if err != nil {
		t.Fatal(err)
	}
	defer enc.Close()
	good, _ := sample(t)
	arrows := 3
	entries := good.Set.Sorted(arrows)[:3]
	type column = [3][]byte
	file := func(c column, stored func([]byte) []byte) []byte {
		raw := bytes.Join(c[:], nil)
		z := stored(raw)
		le := binary.LittleEndian
		out := []byte("AMZCERT\n\x01\x00\x00\x00\x3c\x00\x00\x00")
		out = append(out, make([]byte, 32)...)
		out = append(out, 4, 4, 1, 0, 1, 0, 0, 0, 1, 0, 0, 0, 3, 0, 0, 0, 0, 0, 0, 0)
		k := p.State().Key(p.Board)
		out = le.AppendUint64(le.AppendUint64(out, k.A), k.B)
		out = append(out, 0, 2, 0, 0, 0, 0, 0, 0)
		out = append(out, byte(arrows), 0, 0, 0, 1, 0, 0, 0, 3, 0, 0, 0, 0, 0, 0, 0)
		out = le.AppendUint32(out, 3)
		out = le.AppendUint32(out, uint32(len(raw)))
		out = le.AppendUint32(out, uint32(len(z)))
		return rehash(append(out, z...))
	}
	columns := func(entries []proof.Entry) (c column) {
		last := uint64(0)
		for _, e := range entries {
			c[0] = binary.AppendUvarint(c[0], e.Key.A-last)
			last = e.Key.A
			c[1] = binary.LittleEndian.AppendUint16(c[1], uint16(e.Key.B))
			c[2] = append(c[2], p.Board.PackSquare(e.Move.From), p.Board.PackSquare(e.Move.To),
				p.Board.PackSquare(e.Move.Arrow))
		}
		return c
	}
	plain := func(raw []byte) []byte { return enc.EncodeAll(raw, nil) }
	if c, err := read(file(columns(entries), plain)); err != nil || c.Set.Len() != 3 {
		t.Fatalf("the good file: %v", err)
	}
	swap := func(i, j int) column {
		e := append([]proof.Entry{}, entries...)
		e[i], e[j] = e[j], e[i]
		return columns(e)
	}
	change := func(f func(c *column)) column {
		c := columns(entries)
		f(&c)
		return c
	}
	// a frame with the rest of its header, some empty blocks, and one block of raw data
	frame := func(header []byte, empty int, raw []byte) []byte {
		out := append([]byte{0x28, 0xb5, 0x2f, 0xfd}, header...)
		out = append(out, make([]byte, 3*empty)...)
		return append(append(out, byte(len(raw)<<3|1), byte(len(raw)>>5), 0), raw...)
	}
	if _, err := read(file(columns(entries), func(raw []byte) []byte {
		return frame([]byte{0, 0}, 1<<20, raw)
	})); err != nil {
		t.Fatalf("a good file with empty blocks: %v", err)
	}
	empty := enc.EncodeAll(nil, nil)
	for _, c := range []struct {
		name   string
		c      column
		stored func([]byte) []byte
	}{
		{"order", swap(0, 1), plain},
		{"twice", columns([]proof.Entry{entries[0], entries[0], entries[1]}), plain},
		{"first word beyond 64 bits", change(func(c *column) { c[0] = bytes.Repeat([]byte{0xff}, 12) }), plain},
		{"first word overflows", change(func(c *column) {
			c[0] = binary.AppendUvarint(binary.AppendUvarint([]byte{5}, 1<<64-1), 1)
		}), plain},
		{"outside the board", change(func(c *column) { c[0] = []byte{0xff, 0xff, 0xff, 0x7f, 1, 1} }), plain},
		{"square outside", change(func(c *column) { c[2][4] = 16 }), plain},
		{"square far outside", change(func(c *column) { c[2][4] = 255 }), plain},
		{"illegal move", change(func(c *column) { c[2][4] = c[2][3] }), plain},
		{"short", change(func(c *column) { c[2] = c[2][:8] }), plain},
		{"long", change(func(c *column) { c[2] = append(c[2], 0) }), plain},
		{"layer", change(func(c *column) { c[1][0] ^= 0x10 }), plain},
		{"not zstd", columns(entries), func(raw []byte) []byte { return raw }},
		{"two frames", columns(entries), func(raw []byte) []byte { return append(plain(raw), empty...) }},
		{"two halves", columns(entries), func(raw []byte) []byte { return append(plain(raw[:5]), plain(raw[5:])...) }},
		{"skippable frame", columns(entries), func(raw []byte) []byte {
			return append([]byte{0x50, 0x2a, 0x4d, 0x18, 1, 0, 0, 0, 0}, plain(raw)...)
		}},
		{"bytes after the frame", columns(entries), func(raw []byte) []byte { return append(plain(raw), 0) }},
		{"half a frame", columns(entries), func(raw []byte) []byte { return plain(raw)[:10] }},
		{"more than announced", columns(entries), func(raw []byte) []byte { return plain(append(raw, 1)) }},
		{"much more than announced", columns(entries), func(raw []byte) []byte { return plain(make([]byte, 1<<24)) }},
		{"less than announced", columns(entries), func(raw []byte) []byte { return plain(raw[1:]) }},
		{"content size 2^64-1", columns(entries), func(raw []byte) []byte {
			return frame(append([]byte{3 << 6, 0}, bytes.Repeat([]byte{0xff}, 8)...), 0, raw)
		}},
		{"too much stored data", columns(entries), func(raw []byte) []byte {
			return frame([]byte{0, 0}, (4<<20+64<<10)/3, raw)
		}},
	} {
		if _, err := read(file(c.c, c.stored)); !errors.Is(err, proof.ErrCorrupt) {
			t.Errorf("%s: %v", c.name, err)
		} else {
			t.Logf("%s: %v", c.name, err)
		}
	}
}

// TestMutations takes a certificate apart, changes an entry or a root, and has it checked: what
// Read and Write accept, the checker and Prune refuse, unless the change does no harm by the dumb
// check.
func TestMutations(t *testing.T) {
	if testing.Short() {
		t.Skip("one goroutine: nothing for the race detector to find")
	}
	c, _ := sample(t)
	r := rand.New(rand.NewPCG(4, 4))
	var entries []proof.Entry
	for arrows := range 65 {
		entries = append(entries, c.Set.Sorted(arrows)...)
	}
	harmless := 0
	for i := range 200 {
		changed := proof.Certificate{Board: c.Board, Leaves: c.Leaves, Roots: c.Roots, Set: new(proof.Set)}
		victim := r.IntN(len(entries))
		for j, e := range entries {
			if j == victim {
				s, _ := e.Key.State(c.Board)
				moves := s.Moves(nil)
				switch i % 3 {
				case 0: // another legal move
					e.Move = moves[r.IntN(len(moves))]
				case 1: // gone
					continue
				case 2: // a position that nobody asked for: won or not
					x := s.After(e.Move)
					x, _ = x.Canonical(c.Board)
					if m := x.Moves(nil); len(m) > 0 {
						changed.Set.Add(proof.Entry{Key: x.Key(c.Board), Move: m[0]})
					}
				}
			}
			changed.Set.Add(e)
		}
		data, err := proof.Encode(changed)
		if err != nil {
			t.Fatal(err)
		}
		got, err := read(data)
		if err != nil {
			t.Fatal(err)
		}
		same(t, got, changed)
		want := dumbCheck(changed)
		_, err = checker.Check(context.Background(), bytes.NewReader(data), int64(len(data)), checker.Options{})
		if (err == nil) != (want == nil) {
			t.Errorf("change %d: the checker says %v, the dumb check %v", i, err, want)
		}
		_, missing, err := proof.Prune(context.Background(), changed, nil)
		if err != nil || i%3 != 2 && (len(missing) == 0) != (want == nil) {
			t.Errorf("change %d: missing %v, %v, the dumb check says %v", i, missing, err, want)
		}
		if want == nil {
			harmless++
		}
	}
	t.Logf("%d of 200 changes do no harm", harmless)
	if harmless > 100 {
		t.Error("the test tests little")
	}
	c.Roots = []proof.Root{c.Roots[0]}
	c.Roots[0].Claim = eval.Won
	if _, missing, err := proof.Prune(context.Background(), c, nil); err != nil || len(missing) != 1 {
		t.Errorf("a false root: missing %v, %v", missing, err)
	}
}

// TestManyBlocks has a layer of several blocks, of entries that are well formed and prove nothing.
func TestManyBlocks(t *testing.T) {
	b := amazons.Board{Width: 6, Height: 5}
	r := rand.New(rand.NewPCG(6, 6))
	c := proof.Certificate{Board: b, Leaves: eval.MoveLeaves, Set: new(proof.Set),
		Roots: []proof.Root{{State: reference.Scattered(r, b, 2, 2, 20), ToMove: amazons.Black, Claim: eval.Won},
			{State: reference.Scattered(r, b, 1, 2, 20), Claim: eval.Lost}}}
	for c.Set.LayerLen(10) < 200_000 {
		s, _ := reference.Scattered(r, b, 2, 2, 16).Canonical(b)
		if m := s.Moves(nil); len(m) > 0 {
			c.Set.Add(proof.Entry{Key: s.Key(b), Move: m[r.IntN(len(m))]})
		}
	}
	data, err := proof.Encode(c)
	if err != nil {
		t.Fatal(err)
	}
	got, err := read(data)
	if err != nil {
		t.Fatal(err)
	}
	same(t, got, c)
	// Blocks of one layer in the wrong order.
	at := 48 + int(binary.LittleEndian.Uint32(data[12:]))
	first := 12 + int(binary.LittleEndian.Uint32(data[at+8:]))
	second := 12 + int(binary.LittleEndian.Uint32(data[at+first+8:]))
	swapped := append(bytes.Clone(data[:at]), data[at+first:at+first+second]...)
	swapped = append(append(swapped, data[at:at+first]...), data[at+first+second:]...)
	if _, err := read(rehash(swapped)); !errors.Is(err, proof.ErrCorrupt) {
		t.Errorf("blocks swapped: %v", err)
	}
}
