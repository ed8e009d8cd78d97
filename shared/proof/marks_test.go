package proof

import (
	"math/rand/v2"
	"sync"
	"testing"

	"amazonsfarm/shared/amazons"
)

// TestMarksOfAnother looks positions up that nobody marks while others are marked in the slots that
// they would have: they stay without marks.
func TestMarksOfAnother(t *testing.T) {
	rounds := 30
	if testing.Short() {
		rounds = 5
	}
	for round := range rounds {
		m := newMarks(0)
		var all sync.WaitGroup
		done := make(chan struct{})
		for reader := range 3 {
			random := rand.New(rand.NewPCG(uint64(round), uint64(reader)))
			all.Go(func() {
				for {
					select {
					case <-done:
						return
					default:
					}
					for range 1000 {
						if mark, _ := m.get(amazons.Key{A: 2*random.Uint64() + 1, B: 1}); mark != 0 {
							t.Error("a position that nobody marked has marks")
							return
						}
					}
				}
			})
		}
		random := rand.New(rand.NewPCG(uint64(round), 99))
		for range 20_000 {
			m.add(amazons.Key{A: 2*random.Uint64() + 2, B: 1}, markWon, 1)
		}
		close(done)
		all.Wait()
		if t.Failed() {
			return
		}
	}
}
