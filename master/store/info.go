package store

import (
	"errors"

	"go.etcd.io/bbolt"

	"amazonsfarm/master/evidence"
	"amazonsfarm/master/store/page"
	"amazonsfarm/master/store/record"
	"amazonsfarm/master/store/report"
)

// What the files of package report define.
type (
	// Info says what a store holds and how large its parts are.
	Info = report.Info
	// CampaignInfo says how far a campaign is.
	CampaignInfo = report.CampaignInfo
	// Evidence says what lies in the folder of the parts.
	Evidence = report.Evidence
	// Layout divides the file of a store.
	Layout = report.Layout
	// Part is one kind of record and its space in the file.
	Part = report.Part
	// Report is what CheckFile found.
	Report = report.Report
	// Compaction says what Compact did.
	Compaction = report.Compaction
)

// evidenceInfo counts the parts by their names and sizes.
func (s *Store) evidenceInfo() (*Evidence, error) {
	if s.format == record.OldFormat {
		return nil, nil
	}
	missing, digests, err := s.MissingParts()
	if err != nil {
		return nil, err
	}
	e := &Evidence{Folder: s.evidence.String(), Missing: len(missing), Digests: digests}
	for p, err := range s.evidence.List() {
		switch {
		case errors.Is(err, evidence.ErrForeign):
			e.Foreign++
		case err != nil:
			return nil, err
		default:
			e.Parts++
			e.Bytes += p.Bytes
		}
	}
	return e, nil
}

// ReadInfo describes a store that no process has open for writing. It verifies the page structure and
// not the records. Errors: those of Open.
func ReadInfo(file string) (Info, error) {
	s, err := Open(file, Options{ReadOnly: true})
	if err != nil {
		return Info{}, err
	}
	defer s.Close()
	st, err := s.Stats()
	if err != nil {
		return Info{}, err
	}
	var all []CampaignInfo
	for i, c := range s.Campaigns() {
		own, err := s.campaignInfo(c, st.Campaigns[i])
		if err != nil {
			return Info{}, err
		}
		all = append(all, own)
	}
	c, first := s.Campaign(), all[0]
	i := Info{
		File: file, Board: c.Board, Root: c.Root, FirstMoves: c.FirstMoves, RulesOnly: c.RulesOnly, Created: c.Created,
		Build:     c.Build,
		FileBytes: st.FileBytes, UsedBytes: st.UsedBytes, TreeRecords: st.TreeRecords, Facts: st.Facts,
		Certificates:     st.Certificates,
		CertificateBytes: st.CertificateBytes, Hints: st.Hints, Commits: st.Commits, Nodes: st.Nodes,
		Epoch:   first.Epoch,
		Stopped: first.State == "stopped", Winner: first.Winner, Verified: first.Verified, Campaigns: all,
	}
	if i.Evidence, err = s.evidenceInfo(); err != nil {
		return Info{}, err
	}
	err = s.view(func(tx *bbolt.Tx) (err error) {
		meta := tx.Bucket([]byte(record.BucketMeta))
		i.Layout = s.layout(tx, i.FileBytes)
		i.Format, err = record.DecodeFormat(meta.Get([]byte(record.KeyFormat)))
		return err
	})
	return i, err
}

func (s *Store) campaignInfo(c Campaign, st CampaignStats) (CampaignInfo, error) {
	i := CampaignInfo{
		Number: c.Number, Name: c.Name, Board: c.Board, Root: c.Root, FirstMoves: c.FirstMoves, RulesOnly: c.RulesOnly,
		Created:  c.Created,
		Priority: c.Priority, Share: c.Share, State: "open", TreeRecords: st.TreeRecords, Facts: st.Facts,
		Nodes: st.Nodes,
		Epoch: st.Epoch,
	}
	r, settled, err := s.Result(c.Number)
	if err != nil {
		return i, err
	}
	stop, err := s.Contradicted(c.Number)
	if err != nil {
		return i, err
	}
	i.Winner, i.Verified = r.Winner, r.Verified
	switch {
	case stop != nil:
		i.State = "stopped"
	case settled:
		i.State = "settled"
	case c.Ended:
		i.State = "ended"
	case c.Paused:
		i.State = "paused"
	}
	return i, nil
}

// layout divides a file of so many bytes. It reads the page headers of all buckets, twice. Pages that
// only a reader still uses count as free.
func (s *Store) layout(tx *bbolt.Tx, fileBytes int64) Layout {
	all := tx.Cursor().Bucket().Stats() // with what is in it
	l := Layout{HeaderBytes: 2*pageSize + int64(all.LeafAlloc+all.BranchAlloc), BeyondBytes: fileBytes - tx.Size()}
	var used int64
	for _, name := range record.BucketsOf(s.format, s.Campaigns()) {
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
