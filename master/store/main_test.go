package store

import (
	"bytes"
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"errors"
	"io/fs"
	"math/rand/v2"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"go.uber.org/goleak"

	"amazonsfarm/master/tree"
	"amazonsfarm/shared/amazons"
	"amazonsfarm/shared/eval"
	"amazonsfarm/shared/numbers"
	"amazonsfarm/shared/proof"
)

// Children of the tests are this binary run again with childEnv naming what to do.
const childEnv = "AMAZONS_STORE_TEST_CHILD"

var children = map[string]func(path string){}

func TestMain(m *testing.M) {
	if name := os.Getenv(childEnv); name != "" {
		children[name](os.Getenv(childEnv + "_PATH"))
		os.Exit(0)
	}
	goleak.VerifyTestMain(m, goleak.IgnoreAnyFunction("go.etcd.io/bbolt.(*DB).Close")) // see TestCutShort
}

var testCampaign = Campaign{
	Number:  1,
	Name:    "5x6",
	Pool:    1,
	Share:   DefaultShare,
	Board:   "5x6",
	Root:    "5x6",
	Created: time.Date(2026, 11, 22, 1, 2, 3, 0, time.UTC),
	Build:   "test",
}

var testBoard = amazons.Board{Width: 5, Height: 6}

// quick are options for stores that need not keep the disk free.
var quick = Options{MinFreeBytes: -1}

func newStore(t testing.TB, o Options) *Store {
	t.Helper()
	s, err := Create(filepath.Join(t.TempDir(), "store"), testCampaign, o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { s.Close() })
	return s
}

func mustOpen(t testing.TB, path string, o Options) *Store {
	t.Helper()
	s, err := Open(path, o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { s.Close() })
	return s
}

// wantSnapshot fails the test if the first campaign of a store has something else.
func wantSnapshot(t testing.TB, s *Store, want tree.Snapshot) {
	t.Helper()
	got, err := s.Snapshot(1)
	if err != nil {
		t.Fatal(err)
	}
	if d := cmp.Diff(want, got, byKey); d != "" {
		t.Error(d)
	}
}

// openCopy opens a copy of a store that is kept in the tree, which has to be sound.
func openCopy(t testing.TB, file string) *Store {
	t.Helper()
	p, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(t.TempDir(), "store")
	if err := os.WriteFile(path, p, 0o600); err != nil {
		t.Fatal(err)
	}
	copyParts(t, file, path)
	old := mustOpen(t, path, Options{ReadOnly: true})
	check(t, old)
	old.Close()
	s := mustOpen(t, path, quick)
	check(t, s)
	return s
}

// keyOf returns the key of random position number i. The tests rely on that those they use are
// distinct.
func keyOf(i uint64) amazons.Key { return keyOn(testBoard, i) }

// keyOn is keyOf on another board, which has less positions.
func keyOn(board amazons.Board, i uint64) amazons.Key {
	r := rand.New(rand.NewPCG(i, 7))
	mask := board.Mask()
	pick := func() amazons.Set {
		for {
			if q := amazons.Set(1) << r.IntN(64); q&mask != 0 {
				mask &^= q
				return q
			}
		}
	}
	var s amazons.State
	for range 2 {
		s.Own |= pick()
		s.Opp |= pick()
	}
	s.Empty = mask & r.Uint64()
	return s.CanonicalKey(board)
}

// payloadOf returns a certificate's bytes and id.
func payloadOf(seed uint64, size int) ([]byte, proof.ID) {
	var key [32]byte
	binary.LittleEndian.PutUint64(key[:], seed)
	p := make([]byte, size)
	rand.NewChaCha8(key).Read(p)
	return p, sha256.Sum256(p)
}

func upload(t testing.TB, s *Store, p []byte) proof.ID {
	t.Helper()
	return uploadOf(t, s, 1, p)
}

// uploadOf is upload for another campaign than the first.
func uploadOf(t testing.TB, s *Store, campaign uint32, p []byte) proof.ID {
	t.Helper()
	id := proof.ID(sha256.Sum256(p))
	if err := put(s, campaign, p, id); err != nil {
		t.Fatal(err)
	}
	return id
}

func nodeOf(i uint64) tree.NodeRecord {
	n := tree.NodeRecord{Key: keyOf(i), Phi: uint32(i%1000) + 1, Delta: uint32(i%77) + 1, Nodes: i * 3, Budget: i << 20,
		Expanded: i%3 == 0}
	if i%6 == 0 {
		n.Expansion, n.Children = i+1, childrenOf(i)
	}
	return n
}

// childrenOf returns numbers of some children, nothing known of some of them.
func childrenOf(i uint64) string {
	var list []numbers.Child
	for j := range 5 + i%40 {
		c := numbers.Child{Key: amazons.Key{B: j}}
		if j%3 != 0 {
			c.Phi, c.Delta = uint32(1+i*j%100_000), uint32(1+j)
		}
		list = append(list, c)
	}
	return string(numbers.Append(nil, list))
}

func factOf(i uint64, id proof.ID) proof.Fact {
	return proof.Fact{Key: keyOf(i), Verdict: eval.Verdict(1 + i%2), Nodes: i * 5, Certificate: id}
}

func check(t testing.TB, s *Store) {
	t.Helper()
	if err := s.Check(); err != nil {
		t.Fatal(err)
	}
}

// commit writes effects without hints.
func (s *Store) commit(effects ...tree.Persist) error { return s.Commit(effects, nil) }

// Fact returns the fact about a position of the first campaign; false where there is none.
func (s *Store) Fact(key amazons.Key) (f proof.Fact, ok bool, err error) {
	snap, err := s.Snapshot(1)
	for _, f := range snap.Facts {
		if f.Key == key {
			return f, true, err
		}
	}
	return proof.Fact{}, false, err
}

// certificateInfo describes a complete certificate.
type certificateInfo struct {
	ID   proof.ID
	Size int64
	Pool uint32
}

// everyCertificate returns the complete certificates of all pools, of each in the order in which
// they came.
func everyCertificate(s *Store) (list []certificateInfo, err error) {
	for _, about := range s.Campaigns() {
		if about.Pool != about.Number {
			continue
		}
		parts, err := s.Parts(about.Number)
		if err != nil {
			return nil, err
		}
		for _, p := range parts {
			_, size, err := s.OpenCertificate(p.ID)
			if err != nil {
				return nil, err
			}
			list = append(list, certificateInfo{p.ID, size, about.Pool})
		}
	}
	return list, nil
}

// unfinished leaves what a crash leaves of a certificate on its way: a whole part without a record, and
// a file that has no name yet.
func unfinished(s *Store, seed uint64) error {
	p, id := payloadOf(seed, 200_000)
	folder := filepath.Join(EvidenceFolder(s.path), hex.EncodeToString(id[:1]))
	return errors.Join(s.evidence.Put(id, int64(len(p)), bytes.NewReader(p)),
		os.WriteFile(filepath.Join(folder, "."+hex.EncodeToString(id[:])+".1.tmp"), p[:1000], 0o600))
}

// leftAfterCollect is strays after a Collect of all.
func leftAfterCollect(t testing.TB, s *Store) int {
	t.Helper()
	if _, _, err := s.Collect(time.Time{}, time.Now().Add(time.Hour)); err != nil {
		t.Fatal(err)
	}
	return strays(t, s)
}

// strays returns how many files of the evidence have no record.
func strays(t testing.TB, s *Store) (n int) {
	t.Helper()
	err := filepath.WalkDir(EvidenceFolder(s.path), func(path string, e fs.DirEntry, err error) error {
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			return err
		}
		if err == nil && !e.IsDir() {
			n++
		}
		return nil
	})
	count, _ := s.Certificates()
	if err != nil || n < count {
		t.Fatal(n, count, err)
	}
	return n - count
}

// partFile returns the file with the bytes of a certificate of a store.
func partFile(path string, id proof.ID) string {
	name := hex.EncodeToString(id[:])
	return filepath.Join(EvidenceFolder(path), name[:2], name)
}

// copyParts copies the parts of a store to where those of another one lie.
func copyParts(t testing.TB, from, to string) {
	t.Helper()
	if _, err := os.Lstat(EvidenceFolder(from)); err != nil {
		return
	}
	if err := errors.Join(os.RemoveAll(EvidenceFolder(to)),
		os.CopyFS(EvidenceFolder(to), os.DirFS(EvidenceFolder(from)))); err != nil {
		t.Fatal(err)
	}
}

// keepGolden writes a store to a file in the tree, with its parts.
func keepGolden(t testing.TB, from, golden string) {
	t.Helper()
	_ = os.Remove(golden)
	if _, err := Compact(t.Context(), from, golden, false, nil); err != nil {
		t.Fatal(err)
	}
	copyParts(t, from, golden)
}
