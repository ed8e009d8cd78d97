package tree

import (
	"cmp"
	"fmt"
	"slices"

	"amazonsfarm/shared/amazons"
	"amazonsfarm/shared/proof"
)

// NodeRecord is what the store keeps of one position. A later record of the same key replaces an
// earlier one, and the one written at the position's expansion is the last. Its numbers are those of
// a leaf: the numbers of an expanded or solved position follow from others and are never stored.
//
// A position without a record of its own is a leaf. Its numbers are in the record of the parent that
// was expanded last, or 1 and 1.
type NodeRecord struct {
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

// Snapshot is what the store holds: the last record of each position, every fact, the last counters.
// The order of the slices does not matter. The zero Snapshot begins a campaign.
type Snapshot struct {
	Nodes         []NodeRecord
	Facts         []proof.Fact
	Spent         uint64         // nodes searched in all returned and lost leases
	Epoch         uint64         // of the last tree that could grant leases
	Contradiction *Contradiction // not nil: the campaign was stopped by it
}

// restore puts facts and records of the store into a tree that has only a root. They are on disk
// already, so nothing is left to persist but an expansion of the root into given first moves.
func (t *Tree) restore(from Snapshot) error {
	if err := t.restoreFacts(from.Facts); err != nil {
		return err
	}
	if err := checkRecords(from.Nodes); err != nil {
		return err
	}
	if err := t.restoreExpansions(from.Nodes); err != nil {
		return err
	}
	met := 0
	for _, r := range from.Nodes { // a record of its own counts for more than a parent's
		n := t.index.get(r.Key)
		if n == nil {
			continue
		}
		met++
		n.nodes, n.budget, n.recorded = r.Nodes, r.Budget, true
		t.setLeaf(n, r.Phi, r.Delta)
	}
	if met != len(from.Nodes) {
		return fmt.Errorf("%w: of %d node records only %d are reached from the root", ErrSnapshot, len(from.Nodes), met)
	}
	for _, n := range t.changed {
		n.changed = false
	}
	t.changed = nil
	return nil
}

func (t *Tree) restoreFacts(facts []proof.Fact) error {
	facts = slices.Clone(facts)
	slices.SortFunc(facts, func(a, b proof.Fact) int {
		return cmp.Or(a.Key.Compare(b.Key), cmp.Compare(a.Verdict, b.Verdict))
	})
	for _, f := range facts {
		if why := t.flaw(f); why != "" {
			return fmt.Errorf("%w: fact about %s: %s", ErrSnapshot, keyName(f.Key), why)
		}
		if old, ok := t.facts[f.Key]; ok {
			if old.Verdict != f.Verdict {
				t.contradict(f.Key, claimOfFact(old, ""), claimOfFact(f, ""))
			}
			continue
		}
		if f.Key == t.root.key {
			t.believe(t.root, f, "")
		}
		t.note(f)
	}
	return nil
}

// checkRecords returns an error for a record that no tree writes.
func checkRecords(all []NodeRecord) error {
	seen := make(map[amazons.Key]struct{}, len(all))
	for _, r := range all {
		if _, ok := seen[r.Key]; ok {
			return fmt.Errorf("%w: two records of node %s", ErrSnapshot, keyName(r.Key))
		}
		if r.Phi < 1 || r.Phi >= Infinity || r.Delta < 1 || r.Delta >= Infinity {
			return fmt.Errorf("%w: node %s has the numbers of a solved position", ErrSnapshot, keyName(r.Key))
		}
		if !r.Expanded && (r.Children != "" || r.Expansion != 0) {
			return fmt.Errorf("%w: node %s has numbers of children and is not expanded", ErrSnapshot, keyName(r.Key))
		}
		seen[r.Key] = struct{}{}
	}
	return nil
}

// restoreExpansions expands positions in the order in which they were: of a child's numbers the
// latest count. Records without a number come first, those nearer to the root before those below.
func (t *Tree) restoreExpansions(all []NodeRecord) error {
	var expanded []NodeRecord
	for _, r := range all {
		if r.Expanded {
			expanded = append(expanded, r)
		}
	}
	slices.SortFunc(expanded, func(a, b NodeRecord) int {
		return cmp.Or(cmp.Compare(a.Expansion, b.Expansion), cmp.Compare(layerOf(a.Key), layerOf(b.Key)),
			a.Key.Compare(b.Key))
	})
	for _, r := range expanded {
		n := t.index.get(r.Key)
		if n == nil {
			continue
		}
		next := t.successors(n)
		t.expand(n, next)
		if r.Children == "" {
			continue
		}
		if !t.number(next, []byte(r.Children)) {
			return fmt.Errorf("%w: the record of node %s does not have a pair of numbers for each of its %d children",
				ErrSnapshot, keyName(n.key), len(next))
		}
		for i := range next {
			if c := &next[i]; c.known() {
				t.begin(n.children[i], c.phi, c.delta)
			}
		}
	}
	return nil
}
