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
	first := all[0]
	i := Info{
		MessageType: "store_info", File: file, About: first.About, Build: s.Campaign().Build,
		FileBytes: st.FileBytes, UsedBytes: st.UsedBytes,
		Records: st.Records, Hints: st.Hints, Commits: st.Commits, Nodes: st.Nodes, Epoch: first.Epoch,
		Stopped: first.State == "stopped", Answer: first.Answer, Campaigns: all,
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
func (s *Store) campaignInfo(c Campaign, progress report.Progress) (CampaignInfo, error) {
	question := report.Question{Board: c.Board, Root: c.Root, FirstMoves: c.FirstMoves}
	i := CampaignInfo{
		Number: c.Number, Name: c.Name, Priority: c.Priority, Share: c.Share, State: "open", Progress: progress,
		About: report.About{Question: question, RulesOnly: c.RulesOnly, Created: c.Created},
	}
	r, settled, err := s.Result(c.Number)
	if err != nil {
		return i, err
	}
	stop, err := s.Contradicted(c.Number)
	if err != nil {
		return i, err
	}
	i.Answer = report.Answer{Winner: r.Winner, Verified: r.Verified, VerifiedBy: r.VerifiedBy}
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
