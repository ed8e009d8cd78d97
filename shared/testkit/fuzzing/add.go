package fuzzing

import (
	"flag"
	"math/rand/v2"
	"testing"
)

var (
	tapes = flag.Int("tapes", 0, "random tapes more for each fuzz target that reads one, as an ordinary test")
	seed  = flag.Uint64("tape-seed", 1, "of the random tapes; the same seed gives the same ones")
)

// AddTapes gives a target that reads a tape random ones to begin with: n of them, from short to
// longest bytes, in which most decisions are below usual, the number of calls that there are. They
// need no instrumented build and are many times as fast as the search for new inputs: with -args
// -tapes 10000 -tape-seed 7 a target is run with so many more.
func AddTapes(f *testing.F, n, longest, usual int) {
	add := func(seed uint64, i, longest int) {
		r := rand.New(rand.NewPCG(seed, uint64(i)))
		tape := []byte{byte(i)}
		for len(tape) < longest {
			b := r.IntN(usual)
			switch r.IntN(5) {
			case 0:
				b = r.IntN(256)
			case 1:
				b = r.IntN(4)
			}
			tape = append(tape, byte(b))
		}
		f.Add(tape)
	}
	for i := range n {
		add(0, i, longest*(i+1)/n)
	}
	for i := range *tapes {
		add(*seed, i, 1+(i*7919)%longest)
	}
}
