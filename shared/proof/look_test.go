package proof_test

import (
	"context"
	"math/rand/v2"
	"testing"

	"amazonsfarm/shared/amazons"
	"amazonsfarm/shared/eval"
	"amazonsfarm/shared/proof"
	"amazonsfarm/shared/testkit/reference"
)

// TestLook goes through certificates of random late positions: whatever they decide is what
// exhaustive search says, the same for every image of a position; an entry's move leads to a lost
// position, each reply to a lost one to a won one; and the root is decided as claimed.
func TestLook(t *testing.T) {
	r := rand.New(rand.NewPCG(71, 72))
	reasons := map[proof.Reason]int{}
	for i := range 80 {
		b := amazons.Board{Width: uint8(3 + r.IntN(4)), Height: uint8(3 + r.IntN(3))}
		s := reference.Scattered(r, b, 1+r.IntN(3), 1+r.IntN(3), 5+r.IntN(4))
		x := newExact(b, true)
		c := build(t, b, s, x.wins(s), x, eval.Leaves(i%4))
		if f := c.Look(s); f.Verdict != x.wins(s) {
			t.Fatalf("%v: the root is %v instead of %v", c.Roots[0].Position(b), f.Verdict, x.wins(s))
		}
		for range 40 { // random walks through the proof
			for at := s; ; {
				f := c.Look(at)
				reasons[f.Reason]++
				if f.Verdict == eval.Open {
					t.Fatalf("a position inside the proof is not decided: %v", amazons.PositionOf(b, at, amazons.White))
				}
				if f.Verdict != x.wins(at) {
					t.Fatalf("%v is %v by %v, search says %v", amazons.PositionOf(b, at, amazons.White), f.Verdict,
						f.Reason, x.wins(at))
				}
				image := amazons.Symmetry(r.IntN(b.Symmetries()))
				if g := c.Look(at.Apply(b, image)); g.Verdict != f.Verdict || g.Reason != f.Reason {
					t.Fatalf("an image is %+v, the position %+v", g, f)
				} else if (g.Reason == proof.ByEntry || g.Reason == proof.ByRule4) &&
					(!at.Apply(b, image).Legal(g.Move) ||
						c.Look(at.Apply(b, image).After(g.Move)).Verdict != eval.Lost) {
					t.Fatalf("the move %v of an image does not win", g.Move)
				}
				moves := at.Moves(nil)
				switch f.Reason {
				case proof.ByEntry:
					at = at.After(f.Move)
					continue
				case proof.ByReplies:
					at = at.After(moves[r.IntN(len(moves))])
					continue
				case proof.ByRule1:
					if len(moves) != 0 {
						t.Fatal("rule 1 where there is a move")
					}
				case proof.ByRule2, proof.ByRule3, proof.ByRule4:
					fewest := []eval.Leaves{eval.CountLeaves, eval.SumLeaves, eval.ClosingLeaves}
					if c.Leaves > fewest[f.Reason-proof.ByRule2] || len(moves) == 0 {
						t.Fatalf("%v with %d moves, allowed are %v", f.Reason, len(moves), c.Leaves)
					}
				}
				break
			}
		}
		// What is not part of the proof may be decided or not, but never wrongly.
		for _, m := range s.Moves(nil) {
			if f := c.Look(s.After(m)); f.Verdict != eval.Open && f.Verdict != x.wins(s.After(m)) {
				t.Fatalf("beside the proof: %v instead of %v", f.Verdict, x.wins(s.After(m)))
			}
		}
	}
	for _, want := range []proof.Reason{proof.ByEntry, proof.ByRule1, proof.ByRule2, proof.ByRule4, proof.ByReplies} {
		if reasons[want] < 20 {
			t.Errorf("only %d positions by %v", reasons[want], want)
		}
	}
}

// TestLookOutside asks about a position that a certificate says nothing of.
func TestLookOutside(t *testing.T) {
	b := amazons.Board{Width: 4, Height: 4}
	start, err := amazons.Start(b)
	if err != nil {
		t.Fatal(err)
	}
	c := proof.Certificate{Board: b}
	if f := c.Look(start.State()); f != (proof.Finding{}) {
		t.Errorf("an empty certificate says %+v", f)
	}
	if line := c.Line(start.State(), 5); len(line) != 0 {
		t.Errorf("an empty certificate plays %v", line)
	}
	if n, more := c.Below(start.State(), 5); n != 0 || more {
		t.Errorf("an empty certificate has %d entries below, more %v", n, more)
	}
}

// TestLineAndBelow plays proofs out, each move by the side that is to play it, until a leaf rule
// decides; and compares Below with Prune.
func TestLineAndBelow(t *testing.T) {
	r := rand.New(rand.NewPCG(73, 74))
	long, counted := 0, 0
	for i := range 120 {
		b := amazons.Board{Width: uint8(3 + r.IntN(4)), Height: uint8(3 + r.IntN(3))}
		s := reference.Scattered(r, b, 1+r.IntN(3), 1+r.IntN(3), 5+r.IntN(4))
		x := newExact(b, true)
		c := build(t, b, s, x.wins(s), x, eval.Leaves(i%4))
		at := s
		line := c.Line(s, 64)
		for _, m := range line {
			f := c.Look(at)
			if !at.Legal(m) || (f.Reason == proof.ByEntry || f.Reason == proof.ByRule4) && m != f.Move {
				t.Fatalf("%v is not the move of %+v", m, f)
			}
			at = at.After(m)
		}
		if f := c.Look(at); f.Reason == proof.ByEntry || f.Reason == proof.ByRule4 || f.Reason == proof.ByReplies &&
			leadsToRule4(c, at) {
			t.Fatalf("the line ends at %+v", f)
		}
		if half := c.Line(s, len(line)/2); len(half) != len(line)/2 {
			t.Fatalf("%d moves instead of %d", len(half), len(line)/2)
		}
		if len(line) > 2 {
			long++
		}
		pruned, missing, err := proof.Prune(context.Background(), c, nil)
		if err != nil || len(missing) != 0 {
			t.Fatalf("%v, %d missing", err, len(missing))
		}
		n, more := c.Below(s, 1<<20)
		if n != pruned.Set.Len() || more {
			t.Fatalf("%d entries below the root, %d after pruning", n, pruned.Set.Len())
		}
		counted += n
		if n > 1 {
			if half, more := c.Below(s, n/2); half != n/2 || !more {
				t.Fatalf("%d of %d entries, more %v", half, n/2, more)
			}
		}
	}
	if long < 20 || counted < 1000 {
		t.Errorf("%d long lines and %d entries: the test tests too little", long, counted)
	}
}

// leadsToRule4 reports whether a move of s leads to a position that is won by a closing move.
func leadsToRule4(c proof.Certificate, s amazons.State) bool {
	for m := range s.AllMoves() {
		if c.Look(s.After(m)).Reason == proof.ByRule4 {
			return true
		}
	}
	return false
}
