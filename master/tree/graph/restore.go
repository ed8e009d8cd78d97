package graph

import (
	"cmp"
	"errors"
	"fmt"
	"slices"

	"amazonsfarm/shared/amazons"
	"amazonsfarm/shared/proof"
)

// Record is what the store keeps of one position. A later record of the same key replaces an
// earlier one, and the one written at the position's expansion is the last. Its numbers are those of
// a leaf: the numbers of an expanded or solved position follow from others and are never stored.
//
// A position without a record of its own is a leaf. Its numbers are in the record of the parent that
// was expanded last, or 1 and 1.
type Record struct {
	Key        amazons.Key // canonical
	Phi, Delta uint32      // numbers as a leaf: 1..Infinity-1
	Nodes      uint64      // searched on it as a leaf
	Budget     uint64      // nodes of its next lease; 0: the initial budget
	Expanded   bool        // its children are in the tree
	// Expansion numbers the expansions of the campaign from 1. It is 0 of a leaf, and in records of
	// an early format of the store.
	Expansion uint64
	// Children is the first numbers of the children, as numbers.Append writes them: each
	// 1..Infinity-1, or 0 and 0 if unknown. Empty: all unknown.
	Children string
}

// Numbers of a leaf that an archive says is decided, without the part that proves it: what is claimed costs next to
// nothing to prove. So a claimed loss is tried first. A claimed win comes after all open positions, and adds next to
// nothing to the work of refuting its parent.
const (
	claimTrue  = 1
	claimFalse = 1<<30 - 2
	// claimLate is the phi of a claimed win in stores that were imported until November 2026. It made the parent look
	// as if nothing could refute it.
	claimLate = 1 << 26
)

// ClaimNumbers returns the numbers of a leaf whose side to move wins or loses by an archive alone.
func ClaimNumbers(wins bool) (phi, delta uint32) {
	if wins {
		return claimTrue, claimFalse
	}
	return claimFalse, claimTrue
}

// IsClaim reports whether a leaf still has the numbers of ClaimNumbers.
func IsClaim(phi, delta uint32) bool {
	return min(phi, delta) == claimTrue && max(phi, delta) == claimFalse
}

// ClaimedWon reports whether an open position has the numbers of a claimed win, by a claim about it or by claims about
// positions after it. Hardly anything but an archive gives such numbers.
func (n *Node) ClaimedWon() bool { return !n.Solved() && n.Delta >= claimFalse }

// ErrRecords is wrapped by every error about records and facts that no graph can have written.
var ErrRecords = errors.New("snapshot does not fit the campaign")

// Restore puts the last record of each position into a graph that has only a root and facts. They are
// on disk already, so Take has nothing afterwards but an expansion of the root into first moves.
func (g *Graph) Restore(all []Record) error {
	if err := checkRecords(all); err != nil {
		return err
	}
	if err := g.restoreExpansions(all); err != nil {
		return err
	}
	met := 0
	for _, r := range all { // a record of its own counts for more than a parent's
		n := g.index.get(r.Key)
		if n == nil {
			continue
		}
		met++
		n.Nodes, n.Budget, n.recorded = r.Nodes, r.Budget, true
		if r.Phi == claimLate && r.Delta == claimFalse {
			r.Phi = claimTrue
		}
		g.SetLeaf(n, r.Phi, r.Delta)
	}
	if met != len(all) {
		return fmt.Errorf("%w: of %d node records only %d are reached from the root", ErrRecords, len(all), met)
	}
	for _, n := range g.records {
		n.changed = false
	}
	g.records = nil
	if g.Restricted() && !g.Root.Expanded {
		g.expand(g.Root, g.successors(g.Root))
	}
	g.Propagate()
	g.Closed = nil
	return nil
}

// RestoreFacts puts facts into a graph that has only a root, before Restore. It returns those that are
// new, in the order of their keys.
func (g *Graph) RestoreFacts(facts []proof.Fact) (entered []proof.Fact, err error) {
	sorted := slices.SortedFunc(slices.Values(facts), func(a, b proof.Fact) int {
		return cmp.Or(a.Key.Compare(b.Key), cmp.Compare(a.Verdict, b.Verdict))
	})
	for _, f := range sorted {
		if why := g.Flaw(f); why != "" {
			return nil, fmt.Errorf("%w: fact about %s: %s", ErrRecords, NameOf(f.Key), why)
		}
		if old, ok := g.facts[f.Key]; ok {
			if old.Verdict != f.Verdict {
				g.contradict(f.Key, claimOfFact(old, ""), claimOfFact(f, ""))
			}
			continue
		}
		if f.Key == g.Root.Key {
			g.believe(g.Root, f, "")
		}
		g.note(f)
		entered = append(entered, f)
	}
	return entered, nil
}

// checkRecords returns an error for a record that no tree writes.
func checkRecords(all []Record) error {
	seen := make(map[amazons.Key]struct{}, len(all))
	for _, r := range all {
		if _, ok := seen[r.Key]; ok {
			return fmt.Errorf("%w: two records of node %s", ErrRecords, NameOf(r.Key))
		}
		if r.Phi < 1 || r.Phi >= Infinity || r.Delta < 1 || r.Delta >= Infinity {
			return fmt.Errorf("%w: node %s has the numbers of a solved position", ErrRecords, NameOf(r.Key))
		}
		if !r.Expanded && (r.Children != "" || r.Expansion != 0) {
			return fmt.Errorf("%w: node %s has numbers of children and is not expanded", ErrRecords, NameOf(r.Key))
		}
		seen[r.Key] = struct{}{}
	}
	return nil
}

// restoreExpansions expands positions in the order in which they were: of a child's numbers the
// latest count. Records without a number come first, those nearer to the root before those below. A position that is
// not in the graph at its turn waits for the next round: after records were lost, numbers may not be in order.
func (g *Graph) restoreExpansions(all []Record) error {
	var expanded []Record
	for _, r := range all {
		if r.Expanded {
			expanded = append(expanded, r)
		}
	}
	slices.SortFunc(expanded, func(a, b Record) int {
		return cmp.Or(cmp.Compare(a.Expansion, b.Expansion), cmp.Compare(proof.Arrows(a.Key), proof.Arrows(b.Key)),
			a.Key.Compare(b.Key))
	})
	for waiting := 0; len(expanded) != waiting; {
		waiting = len(expanded)
		rest := expanded[:0]
		for _, r := range expanded {
			if n := g.index.get(r.Key); n == nil {
				rest = append(rest, r)
			} else if err := g.restoreExpansion(n, r); err != nil {
				return err
			}
		}
		expanded = rest
	}
	return nil
}

// restoreExpansion expands a position as its record says.
func (g *Graph) restoreExpansion(n *Node, r Record) error {
	next, latest := g.successors(n), g.expansions
	g.expand(n, next)
	if r.Expansion > 0 {
		n.expansion = uint32(r.Expansion)
		g.expansions = max(latest, n.expansion)
	}
	if r.Children == "" {
		return nil
	}
	if !g.number(next, []byte(r.Children)) {
		return fmt.Errorf("%w: the record of node %s does not have a pair of numbers for each of its %d children",
			ErrRecords, NameOf(n.Key), len(next))
	}
	for i := range next {
		if c := &next[i]; c.known() {
			g.begin(n.Children[i], c.Phi, c.Delta)
		}
	}
	return nil
}
