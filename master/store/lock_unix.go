//go:build unix

package store

import (
	"errors"
	"fmt"
	"os"
	"strings"
	"syscall"
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

// freeBytes returns what this process may still write to the disk under path.
func freeBytes(path string) (int64, bool) {
	var st unix.Statfs_t
	if err := unix.Statfs(path, &st); err != nil {
		return 0, false
	}
	return int64(st.Bavail) * int64(st.Bsize), true
}

// diskFull reports whether err says that the disk, a quota or a limit on file sizes is exhausted.
// Some errors of bbolt only have the text of what is behind them.
func diskFull(err error) bool {
	for _, kind := range []unix.Errno{unix.ENOSPC, unix.EDQUOT, unix.EFBIG} {
		if errors.Is(err, kind) || err != nil && strings.HasSuffix(err.Error(), ": "+kind.Error()) {
			return true
		}
	}
	return false
}

// ownedLike gives a file the owner and the permissions of another one.
func ownedLike(file string, model os.FileInfo) error {
	if st, ok := model.Sys().(*syscall.Stat_t); ok {
		if err := os.Chown(file, int(st.Uid), int(st.Gid)); err != nil {
			return err
		}
	}
	return os.Chmod(file, model.Mode().Perm())
}
