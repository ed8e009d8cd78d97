package amazons

import (
	"slices"
	"strings"
	"testing"
)

// Two independent move generators agree on the counts of depth 1, and on those
// of depth 3 on 4x5 and 5x4.
var perftTable = []struct {
	board  string
	counts [3]uint64
}{
	{"4x4", [3]uint64{88, 4336, 139500}},
	{"4x5", [3]uint64{170, 18704, 1504390}},
	{"5x4", [3]uint64{170, 19114, 1525212}},
	{"4x6", [3]uint64{256, 46264, 6570118}},
	{"6x4", [3]uint64{256, 46584, 6629664}},
	{"4x7", [3]uint64{350, 90206, 18853102}},
	{"5x5", [3]uint64{260, 50422, 7940210}},
	{"5x6", [3]uint64{410, 129436, 33443332}},
	{"6x5", [3]uint64{410, 128094, 33207636}},
	{"5x7", [3]uint64{504, 201822, 69534482}},
	{"7x5", [3]uint64{504, 202248, 69734506}},
	{"6x6", [3]uint64{544, 238532, 91074224}},
}

func TestPerftOfStartingPositions(t *testing.T) {
	for _, row := range perftTable {
		p, err := ParsePosition(row.board)
		if err != nil {
			t.Fatal(err)
		}
		for depth, want := range row.counts {
			if got := p.State().Perft(depth + 1); got != want {
				t.Errorf("%s perft %d = %d, want %d", row.board, depth+1, got, want)
			}
		}
	}
}

func TestDivideSplitsPerft(t *testing.T) {
	for _, row := range perftTable {
		p := mustPosition(t, row.board)
		for depth := 1; depth <= 2; depth++ {
			var sum uint64
			var texts []string
			for _, part := range p.Divide(depth) {
				sum += part.Count
				texts = append(texts, part.Move.String())
			}
			if sum != row.counts[depth-1] {
				t.Errorf("%s: the parts of Divide(%d) add up to %d, want %d", row.board, depth, sum,
					row.counts[depth-1])
			}
			if uint64(len(texts)) != row.counts[0] || !slices.IsSorted(texts) ||
				len(slices.Compact(texts)) != len(texts) {
				t.Errorf("%s: Divide(%d) has %d moves, want %d different ones in order", row.board, depth, len(texts),
					row.counts[0])
			}
		}
	}
	// The replies after a first move, fewest and most.
	for _, row := range []struct {
		board       string
		least, most uint64
	}{{"5x5", 113, 266}, {"5x6", 157, 411}, {"6x5", 207, 400}, {"6x6", 287, 552}} {
		parts := mustPosition(t, row.board).Divide(2)
		least, most := parts[0].Count, parts[0].Count
		for _, part := range parts {
			least, most = min(least, part.Count), max(most, part.Count)
		}
		if least != row.least || most != row.most {
			t.Errorf("%s: %d to %d replies, want %d to %d", row.board, least, most, row.least, row.most)
		}
	}
	p := mustPosition(t, "4x4")
	for _, depth := range []int{0, -1} {
		if parts := p.Divide(depth); len(parts) != 0 {
			t.Errorf("Divide(%d) has %d moves", depth, len(parts))
		}
	}
}

// The canonical positions of 5x5 by number of arrows, by breadth-first search.
func TestCanonicalPositionsOf5x5(t *testing.T) {
	p := mustPosition(t, "5x5")
	b := p.Board
	start, _ := p.State().Canonical(b)
	layer := map[State]bool{start: true}
	var moves []Move
	for arrows, want := range []int{1, 130, 22_872} {
		if len(layer) != want {
			t.Fatalf("%d canonical positions with %d arrows, want %d", len(layer), arrows, want)
		}
		next := map[State]bool{}
		for s := range layer {
			if arrows == 2 {
				break
			}
			moves = s.Moves(moves[:0])
			for _, m := range moves {
				c, _ := s.After(m).Canonical(b)
				next[c] = true
			}
		}
		layer = next
	}
}

// MoveCount is a move and how many sequences of moves begin with it.
type MoveCount struct {
	Move  Move
	Count uint64
}

// Divide splits the perft of the given depth by the first move: every legal move
// in the order of its text, with the number of sequences of that many moves that
// begin with it. Two move generators that disagree on a perft are brought
// together by following the moves on which their divides disagree. It is
// empty where depth is below 1.
func (p Position) Divide(depth int) []MoveCount {
	if depth < 1 {
		return nil
	}
	s := p.State()
	moves := s.Moves(nil)
	out := make([]MoveCount, len(moves))
	for i, m := range moves {
		out[i] = MoveCount{m, s.After(m).Perft(depth - 1)}
	}
	slices.SortFunc(out, func(a, b MoveCount) int { return strings.Compare(a.Move.String(), b.Move.String()) })
	return out
}
