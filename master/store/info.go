package store

import (
	"fmt"
	"strings"
	"time"

	"go.etcd.io/bbolt"

	"amazonsfarm/master/store/record"
	"amazonsfarm/shared/cli"
)

// Info says what a store holds and how large its parts are. Its figures about one campaign are of the
// first one; Campaigns has all.
type Info struct {
	File             string    `json:"file"`
	Format           uint32    `json:"format"`
	Board            string    `json:"board"`
	Root             string    `json:"root"`
	FirstMoves       []string  `json:"first_moves,omitempty"`
	RulesOnly        bool      `json:"rules_only"`
	Created          time.Time `json:"created"`
	Build            string    `json:"build"` // the program that made it
	FileBytes        int64     `json:"file_bytes"`
	UsedBytes        int64     `json:"used_bytes"` // the other pages are free
	TreeRecords      uint64    `json:"tree_records"`
	Facts            uint64    `json:"facts"`
	Certificates     uint64    `json:"certificates"`
	CertificateBytes uint64    `json:"certificate_bytes"`
	Hints            int       `json:"hints"`
	Unfinished       int       `json:"unfinished_uploads"`
	Commits          uint64    `json:"commits"`
	Nodes            uint64    `json:"nodes"`
	Epoch            uint64    `json:"epoch"`
	Stopped          bool      `json:"stopped"` // by a contradiction
	Winner           string    `json:"winner,omitempty"`
	Verified         bool      `json:"verified"`
	Layout           Layout    `json:"layout"`

	Campaigns []CampaignInfo `json:"campaigns"`
}

// CampaignInfo says how far a campaign is.
type CampaignInfo struct {
	Number      uint32    `json:"number"`
	Name        string    `json:"name"`
	Board       string    `json:"board"`
	Root        string    `json:"root"`
	FirstMoves  []string  `json:"first_moves,omitempty"`
	RulesOnly   bool      `json:"rules_only"`
	Created     time.Time `json:"created"`
	Priority    int       `json:"priority"`
	Share       int       `json:"share"`
	State       string    `json:"state"` // open, paused, ended, settled or stopped
	TreeRecords uint64    `json:"tree_records"`
	Facts       uint64    `json:"facts"` // of its pool
	Nodes       uint64    `json:"nodes"`
	Epoch       uint64    `json:"epoch"`
	Winner      string    `json:"winner,omitempty"`
	Verified    bool      `json:"verified"`
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
	err = s.view(func(tx *bbolt.Tx) (err error) {
		meta := tx.Bucket([]byte(record.BucketMeta))
		i.Unfinished = tx.Bucket([]byte(record.BucketUploads)).Stats().KeyN
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

// String returns the figures in lines for people.
func (i *Info) String() string {
	var s strings.Builder
	fmt.Fprintf(&s, "store          %s, format %d\n", i.File, i.Format)
	if len(i.Campaigns) == 1 {
		fmt.Fprintf(&s, "campaign       %s, %s\n", i.Board, i.Root)
		if len(i.FirstMoves) > 0 {
			fmt.Fprintf(&s, "first moves    %s\n", strings.Join(i.FirstMoves, " "))
		}
		if i.RulesOnly {
			fmt.Fprintf(&s, "rules          only those of the game, without the counting lemma\n")
		}
	}
	fmt.Fprintf(&s, "made           %s by build %s\n", i.Created.UTC().Format(time.RFC3339), i.Build)
	fmt.Fprintf(&s, "size           %s, %s in use\n", cli.FormatSize(i.FileBytes),
		cli.FormatSize(i.UsedBytes))
	fmt.Fprintf(&s, "records        %d tree records, %d facts, %d certificates of %s, %d hints, %d "+
		"unfinished uploads\n", i.TreeRecords, i.Facts,
		i.Certificates, cli.FormatSize(int64(i.CertificateBytes)), i.Hints, i.Unfinished)
	fmt.Fprintf(&s, "pages          %s\n", i.Layout)
	if len(i.Campaigns) > 1 {
		fmt.Fprintf(&s, "work           %d nodes, %d commits\n", i.Nodes, i.Commits)
		for _, c := range i.Campaigns {
			c.write(&s)
		}
		return s.String()
	}
	fmt.Fprintf(&s, "work           %d nodes, epoch %d, %d commits\n", i.Nodes, i.Epoch, i.Commits)
	switch {
	case i.Stopped:
		fmt.Fprintf(&s, "state          stopped by a contradiction\n")
	case i.Winner != "":
		fmt.Fprintf(&s, "state          settled: %s wins, verified %v\n", i.Winner, i.Verified)
	default:
		fmt.Fprintf(&s, "state          not settled\n")
	}
	return s.String()
}

func (c *CampaignInfo) write(s *strings.Builder) {
	fmt.Fprintf(s, "campaign       %s: %s, %s", c.Name, c.Board, c.Root)
	if len(c.FirstMoves) > 0 {
		fmt.Fprintf(s, ", first moves %s", strings.Join(c.FirstMoves, " "))
	}
	if c.RulesOnly {
		s.WriteString(", only the rules of the game")
	}
	fmt.Fprintf(s, "; priority %d, share %d; %s", c.Priority, c.Share, c.State)
	if c.Winner != "" {
		fmt.Fprintf(s, ": %s wins, verified %v", c.Winner, c.Verified)
	}
	fmt.Fprintf(s, "; %d tree records, %d facts, %d nodes, epoch %d\n", c.TreeRecords, c.Facts, c.Nodes, c.Epoch)
}
