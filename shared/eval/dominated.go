package eval

import (
	"math/bits"

	"amazonsfarm/shared/amazons"
	"amazonsfarm/shared/cgt"
	"amazonsfarm/shared/endgame"
)

// A move in one area of several leaves the others as they are. If it leaves this area worth no more
// than another move does, then it wins only if that one does, whatever the others are worth: it is
// dominated (Winning Ways, chapter 3). Which of two games is worth more does not follow from their
// thermographs; their canonical forms tell, which are computed once for an area and do not need a
// database.

// The memory of a judge for canonical forms: beyond it all is forgotten, and an area that needs
// more by itself is not looked at.
const (
	knownAreas = 1 << 14 // areas whose moves are known
	knownForms = 1 << 17 // canonical forms, and twice as many comparisons and sums
)

// undominated returns moves of an area such that each other move of the side to move there leaves
// it no more than one of these does, false where the area has more squares than the setting
// Dominated or is not understood. No two of them leave the same or comparable values.
func (j *Judge) undominated(a amazons.State) ([]amazons.Move, bool) {
	if bits.OnesCount64(a.Own|a.Opp|a.Empty) > j.set.Dominated {
		return nil, false
	}
	best, ok := j.areas[a]
	if !ok {
		if j.areas == nil || len(j.areas) >= knownAreas {
			j.areas, j.forms = map[amazons.State][]amazons.Move{}, nil
		}
		if j.forms == nil {
			j.forms = endgame.NewForms(cgt.NewArena(cgt.Limits{Forms: knownForms, Memo: 2 * knownForms}))
		}
		best = bestMoves(j.forms, a)
		if best == nil {
			j.forms = nil // it may be full
		}
		j.areas[a] = best
	}
	return best, best != nil
}

// bestMoves returns the moves of an area that no other dominates, one of each value, nil where f
// cannot tell. The side to move can move.
func bestMoves(f *endgame.Forms, a amazons.State) []amazons.Move {
	var best []amazons.Move
	var forms []cgt.Form
next:
	for _, m := range a.Moves(nil) {
		after := a.After(m)
		g, err := f.Form(after.Opp, after.Own, after.Empty)
		if err != nil {
			return nil
		}
		kept := 0
		for i, h := range forms {
			if f.Arena.LessEq(g, h) {
				continue next
			}
			if !f.Arena.LessEq(h, g) {
				best[kept], forms[kept] = best[i], h
				kept++
			}
		}
		best, forms = append(best[:kept], m), append(forms[:kept], g)
	}
	return best
}
