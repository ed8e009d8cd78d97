package eval_test

import (
	"math/bits"

	"amazonsfarm/shared/amazons"
)

// exhaustive searches positions to the end by the rules of the game alone, with a memory of exact positions that is lossy but
// never wrong: it is [wins], only faster. It is not safe for concurrent use.
type exhaustive struct {
	memory []struct {
		own, opp, empty amazons.Set
		won, known      bool
	}
}

const exhaustiveSlots = 1 << 18

func (e *exhaustive) wins(s amazons.State) bool {
	if amazons.Grow(s.Own)&s.Empty == 0 {
		return false
	}
	if e.memory == nil {
		e.memory = make([]struct {
			own, opp, empty amazons.Set
			won, known      bool
		}, exhaustiveSlots)
	}
	h := (s.Own*0x9e3779b97f4a7c15 ^ bits.RotateLeft64(s.Opp*0xd1342543de82ef95, 31) ^ bits.RotateLeft64(s.Empty*0xa0761d6478bd642f, 17)) * 0xe7037ed1a0b428db
	slot := &e.memory[h>>40&(exhaustiveSlots-1)]
	if slot.known && slot.own == s.Own && slot.opp == s.Opp && slot.empty == s.Empty {
		return slot.won
	}
	won := e.search(s, true) || e.search(s, false)
	slot.own, slot.opp, slot.empty, slot.won, slot.known = s.Own, s.Opp, s.Empty, won, true
	return won
}

// search reports whether some move wins: of all those after which the other side has no move, or of the others.
func (e *exhaustive) search(s amazons.State, last bool) bool {
	for queens := s.Own; queens != 0; queens &= queens - 1 {
		from := queens & -queens
		for targets := amazons.QueenTargets(amazons.Square(bits.TrailingZeros64(queens)), s.Empty); targets != 0; targets &= targets - 1 {
			to := targets & -targets
			open := s.Empty ^ to | from
			for arrows := amazons.QueenTargets(amazons.Square(bits.TrailingZeros64(targets)), open); arrows != 0; arrows &= arrows - 1 {
				next := amazons.State{Own: s.Opp, Opp: s.Own ^ from ^ to, Empty: open &^ (arrows & -arrows)}
				if over := amazons.Grow(next.Own)&next.Empty == 0; over == last && (over || !e.wins(next)) {
					return true
				}
			}
		}
	}
	return false
}
