package disk

import (
	"os"

	"golang.org/x/sys/unix"
)

// fileSystem is one whose sync makes all durable that was written before it.
type fileSystem struct{ folder *os.File }

// openFileSystem returns the file system of a folder, and nil where files have to be synced one by one.
// For ext4, XFS and Btrfs syncfs(2) is as good as fsync(2); others pass no sync on to where the
// bytes are, such as FUSE.
func openFileSystem(folder string) *fileSystem {
	f, err := os.Open(folder)
	if err != nil {
		return nil
	}
	var st unix.Statfs_t
	if unix.Fstatfs(int(f.Fd()), &st) == nil {
		switch int64(st.Type) {
		case unix.EXT4_SUPER_MAGIC, unix.XFS_SUPER_MAGIC, unix.BTRFS_SUPER_MAGIC:
			return &fileSystem{f}
		}
	}
	_ = f.Close() // it was only read
	return nil
}

func (s *fileSystem) sync() error {
	return os.NewSyscallError("syncfs", unix.Syncfs(int(s.folder.Fd())))
}
