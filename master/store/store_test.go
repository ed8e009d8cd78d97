package store

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"sync"
	"testing"
	"testing/iotest"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"amazonsfarm/master/evidence"
	"amazonsfarm/master/tree"
	"amazonsfarm/master/tree/graph"
	"amazonsfarm/shared/amazons"
	"amazonsfarm/shared/eval"
	"amazonsfarm/shared/proof"
)

var byKey = cmp.Options{
	cmpopts.SortSlices(func(a, b tree.NodeRecord) bool { return a.Key.Compare(b.Key) < 0 }),
	cmpopts.SortSlices(func(a, b proof.Fact) bool { return a.Key.Compare(b.Key) < 0 }),
	cmpopts.EquateEmpty(),
}

func TestRoundTrip(t *testing.T) {
	s := newStore(t, quick)
	id := upload(t, s, []byte("evidence"))
	contradiction := &tree.Contradiction{
		Key:   keyOf(1),
		Known: graph.Claim{Verdict: eval.Won, Basis: graph.ByFact, Fact: factOf(3, id), Worker: "w1"},
		Claim: graph.Claim{Verdict: eval.Lost, Basis: graph.ByRules},
	}
	want := tree.Snapshot{
		Nodes:         []tree.NodeRecord{nodeOf(1), nodeOf(2)},
		Facts:         []proof.Fact{factOf(1, id), factOf(2, id), factOf(3, id)},
		Spent:         123,
		Epoch:         4,
		Contradiction: contradiction,
	}
	err := s.commit(
		tree.Persist{Nodes: []tree.NodeRecord{{Key: keyOf(1), Phi: 1, Delta: 1}, nodeOf(2)}, Facts: want.Facts[:2],
			Spent: 100, Epoch: 4},
		tree.Persist{Nodes: want.Nodes[:1], Facts: want.Facts[2:], Spent: 123, Epoch: 4, Contradiction: contradiction})
	if err != nil {
		t.Fatal(err)
	}
	result := Result{
		Verdict: "won", Winner: "white", WinningMove: "B1-B4xD4", Verified: true, Nodes: 99, Seconds: 1.5, Workers: 3,
		Certificate: CertificateFile{Path: "x.cert", SHA256: strings.Repeat("a", 64), Bytes: 10, Positions: 3},
		Finished:    time.Date(2026, 11, 23, 0, 0, 0, 0, time.UTC), Build: "test",
	}
	if _, ok, err := s.Result(1); ok || err != nil {
		t.Fatal("a new store has a result", err)
	}
	if err := s.SetResult(1, result); err != nil {
		t.Fatal(err)
	}
	for range 2 {
		got, err := s.Snapshot(1)
		if err != nil {
			t.Fatal(err)
		}
		if d := cmp.Diff(want, got, byKey); d != "" {
			t.Fatal(d)
		}
		if r, ok, err := s.Result(1); err != nil || !ok || !reflect.DeepEqual(r, result) {
			t.Fatal(r, ok, err)
		}
		if d := cmp.Diff(testCampaign, s.Campaign()); d != "" {
			t.Fatal(d)
		}
		if f, ok, err := s.Fact(keyOf(2)); err != nil || !ok || f != factOf(2, id) {
			t.Fatal(f, ok, err)
		}
		if _, ok, err := s.Fact(keyOf(20)); ok || err != nil {
			t.Fatal("a fact that is not there", err)
		}
		st, err := s.Stats()
		if err != nil || st.TreeRecords != 2 || st.Facts != 3 || st.Certificates != 1 || st.CertificateBytes != 8 ||
			st.Nodes != 123 || st.Campaigns[0].Epoch != 4 ||
			st.Commits != 3 || st.UsedBytes <= 0 || st.UsedBytes > st.FileBytes {
			t.Fatalf("%+v %v", st, err)
		}
		check(t, s)
		path := s.Path()
		if err := s.Close(); err != nil {
			t.Fatal(err)
		}
		s = mustOpen(t, path, quick)
	}
}

func TestCommitRefuses(t *testing.T) {
	s := newStore(t, Options{MinFreeBytes: -1, limits: limits{records: 10}})
	id := upload(t, s, []byte("evidence"))
	other := upload(t, s, []byte("other evidence"))
	won := proof.Fact{Key: keyOf(1), Verdict: eval.Won, Certificate: id}
	lost := proof.Fact{Key: keyOf(1), Verdict: eval.Lost, Certificate: other}
	if err := s.commit(tree.Persist{Facts: []proof.Fact{won}, Epoch: 3}); err != nil {
		t.Fatal(err)
	}
	before, _ := s.Snapshot(1)
	node := nodeOf(5)
	mirrored, _ := node.Key.State(testBoard)
	mirrored = mirrored.Apply(testBoard, 1)
	for name, c := range map[string]struct {
		batch tree.Persist
		want  error
		says  string
	}{
		"contradicts the store": {tree.Persist{Nodes: []tree.NodeRecord{node},
			Facts: []proof.Fact{factOf(7, id), lost}},
			ErrContradiction, fmt.Sprintf("is won by certificate %x and claimed to be lost by certificate %x", id[:],
				other[:])},
		"contradicts itself": {tree.Persist{Facts: []proof.Fact{factOf(7, id),
			{Key: keyOf(8), Verdict: eval.Won, Certificate: id}, {Key: keyOf(8), Verdict: eval.Lost, Certificate: id}}},
			ErrContradiction, "verify both"},
		"no certificate": {tree.Persist{Nodes: []tree.NodeRecord{node}, Facts: []proof.Fact{factOf(7, proof.ID{1})}},
			ErrNoEvidence, "upload it first"},
		"zero certificate": {tree.Persist{Facts: []proof.Fact{factOf(7, proof.ID{})}}, ErrNoEvidence,
			"without evidence"},
		"no outcome": {tree.Persist{Facts: []proof.Fact{{Key: keyOf(7), Certificate: id}}}, ErrInvalid,
			"won or lost"},
		"solved numbers": {tree.Persist{Nodes: []tree.NodeRecord{{Key: keyOf(7), Phi: 0, Delta: graph.Infinity}}},
			ErrInvalid, "not within"},
		"not canonical": {tree.Persist{Nodes: []tree.NodeRecord{{Key: mirrored.Key(testBoard), Phi: 1, Delta: 1}}},
			ErrInvalid, "canonical"},
		"off the board": {tree.Persist{Facts: []proof.Fact{{Key: amazons.Key{A: 1 << 60}, Verdict: eval.Won,
			Certificate: id}}}, ErrInvalid, "board"},
		"old epoch": {tree.Persist{Nodes: []tree.NodeRecord{node}, Epoch: 2}, ErrInvalid, "epoch 2 is over"},
		"too large": {tree.Persist{Nodes: make([]tree.NodeRecord, 11)}, ErrTooLarge, "split it"},
	} {
		err := s.commit(c.batch)
		if !errors.Is(err, c.want) || !strings.Contains(err.Error(), c.says) {
			t.Errorf("%s: %v", name, err)
		}
		if after, _ := s.Snapshot(1); !cmp.Equal(before, after, byKey) {
			t.Errorf("%s: something of the batch is in the store", name)
		}
	}
	err := s.commit(tree.Persist{Facts: []proof.Fact{lost}})
	if c := (*ContradictionError)(nil); !errors.As(err, &c) || c.Stored != won || c.Claimed != lost {
		t.Error("the contradiction does not name both facts:", err)
	}
	// The same again is harmless and keeps the first certificate.
	again := won
	again.Certificate, again.Nodes = other, 99
	if err := s.commit(tree.Persist{Facts: []proof.Fact{again, again}}); err != nil {
		t.Fatal(err)
	}
	if f, _, _ := s.Fact(won.Key); f != won {
		t.Error("a duplicate replaced a fact:", f)
	}
	check(t, s)
}

func TestResult(t *testing.T) {
	s := newStore(t, quick)
	r := Result{Verdict: "won", Winner: "white"}
	if err := s.SetResult(1, Result{Verdict: "maybe"}); !errors.Is(err, ErrInvalid) {
		t.Error(err)
	}
	if err := s.SetResult(1, r); err != nil {
		t.Fatal(err)
	}
	if err := s.SetResult(1, Result{Verdict: "lost", Winner: "black"}); !errors.Is(err, ErrContradiction) {
		t.Error(err)
	}
	r.Verified = true
	if err := s.SetResult(1, r); err != nil {
		t.Error(err)
	}
	if got, ok, err := s.Result(1); !reflect.DeepEqual(got, r) || !ok || err != nil {
		t.Error(got, ok, err)
	}
	if err := s.SetResult(1, Result{Verdict: "won", Winner: "white",
		Build: strings.Repeat("x", 2<<20)}); !errors.Is(err,
		ErrTooLarge) {
		t.Error(err)
	}
}

func TestCampaignIsChecked(t *testing.T) {
	path := filepath.Join(t.TempDir(), "store")
	for _, c := range []Campaign{
		{},
		{Board: "9x9", Root: "5x6"},
		{Board: "5x6", Root: "nonsense"},
		{Board: "5x6", Root: "5x5"},
		{Board: "5x6", Root: "5x6", FirstMoves: []string{"A1-A1xA1"}},
	} {
		if _, err := Create(path, c, quick); !errors.Is(err, ErrCampaign) {
			t.Errorf("%+v: %v", c, err)
		}
	}
	if entries, _ := os.ReadDir(filepath.Dir(path)); len(entries) != 0 {
		t.Error("a refused campaign left files:", entries)
	}
	c := testCampaign
	c.FirstMoves = []string{"B1-B4xD4"}
	s, err := Create(path, c, quick)
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	if err := s.Campaign().Same(c); err != nil {
		t.Error(err)
	}
	for _, change := range []func(*Campaign){
		func(c *Campaign) { c.Board = "6x5" },
		func(c *Campaign) { c.Root = "x" },
		func(c *Campaign) { c.FirstMoves = nil },
		func(c *Campaign) { c.FirstMoves = []string{"B1-B4xD5"} },
		func(c *Campaign) { c.RulesOnly = true },
	} {
		asked := s.Campaign()
		change(&asked)
		if err := s.Campaign().Same(asked); !errors.Is(err, ErrCampaign) {
			t.Error(err)
		}
	}
}

func TestReadOnly(t *testing.T) {
	s := newStore(t, quick)
	id := upload(t, s, []byte("evidence"))
	if err := unfinished(s, 1); err != nil {
		t.Fatal(err)
	}
	s.Close()
	before, _ := os.ReadFile(s.Path())
	a := mustOpen(t, s.Path(), Options{ReadOnly: true})
	b := mustOpen(t, s.Path(), Options{ReadOnly: true})
	for _, s := range []*Store{a, b} {
		if err := s.commit(tree.Persist{Nodes: []tree.NodeRecord{nodeOf(1)}}); !errors.Is(err, ErrReadOnly) {
			t.Error(err)
		}
		if _, err := s.PutCertificate(1, [32]byte{2}, []byte{1}); !errors.Is(err, ErrReadOnly) {
			t.Error(err)
		}
		if _, _, err := s.OpenCertificate(id); err != nil {
			t.Error(err)
		}
		check(t, s)
		if _, err := s.Stats(); err != nil {
			t.Error(err)
		}
	}
	if _, err := Open(s.Path(), Options{LockTimeout: 20 * time.Millisecond}); !errors.Is(err, ErrLocked) {
		t.Error(err)
	}
	a.Close()
	b.Close()
	reader := mustOpen(t, s.Path(), Options{ReadOnly: true})
	if after, _ := os.ReadFile(s.Path()); !bytes.Equal(before, after) || strays(t, reader) != 2 {
		t.Error("reading has changed something")
	}
	if _, err := Create(filepath.Join(t.TempDir(), "x"), testCampaign, Options{ReadOnly: true}); !errors.Is(err,
		ErrReadOnly) {
		t.Error(err)
	}
}

func TestClosed(t *testing.T) {
	s := newStore(t, quick)
	if err := errors.Join(s.Close(), s.Close()); err != nil {
		t.Fatal(err)
	}
	_, snapshot := s.Snapshot(1)
	_, stats := s.Stats()
	_, backup := s.Backup(io.Discard, nil)
	_, _, certificate := s.OpenCertificate([32]byte{1})
	_, begin := s.PutCertificate(1, proof.IDOf([]byte{2}), []byte{2})
	for i, err := range []error{s.commit(tree.Persist{}), snapshot, stats, backup, certificate, begin, s.Check(),
		s.SetResult(1, Result{Verdict: "won"})} {
		if !errors.Is(err, ErrClosed) {
			t.Error(i, err)
		}
	}
}

// TestGroupCommit runs many callers, some of which are refused, while others read, check and close.
func TestGroupCommit(t *testing.T) {
	var mu sync.Mutex
	transactions, records := 0, 0
	s := newStore(t, Options{MinFreeBytes: -1, limits: limits{onCommit: func(d time.Duration, n int) {
		// as a slow disk takes: the others come meanwhile, also where there is one processor
		time.Sleep(time.Millisecond)
		mu.Lock()
		defer mu.Unlock()
		transactions++
		records += n
		if d <= 0 {
			t.Error("a commit took no time")
		}
	}}})
	id := upload(t, s, []byte("evidence"))
	if err := s.commit(tree.Persist{Facts: []proof.Fact{{Key: keyOf(1 << 30), Verdict: eval.Won,
		Certificate: id}}}); err != nil {
		t.Fatal(err)
	}
	const callers, each = 32, 10
	var group sync.WaitGroup
	for c := range uint64(callers) {
		group.Go(func() {
			for i := range uint64(each) {
				// Of one caller the last record counts; a refused batch leaves none.
				n := nodeOf(c)
				n.Nodes = i
				if err := s.commit(tree.Persist{Nodes: []tree.NodeRecord{n},
					Facts: []proof.Fact{factOf(1000+c*each+i, id)},
					Spent: c*each + i}); err != nil {
					t.Error(err)
				}
				n.Nodes = 1 << 40
				bad := tree.Persist{Nodes: []tree.NodeRecord{n},
					Facts: []proof.Fact{{Key: keyOf(1 << 30), Verdict: eval.Lost, Certificate: id}}}
				if err := s.commit(bad); !errors.Is(err, ErrContradiction) {
					t.Error(err)
				}
			}
		})
	}
	group.Go(func() {
		for range 5 {
			if _, err := s.Snapshot(1); err != nil {
				t.Error(err)
			}
			if err := s.Check(); err != nil {
				t.Error(err)
			}
		}
	})
	group.Go(func() {
		for i := range 5 {
			p, _ := payloadOf(uint64(i), 200_000)
			upload(t, s, p)
		}
	})
	group.Wait()
	snap, err := s.Snapshot(1)
	if err != nil {
		t.Fatal(err)
	}
	if len(snap.Nodes) != callers || len(snap.Facts) != callers*each+1 || snap.Spent != callers*each-1 {
		t.Error(len(snap.Nodes), len(snap.Facts), snap.Spent)
	}
	for _, n := range snap.Nodes {
		if n.Nodes != each-1 {
			t.Error("not the last record of its caller:", n)
		}
	}
	mu.Lock()
	if transactions >= callers*each || records < 2*callers*each {
		t.Errorf("%d transactions with %d records for %d commits: nothing was shared", transactions, records,
			callers*each)
	}
	mu.Unlock()
	check(t, s)
	// Close while others commit: each gets an answer, and what was acknowledged is there.
	acknowledged := make([]bool, 64)
	for i := range acknowledged {
		group.Go(func() {
			err := s.commit(tree.Persist{Facts: []proof.Fact{factOf(5000+uint64(i), id)}})
			acknowledged[i] = err == nil
			if err != nil && !errors.Is(err, ErrClosed) {
				t.Error(err)
			}
		})
	}
	s.Close()
	group.Wait()
	s = mustOpen(t, s.Path(), quick)
	for i, ok := range acknowledged {
		if _, found, _ := s.Fact(keyOf(5000 + uint64(i))); found != ok {
			t.Errorf("fact %d: acknowledged %v, stored %v", i, ok, found)
		}
	}
}

func TestNoSpace(t *testing.T) {
	// A limit on the file: refused as a whole, and smaller commits go on.
	s := newStore(t, Options{MinFreeBytes: -1, limits: limits{storeBytes: 1 << 20}})
	var big tree.Persist
	for i := range uint64(20_000) {
		big.Nodes = append(big.Nodes, nodeOf(i))
	}
	for range 2 {
		err := s.commit(big)
		if !errors.Is(err, ErrNoRoom) || !strings.Contains(err.Error(), "limit of 1 MiB") {
			t.Fatal(err)
		}
		if err := s.commit(tree.Persist{Nodes: big.Nodes[:1]}); err != nil {
			t.Fatal(err)
		}
		check(t, s)
	}
	p, id := payloadOf(1, 4<<20)
	check(t, s)
	if info, _ := os.Stat(s.Path()); info.Size() > 1<<20 {
		t.Error("the file has grown past its limit:", info.Size())
	}

	// A disk with less than is to be left.
	path := filepath.Join(t.TempDir(), "store")
	if _, err := Create(path, testCampaign, Options{MinFreeBytes: 1 << 60}); !errors.Is(err, ErrNoRoom) {
		t.Fatal(err)
	}
	s.Close()
	s = mustOpen(t, s.Path(), Options{MinFreeBytes: 1 << 60})
	if err := s.commit(tree.Persist{Nodes: big.Nodes[1:2]}); !errors.Is(err, ErrNoRoom) {
		t.Fatal(err)
	}
	if _, err := s.PutCertificate(1, id, p); !errors.Is(err, ErrNoRoom) {
		t.Fatal(err)
	}
	if n := strays(t, s); n != 0 {
		t.Error("parts left:", n)
	}

	// A part for whose record there is no room leaves nothing.
	s = newStore(t, Options{MinFreeBytes: -1, limits: limits{storeBytes: 64 << 10}})
	for i := uint64(0); ; i++ {
		p, id := payloadOf(i, 3000)
		_, err := s.PutCertificate(1, id, p)
		if err == nil && i < 10_000 {
			continue
		}
		if !errors.Is(err, ErrNoRoom) || strays(t, s) != 0 {
			t.Error(i, err, strays(t, s))
		}
		break
	}
	check(t, s)
}

// TestMovedStore: a store whose file is not in its place is told so, until it is back.
func TestMovedStore(t *testing.T) {
	s := newStore(t, Options{})
	away := s.Path() + ".away"
	if err := os.Rename(s.Path(), away); err != nil {
		t.Fatal(err)
	}
	if err := s.Room(0); !errors.Is(err, ErrMissing) || !strings.Contains(err.Error(), "put it back") {
		t.Error(err)
	}
	if err := s.commit(tree.Persist{Nodes: []tree.NodeRecord{nodeOf(1)}}); err != nil {
		t.Error("a commit that came before the pause:", err)
	}
	if err := os.WriteFile(s.Path(), []byte("another"), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := s.Room(0); !errors.Is(err, ErrMissing) {
		t.Error(err)
	}
	if err := errors.Join(os.Rename(away, s.Path()), s.Room(0)); err != nil {
		t.Error(err)
	}
}

func TestCertificates(t *testing.T) {
	s := newStore(t, Options{MinFreeBytes: -1, limits: limits{certificateBytes: 4 << 20}})
	sizes := []int{1, 511, 512, 4096, 65_496, 1 << 20, 3<<20 + 17}
	var ids []proof.ID
	var payloads [][]byte
	for i, size := range sizes {
		p, id := payloadOf(uint64(i), size)
		if known, err := s.PutCertificate(1, id, p); known || err != nil {
			t.Fatal(known, err)
		}
		ids, payloads = append(ids, id), append(payloads, p)
	}
	check(t, s)
	verify := func(s *Store) {
		t.Helper()
		for i, id := range ids {
			r, n, err := s.OpenCertificate(id)
			if err != nil || n != int64(sizes[i]) {
				t.Fatal(n, err)
			}
			got, err := io.ReadAll(io.NewSectionReader(r, 0, n))
			if err != nil || !bytes.Equal(got, payloads[i]) {
				t.Fatal("read differs", err)
			}
			p := make([]byte, 10)
			if m, err := r.ReadAt(p, n-1); m != 1 || err != io.EOF || p[0] != payloads[i][n-1] {
				t.Error(m, err)
			}
			if m, err := r.ReadAt(p, n+5); m != 0 || err != io.EOF {
				t.Error(m, err)
			}
			if _, err := r.ReadAt(p, -1); err == nil {
				t.Error("a negative offset")
			}
		}
		list, err := everyCertificate(s)
		if err != nil || len(list) != len(ids) {
			t.Fatal(list, err)
		}
		for i, c := range list {
			if c.ID != ids[i] || c.Size != int64(sizes[i]) {
				t.Error(i, c)
			}
		}
	}
	verify(s)

	// Duplicates write nothing.
	st, _ := s.Stats()
	if known, err := s.PutCertificate(1, ids[6], payloads[6]); !known || err != nil {
		t.Fatal(known, err)
	}
	if now, _ := s.Stats(); now.Commits != st.Commits {
		t.Error("a duplicate was written")
	}

	// What is not as announced leaves nothing.
	p, id := payloadOf(99, 2<<20)
	for name, c := range map[string]struct {
		data []byte
		want error
	}{
		"altered": {append([]byte{p[0] ^ 1}, p[1:]...), ErrMismatch},
		"cut":     {p[:1<<20], ErrMismatch},
		"huge":    {make([]byte, 5<<20), ErrTooLarge},
		"empty":   {nil, ErrInvalid},
	} {
		if _, err := s.PutCertificate(1, id, c.data); !errors.Is(err, c.want) {
			t.Error(name, err)
		}
	}
	if n := strays(t, s); n != 0 {
		t.Error("parts left:", n)
	}
	check(t, s)

	// Several at once of the same: all succeed, one is kept.
	failed := make(chan error)
	for range 3 {
		go func() {
			_, err := s.PutCertificate(1, id, p)
			failed <- err
		}()
	}
	if err := errors.Join(<-failed, <-failed, <-failed); err != nil {
		t.Fatal(err)
	}
	ids, sizes, payloads = append(ids, id), append(sizes, 2<<20), append(payloads, p)
	if n := strays(t, s); n != 0 {
		t.Error("parts left:", n)
	}
	check(t, s)

	// A stream that is not what was announced, or breaks, leaves nothing either; and what is known is
	// not read.
	p, id = payloadOf(98, 1<<20)
	broken := errors.New("broken")
	for what, c := range map[string]struct {
		r    io.Reader
		want error
	}{
		"cut":    {bytes.NewReader(p[:1000]), ErrMismatch},
		"longer": {io.MultiReader(bytes.NewReader(p), bytes.NewReader(p)), ErrMismatch},
		"broken": {io.MultiReader(bytes.NewReader(p[:1000]), iotest.ErrReader(broken)), broken},
	} {
		if _, err := s.PutCertificateFrom(1, id, 1<<20, c.r); !errors.Is(err, c.want) || strays(t, s) != 0 {
			t.Error(what, err, strays(t, s))
		}
	}
	if known, err := s.PutCertificateFrom(1, ids[0], 1, iotest.ErrReader(broken)); !known || err != nil {
		t.Error(known, err)
	}

	// What a crash leaves is there after Open, as it may belong to a newer copy of the store, and gone after Collect.
	if err := unfinished(s, 100); err != nil || strays(t, s) != 2 {
		t.Fatal(strays(t, s), err)
	}
	check(t, s)
	s.Close()
	s = mustOpen(t, s.Path(), quick)
	if n, left := strays(t, s), leftAfterCollect(t, s); n != 1 || left != 0 {
		t.Error("after Open", n, "parts, after Collect", left)
	}
	check(t, s)
	verify(s)
}

func TestBackup(t *testing.T) {
	s := newStore(t, quick)
	id := upload(t, s, []byte("evidence"))
	if err := s.commit(tree.Persist{Facts: []proof.Fact{factOf(1, id)}}); err != nil {
		t.Fatal(err)
	}
	var buffer bytes.Buffer
	n, err := s.Backup(&buffer, nil)
	if err != nil || n != int64(buffer.Len()) {
		t.Fatal(n, err)
	}
	path := filepath.Join(t.TempDir(), "copy")
	if err := os.WriteFile(path, buffer.Bytes(), 0o600); err != nil {
		t.Fatal(err)
	}
	c := mustOpen(t, path, quick)
	if err := c.Check(); !errors.Is(err, ErrCorrupt) || !strings.Contains(err.Error(), "missing") {
		t.Error("nobody misses the parts:", err)
	}
	upload(t, c, []byte("evidence"))
	check(t, c)
	want, _ := s.Snapshot(1)
	if got, err := c.Snapshot(1); err != nil || !cmp.Equal(want, got, byKey) {
		t.Error(got, err)
	}
}

// TestHeldParts wants no second master to write where the parts of a store lie, as it does not know them all.
func TestHeldParts(t *testing.T) {
	folder := t.TempDir()
	o := quick
	o.Evidence = filepath.Join(folder, "none", "parts")
	path := filepath.Join(folder, "a.db")
	if _, err := Create(path, testCampaign, o); !errors.Is(err, evidence.ErrPlace) {
		t.Errorf("parts in a folder of none: %v", err)
	}
	if _, err := os.Stat(path); err == nil {
		t.Fatal("it made a store that can keep no parts")
	}
	o.Evidence = filepath.Join(folder, "parts")
	s, err := Create(path, testCampaign, o)
	if err != nil {
		t.Fatal(err)
	}
	other := filepath.Join(folder, "b.db")
	if _, err := BackupFile(t.Context(), path, other, false, nil); !errors.Is(err, ErrLocked) {
		t.Errorf("backup of an open file: %v", err)
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	if _, err := BackupFile(t.Context(), path, other, false, nil); err != nil {
		t.Fatal(err)
	}
	s = mustOpen(t, path, quick)
	if _, err := Open(other, quick); !errors.Is(err, ErrLocked) || !strings.Contains(err.Error(), o.Evidence) {
		t.Errorf("a copy, while the original is open: %v", err)
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	if err := mustOpen(t, other, quick).Close(); err != nil {
		t.Errorf("a copy, after the original: %v", err)
	}
	// A link beside the store leads to the parts of another one.
	one, two := filepath.Join(folder, "c.db"), filepath.Join(folder, "d.db")
	for _, path := range []string{one, two} {
		s, err := Create(path, testCampaign, quick)
		if err == nil && path == one {
			_, err = s.PutCertificate(1, proof.IDOf([]byte("x")), []byte("x"))
		}
		if err := errors.Join(err, s.Close()); err != nil {
			t.Fatal(err)
		}
	}
	err = errors.Join(os.Remove(EvidenceFolder(two)), os.Symlink(EvidenceFolder(one), EvidenceFolder(two)))
	if err != nil {
		t.Fatal(err)
	}
	defer mustOpen(t, one, quick).Close()
	if _, err := Open(two, quick); !errors.Is(err, ErrLocked) {
		t.Errorf("a link to the parts of an open store: %v", err)
	}
}
