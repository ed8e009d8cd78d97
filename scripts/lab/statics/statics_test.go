package main

import (
	"bytes"
	"context"
	"errors"
	"io"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"

	"amazonsfarm/shared/amazons"
	"amazonsfarm/shared/cli"
	"amazonsfarm/shared/endgame"
	"amazonsfarm/shared/eval"
	"amazonsfarm/shared/testkit/selfplay"
)

// TestPaperTables holds what was copied from the paper against what must be so in any such table.
func TestPaperTables(t *testing.T) {
	for board, rows := range paperTables {
		for i, r := range rows {
			if i > 0 && (r.move != rows[i-1].move-1 || r.games < rows[i-1].games) {
				t.Errorf("%s: row %d follows row %d", board, r.move, rows[i-1].move)
			}
			if r.noDatabase > r.databases || r.databases > r.bySearch || r.bySearch > r.games {
				t.Errorf("%s, row %d: %+v does not rise", board, r.move, r)
			}
		}
	}
}

func TestWriteTable(t *testing.T) {
	verdicts := func(text string) (out []eval.Verdict) {
		for _, c := range text {
			out = append(out, map[rune]eval.Verdict{'w': eval.Won, 'l': eval.Lost, '-': eval.Open}[c])
		}
		return out
	}
	all := []judged{
		{moves: 19, static: verdicts("ww"), search: eval.Won},
		{moves: 19, static: verdicts("-l"), search: eval.Lost},
		{moves: 18, static: verdicts("--"), search: eval.Lost},
		{moves: 18, static: verdicts("--"), search: eval.Open},
		{moves: 18, static: verdicts("-w"), search: eval.Won},
		{moves: 4, static: verdicts("--"), search: eval.Open},
	}
	var b bytes.Buffer
	writeTable(&b, "6x5", all, []string{"tiny"}, true)
	want := `### 6x5

| moves | games | paper's games | no database % | paper's | tiny database % | paper's | search % | paper's |
| --: | --: | --: | --: | --: | --: | --: | --: | --: |
| 19 | 2 | 100 | 50.0 ! | 84.0 | 100 | 95.0 | 100 | 100 |
| 18 | 3 | 100 | 0.0 ! | 38.0 | 33.3 ! | 84.0 | 66.7 ! | 100 |
| 4 | 1 | - | 0.0 | - | 0.0 | - | 0.0 | - |

Rows below the paper's: no database 2 of 2, tiny database 1 of 2, search 1 of 2.
If the paper's row n means the position in which move n is to be played, which has an arrow less: no database 2 of 3, tiny database 1 of 3, search 2 of 3.
`
	if b.String() != want {
		t.Errorf("got\n%s\nwant\n%s", b.String(), want)
	}
	b.Reset()
	writeTable(&b, "5x5", all, nil, false)
	if text := b.String(); !strings.Contains(text, "| 19 | 2 | - | 50.0 | - |") ||
		strings.Contains(text, "Rows below") {
		t.Errorf("of a board that is not in the paper: got\n%s", text)
	}
}

// TestMeasure judges a few games: the same on any number of threads, and every verdict that of a
// search without limits.
func TestMeasure(t *testing.T) {
	db, _, err := endgame.OpenOrBuild(t.Context(), t.TempDir(), endgame.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	b := amazons.Board{Width: 5, Height: 4}
	s := settings{games: 6, seed: 5, play: selfplay.DefaultSettings(), databases: []*endgame.DB{db}, local: 4,
		nodes: 100_000, tableBytes: 1 << 20, cores: 1}
	one, err := measure(t.Context(), b, s, new(progress))
	if err != nil {
		t.Fatal(err)
	}
	s.cores = 3
	three, err := measure(t.Context(), b, s, new(progress))
	if err != nil {
		t.Fatal(err)
	}
	decided := [2]int{}
	for i := range one {
		x, y := one[i], three[i]
		x.judging, x.searching, y.judging, y.searching = 0, 0, 0, 0
		if !reflect.DeepEqual(x, y) {
			t.Fatalf("position %d: %+v on one thread, %+v on three", i, x, y)
		}
		if x.search == eval.Open {
			t.Errorf("%v was not solved in %d nodes", x.position, s.nodes)
		}
		for k, v := range x.static {
			if v == eval.Open {
				continue
			}
			decided[k]++
			if v != x.search {
				t.Errorf("%v: static %v, by search %v", x.position, v, x.search)
			}
		}
	}
	if decided[0] == 0 || decided[1] < decided[0] {
		t.Errorf("%d decided without and %d with a database", decided[0], decided[1])
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := measure(ctx, b, s, new(progress)); err == nil {
		t.Error("a context that has ended gave no error")
	}
}

// TestRecord makes a measurement in parts: interrupted, gone on with, with more nodes, and with
// fewer again.
func TestRecord(t *testing.T) {
	db, _, err := endgame.OpenOrBuild(t.Context(), t.TempDir(), endgame.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	b := amazons.Board{Width: 5, Height: 4}
	s := settings{games: 4, seed: 5, play: selfplay.DefaultSettings(), databases: []*endgame.DB{db}, nodes: 40,
		tableBytes: 1 << 20, cores: 2}
	head, err := s.head(t.Context(), b)
	if err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(t.TempDir(), "searches")
	run := func(nodes uint64, keep string) ([]judged, error) {
		t.Helper()
		s := s
		s.nodes = nodes
		if keep != "" {
			if s.record, err = openRecord(keep, head); err != nil {
				t.Fatal(err)
			}
		}
		all, err := measure(t.Context(), b, s, new(progress))
		for i := range all {
			all[i].judging, all[i].searching = 0, 0
		}
		return all, errors.Join(err, s.record.Close())
	}
	for _, nodes := range []uint64{40, 4000, 40, 4000} {
		want, err1 := run(nodes, "")
		got, err2 := run(nodes, path)
		if err := errors.Join(err1, err2); err != nil {
			t.Fatal(err)
		}
		if !reflect.DeepEqual(got, want) {
			t.Errorf("%d nodes: with a record\n%+v\nwithout\n%+v", nodes, got, want)
		}
	}
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := run(4000, path); err != nil {
		t.Fatal(err)
	}
	if again, _ := os.ReadFile(path); !bytes.Equal(text, again) {
		t.Error("a measurement that was done added to the record")
	}
	// A line cut off is dropped, a search is then done again.
	if err := os.WriteFile(path, text[:len(text)-5], 0o644); err != nil {
		t.Fatal(err)
	}
	if _, err := run(4000, path); err != nil {
		t.Fatal(err)
	}
	if again, _ := os.ReadFile(path); !bytes.Equal(text, again) {
		t.Error("after a line was cut off the record is another")
	}
	for _, bad := range []string{"nonsense\n", "{}\n", string(text) + "{}\n", string(text) +
		"x\n", strings.Replace(string(text), "signature\":", "signature\":1", 1)} {
		if err := os.WriteFile(path, []byte(bad), 0o644); err != nil {
			t.Fatal(err)
		}
		if _, err := openRecord(path, head); err == nil || cli.ExitCode(err) != cli.ExitIncompatible {
			t.Errorf("%.40q: got error %v", bad, err)
		}
		if left, _ := os.ReadFile(path); string(left) != bad {
			t.Errorf("%.40q: the file was changed", bad)
		}
	}
}

// TestEnough holds that a row is searched until it has the paper's share and no further.
func TestEnough(t *testing.T) {
	all := make([]judged, 100)
	for i := range all {
		all[i] = judged{moves: 5, static: make([]eval.Verdict, 2)} // row 5 of 6x5: 36 of the paper's 100
	}
	b := amazons.Board{Width: 6, Height: 5}
	e := newEnough(b, settings{enough: true}, all)
	for n := 0; n < 36; n++ {
		if e.reached(5) {
			t.Fatalf("enough after %d of 100", n)
		}
		e.solved(5)
	}
	if !e.reached(5) {
		t.Error("not enough after 36 of 100")
	}
	if newEnough(b, settings{}, all).reached(5) || e.reached(30) {
		t.Error("enough where nothing was asked for")
	}
}

// TestSortByExpectedNodes holds that the positions come first whose successors in their games were
// cheap, and those with open or no successors last.
func TestSortByExpectedNodes(t *testing.T) {
	all := []judged{
		{game: 0, moves: 4}, {game: 0, moves: 5, search: eval.Won, nodes: 70},
		{game: 1, moves: 4}, {game: 1, moves: 5, search: eval.Open, nodes: 3},
		{game: 2, moves: 4}, {game: 2, moves: 5, search: eval.Lost, nodes: 7},
		{game: 3, moves: 4}, {game: 3, moves: 6, search: eval.Lost, nodes: 1},
	}
	row := []*judged{&all[0], &all[2], &all[4], &all[6]}
	sortByExpectedNodes(row, all)
	var games []int
	for _, r := range row {
		games = append(games, r.game)
	}
	if want := []int{2, 0, 1, 3}; !slices.Equal(games, want) {
		t.Errorf("games in the order %v, want %v", games, want)
	}
}

func TestUsage(t *testing.T) {
	for _, line := range []string{"--games 0", "--moves -2", "--cores 0", "--table 1K", "--plies 0", "--margin -1",
		"--evaluations -1", "--local 40", "6x5 6x6 --record x", "3x3", "nonsense", "--nonsense"} {
		var stderr bytes.Buffer
		code := cli.Execute(t.Context(), command(), strings.Fields(line), strings.NewReader(""), io.Discard, &stderr)
		if code != cli.ExitUsage || strings.Count(stderr.String(), "\n") != 1 {
			t.Errorf("%s: exit code %d, %q", line, code, stderr.String())
		}
	}
	var stderr bytes.Buffer
	if code := cli.Execute(t.Context(), command(), []string{"5x4", "--db", t.TempDir()}, strings.NewReader(""),
		io.Discard, &stderr); code != cli.ExitNoStore {
		t.Errorf("an empty folder: exit code %d, %q", code, stderr.String())
	}
}
