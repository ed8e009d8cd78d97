//go:build unix

package store

import (
	"errors"
	"fmt"
	"os"
	"time"

	"golang.org/x/sys/unix"
)

var errLockTimeout = errors.New("locked by another process")

// lock takes the lock that bbolt itself takes (flock), before the first byte of the
// file is read. The lock belongs to the open file and goes with it.
func lock(f *os.File, exclusive bool, timeout time.Duration) error {
	how := unix.LOCK_SH
	if exclusive {
		how = unix.LOCK_EX
	}
	for deadline := time.Now().Add(timeout); ; time.Sleep(10 * time.Millisecond) {
		err := unix.Flock(int(f.Fd()), how|unix.LOCK_NB)
		if err == nil {
			return nil
		}
		if !errors.Is(err, unix.EWOULDBLOCK) && !errors.Is(err, unix.EINTR) {
			return fmt.Errorf("lock %s: %w", f.Name(), err)
		}
		if time.Now().After(deadline) {
			return errLockTimeout
		}
	}
}

// spaceLeft returns ErrNoSpace if the disk under path has less than minimum bytes left.
func spaceLeft(path string, minimum int64) error {
	if minimum < 0 {
		return nil
	}
	var st unix.Statfs_t
	if err := unix.Statfs(path, &st); err != nil {
		return nil // a file system that does not say is not refused
	}
	if free := int64(st.Bavail) * int64(st.Bsize); free < minimum {
		return fmt.Errorf("%w: the disk under %s has %d MiB left, %d MiB are wanted; free some and start again", ErrNoSpace, path, free>>20, minimum>>20)
	}
	return nil
}

// diskFull reports whether err says that the disk, a quota or a limit on file sizes is exhausted.
func diskFull(err error) bool {
	return errors.Is(err, unix.ENOSPC) || errors.Is(err, unix.EDQUOT) || errors.Is(err, unix.EFBIG)
}
