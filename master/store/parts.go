package store

import (
	"fmt"
	"strings"

	"go.etcd.io/bbolt"

	"amazonsfarm/master/store/page"
	"amazonsfarm/shared/cli"
)

// Part is one kind of record and its space in the file. Sizes are in bytes.
type Part struct {
	Kind    string `json:"kind"` // the bucket's name, see SCHEMA.md
	Records int    `json:"records"`
	Bytes   int64  `json:"bytes"` // keys and values
	// Pages are the pages of the bucket; 0 for a small bucket inside the list of buckets.
	Pages int64 `json:"page_bytes"`
}

// Layout divides the file: the pages of the parts and the fields that end in Bytes add up to its
// size.
type Layout struct {
	Parts       []Part `json:"parts"`
	HeaderBytes int64  `json:"header_bytes"`    // the two headers and the list of buckets
	ListBytes   int64  `json:"free_list_bytes"` // the list of free pages
	FreeBytes   int64  `json:"free_bytes"`      // free pages, which later commits use again
	BeyondBytes int64  `json:"beyond_bytes"`    // after the last page, because the file grows in steps
}

// layout divides a file of so many bytes. It reads the page headers of all buckets, twice. Pages that
// only a reader still uses count as free.
func (s *Store) layout(tx *bbolt.Tx, fileBytes int64) Layout {
	all := tx.Cursor().Bucket().Stats() // with what is in it
	l := Layout{HeaderBytes: 2*pageSize + int64(all.LeafAlloc+all.BranchAlloc), BeyondBytes: fileBytes - tx.Size()}
	var used int64
	for _, name := range bucketsOf(s.Campaigns()) {
		st := tx.Bucket([]byte(name)).Stats()
		p := Part{Kind: name, Records: st.KeyN, Pages: int64(st.LeafAlloc + st.BranchAlloc)}
		p.Bytes = int64(st.LeafInuse - st.LeafPageN*page.HeaderBytes - st.KeyN*page.ElementBytes)
		if st.InlineBucketN > 0 {
			p.Bytes = int64(st.InlineBucketInuse - page.HeaderBytes - st.KeyN*page.ElementBytes)
		}
		used += p.Pages
		l.HeaderBytes -= p.Pages
		l.Parts = append(l.Parts, p)
	}
	b := s.db.Stats()
	l.FreeBytes = int64(b.FreePageN+b.PendingPageN) * pageSize
	l.ListBytes = tx.Size() - l.HeaderBytes - used - l.FreeBytes
	return l
}

// String returns the parts that have records, and the rest.
func (l Layout) String() string {
	var s strings.Builder
	for _, p := range l.Parts {
		if p.Records > 0 {
			fmt.Fprintf(&s, "%s %s in %s, ", p.Kind, cli.FormatSize(p.Bytes), cli.FormatSize(p.Pages))
		}
	}
	fmt.Fprintf(&s, "free %s, beyond the last page %s, other %s", cli.FormatSize(l.FreeBytes),
		cli.FormatSize(l.BeyondBytes), cli.FormatSize(l.HeaderBytes+l.ListBytes))
	return s.String()
}
