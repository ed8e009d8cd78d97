package checker

import "testing"

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
