//go:build !unix

package disk

import (
	"io/fs"
	"os"
	"time"
)

// Lock does nothing on this system.
func Lock(*os.File, bool, time.Duration) error { return nil }

// SyncFolder does nothing: this system keeps names durable itself.
func SyncFolder(string) error { return nil }

// FreeBytes knows nothing on this system; a write that fails tells that the disk is full.
func FreeBytes(string) (int64, bool) { return 0, false }

// Full knows no such error on this system.
func Full(error) bool { return false }

// Crowded knows no such error on this system.
func Crowded(error) bool { return false }

// OwnedLike does nothing on this system.
func OwnedLike(string, fs.FileInfo) error { return nil }
