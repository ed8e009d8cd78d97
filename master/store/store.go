package store

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"iter"
	"os"
	"path/filepath"
	"runtime"
	"runtime/debug"
	"strconv"
	"sync"
	"sync/atomic"
	"syscall"
	"time"

	"go.etcd.io/bbolt"
	bolterrors "go.etcd.io/bbolt/errors"

	"amazonsfarm/master/evidence"
	"amazonsfarm/master/store/gate"
	"amazonsfarm/master/store/record"
	"amazonsfarm/master/store/report"
	"amazonsfarm/master/tree"
	"amazonsfarm/shared/disk"
	"amazonsfarm/shared/proof"
)

const pageSize = 4096 // of every store, whatever size the machine's pages have

// Store is an open proof store. Any number of goroutines may call its methods at once.
type Store struct {
	path    string
	options Options
	db      *bbolt.DB
	file    *os.File // the one db works on

	evidence evidence.Store // the bytes of certificates
	cache    *evidence.Cache

	mu        sync.Mutex
	campaigns []Campaign       // by number, from 1; the slice is replaced, never changed
	parts     sync.Mutex       // of arriving, and while a part is removed, which a bucket may take long for
	arriving  map[proof.ID]int // certificates on their way

	requests  chan *request
	closing   chan struct{} // closed by Close: new requests are refused
	stopped   chan struct{} // closed when the writer has ended
	closeOnce sync.Once
	closeErr  error

	failed atomic.Pointer[error] // the failure after which the store writes nothing

	removing sync.WaitGroup // of parts from a bucket
	held     *os.File       // the lock on the folder of the parts; nil: none
}

// Create makes a new store at path and opens it. A crash in the middle leaves nothing at path. It may
// leave a temporary file ".NAME.*.tmp" beside it; a later Create or Open removes that file once it is old.
// It refuses a place that has parts already: the new store does not know them, and would
// remove them as strays. Errors: disk.ErrExists, ErrCampaign, ErrInvalid, ErrNoRoom, those of Open, and those of
// the file system.
func Create(path string, c Campaign, o Options) (*Store, error) {
	if err := create(path, c, o.withDefaults()); err != nil {
		return nil, fmt.Errorf("create proof store: %w", err)
	}
	return Open(path, o)
}

// create writes the whole file under a temporary name, syncs it once, and then gives it its name.
// So whoever finds a file at path finds a complete store. bbolt's own syncs are off meanwhile:
// nobody relies on the file before it has its name.
func create(path string, c Campaign, o Options) (err error) {
	if o.ReadOnly {
		return fmt.Errorf("%w: create it without ReadOnly", ErrReadOnly)
	}
	c.Created = cmp.Or(c.Created, time.Now()).UTC().Truncate(time.Second)
	c.Number, c.Pool = 1, 1
	if c.Evidence, err = absolute(o.Evidence); err != nil {
		return err
	}
	if _, err := c.Check(); err != nil {
		return err
	}
	file, err := disk.New(path)
	if err != nil {
		return err
	}
	defer file.Discard()
	if err := o.room(filepath.Dir(path), 0); err != nil {
		return err
	}
	if c.Evidence == "" {
		err = Unused(path)
	} else {
		err = evidence.Claim(c.Evidence, path)
	}
	if err != nil {
		return err
	}
	disk.AfterStep("temporary file")

	// The file is synced as a whole before it gets its name; until then nobody relies on it.
	db, err := bbolt.Open(file.Name(), 0o600, &bbolt.Options{Timeout: o.LockTimeout, PageSize: pageSize,
		FreelistType: bbolt.FreelistMapType, NoSync: true, NoGrowSync: true})
	if err != nil {
		return err
	}
	disk.AfterStep("pages")
	err = db.Update(func(tx *bbolt.Tx) error {
		for _, name := range record.BucketNames {
			if _, err := tx.CreateBucket([]byte(name)); err != nil {
				return err
			}
		}
		campaign, err := record.EncodeJSON(record.KeyCampaign, c)
		if err != nil {
			return err
		}
		meta := metaOf(tx)
		return errors.Join(
			meta.Put([]byte(record.KeyMagic), record.Seal(record.BucketMeta, []byte(record.KeyMagic),
				[]byte(record.Magic))),
			meta.Put([]byte(record.KeyFormat), record.EncodeFormat(record.Format)),
			meta.Put([]byte(record.KeyCampaign), campaign),
			meta.Put([]byte(record.KeyCounters), record.EncodeCounters(record.Counters{})))
	})
	if err = errors.Join(err, db.Close()); err != nil {
		return err
	}
	disk.AfterStep("records")
	return file.Publish()
}

// Open opens the store at path. It verifies the page structure and the records about the store
// itself before anything may write to the file. Facts, tree positions and certificates are verified
// when they are read.
// Errors: ErrMissing, ErrForeign, ErrVersion, ErrCorrupt, ErrLocked, ErrInvalid, evidence.ErrPlace,
// evidence.ErrAway, and those of the file system.
func Open(path string, o Options) (*Store, error) { return open(path, o, false) }

// open is Open. With alone it keeps even readers away from a store that is opened for reading only.
func open(path string, o Options, alone bool) (*Store, error) {
	s := &Store{
		path:     path,
		options:  o.withDefaults(),
		requests: make(chan *request, 256),
		closing:  make(chan struct{}),
		stopped:  make(chan struct{}),
		arriving: map[proof.ID]int{},
	}
	if err := s.open(alone); err != nil {
		s.place(err)
		return nil, fmt.Errorf("open proof store: %w", err)
	}
	go s.write()
	return s, nil
}

// open takes the steps in an order in which each protects the next:
//
//   - Only a regular file is opened: a pipe would block, and a device may do anything.
//   - The lock comes before the first read, so that nobody writes while the file is judged.
//   - The path is looked at again under the lock. A compaction may have put another file there.
//   - The gate reads the file without bbolt, which may crash on a damaged one.
//   - Only then bbolt gets the file that is open already, so that both mean the same file.
func (s *Store) open(alone bool) error {
	info, err := os.Stat(s.path)
	if errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("%w at %s; create one, or give the path of an existing one", ErrMissing, s.path)
	} else if err != nil {
		return err
	}
	if !info.Mode().IsRegular() { // opening a pipe would wait for its other end
		return fmt.Errorf("%w: %s is a %s, where the file of a store is wanted", ErrForeign, s.path,
			gate.KindOf(info.Mode()))
	}
	flag := os.O_RDWR
	if s.options.ReadOnly {
		flag = os.O_RDONLY
	}
	f, err := os.OpenFile(s.path, flag, 0)
	if err != nil {
		return err
	}
	s.file = f
	locked := fmt.Errorf("%w: %s is in use by another process; stop it, or ask it instead of the file", ErrLocked,
		s.path)
	if err := disk.Lock(f, !s.options.ReadOnly, s.options.LockTimeout); err != nil {
		f.Close()
		if errors.Is(err, disk.ErrLocked) {
			return locked
		}
		return err
	}
	// While we waited, a compaction may have replaced the file; then we locked the old one.
	if now, err := os.Stat(s.path); err != nil || !same(f, now) {
		f.Close()
		return locked
	}
	if err := guard(func() error { return gate.Verify(f, s.path, s.options.acceptOlder) }); err != nil {
		f.Close()
		return err
	}
	ahead := 0
	if size, reserve := info.Size(), s.options.mapAhead; !s.options.ReadOnly && reserve > 0 &&
		strconv.IntSize == 64 {
		ahead = int(size + reserve)
	}
	err = guard(func() (err error) {
		s.db, err = bbolt.Open(s.path, 0, &bbolt.Options{
			Timeout:         s.options.LockTimeout,
			FreelistType:    bbolt.FreelistMapType,
			ReadOnly:        s.options.ReadOnly,
			PreLoadFreelist: true,
			MaxSize:         int(s.options.storeBytes),
			InitialMmapSize: ahead,
			OpenFile:        func(string, int, os.FileMode) (*os.File, error) { return f, nil },
		})
		return err
	})
	if err != nil {
		f.Close()
		if errors.Is(err, bolterrors.ErrTimeout) {
			return locked
		} else if errors.Is(err, syscall.ENOMEM) {
			return fmt.Errorf("%w: %d GiB of address space, not of memory, are needed (ulimit -v)", err, ahead>>30+1)
		}
		return err
	}
	if alone { // bbolt has just made the lock a shared one
		if err := disk.Lock(f, true, s.options.LockTimeout); err != nil {
			s.db.Close()
			return locked
		}
	}
	if err := s.begin(); err != nil {
		_ = s.held.Close()
		s.db.Close()
		return err
	}
	if !s.options.ReadOnly { // of a process that was killed while it made the store, some time ago
		disk.RemoveLeftovers(s.path, time.Minute)
	}
	return nil
}

// begin reads what the store is about. It removes no part that the store does not know: this may be an older copy of
// the store, beside the parts of the newer one.
func (s *Store) begin() error {
	err := s.view(func(tx *bbolt.Tx) (err error) {
		if s.campaigns, err = readCampaigns(tx); err != nil {
			return err
		}
		_, err = readCounters(tx)
		return err
	})
	if err == nil {
		err = s.openEvidence()
	}
	return err
}

// same reports whether an open file is the file that was found at a path.
func same(f *os.File, at fs.FileInfo) bool {
	info, err := f.Stat()
	return err == nil && os.SameFile(info, at)
}

// guard turns a panic of bbolt over a damaged file, and a fault in its memory map (the file was cut
// short while it was open), into an error.
func guard(f func() error) (err error) {
	defer debug.SetPanicOnFault(debug.SetPanicOnFault(true))
	defer func() {
		if r := recover(); r != nil {
			if _, ours := r.(runtime.Error); ours {
				r = "it was cut short or damaged while it was open"
			}
			err = record.Damaged("", "it cannot be read: %v", r)
		}
	}()
	return f()
}

// view runs f in a reading transaction. f must not call code of the store's users.
func (s *Store) view(f func(tx *bbolt.Tx) error) error {
	err := guard(func() error { return s.db.View(f) })
	s.place(err)
	if errors.Is(err, bolterrors.ErrDatabaseNotOpen) {
		return ErrClosed
	}
	return err
}

// place adds the path of the store to the first damage in err.
func (s *Store) place(err error) {
	if c, ok := errors.AsType[*record.CorruptError](err); ok {
		c.Path = s.path
	}
}

// metaOf returns the bucket of the records about the store.
func metaOf(tx *bbolt.Tx) *bbolt.Bucket { return tx.Bucket([]byte(record.BucketMeta)) }

// withPrefix yields the records about the store whose keys begin with a prefix, in the order of the keys.
func withPrefix(tx *bbolt.Tx, prefix string) iter.Seq2[string, []byte] {
	return func(yield func(string, []byte) bool) {
		cursor := metaOf(tx).Cursor()
		for k, v := cursor.Seek([]byte(prefix)); bytes.HasPrefix(k, []byte(prefix)); k, v = cursor.Next() {
			if !yield(string(k), v) {
				return
			}
		}
	}
}

// contradictionIn returns the contradiction that stopped a campaign, nil if there is none.
func contradictionIn(tx *bbolt.Tx, number uint32) (*tree.Contradiction, error) {
	if v := metaOf(tx).Get([]byte(record.Of(record.KeyContradiction, number))); v != nil {
		return record.DecodeContradiction(number, v)
	}
	return nil, nil
}

// talliesOf returns the counters of a campaign and those of its pool.
func talliesOf(c *record.Counters, about Campaign) (own, shared *record.Tally, err error) {
	if own, shared = c.Of(about.Number), c.Of(about.Pool); own == nil || shared == nil {
		err = record.Corrupt(record.BucketMeta, []byte(record.Of(record.KeyCounters, about.Number)), "it is missing")
	}
	return own, shared, err
}

// readCounters reads the counters of the store and of each further campaign. It is called at the
// begin of each transaction: the counters on disk are the truth, and there is no copy in memory to
// go stale.
func readCounters(tx *bbolt.Tx) (record.Counters, error) {
	value := metaOf(tx).Get([]byte(record.KeyCounters))
	if value == nil {
		return record.Counters{}, record.Corrupt(record.BucketMeta, []byte(record.KeyCounters), "it is missing")
	}
	c, err := record.DecodeCounters(value)
	if err != nil {
		return record.Counters{}, err
	}
	c.More = map[uint32]*record.Tally{}
	for k, v := range withPrefix(tx, record.KeyCounters+"/") {
		n := record.NumberIn(record.KeyCounters, k)
		if n == 0 {
			return record.Counters{}, record.Corrupt(record.BucketMeta, []byte(k), "no such record belongs to a store")
		}
		own, err := record.DecodeTally(n, v)
		if err != nil {
			return record.Counters{}, err
		}
		c.More[n] = &own
	}
	return c, nil
}

// writeCounters writes the counters that differ from the stored ones.
func writeCounters(tx *bbolt.Tx, c record.Counters) error {
	meta := metaOf(tx)
	if err := meta.Put([]byte(record.KeyCounters), record.EncodeCounters(c)); err != nil {
		return err
	}
	for n, own := range c.More {
		key, value := []byte(record.Of(record.KeyCounters, n)), record.EncodeTally(n, *own)
		if bytes.Equal(meta.Get(key), value) {
			continue
		}
		if err := meta.Put(key, value); err != nil {
			return err
		}
	}
	return nil
}

// Path returns the path with which the store was opened.
func (s *Store) Path() string { return s.path }

// Close waits for the commits under way and closes the file. Other methods then return ErrClosed.
func (s *Store) Close() error {
	s.closeOnce.Do(func() {
		close(s.closing)
		<-s.stopped
		s.removing.Wait()
		s.cache.Close()
		_ = s.held.Close() // to close a nil file only returns an error
		if s.failed.Load() == nil {
			s.closeErr = s.db.Close()
			return
		}
		closed := make(chan error, 1)
		go func() { closed <- s.db.Close() }()
		select { // a transaction over a damaged file may never have ended, and bbolt waits for it
		case s.closeErr = <-closed:
		case <-time.After(time.Second):
		}
	})
	return s.closeErr
}

// Snapshot returns the records from which the tree of a campaign starts, as of one moment, with all
// facts of its pool. It takes about 80 bytes of memory a record. Damage is a *record.CorruptError;
// then the snapshot is not whole and must not be used.
func (s *Store) Snapshot(campaign uint32) (tree.Snapshot, error) {
	var snap tree.Snapshot
	about, err := s.campaign(campaign)
	if err != nil {
		return snap, fmt.Errorf("read proof store: %w", err)
	}
	err = s.view(func(tx *bbolt.Tx) error {
		c, err := readCounters(tx)
		if err != nil {
			return err
		}
		own, shared, err := talliesOf(&c, about)
		if err != nil {
			return err
		}
		snap.Spent, snap.Epoch = own.Searched, own.Epoch
		if snap.Contradiction, err = contradictionIn(tx, about.Number); err != nil {
			return err
		}
		// Nodes and facts are read in one transaction, so they are of one moment.
		// The counters come from the file: they only guess the capacity.
		snap.Nodes = make([]tree.NodeRecord, 0, min(own.Positions, 1<<20))
		snap.Facts = make([]proof.Fact, 0, min(shared.Facts, 1<<20))
		nodes, facts := record.Of(record.BucketNodes, about.Number), record.Of(record.BucketFacts, about.Pool)
		err = each(tx, nodes, record.DecodeNode, func(n tree.NodeRecord) { snap.Nodes = append(snap.Nodes, n) })
		if err != nil {
			return err
		}
		err = each(tx, facts, record.DecodeFact, func(f proof.Fact) { snap.Facts = append(snap.Facts, f) })
		return cmp.Or(err, counted(nodes, uint64(len(snap.Nodes)), own.Positions),
			counted(facts, uint64(len(snap.Facts)), shared.Facts))
	})
	return snap, during("read proof store", err)
}

// each decodes the records of a bucket one after the other. It ends with the first that is damaged.
func each[R any](tx *bbolt.Tx, bucket string, decode func(bucket string, k, v []byte) (R, error), use func(R)) error {
	return tx.Bucket([]byte(bucket)).ForEach(func(k, v []byte) error {
		r, err := decode(bucket, k, v)
		if err == nil {
			use(r)
		}
		return err
	})
}

// counted returns damage where a bucket has another number of records than the counters say.
func counted(bucket string, found, expected uint64) error {
	if found != expected {
		return record.Damaged(bucket, "it has %d records where the counters say %d", found, expected)
	}
	return nil
}

// Result returns the final answer of a campaign, and false if there is none yet.
func (s *Store) Result(campaign uint32) (r Result, ok bool, err error) {
	err = s.view(func(tx *bbolt.Tx) error {
		key := record.Of(record.KeyResult, max(campaign, 1))
		v := metaOf(tx).Get([]byte(key))
		ok = v != nil
		if !ok {
			return nil
		}
		return record.DecodeJSON(key, v, &r)
	})
	return r, ok, during("read result", err)
}

// Stats are figures about a store as of one moment.
type Stats struct {
	FileBytes int64 // size of the file
	UsedBytes int64 // of them, pages in use
	report.Records
	Hints     int               // records
	Commits   uint64            // transactions in the life of the store
	Nodes     uint64            // as last committed, by all campaigns
	Campaigns []report.Progress // by number
}

// Stats returns figures; it costs microseconds.
func (s *Store) Stats() (Stats, error) {
	var st Stats
	err := s.view(func(tx *bbolt.Tx) error {
		c, err := readCounters(tx)
		if err != nil {
			return err
		}
		info, err := s.file.Stat()
		if err != nil {
			return err
		}
		b := s.db.Stats()
		st = Stats{
			FileBytes: info.Size(),
			UsedBytes: tx.Size() - int64(b.FreePageN+b.PendingPageN)*pageSize,
			Records:   report.Records{Certificates: c.Certificates, CertificateBytes: c.CertificateBytes},
			Commits:   c.Commits,
		}
		campaigns, err := readCampaigns(tx)
		if err != nil {
			return err
		}
		for _, about := range campaigns {
			own, shared, err := talliesOf(&c, about)
			if err != nil {
				return err
			}
			st.TreeRecords += own.Positions
			st.Facts += own.Facts
			st.Nodes += own.Searched
			if about.Pool == about.Number {
				st.Hints += tx.Bucket([]byte(record.Of(record.BucketHints, about.Number))).Stats().KeyN
			}
			st.Campaigns = append(st.Campaigns, report.Progress{TreeRecords: own.Positions, Facts: shared.Facts,
				Nodes: own.Searched, Epoch: own.Epoch})
		}
		return nil
	})
	return st, during("read statistics", err)
}
