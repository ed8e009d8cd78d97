package memory

import "golang.org/x/sys/unix"

// Total returns the bytes of memory of this machine, 0 when unknown.
func Total() int64 {
	var info unix.Sysinfo_t
	if err := unix.Sysinfo(&info); err != nil {
		return 0
	}
	return int64(uint64(info.Totalram) * uint64(info.Unit))
}

// Reserve maps n zeroed bytes, n above 0, in huge pages where the system gives them. Pages take
// memory when they are first used. The error is the system's.
func Reserve(n int) ([]byte, error) {
	m, err := unix.Mmap(-1, 0, n, unix.PROT_READ|unix.PROT_WRITE, unix.MAP_ANON|unix.MAP_PRIVATE)
	if err != nil {
		return nil, err
	}
	_ = unix.Madvise(m, unix.MADV_HUGEPAGE) // a wish: ordinary pages only cost time
	return m, nil
}

// Release gives memory of Reserve back to the system; nil is allowed. Nobody may use it afterwards.
func Release(m []byte) error {
	if m == nil {
		return nil
	}
	return unix.Munmap(m)
}
