//go:build !unix

package certs

import (
	"os"
	"time"
)

// lockFile knows no lock here: run one command on a folder at a time.
func lockFile(*os.File, time.Duration) error { return nil }

// syncFolder leaves it to the system.
func syncFolder(string) error { return nil }
