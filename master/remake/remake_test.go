package remake

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"testing"

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

// TestRun makes all parts of a proof again, then a sample: the same one for the same seed.
func TestRun(t *testing.T) {
	name := manifest(t, func(*proof.Manifest) {})
	heard := 0
	all := small
	all.Keep = filepath.Join(t.TempDir(), "parts")
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
