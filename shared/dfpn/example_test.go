package dfpn_test

import (
	"context"
	"fmt"

	"amazonsfarm/shared/amazons"
	"amazonsfarm/shared/dfpn"
)

// Solve 4x4 and ask for the winning reply to its first move.
func Example() {
	p, err := amazons.ParsePosition("4x4")
	if err != nil {
		panic(err)
	}
	table, err := dfpn.NewTable(1 << 20)
	if err != nil {
		panic(err)
	}
	defer table.Close()
	search := dfpn.New(dfpn.Options{Board: p.Board, Table: table})
	r := search.Search(context.Background(), p.State(), 0)
	fmt.Println("4x4:", r.Verdict)

	reply := p.After(p.State().Moves(nil)[0])
	r = search.Search(context.Background(), reply.State(), 0)
	_, found := search.Best(reply.State())
	fmt.Println("after one move:", r.Verdict, found)

	// Output:
	// 4x4: lost
	// after one move: won true
}

// A search that stops at its limit leaves what it learned in the table. Its hints carry that to
// another table.
func ExampleSearcher_Hints() {
	p, err := amazons.ParsePosition("4x5")
	if err != nil {
		panic(err)
	}
	nodes := uint64(0)
	var hints []byte
	for limit := uint64(10_000); ; limit = 0 {
		table, err := dfpn.NewTable(16 << 20)
		if err != nil {
			panic(err)
		}
		defer table.Close()
		if hints != nil {
			if _, err := table.AddHints(p.Board, hints, false); err != nil {
				panic(err)
			}
		}
		search := dfpn.New(dfpn.Options{Board: p.Board, Table: table})
		r := search.Search(context.Background(), p.State(), limit)
		nodes += r.Nodes
		fmt.Println(r.Verdict)
		if limit == 0 {
			break
		}
		hints = search.Hints(p.State(), 1<<16)
	}
	fmt.Println("together fewer than 30,000 nodes:", nodes < 30_000)

	// Output:
	// open
	// lost
	// together fewer than 30,000 nodes: true
}
