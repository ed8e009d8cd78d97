package cli

import (
	"cmp"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"

	"amazonsfarm/shared/amazons"
	"amazonsfarm/shared/eval"
)

// SolveResult is the answer about one position: one JSON document, or one line
// where many are asked for. Fields may be added, never renamed.
type SolveResult struct {
	MessageType string `json:"message_type"` // "result"; "error" when Error is set

	Label    string `json:"-"`                  // of one of several campaigns: "b1: "; begins String
	Board    string `json:"board,omitempty"`    // of a starting position: "5x6"
	Position string `json:"position,omitempty"` // of any other position: its text

	// Winner is first or second for a starting position, white or black for any other, and empty
	// where it is not known: the search stopped at a limit, or none of the given first moves wins.
	Winner string `json:"winner"`
	// first moves known to win; perhaps not all. Empty when the side to move loses
	WinningMoves []string    `json:"winning_moves"`
	FirstMoves   []FirstMove `json:"first_moves,omitempty"` // the moves given with --first-move, when there were any

	// of "worker solve" that was stopped early: an estimate of the work left to prove a win of the side to move
	ProofNumber uint32 `json:"proof_number,omitempty"`
	// the same for a loss
	DisproofNumber uint32 `json:"disproof_number,omitempty"`

	Nodes         uint64  `json:"nodes"`                 // positions expanded by the search
	Evaluations   uint64  `json:"evaluations,omitempty"` // positions evaluated by the search
	Seconds       float64 `json:"seconds"`               // wall time from the start of this run to the answer
	SearchSeconds float64 `json:"search_seconds"`        // of them, until the winner was known
	VerifySeconds float64 `json:"verify_seconds"`        // of them, in the checker

	// of them, until the certificate was written; only of a plain search
	ExtractSeconds float64 `json:"extract_seconds,omitempty"`
	Cores          int     `json:"cores,omitempty"` // threads that this run had
	// size of the transposition tables that this run had, together
	TableBytes int64 `json:"table_bytes,omitempty"`

	Verified    bool         `json:"verified"`              // the checker of this machine accepted the proof
	VerifiedBy  string       `json:"verified_by,omitempty"` // workers, where theirs accepted all of its parts
	Certificate *Certificate `json:"certificate,omitempty"` // absent when none was made

	Store   string `json:"store,omitempty"`   // the campaign's store file
	Stopped string `json:"stopped,omitempty"` // why there is no winner, one sentence
	Error   string `json:"error,omitempty"`   // what went wrong, one sentence
}

// FirstMove is one of the moves given with --first-move.
type FirstMove struct {
	Move    string `json:"move"`
	Verdict string `json:"outcome"` // wins, loses or open, for the side that plays it
}

// Certificate is the proof behind a SolveResult.
type Certificate struct {
	Positions uint64 `json:"positions"`      // entries of the set
	Bytes     int64  `json:"bytes"`          // size of the file
	SHA256    string `json:"sha256"`         // of the whole file, as sha256sum prints it
	File      string `json:"file,omitempty"` // where it was written
}

// NewSolveResult returns a result that names the position: by its board where it
// is that board's starting position, by its text otherwise.
func NewSolveResult(p amazons.Position) SolveResult {
	r := SolveResult{MessageType: "result", WinningMoves: []string{}}
	if IsStart(p) {
		r.Board = p.Board.String()
	} else {
		r.Position = p.String()
	}
	return r
}

// IsStart reports whether p is the starting position of its board.
func IsStart(p amazons.Position) bool {
	start, err := amazons.Start(p.Board)
	return err == nil && p == start
}

// WinnerName returns how the winner of p is called: first or second for a
// starting position, white or black for any other, and empty while it is open.
func WinnerName(p amazons.Position, v eval.Verdict) string {
	switch {
	case v == eval.Open || !IsStart(p):
		return v.Winner(p.ToMove)
	case v == eval.Won:
		return "first"
	}
	return "second"
}

// VerifiedWord names the checker that has accepted a proof: that of the master, or of others, such as workers.
func VerifiedWord(verified bool, by string) string {
	switch {
	case verified:
		return "by the master's checker"
	case by != "":
		return "by " + by
	}
	return "by nobody yet"
}

// nearby returns the name of a file as short as a person in this folder would write it.
func nearby(file string) string {
	if here, err := os.Getwd(); err == nil && filepath.Dir(file) == here {
		return filepath.Base(file)
	}
	return file
}

// WriteJSON writes the result as one line of JSON.
func (r SolveResult) WriteJSON(w io.Writer) error {
	if r.WinningMoves == nil {
		r.WinningMoves = []string{}
	}
	return json.NewEncoder(w).Encode(r)
}

// String returns the result in a few lines for people.
func (r SolveResult) String() string {
	var s strings.Builder
	name := r.Label + cmp.Or(r.Board, r.Position)
	switch {
	case r.Error != "":
		fmt.Fprintf(&s, "%s: %s\n", name, r.Error)
		return s.String()
	case r.Winner == "":
		fmt.Fprintf(&s, "%s: winner not known: %s\n", name, r.Stopped)
	case r.Winner == "first" || r.Winner == "second":
		fmt.Fprintf(&s, "%s: the %s player wins\n", name, r.Winner)
	default:
		fmt.Fprintf(&s, "%s: %s wins\n", name, r.Winner)
	}
	if r.Winner != "" && r.Stopped != "" {
		fmt.Fprintf(&s, "stopped        %s\n", r.Stopped)
	}
	if len(r.WinningMoves) > 0 {
		fmt.Fprintf(&s, "winning moves  %s\n", strings.Join(r.WinningMoves, " "))
	}
	for _, m := range r.FirstMoves {
		fmt.Fprintf(&s, "first move     %s %s\n", m.Move, m.Verdict)
	}
	if r.ProofNumber > 0 {
		fmt.Fprintf(&s, "work left      proof number %d, disproof number %d\n", r.ProofNumber, r.DisproofNumber)
	}
	fmt.Fprintf(&s, "nodes          %d\n", r.Nodes)
	fmt.Fprintf(&s, "seconds        %.3f (search %.3f, check %.3f)\n", r.Seconds, r.SearchSeconds, r.VerifySeconds)
	if c := r.Certificate; c != nil {
		fmt.Fprintf(&s, "certificate    %s, %d bytes, sha256 %s\n", Counted(c.Positions, "position"), c.Bytes, c.SHA256)
		if c.File != "" {
			fmt.Fprintf(&s, "file           %s\n", c.File)
		}
		verified := map[bool]string{true: "yes", false: "no"}[r.Verified]
		if r.VerifiedBy != "" {
			verified = "by " + r.VerifiedBy
		}
		fmt.Fprintf(&s, "verified       %s\n", verified)
		if c.File != "" {
			fmt.Fprintf(&s, "check it       %s verify %s\n", typed("master"), Quoted(nearby(c.File)))
		}
	}
	if r.Store != "" {
		fmt.Fprintf(&s, "store          %s\n", r.Store)
	}
	return s.String()
}
