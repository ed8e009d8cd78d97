package disk

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"
)

// names returns what lies in a folder.
func names(t *testing.T, folder string) (list []string) {
	t.Helper()
	entries, err := os.ReadDir(folder)
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range entries {
		list = append(list, e.Name())
	}
	return list
}

func TestReplace(t *testing.T) {
	name := filepath.Join(t.TempDir(), "f")
	write := func(text string, err error) error {
		return Replace(name, 0o640, func(f *os.File) error {
			_, werr := f.WriteString(text)
			return errors.Join(werr, err)
		})
	}
	broken := errors.New("broken")
	if err := write("one", nil); err != nil {
		t.Fatal(err)
	}
	if err := write("two", broken); !errors.Is(err, broken) {
		t.Fatalf("a failing writer: %v", err)
	}
	if data, err := os.ReadFile(name); err != nil || string(data) != "one" {
		t.Errorf("after a failure the file holds %q, %v", data, err)
	}
	if err := write("three", nil); err != nil {
		t.Fatal(err)
	}
	info, err := os.Stat(name)
	if data, _ := os.ReadFile(name); err != nil || string(data) != "three" || info.Mode() != 0o640 {
		t.Errorf("the file holds %q with mode %v", data, info.Mode())
	}
	if got := names(t, filepath.Dir(name)); !slices.Equal(got, []string{"f"}) {
		t.Errorf("the folder holds %v", got)
	}
}

func TestNew(t *testing.T) {
	folder := t.TempDir()
	name := filepath.Join(folder, "f")
	old := filepath.Join(folder, ".f.1.tmp")
	for _, n := range []string{old, filepath.Join(folder, ".f.2.tmp"), filepath.Join(folder, ".g.1.tmp")} {
		if err := os.WriteFile(n, nil, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	other := filepath.Join(folder, ".f.bak.1.tmp") // of another file
	for _, n := range []string{old, other} {
		err := errors.Join(os.WriteFile(n, nil, 0o600), os.Chtimes(n, time.Time{}, time.Now().Add(-2*time.Hour)))
		if err != nil {
			t.Fatal(err)
		}
	}
	first, err := New(name)
	if err != nil {
		t.Fatal(err)
	}
	second, err := New(name)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := first.WriteString("first"); err != nil {
		t.Fatal(err)
	}
	if err := first.Publish(); err != nil {
		t.Fatal(err)
	}
	if err := second.Publish(); !errors.Is(err, ErrExists) {
		t.Errorf("a second file of one name: %v", err)
	}
	first.Discard()
	second.Discard()
	if _, err := New(name); !errors.Is(err, ErrExists) {
		t.Errorf("a file of a name that is taken: %v", err)
	}
	if _, err := New(filepath.Join(folder, "none", "f")); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("a file in no folder: %v", err)
	}
	if data, err := os.ReadFile(name); err != nil || string(data) != "first" {
		t.Errorf("the file holds %q, %v", data, err)
	}
	if got := names(t, folder); !slices.Equal(got, []string{".f.2.tmp", ".f.bak.1.tmp", ".g.1.tmp", "f"}) {
		t.Errorf("the folder holds %v", got)
	}
}

func TestLock(t *testing.T) {
	name := filepath.Join(t.TempDir(), "f")
	if err := os.WriteFile(name, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	open := func() *os.File {
		f, err := os.Open(name)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { f.Close() })
		return f
	}
	a, b := open(), open()
	if err := errors.Join(Lock(a, false, 0), Lock(b, false, 0)); err != nil {
		t.Fatalf("two readers: %v", err)
	}
	if err := Lock(b, true, 20*time.Millisecond); !errors.Is(err, ErrLocked) {
		t.Errorf("a writer beside a reader: %v", err)
	}
	a.Close()
	if err := Lock(b, true, time.Second); err != nil {
		t.Errorf("a writer alone: %v", err)
	}
}

// TestOpen: nobody waits for the other end of a pipe, or reads a folder.
func TestOpen(t *testing.T) {
	folder := t.TempDir()
	pipe, file := filepath.Join(folder, "pipe"), filepath.Join(folder, "file")
	if err := syscall.Mkfifo(pipe, 0o600); err != nil {
		t.Skip(err)
	}
	if err := os.WriteFile(file, []byte("text"), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{pipe, folder} {
		if _, err := Open(name); !errors.Is(err, ErrIrregular) {
			t.Errorf("%s: %v", name, err)
		}
	}
	if size, sum, err := SHA256(file); err != nil || size != 4 || !strings.HasPrefix(sum, "982d9e3e") {
		t.Errorf("%d %s, %v", size, sum, err)
	}
	if _, err := Open(filepath.Join(folder, "none")); !errors.Is(err, fs.ErrNotExist) {
		t.Error(err)
	}
}
