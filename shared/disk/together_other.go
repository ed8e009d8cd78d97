//go:build !linux

package disk

import "errors"

// fileSystem is nothing on this system: files are synced one by one.
type fileSystem struct{}

func openFileSystem(string) *fileSystem { return nil }

func (*fileSystem) sync() error { return errors.ErrUnsupported }
