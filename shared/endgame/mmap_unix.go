//go:build unix

package endgame

import (
	"os"

	"golang.org/x/sys/unix"
)

// mapFile maps a file for reading; its pages are shared by all processes that do. The file may be
// closed then.
func mapFile(f *os.File, size int) ([]byte, func() error, error) {
	b, err := unix.Mmap(int(f.Fd()), 0, size, unix.PROT_READ, unix.MAP_SHARED)
	if err != nil {
		return nil, nil, err
	}
	return b, func() error { return unix.Munmap(b) }, nil
}
