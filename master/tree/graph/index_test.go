package graph

import (
	"math/rand/v2"
	"testing"

	"amazonsfarm/shared/amazons"
)

// TestIndex compares with a map, while tables grow.
func TestIndex(t *testing.T) {
	r := rand.New(rand.NewPCG(3, 4))
	var x index
	want := map[amazons.Key]*Node{}
	var keys []amazons.Key
	for range 100_000 {
		k := amazons.Key{A: r.Uint64() >> r.IntN(64), B: r.Uint64N(5)} // hardly scattered, as keys are
		if n := x.get(k); n != want[k] {
			t.Fatalf("%v: %p, want %p", k, n, want[k])
		}
		if want[k] == nil {
			n := x.add(k)
			if n.Key != k || n.parents != nil {
				t.Fatalf("a new node for %v is %+v", k, n)
			}
			want[k], keys = n, append(keys, k)
		}
	}
	if x.n != len(want) {
		t.Errorf("%d nodes, want %d", x.n, len(want))
	}
	used, slots := 0, 0
	for i := range x.parts {
		used += x.parts[i].used
		slots += len(x.parts[i].slots)
	}
	if used != len(want) || slots < used*4/3 || slots > 3*used {
		t.Errorf("%d of %d slots for %d nodes", used, slots, len(want))
	}
	i := 0
	for n := range x.all() {
		if n.Key != keys[i] || x.get(keys[i]) != n {
			t.Fatalf("node %d is %v, want %v", i, n.Key, keys[i])
		}
		i++
	}
}
