//go:build unix

package memory

import "golang.org/x/sys/unix"

// Reserve maps n zeroed bytes, n above 0, in huge pages where the system gives them. Pages take
// memory when they are first used. The error is the system's.
func Reserve(n int) ([]byte, error) {
	m, err := unix.Mmap(-1, 0, n, unix.PROT_READ|unix.PROT_WRITE, unix.MAP_ANON|unix.MAP_PRIVATE)
	if err == nil {
		wishHuge(m)
	}
	return m, err
}

// Release gives memory of Reserve back to the system; nil is allowed. Nobody may use it afterwards.
func Release(m []byte) error {
	if m == nil {
		return nil
	}
	return unix.Munmap(m)
}
