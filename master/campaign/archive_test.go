package campaign

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"maps"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"amazonsfarm/master/archive"
	"amazonsfarm/master/evidence"
	"amazonsfarm/master/loop"
	"amazonsfarm/master/store"
	"amazonsfarm/master/tree"
	"amazonsfarm/shared/amazons"
	"amazonsfarm/shared/checker"
	"amazonsfarm/shared/cli"
	"amazonsfarm/shared/disk"
	"amazonsfarm/shared/eval"
)

// TestFalseClaims turns every claim of an archive round: the campaign that goes on from it ends with the
// right answer all the same, and no claim is a fact that nobody has proved.
func TestFalseClaims(t *testing.T) {
	if testing.Short() {
		t.Skip("it solves 4x5 three times: for the race detector TestEmbedded runs the same goroutines")
	}
	folder := t.TempDir()
	o := Options{Root: position(t, "4x5"), StoreFile: filepath.Join(folder, "a.db"),
		Tree: tree.Config{InitialBudget: 500, SplitAfter: 1500, MaxBudget: 3000},
		Loop: loop.Config{Heartbeat: 50 * time.Millisecond}}
	if _, err := solve(t, o, nil, 2); err != nil {
		t.Fatal(err)
	}
	certificate := filepath.Join(folder, "a.proof")
	was, err := os.ReadFile(certificate)
	if err != nil {
		t.Fatal(err)
	}
	_, err = Export(t.Context(), o.StoreFile, "", filepath.Join(folder, "a.archive"), 0)
	if is, _ := os.ReadFile(certificate); !errors.Is(err, cli.ErrUsage) || !bytes.Equal(is, was) {
		t.Errorf("an archive beside the certificate of the answer: %v", err)
	}
	name := filepath.Join(folder, "x.archive")
	if err := os.WriteFile(filepath.Join(folder, "x.proof"), was, 0o644); err != nil {
		t.Fatal(err)
	}
	if _, err := Export(t.Context(), o.StoreFile, "", name, 0); !errors.Is(err, cli.ErrUsage) {
		t.Errorf("an archive beside a certificate that no export wrote: %v", err)
	}
	if err := os.Remove(filepath.Join(folder, "x.proof")); err != nil {
		t.Fatal(err)
	}
	over, cancel := context.WithCancel(t.Context())
	cancel()
	_, err = Export(over, o.StoreFile, "", name, 0)
	if !errors.Is(err, context.Canceled) || errors.Is(err, ErrVerification) {
		t.Errorf("an interrupted export: %v", err)
	}
	r, err := Export(t.Context(), o.StoreFile, "", name, 0)
	if err != nil || r.Claims < 10 || r.Settled != 1 || r.Parts == 0 {
		t.Fatalf("%+v, %v", r, err)
	}
	a, err := archive.Read(t.Context(), name)
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
	kept := filepath.Join(folder, "b.evidence", "00", strings.Repeat("00", 32))
	if err := errors.Join(os.MkdirAll(filepath.Dir(kept), 0o755), os.WriteFile(kept, was, 0o644)); err != nil {
		t.Fatal(err)
	}
	if _, err := archive.Import(t.Context(), name, o.StoreFile, ""); !errors.Is(err, disk.ErrExists) {
		t.Errorf("a new store over the parts of another: %v", err)
	}
	if err := errors.Join(os.Remove(kept), os.Remove(filepath.Dir(kept))); err != nil {
		t.Fatal(err) // the part is not there any more
	}
	if got, err := archive.Import(t.Context(), name, o.StoreFile, ""); err != nil || got.Guiding != r.Claims {
		t.Fatalf("%+v, %v", got, err)
	}
	o.Loop.NodeLimit = r.Nodes + 2000
	begun(t, o, 2)
	exportOver(t, o.StoreFile, name)
	o.Loop.NodeLimit = 0
	got, err := solve(t, o, nil, 2)
	if err != nil || !got.Verified || got.Winner != "second" {
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
	if again, err := solve(t, o, nil, 2); err != nil || !again.Verified || again.Winner != "second" {
		t.Errorf("%+v, %v", again, err)
	}
}

// exportOver exports a store over an archive. The claims about which the store says nothing stay, the others are put
// right. It takes the place of no other file.
func exportOver(t *testing.T, storeFile, name string) {
	t.Helper()
	folder := t.TempDir()
	over, alone := filepath.Join(folder, "over.archive"), filepath.Join(folder, "alone.archive")
	data, err := os.ReadFile(name)
	if err == nil {
		err = os.WriteFile(over, data, 0o644)
	}
	if err != nil {
		t.Fatal(err)
	}
	r, err := Export(t.Context(), storeFile, "", over, 0)
	if err != nil || r.Kept == 0 || r.Facts == 0 || r.Claims != r.Facts+r.Kept {
		t.Fatalf("%+v, %v", r, err)
	}
	if r, err = Export(t.Context(), storeFile, "", alone, 0); err != nil || r.Kept != 0 {
		t.Fatalf("%+v, %v", r, err)
	}
	want := claimsOf(t, name)
	maps.Copy(want, claimsOf(t, alone))
	if is := claimsOf(t, over); !maps.Equal(is, want) {
		t.Errorf("%d claims, want %d", len(is), len(want))
	}
	o := Options{Root: position(t, "4x4"), StoreFile: filepath.Join(folder, "other.db")}
	if _, err := solve(t, o, nil, 1); err != nil {
		t.Fatal(err)
	}
	for _, data := range [][]byte{data, []byte("precious")} { // the archive of another board, a text
		if err := os.WriteFile(over, data, 0o644); err != nil {
			t.Fatal(err)
		}
		_, err := Export(t.Context(), o.StoreFile, "", over, 0)
		if is, _ := os.ReadFile(over); !errors.Is(err, cli.ErrUsage) || !bytes.Equal(is, data) {
			t.Errorf("an archive in the place of %.10q: %v", data, err)
		}
	}
}

// begun runs a campaign until its limit of nodes, and further in small steps until there are facts, and returns how
// many. How soon the first one comes depends on the clock. The campaign must not be settled by then.
func begun(t *testing.T, o Options, workers int) (facts uint64) {
	t.Helper()
	for ; facts == 0; o.Loop.NodeLimit += 300 {
		if _, err := solve(t, o, nil, workers); !errors.Is(err, loop.ErrLimit) {
			t.Fatalf("settled too early for this test: %v", err)
		}
		facts = statsOf(t, o.StoreFile).Facts
	}
	return facts
}

// statsOf returns the figures of a store that no master has open.
func statsOf(t *testing.T, storeFile string) store.Stats {
	t.Helper()
	s, err := store.Open(storeFile, store.Options{ReadOnly: true})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	stats, err := s.Stats()
	if err != nil {
		t.Fatal(err)
	}
	return stats
}

// claimsOf reads the claims of an archive.
func claimsOf(t *testing.T, name string) map[amazons.Key]eval.Verdict {
	t.Helper()
	a, err := archive.Read(t.Context(), name)
	if err != nil {
		t.Fatal(err)
	}
	claims := map[amazons.Key]eval.Verdict{}
	for _, f := range a.Claims {
		claims[f.Key] = f.Verdict
	}
	return claims
}

// TestExportOfOpen exports a campaign with given first moves that is not settled: the manifest claims the
// replies that are refuted, and holds with the parts beside it.
func TestExportOfOpen(t *testing.T) {
	folder := t.TempDir()
	o := Options{Root: position(t, "4x5"), StoreFile: filepath.Join(folder, "a.db"),
		Tree: tree.Config{InitialBudget: 200, SplitAfter: 500, MaxBudget: 1000, EasyReplies: true},
		Loop: loop.Config{NodeLimit: 900, Heartbeat: 50 * time.Millisecond}}
	m, err := o.Root.ParseMove("B1-B3xB1")
	if err != nil {
		t.Fatal(err)
	}
	o.FirstMoves = append(o.FirstMoves, m)
	begun(t, o, 1)
	r, err := Export(t.Context(), o.StoreFile, "", filepath.Join(folder, "x.archive"), 50)
	if err != nil || r.Replies < 20 || r.Settled == 0 || r.Claims >= r.Facts {
		t.Fatalf("%+v, %v", r, err)
	}
}

// TestEvidenceAway starts a master while the folder of the parts is away, as a disk that is not mounted: nothing is
// taken back, and with the folder the campaign goes on. Facts are lost only if an operator says that the parts are.
func TestEvidenceAway(t *testing.T) {
	folder := t.TempDir()
	o := Options{Root: position(t, "4x5"), StoreFile: filepath.Join(folder, "a.db"),
		Tree: tree.Config{InitialBudget: 200, SplitAfter: 500, MaxBudget: 1000},
		Loop: loop.Config{NodeLimit: 900, Heartbeat: 50 * time.Millisecond}}
	was := begun(t, o, 1)
	facts := func() uint64 { return statsOf(t, o.StoreFile).Facts }
	place, away := filepath.Join(folder, "a.evidence"), filepath.Join(folder, "away")
	if err := os.Rename(place, away); err != nil {
		t.Fatal(err)
	}
	for _, mounted := range []bool{false, true} { // an empty folder is what a disk leaves behind
		if mounted {
			if err := os.Mkdir(place, 0o755); err != nil {
				t.Fatal(err)
			}
		}
		if _, err := Open(o); !errors.Is(err, store.ErrCorrupt) || !strings.Contains(err.Error(), place) ||
			facts() != was {
			t.Errorf("without the parts: %v; %d facts, there were %d", err, facts(), was)
		}
	}
	if err := errors.Join(os.Remove(place), os.Rename(away, place)); err != nil {
		t.Fatal(err)
	}
	if f, err := Open(o); err != nil || f.Close() != nil || facts() != was {
		t.Errorf("with the parts: %v; %d facts, there were %d", err, facts(), was)
	}
	if err := os.RemoveAll(place); err != nil {
		t.Fatal(err)
	}
	if _, err := Collect(o.StoreFile, true); err != nil || facts() != 0 {
		t.Errorf("lost parts: %v; %d facts", err, facts())
	}
	if testing.Short() { // for the race detector: TestEmbedded solves to the end
		return
	}
	o.Loop.NodeLimit = 0
	if r, err := solve(t, o, nil, 2); err != nil || !r.Verified {
		t.Errorf("after the loss: %+v, %v", r, err)
	}
}

// TestBucketAway: nothing is said against a store whose bucket does not answer.
func TestBucketAway(t *testing.T) {
	bucket := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		fmt.Fprint(w, "<ListBucketResult><IsTruncated>false</IsTruncated></ListBucketResult>")
	}))
	t.Setenv("AWS_ENDPOINT_URL", bucket.URL)
	t.Setenv("AWS_ACCESS_KEY_ID", "key")
	t.Setenv("AWS_SECRET_ACCESS_KEY", "secret")
	o := Options{Root: position(t, "4x4"), StoreFile: filepath.Join(t.TempDir(), "s.store")}
	o.Store.Evidence = "s3://farm"
	f, err := Open(o)
	bucket.Close()
	if err != nil || f.Close() != nil {
		t.Fatal(err)
	}
	if _, _, err := VerifyStore(t.Context(), o.StoreFile, checker.Options{}); !errors.Is(err, evidence.ErrAway) ||
		errors.Is(err, ErrVerification) {
		t.Error(err)
	}
}

// TestWhole: a store is verified when the proofs of all its settled campaigns are whole, not of the first alone.
func TestWhole(t *testing.T) {
	whole := &checker.Report{Parts: &checker.PartsReport{Total: 2, Checked: 2}}
	sampled := &checker.Report{Parts: &checker.PartsReport{Total: 2, Checked: 1}}
	absent := &checker.Report{Parts: &checker.PartsReport{Total: 2, Checked: 1, Absent: 1}}
	for _, c := range []struct {
		all     []*checker.Report
		want    bool
		missing bool
	}{
		{nil, false, false}, {[]*checker.Report{nil}, false, false}, {[]*checker.Report{whole, nil}, true, false},
		{[]*checker.Report{whole, sampled}, false, false}, {[]*checker.Report{whole, absent}, false, true},
		{[]*checker.Report{absent, whole}, false, true}, {[]*checker.Report{whole, whole}, true, false},
	} {
		r := &StoreReport{}
		for _, report := range c.all {
			r.Campaigns = append(r.Campaigns, CampaignReport{Checked: report})
		}
		if got, missing := Whole(nil, r); got != c.want || errors.Is(missing, checker.ErrAbsent) != c.missing {
			t.Errorf("%+v: %v, %v", c, got, missing)
		}
	}
	if got, _ := Whole(sampled, nil); got {
		t.Error("a sample is not the whole")
	}
}

// TestCollectOfALink: a copy of a store, with a link to the parts of the original, cannot remove newer parts.
func TestCollectOfALink(t *testing.T) {
	folder := t.TempDir()
	file := filepath.Join(folder, "copy.db")
	if err := errors.Join(os.Mkdir(filepath.Join(folder, "a.evidence"), 0o755),
		os.Symlink("a.evidence", filepath.Join(folder, "copy.evidence"))); err != nil {
		t.Fatal(err)
	}
	for _, file := range []string{file, file + store.OldSuffix} { // a store that was replaced cannot, either
		if _, err := Collect(file, false); !errors.Is(err, cli.ErrUsage) {
			t.Error(err)
		}
	}
}
