package cgt_test

import (
	"fmt"

	"amazonsfarm/shared/cgt"
)

// A Value follows from the Values of the options.
func ExampleValueOf() {
	zero := cgt.IntValue(0)
	star, _ := cgt.ValueOf([]cgt.Value{zero}, []cgt.Value{zero})
	up, _ := cgt.ValueOf([]cgt.Value{zero}, []cgt.Value{star})
	hot, _ := cgt.ValueOf([]cgt.Value{cgt.IntValue(2)}, []cgt.Value{star})
	for _, v := range []cgt.Value{star, up, hot} {
		fmt.Println(v.Tail(), v.Bounds(), v.Thermograph())
	}
	// Output:
	// star [-e, +e] (1,-1)(0,0) | (-1,-1)(0,0)
	// positive (0, +e] (1,-1)(0,0) | (0,-1)
	// none (0, 2+e] (3,-1)(1,1) | (0,-1)(0,0)(1,1)
}

func ExampleArena() {
	a := cgt.NewArena(cgt.Limits{})
	f, _ := a.Parse("{2|0, {3|-1}}")
	g, _ := a.Parse("{1|-1*}")
	sum, _ := a.Add(f, g)
	text, _ := a.Text(sum)
	fmt.Println(text)
	fmt.Println(a.Compare(sum, 0), a.Winner(sum, cgt.Left))
	// Output:
	// {{3|1}, {3|1*}|{1|-1*}, {1*|-1*}}
	// > left
}

// A sum knows its winner by more than its bounds.
func ExampleSum() {
	a := cgt.NewArena(cgt.Limits{})
	var sum cgt.Sum
	for _, text := range []string{"^*", "*", "{2|1*}", "-1"} {
		f, _ := a.Parse(text)
		v, _ := a.Value(f)
		sum.Add(v.Part())
	}
	fmt.Println(sum.Bounds(), sum.Winner(cgt.Left), sum.Winner(cgt.Right))
	// Output:
	// (0, 1+e] left left
}
