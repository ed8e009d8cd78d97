package store

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"time"
)

// A Draft is a file that gets its name once it is whole. Until then it lies beside it as
// ".NAME.new-*"; what a crash leaves of it is removed by a later draft of that name once it is an
// hour old.
type Draft struct {
	*os.File
	path string
}

// NewDraft begins a file for a path where there is none yet. The caller ends it with Publish or
// Discard. Errors: ErrExists, and those of the file system.
func NewDraft(path string) (*Draft, error) {
	if err := free(path); err != nil {
		return nil, err
	}
	return newDraft(path)
}

func newDraft(path string) (*Draft, error) {
	folder, file := split(path)
	if info, err := os.Stat(folder); err != nil || !info.IsDir() {
		return nil, fmt.Errorf("%w: there is no folder %s for the file %s", fs.ErrNotExist, folder, file)
	}
	removeLeftovers(folder, draftOf(file))
	f, err := os.CreateTemp(folder, draftOf(file))
	if err != nil {
		return nil, err
	}
	return &Draft{f, path}, nil
}

// Publish makes the draft durable and gives it its name. Where the name was taken meanwhile it
// fails with ErrExists.
func (d *Draft) Publish() error {
	if err := errors.Join(d.Sync(), d.Close()); err != nil {
		return err
	}
	return name(d.Name(), d.path)
}

// Discard removes the draft. After Publish it does nothing that matters.
func (d *Draft) Discard() {
	d.Close()
	os.Remove(d.Name())
}

func draftOf(file string) string { return "." + file + ".new-*" }

func split(path string) (folder, file string) {
	folder, file = filepath.Split(path)
	if folder == "" {
		folder = "."
	}
	return folder, file
}

func taken(path string) error {
	return fmt.Errorf("%w: there is already a file at %s; open it, or choose another path", ErrExists, path)
}

// free returns nil where there is nothing at path.
func free(path string) error {
	if _, err := os.Lstat(path); err == nil {
		return taken(path)
	} else if !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	return nil
}

// name gives a whole, synced file its name, which must be free.
func name(temporary, path string) error {
	// A link fails where path exists; a rename would replace what another process has just made.
	if err := os.Link(temporary, path); errors.Is(err, fs.ErrExist) {
		return taken(path)
	} else if err != nil { // a file system without links
		if err := free(path); err != nil {
			return err
		}
		if err := os.Rename(temporary, path); err != nil {
			return err
		}
	}
	crashPoint("linked")
	if err := os.Remove(temporary); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	folder, _ := split(path)
	return syncFile(folder)
}

// removeLeftovers removes what processes that were killed have left behind.
func removeLeftovers(folder, pattern string) {
	entries, err := os.ReadDir(folder)
	if err != nil {
		return
	}
	for _, e := range entries {
		if ok, _ := filepath.Match(pattern, e.Name()); !ok {
			continue
		}
		if info, err := e.Info(); err == nil && info.Mode().IsRegular() && time.Since(info.ModTime()) > time.Hour {
			os.Remove(filepath.Join(folder, e.Name()))
		}
	}
}

func syncFile(path string) error {
	f, err := os.Open(path)
	if err != nil {
		return err
	}
	return errors.Join(f.Sync(), f.Close())
}
