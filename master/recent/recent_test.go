package recent

import (
	"fmt"
	"testing"
	"time"

	"amazonsfarm/shared/amazons"
	"amazonsfarm/shared/proof"
)

func TestFacts(t *testing.T) {
	var r Facts
	serial := uint64(0)
	for n := range 30 {
		facts := make([]proof.Fact, n%7)
		for i := range facts {
			serial++
			facts[i].Nodes, facts[i].Key.A = serial, serial
		}
		r.Add(time.Time{}, 5, facts)
		list := r.Latest(func(k amazons.Key) string { return fmt.Sprint(k.A) })
		if len(list) > 5 || serial >= 5 && len(list) < 5 || len(list) != r.Len() {
			t.Fatalf("%d facts kept of %d", len(list), serial)
		}
		for i, l := range list {
			if want := serial - uint64(i); l.Serial != want || l.Nodes != want || l.Position != fmt.Sprint(want) {
				t.Fatalf("fact %d of %d is number %d with work %d, want %d", i, len(list), l.Serial, l.Nodes, want)
			}
		}
	}
}
