package store

import (
	"errors"

	"go.etcd.io/bbolt"

	"amazonsfarm/master/evidence"
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
	// Report is what CheckFile found.
	Report = report.Report
	// Compaction says what Compact did.
	Compaction = report.Compaction
)

// evidenceInfo counts the parts by their names and sizes.
func (s *Store) evidenceInfo() (Evidence, error) {
	missing, digests, err := s.MissingParts()
	if err != nil {
		return Evidence{}, err
	}
	e := Evidence{Folder: s.evidence.String(), Missing: len(missing), Digests: digests}
	for p, err := range s.evidence.List() {
		switch {
		case errors.Is(err, evidence.ErrForeign):
			e.Foreign++
		case err != nil:
			return e, err
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
		Build: c.Build, FileBytes: st.FileBytes, UsedBytes: st.UsedBytes, TreeRecords: st.TreeRecords, Facts: st.Facts,
		Certificates:     st.Certificates,
		CertificateBytes: st.CertificateBytes, Hints: st.Hints, Commits: st.Commits, Nodes: st.Nodes,
		Epoch:   first.Epoch,
		Stopped: first.State == "stopped", Winner: first.Winner, Verified: first.Verified,
		VerifiedBy: first.VerifiedBy, Campaigns: all,
	}
	if i.Evidence, err = s.evidenceInfo(); err != nil {
		return Info{}, err
	}
	err = s.view(func(tx *bbolt.Tx) (err error) {
		meta := metaOf(tx)
		i.Layout = report.LayoutOf(tx, s.db.Stats(), i.FileBytes, record.BucketsOf(s.Campaigns()))
		i.Format, err = record.DecodeFormat(meta.Get([]byte(record.KeyFormat)))
		return err
	})
	return i, err
}

// campaignInfo puts together what the records say of a campaign. Its state is the strongest that
// holds: a contradiction stops it even when it had an answer, and an answer outweighs what an
// operator did.
func (s *Store) campaignInfo(c Campaign, st CampaignStats) (CampaignInfo, error) {
	i := CampaignInfo{
		Number: c.Number, Name: c.Name, Board: c.Board, Root: c.Root, FirstMoves: c.FirstMoves, RulesOnly: c.RulesOnly,
		Created:  c.Created,
		Priority: c.Priority, Share: c.Share, State: "open", TreeRecords: st.TreeRecords, Facts: st.Facts,
		Nodes: st.Nodes, Epoch: st.Epoch,
	}
	r, settled, err := s.Result(c.Number)
	if err != nil {
		return i, err
	}
	stop, err := s.Contradicted(c.Number)
	if err != nil {
		return i, err
	}
	i.Winner, i.Verified, i.VerifiedBy = r.Winner, r.Verified, r.VerifiedBy
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
