//go:build !linux

package dfpn

import "golang.org/x/sys/unix"

// machineMemory returns the bytes of memory of this machine, 0 when unknown.
func machineMemory() int64 { return 0 }

// reserve maps zeroed memory outside the Go heap.
func reserve(n int) ([]byte, error) {
	return unix.Mmap(-1, 0, n, unix.PROT_READ|unix.PROT_WRITE, unix.MAP_ANON|unix.MAP_PRIVATE)
}

func release(m []byte) error { return unix.Munmap(m) }
