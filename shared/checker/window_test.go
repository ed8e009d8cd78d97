package checker

import (
	"bytes"
	"encoding/binary"
	"slices"
	"testing"
)

// TestWindow: FORMAT.md allows zstd windows of at most 64 MiB, whatever the length of a block is.
func TestWindow(t *testing.T) {
	r, err := newBlockReader(&certificate{})
	if err != nil {
		t.Fatal(err)
	}
	defer r.zstd.Close()
	for _, c := range []struct {
		window byte // RFC 8878, 3.1.1.1.2: five bits e and three bits m for 2^(10+e) * (1 + m/8) bytes
		good   bool
	}{
		{window: 0, good: true},          // 1 KiB
		{window: 13 << 3, good: true},    // 8 MiB
		{window: 13<<3 | 1, good: true},  // 9 MiB
		{window: 16 << 3, good: true},    // 64 MiB
		{window: 16<<3 | 1, good: false}, // 72 MiB
		{window: 31<<3 | 7, good: false}, // the largest
	} {
		// one raw block, the last, of one byte
		frame := []byte{0x28, 0xb5, 0x2f, 0xfd, 0, c.window, 1 | 1<<3, 0, 0, 'a'}
		if p, err := r.zstd.DecodeAll(frame, make([]byte, 0, 1)); (err == nil && string(p) == "a") != c.good {
			t.Errorf("window %#x: %q, %v", c.window, p, err)
		}
	}
}

// TestFrames holds that the frames are read and refused that FORMAT.md, "In case of doubt", names. Each has
// raw blocks only, of one length, but for the last.
func TestFrames(t *testing.T) {
	r, err := newBlockReader(&certificate{})
	if err != nil {
		t.Fatal(err)
	}
	defer r.zstd.Close()
	const (
		kib      = 1 << 10
		window1K = 0
		window1M = 10 << 3
		unused   = 1 << 4
		reserved = 1 << 3
		sized    = 3 << 6 // the content size has 8 bytes
	)
	for _, c := range []struct {
		name                 string
		descriptor, window   byte
		content              uint64 // the size that is stated, where one is
		length, block, empty int
		good                 bool
	}{
		{name: "blocks as long as the window", window: window1K, length: 3 * kib, block: kib, good: true},
		{name: "a block above the window", window: window1K, length: 3 * kib, block: kib + 1},
		{name: "blocks of 128 KiB", window: window1M, length: 300 * kib, block: 128 * kib, good: true},
		{name: "a block above 128 KiB", window: window1M, length: 300 * kib, block: 128*kib + 1},
		{name: "empty blocks", window: window1K, length: 3 * kib, block: kib, empty: 2, good: true},
		{name: "the unused bit", descriptor: unused, window: window1K, length: kib, block: kib, good: true},
		{name: "the reserved bit", descriptor: reserved, window: window1K, length: kib, block: kib},
		{name: "the content size", descriptor: sized, window: window1K, content: kib, length: kib, block: kib,
			good: true},
		{name: "no content size", descriptor: sized, window: window1K, content: 1<<64 - 1, length: kib, block: kib},
	} {
		want := bytes.Repeat([]byte("amazons "), c.length/8)
		frame := []byte{0x28, 0xb5, 0x2f, 0xfd, c.descriptor, c.window}
		if c.descriptor&sized != 0 {
			frame = binary.LittleEndian.AppendUint64(frame, c.content)
		}
		frame = append(frame, make([]byte, 3*c.empty)...)
		blocks := slices.Collect(slices.Chunk(want, c.block))
		for i, b := range blocks {
			h := uint32(len(b)) << 3
			if i == len(blocks)-1 {
				h |= 1 // the last
			}
			frame = append(append(frame, byte(h), byte(h>>8), byte(h>>16)), b...)
		}
		got, err := []byte(nil), oneFrame(frame)
		if err == nil {
			got, err = r.zstd.DecodeAll(frame, make([]byte, 0, c.length))
		}
		if good := err == nil && bytes.Equal(got, want); good != c.good {
			t.Errorf("%s: %d bytes, %v", c.name, len(got), err)
		}
	}
}
