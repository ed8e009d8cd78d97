package evidence

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/iotest"
	"time"

	"amazonsfarm/shared/disk"
	"amazonsfarm/shared/proof"
)

// partOf returns a part's bytes and id.
func partOf(seed byte, size int) ([]byte, proof.ID) {
	p := make([]byte, size)
	rand.NewChaCha8([32]byte{seed}).Read(p)
	return p, proof.IDOf(p)
}

func put(t testing.TB, f Store, seed byte, size int) ([]byte, proof.ID) {
	t.Helper()
	p, id := partOf(seed, size)
	if err := f.Put(id, int64(size), bytes.NewReader(p)); err != nil {
		t.Fatal(err)
	}
	return p, id
}

// checked returns what Verify and List find; nil wants all that is there.
func checked(t testing.TB, f Store, wanted map[proof.ID]int64) (list []error) {
	t.Helper()
	for id, size := range wanted {
		if err := Verify(t.Context(), f, id, size, nil); err != nil {
			list = append(list, err)
		}
	}
	for p, err := range f.List() {
		if _, ok := wanted[p.ID]; err == nil && wanted == nil {
			err = Verify(t.Context(), f, p.ID, p.Bytes, nil)
		} else if err == nil && !ok {
			err = fmt.Errorf("%w: nobody knows the part %s/%s/%s", ErrForeign, f, p.ID.Name()[:2], p.ID.Name())
		}
		if err != nil {
			list = append(list, err)
		}
	}
	return list
}

func TestFolder(t *testing.T) {
	root := filepath.Join(t.TempDir(), "s.evidence")
	f := OpenFolder(root)
	if list := checked(t, f, nil); list != nil {
		t.Error(list)
	}
	if _, err := os.Lstat(root); err == nil {
		t.Error("a folder without a part")
	}
	p, id := put(t, f, 1, 1_000_000)
	_, other := put(t, f, 2, 1)
	if data, err := os.ReadFile(filepath.Join(root, id.Name()[:2], id.Name())); err != nil || !bytes.Equal(data, p) {
		t.Error(len(data), err)
	}
	o, err := f.Open(id)
	if err != nil || o.Size() != int64(len(p)) {
		t.Fatal(o, err)
	}
	if got, err := io.ReadAll(io.NewSectionReader(o, 0, o.Size())); err != nil || !bytes.Equal(got, p) {
		t.Error(len(got), err)
	}
	if err := o.Close(); err != nil {
		t.Error(err)
	}
	if size, ok, _ := f.Has(other); size != 1 || !ok {
		t.Error(size, ok)
	}
	var got []Part
	for p, err := range OpenFolder(root).List() {
		if err != nil {
			t.Error(err)
		}
		p.Since = time.Time{}
		got = append(got, p)
	}
	if len(got) != 2 || !slices.Contains(got, Part{ID: id, Bytes: 1_000_000}) ||
		!slices.Contains(got, Part{ID: other, Bytes: 1}) {
		t.Error(got)
	}
	if err := errors.Join(f.Remove(other), f.Remove(other)); err != nil {
		t.Error(err)
	}
	if _, err := f.Open(other); !errors.Is(err, ErrMissing) || !strings.Contains(err.Error(), other.Name()) {
		t.Error(err)
	}
	if _, ok, _ := f.Has(other); ok {
		t.Error("it was removed")
	}
}

// TestFolderGone removes the folder while it is in use. A new one would hide what is lost.
func TestFolderGone(t *testing.T) {
	root := filepath.Join(t.TempDir(), "parts")
	f := OpenFolder(root)
	p, id := partOf(1, 1000)
	if err := f.Put(id, 1000, bytes.NewReader(p)); err != nil {
		t.Fatal(err)
	}
	if err := os.Rename(root, root+".away"); err != nil {
		t.Fatal(err)
	}
	if err := f.Put(id, 1000, bytes.NewReader(p)); err == nil ||
		!strings.Contains(err.Error(), root+" was removed or moved while it is in use; put it back") {
		t.Errorf("without its folder: %v", err)
	}
}

// TestPutMismatch wants nothing of what is not as announced.
func TestPutMismatch(t *testing.T) {
	root := t.TempDir()
	f := OpenFolder(root)
	p, id := partOf(1, 1000)
	broken := errors.New("broken")
	altered := append([]byte{p[0] ^ 1}, p[1:]...)
	for what, c := range map[string]struct {
		r    io.Reader
		want error
	}{
		"altered": {bytes.NewReader(altered), ErrMismatch},
		"cut":     {bytes.NewReader(p[:999]), ErrMismatch},
		"longer":  {io.MultiReader(bytes.NewReader(p), strings.NewReader("x")), ErrMismatch},
		"broken":  {io.MultiReader(bytes.NewReader(p[:500]), iotest.ErrReader(broken)), broken},
	} {
		if err := f.Put(id, 1000, c.r); !errors.Is(err, c.want) {
			t.Errorf("%s: %v", what, err)
		} else if c.want == ErrMismatch && !strings.Contains(err.Error(), id.Name()) {
			t.Errorf("%s: %v does not name the part", what, err)
		}
		if entries, err := os.ReadDir(filepath.Join(root, id.Name()[:2])); err != nil || len(entries) != 0 {
			t.Errorf("%s: left behind: %v, %v", what, entries, err)
		}
	}
	// What is there stays when something else comes under its name.
	if err := f.Put(id, 1000, bytes.NewReader(p)); err != nil {
		t.Fatal(err)
	}
	if err := f.Put(id, 1000, bytes.NewReader(altered)); !errors.Is(err, ErrMismatch) {
		t.Error(err)
	}
	if list := checked(t, f, nil); list != nil {
		t.Error(list)
	}
}

// TestCheck damages parts in each way, and wants each named.
func TestCheck(t *testing.T) {
	root := t.TempDir()
	f := OpenFolder(root)
	wanted := map[proof.ID]int64{}
	var ids []proof.ID
	for i := range byte(6) {
		p, id := put(t, f, i, 5000)
		ids, wanted[id] = append(ids, id), int64(len(p))
	}
	if list := checked(t, f, wanted); list != nil {
		t.Fatal(list)
	}
	for at := range 5000 {
		if at%97 == 0 {
			p, _ := partOf(0, 5000)
			p[at] ^= 1
			if err := os.WriteFile(f.path(ids[0]), p, 0o600); err != nil {
				t.Fatal(err)
			}
			if err := Verify(t.Context(), f, ids[0], 5000, nil); !errors.Is(err, ErrDamaged) {
				t.Fatalf("byte %d: %v", at, err)
			}
		}
	}
	swapped, _ := partOf(2, 5000)
	stray := filepath.Join(root, "zz")
	if err := errors.Join(os.Truncate(f.path(ids[1]), 4999), os.Remove(f.path(ids[2])),
		os.WriteFile(f.path(ids[3]), swapped, 0o600), os.Remove(f.path(ids[4])), os.Mkdir(f.path(ids[4]), 0o700),
		os.WriteFile(stray, nil, 0o600), os.Mkdir(filepath.Join(root, recovered), 0o700)); err != nil {
		t.Fatal(err)
	}
	_, unknown := put(t, f, 99, 10)
	list := checked(t, f, wanted)
	for i, want := range []error{ErrDamaged, ErrDamaged, ErrMissing, ErrDamaged, ErrForeign} {
		if !slices.ContainsFunc(list, func(err error) bool {
			return errors.Is(err, want) && strings.Contains(err.Error(), ids[i].Name())
		}) {
			t.Errorf("part %d is not named with %q in %v", i, want, list)
		}
	}
	if slices.ContainsFunc(list, func(err error) bool { return strings.Contains(err.Error(), recovered) }) {
		t.Errorf("the folder that every disk has is named in %v", list)
	}
	for _, path := range []string{stray, f.path(unknown)} {
		if !slices.ContainsFunc(list, func(err error) bool {
			return errors.Is(err, ErrForeign) && strings.HasSuffix(err.Error(), path)
		}) {
			t.Errorf("%s is not named in %v", path, list)
		}
	}
	if len(list) != 8 { // the folder in the place of a part is named twice
		t.Error(len(list), list)
	}
}

// TestLeftovers wants what a crash leaves to go at the next Open, and only that.
func TestLeftovers(t *testing.T) {
	root := t.TempDir()
	_, id := put(t, OpenFolder(root), 1, 100)
	folder := filepath.Join(root, id.Name()[:2])
	left := filepath.Join(folder, "."+id.Name()+".123.tmp")
	if err := os.WriteFile(left, []byte("x"), 0o600); err != nil {
		t.Fatal(err)
	}
	f := OpenFolder(root)
	if _, err := os.Lstat(left); err != nil || len(checked(t, f, map[proof.ID]int64{id: 100})) != 0 {
		t.Error("a reader removes it, or counts it", err)
	}
	lock, err := f.Hold()
	if err != nil {
		t.Fatal(err)
	}
	defer lock.Close()
	if _, err := os.Lstat(left); err == nil {
		t.Error("it is still there")
	}
	if _, err := OpenFolder(root).Hold(); !errors.Is(err, disk.ErrLocked) {
		t.Errorf("held by another: %v", err)
	}
	if list := checked(t, f, map[proof.ID]int64{id: 100}); list != nil {
		t.Error("the lock counts as a part", list)
	}
	if _, err := OpenFolder(filepath.Join(root, "none", "such")).Hold(); !errors.Is(err, ErrPlace) {
		t.Errorf("in no folder: %v", err)
	}
	if size, ok, _ := f.Has(id); !ok || size != 100 {
		t.Error("the part is gone")
	}
}

// TestCache reads more parts than stay open, from several goroutines, while others are damaged.
func TestCache(t *testing.T) {
	f := OpenFolder(t.TempDir())
	c := NewCache(f)
	var parts [][]byte
	for i := range byte(maxOpen + 20) {
		p, _ := put(t, f, i, 300)
		parts = append(parts, p)
	}
	var group sync.WaitGroup
	for g := range 4 {
		group.Go(func() {
			r := rand.New(rand.NewPCG(uint64(g), 1))
			for range 2000 {
				p := parts[r.IntN(len(parts))]
				at, got := r.IntN(300), make([]byte, 50)
				n, err := c.ReadAt(proof.IDOf(p), 300, got, int64(at))
				if n != min(50, 300-at) || (err != nil) != (n < 50) || !bytes.Equal(got[:n], p[at:at+n]) {
					t.Errorf("%d bytes at %d, %v", n, at, err)
				}
				if r.IntN(50) == 0 {
					c.Forget(proof.IDOf(p))
				}
			}
		})
	}
	group.Wait()
	if len(c.open) > maxOpen {
		t.Error("open:", len(c.open))
	}
	id := proof.IDOf(parts[0])
	if err := c.Verify(id, 300); err != nil {
		t.Error(err)
	}
	if err := os.Truncate(f.path(id), 100); err != nil {
		t.Fatal(err)
	}
	if _, err := c.ReadAt(id, 300, make([]byte, 50), 80); !errors.Is(err, ErrDamaged) {
		t.Error("read beyond a new end:", err)
	}
	if err := c.Verify(id, 300); !errors.Is(err, ErrDamaged) {
		t.Error(err)
	}
	other := proof.IDOf(parts[1])
	if err := os.WriteFile(f.path(other), make([]byte, 300), 0o600); err != nil {
		t.Fatal(err)
	}
	c.Forget(other)
	if n, err := c.ReadAt(other, 300, make([]byte, 1), 0); n != 0 || !errors.Is(err, ErrDamaged) {
		t.Error(n, err)
	}
	c.Close()
	if _, err := c.ReadAt(proof.IDOf(parts[2]), 300, make([]byte, 1), 0); !errors.Is(err, ErrClosed) {
		t.Error(err)
	}
	if err := c.Verify(proof.IDOf(parts[2]), 300); !errors.Is(err, ErrClosed) {
		t.Error(err)
	}
}

// TestHasWithoutDisk: where the disk does not answer, a part is not missing. What is missing is proved again.
func TestHasWithoutDisk(t *testing.T) {
	root := t.TempDir()
	f, id := OpenFolder(root), proof.ID{0xab}
	if _, there, err := f.Has(id); there || err != nil {
		t.Errorf("an empty folder: %v, %v", there, err)
	}
	if err := os.Symlink("ab", filepath.Join(root, "ab")); err != nil { // it leads round in a circle
		t.Fatal(err)
	}
	if _, there, err := f.Has(id); there || err == nil {
		t.Errorf("a folder that cannot be looked at: %v, %v", there, err)
	}
}
