package proof

import (
	"math/rand/v2"
	"testing"
)

// TestHashes holds that what was added is there and nothing else, through the change from the heap
// to memory of its own, and that tables are half full at least once they have grown.
func TestHashes(t *testing.T) {
	var h hashes
	defer h.release()
	random := rand.New(rand.NewPCG(1, 2))
	known := map[uint64]bool{}
	for i := range 3_000_000 {
		x := random.Uint64() | 1
		if err := h.add(x); err != nil {
			t.Fatal(err)
		}
		if known[x] = true; i%1000 == 0 {
			if err := h.add(x); err != nil {
				t.Fatal(err)
			}
		}
	}
	if h.n != len(known) {
		t.Errorf("%d of %d numbers were counted", h.n, len(known))
	}
	for x := range known {
		if !h.has(x) || known[x-1] != h.has(x-1) {
			t.Fatalf("%x was added and %x was not: has says %v and %v", x, x-1, h.has(x), h.has(x-1))
		}
	}
	slots, mapped := 0, 0
	for i := range h.shards {
		s := &h.shards[i]
		slots += len(s.slots)
		if mapped += len(s.mapped); s.mapped != nil && len(s.mapped) != 8*len(s.slots) {
			t.Errorf("shard %d: %d slots in %d bytes", i, len(s.slots), len(s.mapped))
		}
		if s.n > 0 && (2*s.n+2 < len(s.slots) || 4*s.n > 3*len(s.slots)) {
			t.Errorf("shard %d: %d of %d slots are in use", i, s.n, len(s.slots))
		}
	}
	if mapped < 6*slots {
		t.Errorf("of %d slots only %d bytes lie outside the Go heap", slots, mapped)
	}
}

// BenchmarkHashes adds numbers to a set, and says what each takes.
func BenchmarkHashes(b *testing.B) {
	random := rand.New(rand.NewPCG(1, 2))
	var h hashes
	defer h.release()
	for b.Loop() {
		if err := h.add(random.Uint64() | 1); err != nil {
			b.Fatal(err)
		}
	}
	slots := 0
	for i := range h.shards {
		slots += len(h.shards[i].slots)
	}
	b.ReportMetric(8*float64(slots)/float64(h.n), "bytes/number")
}
