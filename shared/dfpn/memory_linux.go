package dfpn

import "golang.org/x/sys/unix"

// machineMemory returns the bytes of memory of this machine, 0 when unknown.
func machineMemory() int64 {
	var info unix.Sysinfo_t
	if err := unix.Sysinfo(&info); err != nil {
		return 0
	}
	return int64(uint64(info.Totalram) * uint64(info.Unit))
}

// reserve maps zeroed memory outside the Go heap, in huge pages where the system gives them.
func reserve(n int) ([]byte, error) {
	m, err := unix.Mmap(-1, 0, n, unix.PROT_READ|unix.PROT_WRITE, unix.MAP_ANON|unix.MAP_PRIVATE)
	if err != nil {
		return nil, err
	}
	_ = unix.Madvise(m, unix.MADV_HUGEPAGE) // a wish: ordinary pages only cost time
	return m, nil
}

func release(m []byte) error { return unix.Munmap(m) }
