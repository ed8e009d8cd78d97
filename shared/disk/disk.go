// Package disk writes files that are whole or absent, whatever happens to the process or the
// machine, and asks the file system for locks and free space.
//
// [Replace] gives a file new content. [New] begins a file under a temporary name, and
// [File.Publish] gives it its own name once it is whole. Both write beside the file, bring the
// content to disk, and only then give the name. A temporary name is ".NAME.*.tmp"; a killed process
// leaves its temporary file behind, and [RemoveLeftovers] removes it later.
//
// # Why these steps
//
// A file system may bring things to disk in any order, and a power cut shows whatever is there. So:
//
//   - The content is synced before the name is given. Otherwise a name could stand over nothing.
//   - The folder is synced after the name is given. Otherwise the name could be gone again although
//     the caller was told that it is there.
//   - Replace renames over the old file: at each moment there is one whole file of that name.
//   - Publish makes a link, because a rename would silently replace what another process has put
//     there.
//
// [AfterStep] lets tests end the process between any two of these steps, and look at what is left.
package disk

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"time"
)

// The kinds of error; judge with errors.Is.
var (
	// ErrExists means that there is a file at the path of a new one.
	ErrExists = errors.New("the path is taken")
	// ErrLocked means that another process holds the lock.
	ErrLocked = errors.New("locked by another process")
	// ErrIrregular means that a folder, a pipe or a device stands where a file is wanted.
	ErrIrregular = errors.New("not a regular file")
)

// AfterStep is called between the steps that give a file its name. Tests replace it to kill the
// process there; otherwise it does nothing.
var AfterStep = func(step string) {}

// Replace gives the named file the content that fill writes, with the given permissions. The file
// has its old content or the new one at any moment, and the new one survives a power cut once
// Replace has returned.
func Replace(name string, mode fs.FileMode, fill func(*os.File) error) (err error) {
	f, err := temporary(name)
	if err != nil {
		return err
	}
	defer func() {
		if err != nil {
			_ = f.Close() // the error before it counts; a second close does no harm
			_ = os.Remove(f.Name())
		}
	}()
	if err = fill(f); err != nil {
		return err
	}
	if err = errors.Join(f.Chmod(mode), f.Sync(), f.Close()); err != nil {
		return err
	}
	return Rename(f.Name(), name)
}

// ReplaceFrom is Replace with the content that r has.
func ReplaceFrom(name string, mode fs.FileMode, r io.Reader) error {
	return Replace(name, mode, func(f *os.File) error {
		_, err := io.Copy(f, r)
		return err
	})
}

// Rename renames a file within its folder and makes the new name durable.
func Rename(from, to string) error {
	if err := os.Rename(from, to); err != nil {
		return err
	}
	AfterStep("renamed")
	return SyncFolder(filepath.Dir(to))
}

// Open opens a regular file for reading. Opening a pipe to which nobody writes would take for ever.
// Errors: ErrIrregular, and those of the file system.
func Open(name string) (*os.File, error) {
	if info, err := os.Stat(name); err == nil && !info.Mode().IsRegular() {
		return nil, fmt.Errorf("open %s: %w", name, ErrIrregular)
	}
	return os.Open(name)
}

// Sync brings the content of a closed file to disk.
func Sync(name string) error {
	f, err := os.Open(name)
	if err != nil {
		return err
	}
	return errors.Join(f.Sync(), f.Close())
}

// A File is written under a temporary name and gets its own name once it is whole. Only its owner
// can read it.
type File struct {
	*os.File
	path string
}

// New begins a file for a path where there is none yet. The caller ends it with Publish or Discard.
// New removes old temporary files of the same path. Errors: ErrExists, and those of the file system.
func New(path string) (*File, error) {
	if err := Free(path); err != nil {
		return nil, err
	}
	return Beside(path)
}

// Beside is New for a path that may be taken: the caller removes the file there before Publish, or
// renames the temporary file over it.
func Beside(path string) (*File, error) {
	folder, base := filepath.Dir(path), filepath.Base(path)
	if info, err := os.Stat(folder); err != nil || !info.IsDir() {
		return nil, fmt.Errorf("%w: there is no folder %s for the file %s", fs.ErrNotExist, folder, base)
	}
	RemoveLeftovers(path, time.Hour)
	f, err := temporary(path)
	if err != nil {
		return nil, err
	}
	return &File{f, path}, nil
}

// Path returns the name that Publish gives the file.
func (f *File) Path() string { return f.path }

// Publish makes the content durable and gives the file its name. It fails with ErrExists if the
// name was taken meanwhile. The file may be closed before.
func (f *File) Publish() error {
	if err := f.Close(); err != nil && !errors.Is(err, fs.ErrClosed) {
		return err
	}
	if err := Sync(f.Name()); err != nil {
		return err
	}
	AfterStep("synced")
	// A link fails where the path exists; a rename would replace the file of another process.
	if err := os.Link(f.Name(), f.path); errors.Is(err, fs.ErrExist) {
		return taken(f.path)
	} else if err != nil { // a file system without links
		if err := Free(f.path); err != nil {
			return err
		}
		if err := os.Rename(f.Name(), f.path); err != nil {
			return err
		}
	}
	AfterStep("linked")
	if err := os.Remove(f.Name()); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	return SyncFolder(filepath.Dir(f.path))
}

// Discard removes the temporary file. After Publish it does nothing.
func (f *File) Discard() {
	f.Close()
	os.Remove(f.Name())
}

// taken is the error about a path that a new file wanted.
func taken(path string) error {
	return fmt.Errorf("%w: there is already a file at %s; choose another path", ErrExists, path)
}

// Free returns nil if there is nothing at path, and an error that wraps ErrExists otherwise.
func Free(path string) error {
	if _, err := os.Lstat(path); err == nil {
		return taken(path)
	} else if !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	return nil
}

// temporary begins a file beside the path: on the same file system, or it could not be renamed.
func temporary(path string) (*os.File, error) {
	return os.CreateTemp(filepath.Dir(path), "."+filepath.Base(path)+".*.tmp")
}

// RemoveLeftovers removes the temporary files of a path that are older than age: those of killed
// processes. Errors are passed over, because leftovers only cost space.
func RemoveLeftovers(path string, age time.Duration) {
	entries, err := os.ReadDir(filepath.Dir(path))
	if err != nil {
		return
	}
	for _, e := range entries {
		rest, ours := strings.CutPrefix(e.Name(), "."+filepath.Base(path)+".")
		if number, ok := strings.CutSuffix(rest, ".tmp"); !ours || !ok || strings.Trim(number, "0123456789") != "" {
			continue
		}
		if info, err := e.Info(); err == nil && info.Mode().IsRegular() && time.Since(info.ModTime()) >= age {
			os.Remove(filepath.Join(filepath.Dir(path), e.Name()))
		}
	}
}

// SHA256 returns the size of a file and its SHA-256, in hexadecimal digits.
func SHA256(name string) (size int64, sum string, err error) {
	f, err := Open(name)
	if err != nil {
		return 0, "", err
	}
	defer f.Close()
	h := sha256.New()
	size, err = io.Copy(h, f)
	return size, hex.EncodeToString(h.Sum(nil)), err
}
