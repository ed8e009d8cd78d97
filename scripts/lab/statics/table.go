package main

import (
	"fmt"
	"io"
	"strings"
	"time"

	"amazonsfarm/shared/eval"
)

// row is one row of the table: how many positions after that many moves there are and how many are
// decided.
type row struct {
	moves, games int
	static       []int // without a database, then with each of them
	search       int
}

// rows counts positions by the number of moves, the most moves first.
func rows(all []judged) []row {
	byMoves := map[int]*row{}
	most := 0
	for _, r := range all {
		to := byMoves[r.moves]
		if to == nil {
			to = &row{moves: r.moves, static: make([]int, len(r.static))}
			byMoves[r.moves] = to
		}
		most = max(most, r.moves)
		to.games++
		for i, v := range r.static {
			if v != eval.Open {
				to.static[i]++
			}
		}
		if r.search != eval.Open {
			to.search++
		}
	}
	var out []row
	for moves := most; moves >= 0; moves-- {
		if r, ok := byMoves[moves]; ok {
			out = append(out, *r)
		}
	}
	return out
}

// below reports whether n of games is a smaller share than theirs of theirGames.
func below(n, games, theirs, theirGames int) bool {
	return theirs >= 0 && n*theirGames < theirs*games
}

// percent is a share without a sign, "-" where there is none.
func percent(n, games int) string {
	switch {
	case n < 0 || games == 0:
		return "-"
	case n == games:
		return "100"
	}
	return fmt.Sprintf("%.1f", 100*float64(n)/float64(games))
}

// column is a way to decide positions, and where the paper has its like.
type column struct {
	name   string
	ours   func(row) int
	theirs func(paperRow) int
	paper  bool // the paper's share stands to the right of it
}

func columns(databases []string, searched bool) []column {
	out := []column{{"no database", func(r row) int { return r.static[0] },
		func(p paperRow) int { return p.noDatabase }, true}}
	for i, name := range databases {
		out = append(out, column{name + " database", func(r row) int { return r.static[i+1] },
			func(p paperRow) int { return p.databases }, i == len(databases)-1})
	}
	if searched {
		out = append(out, column{"search", func(r row) int { return r.search },
			func(p paperRow) int { return p.bySearch }, true})
	}
	return out
}

// writeTable prints the measurement as a Markdown table. A share with ! behind it is below the paper's.
func writeTable(w io.Writer, board string, all []judged, databases []string, searched bool) {
	counted, columns := rows(all), columns(databases, searched)
	fmt.Fprintf(w, "### %s\n\n| moves | games | paper's games |", board)
	for _, c := range columns {
		fmt.Fprintf(w, " %s %% |", c.name)
		if c.paper {
			fmt.Fprint(w, " paper's |")
		}
	}
	fmt.Fprint(w, "\n| --: | --: | --: |")
	for _, c := range columns {
		fmt.Fprint(w, " --: |")
		if c.paper {
			fmt.Fprint(w, " --: |")
		}
	}
	fmt.Fprintln(w)
	for _, r := range counted {
		paper, games := paperRow{noDatabase: -1, databases: -1, bySearch: -1}, "-"
		if p, ok := paperAt(board, r.moves); ok {
			paper, games = p, fmt.Sprint(p.games)
		}
		fmt.Fprintf(w, "| %d | %d | %s |", r.moves, r.games, games)
		for _, c := range columns {
			mark := ""
			if below(c.ours(r), r.games, c.theirs(paper), paper.games) {
				mark = " !"
			}
			fmt.Fprintf(w, " %s%s |", percent(c.ours(r), r.games), mark)
			if c.paper {
				fmt.Fprintf(w, " %s |", percent(c.theirs(paper), paper.games))
			}
		}
		fmt.Fprintln(w)
	}
	if len(paperTables[board]) > 0 {
		fmt.Fprintf(w, "\nRows below the paper's: %s.\n", behind(board, counted, columns, 0))
		fmt.Fprintf(w, "If the paper's row n means the position in which move n is to be played, which has an "+
			"arrow less: %s.\n", behind(board, counted, columns, 1))
	}
}

// behind tells how many rows of each column are below the paper's, the paper's row n being compared
// with the positions after n-shift moves.
func behind(board string, counted []row, columns []column, shift int) string {
	var parts []string
	for _, c := range columns {
		worse, compared := 0, 0
		for _, r := range counted {
			if paper, ok := paperAt(board, r.moves+shift); ok && c.theirs(paper) >= 0 {
				compared++
				if below(c.ours(r), r.games, c.theirs(paper), paper.games) {
					worse++
				}
			}
		}
		parts = append(parts, fmt.Sprintf("%s %d of %d", c.name, worse, compared))
	}
	return strings.Join(parts, ", ")
}

// writeCosts prints what judging and searching took. Only the last line depends on the machine.
func writeCosts(w io.Writer, all []judged, limit uint64) {
	searches, nodes, timed, open, unsearched := 0, uint64(0), uint64(0), 0, 0
	var judging, searching time.Duration
	for _, r := range all {
		judging += r.judging
		if r.unsearched {
			unsearched++
		}
		if r.nodes == 0 {
			continue
		}
		searches++
		nodes += r.nodes
		if r.searching > 0 {
			timed += r.nodes
			searching += r.searching
		}
		if r.search == eval.Open {
			open++
		}
	}
	if searches > 0 {
		fmt.Fprintf(w, "\n%d searches of at most %d nodes, %d nodes in all; %d ended at their limit.\n", searches,
			limit, nodes, open)
	}
	if unsearched > 0 {
		fmt.Fprintf(w, "\n%d open positions were not searched that far; they count as not decided.\n", unsearched)
	}
	fmt.Fprintf(w, "\nA static evaluation with the last database took %d microseconds on average",
		(judging / time.Duration(max(len(all), 1))).Microseconds())
	if timed > 0 {
		fmt.Fprintf(w, ", the search expanded %.0f nodes a second and thread", float64(timed)/searching.Seconds())
	}
	fmt.Fprintln(w, ".")
}

// writeOpen prints the positions that no static rule decides, with what the search says of them,
// one on a line.
func writeOpen(w io.Writer, all []judged) error {
	for _, r := range all {
		if r.static[len(r.static)-1] != eval.Open {
			continue
		}
		if _, err := fmt.Fprintf(w, "%d\t%d\t%s\t%d\t%s\n", r.game, r.moves, r.search, r.nodes,
			r.position); err != nil {
			return err
		}
	}
	return nil
}
