package cgt

import (
	"testing"

	"pgregory.net/rapid"
)

// TestPlay: who wins a sum by playing it is who wins the sum that is made, also for sums of many forms around 0.
func TestPlay(t *testing.T) {
	a := NewArena(Limits{})
	close := 0
	check(t, 60, func(t *rapid.T) {
		total := Form(0)
		var forms []Form
		for range rapid.IntRange(0, 4).Draw(t, "games") {
			f := drawForm(t, a, rapid.SampledFrom([]int{1, 2, 0}).Draw(t, "depth"), "f")
			forms, total = append(forms, f), must[Form](t)(a.Add(total, f))
		}
		if rapid.Bool().Draw(t, "move to 0") {
			n := must[Form](t)(a.Number(must[Value](t)(a.Value(total)).Mean().Neg()))
			forms, total = append(forms, n), must[Form](t)(a.Add(total, n))
		}
		winners := map[bool]bool{}
		for _, mover := range []Side{Left, Right} {
			want, got := a.Winner(total, mover), must[Side](t)(a.Play(forms, mover))
			if got != want {
				text, _ := a.Text(total)
				t.Fatalf("%s, %v begins: %v by playing, %v by its form", text, mover, got, want)
			}
			winners[got == mover] = true
		}
		if len(winners) == 1 {
			close++
		}
	})
	if close == 0 {
		t.Error("no sum was close")
	}
}
