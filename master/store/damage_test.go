package store

import (
	"bytes"
	"encoding/hex"
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

	"amazonsfarm/master/evidence"
	"amazonsfarm/master/store/page"
	"amazonsfarm/master/store/record"
	"amazonsfarm/master/tree"
	"amazonsfarm/master/tree/graph"
	"amazonsfarm/master/trust"
	"amazonsfarm/shared/disk"
	"amazonsfarm/shared/eval"
	"amazonsfarm/shared/proof"
)

// everyRecord fills a store with records of each kind.
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
	copyParts(t, s.Path(), path)
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
		s = &Store{path: s.path, db: db, cache: evidence.NewCache(nil), closing: make(chan struct{}),
			stopped: make(chan struct{})}
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
	if err != nil || len(records) != 11 {
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
		if r.key == record.KeyContradiction || r.key == record.KeyResult ||
			kindStanding.has([]byte(r.key)) || kindQuarantine.has([]byte(r.key)) {
			continue
		}
		if err := s.db.Update(func(tx *bbolt.Tx) error {
			return tx.Bucket([]byte(r.bucket)).Delete(
				[]byte(r.key))
		}); err != nil {
			t.Fatal(err)
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
	want, err := s.Snapshot(1)
	if err != nil {
		t.Fatal(err)
	}
	list, _ := everyCertificate(s)
	s.Close()
	whole, _ := os.ReadFile(s.Path())
	path := filepath.Join(t.TempDir(), "flipped")
	copyParts(t, s.Path(), path)
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

// TestDamagedPart damages the part of a certificate in each way, while the store is open and before it is
// opened. The check names it, nobody reads a wrong byte, the store asks for the certificate again, and
// with it all is well.
func TestDamagedPart(t *testing.T) {
	p, id := payloadOf(1, 100_000)
	other, otherID := payloadOf(2, 100_000)
	for what, damage := range map[string]func(path string) error{
		"missing":   os.Remove,
		"truncated": func(path string) error { return os.Truncate(path, 99_999) },
		"longer":    func(path string) error { return os.Truncate(path, 100_001) },
		"empty":     func(path string) error { return os.Truncate(path, 0) },
		"flipped": func(path string) error {
			return os.WriteFile(path, append(bytes.Clone(p[:50_000]), append([]byte{p[50_000] ^ 1}, p[50_001:]...)...),
				0o600)
		},
		"another's": func(path string) error { return os.WriteFile(path, other, 0o600) },
		"a folder":  func(path string) error { return errors.Join(os.Remove(path), os.Mkdir(path, 0o700)) },
	} {
		s := newStore(t, quick)
		upload(t, s, other)
		upload(t, s, p)
		if err := s.commit(tree.Persist{Facts: []proof.Fact{factOf(1, id)}}); err != nil {
			t.Fatal(err)
		}
		path := partFile(s.Path(), id)
		s.Close()
		s = mustOpen(t, s.Path(), quick) // nothing is known as whole
		early, _, err := s.OpenCertificate(id)
		if err != nil {
			t.Fatal(err)
		}
		s.cache.Forget(id)
		if err := damage(path); err != nil {
			t.Fatal(what, err)
		}
		if err := s.Check(); !errors.Is(err, ErrCorrupt) || !strings.Contains(err.Error(), filepath.Base(path)) ||
			strings.Contains(err.Error(), hex.EncodeToString(otherID[:])) {
			t.Errorf("%s: the check says %v", what, err)
		}
		if n, err := early.ReadAt(make([]byte, 10), 3); n != 0 || !errors.Is(err, ErrCorrupt) {
			t.Errorf("%s: an open reader reads %d bytes, %v", what, n, err)
		}
		if _, _, err := s.OpenCertificate(id); !errors.Is(err, ErrCorrupt) {
			t.Errorf("%s: it is opened: %v", what, err)
		}
		if _, err := s.Certificate(1, id); !errors.Is(err, ErrCorrupt) || s.HasCertificate(1, id) {
			t.Errorf("%s: it is there: %v", what, err)
		}
		if r, err := s.Certificate(1, otherID); err != nil || !bytes.Equal(r, other) {
			t.Errorf("%s: the other one: %v", what, err)
		}
		if what == "a folder" { // an operator has to look
			continue
		}
		if known, err := s.PutCertificate(1, id, p); known || err != nil {
			t.Errorf("%s: it is not taken again: %v, %v", what, known, err)
		}
		if got, err := s.Certificate(1, id); err != nil || !bytes.Equal(got, p) {
			t.Errorf("%s: after it came again: %v", what, err)
		}
		check(t, s)
		if st, err := s.Stats(); err != nil || st.Certificates != 2 || st.CertificateBytes != 200_000 {
			t.Errorf("%s: %+v, %v", what, st, err)
		}
	}
	// Without the whole folder there is one finding, and one for a stranger in it.
	s := newStore(t, quick)
	upload(t, s, other)
	upload(t, s, p)
	s.Close()
	if err := os.WriteFile(filepath.Join(EvidenceFolder(s.Path()), "letter"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	r, err := CheckFile(t.Context(), s.Path(), nil)
	if err != nil || r.Good || len(r.Findings) != 1 || !strings.Contains(r.Findings[0], "letter") {
		t.Errorf("%+v, %v", r, err)
	}
	if err := os.RemoveAll(EvidenceFolder(s.Path())); err != nil {
		t.Fatal(err)
	}
	r, err = CheckFile(t.Context(), s.Path(), nil)
	if err != nil || r.Good || len(r.Findings) != 1 || !strings.Contains(r.Findings[0], EvidenceFolder(s.Path())) {
		t.Errorf("%+v, %v", r, err)
	}
}
