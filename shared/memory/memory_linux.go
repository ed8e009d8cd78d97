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

// wishHuge asks for huge pages. It is a wish: ordinary pages only cost time.
func wishHuge(m []byte) { _ = unix.Madvise(m, unix.MADV_HUGEPAGE) }
