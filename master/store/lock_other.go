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

// freeBytes knows nothing here; a disk that is full is met by the commit that fills it.
func freeBytes(string) (int64, bool) { return 0, false }

func diskFull(error) bool { return false }

func ownedLike(string, os.FileInfo) error { return nil }
