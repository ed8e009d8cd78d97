package dfpn

import "amazonsfarm/shared/amazons"

// The table keeps what was searched, not what was only evaluated, or most of it would be evaluations.
// But every further visit of a position looks at the replies again that were never searched, and
// proofs of siblings are tried twice on much the same positions. So each thread keeps its latest
// evaluations. On 6x5 after B1-B4xB3 E5-D4xC5 they answer 18 questions in 100. Eight times as many
// would answer 24, and take longer: 8,192 stay in a core's cache.
const (
	recentBits = 13
	recentMask = 1<<recentBits - 1
)

// recalled is an evaluation. Its numbers are 0 in an empty slot.
type recalled struct {
	hash uint64
	numbers
}

// recent holds the latest evaluations of a thread, by hash.
type recent [1 << recentBits]recalled

// evaluate returns the numbers of a position by the static evaluation. A remembered evaluation counts
// like a new one, so what a search does never depends on what its thread remembers.
func (t *thread) evaluate(st amazons.State, hash uint64) numbers {
	t.evaluations++
	slot := &t.recent[hash&recentMask]
	if slot.hash != hash || slot.phi|slot.delta == 0 {
		*slot = recalled{hash, static(t.judge, st)}
	}
	return slot.numbers
}
