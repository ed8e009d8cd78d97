package amazons

import "testing"

// The counts of shared/AMAZONS.md of the project's papers: two move generators agree on depth 1,
// depth 3 was cross-checked on 4x5 and 5x4.
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
