package endgame

import (
	"bytes"
	"encoding/binary"
	"errors"
	"hash/crc32"
	"math/rand/v2"
	"os"
	"path/filepath"
	"testing"
	"time"

	"amazonsfarm/shared/testkit/fuzzing"
)

// FuzzHeader reads the first page of a file, as it is or with the right checksum: what is read is
// written the same way.
func FuzzHeader(f *testing.F) {
	h := header{config: "3", sum: mustParse(f, "3").Sum(), size: 5000, sections: []section{{kind: 1, offset: 4096}}}
	f.Add(h.encode(), false)
	f.Add(h.encode()[:200], true)
	f.Fuzz(func(t *testing.T, data []byte, sealed bool) {
		if sealed {
			data = sealedHeader(append(bytes.Clone(data), make([]byte, headerBytes)...)[:headerBytes])
		}
		h, err := decodeHeader(data)
		if err != nil {
			if !errors.Is(err, ErrFormat) && !errors.Is(err, ErrVersion) && !errors.Is(err, ErrDamaged) {
				t.Fatalf("an error of no kind: %v", err)
			}
			return
		}
		if len(h.config) > 256 || len(h.sections) > 100 {
			t.Fatalf("%d bytes of configuration, %d sections", len(h.config), len(h.sections))
		}
		again, err := decodeHeader(h.encode())
		if err != nil || again.config != h.config || again.size != h.size || again.sum != h.sum ||
			len(again.sections) != len(h.sections) {
			t.Fatalf("%+v is read back as %+v, %v", h, again, err)
		}
	})
}

// FuzzChunk reads what a build has left half done.
func FuzzChunk(f *testing.F) {
	f.Add([]byte{1, 0, 0, 0, 2, 0, 0}, 2)
	f.Fuzz(func(t *testing.T, data []byte, entries int) {
		if entries < 0 || entries > 1<<20 {
			return
		}
		fuzzing.Within(t, 10*time.Second, 64<<20, func() {
			if c, ok := parseChunk(data, entries); ok {
				for i := range entries {
					c.entry(i)
				}
			}
		})
	})
}

// FuzzParseSize reads the size of a database as people write it: what is read is written and read
// again.
func FuzzParseSize(f *testing.F) {
	for _, text := range []string{"small", "medium", "large", "3", "8,9:3", "8,9:2,10:1", "8:2", "-1", "5,4:1",
		"9,10:99999999999999999999"} {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		c, err := ParseSize(text)
		if err != nil {
			if !errors.Is(err, ErrSize) {
				t.Fatalf("%q: an error of another kind: %v", text, err)
			}
			return
		}
		if again, err := ParseSize(c.String()); err != nil || again.String() != c.String() || again.Sum() != c.Sum() ||
			c.Squares() > maxSquares {
			t.Fatalf("%q is read as %v and back as %v, %v", text, c, again, err)
		}
		if c.Name() == "" || c.FileName() == "" {
			t.Fatalf("%q has no name", text)
		}
	})
}

// sealedHeader puts the right checksum into the header of a file.
func sealedHeader(data []byte) []byte {
	binary.LittleEndian.PutUint32(data[headerBytes-4:], crc32.Checksum(data[:headerBytes-4], castagnoli))
	return data
}

// resealed puts the right checksums into a file, of its header and of its blocks.
func resealed(data []byte) {
	h, err := decodeHeader(sealedHeader(data))
	if err != nil || len(h.sections) == 0 {
		return
	}
	at := h.sections[len(h.sections)-1]
	if at.offset > uint64(len(data)) || at.offset < headerBytes || at.length > uint64(len(data))-at.offset ||
		at.length < 4 {
		return
	}
	list := data[at.offset : at.offset+at.length]
	for i, from := 0, headerBytes; from < int(at.offset) && 4*i+8 <= len(list); i, from = i+1, from+blockBytes {
		binary.LittleEndian.PutUint32(list[4*i:], crc32.Checksum(data[from:min(from+blockBytes, int(at.offset))],
			castagnoli))
	}
	binary.LittleEndian.PutUint32(list[len(list)-4:], crc32.Checksum(list[:len(list)-4], castagnoli))
}

// FuzzFile changes bytes of a database, makes its checksums right where the input wants that, opens
// it in the ways there are and asks it for areas. It is refused, or answers, or notes damage; it
// never leaves the file or goes on for ever.
func FuzzFile(f *testing.F) {
	whole, err := os.ReadFile("testdata/areas.v1")
	if err != nil {
		f.Fatal(err)
	}
	h, err := decodeHeader(whole)
	if err != nil {
		f.Fatal(err)
	}
	for i, s := range h.sections {
		squares := 68 + len(h.config) + i*sectionBytes + 4 // in the header: of how many squares the section is
		f.Add([]byte{byte(squares), byte(squares >> 8), 1, 0}, true)
		at := binary.LittleEndian.AppendUint16(nil, uint16(s.offset))
		f.Add(append(at, 4, 255, 255, 255, 255), true)
		f.Add(append(at, 1, 200), true)
	}
	for at := range 40 {
		f.Add([]byte{byte(at * 6), byte(at * 6 >> 8), 2, 1, 1}, true)
	}
	f.Add([]byte{24, 0, 1, 0}, false)
	path := filepath.Join(f.TempDir(), "areas.db")
	f.Fuzz(func(t *testing.T, edits []byte, sealed bool) {
		data := bytes.Clone(whole)
		tape := fuzzing.Tape{Rest: edits}
		for range 12 {
			if !tape.More() {
				break
			}
			at := (int(tape.Byte()) | int(tape.Byte())<<8) % len(data)
			copy(data[at:], tape.Bytes(64))
		}
		if sealed {
			resealed(data)
		}
		if err := os.WriteFile(path, data, 0o600); err != nil {
			t.Fatal(err)
		}
		fuzzing.Within(t, 10*time.Second, 64<<20, func() {
			for _, checked := range []uint64{checkAtOpen, 0} {
				askFile(t, path, checked)
			}
		})
	})
}

// askFile opens a file, as a small or as a large one, and asks it for areas.
func askFile(t *testing.T, path string, checked uint64) {
	db, err := openSize(path, checked)
	if err != nil {
		if !errors.Is(err, ErrFormat) && !errors.Is(err, ErrVersion) && !errors.Is(err, ErrDamaged) {
			t.Fatalf("an error of no kind: %v", err)
		}
		return
	}
	defer db.Close()
	bad := db.Check()
	if bad != nil && !errors.Is(bad, ErrDamaged) {
		t.Fatal(bad)
	}
	r := rand.New(rand.NewPCG(1, 2))
	for i := range 200 {
		n := 1 + i%min(db.Squares(), 6)
		x := randomArea(r, n, [3]int{1, 1, 1})
		if id, ok := db.Find(x[0], x[1], x[2]); ok {
			if e := db.Entry(id); e == nil && bad == nil {
				t.Fatalf("the check missed: %v", db.Damaged())
			}
		}
		db.Value(x[0], x[1], x[2])
		if moves, needed, ok := db.Territory(x[0], x[1], x[2]); ok && (moves < 0 || needed&^x[1] != 0) {
			t.Fatalf("%d moves with the blockers %#x of %#x", moves, needed, x[1])
		}
		using(db, x[0], x[1], x[2], x[1])
	}
	if _, err := db.Defects(); err != nil && !errors.Is(err, ErrDamaged) {
		t.Fatal(err)
	}
	db.Layers()
	if err := db.Damaged(); err != nil && !errors.Is(err, ErrDamaged) {
		t.Fatal(err)
	}
}
