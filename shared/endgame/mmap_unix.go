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

// lock takes the lock of a directory, or fails with ErrBusy. The lock goes with the process.
func lock(name string) (unlock func(), err error) {
	f, err := os.OpenFile(name, os.O_CREATE|os.O_RDWR, 0o666)
	if err != nil {
		return nil, err
	}
	if err := unix.Flock(int(f.Fd()), unix.LOCK_EX|unix.LOCK_NB); err != nil {
		f.Close()
		if err == unix.EWOULDBLOCK {
			err = ErrBusy
		}
		return nil, err
	}
	return func() { f.Close() }, nil
}

// syncDir makes a renaming in a directory last.
func syncDir(dir string) error {
	f, err := os.Open(dir)
	if err != nil {
		return err
	}
	defer f.Close()
	return f.Sync()
}
