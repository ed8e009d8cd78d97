package endgame

import (
	"crypto/sha256"
	"fmt"
	"hash/crc32"
	"math/bits"
	"runtime/debug"
	"slices"
	"sync/atomic"

	"amazonsfarm/shared/area"
	"amazonsfarm/shared/cgt"
)

// DB is an open database. Goroutines may call all methods but Close at the same time. Slices and
// entries that a DB returns are valid until Close.
// The slices from ends to crcs, and those of the layers, lie in the map of the file, data. entries has
// the values that were asked for, each decoded once. checked has the blocks whose checksums agree.
// broken and damage end all look-ups: whoever finds broken set finds the damage, too.
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
// A block that was compared before costs two atomic loads.
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
	if err := db.compare(from, db.data[from:to]); err != nil {
		db.fail(fmt.Errorf("%s: %w", db.name, err))
		return false
	}
	return true
}

// compare compares the bytes of the block at an offset with the checksum of that block.
func (db *DB) compare(from int, b []byte) error {
	block := (from - headerBytes) / blockBytes
	if crc32.Checksum(b, castagnoli) != db.crcs[block] {
		return fmt.Errorf("%w: the checksum of bytes %d to %d does not agree", ErrDamaged, from, from+len(b)-1)
	}
	db.checked[block].Store(true)
	return nil
}

// crcsAt returns the offset of the checksums.
func (db *DB) crcsAt() int {
	return int(db.header.sections[len(db.header.sections)-1].offset)
}

// Find returns the id of the value of an area, an 8-connected set of squares. It reports false where
// the database lacks the area. The database has exactly the areas of its configuration, also dead
// areas and simple territories.
func (db *DB) Find(black, white, empty Set) (ID, bool) {
	l := db.layer(black|white|empty, max(bits.OnesCount64(black), bits.OnesCount64(white)))
	if l == nil {
		return 0, false
	}
	defer db.fault(debug.SetPanicOnFault(true), nil)
	f := area.Canonical(black, white, empty)
	shape, ok := db.shape(f.Shape)
	if !ok {
		return 0, false
	}
	// Canonical exchanges the colours where this would be negative, and f.Negated says so.
	i := shape*l.rows + l.row(rank(f.Shape, f.Black)-rank(f.Shape, f.White))
	if !db.ok(l.activeAt + 2*i) {
		return 0, false
	}
	id := uint32(l.active[i])
	if id == escaped {
		at, found := slices.BinarySearch(db.keys, uint64(l.n)<<56|uint64(i))
		if !found {
			return 0, false
		}
		id = db.ids[at]
	}
	// Open verifies ids in its lists, and leaves those of entries to look-ups.
	if int(id) >= len(db.ends) {
		db.fail(fmt.Errorf("%s: %w: an entry names value %d of %d", db.name, ErrDamaged, id, len(db.ends)))
		return 0, false
	}
	if f.Negated {
		id = db.negatives[id]
	}
	return ID(id), true
}

// layer returns what the database holds of areas on as many squares, with so many queens of a side,
// nil where it holds none.
func (db *DB) layer(squares Set, queens int) *dbLayer {
	n := bits.OnesCount64(squares)
	if n > db.squares || n == 0 || db.broken.Load() {
		return nil
	}
	if l := &db.layers[n]; l.limit == 0 || queens <= l.limit {
		return l
	}
	return nil
}

// rank is the sum of 3^i over the squares of x, i being their numbers in the shape.
func rank(shape, x Set) (r int32) {
	for ; x != 0; x &= x - 1 {
		r += powers3[bits.OnesCount64(shape&(x&-x-1))&15]
	}
	return r
}

// shape returns the index of a canonical shape.
// The search ends, since Open refuses a table without a free slot.
func (db *DB) shape(s Set) (int, bool) {
	mask := uint64(len(db.slots) - 1)
	for k := hash(s) & mask; ; k = (k + 1) & mask {
		slot := &db.slots[k&uint64(len(db.slots)-1)]
		if slot.shape == s {
			return int(slot.index), true
		}
		if slot.shape == 0 {
			return 0, false
		}
	}
}

// Entry returns the value with an id that Find returned, or nil where the file is damaged.
func (db *DB) Entry(id ID) *Entry {
	if e := db.entries[id].Load(); e != nil {
		return e
	}
	defer db.fault(debug.SetPanicOnFault(true), nil)
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
	// Several goroutines may have decoded it: all return the entry that came first.
	db.entries[id].CompareAndSwap(nil, e)
	return db.entries[id].Load()
}

// Value returns the value of an area, as Find and Entry do.
func (db *DB) Value(black, white, empty Set) (cgt.Value, bool) {
	if id, ok := db.Find(black, white, empty); ok {
		if e := db.Entry(id); e != nil {
			return e.Value, true
		}
	}
	return cgt.Value{}, false
}

// Territory returns how many moves one side has in a territory: an 8-connected set of empty squares,
// normal queens and blockers of that side. The other side cannot come in as long as the blockers
// stay or shoot back at their origins with their first moves. needed is a smallest set of blockers
// that reaches so many moves while the other blockers never move here; these remain free for other
// areas. Territory reports false where the database lacks the area.
func (db *DB) Territory(normal, blockers, empty Set) (moves int, needed Set, found bool) {
	l := db.layer(normal|blockers|empty, bits.OnesCount64(normal|blockers))
	if l == nil {
		return 0, 0, false
	}
	defer db.fault(debug.SetPanicOnFault(true), nil)
	f := area.Canonical(normal, blockers, empty)
	shape, ok := db.shape(f.Shape)
	if !ok {
		return 0, 0, false
	}
	// Canonical was given the blockers as white queens, and perhaps exchanged the two kinds.
	no, bl := f.Black, f.White
	if f.Negated {
		no, bl = bl, no
	}
	i := shape*l.territoryRows + l.territoryRow(rank(f.Shape, no)+2*rank(f.Shape, bl))
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
