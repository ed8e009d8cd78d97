package store

import (
	"crypto/sha256"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"amazonsfarm/master/tree"
	"amazonsfarm/shared/proof"
)

// formatThree is what testdata/format3.store holds: an expanded node with numbers of its children,
// one without, and a leaf.
func formatThree() (Campaign, []byte, tree.Snapshot) {
	c := testCampaign
	c.Created = time.Date(2026, 11, 23, 0, 0, 0, 0, time.UTC)
	p, id := payloadOf(11, 3000)
	return c, p, tree.Snapshot{Nodes: []tree.NodeRecord{nodeOf(3), nodeOf(6), nodeOf(7)},
		Facts: []proof.Fact{factOf(4, id)}, Spent: 77, Epoch: 2}
}

// TestFormat3 reads a store that the first build with format 3 has written. Later builds keep
// passing it.
func TestFormat3(t *testing.T) {
	const golden = "testdata/format3.store"
	campaign, payload, want := formatThree()
	if want.Nodes[1].Children == "" || want.Nodes[0].Children != "" {
		t.Fatal("one has numbers of children, one has none")
	}
	if *update {
		os.Remove(golden)
		s, err := Create(filepath.Join(t.TempDir(), "large"), campaign, quick)
		if err != nil {
			t.Fatal(err)
		}
		upload(t, s, payload)
		if err := s.Commit(Batch{Nodes: want.Nodes, Facts: want.Facts, Spent: want.Spent,
			Epoch: want.Epoch}); err != nil {
			t.Fatal(err)
		}
		s.Close()
		if _, err := Compact(t.Context(), s.Path(), golden, false, nil); err != nil {
			t.Fatal(err)
		}
	}
	s := openCopy(t, golden)
	wantSnapshot(t, s, want)
	if d := cmp.Diff(campaign, s.Campaign()); d != "" {
		t.Error(d)
	}
	if _, _, err := s.Certificate(proof.ID(sha256.Sum256(payload))); err != nil {
		t.Error(err)
	}
	if err := s.Commit(Batch{Nodes: []tree.NodeRecord{nodeOf(12)}}); err != nil {
		t.Error(err)
	}
	check(t, s)
}

// TestMigrationOfNodes: what a store of format 2 says of nodes means the same once it is one of
// format 3, and new records lie beside the old ones.
func TestMigrationOfNodes(t *testing.T) {
	const golden = "testdata/format2.store"
	if info, err := ReadInfo(golden); err != nil || info.Format != 2 {
		t.Fatal(info.Format, err)
	}
	want := formatTwo(t)[0]
	s := openCopy(t, golden)
	fresh := nodeOf(12)
	if err := s.Commit(Batch{Nodes: []tree.NodeRecord{fresh}}); err != nil {
		t.Fatal(err)
	}
	want.Nodes = append(want.Nodes, fresh)
	wantSnapshot(t, s, want)
	check(t, s)
	s.Close()
	if info, err := ReadInfo(s.Path()); err != nil || info.Format != Format {
		t.Error(info.Format, err)
	}
}
