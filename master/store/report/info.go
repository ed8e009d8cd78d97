package report

import (
	"fmt"
	"strings"
	"time"

	"go.etcd.io/bbolt"

	"amazonsfarm/master/store/page"
	"amazonsfarm/master/store/record"
	"amazonsfarm/shared/cli"
)

// Info says what a store holds and how large its parts are. Its figures about one campaign are of the
// first one; Campaigns has all. Programs read it as a Report.
type Info struct {
	MessageType string `json:"message_type"` // "store_info"

	File   string `json:"file"`
	Format uint32 `json:"format"`
	About
	Build     string `json:"build"` // the program that made it
	FileBytes int64  `json:"file_bytes"`
	UsedBytes int64  `json:"used_bytes"` // the other pages are free
	Records
	Hints    int      `json:"hints"`
	Evidence Evidence `json:"evidence"`
	Commits  uint64   `json:"commits"`
	Nodes    uint64   `json:"nodes"`
	Epoch    uint64   `json:"epoch"`
	Stopped  bool     `json:"stopped"` // by a contradiction
	Answer
	Layout Layout `json:"layout"`

	Campaigns []CampaignInfo `json:"campaigns"`
}

// Question is what a campaign asks.
type Question struct {
	Board      string   `json:"board"`
	Root       string   `json:"root"`
	FirstMoves []string `json:"first_moves,omitempty"`
}

// Lines returns the question in lines for people. They begin with a name where several campaigns are told of.
func (q Question) Lines(name string) string {
	s := fmt.Sprintf("campaign       %s%s, %s\n", name, q.Board, q.Root)
	if len(q.FirstMoves) > 0 {
		s += fmt.Sprintf("first moves    %s\n", strings.Join(q.FirstMoves, " "))
	}
	return s
}

// About is what a campaign asks, of which proofs, and since when.
type About struct {
	Question
	RulesOnly bool      `json:"rules_only"`
	Created   time.Time `json:"created"`
}

// Answer is what is known of the winner.
type Answer struct {
	Winner     string `json:"winner,omitempty"`
	Verified   bool   `json:"verified"`
	VerifiedBy string `json:"verified_by,omitempty"` // workers, where the checker of the master did not
}

// Records says how many records a store has, of all campaigns, and how large its parts are.
type Records struct {
	TreeRecords      uint64 `json:"tree_records"`
	Facts            uint64 `json:"facts"`
	Certificates     uint64 `json:"certificates"` // complete ones
	CertificateBytes uint64 `json:"certificate_bytes"`
}

// Text returns the figures for people, without the end of the line.
func (r Records) Text() string {
	return fmt.Sprintf("records        %s, %s, %s of %s", cli.Counted(r.TreeRecords, "tree record"),
		cli.Counted(r.Facts, "fact"), cli.Counted(r.Certificates, "part"), cli.FormatSize(int64(r.CertificateBytes)))
}

// Progress is how far the search of a campaign is.
type Progress struct {
	TreeRecords uint64 `json:"tree_records"`
	Facts       uint64 `json:"facts"` // of its pool
	Nodes       uint64 `json:"nodes"` // as last committed, like the epoch
	Epoch       uint64 `json:"epoch"`
}

// Evidence says what lies in the folder of the parts: the certificates, and perhaps what the next master
// removes.
type Evidence struct {
	Folder  string `json:"folder"`
	Parts   int    `json:"parts"`
	Bytes   int64  `json:"bytes"`
	Missing int    `json:"missing"` // certificates without a part of their size
	Digests int    `json:"digests"` // certificates whose bytes were verified and are not kept
	Foreign int    `json:"foreign"` // things that are no parts
}

// CampaignInfo says how far a campaign is.
type CampaignInfo struct {
	Number uint32 `json:"number"`
	Name   string `json:"name"`
	About
	Priority int    `json:"priority"`
	Share    int    `json:"share"`
	State    string `json:"state"` // open, paused, ended, settled or stopped
	Progress
	Answer
}

// String returns the figures in lines for people.
func (i *Info) String() string {
	var s strings.Builder
	fmt.Fprintf(&s, "store          %s, format %d\n", i.File, i.Format)
	if len(i.Campaigns) == 1 {
		s.WriteString(i.Question.Lines(""))
		if i.RulesOnly {
			fmt.Fprintf(&s, "rules          only those of the game, without the counting lemma\n")
		}
	}
	fmt.Fprintf(&s, "made           %s by build %s\n", i.Created.UTC().Format(time.RFC3339), i.Build)
	fmt.Fprintf(&s, "size           %s, %s in use\n", cli.FormatSize(i.FileBytes), cli.FormatSize(i.UsedBytes))
	fmt.Fprintf(&s, "%s, %s\n", i.Records.Text(), cli.Counted(i.Hints, "hint"))
	e := i.Evidence
	fmt.Fprintf(&s, "parts          %d of %s in %s", e.Parts, cli.FormatSize(e.Bytes), e.Folder)
	if e.Missing > 0 {
		fmt.Fprintf(&s, "; %d missing", e.Missing)
	}
	if e.Digests > 0 {
		fmt.Fprintf(&s, "; %d more kept as digests only", e.Digests)
	}
	s.WriteString("\n")
	fmt.Fprintf(&s, "pages          %s\n", i.Layout)
	if len(i.Campaigns) > 1 {
		fmt.Fprintf(&s, "work           %d nodes, %d commits\n", i.Nodes, i.Commits)
		for _, c := range i.Campaigns {
			c.write(&s)
		}
		return s.String()
	}
	fmt.Fprintf(&s, "work           %d nodes, epoch %d, %d commits\n", i.Nodes, i.Epoch, i.Commits)
	if i.Stopped {
		fmt.Fprintf(&s, "state          stopped by a contradiction\n")
	} else {
		fmt.Fprintf(&s, "state          %s\n", i.Campaigns[0].state())
	}
	return s.String()
}

// state is the state of a campaign, and who wins where that is settled.
func (c *CampaignInfo) state() string {
	switch {
	case c.Winner != "":
		return fmt.Sprintf("%s: %s wins, verified %s", c.State, c.Winner, cli.VerifiedWord(c.Verified, c.VerifiedBy))
	case c.Verified || c.VerifiedBy != "":
		return fmt.Sprintf("%s: no given first move wins, verified %s", c.State,
			cli.VerifiedWord(c.Verified, c.VerifiedBy))
	}
	return c.State
}

func (c *CampaignInfo) write(s *strings.Builder) {
	fmt.Fprintf(s, "campaign       %s: %s, %s", c.Name, c.Board, c.Root)
	if len(c.FirstMoves) > 0 {
		fmt.Fprintf(s, ", first moves %s", strings.Join(c.FirstMoves, " "))
	}
	if c.RulesOnly {
		s.WriteString(", only the rules of the game")
	}
	fmt.Fprintf(s, "; priority %d, share %d; %s; %s, %s, %s, epoch %d\n", c.Priority, c.Share, c.state(),
		cli.Counted(c.TreeRecords, "tree record"), cli.Counted(c.Facts, "fact"), cli.Counted(c.Nodes, "node"), c.Epoch)
}

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

// String returns the parts that have records, and the rest.
func (l Layout) String() string {
	var s strings.Builder
	for _, p := range l.Parts {
		kind := strings.Replace(p.Kind, record.BucketHints, "hints", 1) // the bucket has an older name
		switch {
		case p.Pages > 0:
			fmt.Fprintf(&s, "%s %s in %s, ", kind, cli.FormatSize(p.Bytes), cli.FormatSize(p.Pages))
		case p.Records > 0: // so few that bbolt keeps them in the page that names the bucket
			fmt.Fprintf(&s, "%s %s, ", kind, cli.FormatSize(p.Bytes))
		}
	}
	fmt.Fprintf(&s, "free %s, beyond the last page %s, other %s", cli.FormatSize(l.FreeBytes),
		cli.FormatSize(l.BeyondBytes), cli.FormatSize(l.HeaderBytes+l.ListBytes))
	return s.String()
}

// LayoutOf divides a file of so many bytes among the named buckets. It reads the page headers of all
// buckets, twice. Pages that only a reader still uses count as free.
func LayoutOf(tx *bbolt.Tx, b bbolt.Stats, fileBytes int64, buckets []string) Layout {
	pageSize := int64(tx.DB().Info().PageSize)
	// The figures of the root bucket contain those of all buckets in it. The loop takes these out again,
	// and the pages of the list of buckets remain.
	all := tx.Cursor().Bucket().Stats() // with what is in it
	l := Layout{HeaderBytes: 2*pageSize + int64(all.LeafAlloc+all.BranchAlloc), BeyondBytes: fileBytes - tx.Size()}
	var used int64
	for _, name := range buckets {
		st := tx.Bucket([]byte(name)).Stats()
		p := Part{Kind: name, Records: st.KeyN, Pages: int64(st.LeafAlloc + st.BranchAlloc)}
		p.Bytes = int64(st.LeafInuse - st.LeafPageN*page.HeaderBytes - st.KeyN*page.ElementBytes)
		// A small bucket lies inside a value of the list of buckets, without a page of its own.
		if st.InlineBucketN > 0 {
			p.Bytes = int64(st.InlineBucketInuse - page.HeaderBytes - st.KeyN*page.ElementBytes)
		}
		used += p.Pages
		l.HeaderBytes -= p.Pages
		l.Parts = append(l.Parts, p)
	}
	l.FreeBytes = int64(b.FreePageN+b.PendingPageN) * pageSize
	// bbolt does not say how long the list of free pages is. It is what nothing else accounts for.
	l.ListBytes = tx.Size() - l.HeaderBytes - used - l.FreeBytes
	return l
}
