package graph

import (
	"fmt"

	"amazonsfarm/shared/amazons"
	"amazonsfarm/shared/eval"
	"amazonsfarm/shared/proof"
)

// Flaw says what is wrong with the form of a fact; "" if nothing.
func (g *Graph) Flaw(f proof.Fact) string {
	if f.Verdict != eval.Won && f.Verdict != eval.Lost {
		return "its verdict is neither won nor lost"
	}
	if f.Certificate == (proof.ID{}) {
		return "it names no certificate"
	}
	s, err := f.Key.State(g.board)
	if err != nil {
		return "its key is not a position of the board"
	}
	if s.CanonicalKey(g.board) != f.Key {
		return "its key is not canonical"
	}
	if proof.Arrows(f.Key) < int(g.Root.Layer) {
		return "its position cannot come after the root"
	}
	return ""
}

// Enter adds a fact that is in order, and reports whether it is new. from is the worker that brought
// it, "" if that is not known.
func (g *Graph) Enter(f proof.Fact, from string) bool {
	if old, ok := g.facts[f.Key]; ok {
		if old.Verdict != f.Verdict {
			g.contradict(f.Key, claimOfFact(old, ""), claimOfFact(f, from))
		}
		return false
	}
	n := g.index.get(f.Key)
	if n == nil && len(g.facts) >= g.maxFacts {
		g.FactsDropped++
		return false
	}
	if n != nil && !g.believe(n, f, from) {
		return false
	}
	g.note(f)
	return true
}

// note keeps a fact that contradicts nothing.
func (g *Graph) note(f proof.Fact) {
	g.facts[f.Key] = f
	if f.Verdict == eval.Won {
		g.FactsWon++
	} else {
		g.FactsLost++
	}
}

// believe lets a fact solve its node. It returns false if the node has the other verdict.
func (g *Graph) believe(n *Node, f proof.Fact, from string) bool {
	known := n.Verdict()
	if n == g.Root && g.Restricted() && known == eval.Lost {
		known = eval.Open // says nothing about the position: see restricted
	}
	switch {
	case known != eval.Open && known != f.Verdict:
		g.contradict(n.Key, g.claimOf(n), claimOfFact(f, from))
		return false
	case known == eval.Open && (n != g.Root || !g.Restricted()):
		g.solve(n, f.Verdict, ByFact)
	}
	return true
}

// claimOf returns what the tree knows of a solved node.
func (g *Graph) claimOf(n *Node) Claim {
	if n.Basis == ByFact {
		return claimOfFact(g.facts[n.Key], "")
	}
	return Claim{Verdict: n.Verdict(), Basis: n.Basis}
}

// claimOfFact returns a fact as a worker's claim; from is "" for what was known before.
func claimOfFact(f proof.Fact, from string) Claim { return Claim{f.Verdict, ByFact, from, f} }

// contradict notes a contradiction, if it is the first.
func (g *Graph) contradict(k amazons.Key, known, claim Claim) {
	if g.Contradiction == nil {
		g.Contradiction = &Contradiction{Key: k, Known: known, Claim: claim}
	}
}

// Claim is one side of a contradiction.
type Claim struct {
	Verdict eval.Verdict `json:"outcome"`
	Basis   Basis        `json:"basis"`
	Worker  string       `json:"worker,omitempty"` // who reported it, if known
	Fact    proof.Fact   `json:"fact,omitzero"`    // with ByFact
}

// Contradiction says that two claims about one position exclude each other. Field names in JSON are those of the
// store's records.
type Contradiction struct {
	Key   amazons.Key `json:"key"`
	Known Claim       `json:"known"`
	Claim Claim       `json:"claim"`
}

// String returns both sides in words.
func (c Contradiction) String() string {
	return fmt.Sprintf("contradiction at %s: known %s, now %s", NameOf(c.Key), c.Known, c.Claim)
}

// String returns the claim in words.
func (c Claim) String() string {
	s := fmt.Sprintf("%s by %s", c.Verdict, c.Basis)
	if c.Basis == ByFact {
		s += fmt.Sprintf(" (certificate %s)", c.Fact.Certificate)
	}
	if c.Worker != "" {
		s += " of " + c.Worker
	}
	return s
}

// TextOf writes a key of the board of a root with the colours that it has after that root: whose turn it is follows
// from the number of arrows, since each move shoots one.
func TextOf(root amazons.Position, k amazons.Key) (string, error) {
	s, err := k.State(root.Board)
	if err != nil {
		return "", err
	}
	side := root.ToMove
	if (s.Arrows(root.Board)-root.Arrows())%2 != 0 {
		side = side.Other()
	}
	return amazons.PositionOf(root.Board, s, side).String(), nil
}

// NameOf returns the short form of a key in traces.
func NameOf(k amazons.Key) string { return fmt.Sprintf("%x:%x", k.A, k.B) }
