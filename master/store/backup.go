package store

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"

	"go.etcd.io/bbolt"

	"amazonsfarm/master/evidence"
	"amazonsfarm/master/store/page"
	"amazonsfarm/master/store/record"
	"amazonsfarm/shared/disk"
	"amazonsfarm/shared/proof"
)

// Backup writes a consistent copy of the store to w while the store is in use, and returns the size
// of the copy. begun, where not nil, gets the size before the first byte. The copy is a store of its
// own. No page of the copied moment is reused during a backup, so the file grows and w must not wait
// for ever. Errors: ErrClosed, and those of w and begun.
func (s *Store) Backup(w io.Writer, begun func(size int64) error) (n int64, err error) {
	tx, err := s.db.Begin(false)
	if err != nil {
		return 0, ErrClosed
	}
	defer tx.Rollback()
	if begun != nil {
		err = begun(tx.Size())
	}
	if err == nil {
		n, err = tx.WriteTo(w)
	}
	return n, during("back up proof store", err)
}

// Progress is called with how much of a part is done: in bytes, records or pages, whatever the part
// consists of. A total of 0 is unknown.
type Progress func(part string, done, total int64)

func (p Progress) tell(part string, done, total int64) {
	if p != nil {
		p(part, done, total)
	}
}

// BackupFile copies a store that no process has open for writing, with parts also its parts, before
// the copy gets its name. The path of the copy must be free. BackupFile checks the copy before it gives it its name,
// and returns the report of the check. Where it fails, the folder of parts that it has made is gone again. Errors:
// those of Open and of the file system, disk.ErrExists, ErrNoRoom, ErrCorrupt, ctx's.
func BackupFile(ctx context.Context, from, to string, parts bool, progress Progress) (Report, error) {
	s, err := Open(from, Options{ReadOnly: true})
	if err != nil {
		return Report{}, err
	}
	defer s.Close()
	if parts && s.campaigns[0].Evidence != "" {
		return Report{}, fmt.Errorf("%w: leave out --evidence: the copy has the same parts, in %s", ErrInvalid,
			s.evidence)
	}
	if err := Apart(to); err != nil {
		return Report{}, err
	}
	d, err := disk.New(to)
	if err != nil {
		return Report{}, err
	}
	defer d.Discard()
	w := &meter{ctx: ctx, w: d, progress: progress}
	if _, err := s.Backup(w, func(size int64) error {
		w.total = size
		return Fits(to, size)
	}); err != nil {
		return Report{}, err
	}
	if parts {
		folder := EvidenceFolder(to)
		made := disk.Free(folder) == nil
		defer func() {
			if made && disk.Free(to) == nil { // the copy has no name: nothing belongs to its parts
				os.RemoveAll(folder)
			}
		}()
		if err := s.copyParts(ctx, to, progress); err != nil {
			return Report{}, fmt.Errorf("back up proof store: %w", err)
		}
	}
	r, err := PublishCopy(ctx, d, progress)
	if parts {
		r.LacksParts, r.LacksBytes = 0, 0
	}
	return r, err
}

// copyParts copies all parts to where those of another store lie.
func (s *Store) copyParts(ctx context.Context, to string, progress Progress) error {
	sizes, total, done := map[proof.ID]int64{}, int64(0), int64(0)
	if err := s.eachCertificate(func(id proof.ID, c record.Certificate) {
		if !c.Dropped {
			sizes[id] = int64(c.Size)
			total += int64(c.Size)
		}
	}); err != nil {
		return err
	}
	if err := Fits(to, total); err != nil {
		return err
	}
	folder := evidence.OpenFolder(EvidenceFolder(to))
	for id, size := range sizes {
		if err := ctx.Err(); err != nil {
			return err
		}
		part, err := s.evidence.Open(id)
		if err == nil {
			err = errors.Join(folder.Put(id, size, io.NewSectionReader(part, 0, part.Size())), part.Close())
		}
		if errors.Is(err, evidence.ErrMismatch) {
			err = fmt.Errorf("%w: %w", evidence.ErrDamaged, err)
		}
		if err != nil {
			return s.partError(id, err)
		}
		done += size
		progress.tell("copying parts", done, total)
	}
	return nil
}

// PublishCopy checks a copy of the file of a store, and gives it its name if nothing is wrong. The
// copy needs no parts for that: the report says how many it lacks. Errors: ErrCorrupt, ctx's,
// those of Publish.
func PublishCopy(ctx context.Context, d *disk.File, progress Progress) (Report, error) {
	r, err := checkFile(ctx, d.Name(), false, progress)
	if err == nil {
		err = r.Err()
	}
	if err != nil {
		return r, fmt.Errorf("the copy for %s: %w", d.Path(), err)
	}
	beside := r.Evidence == EvidenceFolder(d.Name())
	if err := d.Publish(); err != nil {
		return r, err
	}
	if r.File = d.Path(); beside {
		r.Evidence = EvidenceFolder(r.File)
	}
	return r, nil
}

// Fits returns an error that wraps ErrNoRoom if a file of this size does not fit on its disk.
func Fits(path string, size int64) error {
	if free, known := disk.FreeBytes(filepath.Dir(path)); known && free < size {
		return fmt.Errorf("%w: %s needs %d KiB and the disk has %d KiB left; make room, or choose another disk",
			ErrNoRoom, path, size>>10+1, free>>10)
	}
	return nil
}

// meter counts what is written, and ends with its context.
type meter struct {
	ctx         context.Context
	w           io.Writer
	done, total int64
	progress    Progress
}

func (m *meter) Write(p []byte) (int, error) {
	if err := m.ctx.Err(); err != nil {
		return 0, err
	}
	n, err := m.w.Write(p)
	m.done += int64(n)
	m.progress.tell("copying", m.done, m.total)
	return n, err
}

// OldSuffix ends the name of a store that Compact has replaced.
const OldSuffix = ".old"

// Replaced reports whether a path is that of a store which Compact has replaced. Its parts belong to the newer one.
func Replaced(path string) bool { return strings.HasSuffix(path, OldSuffix) }

// Compact copies the file of a store that no process has open, without its free pages, and checks the
// copy; parts stay where they are. It
// gives the copy the name to, which must be free. If to is empty the copy takes the place of the
// store, which Compact keeps under its name with OldSuffix, or with replace removes. At any moment
// there is a whole store under the store's name. Errors: those of Open and of the file system,
// disk.ErrExists, ErrNoRoom, ErrCorrupt, ctx's.
func Compact(ctx context.Context, from, to string, replace bool, progress Progress) (Compaction, error) {
	path, err := filepath.EvalSymlinks(from) // a rename would replace the link
	if err != nil {
		path = from // Open says why
	}
	s, err := open(path, Options{ReadOnly: true}, to == "")
	if err != nil {
		return Compaction{}, err
	}
	defer s.Close()
	out := Compaction{MessageType: "store_compaction", File: to}
	var info os.FileInfo
	if to == "" {
		out.File = path
		if info, err = s.file.Stat(); err != nil {
			return Compaction{}, err
		}
	} else if err := cmp.Or(disk.Free(to), Apart(to)); err != nil {
		return Compaction{}, err
	}
	if to == "" && !replace {
		out.Kept = path + OldSuffix
		// A compaction that was killed may have left the store under both names.
		if old, err := os.Stat(out.Kept); err == nil && !os.SameFile(old, info) {
			return Compaction{}, fmt.Errorf("%w: there is already a file at %s; remove it, or replace the store "+
				"without keeping it (--replace)", disk.ErrExists, out.Kept)
		}
	}
	before, err := s.Stats()
	if err != nil {
		return Compaction{}, err
	}
	out.Before = before.FileBytes
	if err := Fits(out.File, before.UsedBytes); err != nil {
		return Compaction{}, err
	}
	d, err := disk.Beside(out.File)
	if err != nil {
		return Compaction{}, err
	}
	defer d.Discard()
	if err := d.Close(); err != nil {
		return Compaction{}, err
	}
	err = guard(func() error {
		return s.db.View(func(tx *bbolt.Tx) error {
			return page.Rewrite(ctx, tx, d.Name(), record.BucketsOf(s.campaigns), func(done int64) {
				progress.tell("copying", done, before.UsedBytes)
			})
		})
	})
	if err != nil {
		return Compaction{}, fmt.Errorf("compact proof store: %w", err)
	}
	disk.AfterStep("copied")
	r, err := checkFile(ctx, d.Name(), false, progress)
	if err == nil {
		err = r.Err()
	}
	if err == nil && r.Records != before.Records {
		err = fmt.Errorf("%w: it has other numbers of records than the store", ErrCorrupt)
	}
	if err != nil {
		return Compaction{}, fmt.Errorf("the compacted copy: %w", err)
	}
	out.After = r.FileBytes
	if err := disk.Sync(d.Name()); err != nil {
		return Compaction{}, err
	}
	disk.AfterStep("checked")
	if to != "" {
		out.LacksParts, out.LacksBytes = r.LacksParts, r.LacksBytes
		return out, d.Publish()
	}
	if err := disk.OwnedLike(d.Name(), info); err != nil {
		return Compaction{}, err
	}
	if out.Kept != "" {
		if err := os.Link(path, out.Kept); err != nil && !errors.Is(err, os.ErrExist) {
			return Compaction{}, fmt.Errorf("keep the store as it was: %w; replace it without keeping it, or "+
				"compact to another file", err)
		}
	}
	disk.AfterStep("kept")
	return out, disk.Rename(d.Name(), path)
}
