package record

import (
	"errors"
	"fmt"
)

var (
	// ErrCorrupt: a record or a page is not what the store wrote.
	ErrCorrupt = errors.New("the proof store is damaged")
	// ErrCampaign: a campaign is malformed, or is not in the store.
	ErrCampaign = errors.New("wrong campaign")
	// ErrForeign: the file is not a proof store of this program.
	ErrForeign = errors.New("not a proof store")
	// ErrVersion: the store's format is older or newer than this build can use.
	ErrVersion = errors.New("incompatible proof store version")
	// ErrTooLarge: a record would be larger than the store takes.
	ErrTooLarge = errors.New("too large for the proof store")
)

// CorruptError is damage at a known place. It matches ErrCorrupt.
type CorruptError struct {
	Path   string // the store's file, "" where it is not known
	Bucket string // the bucket, "" for the file's own structure
	Key    []byte // the record's key, nil for the bucket as a whole
	Reason string // what is wrong, without the place
}

// Error returns the damage with its place.
func (e *CorruptError) Error() string {
	place := "its page structure"
	if e.Bucket != "" {
		place = "bucket " + e.Bucket
	}
	// A person can search for the key: it is text where it is text, and otherwise hexadecimal digits.
	if e.Key != nil && e.Bucket == BucketMeta {
		place += fmt.Sprintf(", key %q", e.Key)
	} else if e.Key != nil {
		place += fmt.Sprintf(", key %x", e.Key)
	}
	if e.Path != "" {
		return fmt.Sprintf("%v: %s: %s: %s; restore it from a backup", ErrCorrupt, e.Path, place, e.Reason)
	}
	return fmt.Sprintf("%v: %s: %s; restore it from a backup", ErrCorrupt, place, e.Reason)
}

// Is reports whether target is ErrCorrupt.
func (e *CorruptError) Is(target error) bool { return target == ErrCorrupt }
