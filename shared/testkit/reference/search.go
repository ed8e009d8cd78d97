package reference

import (
	"math/bits"

	"amazonsfarm/shared/amazons"
)

// Search finds who wins positions of one board: negamax over everything below them, as plainly as
// can be, all of it remembered by exact canonical key. It is not safe for concurrent use.
type Search struct {
	board amazons.Board
	leaf  func(amazons.State) (won, decided bool)
	memo  map[amazons.Key]Result
}

// Result is what a Search knows of a position.
type Result struct {
	Won   bool   // the side to move wins
	Nodes uint64 // positions looked at below it and itself, each as often as it was met; 0 for a leaf
}

// New returns a search of positions of a board to the end of the game.
func New(b amazons.Board) *Search { return NewWithLeaves(b, nil) }

// NewWithLeaves returns a search that goes no further where leaf decides a position. leaf gets
// canonical states; it may be nil.
func NewWithLeaves(b amazons.Board, leaf func(amazons.State) (won, decided bool)) *Search {
	return &Search{board: b, leaf: leaf, memo: make(map[amazons.Key]Result)}
}

// Wins reports whether the side to move wins a position of a board, by exhaustive search.
func Wins(b amazons.Board, s amazons.State) bool { return New(b).Wins(s) }

// Wins reports whether the side to move wins s.
func (x *Search) Wins(s amazons.State) bool { return x.Solve(s).Won }

// Solve searches s.
func (x *Search) Solve(s amazons.State) Result {
	s, _ = s.Canonical(x.board)
	if x.leaf != nil {
		if won, decided := x.leaf(s); decided {
			return Result{Won: won}
		}
	}
	k := s.Key(x.board)
	if r, ok := x.memo[k]; ok {
		return r
	}
	r := Result{Nodes: 1}
	for _, m := range s.Moves(nil) {
		c := x.Solve(s.After(m))
		r.Nodes += c.Nodes
		if !c.Won {
			r.Won = true
			break
		}
	}
	x.memo[k] = r
	return r
}

// Known returns what is remembered of s, and whether something is.
func (x *Search) Known(s amazons.State) (Result, bool) {
	r, ok := x.memo[s.CanonicalKey(x.board)]
	return r, ok
}

// Positions returns the number of positions that are remembered.
func (x *Search) Positions() int { return len(x.memo) }

// Fast finds what [Search] finds, many times faster, of positions of any boards. Its memory of
// exact positions is lossy but never wrong. The zero Fast is ready for use; it is not safe for
// concurrent use.
type Fast struct {
	memory []outcome
}

type outcome struct {
	own, opp, empty amazons.Set
	won, known      bool
}

const fastSlots = 1 << 18

// Wins reports whether the side to move wins s.
func (x *Fast) Wins(s amazons.State) bool {
	if amazons.Grow(s.Own)&s.Empty == 0 {
		return false
	}
	if x.memory == nil {
		x.memory = make([]outcome, fastSlots)
	}
	h := (s.Own*0x9e3779b97f4a7c15 ^ bits.RotateLeft64(s.Opp*0xd1342543de82ef95,
		31) ^ bits.RotateLeft64(s.Empty*0xa0761d6478bd642f, 17)) * 0xe7037ed1a0b428db
	slot := &x.memory[h>>40&(fastSlots-1)]
	if slot.known && slot.own == s.Own && slot.opp == s.Opp && slot.empty == s.Empty {
		return slot.won
	}
	won := x.search(s, true) || x.search(s, false)
	*slot = outcome{s.Own, s.Opp, s.Empty, won, true}
	return won
}

// search reports whether some move wins: of all those after which the other side has no move, or of
// the others.
func (x *Fast) search(s amazons.State, last bool) bool {
	for queens := s.Own; queens != 0; queens &= queens - 1 {
		from := queens & -queens
		for targets := amazons.QueenTargets(amazons.Square(bits.TrailingZeros64(queens)),
			s.Empty); targets != 0; targets &= targets - 1 {
			to := targets & -targets
			open := s.Empty ^ to | from
			for arrows := amazons.QueenTargets(amazons.Square(bits.TrailingZeros64(targets)),
				open); arrows != 0; arrows &= arrows - 1 {
				next := amazons.State{Own: s.Opp, Opp: s.Own ^ from ^ to, Empty: open &^ (arrows & -arrows)}
				if over := amazons.Grow(next.Own)&next.Empty == 0; over == last && (over || !x.Wins(next)) {
					return true
				}
			}
		}
	}
	return false
}
