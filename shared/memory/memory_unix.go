//go:build unix && !linux

package memory

import "golang.org/x/sys/unix"

// Total returns the bytes of memory of this machine, 0 when unknown.
func Total() int64 { return 0 }

// Reserve maps n zeroed bytes, n above 0. Pages take memory when they are first used. The error is
// the system's.
func Reserve(n int) ([]byte, error) {
	return unix.Mmap(-1, 0, n, unix.PROT_READ|unix.PROT_WRITE, unix.MAP_ANON|unix.MAP_PRIVATE)
}

// Release gives memory of Reserve back to the system; nil is allowed. Nobody may use it afterwards.
func Release(m []byte) error {
	if m == nil {
		return nil
	}
	return unix.Munmap(m)
}
