package proof_test

import (
	"bytes"
	"context"
	"errors"
	"io"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"testing"

	"amazonsfarm/shared/amazons"
	"amazonsfarm/shared/checker"
	"amazonsfarm/shared/eval"
	"amazonsfarm/shared/proof"
)

// TestSplitAndPack cuts certificates into parts of many sizes: each proof in parts holds, and packed
// it is the certificate again.
func TestSplitAndPack(t *testing.T) {
	if testing.Short() {
		t.Skip("one goroutine: nothing for the race detector to find")
	}
	whole, _ := sample(t)
	p := position(t, "4x4")
	rules := build(t, p.Board, p.State(), eval.Lost, newExact(p.Board, true), eval.MoveLeaves)
	s := p.State()
	rules.Roots = append(rules.Roots, proof.Root{State: s, Claim: eval.Lost}) // the same claim again
	several := whole
	for e := range whole.Set.All() { // roots in all layers
		if len(several.Roots) < 40 {
			s, err := e.Key.State(p.Board)
			if err != nil {
				t.Fatal(err)
			}
			several.Roots = append(several.Roots, proof.Root{State: s, ToMove: amazons.Black, Claim: eval.Won})
		}
	}
	for i, c := range []proof.Certificate{whole, rules, several} {
		pruned, missing, err := proof.Prune(t.Context(), c, nil)
		if err != nil || len(missing) > 0 {
			t.Fatal(missing, err)
		}
		want, err := proof.Encode(pruned)
		if err != nil {
			t.Fatal(err)
		}
		for _, positions := range []int{1, 20, 300, 1 << 20} {
			if positions == 1 && i > 0 || positions < 100 && testing.Short() {
				continue // thousands of files
			}
			name := filepath.Join(t.TempDir(), "game.proof")
			m, err := proof.WriteParts(t.Context(), name, c, positions)
			if err != nil {
				t.Fatal(err)
			}
			cited := int64(0)
			for _, part := range m.Parts {
				cited += part.Citations
				if part.Positions > int64(positions) {
					t.Errorf("certificate %d: a part of %d positions, %d were allowed", i, part.Positions, positions)
				}
				c, err := proof.ReadFile(filepath.Join(proof.PartsFolder(name), part.ID.Name()))
				if err != nil {
					t.Fatal(err)
				}
				verify(t, c)
			}
			report, err := checker.CheckFile(t.Context(), name, checker.Options{Workers: 2})
			if err != nil || !report.Complete() || len(report.Roots) != len(c.Roots) {
				t.Fatalf("certificate %d, %d positions: %+v, %v", i, positions, report, err)
			}
			t.Logf("certificate %d, %d positions: %d in %d parts, %d citations, %d bytes instead of %d", i, positions,
				report.Entries, len(m.Parts), cited, report.Bytes, len(want))
			packed, err := proof.Pack(t.Context(), name, 1<<20)
			if err != nil {
				t.Fatal(err)
			}
			if got, err := proof.Encode(packed); err != nil || !bytes.Equal(got, want) {
				t.Errorf("certificate %d, %d positions: packed to another certificate, %v", i, positions, err)
			}
			if _, err := proof.Pack(t.Context(), name, 10); !errors.Is(err, proof.ErrTooLarge) {
				t.Errorf("packed beyond the limit: %v", err)
			}
		}
	}
}

// TestSplitLacking splits a certificate without one of its entries.
func TestSplitLacking(t *testing.T) {
	c, _ := sample(t)
	less := new(proof.Set)
	for _, e := range slices.SortedFunc(c.Set.All(), func(a, b proof.Entry) int { return a.Key.Compare(b.Key) })[1:] {
		less.Add(e)
	}
	c.Set = less
	// What lacks an entry may look as if it cited it as lost. Then that cannot be proved.
	err := proof.Split(t.Context(), c, 30, func(proof.Certificate) error { return nil })
	if !errors.Is(err, proof.ErrMissing) {
		t.Error(err)
	}
}

// crowd is a context that ends when a folder has three files.
type crowd struct {
	context.Context
	folder string
}

func (c crowd) Err() error {
	if files, _ := os.ReadDir(c.folder); len(files) > 2 {
		return context.Canceled
	}
	return nil
}

// TestPartsOfNoProof: parts that come to no manifest are taken away, and nothing else is.
func TestPartsOfNoProof(t *testing.T) {
	c, _ := sample(t)
	name := filepath.Join(t.TempDir(), "game.proof")
	if _, err := proof.WriteParts(t.Context(), name, c, 20); err != nil {
		t.Fatal(err)
	}
	folder := proof.PartsFolder(name)
	all, err := os.ReadDir(folder)
	if err != nil || len(all) < 5 {
		t.Fatal(len(all), err)
	}
	for _, kept := range []int{1, 0} {
		for _, e := range all[kept:] {
			os.Remove(filepath.Join(folder, e.Name()))
		}
		if os.Remove(name); kept == 0 {
			os.Remove(folder)
		}
		ctx := crowd{t.Context(), folder}
		if _, err := proof.WriteParts(ctx, name, c, 20); !errors.Is(err, context.Canceled) {
			t.Error(err)
		}
		left, err := os.ReadDir(folder)
		if len(left) != kept || kept == 1 && left[0].Name() != all[0].Name() || (err == nil) != (kept == 1) {
			t.Errorf("there were %d: %v, %v", kept, left, err)
		}
	}
}

func TestManifestFile(t *testing.T) {
	c, _ := sample(t)
	name := filepath.Join(t.TempDir(), "game.proof")
	m, err := proof.WriteParts(t.Context(), name, c, 100)
	if err != nil {
		t.Fatal(err)
	}
	data, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	slices.Reverse(m.Parts)
	if err := proof.WriteManifest(name, m); err != nil {
		t.Fatal(err)
	}
	if again, err := os.ReadFile(name); err != nil || !bytes.Equal(again, data) {
		t.Errorf("the order of the parts changes the manifest: %v", err)
	}
	got, err := proof.ReadManifest(name)
	if err != nil || got.Board != m.Board || got.Roots[0] != m.Roots[0] || len(got.Parts) != len(m.Parts) {
		t.Errorf("%+v, %v", got, err)
	}
	if _, err := proof.ReadFile(name); !errors.Is(err, proof.ErrNotCertificate) {
		t.Errorf("a manifest read as a certificate: %v", err)
	}
	for i := range data {
		bad := bytes.Clone(data)
		bad[i] ^= 1 << (i % 8)
		if err := os.WriteFile(name, bad, 0o600); err != nil {
			t.Fatal(err)
		}
		if _, err := proof.ReadManifest(name); err == nil {
			t.Fatalf("read with byte %d changed", i)
		}
		if err := os.WriteFile(name, rehash(data[:i:i]), 0o600); err != nil {
			t.Fatal(err)
		}
		want := proof.ErrTruncated
		if i < 8 { // so many bytes say what it is
			want = proof.ErrNotCertificate
		}
		if _, err := proof.ReadManifest(name); !errors.Is(err, want) {
			t.Fatalf("cut to %d bytes: %v, want %v", i, err, want)
		}
	}
	for what, change := range map[string]func(m *proof.Manifest){
		"no claim":     func(m *proof.Manifest) { m.Roots = nil },
		"no part":      func(m *proof.Manifest) { m.Parts = nil },
		"a part twice": func(m *proof.Manifest) { m.Parts = append(slices.Clip(m.Parts), m.Parts[0]) },
		"a claim of no part": func(m *proof.Manifest) {
			m.Roots = []proof.Root{{State: m.Roots[0].State,
				Claim: eval.Won}}
		},
		"a part without roots": func(m *proof.Manifest) { m.Parts = append(slices.Clip(m.Parts), proof.Part{}) },
	} {
		bad := m
		change(&bad)
		if err := proof.WriteManifest(name, bad); !errors.Is(err, proof.ErrInvalid) {
			t.Errorf("%s: %v", what, err)
		}
	}
}

// TestSwappedParts: a part under the name of another one is not read as that. Each is a good certificate, so nothing
// but the SHA-256 of its file tells.
func TestSwappedParts(t *testing.T) {
	c, _ := sample(t)
	name := filepath.Join(t.TempDir(), "game.proof")
	m, err := proof.WriteParts(t.Context(), name, c, 100)
	if err != nil {
		t.Fatal(err)
	}
	slices.SortFunc(m.Parts, func(p, q proof.Part) int { return int(p.Positions - q.Positions) })
	small, large := m.Parts[0], m.Parts[len(m.Parts)-1]
	data, err := os.ReadFile(filepath.Join(proof.PartsFolder(name), small.ID.Name()))
	if err == nil {
		err = os.WriteFile(filepath.Join(proof.PartsFolder(name), large.ID.Name()), data, 0o600)
	}
	if err != nil {
		t.Fatal(err)
	}
	if _, err := proof.Pack(t.Context(), name, 1<<20); !errors.Is(err, proof.ErrCorrupt) {
		t.Errorf("pack: %v", err)
	}
	if err := proof.WritePlain(t.Context(), io.Discard, name); !errors.Is(err, proof.ErrCorrupt) {
		t.Errorf("plain lines: %v", err)
	}
}

// TestManifestLists: a manifest whose lists are not as FORMAT.md says is refused, though its hash is right. With one
// SHA-256 for two parts, what is noted of one of them would count for the other.
func TestManifestLists(t *testing.T) {
	c, _ := sample(t)
	name := filepath.Join(t.TempDir(), "game.proof")
	m, err := proof.WriteParts(t.Context(), name, c, 100)
	if err != nil {
		t.Fatal(err)
	}
	whole, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	parts := 64 + 24*len(m.Roots)
	roots := parts + 64*len(m.Parts)
	for what, change := range map[string]func(b []byte){
		"a part twice":            func(b []byte) { copy(b[parts+64:][:32], b[parts:]) },
		"a root twice":            func(b []byte) { copy(b[roots+24:][:24], b[roots:]) },
		"a part with a root less": func(b []byte) { b[parts+56]++ },
		"a root of no part":       func(b []byte) { b[roots+18] = 0xff },
	} {
		bad := bytes.Clone(whole)
		change(bad)
		if err := os.WriteFile(name, rehash(bad), 0o600); err != nil {
			t.Fatal(err)
		}
		if _, err := proof.ReadManifest(name); !errors.Is(err, proof.ErrCorrupt) {
			t.Errorf("%s: %v", what, err)
		}
	}
}

// TestHugeManifest: of a file that begins as a manifest and goes on behind its end, the rest is not read. One that is
// all holes behind its beginning takes no memory, whether its hash is right or not.
func TestHugeManifest(t *testing.T) {
	whole, _ := sample(t)
	name := filepath.Join(t.TempDir(), "game.proof")
	read := func(what string, size int64, kind error) {
		t.Helper()
		if err := os.Truncate(name, size); err != nil { // the rest is a hole
			t.Fatal(err)
		}
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		_, err := proof.ReadManifest(name)
		runtime.ReadMemStats(&after)
		if took := after.TotalAlloc - before.TotalAlloc; !errors.Is(err, kind) || took > 1<<26 {
			t.Errorf("%s takes %d bytes of memory, %v", what, took, err)
		}
	}
	if _, err := proof.WriteParts(t.Context(), name, whole, 300); err != nil {
		t.Fatal(err)
	}
	read("a file that goes on", 1<<30, proof.ErrChecksum)

	const parts = 1 << 22
	data := make([]byte, 64+24+64*parts+24*parts)
	copy(data, "AMZLIST\n")
	data[8], data[12], data[48], data[49], data[50] = 1, 1, 4, 4, 3
	data[54], data[58] = parts>>16, parts>>16 // parts and roots
	data[64+17] = byte(eval.Won)
	for what, kind := range map[string]error{"a file of holes": proof.ErrCorrupt, "another": proof.ErrChecksum} {
		head := rehash(data)[:64+24]
		if kind == proof.ErrChecksum {
			head[20]++
		}
		if err := os.WriteFile(name, head, 0o600); err != nil {
			t.Fatal(err)
		}
		read(what, int64(len(data)), kind)
	}
}

// TestCitationsRefused writes parts that cite what no part may cite.
func TestCitationsRefused(t *testing.T) {
	c, _ := sample(t)
	var part proof.Certificate
	if err := proof.Split(t.Context(), c, 20, func(p proof.Certificate) error {
		if len(p.Cited) > 1 {
			part = p
		}
		return nil
	}); err != nil {
		t.Fatal(err)
	}
	q := part.Cited[0]
	for what, cited := range map[string][]proof.Citation{
		"the root":          {{Key: part.Roots[0].State.CanonicalKey(c.Board), Claim: part.Roots[0].Claim}},
		"no winner":         {{Key: q.Key}},
		"twice":             {q, q},
		"won and lost":      {q, {Key: q.Key, Claim: q.Claim.Other()}},
		"outside the board": {{Key: amazons.Key{A: 0xffff << 40, B: 0xffff << 40}, Claim: eval.Won}},
	} {
		bad := part
		bad.Cited = cited
		if _, err := proof.Encode(bad); !errors.Is(err, proof.ErrInvalid) {
			t.Errorf("%s: %v", what, err)
		}
	}
}
