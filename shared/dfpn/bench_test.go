package dfpn

import (
	"context"
	"fmt"
	"os"
	"testing"
	"time"

	"amazonsfarm/shared/amazons"
)

func TestTry(t *testing.T) {
	for _, threads := range []int{1, 2} {
		for _, name := range []string{"4x4", "5x4", "4x5", "5x5", "4x6"} {
			p, err := amazons.ParsePosition(name)
			if err != nil {
				t.Fatal(err)
			}
			tb, err := NewTable(512 << 20)
			if err != nil {
				t.Fatal(err)
			}
			s, _ := New(Options{Board: p.Board, Table: tb, Threads: threads})
			t0 := time.Now()
			lim := uint64(5_000_000)
			r := s.Search(context.Background(), p.State(), Limit{Nodes: lim})
			d := time.Since(t0).Seconds()
			fmt.Fprintf(os.Stderr, "%s %v nodes %d evals %d %.2fs %.2fM evals/s fill %.3f\n", name, r.Verdict, r.Nodes, r.Evaluations, d, float64(r.Evaluations)/d/1e6, tb.Fill())
			tb.Close()
		}
	}
}
