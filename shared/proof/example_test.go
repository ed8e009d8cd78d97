package proof_test

import (
	"bytes"
	"context"
	"fmt"

	"amazonsfarm/shared/amazons"
	"amazonsfarm/shared/checker"
	"amazonsfarm/shared/dfpn"
	"amazonsfarm/shared/proof"
)

// A position is solved, its proof extracted, written, and verified by independent code.
func Example() {
	p, _ := amazons.ParsePosition("4x4")
	table, err := dfpn.NewTable(16 << 20)
	if err != nil {
		fmt.Println(err)
		return
	}
	defer table.Close()
	search := dfpn.New(dfpn.Options{Board: p.Board, Table: table})
	verdict, _ := search.Solve(context.Background(), p.State())

	builder := proof.NewBuilder(p.Board, proof.BuilderOptions{}, search)
	if err := builder.Prove(context.Background(), p.State(), verdict); err != nil {
		fmt.Println(err)
		return
	}
	data, _ := proof.Encode(proof.Certificate{Board: p.Board, Roots: []proof.Root{proof.RootOf(p, verdict)},
		Set: builder.Take()})

	report, err := checker.Check(context.Background(), bytes.NewReader(data), int64(len(data)), checker.Options{})
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Printf("%v for %v to move; proved: %s wins\n", verdict, p.ToMove, report.Roots[0].Winner)
	// Output: lost for white to move; proved: black wins
}

// A certificate explains a position: who wins it, by what, and how it is played out.
func ExampleCertificate_Look() {
	c, err := proof.ReadFile("testdata/format1.amzcert")
	if err != nil {
		fmt.Println(err)
		return
	}
	p := c.Roots[0].Position(c.Board)
	found := c.Look(p.State())
	fmt.Printf("%v: %v, by %v\n", p, found.Verdict, found.Reason)
	// Output: .BB./B..B/W..W/.WW. w: lost, by replies
}
