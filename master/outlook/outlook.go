// Package outlook has what workers see of the positions that they search while they go on. Nobody has
// proved it: it is shown to people, and nothing rests on it.
package outlook

import (
	"encoding/binary"
	"slices"

	"amazonsfarm/master/tree/graph"
	"amazonsfarm/shared/amazons"
	"amazonsfarm/shared/eval"
	"amazonsfarm/shared/numbers"
)

// Outlook is what the search of a worker knows of its position.
type Outlook struct {
	Phi, Delta uint32
	Children   string  // of a campaign's root: numbers of the positions after it; empty: of another position
	Nodes      []byte  // of Children, in the same order: behind their numbers, as varints
	Evidence   float64 // of the nodes, the share below positions that the search has decided; 0 to 1
}

// MaxChildren bounds the bytes of Children: ten for each of the 1,500 moves that a position may have.
const MaxChildren = 16 << 10

// Tell fills in the numbers of first moves of which the tree knows nothing. It reports whether the outlook
// is about these moves.
// A worker sends numbers and no moves. Both sides put the positions after the moves in the order of
// their keys, mirror images once. So the n-th numbers belong to the n-th key, and a list of another
// length is not about these moves. Numbers of the tree itself are never replaced. Numbers that are both
// 0 say that the worker has not searched there.
func (o *Outlook) Tell(moves []graph.FirstMove) bool {
	var keys []amazons.Key
	for _, f := range moves {
		keys = append(keys, f.Key)
	}
	slices.SortFunc(keys, amazons.Key.Compare)
	keys = slices.Compact(keys)
	if n, err := numbers.Count(o.Children); err != nil || n != len(keys) {
		return false // of a campaign with given moves, or of a worker that makes things up
	}
	at, nodes := make(map[amazons.Key][2]uint32, len(keys)), make(map[amazons.Key]uint64, len(keys))
	behind := o.Nodes
	for rest := o.Children; len(keys) > 0; keys = keys[1:] {
		var phi, delta uint32
		phi, delta, rest, _ = numbers.Next(rest)
		at[keys[0]] = [2]uint32{phi, delta}
		// A worker may claim anything. With this bound the sum over all moves still fits 64 bits.
		if n, size := binary.Uvarint(behind); size > 0 {
			nodes[keys[0]], behind = min(n, 1<<50), behind[size:]
		}
	}
	for i := range moves {
		if f, n := &moves[i], at[moves[i].Key]; f.Verdict == eval.Open && f.Nodes == 0 && n != [2]uint32{} {
			f.Phi, f.Delta = Finite(n[0], n[1])
			f.Nodes = nodes[f.Key]
		}
	}
	return true
}

// Finite writes numbers as a tree does: both are finite, or one is 0 and the other infinite.
// Workers have another number for infinity than the tree, and the zero beside it tells what is meant.
func Finite(phi, delta uint32) (uint32, uint32) {
	switch {
	case phi == 0:
		return 0, graph.Infinity
	case delta == 0:
		return graph.Infinity, 0
	}
	return min(phi, graph.Infinity-1), min(delta, graph.Infinity-1)
}

// Decided counts first moves, as far as workers or the tree know: those that win, and those that are refuted.
func Decided(moves []graph.FirstMove) (wins, refuted int) {
	for _, f := range moves {
		switch {
		case f.Verdict == eval.Lost || f.Delta == 0:
			wins++
		case f.Verdict == eval.Won || f.Phi == 0:
			refuted++
		}
	}
	return wins, refuted
}
