package store

import (
	"bytes"
	"encoding/binary"
	"errors"
	"io"
	"math/rand/v2"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"
	"time"

	"go.etcd.io/bbolt"

	"amazonsfarm/master/store/page"
	"amazonsfarm/master/store/record"
	"amazonsfarm/master/tree"
	"amazonsfarm/master/tree/graph"
	"amazonsfarm/master/trust"
	"amazonsfarm/shared/disk"
	"amazonsfarm/shared/eval"
	"amazonsfarm/shared/proof"
)

// everyRecord fills a store with records of each kind, among them an unfinished upload.
func everyRecord(t testing.TB, s *Store, records uint64) {
	t.Helper()
	p, _ := payloadOf(1, 70_000)
	id := upload(t, s, p)
	b := tree.Persist{Spent: 5, Epoch: 2, Contradiction: &tree.Contradiction{Key: keyOf(1),
		Known: graph.Claim{Verdict: eval.Won, Basis: graph.ByFact, Fact: factOf(1, id), Worker: "w"}}}
	for i := range records {
		b.Nodes = append(b.Nodes, nodeOf(i))
		b.Facts = append(b.Facts, factOf(10_000+i, id))
	}
	if err := errors.Join(s.commit(b), s.SetResult(1, Result{Verdict: "won", Winner: "white",
		Certificate: CertificateFile{Path: "x"}}),
		s.Quarantine(trust.Quarantine{Party: trust.Party{Name: "liar"}, Offences: 3}),
		s.SetStandings([]trust.Standing{{Party: trust.Party{Name: "w"}, Confirmed: 7, Offences: 2}})); err != nil {
		t.Fatal(err)
	}
	err := s.db.Update(func(tx *bbolt.Tx) error {
		key := record.ChunkKey(2, 0)
		c, err := readCounters(tx)
		c.Uploads = 2
		return errors.Join(err,
			tx.Bucket([]byte(record.BucketUploads)).Put(record.UploadKey(2), record.EncodeUpload(2, proof.ID{9}, 100)),
			tx.Bucket([]byte(record.BucketChunks)).Put(key,
				record.Seal(record.BucketChunks, key, []byte("unfinished"))),
			tx.Bucket([]byte(record.BucketMeta)).Put([]byte(record.KeyCounters), record.EncodeCounters(c)))
	})
	if err != nil {
		t.Fatal(err)
	}
}

func TestMissingAndForeign(t *testing.T) {
	folder := t.TempDir()
	at := func(name string) string { return filepath.Join(folder, name) }
	if _, err := Open(at("none"), quick); !errors.Is(err, ErrMissing) {
		t.Error(err)
	}
	if _, err := os.Lstat(at("none")); err == nil {
		t.Error("Open made a file")
	}
	if _, err := Open(folder, quick); !errors.Is(err, ErrForeign) || !strings.Contains(err.Error(), "folder") {
		t.Error(err)
	}
	write := func(name string, p []byte) {
		if err := os.WriteFile(at(name), p, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	other := func(name string, o *bbolt.Options, fill func(*bbolt.Tx) error) {
		db, err := bbolt.Open(at(name), 0o600, o)
		if err == nil {
			err = errors.Join(db.Update(fill), db.Close())
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	write("empty", nil)
	write("short", []byte("x"))
	write("text", []byte(strings.Repeat("A letter to a friend.\n", 5000)))
	noise, _ := payloadOf(5, 100_000)
	write("noise", noise)
	write("zeros", make([]byte, 100_000))
	put := func(bucket, key, value string) func(*bbolt.Tx) error {
		return func(tx *bbolt.Tx) error {
			b, err := tx.CreateBucketIfNotExists([]byte(bucket))
			return errors.Join(err, b.Put([]byte(key), []byte(value)))
		}
	}
	other("bolt", nil, func(*bbolt.Tx) error { return nil })
	other("bolt-members", nil, put("members", "a", "b"))
	other("bolt-meta", nil, put("meta", "consistent_index", "b"))
	other("bolt-magic", nil, put("meta", "magic", "another program"))
	other("bolt-large-pages", &bbolt.Options{PageSize: 16384}, put("meta", "a", "b"))
	// bbolt writes to it when it opens
	other("bolt-no-freelist", &bbolt.Options{NoFreelistSync: true}, put("meta", "a", "b"))
	for _, name := range []string{"empty", "short", "text", "noise", "zeros", "bolt", "bolt-members", "bolt-meta",
		"bolt-magic", "bolt-large-pages", "bolt-no-freelist"} {
		untouched(t, at(name), ErrForeign)
		if _, err := Create(at(name), testCampaign, quick); !errors.Is(err, disk.ErrExists) {
			t.Errorf("%s: %v", name, err)
		}
		untouched(t, at(name), ErrForeign)
	}
}

// untouched opens a file in both ways, expects the error, and that the file stays as it was.
func untouched(t *testing.T, path string, want error) {
	t.Helper()
	old := time.Now().Add(-time.Hour).Truncate(time.Second)
	if err := os.Chtimes(path, old, old); err != nil {
		t.Fatal(err)
	}
	before, _ := os.ReadFile(path)
	for _, o := range []Options{quick, {ReadOnly: true}} {
		s, err := Open(path, o)
		if err == nil {
			s.Close()
		}
		if !errors.Is(err, want) || strings.Contains(err.Error(), "\n") {
			t.Errorf("%s: %v", filepath.Base(path), err)
		}
	}
	after, _ := os.ReadFile(path)
	info, _ := os.Stat(path)
	if !bytes.Equal(before, after) || !info.ModTime().Equal(old) {
		t.Errorf("%s: the file was written to", filepath.Base(path))
	}
}

func TestDamagedAtOpen(t *testing.T) {
	s := newStore(t, quick)
	everyRecord(t, s, 2000)
	s.Close()
	whole, err := os.ReadFile(s.Path())
	if err != nil {
		t.Fatal(err)
	}
	headers, err := page.ReadHeaders(bytes.NewReader(whole), int64(len(whole)))
	if err != nil || len(headers) != 2 {
		t.Fatal(headers, err)
	}
	newest, older := int64(0), int64(pageSize)
	if headers[1].TxID > headers[0].TxID {
		newest, older = older, newest
	}
	path := filepath.Join(t.TempDir(), "damaged")
	damaged := func(change func(p []byte) []byte) string {
		if err := os.WriteFile(path, change(bytes.Clone(whole)), 0o600); err != nil {
			t.Fatal(err)
		}
		return path
	}
	for _, size := range []int{100, 4000, 4096, 8192, 20_000, int(headers[0].High)*pageSize - 1} {
		untouched(t, damaged(func(p []byte) []byte { return p[:size] }), ErrCorrupt)
	}
	flip := func(places ...int64) func(p []byte) []byte {
		return func(p []byte) []byte {
			for _, at := range places {
				p[at] ^= 4
			}
			return p
		}
	}
	for _, at := range []int64{newest, older} {
		for i := range int64(page.MetaBytes) {
			untouched(t, damaged(flip(at+page.HeaderBytes+i)), ErrCorrupt)
		}
	}
	untouched(t, damaged(flip(page.HeaderBytes+20, pageSize+page.HeaderBytes+20)), ErrCorrupt)

	// With AcceptOlder the store is as of the commit before.
	s, err = Open(damaged(flip(newest+page.HeaderBytes+20)),
		Options{MinFreeBytes: -1, limits: limits{acceptOlder: true}})
	if err != nil {
		t.Fatal(err)
	}
	if err := s.Check(); !errors.Is(err, ErrCorrupt) || !strings.Contains(err.Error(), "header") {
		t.Error(err)
	}
	for i := range uint64(2) {
		if err := s.commit(tree.Persist{Nodes: []tree.NodeRecord{nodeOf(i)}}); err != nil {
			t.Fatal(err)
		}
	}
	check(t, s)
	s.Close()
	mustOpen(t, path, quick).Close()
}

func TestVersions(t *testing.T) {
	s := newStore(t, quick)
	for _, version := range []uint32{0, record.Format + 1} {
		err := s.db.Update(func(tx *bbolt.Tx) error {
			// A later format may have other buckets and records.
			_, err := tx.CreateBucketIfNotExists([]byte("of the future"))
			return errors.Join(err, tx.Bucket([]byte(record.BucketMeta)).Put([]byte(record.KeyFormat),
				record.EncodeFormat(version)))
		})
		if err != nil {
			t.Fatal(err)
		}
		s.Close()
		untouched(t, s.Path(), ErrVersion)
		db, err := bbolt.Open(s.Path(), 0o600, nil)
		if err != nil {
			t.Fatal(err)
		}
		s = &Store{path: s.path, db: db, closing: make(chan struct{}), stopped: make(chan struct{})}
		close(s.stopped)
	}
	s.Close()
}

// TestFlippedRecord flips each byte of key and value of one record of every kind, beneath the
// checksums of none but the record: Check names its place, and so does whatever reads it.
func TestFlippedRecord(t *testing.T) {
	s := newStore(t, quick)
	everyRecord(t, s, 3)
	check(t, s)
	type stored struct{ bucket, key, value string }
	seen := map[string]bool{}
	var records []stored
	err := s.db.View(func(tx *bbolt.Tx) error {
		for _, name := range record.BucketNames {
			tx.Bucket([]byte(name)).ForEach(func(k, v []byte) error {
				kind := name
				if name == record.BucketMeta {
					kind += string(k)
				}
				if !seen[kind] {
					seen[kind] = true
					records = append(records, stored{name, string(k), string(v)})
				}
				return nil
			})
		}
		return nil
	})
	if err != nil || len(records) != 13 {
		t.Fatal(len(records), err)
	}
	replace := func(bucket, remove, key, value string) {
		t.Helper()
		err := s.db.Update(func(tx *bbolt.Tx) error {
			b := tx.Bucket([]byte(bucket))
			return errors.Join(b.Delete([]byte(remove)), b.Put([]byte(key), []byte(value)))
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	s.db.NoSync = true
	for _, r := range records {
		step := 1 + len(r.value)/64
		places := len(r.key)/1 + len(r.value)
		for i := 0; i < places; i++ {
			key, value := []byte(r.key), []byte(r.value)
			if i < len(key) {
				if r.bucket == record.BucketMeta {
					continue // without the right name it is not that record
				}
				key[i] ^= 0x80
			} else {
				value[i-len(key)] ^= 1
				i += step - 1
			}
			replace(r.bucket, r.key, string(key), string(value))
			err := s.Check()
			if !errors.Is(err, ErrCorrupt) || !strings.Contains(err.Error(), "bucket "+r.bucket) {
				t.Fatalf("%s %x, byte %d flipped: %v", r.bucket, r.key, i, err)
			}
			_, snapshotErr := s.Snapshot(1)
			if (r.bucket == record.BucketNodes || r.bucket == record.BucketFacts || r.key == record.KeyCounters ||
				r.key == record.KeyContradiction) && !errors.Is(snapshotErr, ErrCorrupt) {
				t.Fatalf("%s %x, byte %d flipped: Snapshot: %v", r.bucket, r.key, i, snapshotErr)
			}
			if _, err := s.Standings(); kindStanding.has(key) != errors.Is(err, ErrCorrupt) {
				t.Fatalf("%s %x, byte %d flipped: Standings: %v", r.bucket, r.key, i, err)
			}
			if _, err := s.Quarantines(); kindQuarantine.has(key) != errors.Is(err, ErrCorrupt) {
				t.Fatalf("%s %x, byte %d flipped: Quarantines: %v", r.bucket, r.key, i, err)
			}
			replace(r.bucket, string(key), r.key, r.value)
		}
		// Missing.
		if r.key == record.KeyContradiction || r.key == record.KeyResult || r.bucket == record.BucketUploads ||
			kindStanding.has([]byte(r.key)) || kindQuarantine.has([]byte(r.key)) {
			continue
		}
		if err := s.db.Update(func(tx *bbolt.Tx) error {
			return tx.Bucket([]byte(r.bucket)).Delete(
				[]byte(r.key))
		}); err != nil {
			t.Fatal(err)
		}
		if r.bucket == record.BucketChunks && binary.BigEndian.Uint64([]byte(r.key)) == 2 {
			t.Fatal("that is a chunk of an upload")
		}
		if err := s.Check(); !errors.Is(err, ErrCorrupt) {
			t.Errorf("%s %x missing: %v", r.bucket, r.key, err)
		}
		replace(r.bucket, r.key, r.key, r.value)
	}
	check(t, s)

	// Damage in a record that a commit reads refuses that commit only.
	fact := records[len(records)-1]
	for _, r := range records {
		if r.bucket == record.BucketFacts {
			fact = r
		}
	}
	f, err := record.DecodeFact(record.BucketFacts, []byte(fact.key), []byte(fact.value))
	if err != nil {
		t.Fatal(err)
	}
	replace(record.BucketFacts, fact.key, fact.key, fact.value[:5]+"x"+fact.value[6:])
	err = s.commit(tree.Persist{Facts: []proof.Fact{f}})
	if c := (*record.CorruptError)(nil); !errors.As(err, &c) || c.Bucket != record.BucketFacts ||
		string(c.Key) != fact.key ||
		c.Path != s.Path() {
		t.Error(err)
	}
	if err := s.commit(tree.Persist{Nodes: []tree.NodeRecord{nodeOf(77)}}); err != nil {
		t.Error(err)
	}
}

// TestFlippedByte flips single bits all over the file. Each time, either somebody notices, or
// nothing that is read differs; never a crash, never a wrong record.
func TestFlippedByte(t *testing.T) {
	s := newStore(t, quick)
	everyRecord(t, s, 400)
	s.Close()
	s = mustOpen(t, s.Path(), quick) // without the unfinished upload
	want, err := s.Snapshot(1)
	if err != nil {
		t.Fatal(err)
	}
	list, _ := everyCertificate(s)
	s.Close()
	whole, _ := os.ReadFile(s.Path())
	path := filepath.Join(t.TempDir(), "flipped")
	random := rand.New(rand.NewPCG(3, 4))
	atOpen, atCheck, harmless := 0, 0, 0
	headers, err := page.ReadHeaders(bytes.NewReader(whole), int64(len(whole)))
	if err != nil {
		t.Fatal(err)
	}
	used := int(headers[0].High) * pageSize
	tries := 1000
	if testing.Short() {
		tries = 200
	}
	// Half of the flips go to the first bytes of pages, where the structure is.
	for i := range tries {
		p := bytes.Clone(whole)
		at := random.IntN(used)
		if i%2 == 0 {
			at = at/pageSize*pageSize + random.IntN(200)
		}
		p[at] ^= 1 << random.IntN(8)
		if err := os.WriteFile(path, p, 0o600); err != nil {
			t.Fatal(err)
		}
		s, err := Open(path, Options{ReadOnly: true})
		if err != nil {
			if !errors.Is(err, ErrCorrupt) && !errors.Is(err, ErrForeign) && !errors.Is(err, ErrVersion) {
				t.Fatalf("byte %d: %v", at, err)
			}
			atOpen++
			continue
		}
		checked := s.Check()
		got, err := s.Snapshot(1)
		if err == nil && !reflect.DeepEqual(want, got) {
			t.Fatalf("byte %d: the snapshot differs and nobody noticed (check: %v)", at, checked)
		}
		for _, c := range list {
			r, n, err := s.OpenCertificate(c.ID)
			if err == nil {
				_, err = io.Copy(io.Discard, io.NewSectionReader(r, 0, n))
			}
			if err != nil && checked == nil {
				t.Fatalf("byte %d: the check missed %v", at, err)
			}
		}
		if checked != nil {
			atCheck++
		} else {
			harmless++
		}
		s.Close()
	}
	t.Logf("%d flips: %d found by Open, %d by Check, %d without effect (unused bytes)", tries, atOpen, atCheck,
		harmless)
}

// TestCutWhileOpen cuts the file short under an open store: an error, not a crash.
func TestCutWhileOpen(t *testing.T) {
	s := newStore(t, quick)
	everyRecord(t, s, 2000)
	if err := os.Truncate(s.Path(), 3*pageSize); err != nil {
		t.Fatal(err)
	}
	if _, err := s.Snapshot(1); !errors.Is(err, ErrCorrupt) {
		t.Error(err)
	}
	if err := s.Check(); !errors.Is(err, ErrCorrupt) {
		t.Error(err)
	}
}
