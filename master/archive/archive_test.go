package archive

import (
	"bytes"
	"context"
	"errors"
	"io"
	"math/rand/v2"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/klauspost/compress/zstd"

	"amazonsfarm/master/store"
	"amazonsfarm/master/tree"
	"amazonsfarm/shared/amazons"
	"amazonsfarm/shared/eval"
	"amazonsfarm/shared/numbers"
	"amazonsfarm/shared/proof"
	"amazonsfarm/shared/testkit/fuzzing"
	"amazonsfarm/shared/testkit/reference"
)

// small returns an archive of 5x4 whose root is expanded, with two claims: a right one about the
// position after a move of the root, and a false one about that after another.
func small(t testing.TB) (a Archive, won, lost amazons.Key) {
	t.Helper()
	root, err := amazons.ParsePosition("5x4")
	if err != nil {
		t.Fatal(err)
	}
	s := root.State()
	var list []numbers.Child
	for _, m := range s.Moves(nil) {
		list = append(list, numbers.Child{Key: s.After(m).CanonicalKey(root.Board), Phi: 5, Delta: 6})
	}
	won, lost = list[0].Key, list[1].Key
	return Archive{
		Campaign: store.Campaign{Name: "5x4", Board: "5x4", Root: root.String(), Created: time.Unix(0, 0).UTC(),
			Pool: 1},
		Nodes:  77,
		Claims: []proof.Fact{{Key: won, Verdict: eval.Won, Nodes: 9}, {Key: lost, Verdict: eval.Lost, Nodes: 3}},
		Tree: []tree.NodeRecord{{Key: s.CanonicalKey(root.Board), Phi: 2, Delta: 3, Nodes: 7, Budget: 8, Expanded: true,
			Expansion: 1, Children: string(numbers.Append(nil, list))}},
	}, won, lost
}

func written(t testing.TB, a Archive) string {
	t.Helper()
	name := filepath.Join(t.TempDir(), "a.archive")
	if err := Write(name, a); err != nil {
		t.Fatal(err)
	}
	return name
}

// TestRoundTrip: what is written is read again; the same content has the same bytes.
func TestRoundTrip(t *testing.T) {
	a, _, _ := small(t)
	name := written(t, a)
	b, err := Read(t.Context(), name)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(a, b); diff != "" {
		t.Error(diff)
	}
	first, _ := os.ReadFile(name)
	again, _ := os.ReadFile(written(t, b))
	if !bytes.Equal(first, again) {
		t.Error("the same content has other bytes")
	}
}

// compressed returns a text as zstd.
func compressed(text string) []byte {
	z, _ := zstd.NewWriter(nil)
	return z.EncodeAll([]byte(text), nil)
}

// TestDecodeRefuses: files that are cut, of another format or no archive are refused, each by its kind.
func TestDecodeRefuses(t *testing.T) {
	a, _, _ := small(t)
	whole, err := os.ReadFile(written(t, a))
	if err != nil {
		t.Fatal(err)
	}
	bomb := `{"archive":1,"campaign":{"board":"5x4","root":"5x4"},"nodes":1,"tree":100}` + "\n"
	line := `{"position":"5x4","children":"` + strings.Repeat("A", 1<<20) + `"}` + "\n"
	head := `{"archive":1,"campaign":{"board":"5x4","root":"5x4"},"nodes":1,"claims":1,"tree":0}` + "\n"
	for name, c := range map[string]struct {
		data []byte
		want error
	}{
		"nothing":       {nil, ErrForeign},
		"text":          {[]byte("text"), ErrForeign},
		"cut":           {whole[:len(whole)/2], ErrForeign},
		"other format":  {compressed(`{"archive":2}`), ErrVersion},
		"no campaign":   {compressed(`{"archive":1}`), ErrForeign},
		"a false build": {compressed(strings.Replace(head, `"board"`, `"build":"x\nstate","board"`, 1)), ErrForeign},
		"too few":       {compressed(head), ErrForeign},
		"too many":      {compressed(head + "{}\n{}\n"), ErrForeign},
		"another board": {compressed(head + `{"position":"4x4","verdict":"won"}`), ErrForeign},
		"a bomb":        {compressed(bomb + strings.Repeat(line, 100)), ErrForeign},
		"no verdict":    {compressed(head + `{"position":"5x4","verdict":"wins"}`), ErrForeign},
	} {
		if _, err := Decode(t.Context(), bytes.NewReader(c.data), int64(len(c.data))); !errors.Is(err, c.want) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// TestImportBelievesNothing: claims without parts are no facts of the new store. They change the
// numbers of the tree: a claimed loss is tried first, a claimed win comes last.
func TestImportBelievesNothing(t *testing.T) {
	a, won, lost := small(t)
	file := filepath.Join(t.TempDir(), "new.db")
	r, err := Import(context.Background(), written(t, a), file, "")
	if err != nil {
		t.Fatal(err)
	}
	if r.Facts != 0 || r.Guiding != 2 || r.Tree != 3 || r.Nodes != 77 {
		t.Errorf("%+v", r)
	}
	s, err := store.Open(file, store.Options{ReadOnly: true})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	snap, err := s.Snapshot(1)
	if err != nil || len(snap.Facts) != 0 || snap.Spent != 77 {
		t.Fatalf("%v, %+v", err, snap)
	}
	for _, n := range snap.Nodes {
		if n.Key == won && (n.Phi != 1 || n.Delta < 1<<20) || n.Key == lost && (n.Delta != 1 || n.Phi < 1<<20) {
			t.Errorf("%+v does not steer the search", n)
		}
	}
}

// TestImportRefuses: tree positions that no tree has make a damaged archive, and nothing of a store is left.
func TestImportRefuses(t *testing.T) {
	one := string(numbers.Append(nil, []numbers.Child{{Phi: 1, Delta: 1}}))
	for what, change := range map[string]func(n *tree.NodeRecord){
		"a position that follows none":   func(n *tree.NodeRecord) { n.Key = amazons.Key{A: 7, B: 7 << 10} },
		"numbers of too few children":    func(n *tree.NodeRecord) { n.Children = one },
		"numbers of a solved position":   func(n *tree.NodeRecord) { n.Phi = 0 },
		"children of an unexpanded one":  func(n *tree.NodeRecord) { n.Expanded = false },
		"an expansion without a number":  func(n *tree.NodeRecord) { n.Expansion = 0 },
		"children that are not a record": func(n *tree.NodeRecord) { n.Children = "x" },
	} {
		a, _, _ := small(t)
		change(&a.Tree[0])
		dir := t.TempDir()
		if r, err := Import(t.Context(), written(t, a), filepath.Join(dir, "new.db"), ""); !errors.Is(err, ErrForeign) {
			t.Errorf("%s: %v, %v", what, r, err)
		}
		if left, err := os.ReadDir(dir); err != nil || len(left) > 0 {
			t.Errorf("%s: it leaves %v, %v", what, left, err)
		}
	}
}

// TestImportOfNoTree: many expanded positions that follow none take no memory, though each has thousands of moves.
func TestImportOfNoTree(t *testing.T) {
	root, err := amazons.ParsePosition("8x8")
	if err != nil {
		t.Fatal(err)
	}
	a := Archive{Campaign: store.Campaign{Name: "8x8", Board: "8x8", Root: root.String(),
		Created: time.Unix(0, 0).UTC()}}
	r := rand.New(rand.NewPCG(1, 2))
	for range 2000 {
		s := reference.Scattered(r, root.Board, 18, 4, 42)
		a.Tree = append(a.Tree, tree.NodeRecord{Key: s.CanonicalKey(root.Board), Phi: 1, Delta: 1, Expanded: true,
			Expansion: 1})
	}
	name := written(t, a)
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	_, err = Import(t.Context(), name, filepath.Join(t.TempDir(), "new.db"), "")
	runtime.ReadMemStats(&after)
	if took := after.TotalAlloc - before.TotalAlloc; !errors.Is(err, ErrForeign) || took > 1<<26 {
		t.Errorf("the import took %d bytes of memory: %v", took, err)
	}
}

// until is a context that ends once a file is there.
type until struct {
	context.Context
	file string
}

// Err returns context.Canceled once the file is there.
func (u until) Err() error {
	if _, err := os.Lstat(u.file); err == nil {
		return context.Canceled
	}
	return nil
}

// TestImportTakesParts: of a folder, a part comes in if what it cites is proved by others there, and
// proves its roots; anything else is refused. A failed import leaves nothing.
func TestImportTakesParts(t *testing.T) {
	root, err := amazons.ParsePosition("4x4")
	if err != nil {
		t.Fatal(err)
	}
	data, err := os.ReadFile("testdata/4x4.proof")
	if err != nil {
		t.Fatal(err)
	}
	c, err := proof.Read(bytes.NewReader(data), int64(len(data)))
	if err != nil {
		t.Fatal(err)
	}
	folder := t.TempDir()
	m, err := proof.WriteParts(context.Background(), filepath.Join(folder, "x.proof"), c, 20)
	if err != nil || len(m.Parts) < 3 {
		t.Fatalf("%d parts, %v", len(m.Parts), err)
	}
	about := store.Campaign{Name: "4x4", Board: "4x4", Root: root.String(), Created: time.Unix(0, 0).UTC()}
	name := written(t, Archive{Campaign: about})
	importing := func() Imported {
		t.Helper()
		r, err := Import(context.Background(), name, filepath.Join(t.TempDir(), "new.db"), folder)
		if err != nil {
			t.Fatal(err)
		}
		return r
	}
	// Of what is no part at all little is read, however large it is.
	// Of what begins like a part no more is in memory than a part takes.
	huge, long := filepath.Join(folder, "huge"), filepath.Join(folder, "long")
	if err := errors.Join(os.WriteFile(huge, nil, 0o600), os.Truncate(huge, 1<<40),
		os.WriteFile(long, data, 0o600), os.Truncate(long, 1<<28)); err != nil {
		t.Fatal(err)
	}
	if _, err := proof.ReadManifest(huge); !errors.Is(err, proof.ErrNotCertificate) {
		t.Errorf("a huge manifest: %v", err)
	}
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	if r := importing(); r.Parts != len(m.Parts) || r.Facts < r.Parts || r.Refused != 3 { // the manifest is no part
		t.Errorf("%+v", r)
	}
	if runtime.ReadMemStats(&after); after.TotalAlloc-before.TotalAlloc > 1<<27 {
		t.Errorf("the import took %d bytes of memory", after.TotalAlloc-before.TotalAlloc)
	}
	os.Remove(long)
	// Without the part that proves no others, what cites it is refused, up to the root.
	for _, p := range m.Parts {
		if p.Citations == 0 {
			os.Remove(filepath.Join(proof.PartsFolder(filepath.Join(folder, "x.proof")), p.ID.Name()))
			break
		}
	}
	r := importing()
	if r.Parts > len(m.Parts)-2 || r.Refused < 2 {
		t.Errorf("%+v", r)
	}
	for _, want := range []string{"x.proof: ", ": it cites what no other part here proves"} {
		if len(r.RefusedFiles) != r.Refused || !strings.Contains(strings.Join(r.RefusedFiles, "\n"), want) {
			t.Errorf("%q are named, not %q", r.RefusedFiles, want)
		}
	}
	taken := filepath.Join(t.TempDir(), "taken.db")
	if err := os.WriteFile(taken, []byte("x"), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := Import(context.Background(), name, taken, ""); err == nil {
		t.Error("a store was imported over a file")
	}
	// A signal ends an import while it copies the parts, which may take hours.
	stopped := t.TempDir()
	ctx := until{context.Background(), filepath.Join(stopped, ".new.db.import")}
	if _, err := Import(ctx, name, filepath.Join(stopped, "new.db"), folder); !errors.Is(err, context.Canceled) {
		t.Errorf("an import that was stopped: %v", err)
	}
	if list, err := os.ReadDir(stopped); len(list) > 0 || err != nil {
		t.Errorf("an import that was stopped leaves %v, %v", list, err)
	}
	// What a killed import has left is replaced. Store and parts get their names once they are whole.
	dir := t.TempDir()
	left := filepath.Join(dir, ".new.db.import")
	if err := errors.Join(os.WriteFile(left, []byte("x"), 0o600), os.MkdirAll(store.EvidenceFolder(left)+"/ab", 0o700),
		os.WriteFile(store.EvidenceFolder(left)+"/ab/x", []byte("x"), 0o600)); err != nil {
		t.Fatal(err)
	}
	if _, err := Import(context.Background(), name, filepath.Join(dir, "new.db"), folder); err != nil {
		t.Fatal(err)
	}
	var names []string
	list, _ := os.ReadDir(dir)
	for _, e := range list {
		names = append(names, e.Name())
	}
	if !slices.Equal(names, []string{"new.db", "new.evidence"}) {
		t.Errorf("after the import: %q", names)
	}
}

// FuzzDecode: any bytes are an archive or an error.
func FuzzDecode(f *testing.F) {
	a, _, _ := small(f)
	whole, err := os.ReadFile(written(f, a))
	if err != nil {
		f.Fatal(err)
	}
	z, err := zstd.NewReader(bytes.NewReader(whole))
	if err != nil {
		f.Fatal(err)
	}
	text, err := io.ReadAll(z)
	if err != nil {
		f.Fatal(err)
	}
	f.Add(text)
	f.Add([]byte(`{"archive":1}`))
	f.Fuzz(func(t *testing.T, text []byte) {
		fuzzing.Within(t, 10*time.Second, 512<<20, func() {
			data := compressed(string(text))
			a, err := Decode(t.Context(), bytes.NewReader(data), int64(len(data)))
			if err != nil && !errors.Is(err, ErrForeign) && !errors.Is(err, ErrVersion) {
				t.Error(err)
			}
			if err == nil {
				if err := Write(filepath.Join(t.TempDir(), "again"), a); err != nil {
					t.Error(err)
				}
			}
		})
	})
}
