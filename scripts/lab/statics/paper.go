package main

// paperRow is one row of a table of the paper: of so many games, how many positions after that many
// moves were solved.
type paperRow struct {
	move                            int
	noDatabase, databases, bySearch int // -1 where the table has nothing
	games                           int
}

// paperTables are tables II and III of Song and Müller, "An Enhanced Solver for the Game of
// Amazons" (2014), section V.C: positions of 100 games that the program Arrow2 played against
// itself, solved statically without databases, with them, and with 500 seconds of search.
var paperTables = map[string][]paperRow{
	"6x5": {
		{22, 74, 74, 74, 74}, {21, 88, 88, 88, 88}, {20, 82, 94, 98, 98}, {19, 84, 95, 100, 100},
		{18, 38, 84, 100, 100},
		{17, 56, 76, 100, 100}, {16, 21, 49, 100, 100}, {15, 31, 53, 100, 100}, {14, 13, 28, 100, 100},
		{13, 13, 26, 100, 100},
		{12, 10, 22, 100, 100}, {11, 9, 11, 100, 100}, {10, 0, 4, 100, 100}, {9, 1, 1, 100, 100}, {8, 0, 1, 96, 100},
		{7, 0, 0, 91, 100}, {6, 0, 0, 53, 100}, {5, 0, 0, 36, 100},
	},
	"6x6": {
		{28, 24, 24, 24, 24}, {27, 61, 61, 61, 61}, {26, 74, 75, 76, 76}, {25, 92, 94, 94, 94}, {24, 98, 99, 99, 99},
		{23, 93, 99, 100, 100}, {22, 94, 96, 100, 100}, {21, 75, 90, 100, 100}, {20, 73, 84, 100, 100},
		{19, 65, 79, 100, 100},
		{18, 55, 72, 100, 100}, {17, 37, 55, 100, 100}, {16, 28, 40, 100, 100}, {15, 13, 25, 100, 100},
		{14, 5, 20, 100, 100},
		{13, 1, 8, 100, 100}, {12, 0, 12, 100, 100}, {11, 0, 0, 99, 100}, {10, 0, 10, 96, 100}, {9, -1, -1, 83, 100},
		{8, -1, -1, 72, 100}, {7, -1, -1, 24, 100}, {6, -1, -1, 16, 100},
	},
}

// paperAt returns the row after that many moves, false where the paper has none.
func paperAt(board string, move int) (paperRow, bool) {
	for _, r := range paperTables[board] {
		if r.move == move {
			return r, true
		}
	}
	return paperRow{}, false
}

// lowest returns the least number of moves that the paper has a row for, 0 for other boards.
func lowest(board string) int {
	rows := paperTables[board]
	if len(rows) == 0 {
		return 0
	}
	return rows[len(rows)-1].move
}
