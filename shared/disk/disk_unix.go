//go:build unix

package disk

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"slices"
	"strings"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// Lock takes the lock (flock) of an open file, which ends with the file. It waits for other
// processes up to the given time. Errors: ErrLocked, and those of the system.
func Lock(f *os.File, exclusive bool, patience time.Duration) error {
	how := unix.LOCK_SH
	if exclusive {
		how = unix.LOCK_EX
	}
	// The system's own wait could not be ended, so this asks again and again. Nobody waits long: a
	// lock is kept for as long as a program runs, or for a moment.
	for deadline := time.Now().Add(patience); ; time.Sleep(10 * time.Millisecond) {
		err := unix.Flock(int(f.Fd()), how|unix.LOCK_NB)
		if err == nil {
			return nil
		}
		if !errors.Is(err, unix.EWOULDBLOCK) && !errors.Is(err, unix.EINTR) {
			return fmt.Errorf("lock %s: %w", f.Name(), err)
		}
		if !time.Now().Before(deadline) {
			return ErrLocked
		}
	}
}

// SyncFolder makes the names in a folder durable.
func SyncFolder(folder string) error { return Sync(folder) }

// FreeBytes returns how many bytes this process may still write to the disk under path, and false
// where the system does not tell.
func FreeBytes(path string) (int64, bool) {
	var st unix.Statfs_t
	if err := unix.Statfs(path, &st); err != nil {
		return 0, false
	}
	return int64(st.Bavail) * int64(st.Bsize), true
}

// Full reports whether err says that the disk, a quota or a limit on file sizes is exhausted. Some
// libraries keep only the text of the system's error, so that the text counts as well.
func Full(err error) bool {
	return err != nil && slices.ContainsFunc([]unix.Errno{unix.ENOSPC, unix.EDQUOT, unix.EFBIG},
		func(is unix.Errno) bool { return errors.Is(err, is) || strings.HasSuffix(err.Error(), ": "+is.Error()) })
}

// Crowded reports whether err says that the process, or the system, has as many files and connections open
// as it may have. That passes.
func Crowded(err error) bool { return errors.Is(err, unix.EMFILE) || errors.Is(err, unix.ENFILE) }

// OwnedLike gives a file the owner and the permissions of another one.
func OwnedLike(file string, model fs.FileInfo) error {
	if st, ok := model.Sys().(*syscall.Stat_t); ok {
		if err := os.Chown(file, int(st.Uid), int(st.Gid)); err != nil {
			return err
		}
	}
	return os.Chmod(file, model.Mode().Perm())
}
