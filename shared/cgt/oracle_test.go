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
		t.Skipf("%s is missing: the oracle is not part of the project; put it beside the project's folder to "+
			"run this test", path)
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

// judged is what is known of a state.
type judged struct {
	value Value // from the options' Values
	form  Form  // from the options' Forms
}

// player plays areas out to the end. Left is Black and own.
type player struct {
	arena *Arena // nil: no forms
	c     Combiner
	known map[amazons.State]judged
}

// judge returns what play to the end says of a state.
func (p *player) judge(t testing.TB, s amazons.State) judged {
	if j, ok := p.known[s]; ok {
		return j
	}
	var values [2][]Value
	var forms [2][]Form
	for i := range 2 {
		turned := s
		if i == 1 {
			turned.Own, turned.Opp = s.Opp, s.Own
		}
		for _, m := range turned.Moves(nil) {
			after := turned.After(m) // seen by the other side
			if i == 0 {
				after.Own, after.Opp = after.Opp, after.Own
			}
			j := p.judge(t, after)
			values[i] = append(values[i], j.value)
			forms[i] = append(forms[i], j.form)
		}
	}
	v, err := p.c.Combine(values[0], values[1])
	if err != nil {
		t.Fatal(err)
	}
	j := judged{value: v}
	if p.arena != nil {
		if j.form, err = p.arena.Form(forms[0], forms[1]); err != nil {
			t.Fatal(err)
		}
	}
	p.known[s] = j
	return j
}

// area returns the state of a board text with Black as own.
func area(t testing.TB, board string) amazons.State {
	t.Helper()
	p, err := amazons.ParsePosition(board + " b")
	if err != nil {
		t.Fatal(err)
	}
	return p.State()
}

// TestOracleValues plays every area of the oracle out and compares all that the oracle says of
// it: stops, mean, temperature, kind, walls and winners by the Value, which is computed from the
// options' Values only, and the canonical form.
func TestOracleValues(t *testing.T) {
	rows := oracleRows(t, "values.tsv")
	arena := NewArena(Limits{})
	agree, asked := 0, 0
	for i, row := range rows {
		if testing.Short() && i%10 != 0 {
			continue
		}
		asked++
		p := player{arena: arena, known: map[amazons.State]judged{}}
		j := p.judge(t, area(t, row["board"]))
		v := j.value
		l, r := v.Stops()
		win := func(side Side) string {
			if v.Winner(side) == side {
				return "win"
			}
			return "loss"
		}
		got := map[string]string{
			"left_stop": l.String(), "right_stop": r.String(),
			"mean": v.Mean().String(), "temperature": v.Temperature().String(),
			"kind": v.Kind().String(), "black_first": win(Left), "white_first": win(Right),
			"thermograph_left": v.Thermograph().Left.String(), "thermograph_right": v.Thermograph().Right.String(),
		}
		ok := true
		for column, g := range got {
			if g != row[column] {
				ok = false
				t.Errorf("%s (%s): %s is %s, the oracle says %s", row["board"], row["canonical"], column, g,
					row[column])
			}
		}
		if want, err := arena.Parse(row["canonical"]); err != nil || j.form != want {
			ok = false
			text, _ := arena.Text(j.form)
			t.Errorf("%s is %s, the oracle says %s (%v)", row["board"], text, row["canonical"], err)
		}
		if w, err := arena.Value(j.form); err != nil || w != v {
			ok = false
			t.Errorf("%s: the Value of the canonical form, %v, is not that of play, %v (%v)", row["board"],
				w.Thermograph(), v.Thermograph(), err)
		}
		if ok {
			agree++
		}
	}
	t.Logf("%d of %d lines of values.tsv agree in all columns; %d canonical forms", agree, asked, arena.Len())
}
