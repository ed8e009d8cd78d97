package endgame

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
	"math/bits"
	"os"
	"path/filepath"
	"runtime/debug"
	"sync/atomic"
	"time"
	"unsafe"

	"amazonsfarm/shared/disk"
)

// ErrNone is wrapped by the error of OpenDir where a folder holds no database.
var ErrNone = errors.New("no database of areas")

// checkAtOpen is the size up to which Open checks a whole file. Blocks of larger files are checked
// when a look-up first touches them.
const checkAtOpen = 64 << 20

// Open opens a database for reading; Close closes it. Open checks the header, the shapes and the
// values, and all entries of files up to 64 MiB. In larger files a look-up checks each block of
// entries that it touches first. From the first damaged block on, look-ups find nothing (Damaged).
// Errors wrap ErrFormat, ErrVersion or ErrDamaged, or an error of the file system.
func Open(name string) (*DB, error) {
	return openSize(name, checkAtOpen)
}

// openSize is Open with another size up to which whole files are checked.
func openSize(name string, whole uint64) (*DB, error) {
	db, err := open(name, whole)
	if err != nil {
		if !errors.Is(err, os.ErrNotExist) {
			err = fmt.Errorf("%s: %w", name, err)
		}
		return nil, fmt.Errorf("open database: %w", err)
	}
	return db, nil
}

func open(name string, whole uint64) (*DB, error) {
	f, err := disk.Open(name)
	if errors.Is(err, disk.ErrIrregular) {
		return nil, fmt.Errorf("%w: it is not a regular file", ErrFormat)
	} else if err != nil {
		return nil, err
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil {
		return nil, err
	}
	head := make([]byte, headerBytes)
	n, _ := f.ReadAt(head, 0) // a file that is too short is refused below
	head = head[:n]
	h, err := decodeHeader(head)
	if err != nil {
		return nil, err
	}
	if int64(h.size) != info.Size() {
		return nil, fmt.Errorf("%w: it has %d bytes and should have %d", ErrDamaged, info.Size(), h.size)
	}
	config, err := ParseSize(h.config)
	if err != nil || config.String() != h.config {
		return nil, fmt.Errorf("%w: its configuration %q makes no sense", ErrDamaged, h.config)
	}
	if config.Sum() != h.sum {
		return nil, fmt.Errorf("%w: the configuration's checksum does not agree", ErrDamaged)
	}
	// Sections are read in place as numbers of this machine, and the file is little-endian.
	if binary.NativeEndian.Uint16([]byte{1, 0}) != 1 {
		return nil, fmt.Errorf("%w: this machine is big-endian", ErrVersion)
	}
	db := &DB{name: name, config: config, header: h, squares: config.Squares()}
	if db.data, db.unmap, err = mapFile(f, int(h.size)); err != nil {
		return nil, err
	}
	if err := db.verify(f, whole); err != nil {
		db.unmap()
		return nil, err
	}
	return db, nil
}

// verify finds the sections of a database, compares their checksums as Open promises, and verifies
// their references. whole is the size up to which it compares all entries. A fault in the map is an
// error.
func (db *DB) verify(f *os.File, whole uint64) (err error) {
	defer db.fault(debug.SetPanicOnFault(true), &err)
	if err := db.sections(); err != nil {
		return err
	}
	for _, s := range db.header.sections {
		if db.header.size > whole && (s.kind == sectionActive || s.kind == sectionTerritory) {
			continue
		}
		if err := db.checkFile(f, int(s.offset), int(s.offset+s.length)); err != nil {
			return err
		}
	}
	return db.references()
}

// references verifies that every reference from one part of the file to another is valid. So no
// look-up leaves the file or loops for ever, even where somebody forged the checksums. Look-ups
// verify the ids of entries themselves.
func (db *DB) references() error {
	damaged := func(format string, args ...any) error {
		return fmt.Errorf("%w: "+format, append([]any{ErrDamaged}, args...)...)
	}
	free := 0
	for _, s := range db.slots {
		n := bits.OnesCount64(s.shape)
		if n == 0 {
			free++
		} else if n > db.squares || int(s.index) >= shapeCounts[n] {
			return damaged("shape %#x is given the number %d, which there is not", s.shape, s.index)
		}
	}
	if free == 0 {
		return damaged("its table of shapes is full")
	}
	start := uint32(0)
	for i, end := range db.ends {
		if end < start || int(end) > len(db.values) {
			return damaged("value %d has no place", i)
		}
		start = end
	}
	for _, list := range [][]uint32{db.negatives, db.ids} {
		for _, id := range list {
			if int(id) >= len(db.ends) {
				return damaged("it names value %d and has %d", id, len(db.ends))
			}
		}
	}
	return nil
}

// sections finds the sections of the file and checks their sizes.
// The checksums of the blocks are compared after it, so it believes no number: a section has to lie in
// the file, come once, and have the length that the configuration asks for.
func (db *DB) sections() error {
	for n := 1; n <= db.squares; n++ {
		db.layers[n].layout = newLayout(n, db.config.limit(n))
	}
	seen := map[[2]uint32]bool{}
	for _, s := range db.header.sections {
		if s.offset > db.header.size || s.length > db.header.size-s.offset || s.offset%8 != 0 ||
			s.offset < headerBytes {
			return fmt.Errorf("%w: section %d lies outside the file", ErrDamaged, s.kind)
		}
		ofLayer := s.kind == sectionShapes || s.kind == sectionActive || s.kind == sectionTerritory
		if s.n > uint32(db.squares) || ofLayer && s.n == 0 || seen[[2]uint32{s.kind, s.n}] {
			return fmt.Errorf("%w: section %d of %d squares", ErrDamaged, s.kind, s.n)
		}
		seen[[2]uint32{s.kind, s.n}] = true
		b := db.data[s.offset : s.offset+s.length]
		l := &db.layers[s.n]
		width, want := uint64(1), s.count
		switch s.kind {
		case sectionValueEnds:
			db.ends, width = cast[uint32](b), 4
		case sectionValues:
			db.values, want = b, uint64(len(b))
		case sectionNegatives:
			db.negatives, width = cast[uint32](b), 4
		case sectionShapes:
			l.shapes, width, want = cast[uint64](b), 8, uint64(shapeCounts[s.n])
		case sectionHash:
			db.slots, width = cast[slot](b), uint64(slotBytes)
		case sectionActive:
			l.active, width, l.activeAt = cast[uint16](b), 2, int(s.offset)
			want = uint64(shapeCounts[s.n]) * uint64(l.rows)
		case sectionEscapeKeys:
			db.keys, width = cast[uint64](b), 8
		case sectionEscapeIDs:
			db.ids, width = cast[uint32](b), 4
		case sectionTerritory:
			l.codes, l.territoryAt = b, int(s.offset)
			want = uint64(shapeCounts[s.n]) * uint64(l.territoryRows)
		case sectionCRCs:
			if len(b) < 4 || binary.LittleEndian.Uint32(b[len(b)-4:]) != crc32.Checksum(b[:len(b)-4], castagnoli) {
				return fmt.Errorf("%w: the checksums' checksum does not agree", ErrDamaged)
			}
			db.sum = sha256.Sum256(append(db.header.encode(), b...))
			b = b[:len(b)-4]
			db.crcs, width = cast[uint32](b), 4
			want = (s.offset - headerBytes + blockBytes - 1) / blockBytes
		default:
			return fmt.Errorf("%w: section %d is unknown", ErrVersion, s.kind)
		}
		if uint64(len(b)) != want*width {
			return fmt.Errorf("%w: section %d of %d squares has %d bytes and should have %d", ErrDamaged, s.kind, s.n,
				len(b), want*width)
		}
	}
	// Blocks are counted up to the checksums. A section behind them would never be compared.
	last := db.header.sections[max(0, len(db.header.sections)-1):]
	if len(last) == 0 || last[0].kind != sectionCRCs {
		return fmt.Errorf("%w: it does not end with its checksums", ErrDamaged)
	}
	for _, s := range db.header.sections {
		if s.kind != sectionCRCs && s.offset+s.length > last[0].offset {
			return fmt.Errorf("%w: section %d of %d squares has no checksums", ErrDamaged, s.kind, s.n)
		}
	}
	values := len(db.ends)
	if values == 0 || len(db.negatives) != values || len(db.slots) == 0 || len(db.slots)&(len(db.slots)-1) != 0 ||
		len(db.keys) != len(db.ids) || len(db.crcs) == 0 {
		return fmt.Errorf("%w: a section is missing", ErrDamaged)
	}
	for n := 1; n <= db.squares; n++ {
		if l := &db.layers[n]; l.active == nil || l.codes == nil || l.shapes == nil {
			return fmt.Errorf("%w: the section of %d squares is missing", ErrDamaged, n)
		}
	}
	db.entries = make([]atomic.Pointer[Entry], values)
	db.checked = make([]atomic.Bool, len(db.crcs))
	return nil
}

// cast reads a part of the map as a slice. The offset is a multiple of 8.
func cast[T any](b []byte) []T {
	var t T
	if len(b) == 0 {
		return nil
	}
	return unsafe.Slice((*T)(unsafe.Pointer(&b[0])), len(b)/int(unsafe.Sizeof(t)))
}

// DefaultDir returns the default folder of databases: amazonsfarm in the user's cache folder.
func DefaultDir() (string, error) {
	dir, err := os.UserCacheDir()
	if err != nil {
		return "", fmt.Errorf("find the cache directory: %w", err)
	}
	return filepath.Join(dir, "amazonsfarm"), nil
}

// OpenDir opens the database of a folder with the largest areas; of several, the largest file. It
// skips unusable files; skipped holds the error of each. The error wraps ErrNone where no file is
// usable.
func OpenDir(dir string) (db *DB, skipped []error, err error) {
	names, err := filepath.Glob(filepath.Join(dir, "areas-*.db"))
	if err != nil {
		return nil, nil, err
	}
	for _, name := range names {
		d, err := Open(name)
		if err != nil {
			skipped = append(skipped, err)
			continue
		}
		if db == nil || cmp.Or(cmp.Compare(d.Squares(), db.Squares()), cmp.Compare(d.Bytes(), db.Bytes())) > 0 {
			db, d = d, db
		}
		if d != nil {
			d.Close()
		}
	}
	if db == nil {
		return nil, skipped, fmt.Errorf("%w in %s", ErrNone, dir)
	}
	return db, skipped, nil
}

// OpenOrBuild is OpenDir, but builds the small database where the folder has no usable one. It waits
// while another process builds that database.
func OpenOrBuild(ctx context.Context, dir string, o Options) (db *DB, skipped []error, err error) {
	if db, skipped, err = OpenDir(dir); err == nil || !errors.Is(err, ErrNone) {
		return db, skipped, err
	}
	if err := os.MkdirAll(dir, 0o777); err != nil {
		return nil, skipped, err
	}
	name := filepath.Join(dir, Small().FileName())
	for {
		err := Build(ctx, name, Small(), o)
		if err == nil {
			db, err = Open(name)
			return db, skipped, err
		}
		if !errors.Is(err, ErrBusy) {
			return nil, skipped, err
		}
		select {
		case <-ctx.Done():
			return nil, skipped, fmt.Errorf("wait for the database: %w", ctx.Err())
		case <-time.After(busyPeriod):
		}
	}
}

// busyPeriod is how often OpenOrBuild looks whether another process has finished the database. If
// that process ends early, its lock ends with it.
const busyPeriod = 100 * time.Millisecond
