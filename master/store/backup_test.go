package store

import (
	"cmp"
	"context"
	"errors"
	"io"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"amazonsfarm/master/hints"
	"amazonsfarm/master/store/record"
	"amazonsfarm/master/tree"
	"amazonsfarm/shared/disk"
	"amazonsfarm/shared/proof"
)

func init() {
	// compact kills itself at one step of a compaction.
	children["compact"] = func(path string) {
		step := os.Getenv(childEnv + "_STEP")
		disk.AfterStep = func(at string) {
			if at == step {
				syscall.Kill(os.Getpid(), syscall.SIGKILL)
				select {}
			}
		}
		_, err := Compact(context.Background(), path, "", false, nil)
		must(err)
	}
}

// filled makes a store with some of everything and many free pages, closed.
func filled(t *testing.T) string {
	t.Helper()
	s := newStore(t, quick)
	id := upload(t, s, []byte(strings.Repeat("evidence", 50_000)))
	for i := range uint64(20) {
		b := tree.Persist{Epoch: 1, Spent: i}
		for j := range uint64(300) {
			b.Nodes = append(b.Nodes, nodeOf(i*100+j))
		}
		b.Facts = []proof.Fact{factOf(1<<30+i, id)}
		if err := s.commit(b); err != nil {
			t.Fatal(err)
		}
	}
	for _, hint := range []string{strings.Repeat("x", 1<<20), "small"} { // leaves many free pages
		for i := range uint64(3) {
			if err := s.Commit(nil, []hints.Hint{hintOf(1<<20+i, hint)}); err != nil {
				t.Fatal(err)
			}
		}
	}
	s.Close()
	return s.Path()
}

// records returns every record of a store but the headers. It checks the file, not the parts.
func records(t *testing.T, path string) tree.Snapshot {
	t.Helper()
	s := mustOpen(t, path, Options{ReadOnly: true})
	defer s.Close()
	for err := range s.findings(t.Context(), nil, false) {
		t.Fatal(err)
	}
	snap, err := s.Snapshot(1)
	if err != nil {
		t.Fatal(err)
	}
	return snap
}

func TestCompact(t *testing.T) {
	path := filled(t)
	if err := os.Chmod(path, 0o640); err != nil {
		t.Fatal(err)
	}
	before := records(t, path)
	c, err := Compact(t.Context(), path, "", false, nil)
	if err != nil || c.After >= c.Before/2 || c.Kept != path+OldSuffix {
		t.Fatalf("%+v, %v", c, err)
	}
	for _, p := range []string{path, c.Kept} {
		if got := records(t, p); len(got.Nodes) != len(before.Nodes) || len(got.Facts) != len(before.Facts) ||
			got.Spent != before.Spent || got.Epoch != before.Epoch {
			t.Errorf("%s: %d nodes, %d facts", p, len(got.Nodes), len(got.Facts))
		}
	}
	if info, err := os.Stat(path); err != nil || info.Mode().Perm() != 0o640 || info.Size() != c.After {
		t.Errorf("%v, %v", info, err)
	}
	if _, err := Compact(t.Context(), path, "", false, nil); !errors.Is(err, disk.ErrExists) {
		t.Errorf("what was kept is in the way: %v", err)
	}
	if _, err := Compact(t.Context(), path, "", true, nil); err != nil {
		t.Error(err)
	}
	to := filepath.Join(t.TempDir(), "to")
	if c, err := Compact(t.Context(), c.Kept, to, false, nil); err != nil || c.Kept != "" || c.File != to {
		t.Errorf("%+v, %v", c, err)
	}
	records(t, to)
	if _, err := Compact(t.Context(), path, to, false, nil); !errors.Is(err, disk.ErrExists) {
		t.Error(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := Compact(ctx, path, "", true, nil); !errors.Is(err, context.Canceled) {
		t.Error(err)
	}
	// Who has it open, if only to read, keeps a compaction away.
	s := mustOpen(t, path, Options{ReadOnly: true})
	if _, err := Compact(t.Context(), path, "", true, nil); !errors.Is(err, ErrLocked) {
		t.Error(err)
	}
	s.Close()
	// A store that may go on being written to.
	s = mustOpen(t, path, quick)
	if err := s.commit(tree.Persist{Nodes: []tree.NodeRecord{nodeOf(1 << 20)}}); err != nil {
		t.Error(err)
	}
	check(t, s)
	if entries, _ := os.ReadDir(filepath.Dir(path)); len(entries) != 3 {
		t.Errorf("left behind: %v", entries)
	}
}

// TestKillCompact kills a compaction at each step: the store is there, whole, and the next
// compaction succeeds.
func TestKillCompact(t *testing.T) {
	path := filled(t)
	want := len(records(t, path).Nodes)
	for _, step := range []string{"copied", "checked", "kept", "renamed", "never"} {
		c, out := child(t, "compact", path, childEnv+"_STEP="+step)
		io.Copy(io.Discard, out)
		if err := c.Wait(); (err == nil) != (step == "never") {
			t.Fatalf("%s: %v", step, err)
		}
		if n := len(records(t, path).Nodes); n != want {
			t.Errorf("%s: %d nodes, want %d", step, n, want)
		}
		if step == "renamed" || step == "never" {
			if n := len(records(t, path+OldSuffix).Nodes); n != want {
				t.Errorf("%s: %d nodes were kept, want %d", step, n, want)
			}
			os.Remove(path + OldSuffix)
		}
	}
}

// TestReplacedWhileWaiting: who waits for the lock of a file that a compaction replaces does not
// get the old one.
func TestReplacedWhileWaiting(t *testing.T) {
	path := filled(t)
	s, err := open(path, Options{ReadOnly: true}, true)
	if err != nil {
		t.Fatal(err)
	}
	failed := make(chan error)
	go func() {
		_, err := Open(path, Options{LockTimeout: 10 * time.Second})
		failed <- err
	}()
	time.Sleep(200 * time.Millisecond)
	if err := errors.Join(os.Rename(path, path+".moved"), os.WriteFile(path, nil, 0o600)); err != nil {
		t.Fatal(err)
	}
	s.Close()
	if err := <-failed; !errors.Is(err, ErrLocked) {
		t.Error(err)
	}
}

func TestBackupFile(t *testing.T) {
	path := filled(t)
	to := filepath.Join(t.TempDir(), "to")
	parts := map[string]bool{}
	r, err := BackupFile(t.Context(), path, to, false, func(part string, done, total int64) { parts[part] = true })
	if err != nil || !r.Good || r.File != to || !parts["copying"] || r.LacksParts != 1 || r.LacksBytes != 400_000 ||
		r.Evidence != EvidenceFolder(to) {
		t.Fatalf("%+v, %v, %v", r, err, parts)
	}
	records(t, to)
	if r, err := CheckFile(t.Context(), to, nil); err != nil || r.Good {
		t.Errorf("nobody misses the parts: %+v, %v", r, err)
	}
	copyParts(t, path, to)
	if r, err := CheckFile(t.Context(), to, nil); err != nil || !r.Good {
		t.Errorf("%+v, %v", r, err)
	}
	if _, err := BackupFile(t.Context(), path, to, false, nil); !errors.Is(err, disk.ErrExists) {
		t.Error(err)
	}
	all := filepath.Join(t.TempDir(), "all.db")
	if r, err := BackupFile(t.Context(), path, all, true, nil); err != nil || r.LacksParts != 0 {
		t.Errorf("%+v, %v", r, err)
	}
	if r, err := CheckFile(t.Context(), all, nil); err != nil || !r.Good || r.Certificates != 1 {
		t.Errorf("%+v, %v", r, err)
	}
	// An interrupted copy leaves no parts, and takes none that were there.
	other := filepath.Join(t.TempDir(), "other.db")
	for _, there := range []bool{false, true} {
		if there {
			if err := os.Mkdir(EvidenceFolder(other), 0o700); err != nil {
				t.Fatal(err)
			}
		}
		ctx, cancel := context.WithCancel(t.Context())
		_, err := BackupFile(ctx, path, other, true, func(part string, _, _ int64) {
			if part == "copying parts" {
				cancel()
			}
		})
		if !errors.Is(err, context.Canceled) || disk.Free(other) != nil ||
			(disk.Free(EvidenceFolder(other)) == nil) == there {
			t.Errorf("an interrupted copy, parts there %v: %v", there, err)
		}
	}
	// A damaged part is not copied.
	evidence := []byte(strings.Repeat("evidence", 50_000))
	part := partFile(path, proof.IDOf(evidence))
	evidence[1000] ^= 1
	if err := os.WriteFile(part, evidence, 0o600); err != nil {
		t.Fatal(err)
	}
	none := filepath.Join(t.TempDir(), "none")
	if _, err := BackupFile(t.Context(), path, none, true, nil); !errors.Is(err, ErrCorrupt) ||
		!strings.Contains(err.Error(), filepath.Base(part)) {
		t.Error(err)
	}
	// A damaged source has no backup.
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	k := nodeOf(105).Key.Bytes()
	for at := range data {
		if strings.HasPrefix(string(data[at:min(len(data), at+16)]), string(k[:])) {
			data[at+17] ^= 1
		}
	}
	if err := os.WriteFile(path, data, 0o600); err != nil {
		t.Fatal(err)
	}
	none = filepath.Join(t.TempDir(), "none")
	if _, err := BackupFile(t.Context(), path, none, false, nil); !errors.Is(err, ErrCorrupt) {
		t.Error(err)
	}
	if entries, _ := os.ReadDir(filepath.Dir(none)); len(entries) != 0 {
		t.Errorf("left behind: %v", entries)
	}
	if r, err := CheckFile(t.Context(), path, nil); err != nil || r.Good || !errors.Is(r.Err(), ErrCorrupt) ||
		len(r.Findings) == 0 {
		t.Errorf("%+v, %v", r, err)
	}
}

// TestBackupDoesNotBlock commits while a backup is not read: the file outgrows what bbolt would
// have mapped, and nobody waits for the backup.
func TestBackupDoesNotBlock(t *testing.T) {
	s := newStore(t, quick)
	r, w := io.Pipe()
	var all sync.WaitGroup
	all.Go(func() { s.Backup(w, nil) })
	if _, err := r.Read(make([]byte, 1)); err != nil { // it has begun
		t.Fatal(err)
	}
	done := make(chan struct{})
	go func() {
		for i := range uint64(36) {
			if err := s.Commit(nil, []hints.Hint{hintOf(i, strings.Repeat("x", 1<<20))}); err != nil {
				t.Error(err)
			}
		}
		close(done)
	}()
	select {
	case <-done:
	case <-time.After(time.Minute):
		t.Error("commits wait for a backup")
	}
	r.Close()
	all.Wait()
	check(t, s)
}

// TestFreeSpace takes the disk away and gives it back: commits and uploads are refused as a whole
// and go on afterwards.
func TestFreeSpace(t *testing.T) {
	var left, leftOfParts atomic.Int64
	left.Store(1 << 40)
	leftOfParts.Store(1 << 40)
	s := newStore(t, Options{MinFreeBytes: 1 << 20, FreeBytes: func(path string) (int64, bool) {
		if strings.HasSuffix(path, ".evidence") {
			return leftOfParts.Load(), true
		}
		return left.Load(), true
	}})
	commit := func(i uint64) error { return s.commit(tree.Persist{Nodes: []tree.NodeRecord{nodeOf(i)}}) }
	if err := errors.Join(commit(1), s.Room(0)); err != nil {
		t.Fatal(err)
	}
	left.Store(1<<20 + 100)
	if err := errors.Join(s.Room(0), s.Room(100)); err != nil {
		t.Error(err)
	}
	for _, err := range []error{s.Room(101), commit(2)} {
		if !errors.Is(err, ErrNoRoom) || errors.Is(err, ErrFailed) || !strings.Contains(err.Error(), "1 MiB left") {
			t.Error(err)
		}
	}
	if _, err := s.PutCertificate(1, proof.IDOf(make([]byte, 1<<20)), make([]byte, 1<<20)); !errors.Is(err, ErrNoRoom) {
		t.Error(err)
	}
	left.Store(1 << 40)
	leftOfParts.Store(1<<20 + 100)
	if err := cmp.Or(s.Room(100), commit(2)); err != nil {
		t.Error(err)
	}
	part := make([]byte, 101)
	_, err := s.PutCertificate(1, proof.IDOf(part), part)
	for _, err := range []error{err, s.Room(101)} {
		if !errors.Is(err, ErrNoRoom) || !strings.Contains(err.Error(), s.Place()) {
			t.Error("the disk of the parts is full:", err)
		}
	}
	check(t, s)
	if snap, err := s.Snapshot(1); err != nil || len(snap.Nodes) != 2 {
		t.Error(len(snap.Nodes), err)
	}
}

// TestSchemaPage holds the page about the format against the code.
func TestSchemaPage(t *testing.T) {
	data, err := os.ReadFile("SCHEMA.md")
	if err != nil {
		t.Fatal(err)
	}
	page := string(data)
	for what, number := range map[string]int{
		`# The proof store, format (\d+)`:                      record.Format,
		`Node, (\d+) bytes`:                                    record.NodePayload,
		`Fact, (\d+) bytes`:                                    record.FactPayload,
		`Certificate, (\d+) bytes`:                             record.CertPayload,
		`at most (\d+) bytes: who has verified`:                record.MaxVerifiedBytes,
		`and then a checksum of (\d+) bytes`:                   record.SumBytes,
		`pages of\s+([\d,]+) bytes`:                            pageSize,
		"`magic` \\| `amazons proof store\\\\n`, (\\d+) bytes": len(record.Magic),
		"`format` \\| format version, (\\d+) bytes": len(
			record.EncodeFormat(record.Format)) - record.SumBytes,
		`counters of (\d+) bytes`: 8,
	} {
		m := regexp.MustCompile(what).FindStringSubmatch(page)
		if m == nil || strings.ReplaceAll(m[1], ",", "") != strconv.Itoa(number) {
			t.Errorf("the page says %q of %s, the code %d", m, what, number)
		}
	}
	if len(record.EncodeCounters(record.Counters{}))-record.SumBytes != 8*8 {
		t.Error("the page says that there are eight counters")
	}
	history := regexp.MustCompile(`(?m)^\| (\d+) \| \d{4}-\d{2} \|`).FindAllStringSubmatch(page, -1)
	if len(history) != record.Format || history[record.Format-1][1] != strconv.Itoa(record.Format) {
		t.Errorf("the history of formats has %d lines", len(history))
	}
	rows := regexp.MustCompile("(?m)^\\| `(\\w+)` \\|").FindAllStringSubmatch(page, -1)
	named := map[string]bool{}
	for _, r := range rows {
		named[r[1]] = true
	}
	all := append([]string{record.KeyMagic, record.KeyFormat, record.KeyCampaign, record.KeyCounters,
		record.KeyContradiction, record.KeyResult}, record.BucketNames...)
	for _, name := range all {
		if !named[name] {
			t.Errorf("the page has no line for %s", name)
		}
		delete(named, name)
	}
	if len(named) != 0 {
		t.Errorf("the page has lines for %v, which are not there", named)
	}
}
