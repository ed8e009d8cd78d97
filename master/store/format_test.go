package store

import (
	"bytes"
	"crypto/sha256"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"amazonsfarm/master/store/record"
	"amazonsfarm/master/tree"
	"amazonsfarm/shared/proof"
)

// smallStore is what testdata/format4.store holds: an expanded node with numbers of its children,
// one without, and a leaf.
func smallStore() (Campaign, []byte, tree.Snapshot) {
	c := testCampaign
	c.Created = time.Date(2026, 11, 23, 0, 0, 0, 0, time.UTC)
	p, id := payloadOf(11, 3000)
	return c, p, tree.Snapshot{Nodes: []tree.NodeRecord{nodeOf(3), nodeOf(6), nodeOf(7)},
		Facts: []proof.Fact{factOf(4, id)}, Spent: 77, Epoch: 2}
}

// TestFormat reads a store that the first build with format 4 has written. Later builds keep passing
// it.
func TestFormat(t *testing.T) {
	const golden = "testdata/format4.store"
	campaign, payload, want := smallStore()
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
	s := openCopy(t, golden)
	wantSnapshot(t, s, want)
	if d := cmp.Diff(campaign, s.Campaign()); d != "" {
		t.Error(d)
	}
	id := proof.ID(sha256.Sum256(payload))
	if parts, err := s.Parts(1); err != nil || len(parts) != 1 ||
		parts[0] != (PartRecord{ID: id, Bytes: 3000, Number: 1}) {
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

// TestOldFormats: stores of earlier formats are refused with one sentence, and stay as they are.
func TestOldFormats(t *testing.T) {
	for version := 1; version < record.Format; version++ {
		before, err := os.ReadFile(fmt.Sprintf("testdata/format%d.store", version))
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
