//go:build !js

package document

import (
	"amazonsfarm/master/tree/graph"
	farmv1 "amazonsfarm/proto/farm/v1"
	"amazonsfarm/shared/amazons"
	"amazonsfarm/shared/eval"
)

// Position is a position of a campaign and what is known of its moves.
type Position struct {
	MessageType string `json:"message_type"` // "position"
	Board       string `json:"board"`
	Position    string `json:"position"`
	Known
	Line []string `json:"line,omitempty"` // how a decided position is played out, as far as the tree knows
	// the winning ones first, then the open ones, then the losing ones; among them the most nodes
	// first
	Moves []Move[Known] `json:"moves"`
}

// Known is what a tree says of a position.
type Known struct {
	Verdict  string `json:"value"` // won, lost or open, for the side to move
	Basis    string `json:"basis"`
	Phi      uint32 `json:"proof_number"`
	Delta    uint32 `json:"disproof_number"`
	Nodes    uint64 `json:"nodes"`
	AtLeast  bool   `json:"nodes_at_least,omitempty"`
	InTree   bool   `json:"in_tree"` // of the master; otherwise nothing is known but perhaps a fact
	Expanded bool   `json:"expanded"`
	Leased   bool   `json:"leased"`
	SetAside bool   `json:"set_aside,omitempty"`
	Claimed  bool   `json:"claimed,omitempty"` // an archive says who wins, without the part that proves it
}

// OfPosition makes the document of a master's answer about p.
func OfPosition(p amazons.Position, r *farmv1.ExploreResponse) Position {
	out := Position{MessageType: "position", Board: p.Board.String(), Position: p.String(),
		Known: knownOf(r.GetKnown()), Line: r.GetLine(), Moves: []Move[Known]{}}
	for _, m := range r.GetMoves() {
		wins := eval.MoveWord(verdict(m.GetAfter().GetVerdict()))
		out.Moves = append(out.Moves, Move[Known]{m.GetMove(), wins, knownOf(m.GetAfter())})
	}
	return out
}

// knownOf makes the document of what a tree knows of a position. A message without it reads as
// unknown.
func knownOf(k *farmv1.Known) Known {
	return Known{
		Verdict: verdict(k.GetVerdict()).String(), Basis: k.GetBasis(), Phi: k.GetPhi(), Delta: k.GetDelta(),
		Nodes: k.GetNodes(), AtLeast: k.GetAtLeast(), InTree: k.GetInTree(), Expanded: k.GetExpanded(),
		Leased: k.GetLeased(), SetAside: k.GetSetAside(),
		Claimed: !k.GetExpanded() && graph.IsClaim(k.GetPhi(), k.GetDelta()),
	}
}

// verdict reads a verdict of a message; one of a later version is open.
func verdict(v farmv1.Verdict) eval.Verdict {
	out, _ := farmv1.ReadVerdict(v)
	return out
}
