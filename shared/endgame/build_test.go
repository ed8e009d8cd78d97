package endgame

import (
	"context"
	"os"
	"path/filepath"
	"testing"
	"time"
)

func TestMeasure(t *testing.T) {
	size := os.Getenv("MEASURE")
	if size == "" {
		t.Skip()
	}
	c, err := ParseSize(size)
	if err != nil {
		t.Fatal(err)
	}
	name := filepath.Join("/tmp/areas-db", c.FileName())
	os.MkdirAll("/tmp/areas-db", 0o777)
	start := time.Now()
	last := ""
	if err := Build(context.Background(), name, c, Options{Progress: func(p Progress) {
		s := p.Stage + string(rune('0'+p.Squares))
		if s != last {
			t.Log(s, p.Done*100/p.All, p.Elapsed)
			last = s
		}
	}}); err != nil {
		t.Fatal(err)
	}
	t.Log(time.Since(start))
	start = time.Now()
	db, err := Open(name)
	if err != nil {
		t.Fatal(err)
	}
	t.Log("open", time.Since(start), db.Bytes(), db.Values(), len(db.keys))
	start = time.Now()
	if err := db.Check(nil); err != nil {
		t.Fatal(err)
	}
	t.Log("check", time.Since(start))
}
