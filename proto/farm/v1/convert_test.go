package farmv1

import (
	"bytes"
	"errors"
	"math"
	"testing"

	"amazonsfarm/shared/amazons"
	"amazonsfarm/shared/eval"
	"amazonsfarm/shared/proof"

	"google.golang.org/protobuf/proto"
)

// TestVerdicts pins that verdicts have the same numbers in messages as in package eval, and that there are no others.
func TestVerdicts(t *testing.T) {
	same := map[Verdict]eval.Verdict{Verdict_VERDICT_UNSPECIFIED: eval.Open, Verdict_VERDICT_WON: eval.Won,
		Verdict_VERDICT_LOST: eval.Lost}
	if len(Verdict_name) != len(same) {
		t.Errorf("messages have %d verdicts", len(Verdict_name))
	}
	for written, v := range same {
		if got := WriteVerdict(v); got != written {
			t.Errorf("%v is written as %v, want %v", v, got, written)
		}
		if got, err := ReadVerdict(written); err != nil || got != v {
			t.Errorf("%v is read as %v, %v", written, got, err)
		}
	}
	for _, v := range []Verdict{-1, 3, 256 + 1} {
		if got, err := ReadVerdict(v); got != eval.Open || !errors.Is(err, ErrMalformed) {
			t.Errorf("%d is read as %v, %v", v, got, err)
		}
	}
}

// TestCarryFacts compares the bytes of facts that are carried with those of the message that holds them.
func TestCarryFacts(t *testing.T) {
	key := amazons.Key{A: 0x123456789abcdef, B: math.MaxUint64}
	list := []proof.Fact{{Key: key, Verdict: eval.Won, Nodes: math.MaxUint64}, {Key: key, Verdict: eval.Lost},
		{Key: key, Verdict: eval.Lost, Nodes: 300}}
	for _, facts := range [][]proof.Fact{nil, list[:1], list} {
		want, err := proto.Marshal(&News{Campaign: 7, Facts: WriteFacts(facts)})
		if err != nil {
			t.Fatal(err)
		}
		carried := &News{Campaign: 7}
		CarryFacts(carried, facts)
		got, err := proto.Marshal(carried)
		if err != nil {
			t.Fatal(err)
		}
		arrived := &News{}
		if err := proto.Unmarshal(got, arrived); err != nil {
			t.Fatal(err)
		}
		again, err := proto.MarshalOptions{Deterministic: true}.Marshal(arrived)
		if err != nil {
			t.Fatal(err)
		}
		if len(got) != len(want) || !bytes.Equal(again, want) || len(arrived.GetFacts()) != len(facts) {
			t.Errorf("%d facts: %x arrive as %x, want %x", len(facts), got, again, want)
		}
	}
}

// BenchmarkCarryFacts writes 256 facts as a master does for a worker.
func BenchmarkCarryFacts(b *testing.B) {
	list := make([]proof.Fact, 256)
	for i := range list {
		list[i] = proof.Fact{Verdict: eval.Won, Nodes: 1000}
	}
	b.ReportAllocs()
	for b.Loop() {
		n := &News{}
		CarryFacts(n, list)
		if _, err := proto.Marshal(n); err != nil {
			b.Fatal(err)
		}
	}
}

// TestPrintable: names are text of a bounded size without signs that a terminal obeys.
func TestPrintable(t *testing.T) {
	for text, want := range map[string]bool{"": true, "w1": true, "Jürgen": true, "12345678": true,
		"123456789": false, "a\nb": false, "\x1b[2J": false, "\xff": false} {
		if got := Printable(text, 8); got != want {
			t.Errorf("%q: %v", text, got)
		}
	}
}
