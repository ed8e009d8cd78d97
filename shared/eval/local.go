package eval

import (
	"math/bits"

	"amazonsfarm/shared/amazons"
)

// Local search: what is left of a position when all areas that are worth a whole number are taken away is played out, together with
// that number of free moves, where few empty squares are left. What was found is kept in a small
// memory by exact position, so that the same fight is played out once, whatever stands elsewhere on the board.

// localSlots is the number of positions that a judge's local search remembers.
const localSlots = 1 << 14

// played is a position that was played out.
type played struct {
	own, opp, empty amazons.Set
	n               int16
	verdict         Verdict
}

// local plays out s, where the side to move has n free moves elsewhere (the other side -n, where n is negative).
func (j *Judge) local(s amazons.State, n int) Verdict {
	if v := lemma(s, n); v != Open {
		return v
	}
	return j.remember(s, n)
}

// lemma is the counting lemma with free moves.
func lemma(s amazons.State, n int) Verdict {
	if amazons.Grow(s.Own)&s.Empty == 0 && n <= 0 {
		return Lost
	}
	opp := amazons.Flood(s.Opp, s.Empty)
	if k := bits.OnesCount64(opp) - n; bits.OnesCount64(s.Empty&^opp)+1 >= k && moverWins(s.Own, s.Empty&^opp, opp, k) {
		return Won
	}
	own := amazons.Flood(s.Own, s.Empty)
	if k := bits.OnesCount64(own) + n; bits.OnesCount64(s.Empty&^own)+2 >= k && waiterWins(s.Opp, s.Empty&^own, own, k) {
		return Lost
	}
	return Open
}

// remember plays out s unless its memory has it.
func (j *Judge) remember(s amazons.State, n int) Verdict {
	if j.memory == nil {
		j.memory = make([]played, localSlots)
	}
	h := (s.Own*0x9e3779b97f4a7c15 ^ bits.RotateLeft64(s.Opp*0xd1342543de82ef95, 23) ^ bits.RotateLeft64(s.Empty*0xa0761d6478bd642f, 41) ^ uint64(n)*0xe7037ed1a0b428db) * 0x9e3779b97f4a7c15
	slot := &j.memory[h>>40&(localSlots-1)]
	if slot.own == s.Own && slot.opp == s.Opp && slot.empty == s.Empty && slot.n == int16(n) && slot.verdict != Open {
		return slot.verdict
	}
	base := len(j.stack)
	v := j.play(s, n)
	j.stack = j.stack[:base]
	*slot = played{s.Own, s.Opp, s.Empty, int16(n), v}
	return v
}

// play tries all moves: first which of them win at once, then the others.
func (j *Judge) play(s amazons.State, n int) Verdict {
	base := len(j.stack)
	for queens := s.Own; queens != 0; queens &= queens - 1 {
		from := queens & -queens
		for targets := amazons.QueenTargets(amazons.Square(bits.TrailingZeros64(queens)), s.Empty); targets != 0; targets &= targets - 1 {
			to := targets & -targets
			open := s.Empty ^ to | from
			for arrows := amazons.QueenTargets(amazons.Square(bits.TrailingZeros64(targets)), open); arrows != 0; arrows &= arrows - 1 {
				next := amazons.State{Own: s.Opp, Opp: s.Own ^ from ^ to, Empty: open &^ (arrows & -arrows)}
				switch lemma(next, -n) {
				case Lost:
					return Won
				case Open:
					j.stack = append(j.stack, next)
				}
			}
		}
	}
	end := len(j.stack)
	for i := base; i < end; i++ {
		if j.remember(j.stack[i], -n) == Lost {
			return Won
		}
	}
	if n > 0 && j.local(amazons.State{Own: s.Opp, Opp: s.Own, Empty: s.Empty}, 1-n) == Lost {
		return Won
	}
	return Lost
}
