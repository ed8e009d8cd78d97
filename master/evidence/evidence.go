// Package evidence keeps parts of proofs: objects that are named by their SHA-256, and never change.
//
// A [Store] is where they lie: a [Folder] with a file for each part, or a [Bucket], which workers write
// to and read from by themselves. [Cache] reads parts of any store, and trusts none before it has read
// it whole. The proof store (package store) knows which parts there should be, and who has verified
// them.
//
// # Who may be wrong
//
// Bytes come from workers, from disks and from other machines, and any of these may be wrong. The
// name of a part is its SHA-256, so wrong bytes are always found out by those who read the part
// whole:
//
//   - A Store promises nothing about bytes. Put compares what came with the name, since it reads
//     all of it anyway. Open looks at nothing.
//   - A Cache reads a part whole before its first answer, and remembers that. From then on a
//     changed size is noticed; a changed byte under the same size only after a restart, or after [Cache.Forget]:
//     a reader that cannot make sense of a part has it read again.
//   - [Verify] reads one part whole without a cache, for checks of the whole store.
//
// # A bucket
//
// Parts in a [Bucket] never pass through the master. It signs an address for each upload, and the
// worker puts the part there. The master sees the size and the outline that the worker announced.
// Those who verify a part fetch it by themselves and compare the outline with the part. While the
// bucket does not answer, calls return [ErrAway]. It says nothing about the part, so no caller may
// conclude that the part is missing.
package evidence

import (
	"bytes"
	"cmp"
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"iter"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"time"

	"amazonsfarm/shared/disk"
	"amazonsfarm/shared/proof"
)

// The kinds of error; judge with errors.Is. Each message names the part.
var (
	// ErrMissing: there is no such part.
	ErrMissing = errors.New("the part is missing")
	// ErrDamaged: the bytes under the name of a part are not its bytes.
	ErrDamaged = errors.New("the part is damaged")
	// ErrMismatch: what came is not what was announced.
	ErrMismatch = errors.New("the part is not what was announced")
	// ErrForeign: something that is no part lies among the parts.
	ErrForeign = errors.New("there is something else among the parts")
	// ErrAway: the store does not answer, or refuses; it may pass. Nothing is known of the part.
	ErrAway = errors.New("the evidence store cannot be used now")
	// ErrPlace: there can be no parts at such a place.
	ErrPlace = errors.New("bad evidence store")
	// ErrClosed: the cache is closed.
	ErrClosed = errors.New("the evidence store is closed")
)

// Object is an open part.
type Object interface {
	io.ReaderAt
	io.Closer
	Size() int64
}

// Part names a part that is there.
type Part struct {
	ID    proof.ID
	Bytes int64
	Since time.Time // when it came
}

// Store is where parts lie: a folder or a bucket. Any number of goroutines may call its
// methods at once.
type Store interface {
	// Put keeps a part of the announced size, read from r, and returns when it is durable. It
	// replaces a part of that name, whose bytes can only be the same ones, or damaged. Errors:
	// ErrMismatch, those of r and of the store; nothing new is then left.
	Put(id proof.ID, size int64, r io.Reader) error
	// Open opens a part. A bucket compares its bytes with its name, a folder does not. Errors: ErrMissing,
	// those of the store.
	Open(id proof.ID) (Object, error)
	// Has returns the size of a part, and false where there is none. Errors: those of the store.
	Has(id proof.ID) (size int64, ok bool, err error)
	// Remove removes a part. That there is none is no error.
	Remove(id proof.ID) error
	// List yields the parts that are there, and an ErrForeign for each thing that is no part. An
	// error of another kind is the last one.
	List() iter.Seq2[Part, error]
	// String says where the parts lie.
	String() string
	// claim writes into the place which proof store owns it, once, and returns what is written there. With again it
	// replaces what is there. Errors: those of the store.
	claim(owner string, again bool) (written string, err error)
}

// Verify reads a whole part. Errors: ErrMissing, ErrDamaged, ctx's, those of the store. The progress,
// where not nil, is told of the bytes of each read.
func Verify(ctx context.Context, s Store, id proof.ID, size int64, progress func(bytes int)) error {
	o, err := s.Open(id)
	if err != nil {
		return err
	}
	defer o.Close()
	return verify(ctx, o, id, size, progress)
}

// verify reads an open part.
func verify(ctx context.Context, o Object, id proof.ID, size int64, progress func(bytes int)) error {
	if o.Size() != size {
		return fmt.Errorf("%w: %s has %d bytes, not %d", ErrDamaged, id.Name(), o.Size(), size)
	}
	sum, buffer := sha256.New(), make([]byte, min(size, 1<<18))
	for at := int64(0); at < size; {
		if err := ctx.Err(); err != nil {
			return err
		}
		n, err := o.ReadAt(buffer[:min(int64(len(buffer)), size-at)], at)
		if err != nil && !errors.Is(err, io.EOF) {
			return fmt.Errorf("part %s: %w", id.Name(), err)
		}
		if n == 0 {
			return fmt.Errorf("%w: %s ends after %d of %d bytes", ErrDamaged, id.Name(), at, size)
		}
		sum.Write(buffer[:n])
		if at += int64(n); progress != nil {
			progress(n)
		}
	}
	if proof.ID(sum.Sum(nil)) != id {
		return fmt.Errorf("%w: the bytes of %s do not have its SHA-256", ErrDamaged, id.Name())
	}
	return nil
}

// Folder is a Store in a folder of the file system. The part abcdef... is the file ab/abcdef... in
// it. The folder comes into being with the first part, or with Hold.
type Folder struct {
	root string
	mu   sync.Mutex
	made map[string]bool // folders whose names are durable
}

// OpenFolder returns the parts in a folder, which need not be there.
func OpenFolder(root string) *Folder { return &Folder{root: root, made: map[string]bool{}} }

// Try makes the folder, and returns an error that wraps ErrPlace if parts cannot be written to it.
func (f *Folder) Try() error {
	err := f.make(f.root)
	probe, cannot := os.CreateTemp(f.root, ".*.tmp")
	if err = cmp.Or(err, cannot); err != nil {
		return fmt.Errorf("%w: parts cannot be kept in %s: %w", ErrPlace, f.root, err)
	}
	return errors.Join(probe.Close(), os.Remove(probe.Name()))
}

// Hold locks the folder until the returned file is closed. Without the lock two masters could write to one folder, and
// each would remove the parts of the other one as strays. Hold makes the folder, and removes unfinished parts of
// earlier crashes. Errors: disk.ErrLocked if another process has the lock; ErrPlace if the folder cannot be written.
func (f *Folder) Hold() (*os.File, error) {
	if err := f.Try(); err != nil {
		return nil, err
	}
	folder, err := os.Open(f.root)
	if err != nil {
		return nil, err
	}
	// Some network file systems have no locks for folders. There nothing is kept away.
	if err := disk.Lock(folder, true, 0); errors.Is(err, disk.ErrLocked) {
		return nil, errors.Join(err, folder.Close())
	}
	for _, sub := range f.folders() {
		for _, e := range sub.entries {
			// Package disk has not finished such a file.
			if strings.HasPrefix(e.Name(), ".") && strings.HasSuffix(e.Name(), ".tmp") {
				_ = os.Remove(filepath.Join(sub.path, e.Name())) // it only costs space
			}
		}
	}
	return folder, nil
}

// String returns the path of the folder.
func (f *Folder) String() string { return f.root }

func (f *Folder) path(id proof.ID) string {
	return filepath.Join(f.root, id.Name()[:2], id.Name())
}

// Put implements Store: the file gets its name when its bytes are on disk.
func (f *Folder) Put(id proof.ID, size int64, r io.Reader) error {
	path := f.path(id)
	if err := f.make(filepath.Dir(path)); err != nil {
		return err
	}
	return disk.Replace(path, 0o600, func(to *os.File) error {
		sum := sha256.New()
		n, err := io.Copy(io.MultiWriter(to, sum), io.LimitReader(r, size+1))
		switch {
		case err != nil:
			return err
		case n > size:
			return fmt.Errorf("%w: %s has more than %d bytes", ErrMismatch, id.Name(), size)
		case n < size:
			return fmt.Errorf("%w: %s has %d bytes, not %d", ErrMismatch, id.Name(), n, size)
		case !bytes.Equal(sum.Sum(nil), id[:]):
			return fmt.Errorf("%w: the SHA-256 of %s is %x", ErrMismatch, id.Name(), sum.Sum(nil))
		}
		return nil
	})
}

// make makes a folder of parts and its parent, durably. A folder that is there may be what a killed
// process left, whose name is not durable: so each counts as new once in a process.
func (f *Folder) make(folder string) error {
	f.mu.Lock()
	defer f.mu.Unlock()
	for _, path := range []string{f.root, folder} {
		if f.made[path] {
			if _, err := os.Stat(path); errors.Is(err, fs.ErrNotExist) {
				return fmt.Errorf("%s was removed or moved while it is in use; put it back", path)
			}
			continue
		}
		if err := os.Mkdir(path, 0o700); err != nil && !errors.Is(err, fs.ErrExist) {
			return err
		}
		if err := disk.SyncFolder(filepath.Dir(path)); err != nil {
			return err
		}
		f.made[path] = true
	}
	return nil
}

// Open implements Store. A part that lies in the folder itself, as beside a manifest, is found as well.
func (f *Folder) Open(id proof.ID) (Object, error) {
	file, err := disk.Open(f.path(id))
	if errors.Is(err, fs.ErrNotExist) {
		file, err = disk.Open(filepath.Join(f.root, id.Name()))
	}
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nil, fmt.Errorf("%w: there is no file %s", ErrMissing, f.path(id))
	case errors.Is(err, disk.ErrIrregular):
		return nil, fmt.Errorf("%w: %s is no file", ErrForeign, f.path(id))
	case err != nil:
		return nil, err
	}
	info, err := file.Stat()
	if err != nil {
		return nil, errors.Join(err, file.Close())
	}
	return object{file, info.Size()}, nil
}

type object struct {
	*os.File
	size int64
}

func (o object) Size() int64 { return o.size }

// Has implements Store.
func (f *Folder) Has(id proof.ID) (size int64, ok bool, err error) {
	info, err := os.Lstat(f.path(id))
	if errors.Is(err, fs.ErrNotExist) || err == nil && !info.Mode().IsRegular() {
		return 0, false, nil
	} else if err != nil { // the disk does not answer: whether the part is there, nobody knows
		return 0, false, err
	}
	return info.Size(), true, nil
}

// Remove implements Store. A crash may bring the part back.
func (f *Folder) Remove(id proof.ID) error {
	if err := os.Remove(f.path(id)); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	return nil
}

// recovered is a folder that the root of a disk has: what a check of the file system found.
const recovered = "lost+found"

// List implements Store. It passes over names that begin with a dot, what file systems keep at their root, and owner.
func (f *Folder) List() iter.Seq2[Part, error] {
	return func(yield func(Part, error) bool) {
		for _, sub := range f.folders() {
			if sub.err != nil {
				yield(Part{}, sub.err)
				return
			}
			for _, e := range sub.entries {
				path := filepath.Join(sub.path, e.Name())
				id, named := proof.ParseID(e.Name())
				info, gone := e.Info()
				switch {
				case strings.HasPrefix(e.Name(), "."), errors.Is(gone, fs.ErrNotExist),
					e.IsDir() && e.Name() == recovered, sub.path == f.root && e.Name() == claimName,
					sub.path == f.root && e.IsDir() && len(e.Name()) == 2 &&
						strings.Trim(e.Name(), "0123456789abcdef") == "":
					continue
				case !named, f.path(id) != path, !e.Type().IsRegular():
					if !yield(Part{}, fmt.Errorf("%w; move it away: %s", ErrForeign, path)) {
						return
					}
					continue
				case gone != nil:
					yield(Part{}, gone)
					return
				}
				if !yield(Part{id, info.Size(), info.ModTime()}, nil) {
					return
				}
			}
		}
	}
}

// level is a folder of the folder, or itself.
type level struct {
	path    string
	entries []fs.DirEntry
	err     error
}

// folders reads the folder and those in it that may have parts.
func (f *Folder) folders() []level {
	entries, err := os.ReadDir(f.root)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	list := []level{{f.root, entries, err}}
	for _, e := range entries {
		if e.IsDir() && len(e.Name()) == 2 {
			path := filepath.Join(f.root, e.Name())
			entries, err := os.ReadDir(path)
			list = append(list, level{path, entries, err})
		}
	}
	return list
}

// Copy copies a part to a file, which gets its name once it is whole. Errors: those of Open, ErrDamaged,
// those of the file system.
func Copy(s Store, id proof.ID, size int64, path string) error {
	o, err := s.Open(id)
	if err != nil {
		return err
	}
	defer o.Close()
	if err := verify(context.Background(), o, id, size, nil); err != nil {
		return err
	}
	return disk.ReplaceFrom(path, 0o644, io.NewSectionReader(o, 0, size))
}
