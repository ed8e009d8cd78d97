package hints

import (
	"slices"
	"testing"

	"amazonsfarm/shared/amazons"
)

func key(i int) amazons.Key { return amazons.Key{A: uint64(i)} }

// check compares what the cache says about itself with what it holds.
func check(t *testing.T, c *Cache, want ...int) {
	t.Helper()
	var got []int
	var bytes int64
	for e := c.order.Front(); e != nil; e = e.Next() {
		r := e.Value.(*cached)
		if c.at[r.Place] != e {
			t.Errorf("%v is in order, but is not found", r.Place)
		}
		got, bytes = append(got, int(r.Key.A)), bytes+int64(len(r.Data))
	}
	slices.Sort(got)
	if !slices.Equal(got, want) || len(c.at) != len(want) || c.bytes != bytes {
		t.Errorf("the cache holds %v and says %d of %d bytes, want %v of %d", got, len(c.at), c.bytes, want, bytes)
	}
}

// TestRoom: what was put or asked for longest ago goes first, and what is closed.
func TestRoom(t *testing.T) {
	c := NewCache(100)
	nowhere := func(Place) []byte { return nil }
	for i := range 10 {
		c.Put(Hint{Place{Key: key(i)}, make([]byte, 10)}, Seen{})
	}
	if got := c.For(0, []amazons.Key{key(0)}, Seen{}, nowhere); len(got) != 1 {
		t.Fatalf("%d hints, want 1", len(got))
	}
	c.Put(Hint{Place{Key: key(10)}, make([]byte, 15)}, Seen{})
	check(t, c, 0, 3, 4, 5, 6, 7, 8, 9, 10)
	c.Put(Hint{Place{Key: key(0)}, make([]byte, 5)}, Seen{})
	check(t, c, 0, 3, 4, 5, 6, 7, 8, 9, 10)
	c.Put(Hint{Place{Key: key(0)}, make([]byte, 101)}, Seen{}) // larger than the room
	check(t, c)

	for i := range 10 {
		c.Put(Hint{Place{Key: key(i)}, make([]byte, 10)}, Seen{})
	}
	c.Retain(func(of Place) bool { return of.Key.A%3 == 0 })
	check(t, c, 0, 3, 6, 9)
}

// TestFor: each worker gets what it has not seen, newest version, own campaign, in the order of the
// positions and within the limit of bytes.
func TestFor(t *testing.T) {
	c := NewCache(1 << 30)
	var asked []Place
	find := func(of Place) []byte {
		asked = append(asked, of)
		if of == (Place{7, key(3)}) {
			return []byte("stored")
		}
		return nil
	}
	var a, b Seen = Seen{}, Seen{}
	expect := func(who string, seen Seen, keys []amazons.Key, want ...string) {
		t.Helper()
		var got []string
		for _, m := range c.For(7, keys, seen, find) {
			got = append(got, string(m))
		}
		if !slices.Equal(got, want) {
			t.Errorf("%s gets %q, want %q", who, got, want)
		}
	}
	c.Put(Hint{Place{7, key(1)}, []byte("one")}, a)
	c.Put(Hint{Place{7, key(2)}, []byte("two")}, b)
	c.Put(Hint{Place{8, key(4)}, []byte("of another campaign")}, b)
	all := []amazons.Key{key(2), key(1), key(3), key(4)}
	expect("a", a, all, "two", "stored")
	expect("a again", a, all)
	expect("b", b, all, "one", "stored")
	if want := []Place{{7, key(3)}, {7, key(4)}, {7, key(4)}, {7, key(4)}}; !slices.Equal(asked, want) {
		t.Errorf("asked the store for %v, want %v", asked, want)
	}
	c.Put(Hint{Place{7, key(1)}, []byte("one, later")}, b)
	expect("a", a, all, "one, later")
	expect("b", b, all)
	clear(a) // an empty table
	expect("a afresh", a, all, "two", "one, later", "stored")

	big := make([]byte, BytesPerLease-5)
	c.Put(Hint{Place{7, key(5)}, big}, b)
	expect("a", a, []amazons.Key{key(5)}, string(big))
	clear(a)
	expect("a with little room", a, []amazons.Key{key(5), key(3), key(1)}, string(big))
	expect("a with the rest", a, []amazons.Key{key(5), key(3), key(1)}, "stored", "one, later")
}

// TestSeenIsBounded: a worker of which too much would be remembered is sent some again.
func TestSeenIsBounded(t *testing.T) {
	c, seen := NewCache(1<<20), Seen{}
	for i := range 10 * maxSeen {
		c.Put(Hint{Place{Key: key(i)}, []byte{1}}, seen)
		if len(seen) > maxSeen || seen[Place{Key: key(i)}] == 0 {
			t.Fatalf("%d hints are remembered after %d, the last one: %v", len(seen), i+
				1, seen[Place{Key: key(i)}] != 0)
		}
	}
}
