package endgame

import (
	"context"
	"crypto/sha256"
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
	"math/bits"
	"os"
	"path/filepath"
	"slices"
	"sync/atomic"
	"time"
	"unsafe"

	"amazonsfarm/shared/area"
	"amazonsfarm/shared/cgt"
)

// ErrNone is wrapped by the error of OpenDir where a folder holds no database.
var ErrNone = errors.New("no database of areas")

// DB is an open database. Goroutines may call all methods but Close at the same time. Slices and
// entries that a DB returns are valid until Close.
type DB struct {
	name   string
	config Config
	header header
	sum    [sha256.Size]byte
	data   []byte
	unmap  func() error

	squares   int
	ends      []uint32
	values    []byte
	negatives []uint32
	slots     []slot
	layers    [maxSquares + 1]dbLayer
	keys      []uint64 // of escapes
	ids       []uint32
	crcs      []uint32

	entries []atomic.Pointer[Entry]
	checked []atomic.Bool // by block
	broken  atomic.Bool
	damage  atomic.Pointer[error]
}

// dbLayer is what a database holds of areas of one number of squares.
type dbLayer struct {
	*layout
	active      []uint16
	codes       []uint8
	shapes      []uint64
	activeAt    int // offsets in the file
	territoryAt int
}

// ID is the number of a value in a database. Id 0 is the game 0.
type ID uint32

// Entry is a value of a database, in the forms that an evaluation needs.
type Entry struct {
	Value cgt.Value
	Part  cgt.Part // its bounds and what else a cgt.Sum asks for
}

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
	f, err := os.Open(name)
	if err != nil {
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
	if binary.NativeEndian.Uint16([]byte{1, 0}) != 1 {
		return nil, fmt.Errorf("%w: this machine is big-endian", ErrVersion)
	}
	db := &DB{name: name, config: config, header: h, squares: config.Squares()}
	if db.data, db.unmap, err = mapFile(f, int(h.size)); err != nil {
		return nil, err
	}
	if err := db.sections(); err != nil {
		db.unmap()
		return nil, err
	}
	for _, s := range db.header.sections {
		from, to := s.offset, s.offset+s.length
		if h.size > whole && (s.kind == sectionActive || s.kind == sectionTerritory) {
			continue
		}
		if err := db.checkFile(f, int(from), int(to), nil); err != nil {
			db.unmap()
			return nil, err
		}
	}
	if err := db.references(); err != nil {
		db.unmap()
		return nil, err
	}
	return db, nil
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
		if s.n > uint32(db.squares) || seen[[2]uint32{s.kind, s.n}] {
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

// Close unmaps the file. No method may be called afterwards.
func (db *DB) Close() error { return db.unmap() }

// Name returns the name of the file.
func (db *DB) Name() string { return db.name }

// Config returns the configuration of the database.
func (db *DB) Config() Config { return db.config }

// Sum returns the SHA-256 of the header and of the list of checksums. It identifies the contents.
func (db *DB) Sum() [sha256.Size]byte { return db.sum }

// Bytes returns the size of the file.
func (db *DB) Bytes() int64 { return int64(db.header.size) }

// Squares returns the number of squares of the largest areas.
func (db *DB) Squares() int { return db.squares }

// Values returns the number of distinct values.
func (db *DB) Values() int { return len(db.ends) }

// Damaged returns the damage that a look-up met, or nil. From then on look-ups find nothing.
func (db *DB) Damaged() error {
	if e := db.damage.Load(); e != nil {
		return *e
	}
	return nil
}

// ok reports whether the block with an offset has its checksum.
func (db *DB) ok(offset int) bool {
	block := (offset - headerBytes) / blockBytes
	return db.checked[block].Load() && !db.broken.Load() || db.checkBlock(block)
}

// fail keeps the first damage.
func (db *DB) fail(err error) {
	db.damage.CompareAndSwap(nil, &err)
	db.broken.Store(true)
}

// checkBlock compares the checksum of a block.
func (db *DB) checkBlock(block int) bool {
	if db.damage.Load() != nil {
		return false
	}
	from := headerBytes + block*blockBytes
	to := min(from+blockBytes, db.crcsAt())
	if crc32.Checksum(db.data[from:to], castagnoli) != db.crcs[block] {
		err := fmt.Errorf("%s: %w: the checksum of bytes %d to %d does not agree", db.name, ErrDamaged, from, to-1)
		db.fail(err)
		return false
	}
	db.checked[block].Store(true)
	return true
}

// crcsAt returns the offset of the checksums.
func (db *DB) crcsAt() int {
	return int(db.header.sections[len(db.header.sections)-1].offset)
}

// Find returns the id of the value of an area, an 8-connected set of squares. It reports false where
// the database lacks the area. The database has exactly the areas of its configuration, also dead
// areas and simple territories.
func (db *DB) Find(black, white, empty Set) (ID, bool) {
	n := bits.OnesCount64(black | white | empty)
	if n > db.squares || n == 0 {
		return 0, false
	}
	l := &db.layers[n]
	if l.limit > 0 && (bits.OnesCount64(black) > l.limit || bits.OnesCount64(white) > l.limit) {
		return 0, false
	}
	f := area.Canonical(black, white, empty)
	shape, ok := db.shape(f.Shape)
	if !ok {
		return 0, false
	}
	rank := rank(f.Shape, f.Black) - rank(f.Shape, f.White)
	if l.index != nil {
		rank = l.index[rank] - 1
	}
	i := int(shape)*l.rows + int(rank)
	if !db.ok(l.activeAt + 2*i) {
		return 0, false
	}
	id := uint32(l.active[i])
	if id == escaped {
		if id, ok = db.escape(uint64(n)<<56 | uint64(i)); !ok {
			return 0, false
		}
	}
	if int(id) >= len(db.ends) {
		db.fail(fmt.Errorf("%s: %w: an entry names value %d of %d", db.name, ErrDamaged, id, len(db.ends)))
		return 0, false
	}
	if f.Negated {
		id = db.negatives[id]
	}
	return ID(id), true
}

// rank is the sum of 3^i over the squares of x, i being their numbers in the shape.
func rank(shape, x Set) (r uint32) {
	for ; x != 0; x &= x - 1 {
		r += uint32(powers3[bits.OnesCount64(shape&(x&-x-1))&15])
	}
	return r
}

// shape returns the index of a canonical shape.
func (db *DB) shape(s Set) (uint32, bool) {
	mask := uint64(len(db.slots) - 1)
	for k := hash(s) & mask; ; k = (k + 1) & mask {
		slot := &db.slots[k&uint64(len(db.slots)-1)]
		if slot.shape == s {
			return slot.index, true
		}
		if slot.shape == 0 {
			return 0, false
		}
	}
}

// escape returns the id of an entry in the list of escapes.
func (db *DB) escape(key uint64) (uint32, bool) {
	i, ok := slices.BinarySearch(db.keys, key)
	if !ok {
		return 0, false
	}
	return db.ids[i], true
}

// Entry returns the value with an id that Find returned, or nil where the file is damaged.
func (db *DB) Entry(id ID) *Entry {
	if e := db.entries[id].Load(); e != nil {
		return e
	}
	start := uint32(0)
	if id > 0 {
		start = db.ends[id-1]
	}
	v, _, err := cgt.DecodeValue(db.values[start:db.ends[id]])
	if err != nil {
		err := fmt.Errorf("%s: %w: value %d is not one", db.name, ErrDamaged, id)
		db.fail(err)
		return nil
	}
	e := &Entry{Value: v, Part: v.Part()}
	db.entries[id].CompareAndSwap(nil, e)
	return db.entries[id].Load()
}

// Value returns the value of an area, as Find and Entry do.
func (db *DB) Value(black, white, empty Set) (cgt.Value, bool) {
	id, ok := db.Find(black, white, empty)
	if !ok {
		return cgt.Value{}, false
	}
	e := db.Entry(id)
	if e == nil {
		return cgt.Value{}, false
	}
	return e.Value, true
}

// Territory returns how many moves one side has in a territory: an 8-connected set of empty squares,
// normal queens and blockers of that side. The other side cannot come in as long as the blockers
// stay or shoot back at their origins with their first moves. needed is a smallest set of blockers
// that reaches so many moves while the other blockers never move here; these remain free for other
// areas. Territory reports false where the database lacks the area.
func (db *DB) Territory(normal, blockers, empty Set) (moves int, needed Set, ok bool) {
	n := bits.OnesCount64(normal | blockers | empty)
	if n > db.squares || n == 0 {
		return 0, 0, false
	}
	l := &db.layers[n]
	if l.limit > 0 && bits.OnesCount64(normal|blockers) > l.limit {
		return 0, 0, false
	}
	f := area.Canonical(normal, blockers, empty)
	shape, ok := db.shape(f.Shape)
	if !ok {
		return 0, 0, false
	}
	no, bl := f.Black, f.White
	if f.Negated {
		no, bl = bl, no
	}
	rank := rank(f.Shape, no) + 2*rank(f.Shape, bl)
	if l.territory != nil {
		rank = l.territory[rank] - 1
	}
	i := int(shape)*l.territoryRows + int(rank)
	if !db.ok(l.territoryAt + i) {
		return 0, 0, false
	}
	at := int(l.codes[i])
	if at >= len(codes) {
		return 0, 0, false
	}
	c := codes[at]
	for set := c.needed; set != 0; bl &= bl - 1 {
		if set&1 != 0 {
			needed |= bl & -bl
		}
		set >>= 1
	}
	if needed != 0 {
		needed = f.Squares(needed)
	}
	return int(c.moves), needed, true
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
		if db != nil && (db.Squares() > d.Squares() || db.Squares() == d.Squares() && db.Bytes() >= d.Bytes()) {
			d.Close()
			continue
		}
		if db != nil {
			db.Close()
		}
		db = d
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
