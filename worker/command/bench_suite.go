package command

// benchTable is the size of the table of bench. It is part of what the signature depends on.
const benchTable = 64 << 20

// A benchPosition is a position that bench searches until its winner is known.
type benchPosition struct {
	name     string
	position string // as ParsePosition reads it
	winner   string // as cli.WinnerName calls it
}

// benchPositions is the suite: openings, then middle games, of the boards at the edge of what is
// solved.
//
// The winners of the starting positions are those of Müller 2001 (5x5) and of the exhaustive
// searches behind the erratum in the README (4x5). Each of the others was proved by a certificate
// that the checker accepted, which TestBenchWinners does again. The tests say how they were drawn (draws).
var benchPositions = []benchPosition{
	{"4x5", "4x5", "second"},
	{"5x5", "5x5", "first"},
	{"4x5-opening", "xBB./BW.B/..../W..W/..W. b", "black"},
	{"5x5-opening", ".B.B./Bx..B/.W.../....W/.W.W. b", "black"},
	{"6x4-opening", ".B..B./Bx..WB/W...../.W..W. b", "black"},
	// A reply to the move that wins on 4x7, two to the one that wins on 5x6 (Song and Müller 2014),
	// and one to the move on 6x5 that an attempt of 2013 left open.
	{"4x7-opening", ".BB./...B/.Wx./..../B.x./W..W/..W. w", "white"},
	{"5x6-opening-1", ".BB../B...B/.W.x./...../W.x.W/...W. w", "white"},
	{"5x6-opening-2", ".BB../B...B/.W.x./...../W...W/..xW. w", "white"},
	{"6x5-opening", "....B./BWB..B/.x..../W...xW/....W. w", "white"},

	{"5x5-middle", ".B.B./B.x../.W.../.xBWW/.W.x. b", "white"},
	{"6x4-middle-1", "....B./B..x.B/W..BWW/.W..x. w", "white"},
	{"6x4-middle-2", ".B.xB./.x.WWB/W..x../..B.W. b", "black"},
	{"4x7-middle-1", ".BB./...B/.xW./x.../B.../W..W/.W.. w", "white"},
	{"4x7-middle-2", ".BB./Bx../x.W./W.../...B/..xW/.W.. b", "white"},
	{"5x6-middle-1", ".Bx../B..x./.BW../....B/Wx..W/..xW. w", "white"},
	{"5x6-middle-2", ".B.B./.WxxB/...Wx/.x.../W.B../..xW. b", "white"},
	{"6x5-middle-1", ".B..W./B.Wx.B/..x.x./x.WB.W/..x... b", "black"},
	{"6x5-middle-2", "..B.../Bx.W.B/.x.BW./..x.xx/.W..W. b", "black"},
}
