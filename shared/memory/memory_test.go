package memory

import (
	"bytes"
	"testing"
	"unsafe"
)

// TestPrefetch: whatever the addresses are, nothing changes and nothing faults.
func TestPrefetch(t *testing.T) {
	m, err := Reserve(1 << 16)
	if err != nil {
		t.Fatal(err)
	}
	m[100] = 7
	at := unsafe.Pointer(&m[100])
	Prefetch(at, unsafe.Pointer(&m[1<<16-1]))
	Prefetch(nil, at)
	if m[100] != 7 {
		t.Error("memory has changed")
	}
	if err := Release(m); err != nil {
		t.Fatal(err)
	}
	Prefetch(at, at) // there is nothing any more
}

func TestReserve(t *testing.T) {
	if total := Total(); total < 0 {
		t.Errorf("this machine has %d bytes", total)
	}
	for _, n := range []int{1, 4096, 5 << 20} {
		m, err := Reserve(n)
		if err != nil {
			t.Fatal(err)
		}
		if len(m) != n || !bytes.Equal(m, make([]byte, n)) {
			t.Errorf("%d bytes were asked for, %d came, or they are not zero", n, len(m))
		}
		m[0], m[n-1] = 1, 2
		if err := Release(m); err != nil {
			t.Error(err)
		}
	}
	if err := Release(nil); err != nil {
		t.Error(err)
	}
}
