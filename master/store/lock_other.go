//go:build !unix

package store

import (
	"errors"
	"os"
	"time"
)

var errLockTimeout = errors.New("locked by another process")

// lock leaves it to bbolt, which locks once the file has been verified.
func lock(*os.File, bool, time.Duration) error { return nil }

// spaceLeft knows nothing here; a disk that is full is met by the commit that fills it.
func spaceLeft(string, int64) error { return nil }

func diskFull(error) bool { return false }
