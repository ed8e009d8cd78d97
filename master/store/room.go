package store

import (
	"fmt"
)

// Room returns nil when more bytes can be written and Options.MinFreeBytes still be left, and
// otherwise an error that wraps ErrNoSpace and says how much there is. It costs one system call. A
// file system that does not say how much it has is taken to have enough.
func (s *Store) Room(more int64) error { return s.options.room(s.path, more) }

func (o Options) room(path string, more int64) error {
	if o.MinFreeBytes < 0 {
		return nil
	}
	wanted := o.MinFreeBytes + more
	if free, known := o.FreeBytes(path); known && free < wanted {
		return fmt.Errorf("%w: the disk under %s has %d MiB left where %d MiB are wanted; make room", ErrNoRoom, path,
			free>>20, (wanted+1<<20-1)>>20)
	}
	return nil
}
