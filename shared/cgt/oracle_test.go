package cgt

import (
	"encoding/csv"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"testing"

	"amazonsfarm/shared/amazons"
)

// oracleFile returns the path of a file of the oracle, positions judged by other people's
// software, which lies beside the project's root.
func oracleFile(t testing.TB, name string) string {
	t.Helper()
	dir, err := os.Getwd()
	for ; err == nil; dir = filepath.Dir(dir) {
		if _, err := os.Stat(filepath.Join(dir, "go.mod")); err == nil {
			break
		}
		if dir == filepath.Dir(dir) {
			t.Fatal("no go.mod above the test")
		}
	}
	path := filepath.Join(dir, "..", "shared", "oracle", name)
	if _, err := os.Stat(path); errors.Is(err, fs.ErrNotExist) {
		t.Skipf("%s is missing: the oracle is not part of the project; put it beside the project's folder to run this test", path)
	}
	return path
}

// oracleRows returns the rows of a file of the oracle by the names of its columns.
func oracleRows(t testing.TB, name string) []map[string]string {
	t.Helper()
	f, err := os.Open(oracleFile(t, name))
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	r := csv.NewReader(f)
	r.Comma = '\t'
	r.LazyQuotes = true
	records, err := r.ReadAll()
	if err != nil {
		t.Fatal(err)
	}
	var rows []map[string]string
	for _, rec := range records[1:] {
		row := map[string]string{}
		for i, name := range records[0] {
			row[name] = rec[i]
		}
		rows = append(rows, row)
	}
	return rows
}

// player plays areas out. White is Right, Black is Left.
type player struct {
	values map[amazons.State]Value // own is Black
	c      Combiner
}

// options calls f for the states after each move of a side, always with Black as own.
func options(s amazons.State, side Side, f func(amazons.State)) {
	if side == Right {
		s.Own, s.Opp = s.Opp, s.Own
	}
	for _, m := range s.Moves(nil) {
		a := s.After(m)
		if side == Left {
			a.Own, a.Opp = a.Opp, a.Own
		}
		f(a)
	}
}

func (p *player) value(t testing.TB, s amazons.State) Value {
	if v, ok := p.values[s]; ok {
		return v
	}
	var l, r []Value
	options(s, Left, func(s amazons.State) { l = append(l, p.value(t, s)) })
	options(s, Right, func(s amazons.State) { r = append(r, p.value(t, s)) })
	v, err := p.c.Combine(l, r)
	if err != nil {
		t.Fatal(err)
	}
	p.values[s] = v
	return v
}

// area returns the state of a board text with Black as own.
func area(t testing.TB, board string) (amazons.Board, amazons.State) {
	t.Helper()
	p, err := amazons.ParsePosition(board + " b")
	if err != nil {
		t.Fatal(err)
	}
	return p.Board, p.State()
}

func TestOracleValues(t *testing.T) {
	rows := oracleRows(t, "values.tsv")
	agree := 0
	for _, row := range rows {
		_, s := area(t, row["board"])
		p := player{values: map[amazons.State]Value{}}
		v := p.value(t, s)
		l, r := v.Stops()
		kind := v.Kind().String()
		win := func(side Side) string {
			if v.Winner(side) == side {
				return "win"
			}
			return "loss"
		}
		got := map[string]string{
			"left_stop": l.String(), "right_stop": r.String(),
			"mean": v.Mean().String(), "temperature": v.Temperature().String(),
			"kind": kind, "black_first": win(Left), "white_first": win(Right),
			"thermograph_left": v.Thermograph().Left.String(), "thermograph_right": v.Thermograph().Right.String(),
		}
		ok := true
		for k, g := range got {
			if g != row[k] {
				ok = false
				t.Errorf("%s (%s): %s is %s, the oracle says %s", row["board"], row["canonical"], k, g, row[k])
			}
		}
		if star := v.Tail() == Star; star != (row["canonical"] == v.Mean().String()+"*" || row["canonical"] == "*") {
			ok = false
			t.Errorf("%s (%s): tail %v", row["board"], row["canonical"], v.Tail())
		}
		if ok {
			agree++
		}
	}
	t.Logf("%d of %d lines of values.tsv agree in stops, mean, temperature, kind, thermograph and winners", agree, len(rows))
}
