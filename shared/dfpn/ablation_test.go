//go:build unix

package dfpn

import (
	"flag"
	"fmt"
	"os"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"amazonsfarm/shared/amazons"
	"amazonsfarm/shared/endgame"
	"amazonsfarm/shared/eval"

	"golang.org/x/sys/unix"
)

var (
	ablation = flag.String("ablation", "", "file for the table of TestAblation; empty: the test is skipped")
	rounds   = flag.Int("rounds", 5, "times that TestAblation measures each row and set, in turn")
)

// ablationSet is a set of positions that every row searches, each from an empty table and with one
// thread.
type ablationSet struct {
	name      string
	positions []amazons.Position
	limit     uint64 // nodes a position
}

// ablationCell is what one row needed for one set.
type ablationCell struct {
	nodes  uint64
	solved int
	spent  time.Duration
}

// ablationSets returns the sets of TestAblation. Those of several positions hold some that every
// row solves or nearly so, or the limit would be all that is measured.
func ablationSets(t *testing.T) []ablationSet {
	narrow := parse(t, "6x4")
	reply := parse(t, ".B.B./B...B/.W.x./...../W...W/...W. b") // 5x6 after B1-B4xD4
	return []ablationSet{
		{"5x4", []amazons.Position{parse(t, "5x4")}, 4e6},
		{"4x5", []amazons.Position{parse(t, "4x5")}, 4e6},
		{"5x5", []amazons.Position{parse(t, "5x5")}, 4e6},
		{"4x6", []amazons.Position{parse(t, "4x6")}, 4e6},
		{"6x4, 20 after two and three plies", append(spread(narrow, 2, 60, 2, 4, 5, 14, 27, 28, 34, 38, 43, 56),
			spread(narrow, 3, 40, 3, 8, 9, 14, 19, 24, 30, 31, 36, 38)...), 50000},
		{"6x4, start", []amazons.Position{narrow}, 50000},
		{"5x6, 20 replies to B1-B4xD4", spread(reply, 1, 40, 3, 4, 5, 6, 8, 10, 12, 16, 17, 18, 20, 21, 22, 25, 29, 31,
			33, 34, 35, 38), 50000},
	}
}

// spread returns some of n positions that are a number of plies after p, each reached by moves that
// are spread over the list of moves.
func spread(p amazons.Position, plies, n int, which ...int) []amazons.Position {
	out := []amazons.Position{}
	for _, i := range which {
		q := p
		for ply := range plies {
			moves := q.State().Moves(nil)
			q = q.After(moves[(i*len(moves)/n+ply*ply*37)%len(moves)])
		}
		out = append(out, q)
	}
	return out
}

// cpu returns the processor time that this process has used: other programs disturb it less than a
// clock.
func cpu(t *testing.T) time.Duration {
	var u unix.Rusage
	if err := unix.Getrusage(unix.RUSAGE_SELF, &u); err != nil {
		t.Fatal(err)
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}

// offSquares is the number of squares with which a part is tried that is off by default.
const offSquares = 5

// TestAblation measures what each part of the judge is worth, in nodes and in time, on several
// boards and on twenty replies to a first move on 5x6 (after Song and Müller 2014, figure 13), and
// writes a table in Markdown. It runs only if -ablation names a file.
//
// Nodes do not depend on the machine. Times are processor time, the least of several rounds in
// which all rows take turns; they are given as a share of the first row's.
func TestAblation(t *testing.T) {
	if *ablation == "" {
		t.Skip("only with -ablation")
	}
	type row struct {
		name  string
		judge func() *eval.Judge
	}
	without := func(db *endgame.DB, part string) row {
		s := eval.DefaultSettings()
		v := reflect.ValueOf(&s).Elem().FieldByName(part)
		switch {
		case !v.IsZero():
		case v.Kind() == reflect.Int: // of squares
			v.SetInt(offSquares)
			return row{fmt.Sprintf("with %s %d", part, offSquares), eval.NewJudge(db, s).Clone}
		default:
			v.SetBool(true)
			return row{"with " + part, eval.NewJudge(db, s).Clone}
		}
		v.SetZero()
		return row{"without " + part, eval.NewJudge(db, s).Clone}
	}
	rows := []row{{"default", eval.NewJudge(nil, eval.DefaultSettings()).Clone},
		{"counting lemma alone", func() *eval.Judge { return nil }}}
	var withDatabase []row
	if *judgeDir != "" {
		db, _, err := endgame.OpenDir(*judgeDir)
		if err != nil {
			t.Fatal(err)
		}
		defer db.Close()
		withDatabase = append(withDatabase, row{"database " +
			db.Config().Name(), eval.NewJudge(db, eval.DefaultSettings()).Clone})
		for _, part := range databaseParts {
			r := without(db, part)
			withDatabase = append(withDatabase, row{"database, " + r.name, r.judge})
		}
	}
	for f := range reflect.TypeFor[eval.Settings]().Fields() {
		if !slices.Contains(databaseParts, f.Name) {
			rows = append(rows, without(nil, f.Name))
		}
	}
	rows = append(rows, withDatabase...)

	sets := ablationSets(t)
	cells := make([][]ablationCell, len(rows))
	names := make([]string, len(rows))
	for i, r := range rows {
		cells[i], names[i] = make([]ablationCell, len(sets)), r.name
	}
	table := newTable(t, 64<<20)
	for round := range *rounds {
		for k, set := range sets {
			for i, r := range rows {
				var c ablationCell
				for _, p := range set.positions {
					s := New(Options{Board: p.Board, Table: table, Judge: r.judge})
					table.Clear()
					begun := cpu(t)
					res := s.Search(t.Context(), p.State(), set.limit)
					c.spent += cpu(t) - begun
					c.nodes += res.Nodes
					if res.Verdict != eval.Open {
						c.solved++
					}
				}
				old := cells[i][k]
				if round > 0 && (old.nodes != c.nodes || old.solved != c.solved) {
					t.Errorf("%s on %s: %d nodes and then %d", r.name, set.name, old.nodes, c.nodes)
				}
				if round == 0 || c.spent < old.spent {
					cells[i][k] = c
				}
			}
		}
		if err := os.WriteFile(*ablation, []byte(ablationTable(names, sets, cells)), 0o644); err != nil {
			t.Fatal(err)
		}
	}
}

// ablationTable is the table in Markdown.
func ablationTable(names []string, sets []ablationSet, cells [][]ablationCell) string {
	var sb strings.Builder
	sb.WriteString("| judge |")
	for _, set := range sets {
		fmt.Fprintf(&sb, " %s |", set.name)
	}
	sb.WriteString("\n| --- |" + strings.Repeat(" ---: |", len(sets)) + "\n")
	for i, name := range names {
		fmt.Fprintf(&sb, "| %s |", name)
		for k, set := range sets {
			c, first := cells[i][k], cells[0][k]
			fmt.Fprintf(&sb, " %d", c.nodes)
			if c.solved < len(set.positions) {
				fmt.Fprintf(&sb, " (%d solved)", c.solved)
			}
			if i == 0 {
				fmt.Fprintf(&sb, ", %.3f s |", c.spent.Seconds())
			} else {
				fmt.Fprintf(&sb, ", %.2f |", c.spent.Seconds()/first.spent.Seconds())
			}
		}
		sb.WriteByte('\n')
	}
	return sb.String()
}

// databaseParts are the settings that do nothing without a database.
var databaseParts = []string{"Databases", "Territories", "HotLookahead", "Stars"}
