package cgt

import (
	"testing"

	"amazonsfarm/shared/amazons"
)

// benchAreas are areas of the oracle with as many empty squares as their names say.
var benchAreas = []struct{ name, board string }{
	{"4empty", ".x/.B/../W./.x"},
	{"6empty", "B.../x..x/W.Bx"},
	{"8empty", "x..../BW.x."},
}

// eachFamily runs f for each bench area with the Values of the options of every state below it.
func eachFamily(b *testing.B, f func(b *testing.B, families [][2][]Value)) {
	for _, row := range benchAreas {
		p := player{known: map[amazons.State]judged{}}
		p.judge(b, area(b, row.board))
		var families [][2][]Value
		for s := range p.known {
			var fam [2][]Value
			for i := range 2 {
				turned := s
				if i == 1 {
					turned.Own, turned.Opp = s.Opp, s.Own
				}
				for _, m := range turned.Moves(nil) {
					after := turned.After(m)
					if i == 0 {
						after.Own, after.Opp = after.Opp, after.Own
					}
					fam[i] = append(fam[i], p.known[after].value)
				}
			}
			families = append(families, fam)
		}
		b.Run(row.name, func(b *testing.B) { f(b, families) })
	}
}

// BenchmarkCombine is the Value of one state from those of all its options, as lists of Values with
// repetitions.
func BenchmarkCombine(b *testing.B) {
	eachFamily(b, func(b *testing.B, families [][2][]Value) {
		var c Combiner
		options := 0
		b.ReportAllocs()
		for i := range b.N {
			fam := families[i%len(families)]
			if _, err := c.Combine(fam[0], fam[1]); err != nil {
				b.Fatal(err)
			}
			options += len(fam[0]) + len(fam[1])
		}
		b.ReportMetric(float64(options)/float64(b.N), "options/op")
		b.ReportMetric(float64(options)/b.Elapsed().Seconds(), "options/s")
	})
}

// BenchmarkForm plays a whole area out to its canonical form.
func BenchmarkForm(b *testing.B) {
	for _, row := range benchAreas {
		b.Run(row.name, func(b *testing.B) {
			s := area(b, row.board)
			for range b.N {
				p := player{arena: NewArena(Limits{}), known: map[amazons.State]judged{}}
				p.judge(b, s)
			}
		})
	}
}

func BenchmarkPart(b *testing.B) {
	v := player{known: map[amazons.State]judged{}}
	w := v.judge(b, area(b, benchAreas[2].board)).value
	b.ReportAllocs()
	for range b.N {
		_ = w.Part()
	}
}

// BenchmarkSum adds four parts up and asks for the winner.
func BenchmarkSum(b *testing.B) {
	v := player{known: map[amazons.State]judged{}}
	var parts []Part
	for _, row := range benchAreas {
		parts = append(parts, v.judge(b, area(b, row.board)).value.Part())
	}
	parts = append(parts, IntValue(-3).Part())
	b.ReportAllocs()
	for range b.N {
		var s Sum
		for _, p := range parts {
			s.Add(p)
		}
		if s.Winner(Left) == Nobody && s.Winner(Right) == s.Winner(Left) {
			continue
		}
	}
}

func BenchmarkDecodeValue(b *testing.B) {
	v := player{known: map[amazons.State]judged{}}
	bytes := v.judge(b, area(b, benchAreas[2].board)).value.Append(nil)
	b.SetBytes(int64(len(bytes)))
	for range b.N {
		if _, _, err := DecodeValue(bytes); err != nil {
			b.Fatal(err)
		}
	}
}
