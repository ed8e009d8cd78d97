package eval

import (
	"math/bits"

	"amazonsfarm/shared/amazons"
)

// Local search takes away all areas that are worth whole numbers. It plays out the rest, with the
// sum of these numbers as free moves, where few empty squares are left. A small memory keeps the
// results by exact position. So the same fight is played out once, whatever stands elsewhere.

// localSlots is the number of positions that local search remembers. A search meets one position in
// ten again, hardly fewer with a small memory, and 200 KB stay in the cache of a core. With four
// times as much, searches of 6x4 took a twentieth longer.
const localSlots = 1 << 12

// fight is a position to be played out.
type fight struct {
	amazons.State
	bound amazons.Set // queens that shoot back at their origins with their first moves; all of one side
}

// played is a position that was played out.
type played struct {
	fight
	n       int16
	verdict Verdict
}

// local plays out f, where the side to move has n free moves elsewhere (the other side -n, where n
// is negative).
func (j *Judge) local(f fight, n int) Verdict {
	if v := lemma(f.State, n); v != Open {
		return v
	}
	return j.remember(f, n)
}

// lemma is the counting lemma with free moves. It holds for bound queens too: steps shoot back.
func lemma(s amazons.State, n int) Verdict {
	if amazons.Grow(s.Own)&s.Empty == 0 && n <= 0 {
		return Lost
	}
	opp := amazons.Flood(s.Opp, s.Empty)
	if k := bits.OnesCount64(opp) - n; bits.OnesCount64(s.Empty&^opp)+1 >= k && moverWins(s.Own, s.Empty&^opp, opp, k) {
		return Won
	}
	own := amazons.Flood(s.Own, s.Empty)
	if k := bits.OnesCount64(own) + n; bits.OnesCount64(s.Empty&^own)+2 >= k &&
		waiterWins(s.Opp, s.Empty&^own, own, k) {
		return Lost
	}
	return Open
}

// remember plays out f, unless it remembers the result.
func (j *Judge) remember(f fight, n int) Verdict {
	if j.memory == nil {
		j.memory = make([]played, localSlots)
	}
	h := (f.Own*0x9e3779b97f4a7c15 ^ bits.RotateLeft64(f.Opp*0xd1342543de82ef95,
		23) ^ bits.RotateLeft64(f.Empty*0xa0761d6478bd642f, 41) ^ (f.bound+
		uint64(n))*0xe7037ed1a0b428db) * 0x9e3779b97f4a7c15
	slot := &j.memory[h>>40&uint64(len(j.memory)-1)]
	if slot.fight == f && slot.n == int16(n) && slot.verdict != Open {
		return slot.verdict
	}
	base := len(j.stack)
	v := j.play(f, n)
	j.stack = j.stack[:base]
	*slot = played{f, int16(n), v}
	return v
}

// play tries all moves, first those that the lemma decides.
func (j *Judge) play(f fight, n int) Verdict {
	base := len(j.stack)
	for queens := f.Own; queens != 0; queens &= queens - 1 {
		from := queens & -queens
		for targets := amazons.QueenTargets(amazons.Square(bits.TrailingZeros64(queens)),
			f.Empty); targets != 0; targets &= targets - 1 {
			to := targets & -targets
			open := f.Empty ^ to | from
			arrows := amazons.QueenTargets(amazons.Square(bits.TrailingZeros64(targets)), open)
			if f.bound&from != 0 {
				arrows = from
			}
			for ; arrows != 0; arrows &= arrows - 1 {
				next := fight{amazons.State{Own: f.Opp, Opp: f.Own ^ from ^ to, Empty: open &^ (arrows & -arrows)},
					f.bound &^ from}
				switch lemma(next.State, -n) {
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
	if n > 0 && j.local(fight{amazons.State{Own: f.Opp, Opp: f.Own, Empty: f.Empty}, f.bound}, 1-n) == Lost {
		return Won
	}
	return Lost
}
