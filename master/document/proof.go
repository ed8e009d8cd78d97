// Package document has what programs read about a campaign, as JSON: one form for the command line
// and for the pages of a master. Fields may be added, never renamed.
//
// Each document is made once, by a function Of..., from the answer of a master. The command line
// prints it with --json, and prints text from it otherwise; the pages send it as it is. A document
// begins with the field message_type, so that a program that reads many kinds tells them apart. What
// people outside must not see (folders of the machine, addresses of workers) is left out where the
// document goes to pages.
//
// The types repeat fields of messages on purpose. A message may change with the next protocol, and
// both ends change with it. A document is read by programs of strangers, which nobody changes. So
// each field is copied by name, and a test holds the list of fields against JSON.md.
package document

import (
	"cmp"
	"slices"

	"amazonsfarm/shared/amazons"
	"amazonsfarm/shared/eval"
	"amazonsfarm/shared/proof"
)

// Proved is what a certificate says of a position.
type Proved struct {
	Verdict     string `json:"value"`                  // won, lost or open, for the side to move
	Reason      string `json:"reason"`                 // entry, rule 1 to 4, replies, citation, none; see proof.Reason
	WinningMove string `json:"winning_move,omitempty"` // of an entry, or by rule 4
}

// OfFinding makes the document of a finding.
func OfFinding(f proof.Finding) Proved {
	out := Proved{Verdict: f.Verdict.String(), Reason: f.Reason.String()}
	if f.Reason == proof.ByEntry || f.Reason == proof.ByRule4 {
		out.WinningMove = f.Move.String()
	}
	return out
}

// ProofPosition is a position and what a certificate says of it and of its moves.
type ProofPosition struct {
	MessageType string `json:"message_type"` // "proof_position"
	Board       string `json:"board"`
	Position    string `json:"position"`
	Proved
	Size
	Line []string `json:"line,omitempty"` // how it is played out
	// the winning ones first, then those the certificate says nothing of, then the losing ones;
	// among them the largest proofs first
	Moves []Move[ProofAfter] `json:"moves"`
}

// Move is one move and what is known of the position after it.
type Move[After any] struct {
	Move string `json:"move"`
	Wins string `json:"outcome"` // wins, loses or open, for the side that plays it
	// of the position after it, for the other side; a winning move there is the refutation
	Then After `json:"after"`
}

// ProofAfter is a position after a move.
type ProofAfter struct {
	Proved
	Size
}

// Size is how many entries of a certificate the proof of a position takes.
type Size struct {
	Entries int  `json:"entries"`
	AtLeast bool `json:"entries_at_least,omitempty"` // they were not counted to the end
}

// OfProof makes the document of p. It counts at most so many entries: half of them for p, the rest shared among those
// of its moves that the certificate decides. What one move does not need is for the others.
func OfProof(c *proof.Certificate, p amazons.Position, count int) ProofPosition {
	s := p.State()
	out := ProofPosition{MessageType: "proof_position", Board: p.Board.String(), Position: p.String(),
		Proved: OfFinding(c.Look(s)), Moves: []Move[ProofAfter]{}}
	out.Entries, out.AtLeast = c.Below(s, count/2)
	for _, m := range c.Line(s, proofLine) {
		out.Line = append(out.Line, m.String())
	}
	moves, findings, decided := s.Moves(nil), []proof.Finding(nil), 0
	for _, m := range moves {
		f := c.Look(s.After(m))
		if findings = append(findings, f); f.Verdict != eval.Open {
			decided++
		}
	}
	left := count / 2
	for i, m := range moves {
		after := ProofAfter{Proved: OfFinding(findings[i])}
		if findings[i].Verdict != eval.Open {
			after.Entries, after.AtLeast = c.Below(s.After(m), left/decided)
			left, decided = left-after.Entries, decided-1
		}
		out.Moves = append(out.Moves, Move[ProofAfter]{m.String(), eval.MoveWord(findings[i].Verdict), after})
	}
	slices.SortStableFunc(out.Moves, func(a, b Move[ProofAfter]) int {
		return cmp.Or(cmp.Compare(moveRank[a.Wins], moveRank[b.Wins]), cmp.Compare(b.Then.Entries, a.Then.Entries))
	})
	return out
}

// proofLine is how many moves of the play from a position are told at most.
const proofLine = 12

var moveRank = map[string]int{"wins": 0, "open": 1, "loses": 2}

// ProofExport is the first line of an export of a proof.
type ProofExport struct {
	MessageType string `json:"message_type"` // "proof"
	Board       string `json:"board"`
	Position    string `json:"position"` // the first one, which the export proves
	File        string `json:"file"`     // the certificate
	RulesOnly   bool   `json:"rules_only"`
	Entries     int    `json:"entries"`   // of the whole certificate
	Positions   int    `json:"positions"` // that follow
	Moves       int    `json:"moves"`     // of these positions
	Cut         int    `json:"cut"`       // positions whose proof is beyond the limits; 0: the export is a whole proof
}

// ProofNode is a position of an export. Positions that are the same up to symmetry are one.
type ProofNode struct {
	MessageType string `json:"message_type"` // "proof_node"
	ID          int    `json:"id"`           // from 0, in the order of the lines
	Depth       int    `json:"depth"`        // plies below the first position
	Position    string `json:"position"`     // as it was first reached
	Proved
	Cut   bool        `json:"cut,omitempty"`   // what proves it is beyond the limits
	Moves []ProofEdge `json:"moves,omitempty"` // the winner's one, or all of the loser's
}

// ProofEdge is a move of an export.
type ProofEdge struct {
	Move string `json:"move"`
	To   int    `json:"to"` // id of a position, which may be an image of the one after the move
}
