package endgame

import (
	"context"
	"math/bits"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"amazonsfarm/shared/area"
	"amazonsfarm/shared/cgt"
)

// testSize is the database most tests use.
const testSize = "5"

var testDB = sync.OnceValues(func() (*DB, error) {
	dir, err := os.MkdirTemp("", "areas")
	if err != nil {
		return nil, err
	}
	defer os.RemoveAll(dir)
	c, err := ParseSize(testSize)
	if err != nil {
		return nil, err
	}
	name := filepath.Join(dir, c.FileName())
	if err := Build(context.Background(), name, c, Options{}); err != nil {
		return nil, err
	}
	return Open(name) // its pages stay mapped when the name is gone
})

// database returns the tests' database, or the one named by AREAS_DB.
func database(t testing.TB) *DB {
	t.Helper()
	if name := os.Getenv("AREAS_DB"); name != "" {
		db, err := Open(name)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { db.Close() })
		return db
	}
	db, err := testDB()
	if err != nil {
		t.Fatal(err)
	}
	return db
}

// oracle reads a file of values judged by other people's programs. It lies beside the
// project's root; without it the test is skipped.
func oracle(t testing.TB, name string) (rows []map[string]string) {
	t.Helper()
	for _, dir := range []string{"../../../shared/oracle", "../../../../shared/oracle"} {
		data, err := os.ReadFile(filepath.Join(dir, name))
		if err != nil {
			continue
		}
		lines := strings.Split(strings.TrimSpace(string(data)), "\n")
		head := strings.Split(lines[0], "\t")
		for _, l := range lines[1:] {
			row := map[string]string{}
			for i, f := range strings.Split(l, "\t") {
				row[head[i]] = f
			}
			rows = append(rows, row)
		}
		return rows
	}
	t.Skip("no " + name)
	return nil
}

// outcome is the oracle's word for whether the side that begins wins.
func outcome(v cgt.Value, side cgt.Side) string {
	if v.Winner(side) == side {
		return "win"
	}
	return "loss"
}

func TestOracleValues(t *testing.T) {
	db := database(t)
	solver := Solver{DB: db}
	whole := 0
	rows := oracle(t, "values.tsv")
	for _, row := range rows {
		b, w, e, err := area.Parse(row["board"])
		if err != nil {
			t.Fatal(err)
		}
		if _, ok := db.Find(b, w, e); ok {
			whole++
		}
		v, err := solver.Value(b, w, e)
		if err != nil {
			t.Fatal(err)
		}
		l, r := v.Stops()
		th := v.Thermograph()
		got := map[string]string{
			"left_stop": l.String(), "right_stop": r.String(), "mean": v.Mean().String(),
			"temperature": v.Temperature().String(),
			"kind":        v.Kind().String(), "black_first": outcome(v, cgt.Left), "white_first": outcome(v, cgt.Right),
			"thermograph_left": th.Left.String(), "thermograph_right": th.Right.String(),
		}
		for k, x := range got {
			if row[k] != x {
				t.Errorf("%s: %s is %s, want %s", row["board"], k, x, row[k])
			}
		}
		if star := v.Tail() == cgt.Star && v.Mean() == (cgt.Dyadic{}); star != (row["subkind"] == "star") {
			t.Errorf("%s: star %v, subkind %s", row["board"], star, row["subkind"])
		}
	}
	t.Logf("%d values, %d of them whole in the database of %s", len(rows), whole, db.Config())
}

// TestOracleOutcomes adds up values of areas and compares the winner, where the rules for sums tell
// one, with the oracle. Areas above the database's size are searched; the sums never are.
func TestOracleOutcomes(t *testing.T) {
	db := database(t)
	solver := Solver{DB: db}
	rows := oracle(t, "outcomes.tsv")
	type count struct{ positions, questions, decided int }
	var inside, several, all count
	var p area.Partition
	for _, row := range rows {
		b, w, e, err := area.Parse(row["board"])
		if err != nil {
			t.Fatal(err)
		}
		p.Basic(b, w, e)
		var sum cgt.Sum
		found, skip := true, false
		for _, a := range p.Areas() {
			if id, ok := db.Find(a.Black, a.White, a.Empty); ok {
				sum.Add(db.Entry(id).Part)
				continue
			}
			found = false
			if bits.OnesCount64(a.Empty) > 5 || size(&a) > 12 {
				skip = true
				break
			}
			v, err := solver.Value(a.Black, a.White, a.Empty)
			if err != nil {
				t.Fatal(err)
			}
			sum.Add(v.Part())
		}
		if skip {
			continue
		}
		counts := []*count{&all}
		if found {
			counts = append(counts, &inside)
			if len(p.Areas()) > 1 {
				counts = append(counts, &several)
			}
		}
		for _, c := range counts {
			c.positions++
		}
		for side, column := range map[cgt.Side]string{cgt.Left: "black_first", cgt.Right: "white_first"} {
			got := ""
			switch sum.Winner(side) {
			case side:
				got = "win"
			case side.Other():
				got = "loss"
			}
			for _, c := range counts {
				c.questions++
				if got != "" {
					c.decided++
				}
			}
			if got != "" && got != row[column] {
				t.Errorf("%s: %s is %s by values, want %s", row["board"], column, got, row[column])
			}
		}
	}
	t.Logf("%d positions and who wins whoever begins, by values alone (positions, questions, decided):", len(rows))
	t.Logf("  all areas in the database of %v: %v; of them several areas: %v; areas of up to 12 squares searched "+
		"as well: %v", db.Config(), inside, several, all)
}
