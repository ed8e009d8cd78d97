package store

import (
	"bytes"
	"crypto/sha256"
	"encoding/binary"
	"errors"
	"hash/fnv"
	"io"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"testing"
	"time"

	"go.etcd.io/bbolt"

	"amazonsfarm/master/hints"
	"amazonsfarm/master/store/page"
	"amazonsfarm/master/store/record"
	"amazonsfarm/master/tree"
	"amazonsfarm/master/trust"
	"amazonsfarm/shared/amazons"
	"amazonsfarm/shared/eval"
	"amazonsfarm/shared/proof"
	"amazonsfarm/shared/testkit/fuzzing"
)

// fuzzStore returns the bytes of a store with records of each kind, and its path.
func fuzzStore(f *testing.F) (file []byte, path string) {
	f.Helper()
	s, err := Create(filepath.Join(f.TempDir(), "store"), testCampaign, quick)
	if err != nil {
		f.Fatal(err)
	}
	everyRecord(f, s, 5)
	if err := errors.Join(s.Commit(nil, []hints.Hint{hintOf(50, "a hint")}),
		s.Quarantine(trust.Quarantine{Party: trust.Party{Name: "w1"}, Offences: 3, Why: "it was a liar"}),
		s.SetStandings([]trust.Standing{{Party: trust.Party{Name: "w2"}, Confirmed: 3, Contradicted: 1, Forgiven: true},
			{Party: trust.Party{Name: "w1", Credential: true}, Offences: 2}})); err != nil {
		f.Fatal(err)
	}
	fuzzCampaigns(f, s)
	if err := s.Close(); err != nil {
		f.Fatal(err)
	}
	whole, err := os.ReadFile(s.Path())
	if err != nil {
		f.Fatal(err)
	}
	return whole, s.Path()
}

// fuzzCampaigns adds two campaigns with records of each kind: one that shares the facts of the
// first, and one of another board.
func fuzzCampaigns(f *testing.F, s *Store) {
	f.Helper()
	kin, other := otherCampaigns()
	for _, c := range []Campaign{kin, other} {
		c.Created = testCampaign.Created // the same bytes each time
		if _, err := s.AddCampaign(c); err != nil {
			f.Fatal(err)
		}
	}
	p, _ := payloadOf(1, 70_000)
	shared := proof.ID(sha256.Sum256(p))
	own := uploadOf(f, s, 3, []byte("evidence about 4x4"))
	board := other.ParsedBoard()
	err := errors.Join(
		s.Commit([]tree.Persist{{Campaign: 2, Nodes: []tree.NodeRecord{nodeOf(1), nodeOf(60)},
			Facts: []proof.Fact{factOf(10_050, shared)}, Spent: 7, Epoch: 3},
			{Campaign: 3, Nodes: []tree.NodeRecord{{Key: keyOn(board, 1), Phi: 4, Delta: 2, Nodes: 9,
				Expanded: true}}, Spent: 8, Epoch: 1,
				Facts:         []proof.Fact{{Key: keyOn(board, 2), Verdict: eval.Lost, Nodes: 3, Certificate: own}},
				Contradiction: &tree.Contradiction{Key: keyOn(board, 2)}}},
			[]hints.Hint{{Place: hints.Place{Campaign: 3, Key: keyOn(board, 50)}, Data: []byte("m")}}),
		s.SetResult(2, Result{Verdict: "lost", Winner: "black"}))
	if err != nil {
		f.Fatal(err)
	}
}

// fuzzOptions keep an input from reserving address space and from asking the disk how full it is.
func fuzzOptions(readOnly bool) Options {
	return Options{MinFreeBytes: -1, ReadOnly: readOnly,
		limits: limits{mapAhead: -1, acceptOlder: true, storeBytes: 64 << 20}}
}

// contents are what can be read of a store.
type contents struct {
	Campaigns   []campaignContents
	Sums        map[proof.ID][32]byte
	For         map[proof.ID]uint32 // the campaign for whose facts a certificate is
	Quarantines []trust.Quarantine
	Standings   []trust.Standing
}

// campaignContents are those of one campaign.
type campaignContents struct {
	Campaign Campaign
	Snapshot tree.Snapshot
	Result   Result
	Has      bool
	Hint     []byte
	Stopped  *tree.Contradiction
}

// readAll reads everything there is, and says whether the check found fault with it. Errors are
// those of a damaged store.
func readAll(t *testing.T, s *Store) (c contents, checked error) {
	checked = s.Check()
	ok := func(err error) bool {
		if err != nil && !errors.Is(err, ErrCorrupt) {
			t.Fatalf("a damaged store says %v", err)
		}
		if err != nil && checked == nil {
			t.Fatalf("the check missed %v", err)
		}
		return err == nil
	}
	if checked != nil {
		ok(checked)
	}
	for _, about := range s.Campaigns() {
		own := campaignContents{Campaign: about}
		var err error
		own.Snapshot, err = s.Snapshot(about.Number)
		ok(err)
		own.Result, own.Has, err = s.Result(about.Number)
		ok(err)
		own.Hint, err = s.Hint(about.Number, keyOn(about.ParsedBoard(), 50))
		ok(err)
		own.Stopped, err = s.Contradicted(about.Number)
		ok(err)
		c.Campaigns = append(c.Campaigns, own)
	}
	_, err := s.Stats()
	ok(err)
	c.Quarantines, err = s.Quarantines()
	ok(err)
	c.Standings, err = s.Standings()
	ok(err)
	list, err := everyCertificate(s)
	ok(err)
	c.Sums, c.For = map[proof.ID][32]byte{}, map[proof.ID]uint32{}
	for _, info := range list {
		c.For[info.ID] = info.Pool
		r, n, err := s.OpenCertificate(info.ID)
		if !ok(err) {
			continue
		}
		sum := sha256.New()
		if _, err = io.Copy(sum, io.NewSectionReader(r, 0, min(n, 1<<20))); ok(err) && n <= 1<<20 {
			if c.Sums[info.ID] = [32]byte(sum.Sum(nil)); checked == nil && c.Sums[info.ID] != [32]byte(info.ID) {
				t.Fatalf("the check missed that certificate %x is another one", info.ID)
			}
		}
	}
	if checked == nil {
		for _, own := range c.Campaigns {
			restore(t, own)
		}
	}
	return c, checked
}

// restore holds that what the check takes, a campaign can be restored from, or the tree says why not.
func restore(t *testing.T, c campaignContents) {
	t.Helper()
	root, err := amazons.ParsePosition(c.Campaign.Root)
	if err != nil {
		t.Fatalf("the root of a checked store: %v", err)
	}
	var first []amazons.Move
	for _, text := range c.Campaign.FirstMoves {
		m, err := root.ParseMove(text)
		if err != nil {
			t.Fatalf("a first move of a checked store: %v", err)
		}
		first = append(first, m)
	}
	again, err := tree.New(tree.Config{Root: root, FirstMoves: first}, c.Snapshot)
	if err == nil {
		if err := again.Audit(); err != nil {
			t.Fatal(err)
		}
	} else if !errors.Is(err, tree.ErrSnapshot) {
		t.Fatal(err)
	}
}

// use opens a store in both ways, reads it, writes to it and reads it again. It returns what was
// read, and whether all was well with it before.
func use(t *testing.T, path string) (c contents, whole bool) {
	s, err := Open(path, fuzzOptions(true))
	if err != nil {
		return c, false // of any kind: a file system may say much
	}
	c, checked := readAll(t, s)
	s.Close()
	if s, err = Open(path, fuzzOptions(false)); err != nil {
		if checked == nil {
			t.Fatalf("a store that is whole cannot be opened for writing: %v", err)
		}
		return c, false
	}
	defer s.Close()
	err = goOn(s)
	if checked != nil {
		return c, false
	}
	if err != nil && !errors.Is(err, ErrContradiction) && !errors.Is(err, ErrNoRoom) && !errors.Is(err, ErrTaken) {
		t.Fatalf("a store that is whole takes nothing: %v", err)
	}
	if _, err := readAll(t, s); err != nil {
		t.Fatalf("writing to a store that was whole damaged it: %v", err)
	}
	return c, true
}

// goOn writes to all campaigns of a store, changes one and adds one.
func goOn(s *Store) error {
	campaigns := s.Campaigns()
	batches := make([]tree.Persist, 0, len(campaigns))
	for _, about := range campaigns {
		p, id := payloadOf(uint64(about.Pool)+2, 100)
		if err := put(s, about.Number, p, id); err != nil {
			return err
		}
		board := about.ParsedBoard()
		node, fact := nodeOf(70), factOf(71, id)
		node.Key, fact.Key = keyOn(board, 70), keyOn(board, 71)
		batches = append(batches, tree.Persist{Campaign: about.Number, Nodes: []tree.NodeRecord{node},
			Facts: []proof.Fact{fact}, Spent: 1})
	}
	priority := 9
	if _, err := s.ChangeCampaign(campaigns[len(campaigns)-1].Number, Change{Priority: &priority}); err != nil {
		return err
	}
	_, err := s.AddCampaign(Campaign{Name: "more", Board: "4x5", Root: "4x5"})
	return errors.Join(err, s.commit(batches...), s.SetStandings([]trust.Standing{{Party: trust.Party{Name: "w1"},
		Solved: 1}, {Party: trust.Party{Name: "w2"}},
		{Party: trust.Party{Name: "w3"}, Solved: 1}}), s.Quarantine(trust.Quarantine{Party: trust.Party{Name: "w3"}}))
}

// FuzzPages changes bytes all over a file of a store, with the checksums of its two headers made
// right where the input wants that, and then uses it. Nothing panics, what is found is damage, what
// the check takes is what was written, and writing does not make it worse.
func FuzzPages(f *testing.F) {
	whole, parts := fuzzStore(f)
	f.Add([]byte{1, 0, 0, 0, 3, 1, 2, 3}, false)
	f.Add([]byte{1, 2, 8, 0, 6, 1, 0, 255, 255, 255, 255}, true)
	f.Add([]byte{2, 3, 12, 0, 4, 255, 255, 255, 127, 0, 32, 0, 1, 9}, true)
	f.Add([]byte{1, 0, 64, 0, 1, 9, 4, 10, 0, 1, 200, 7, 26, 0, 2, 1, 1}, true)
	path := filepath.Join(f.TempDir(), "store")
	copyParts(f, parts, path)
	if err := os.WriteFile(path, whole, 0o600); err != nil {
		f.Fatal(err)
	}
	var want contents
	f.Fuzz(func(t *testing.T, edits []byte, resealed bool) {
		if len(edits) > 4096 {
			return
		}
		if want.Sums == nil {
			s := mustOpen(t, path, fuzzOptions(true))
			var err error
			if want, err = readAll(t, s); err != nil {
				t.Fatal(err)
			}
			s.Close()
		}
		p := bytes.Clone(whole)
		tape := fuzzing.Tape{Rest: edits}
		for range 20 {
			if !tape.More() {
				break
			}
			number, at := tape.Choose(len(p)/pageSize), tape.Choose(256)+int(tape.Byte())<<8
			copy(p[number*pageSize+at%pageSize:], tape.Bytes(64))
		}
		if resealed {
			for _, start := range []int{0, pageSize} {
				meta := p[start+page.HeaderBytes:]
				sum := fnv.New64a()
				sum.Write(meta[:56])
				binary.NativeEndian.PutUint64(meta[56:], sum.Sum64())
			}
		}
		file := filepath.Join(t.TempDir(), "store")
		copyParts(t, parts, file)
		if err := os.WriteFile(file, p, 0o600); err != nil {
			t.Fatal(err)
		}
		headers, err := page.ReadHeaders(bytes.NewReader(p), int64(len(p)))
		fuzzing.Within(t, 20*time.Second, 256<<20, func() {
			// With one header the state before the last commit counts, and headers made right may
			// name any state.
			if got, ok := use(t, file); ok && !resealed && err == nil && len(headers) == 2 &&
				!reflect.DeepEqual(got, want) {
				t.Fatalf("nobody noticed: %+v instead of %+v", got, want)
			}
		})
	})
}

// fuzzBuckets are those of fuzzStore.
var fuzzBuckets = append(slices.Clone(record.BucketNames), record.Of(record.BucketNodes, 2),
	record.Of(record.BucketNodes, 3), record.Of(record.BucketFacts, 3),
	record.Of(record.BucketHints, 3))

// FuzzRecords puts, changes and removes records in a store of several campaigns, and whole buckets,
// with the right checksum where the input wants that, and then uses the store. Nothing panics, and
// what the check takes is whole, can be restored from and can be gone on with.
func FuzzRecords(f *testing.F) {
	whole, parts := fuzzStore(f)
	f.Add([]byte{1, 0, 1, 10, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1})
	f.Add([]byte{0, 3, 2, 0, 0, 2, 1, 1, 40, 1, 2, 3, 4, 5, 6, 7, 8, 9, 1, 2, 3, 4, 5, 6, 7, 8, 9})
	f.Add([]byte{3, 0, 0, 4, 5, 1, 3, 1, 4, 2, 0, 20, 1, 5, 1, 0, 1, 2})
	for bucket := range byte(len(fuzzBuckets)) {
		f.Add([]byte{bucket, 0, 0})
		f.Add([]byte{bucket, 1, 0})
		f.Add([]byte{bucket, 1, 3, 5, 1, 200})
	}
	fuzzing.AddTapes(f, 8, 150, 8)
	f.Fuzz(func(t *testing.T, edits []byte) {
		if len(edits) > 4096 {
			return
		}
		file := filepath.Join(t.TempDir(), "store")
		copyParts(t, parts, file)
		if err := os.WriteFile(file, whole, 0o600); err != nil {
			t.Fatal(err)
		}
		db, err := bbolt.Open(file, 0o600, &bbolt.Options{NoSync: true, NoGrowSync: true, PageSize: pageSize})
		if err != nil {
			t.Fatal(err)
		}
		err = db.Update(func(tx *bbolt.Tx) error { return editRecords(tx, &fuzzing.Tape{Rest: edits}) })
		if err = errors.Join(err, db.Close()); err != nil {
			t.Fatal(err)
		}
		fuzzing.Within(t, 20*time.Second, 256<<20, func() { use(t, file) })
	})
}

// editRecords carries out the edits of an input.
func editRecords(tx *bbolt.Tx, tape *fuzzing.Tape) error {
	for range 12 {
		if !tape.More() {
			break
		}
		name := fuzzBuckets[tape.Choose(len(fuzzBuckets))]
		bucket := tx.Bucket([]byte(name))
		if bucket == nil {
			continue
		}
		var key, value []byte
		which := tape.Choose(8)
		cursor := bucket.Cursor()
		for k, v := cursor.First(); k != nil && which > 0; k, v = cursor.Next() {
			key, value, which = bytes.Clone(k), bytes.Clone(v), which-1
		}
		switch tape.Choose(5) {
		case 0:
			remove := func() error { return tx.DeleteBucket([]byte(name)) }
			if key != nil {
				remove = func() error { return bucket.Delete(key) }
			}
			if err := remove(); err != nil {
				return err
			}
			continue
		case 1: // under another key
			key = tape.Bytes(40)
		case 2: // another value
			value = tape.Bytes(200)
		default: // some bytes of it
			if n := len(value); n > record.SumBytes {
				copy(value[tape.Choose(256)%(n-record.SumBytes):n-record.SumBytes], tape.Bytes(64))
			}
		}
		if len(key) == 0 {
			continue
		}
		if tape.Choose(4) > 0 && len(value) >= record.SumBytes {
			value = record.Seal(name, key, value[:len(value)-record.SumBytes])
		}
		if err := bucket.Put(key, value); err != nil {
			return err
		}
	}
	return nil
}
