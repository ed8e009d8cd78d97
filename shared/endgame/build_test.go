package endgame

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
)

func mustParse(t testing.TB, size string) Config {
	t.Helper()
	c, err := ParseSize(size)
	if err != nil {
		t.Fatal(err)
	}
	return c
}

func TestParseSize(t *testing.T) {
	for text, want := range map[string]string{"small": "7", "Medium": "8,9:2", "large": "8,9:3,10:1",
		" 5,6:2 ": "5,6:2", "5": "5"} {
		c, err := ParseSize(text)
		if err != nil || c.String() != want {
			t.Errorf("%q: %v, %v", text, c, err)
		}
		if again, err := ParseSize(c.Name()); err != nil || again.String() != want {
			t.Errorf("%q has the name %q, which is read as %v, %v", text, c.Name(), again, err)
		}
	}
	for _, text := range []string{"", "0", "11", "10", "7:1", "7,9:1", "7,8", "7,8:0", "7,8:6", "7,8:1,9:2", "huge",
		"8,9:x", "9,10:5", "tiny"} {
		if c, err := ParseSize(text); !errors.Is(err, ErrSize) {
			t.Errorf("%q: %v, %v", text, c, err)
		}
	}
}

// TestBytesDoNotDependOnHowTheyCameAbout builds with one and with several workers, cuts builds off
// again and again, and damages finished chunks: the file is the same each time.
func TestBytesDoNotDependOnHowTheyCameAbout(t *testing.T) {
	c := mustParse(t, "4,5:2,6:1")
	dir := t.TempDir()
	var want []byte
	build := func(name string, ctx context.Context, o Options) ([]byte, error) {
		err := Build(ctx, filepath.Join(dir, name), c, o)
		if err != nil {
			return nil, err
		}
		if _, err := os.Stat(filepath.Join(dir, name+".part")); !errors.Is(err, os.ErrNotExist) {
			t.Fatal("the directory of the build is left", err)
		}
		return os.ReadFile(filepath.Join(dir, name))
	}
	for _, workers := range []int{1, 4} {
		got, err := build(fmt.Sprint("plain", workers), t.Context(), Options{Workers: workers})
		if err != nil {
			t.Fatal(err)
		}
		if want == nil {
			want = got
		}
		if !bytes.Equal(got, want) {
			t.Fatalf("other bytes with %d workers", workers)
		}
	}
	// Cut off at each report in turn: each run goes one chunk further.
	runs := 0
	for done := false; !done; runs++ {
		ctx, cancel := context.WithCancel(t.Context())
		positions := int64(0)
		got, err := build("cut", ctx, Options{Workers: 1, Progress: func(p Progress) {
			if p.Positions > 0 {
				cancel()
			}
			positions = p.Positions
		}})
		cancel()
		switch {
		case errors.Is(err, context.Canceled):
			// Something half written or spoilt must not matter.
			if names, _ := filepath.Glob(filepath.Join(dir, "cut.part", "*-0*")); runs%3 == 0 && len(names) > 0 {
				if err := os.WriteFile(names[len(names)-1], []byte("AMZCHUNK spoilt"), 0o666); err != nil {
					t.Fatal(err)
				}
			}
		case err != nil:
			t.Fatal(err)
		default:
			done = true
			if positions > 0 {
				t.Log("the last run still valued", positions)
			}
			if !bytes.Equal(got, want) {
				t.Fatal("other bytes after cuts")
			}
		}
		if runs > 200 {
			t.Fatal("it does not come to an end")
		}
	}
	if runs < 4 {
		t.Fatal("only", runs, "runs")
	}
	// A whole database is kept, one of another size or a damaged one replaced.
	info, _ := os.Stat(filepath.Join(dir, "cut"))
	if _, err := build("cut", t.Context(), Options{}); err != nil {
		t.Fatal(err)
	}
	if again, _ := os.Stat(filepath.Join(dir, "cut")); !again.ModTime().Equal(info.ModTime()) {
		t.Error("a whole database was built again")
	}
	if err := Build(t.Context(), filepath.Join(dir, "cut"), mustParse(t, "3"), Options{}); err != nil {
		t.Fatal(err)
	}
	if got, err := build("cut", t.Context(), Options{}); err != nil || !bytes.Equal(got, want) {
		t.Fatal("other bytes where another database was", err)
	}
}

// failing makes files whose n-th operation fails.
type failing struct {
	mu    sync.Mutex
	until int
	err   error
}

func (f *failing) step() error {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.until--
	if f.until <= 0 {
		return &os.PathError{Op: "write", Path: "somewhere", Err: f.err}
	}
	return nil
}

type failingFile struct {
	*os.File
	f *failing
}

func (f *failing) create(name string) (file, error) {
	if err := f.step(); err != nil {
		return nil, err
	}
	g, err := os.Create(name)
	return &failingFile{g, f}, err
}

func (f *failingFile) Write(b []byte) (int, error) {
	if err := f.f.step(); err != nil {
		n, _ := f.File.Write(b[:len(b)/2])
		return n, err
	}
	return f.File.Write(b)
}

func (f *failingFile) WriteAt(b []byte, at int64) (int, error) {
	if err := f.f.step(); err != nil {
		return 0, err
	}
	return f.File.WriteAt(b, at)
}

func (f *failingFile) Sync() error {
	if err := f.f.step(); err != nil {
		return err
	}
	return f.File.Sync()
}

func (f *failingFile) Close() error {
	err := f.f.step()
	return errors.Join(f.File.Close(), err)
}

// TestFullDisk fails the first operation, then the second, and so on until a build succeeds: each
// time there is a sentence, no file under the final name, and a later build still makes the right
// bytes.
func TestFullDisk(t *testing.T) {
	c := mustParse(t, "3,4:1")
	dir := t.TempDir()
	if err := Build(t.Context(), filepath.Join(dir, "want"), c, Options{}); err != nil {
		t.Fatal(err)
	}
	want, _ := os.ReadFile(filepath.Join(dir, "want"))
	for n := 1; ; n++ {
		name := filepath.Join(dir, fmt.Sprint("db", n))
		f := &failing{until: n, err: syscall.ENOSPC}
		err := Build(t.Context(), name, c, Options{create: f.create})
		if err == nil {
			if n < 10 {
				t.Fatal("after", n)
			}
			break
		}
		if !errors.Is(err, syscall.ENOSPC) || !strings.Contains(err.Error(), "no space left on device") ||
			strings.Contains(err.Error(), "\n") {
			t.Fatal(err)
		}
		if _, err := os.Stat(name); !errors.Is(err, os.ErrNotExist) {
			t.Fatal("a file under the final name", err)
		}
		if left, _ := filepath.Glob(filepath.Join(dir, "*.part", "*.tmp")); len(left) > 0 {
			t.Fatal("left behind:", left)
		}
		if err := Build(t.Context(), name, c, Options{}); err != nil {
			t.Fatal(err)
		}
		if got, _ := os.ReadFile(name); !bytes.Equal(got, want) {
			t.Fatal("other bytes after a full disk")
		}
	}
}

func TestBusy(t *testing.T) {
	dir := t.TempDir()
	name := filepath.Join(dir, "db")
	if err := os.MkdirAll(name+".part", 0o777); err != nil {
		t.Fatal(err)
	}
	unlock, err := lock(filepath.Join(name+".part", "lock"))
	if err != nil {
		t.Fatal(err)
	}
	if err := Build(t.Context(), name, mustParse(t, "3"), Options{}); !errors.Is(err, ErrBusy) {
		t.Fatal(err)
	}
	unlock()
	if err := Build(t.Context(), name, mustParse(t, "3"), Options{}); err != nil {
		t.Fatal(err)
	}
}

// TestFirstUseOfMany opens a folder that has no database from several goroutines at once, which
// lock each other out as processes do: one builds, the others wait.
func TestFirstUseOfMany(t *testing.T) {
	if testing.Short() {
		t.Skip("builds the small database")
	}
	dir := t.TempDir()
	var wg sync.WaitGroup
	for range 4 {
		wg.Go(func() {
			db, _, err := OpenOrBuild(t.Context(), dir, Options{Workers: 2})
			if err != nil {
				t.Error(err)
				return
			}
			if err := db.Close(); err != nil {
				t.Error(err)
			}
		})
	}
	wg.Wait()
}

func TestLookingUpDoesNotAllocate(t *testing.T) {
	db := database(t)
	if n := testing.AllocsPerRun(100, func() {
		id, _ := db.Find(1, 2, 0x0c00)
		db.Entry(id)
		db.Territory(1, 2, 0x0c00)
		using(db, 1, 2, 0x0c00, 2)
	}); n != 0 {
		t.Fatal(n, "allocations")
	}
}

// TestReleasedFormat opens the file of each released version and makes it again: the same bytes.
func TestReleasedFormat(t *testing.T) {
	const version1 = "testdata/areas.v1" // size 3,4:1
	db, err := Open(version1)
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	if err := db.Check(); err != nil {
		t.Fatal(err)
	}
	want, err := os.ReadFile(version1)
	if err != nil {
		t.Fatal(err)
	}
	name := filepath.Join(t.TempDir(), "db")
	if err := Build(t.Context(), name, db.Config(), Options{}); err != nil {
		t.Fatal(err)
	}
	got, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(got, want) {
		t.Fatal("the bytes of version 1 have changed: is it another version?")
	}
	again, err := Open(name)
	if err != nil {
		t.Fatal(err)
	}
	defer again.Close()
	if again.Sum() != db.Sum() {
		t.Fatal("equal files, different sums")
	}
}

// TestDamage changes each byte of a small file, and cuts it off at many lengths: it is refused each
// time.
func TestDamage(t *testing.T) {
	dir := t.TempDir()
	name := filepath.Join(dir, "areas-small.db")
	if err := Build(t.Context(), name, mustParse(t, "2,3:1"), Options{}); err != nil {
		t.Fatal(err)
	}
	good, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	check := func(data []byte, what string) {
		t.Helper()
		if err := os.WriteFile(name, data, 0o666); err != nil {
			t.Fatal(err)
		}
		db, err := Open(name)
		if err == nil {
			db.Close()
			t.Fatalf("%s: opened", what)
		}
		if !errors.Is(err, ErrFormat) && !errors.Is(err, ErrVersion) && !errors.Is(err, ErrDamaged) ||
			strings.Contains(err.Error(), "\n") {
			t.Fatalf("%s: %v", what, err)
		}
	}
	used := headerBytes
	for good[used-5] == 0 { // before the header's checksum
		used--
	}
	for i := range good {
		if i > used && i < headerBytes-4 && i%37 != 0 {
			continue // one of many zeros
		}
		bad := bytes.Clone(good)
		bad[i] ^= 1 << (i % 8)
		check(bad, fmt.Sprint("byte ", i))
	}
	for n := 0; n < len(good); n += 1 + n/50 {
		check(good[:n], fmt.Sprint("cut to ", n))
	}
	check(append(bytes.Clone(good), 0), "a byte too many")
	// Another version, and another configuration, with the header's checksum right.
	h, err := decodeHeader(good)
	if err != nil {
		t.Fatal(err)
	}
	h.config = "3"
	check(append(h.encode(), good[headerBytes:]...), "another configuration")
	old := bytes.Clone(good)
	old[8]++
	check(old, "another version")
	if _, err := Open(name); !errors.Is(err, ErrVersion) ||
		!strings.Contains(err.Error(), fmt.Sprintf("version %d, this program reads version %d", Version+1, Version)) {
		t.Fatal(err)
	}
	// A directory with nothing else: none, and why.
	db, skipped, err := OpenDir(dir)
	if db != nil || !errors.Is(err, ErrNone) || len(skipped) != 1 {
		t.Fatal(db, skipped, err)
	}
	// On first use it is built.
	db, skipped, err = OpenOrBuild(t.Context(), dir, Options{})
	if err != nil || len(skipped) != 1 || db.Config().String() != "7" {
		t.Fatal(skipped, err)
	}
	db.Close()
}

// TestDamageFoundLater opens a file as if it were a large one, of which only what is touched is
// checked.
func TestDamageFoundLater(t *testing.T) {
	c := mustParse(t, "6")
	name := filepath.Join(t.TempDir(), "db")
	if err := Build(t.Context(), name, c, Options{}); err != nil {
		t.Fatal(err)
	}
	data, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	h, _ := decodeHeader(data)
	for _, kind := range []uint32{sectionActive, sectionTerritory} {
		bad := bytes.Clone(data)
		for _, s := range h.sections {
			if s.kind == kind && s.n == 6 {
				bad[s.offset+s.length/2] ^= 0x10
			}
		}
		if err := os.WriteFile(name, bad, 0o666); err != nil {
			t.Fatal(err)
		}
		db, err := openSize(name, 0)
		if err != nil {
			t.Fatal(err)
		}
		if err := db.Check(); !errors.Is(err, ErrDamaged) {
			t.Fatal("check finds", err)
		}
		r := rand.New(rand.NewPCG(13, 1))
		found := 0
		for range 100000 {
			x := randomArea(r, 6, [3]int{1, 1, 1})
			ok := false
			if kind == sectionActive {
				_, ok = db.Find(x[0], x[1], x[2])
			} else {
				_, _, ok = db.Territory(x[0], x[1], x[2])
			}
			if ok {
				found++
			}
			if db.Damaged() != nil {
				break
			}
		}
		if !errors.Is(db.Damaged(), ErrDamaged) {
			t.Fatal("never met; found", found)
		}
		if _, ok := db.Find(1, 2, 4); ok {
			t.Fatal("still looks things up")
		}
		db.Close()
	}
}
