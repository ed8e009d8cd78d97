// Package report is what "master store" says of a store, to people and to programs: the check ([Report]),
// the figures ([Info], [Layout]) and the compaction ([Compaction]). It is only data and its text;
// package store fills it in.
//
// Each report has two readers. For programs it is a JSON document, whose fields stand in JSON.md
// and do not change. For people it is a few lines of String: what was looked at, what is there, and
// only then what is unusual. A finding is a whole sentence that names its place, so that a person
// can act on the first line.
package report

import (
	"fmt"
	"strings"

	"amazonsfarm/master/store/record"
	"amazonsfarm/shared/cli"
)

// A Report is what CheckFile found, also as programs read it: fields may be added, never renamed.
type Report struct {
	MessageType string `json:"message_type"` // "store_check" or "store_backup"

	File      string `json:"file"`
	Board     string `json:"board,omitempty"`
	Root      string `json:"root,omitempty"`
	FileBytes int64  `json:"file_bytes"`
	Records
	Evidence string `json:"evidence,omitempty"` // the folder of the parts
	// LacksParts and LacksBytes say what the copy of a file alone lacks.
	LacksParts uint64   `json:"lacks_parts,omitempty"`
	LacksBytes uint64   `json:"lacks_bytes,omitempty"`
	Digests    uint64   `json:"digests,omitempty"` // certificates whose bytes were verified and are not kept
	Hints      int      `json:"hints"`
	Campaigns  []string `json:"campaigns,omitempty"` // their names; board and root are of the first
	Good       bool     `json:"good"`
	Findings   []string `json:"findings,omitempty"` // the first ones
	More       int      `json:"more,omitempty"`     // findings that are not listed
	Seconds    float64  `json:"seconds"`            // that the check took, or the copy
}

// maxListed is the largest number of findings in a Report.
const maxListed = 100

// Found adds a finding.
// A damaged file may give one for each record. The first hundred show where it begins, and the rest are counted.
func (r *Report) Found(err error) {
	if len(r.Findings) < maxListed {
		r.Findings = append(r.Findings, err.Error())
	} else {
		r.More++
	}
}

// String returns the report in lines for people: the numbers of records, or each finding.
func (r Report) String() string {
	if r.Good {
		what, parts := "every byte", ""
		switch {
		case r.LacksParts > 0:
			what = "every byte of the file"
			parts = fmt.Sprintf("lacks          %s of %s; copy what is missing to %s from the folder beside the "+
				"store that was copied\n", cli.Counted(r.LacksParts, "part"),
				cli.FormatSize(int64(r.LacksBytes)), r.Evidence)
		case r.Evidence != "" && r.Certificates > 0:
			parts = fmt.Sprintf("parts          %d of %s in %s, each read\n", r.Certificates,
				cli.FormatSize(int64(r.CertificateBytes)), r.Evidence)
			if r.Digests > 0 {
				parts = fmt.Sprintf("parts          %d in %s, each read; %d more kept as digests only\n",
					r.Certificates-r.Digests, r.Evidence, r.Digests)
			}
		}
		text := fmt.Sprintf("store          %s: %s, %s is good\n%s, %s\n%s", r.File, cli.FormatSize(r.FileBytes), what,
			r.Records.Text(), cli.Counted(r.Hints, "hint"), parts)
		if len(r.Campaigns) > 1 {
			text += fmt.Sprintf("campaigns      %s\n", strings.Join(r.Campaigns, " "))
		}
		return text
	}
	text := strings.Join(r.Findings, "\n") + "\n"
	if r.More > 0 {
		text += fmt.Sprintf("and %d more\n", r.More)
	}
	return text
}

// Err returns nil for a good store, and otherwise an error that wraps record.ErrCorrupt and names the
// first finding.
func (r *Report) Err() error {
	if r.Good {
		return nil
	}
	first := strings.TrimPrefix(r.Findings[0], record.ErrCorrupt.Error()+": ")
	if n := len(r.Findings) + r.More; n > 1 {
		return fmt.Errorf("%w in %d places, first: %s", record.ErrCorrupt, n, first)
	}
	return fmt.Errorf("%w: %s", record.ErrCorrupt, first)
}

// Compaction says what Compact did, also to programs, as a Report does.
type Compaction struct {
	MessageType string `json:"message_type"` // "store_compaction"

	File   string `json:"file"`           // the compact file
	Kept   string `json:"kept,omitempty"` // the store as it was
	Before int64  `json:"bytes_before"`
	After  int64  `json:"bytes_after"`
	// LacksParts and LacksBytes say what the compact file lacks where it has another name.
	LacksParts uint64  `json:"lacks_parts,omitempty"`
	LacksBytes uint64  `json:"lacks_bytes,omitempty"`
	Seconds    float64 `json:"seconds"`
}
