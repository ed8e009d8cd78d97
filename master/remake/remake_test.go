package remake

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"amazonsfarm/master/evidence"
	"amazonsfarm/shared/checker"
	"amazonsfarm/shared/dfpn"
	"amazonsfarm/shared/proof"
)

// manifest writes the proof of 4x4 in parts, with its list changed, and returns the file of the list.
func manifest(t *testing.T, change func(*proof.Manifest)) string {
	t.Helper()
	c, err := proof.ReadFile("../archive/testdata/4x4.proof")
	if err != nil {
		t.Fatal(err)
	}
	name := filepath.Join(t.TempDir(), "x.proof")
	m, err := proof.WriteParts(t.Context(), name, c, 30)
	if err != nil || len(m.Parts) < 4 {
		t.Fatalf("%d parts, %v", len(m.Parts), err)
	}
	change(&m)
	if err := proof.WriteManifest(name, m); err != nil {
		t.Fatal(err)
	}
	return name
}

var small = Options{TableBytes: dfpn.MinTableBytes, Cores: 1, Seed: 7}

// TestNowhereToKeep: that nothing can be kept is said before a part is made, which may take hours.
func TestNowhereToKeep(t *testing.T) {
	name := manifest(t, func(*proof.Manifest) {})
	for _, keep := range []string{name, filepath.Join(t.TempDir(), "there is no such folder", "parts")} {
		o := small
		o.Keep = keep
		ctx, cancel := context.WithCancel(t.Context())
		cancel() // it ends the first search at once
		if _, err := Run(ctx, name, o, func(Part) {}); !errors.Is(err, evidence.ErrPlace) {
			t.Errorf("%s: %v", keep, err)
		}
	}
}

// TestRun makes all parts of a proof again, then a sample: the same one for the same seed.
func TestRun(t *testing.T) {
	name := manifest(t, func(*proof.Manifest) {})
	heard := 0
	all := small
	all.Keep, all.Notes = filepath.Join(t.TempDir(), "parts"), filepath.Join(t.TempDir(), "notes")
	r, err := Run(t.Context(), name, all, func(Part) { heard++ })
	if err != nil || len(r.Made) != r.Parts || heard != r.Parts {
		t.Fatalf("%+v, %v", r, err)
	}
	for _, p := range r.Made {
		for _, id := range p.Made {
			data, err := os.ReadFile(filepath.Join(all.Keep, id[:2], id))
			if err != nil || proof.IDOf(data).Name() != id {
				t.Errorf("part %s is kept as another one, or not at all: %v", id, err)
			}
		}
	}
	// What the notes have and the folder lost is made again.
	lost := r.Made[1].Made[0]
	if err := os.Remove(filepath.Join(all.Keep, lost[:2], lost)); err != nil {
		t.Fatal(err)
	}
	if r, err := Run(t.Context(), name, all, func(Part) {}); err != nil || r.Before != r.Parts-1 {
		t.Errorf("after a loss: %+v, %v", r, err)
	}
	if _, err := os.Stat(filepath.Join(all.Keep, lost[:2], lost)); err != nil {
		t.Error(err)
	}
	sample := small
	sample.Sample = 3
	ids := func(o Options) (list []string) {
		r, err := Run(t.Context(), name, o, func(Part) {})
		if err != nil || len(r.Made) != 3 {
			t.Fatalf("%+v, %v", r, err)
		}
		for _, p := range r.Made {
			list = append(list, p.ID)
		}
		return list
	}
	first := ids(sample)
	if again := ids(sample); !slices.Equal(first, again) {
		t.Errorf("%v, then %v", first, again)
	}
	if sample.Seed++; slices.Equal(first, ids(sample)) {
		t.Error("another seed chooses the same parts")
	}
}

// TestNotes stops a run, cuts its notes anywhere, and goes on: each part is made once, and the rest is not made again.
// Shards of a proof have all its parts, each once.
func TestNotes(t *testing.T) {
	name := manifest(t, func(*proof.Manifest) {})
	o := small
	o.Notes = filepath.Join(t.TempDir(), "notes")
	ctx, cancel := context.WithCancel(t.Context())
	heard := 0
	r, err := Run(ctx, name, o, func(Part) {
		if heard++; heard == 3 {
			cancel()
		}
	})
	if !errors.Is(err, context.Canceled) || len(r.Made) != 3 {
		t.Fatalf("%+v, %v", r, err)
	}
	data, err := os.ReadFile(o.Notes)
	if err != nil {
		t.Fatal(err)
	}
	for _, cut := range []int{0, 1, 30} {
		if err := os.WriteFile(o.Notes, data[:len(data)-cut], 0o644); err != nil {
			t.Fatal(err)
		}
		before, heard := 3-min(cut, 1), 0
		r, err := Run(t.Context(), name, o, func(Part) { heard++ })
		if err != nil || r.Before != before || len(r.Made) != r.Parts || heard != r.Parts-before {
			t.Errorf("cut by %d: %+v, %v", cut, r, err)
		}
		if r, err := Run(t.Context(), name, o, func(Part) {}); err != nil || r.Before != r.Parts ||
			!strings.Contains(r.String(), "accepts each, if the state is true") {
			t.Errorf("with all notes: %+v, %v", r, err)
		}
	}
	other := manifest(t, func(m *proof.Manifest) { m.Parts = slices.Clone(m.Parts); m.Parts[0].Positions++ })
	if _, err := Run(t.Context(), other, o, func(Part) {}); !errors.Is(err, checker.ErrState) {
		t.Errorf("notes about another manifest: %v", err)
	}
	made := map[string]int{}
	for n := range int64(3) {
		o := small
		o.Shard = checker.Shard{Number: n + 1, Of: 3}
		r, err := Run(t.Context(), name, o, func(p Part) { made[p.ID]++ })
		if err != nil || len(r.Made) == 0 {
			t.Errorf("shard %d: %+v, %v", n+1, r, err)
		}
	}
	for id, n := range made {
		if len(made) != r.Parts || n != 1 {
			t.Errorf("the shards have %d of %d parts, %s %d times", len(made), r.Parts, id, n)
		}
	}
}

// TestFalseClaims: whichever claim of a manifest is false, making all parts again finds it out.
func TestFalseClaims(t *testing.T) {
	n := 0
	manifest(t, func(m *proof.Manifest) { n = len(m.Parts) })
	for i := range n {
		top := false
		name := manifest(t, func(m *proof.Manifest) {
			q := &m.Parts[i].Roots[0]
			if top = proof.Arrows(q.Key) == 0; !top { // else it is the claim of the proof itself
				q.Claim = q.Claim.Other()
			}
		})
		if _, err := Run(t.Context(), name, small, func(Part) {}); !top && !errors.Is(err, ErrRefuted) {
			t.Errorf("part %d: %v", i, err)
		}
	}
	ended, cancel := context.WithCancel(t.Context())
	cancel()
	name := manifest(t, func(*proof.Manifest) {})
	if _, err := Run(ended, name, small, func(Part) {}); !errors.Is(err, context.Canceled) {
		t.Errorf("interrupted: %v", err)
	}
}

// TestClaimWithoutPart: a claim of the manifest that no part is listed to prove is refused before anything
// is made.
func TestClaimWithoutPart(t *testing.T) {
	m, err := proof.ReadManifest(manifest(t, func(*proof.Manifest) {}))
	if err != nil {
		t.Fatal(err)
	}
	m.Roots[0].Claim = m.Roots[0].Claim.Other()
	if _, err := newWorkshop(m, small); !errors.Is(err, ErrRefuted) {
		t.Errorf("%v", err)
	}
}

// TestOneNameForTwoParts: a manifest that gives two parts one SHA-256 is refused. The notes about the first part, which
// holds, would otherwise stand in for the second one, which claims that the wrong side wins.
func TestOneNameForTwoParts(t *testing.T) {
	name := manifest(t, func(m *proof.Manifest) {
		m.Roots[0].Claim = m.Roots[0].Claim.Other()
		wrong := slices.IndexFunc(m.Parts, func(p proof.Part) bool { return proof.Arrows(p.Roots[0].Key) == 0 })
		m.Parts[0], m.Parts[wrong] = m.Parts[wrong], m.Parts[0]
		m.Parts[0].Roots[0].Claim = m.Roots[0].Claim
		for i := range m.Parts {
			m.Parts[i].ID = proof.ID{byte(len(m.Parts) - i)} // the false one is the last
		}
	})
	data, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	m, err := proof.ReadManifest(name)
	if err != nil {
		t.Fatal(err)
	}
	last := 64 + 24*len(m.Roots) + 64*(len(m.Parts)-1)
	copy(data[last:][:32], data[last-64:])
	proof.Seal(data)
	if err := os.WriteFile(name, data, 0o600); err != nil {
		t.Fatal(err)
	}
	o := small
	o.Notes = filepath.Join(t.TempDir(), "notes")
	for range 2 { // the first run ends at the false part, and the second one finds it noted
		if r, err := Run(t.Context(), name, o, func(Part) {}); err == nil || len(r.Proved) > 0 {
			t.Errorf("%q is proved, %v", r.Proved, err)
		}
	}
}

// TestNotesOfAnother: what is no note about the manifest is refused, and stays as it is.
func TestNotesOfAnother(t *testing.T) {
	name := manifest(t, func(*proof.Manifest) {})
	o := small
	o.Notes = filepath.Join(t.TempDir(), "notes")
	for _, text := range []string{"a text without an end", "a text\n", strings.Repeat("0", 1<<20), `{"manifest":"00`} {
		if err := os.WriteFile(o.Notes, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		if _, err := Run(t.Context(), name, o, func(Part) {}); !errors.Is(err, checker.ErrState) {
			t.Errorf("%.40q: %v", text, err)
		}
		if is, err := os.ReadFile(o.Notes); err != nil || string(is) != text {
			t.Errorf("%.40q became %.40q, %v", text, is, err)
		}
	}
}
