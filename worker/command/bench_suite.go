package command

// benchTable is the size of the table of bench. It is part of what the signature depends on.
const benchTable = 64 << 20

// A benchPosition is a position that bench searches until its winner is known.
type benchPosition struct {
	name     string
	position string // as ParsePosition reads it
	winner   string // as cli.WinnerName calls it
	drawn    draw   // how the position came about; zero for a starting position
}

// A draw says how a position of the suite was drawn: from the start of a board, the given moves,
// then as many plies as said, each the best of eight moves drawn at random, by the number of moves
// that the player then has over the opponent's (draw.position in the tests is the exact rule).
// Seeds were taken from 1 on, where the search needed neither an instant nor more than a few
// seconds.
type draw struct {
	board string
	moves []string
	plies int
	seed  uint64
}

// benchPositions is the suite: openings, then middle games, of the boards at the edge of what is
// solved.
//
// The winners of the starting positions are those of Müller 2001 (5x5) and of the exhaustive
// searches behind the erratum in the README (4x5). Each of the others was proved by a certificate
// that the checker accepted, which TestBenchWinners does again.
var benchPositions = []benchPosition{
	{"4x5", "4x5", "second", draw{}},
	{"5x5", "5x5", "first", draw{}},
	{"4x5-opening", "xBB./BW.B/..../W..W/..W. b", "black", draw{"4x5", nil, 1, 6}},
	{"5x5-opening", ".B.B./Bx..B/.W.../....W/.W.W. b", "black", draw{"5x5", nil, 1, 3}},
	{"6x4-opening", ".B..B./Bx..WB/W...../.W..W. b", "black", draw{"6x4", nil, 1, 1}},
	// A reply to the move that wins on 4x7, two to the one that wins on 5x6 (Song and Müller 2014),
	// and one to the move on 6x5 that an attempt of 2013 left open.
	{"4x7-opening", ".BB./...B/.Wx./..../B.x./W..W/..W. w", "white", draw{"4x7", []string{"B1-B5xC5"}, 1, 1}},
	{"5x6-opening-1", ".BB../B...B/.W.x./...../W.x.W/...W. w", "white", draw{"5x6", []string{"B1-B4xD4"}, 1, 3}},
	{"5x6-opening-2", ".BB../B...B/.W.x./...../W...W/..xW. w", "white", draw{"5x6", []string{"B1-B4xD4"}, 1, 16}},
	{"6x5-opening", "....B./BWB..B/.x..../W...xW/....W. w", "white", draw{"6x5", []string{"B1-B4xB3"}, 1, 5}},

	{"5x5-middle", ".B.B./B.x../.W.../.xBWW/.W.x. b", "white", draw{"5x5", nil, 3, 1}},
	{"6x4-middle-1", "....B./B..x.B/W..BWW/.W..x. w", "white", draw{"6x4", nil, 2, 9}},
	{"6x4-middle-2", ".B.xB./.x.WWB/W..x../..B.W. b", "black", draw{"6x4", nil, 3, 4}},
	{"4x7-middle-1", ".BB./...B/.xW./x.../B.../W..W/.W.. w", "white", draw{"4x7", nil, 2, 4}},
	{"4x7-middle-2", ".BB./Bx../x.W./W.../...B/..xW/.W.. b", "white", draw{"4x7", nil, 3, 8}},
	{"5x6-middle-1", ".Bx../B..x./.BW../....B/Wx..W/..xW. w", "white", draw{"5x6", nil, 4, 14}},
	{"5x6-middle-2", ".B.B./.WxxB/...Wx/.x.../W.B../..xW. b", "white", draw{"5x6", nil, 5, 6}},
	{"6x5-middle-1", ".B..W./B.Wx.B/..x.x./x.WB.W/..x... b", "black", draw{"6x5", nil, 5, 3}},
	{"6x5-middle-2", "..B.../Bx.W.B/.x.BW./..x.xx/.W..W. b", "black", draw{"6x5", nil, 5, 12}},
}
