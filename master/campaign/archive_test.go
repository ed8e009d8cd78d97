package campaign

import (
	"path/filepath"
	"testing"
	"time"

	"amazonsfarm/master/archive"
	"amazonsfarm/shared/checker"
)

// TestFalseClaims turns every claim of an archive round: the campaign that goes on from it ends with the
// right answer all the same, and no claim is a fact that nobody has proved.
func TestFalseClaims(t *testing.T) {
	folder := t.TempDir()
	o := Options{Root: position(t, "5x4"), StoreFile: filepath.Join(folder, "a.db"), InitialBudget: 20, SplitAfter: 40,
		Heartbeat: 50 * time.Millisecond}
	if _, err := solve(t, o, nil, 2); err != nil {
		t.Fatal(err)
	}
	name := filepath.Join(folder, "a.archive")
	r, err := Export(t.Context(), o.StoreFile, "", name, 0)
	if err != nil || r.Claims == 0 || r.Settled != 1 || r.Parts == 0 {
		t.Fatalf("%+v, %v", r, err)
	}
	a, err := archive.Read(name)
	if err != nil {
		t.Fatal(err)
	}
	for i := range a.Claims {
		a.Claims[i].Verdict = a.Claims[i].Verdict.Other()
	}
	if err := archive.Write(name, a); err != nil {
		t.Fatal(err)
	}
	o.StoreFile = filepath.Join(folder, "b.db")
	if got, err := archive.Import(t.Context(), name, o.StoreFile, ""); err != nil || got.Guiding != r.Claims {
		t.Fatalf("%+v, %v", got, err)
	}
	got, err := solve(t, o, nil, 2)
	if err != nil || !got.Verified || got.Winner != "first" {
		t.Fatalf("%+v, %v", got, err)
	}
	if report, err := checker.CheckFile(t.Context(), got.Certificate.File, checker.Options{}); err != nil {
		t.Errorf("%+v, %v", report, err)
	}
	// With its parts, the first store is there again.
	o.StoreFile = filepath.Join(folder, "c.db")
	if _, err := archive.Import(t.Context(), name, o.StoreFile, filepath.Join(folder, "a.evidence")); err != nil {
		t.Fatal(err)
	}
	if again, err := solve(t, o, nil, 2); err != nil || !again.Verified || again.Winner != "first" {
		t.Errorf("%+v, %v", again, err)
	}
}

// TestExportOfOpen exports a campaign with given first moves that is not settled: the manifest claims the
// replies that are refuted, and holds with the parts beside it.
func TestExportOfOpen(t *testing.T) {
	folder := t.TempDir()
	o := Options{Root: position(t, "4x5"), StoreFile: filepath.Join(folder, "a.db"), InitialBudget: 200,
		SplitAfter: 500, MaxBudget: 1000, EasyReplies: true, MaxNodes: 900, Heartbeat: 50 * time.Millisecond}
	m, err := o.Root.ParseMove("B1-B3xB1")
	if err != nil {
		t.Fatal(err)
	}
	o.FirstMoves = append(o.FirstMoves, m)
	if _, err := solve(t, o, nil, 1); err == nil {
		t.Fatal("settled too early for this test")
	}
	r, err := Export(t.Context(), o.StoreFile, "", filepath.Join(folder, "x.archive"), 50)
	if err != nil || r.Replies < 20 || r.Settled == 0 || r.Claims >= r.Facts {
		t.Fatalf("%+v, %v", r, err)
	}
}
