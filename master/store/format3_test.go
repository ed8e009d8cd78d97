package store

import (
	"bytes"
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"amazonsfarm/master/tree"
	"amazonsfarm/shared/disk"
	"amazonsfarm/shared/proof"
)

// formatThree is what testdata/format3.store and format4.store hold: an expanded node with numbers of its children,
// one without, and a leaf.
func formatThree() (Campaign, []byte, tree.Snapshot) {
	c := testCampaign
	c.Created = time.Date(2026, 11, 23, 0, 0, 0, 0, time.UTC)
	p, id := payloadOf(11, 3000)
	return c, p, tree.Snapshot{Nodes: []tree.NodeRecord{nodeOf(3), nodeOf(6), nodeOf(7)},
		Facts: []proof.Fact{factOf(4, id)}, Spent: 77, Epoch: 2}
}

// TestFormats reads stores that the first builds with formats 3 and 4 have written. Later builds keep
// passing it.
func TestFormats(t *testing.T) {
	const golden = "testdata/format4.store"
	campaign, payload, want := formatThree()
	if want.Nodes[1].Children == "" || want.Nodes[0].Children != "" {
		t.Fatal("one has numbers of children, one has none")
	}
	if *update {
		s, err := Create(filepath.Join(t.TempDir(), "large"), campaign, quick)
		if err != nil {
			t.Fatal(err)
		}
		upload(t, s, payload)
		if err := s.commit(tree.Persist{Nodes: want.Nodes, Facts: want.Facts, Spent: want.Spent,
			Epoch: want.Epoch}); err != nil {
			t.Fatal(err)
		}
		s.Close()
		keepGolden(t, s.Path(), golden)
	}
	for file, fragment := range map[string]bool{"testdata/format3.store": true, golden: false} {
		s := openCopy(t, file)
		wantSnapshot(t, s, want)
		if d := cmp.Diff(campaign, s.Campaign()); d != "" {
			t.Error(d)
		}
		id := proof.ID(sha256.Sum256(payload))
		if parts, err := s.Parts(1); err != nil || len(parts) != 1 ||
			parts[0] != (PartRecord{ID: id, Bytes: 3000, Fragment: fragment, Number: 1}) {
			t.Errorf("%+v, %v", parts, err)
		}
		if data, err := s.Certificate(1, id); err != nil || !bytes.Equal(data, payload) {
			t.Error(err)
		}
		if err := s.commit(tree.Persist{Nodes: []tree.NodeRecord{nodeOf(12)}}); err != nil {
			t.Error(err)
		}
		check(t, s)
	}
}

func init() {
	// migrate kills itself at one step of opening a store of format 3.
	children["migrate"] = func(path string) {
		step := os.Getenv(childEnv + "_STEP")
		disk.AfterStep = func(at string) {
			if at == step {
				syscall.Kill(os.Getpid(), syscall.SIGKILL)
				select {}
			}
		}
		s, err := Open(path, quick)
		must(err)
		s.Close()
	}
}

// TestMigrate opens a store of format 3 for reading, then kills what brings it to format 4 at each step:
// it is of one of the two formats, has what it had, and is brought to format 4 next time.
func TestMigrate(t *testing.T) {
	_, payload, want := formatThree()
	id := proof.ID(sha256.Sum256(payload))
	data, err := os.ReadFile("testdata/format3.store")
	if err != nil {
		t.Fatal(err)
	}
	for step, format := range map[string]uint32{"renamed": 3, "parts": 3, "migrated": 4, "never": 4} {
		path := filepath.Join(t.TempDir(), "s.db")
		if err := os.WriteFile(path, data, 0o600); err != nil {
			t.Fatal(err)
		}
		holds := func(format uint32) {
			t.Helper()
			s := mustOpen(t, path, Options{ReadOnly: true})
			defer s.Close()
			check(t, s)
			wantSnapshot(t, s, want)
			if parts, err := s.Parts(1); err != nil || len(parts) != 1 || !parts[0].Fragment || s.format != format {
				t.Errorf("%s: format %d, %+v, %v", step, s.format, parts, err)
			}
			if got, err := s.Certificate(1, id); err != nil || !bytes.Equal(got, payload) || !s.HasCertificate(1, id) {
				t.Errorf("%s: %v", step, err)
			}
		}
		holds(3)
		c, out := child(t, "migrate", path, childEnv+"_STEP="+step)
		io.Copy(io.Discard, out)
		if err := c.Wait(); (err == nil) != (step == "never") {
			t.Fatalf("%s: %v", step, err)
		}
		holds(format)
		mustOpen(t, path, quick).Close()
		holds(4)
		if _, err := os.Lstat(filepath.Join(filepath.Dir(path), "s.evidence")); err != nil {
			t.Error(err)
		}
	}
	// A damaged chunk keeps the store as it is.
	path := filepath.Join(t.TempDir(), "s.db")
	at := bytes.Index(data, payload[:16])
	data[at+7] ^= 1
	if err := os.WriteFile(path, data, 0o600); err != nil || at < 0 {
		t.Fatal(at, err)
	}
	if _, err := Open(path, quick); !errors.Is(err, ErrCorrupt) || !strings.Contains(err.Error(), "from format 3") {
		t.Error(err)
	}
	if after, err := os.ReadFile(path); err != nil || !bytes.Equal(after, data) {
		t.Error("a store that cannot be brought to format 4 has changed", err)
	}
	if r, err := CheckFile(t.Context(), path, nil); err != nil || r.Good {
		t.Errorf("%+v, %v", r, err)
	}
}

// TestOldFormats: stores of earlier formats are refused with one sentence, and stay as they are.
func TestOldFormats(t *testing.T) {
	for version, golden := range map[int]string{1: "testdata/format1.store", 2: "testdata/format2.store"} {
		before, err := os.ReadFile(golden)
		if err != nil {
			t.Fatal(err)
		}
		path := filepath.Join(t.TempDir(), "store")
		if err := os.WriteFile(path, before, 0o600); err != nil {
			t.Fatal(err)
		}
		want := fmt.Sprintf("has format %d, this build uses format 4; take a build that fits", version)
		for _, o := range []Options{quick, {ReadOnly: true}} {
			if _, err := Open(path, o); !errors.Is(err, ErrVersion) || !strings.Contains(err.Error(), want) {
				t.Errorf("format %d: %v, want %q", version, err, want)
			}
		}
		if after, err := os.ReadFile(path); err != nil || !bytes.Equal(before, after) {
			t.Errorf("the store of format %d has changed, %v", version, err)
		}
	}
}
