package checker

import (
	"errors"
	"fmt"
	"strings"
	"time"
)

// Progress is how far a check has come.
type Progress struct {
	Layer        int           `json:"layer"`         // arrows of the layer being verified; they decrease
	Entries      int64         `json:"entries"`       // entries verified so far, of all layers and parts
	TotalEntries int64         `json:"total_entries"` // entries of the certificate, or of the parts to check
	Parts        int64         `json:"parts"`         // parts verified so far; 0 for a certificate
	TotalParts   int64         `json:"total_parts"`   // parts to check; 0 for a certificate
	Elapsed      time.Duration `json:"elapsed_ns"`    // since the check began
}

// String says how much is done, and how fast.
func (p Progress) String() string {
	text := fmt.Sprintf("%d of %d positions, %.0f a second", p.Entries, p.TotalEntries,
		float64(p.Entries)/p.Elapsed.Seconds())
	if p.TotalParts > 0 {
		text = fmt.Sprintf("%d of %d parts, %s", p.Parts, p.TotalParts, text)
	}
	return text
}

// RootReport is a claim that the certificate proves.
type RootReport struct {
	Position   string `json:"position"`        // as text
	SideToMove string `json:"side_to_move"`    // "white" or "black"
	Claim      string `json:"claim"`           // "win" or "loss" of the side to move
	Winner     string `json:"winner"`          // "white" or "black"
	Start      bool   `json:"start,omitempty"` // the position is the start of its board, with white to move
}

// LayerReport is the size of a layer.
type LayerReport struct {
	Arrows    int   `json:"arrows"`              // burnt squares of its positions
	Entries   int64 `json:"entries"`             // positions
	Citations int64 `json:"citations,omitempty"` // positions that other parts prove
}

// Counts are the numbers of what a check did. Those of the parts of a proof add up.
type Counts struct {
	Entries int64 `json:"entries"` // positions verified
	Replies int64 `json:"replies"` // replies looked at, to moves of entries and to roots
	Lookups int64 `json:"lookups"` // positions looked for in a layer
	// LeafRule1 to LeafRule4 are the numbers of positions that were decided by the leaf rules, counted
	// each time one was met.
	LeafRule1 int64 `json:"leaf_rule1"`
	LeafRule2 int64 `json:"leaf_rule2"`
	LeafRule3 int64 `json:"leaf_rule3"`
	LeafRule4 int64 `json:"leaf_rule4,omitempty"`
}

// add adds the counts of another part, or of another goroutine.
func (c *Counts) add(d Counts) {
	c.Entries += d.Entries
	c.Replies += d.Replies
	c.Lookups += d.Lookups
	c.LeafRule1 += d.LeafRule1
	c.LeafRule2 += d.LeafRule2
	c.LeafRule3 += d.LeafRule3
	c.LeafRule4 += d.LeafRule4
}

// Report is what a successful check found. All of it but Workers and Seconds depends only on the
// files and on the Options that choose rules and parts.
type Report struct {
	Width     int           `json:"width"`               // files of the board
	Height    int           `json:"height"`              // ranks of the board
	Bytes     int64         `json:"bytes"`               // size of the file, or of the parts and their manifest
	SHA256    string        `json:"sha256"`              // of the whole file, as sha256sum prints it
	Roots     []RootReport  `json:"roots"`               // what is proved, in the order of the file
	Layers    []LayerReport `json:"layers,omitempty"`    // in the order of the file, deepest first
	Citations int64         `json:"citations,omitempty"` // positions that a part relies on
	Parts     *PartsReport  `json:"parts,omitempty"`     // of a proof in parts
	Counts
	Rules     int     `json:"rules"`      // so many leaf rules were allowed, in their order
	RulesOnly bool    `json:"rules_only"` // leaf rule 1 alone was allowed
	Workers   int     `json:"workers"`    // goroutines that verified
	Seconds   float64 `json:"seconds"`    // wall time of the whole check
	noted     int64   // of the entries, by states
}

// PartsReport says which parts of a proof were checked.
type PartsReport struct {
	Total     int64  `json:"total"`            // parts of the proof
	Folder    string `json:"folder,omitempty"` // of the parts; empty: a manifest that is not a file has none
	Checked   int64  `json:"checked"`          // parts that hold, by this run or by its states
	Before    int64  `json:"before,omitempty"` // of these, by its states, which are believed
	Absent    int64  `json:"absent,omitempty"` // parts that were to be checked and whose files are not there
	Positions int64  `json:"positions"`        // of all parts
	Sample    string `json:"sample,omitempty"` // the share that was to be checked, such as 1%
	Seed      uint64 `json:"seed,omitempty"`   // of the sample
	Shard     string `json:"shard,omitempty"`  // such as 3/16
}

// Complete reports whether all that the roots need has been checked: the roots are proved.
func (r *Report) Complete() bool {
	return r.Citations == 0 && (r.Parts == nil || r.Parts.Checked == r.Parts.Total)
}

// ErrAbsent is wrapped by what Missing returns.
var ErrAbsent = errors.New("the proof is not whole")

// Missing returns nil, or an error that says how many parts that were to be checked are not there.
func (r *Report) Missing() error {
	if r.Parts == nil || r.Parts.Absent == 0 {
		return nil
	}
	where := " in the folder " + r.Parts.Folder
	if r.Parts.Folder == "" {
		where = ", as a manifest that is not a file has no folder"
	}
	return fmt.Errorf("%w: %d of %d parts missing%s; fetch them from where they lie, or prove their roots again "+
		"(master verify --remake)", ErrAbsent, r.Parts.Absent, r.Parts.Total, where)
}

// String says in a few lines what was checked and what it proves. It names every root.
func (r *Report) String() string {
	var s strings.Builder
	switch p := r.Parts; {
	case p != nil && r.Complete():
		given := ""
		if p.Before > 0 {
			given = ", if the state is true"
		}
		fmt.Fprintf(&s, "valid proof for %dx%d%s: %s in %s, %d bytes\n", r.Width, r.Height, given,
			count(p.Positions, "position", "positions"), count(p.Total, "part", "parts"), r.Bytes)
	case p != nil:
		fmt.Fprintf(&s, "no fault in %d of %s of a proof for %dx%d: nothing is proved before all hold\n",
			p.Checked, count(p.Total, "part", "parts"), r.Width, r.Height)
	case r.Citations > 0:
		fmt.Fprintf(&s, "valid part for %dx%d: %s, %d bytes; it holds if %s as claimed\n", r.Width, r.Height,
			count(r.Entries, "entry", "entries"), r.Bytes,
			count(r.Citations, "cited position is", "cited positions are"))
	default:
		fmt.Fprintf(&s, "valid certificate for %dx%d: %s in %s, %d bytes\n", r.Width, r.Height,
			count(r.Entries, "entry", "entries"), count(len(r.Layers), "layer", "layers"), r.Bytes)
	}
	fmt.Fprintf(&s, "sha256   %s\n", r.SHA256)
	word := "proved "
	if !r.Complete() {
		word = "claimed"
	}
	for _, root := range r.Roots {
		start := "not the start of the board"
		if root.Start {
			start = fmt.Sprintf("the start of %dx%d", r.Width, r.Height)
		}
		fmt.Fprintf(&s, "%s  %s: %s wins (%s)\n", word, root.Position, root.Winner, start)
	}
	if n := len(r.Layers); n == 1 {
		fmt.Fprintf(&s, "layers   with %s\n", count(r.Layers[0].Arrows, "arrow", "arrows"))
	} else if n > 1 {
		fmt.Fprintf(&s, "layers   with %d down to %s\n", r.Layers[0].Arrows,
			count(r.Layers[n-1].Arrows, "arrow", "arrows"))
	}
	by := ""
	if p := r.Parts; p != nil {
		fmt.Fprintf(&s, "parts    %d hold, %d of them by a state", p.Checked, p.Before)
		if p.Before > 0 {
			s.WriteString(", which is believed")
			by = ", with those of the state"
		}
		if p.Shard != "" {
			fmt.Fprintf(&s, "; shard %s", p.Shard)
		}
		if p.Sample != "" {
			fmt.Fprintf(&s, "; sample %s with seed %d", p.Sample, p.Seed)
		}
		s.WriteByte('\n')
		if p.Absent > 0 {
			fmt.Fprintf(&s, "absent   %v\n", r.Missing())
		}
	}
	fmt.Fprintf(&s, "checked  %s; %s looked up%s\n", count(r.Replies, "reply", "replies"),
		count(r.Lookups, "position", "positions"), by)
	switch r.Rules {
	case 1:
		fmt.Fprintf(&s, "leaves   %d by rule 1 (no move), the only rule allowed\n", r.LeafRule1)
	case 2:
		fmt.Fprintf(&s, "leaves   %d by rule 1 (no move), %d by rule 2 (counting), no other rule allowed\n",
			r.LeafRule1, r.LeafRule2)
	default:
		fmt.Fprintf(&s, "leaves   %d by rule 1 (no move), %d by rule 2 (counting), %d by rule 3 (sum)", r.LeafRule1,
			r.LeafRule2, r.LeafRule3)
		if r.Rules > 3 {
			fmt.Fprintf(&s, ", %d by rule 4 (closing move)", r.LeafRule4)
		}
		s.WriteByte('\n')
	}
	rate := 0.0
	if r.Seconds > 0 {
		rate = float64(r.Entries-r.noted) / r.Seconds
	}
	fmt.Fprintf(&s, "time     %.2f s with --cores %d, %.0f entries/s\n", r.Seconds, r.Workers, rate)
	return s.String()
}

// count writes a number with its noun.
func count[N int | int64 | uint32 | uint64](n N, one, more string) string {
	if n == 1 {
		return "1 " + one
	}
	return fmt.Sprintf("%d %s", n, more)
}

// rootReports tells roots by their text.
func (b *board) rootReports(roots []root) (list []RootReport) {
	start, ok := b.start()
	for _, r := range roots {
		claim := "loss"
		if r.win {
			claim = "win"
		}
		list = append(list, RootReport{Position: b.positionText(r.position, r.black), SideToMove: sideName(r.black),
			Claim: claim, Winner: sideName(r.black == r.win), Start: ok && !r.black && r.position == start})
	}
	return list
}

// start is the starting position of the board, seen by white: queens on the second and the last but
// one square of the edge rank and on the outer squares of the rank beside it, for both sides. A
// board with a side below 4 has none.
func (b *board) start() (p position, ok bool) {
	if b.width < 4 || b.height < 4 {
		return p, false
	}
	w, h := b.width, b.height
	p.a = 1<<1 | 1<<(w-2) | 1<<w | 1<<(2*w-1)
	p.b = 1<<(w*h-2) | 1<<(w*h-w+1) | 1<<(w*h-w-1) | 1<<(w*h-2*w)
	return p, true
}
