package store

import (
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"os"
)

// Room returns nil if Options.MinFreeBytes are left after writing more bytes, on the disk of the store and on that of
// its parts. Otherwise it returns an error that wraps ErrNoRoom and says how much room there is; one that wraps
// ErrMissing if the file is not at its path any more, although commits still reach it. It costs a few system calls. A
// file system that does not tell its room counts as large enough, and so does a bucket.
func (s *Store) Room(more int64) error {
	if now, err := os.Stat(s.path); errors.Is(err, fs.ErrNotExist) || err == nil && !same(s.file, now) {
		return fmt.Errorf("%w at %s any more: it was removed, moved or replaced while it is in use; put it back",
			ErrMissing, s.path)
	}
	return s.room(more)
}

// room returns ErrNoRoom where more bytes would leave less than MinFreeBytes for others.
func (s *Store) room(more int64) error {
	return cmp.Or(s.options.room(s.path, more), s.options.room(s.Place(), more))
}

// room returns ErrNoRoom where writing so many bytes would leave less than MinFreeBytes on the disk
// under a path. Where the free space is unknown, there is room.
func (o Options) room(path string, more int64) error {
	if o.MinFreeBytes < 0 {
		return nil
	}
	wanted := o.MinFreeBytes + more
	if free, known := o.FreeBytes(path); known && free < wanted {
		return fmt.Errorf("%w: the disk under %s has %d MiB left and needs %d MiB; make room", ErrNoRoom, path,
			free>>20, (wanted+1<<20-1)>>20)
	}
	return nil
}
