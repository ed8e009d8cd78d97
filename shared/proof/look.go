package proof

import (
	"amazonsfarm/shared/amazons"
	"amazonsfarm/shared/eval"
)

// Reason says by what a certificate decides a position.
type Reason uint8

// The reasons, in the order in which they are looked for.
const (
	NoReason   Reason = iota // the certificate does not decide the position
	ByEntry                  // won: the position is an entry, with a winning move
	ByRule1                  // lost: the side to move has no move
	ByRule2                  // won or lost by the counting lemma
	ByRule3                  // won or lost by the sum of areas
	ByRule4                  // won: a closing move leads to a position that these rules call lost
	ByReplies                // lost: each move leads to a position that is won for another of these reasons
	ByCitation               // won or lost: a part that was not read is said to prove it; see ReadAround
)

// String returns the reason in a word or two.
func (r Reason) String() string {
	return [...]string{"none", "entry", "rule 1", "rule 2", "rule 3", "rule 4", "replies", "citation"}[r]
}

// Finding is what a certificate says of a position.
type Finding struct {
	Verdict eval.Verdict // for the side to move; Open: the certificate does not decide it
	Reason  Reason
	Move    amazons.Move // the winning move, in the orientation of the position looked up; with ByEntry and ByRule4
}

// Look returns what the certificate says of s, in any orientation: it believes the entries,
// which only the checker can judge. A position that neither is an entry nor follows from entries and
// leaf rules in one move is Open, whoever wins it. The time it takes is that of looking up each
// reply once.
func (c *Certificate) Look(s amazons.State) Finding {
	f := c.won(s)
	if f.Verdict == eval.Won || f.Verdict == eval.Lost && f.Reason != ByCitation {
		return f
	}
	for m := range s.AllMoves() {
		if c.won(s.After(m)).Verdict != eval.Won {
			return f
		}
	}
	return Finding{Verdict: eval.Lost, Reason: ByReplies}
}

// WinningMoves returns the moves of s that c shows to win, as texts: Look says that the position after them is lost.
func (c *Certificate) WinningMoves(s amazons.State) []string {
	won := []string{}
	for m := range s.AllMoves() {
		if c.Look(s.After(m)).Verdict == eval.Lost {
			won = append(won, m.String())
		}
	}
	return won
}

// won is Look without a look at replies.
func (c *Certificate) won(s amazons.State) Finding {
	canonical, symmetry := s.Canonical(c.Board)
	if m, ok := c.Set.Move(canonical.Key(c.Board)); ok {
		return Finding{Verdict: eval.Won, Reason: ByEntry, Move: c.Board.ApplyMove(symmetry.Inverse(), m)}
	}
	switch v := eval.Plain(c.Board, canonical, max(c.Leaves, eval.SumLeaves)); {
	case v == eval.Open:
		if c.Leaves == eval.ClosingLeaves {
			if m, ok := eval.ClosingMove(c.Board, s); ok {
				return Finding{Verdict: eval.Won, Reason: ByRule4, Move: m}
			}
		}
		if v = c.claimed[canonical.Key(c.Board)]; v != eval.Open {
			return Finding{Verdict: v, Reason: ByCitation}
		}
		return Finding{}
	case !canonical.CanMove():
		return Finding{Verdict: v, Reason: ByRule1}
	case v == eval.Plain(c.Board, canonical, eval.CountLeaves):
		return Finding{Verdict: v, Reason: ByRule2}
	default:
		return Finding{Verdict: v, Reason: ByRule3}
	}
}

// Line returns how a decided position is played out, most moves at most: the winner plays the moves
// of the entries and closing moves, the loser the first of its moves that leads to another entry, else
// to a closing move. It ends where leaf rules 1 to 3 decide, or another part goes on.
func (c *Certificate) Line(s amazons.State, most int) []amazons.Move {
	var line []amazons.Move
	for f := c.Look(s); len(line) < most; f = c.Look(s) {
		next, found := f.Move, f.Reason == ByEntry || f.Reason == ByRule4
		if f.Reason == ByReplies {
			for m := range s.AllMoves() {
				r := c.won(s.After(m)).Reason
				if entry := r == ByEntry || r == ByCitation; entry || r == ByRule4 && !found {
					next, found = m, true
					if entry {
						break
					}
				}
			}
		}
		if !found {
			break
		}
		line, s = append(line, next), s.After(next)
	}
	return line
}

// Below returns how many entries the proof of s takes, those that [Prune] would keep for it:
// reached from s by the moves of entries and all replies where the leaf rules do not decide, s
// itself included, each counted once. It stops at most entries and then says more.
func (c *Certificate) Below(s amazons.State, most int) (entries int, more bool) {
	seen := map[amazons.Key]struct{}{}
	var stack []amazons.State
	reach := func(s amazons.State) {
		canonical, _ := s.Canonical(c.Board)
		key := canonical.Key(c.Board)
		if _, ok := seen[key]; ok || !c.Set.Has(key) || eval.Plain(c.Board, canonical, c.Leaves) == eval.Won {
			return
		}
		if len(seen) == most {
			more = true
			return
		}
		seen[key] = struct{}{}
		stack = append(stack, canonical)
	}
	replies := func(s amazons.State) {
		canonical, _ := s.Canonical(c.Board)
		if eval.Plain(c.Board, canonical, c.Leaves) != eval.Open {
			return
		}
		for m := range s.AllMoves() {
			if reach(s.After(m)); more {
				return
			}
		}
	}
	switch f := c.Look(s); f.Reason {
	case ByEntry:
		reach(s)
	case ByReplies:
		replies(s)
	}
	for len(stack) > 0 && !more {
		s := stack[len(stack)-1]
		stack = stack[:len(stack)-1]
		if m, ok := c.Set.Move(s.Key(c.Board)); ok {
			replies(s.After(m))
		}
	}
	return len(seen), more
}
