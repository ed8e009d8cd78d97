package eval_test

import (
	"fmt"

	"amazonsfarm/shared/amazons"
	"amazonsfarm/shared/eval"
)

// White has three squares of its own, Black two. The counting lemma decides.
func Example() {
	p, err := amazons.ParsePosition("W...x..B w")
	if err != nil {
		panic(err)
	}
	v, f := eval.Evaluate(p.State())
	fmt.Println(v, f.OwnOnly, f.OppOnly)

	// Output:
	// won 3 2
}

// Explain says which rule decided, and what each side is sure of.
func ExampleJudge_Explain() {
	p, err := amazons.ParsePosition(".x.B/xWxx/.x.x b")
	if err != nil {
		panic(err)
	}
	e := eval.NewJudge(nil, eval.DefaultSettings()).Explain(p)
	fmt.Println(e.Verdict, "for the side to move by", e.Rule)
	for _, s := range e.Sums {
		fmt.Println(s.For, "is sure of", s.Text())
	}

	// Output:
	// lost for the side to move by sum of the bounds
	// black is sure of -4 or more
	// white is sure of 0 or less
}
