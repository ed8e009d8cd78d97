package store

import (
	"fmt"
	"strings"
	"testing"

	"amazonsfarm/master/hints"
	"amazonsfarm/master/store/page"
	"amazonsfarm/master/store/record"
	"amazonsfarm/master/store/report"
	"amazonsfarm/master/tree"
	"amazonsfarm/shared/amazons"
)

// TestLayout wants the parts of a store to add up to its size, while it is small and when it is
// not, and records of the sizes that SCHEMA.md gives.
func TestLayout(t *testing.T) {
	s := newStore(t, quick)
	first, kept, children := uint64(1), 0, 0
	for _, records := range []uint64{0, 3, 3000} {
		if records > 0 {
			big, id := payloadOf(records, 200_000)
			upload(t, s, big)
			b := tree.Persist{Spent: records}
			for i := first; i < first+records; i++ {
				b.Nodes = append(b.Nodes, nodeOf(i))
				if nodeOf(i).Expansion > 0 {
					children += 8 + len(nodeOf(i).Children)
				}
				b.Facts = append(b.Facts, factOf(i, id))
			}
			first += records
			hint := hintOf(first, strings.Repeat("x", 100_000))
			first++
			if err := s.Commit([]tree.Persist{b}, []hints.Hint{hint}); err != nil {
				t.Fatal(err)
			}
			kept++
		}
		if err := s.Close(); err != nil {
			t.Fatal(err)
		}
		info, err := ReadInfo(s.path)
		if err != nil {
			t.Fatal(err)
		}
		l := info.Layout
		if text := l.String(); strings.Contains(text, "hints ") != (records > 0) || strings.Contains(text, "memories") {
			t.Errorf("%d records: %s", records, text)
		}
		sum := sumOf(l)
		got := map[string]report.Part{}
		for _, p := range l.Parts {
			got[p.Kind] = p
			if p.Pages > 0 && p.Pages < p.Bytes+int64(p.Records*page.ElementBytes) {
				t.Errorf("%+v: the pages are too small", p)
			}
		}
		if sum != info.FileBytes || l.ListBytes < pageSize || l.FreeBytes < 0 || l.BeyondBytes < 0 {
			t.Errorf("%d records: parts of %d bytes in a file of %d: %+v", records, sum, info.FileBytes, l)
		}
		n, certificates := int(info.Facts), int(info.Certificates)
		for kind, want := range map[string]report.Part{
			record.BucketNodes:        {Records: n, Bytes: int64(n)*(16+25+4) + int64(children)},
			record.BucketFacts:        {Records: n, Bytes: int64(n) * (16 + 41 + 4)},
			record.BucketCertificates: {Records: certificates, Bytes: int64(certificates) * (32 + 21 + 4)},
			record.BucketHints:        {Records: kept, Bytes: int64(kept) * (16 + 100_000 + 4)},
		} {
			if p := got[kind]; p.Records != want.Records || p.Bytes != want.Bytes {
				t.Errorf("%d records: %s: %d of %d bytes, want %d of %d", records, kind, p.Records, p.Bytes,
					want.Records, want.Bytes)
			}
		}
		if e := info.Evidence; e.Parts != certificates || e.Bytes != int64(info.CertificateBytes) ||
			e.Folder != EvidenceFolder(s.path) || e.Foreign != 0 {
			t.Errorf("%+v", e)
		}
		if got[record.BucketMeta].Records != 4 || got[record.BucketMeta].Bytes < 150 {
			t.Errorf("%+v", got[record.BucketMeta])
		}
		s = mustOpen(t, s.path, quick)
	}
}

// TestLayoutOfManyCampaigns wants the list of buckets, which takes several pages with many
// campaigns, to be told apart from the list of free ones.
func TestLayoutOfManyCampaigns(t *testing.T) {
	s := newStore(t, quick)
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	few := layoutOf(t, s.path)
	more := quick
	more.MaxCampaigns = 201
	s = mustOpen(t, s.path, more)
	root, err := amazons.ParsePosition("6x6")
	if err != nil {
		t.Fatal(err)
	}
	moves := root.State().Moves(nil)
	for i := range 200 {
		c := Campaign{Name: fmt.Sprint("campaign-", i), Board: "6x6", Root: root.String(),
			FirstMoves: []string{moves[i].String()}}
		if _, err := s.AddCampaign(c); err != nil {
			t.Fatal(err)
		}
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	many := layoutOf(t, s.path)
	if few.HeaderBytes != 3*pageSize || many.HeaderBytes < 5*pageSize || many.ListBytes > 2*pageSize {
		t.Errorf("with one campaign %+v, with many: %+v", few, many)
	}
}

func layoutOf(t *testing.T, file string) report.Layout {
	t.Helper()
	info, err := ReadInfo(file)
	if err != nil {
		t.Fatal(err)
	}
	return info.Layout
}

// TestLayoutOfCampaigns wants the records of each campaign of a store to be a part, and the parts
// to add up.
func TestLayoutOfCampaigns(t *testing.T) {
	s := newStore(t, quick)
	kin, other := otherCampaigns()
	for _, c := range []Campaign{kin, other} {
		if _, err := s.AddCampaign(c); err != nil {
			t.Fatal(err)
		}
	}
	b := tree.Persist{Campaign: 2}
	for i := range uint64(1000) {
		b.Nodes = append(b.Nodes, nodeOf(i+1))
	}
	if err := s.commit(b); err != nil {
		t.Fatal(err)
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	info, err := ReadInfo(s.path)
	if err != nil {
		t.Fatal(err)
	}
	l := info.Layout
	sum := sumOf(l)
	records := map[string]int{}
	for _, p := range l.Parts {
		records[p.Kind] = p.Records
	}
	if _, empty := records["facts/3"]; sum != info.FileBytes || records["nodes"] != 0 || records["nodes/2"] != 1000 ||
		!empty || len(records) != 9 {
		t.Errorf("parts of %d bytes in a file of %d: %+v", sum, info.FileBytes, l)
	}
}

// sumOf adds up all parts of a file.
func sumOf(l report.Layout) int64 {
	sum := l.HeaderBytes + l.ListBytes + l.FreeBytes + l.BeyondBytes
	for _, p := range l.Parts {
		sum += p.Pages
	}
	return sum
}
