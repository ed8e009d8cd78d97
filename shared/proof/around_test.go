package proof_test

import (
	"errors"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"amazonsfarm/shared/amazons"
	"amazonsfarm/shared/eval"
	"amazonsfarm/shared/proof"
	"amazonsfarm/shared/testkit/reference"
)

// TestReadAround steps through proofs in parts at random, and reads anew what is around the way after each move. Each
// position on the way is decided, as search decides it. Where the parts are gone, what they are listed to prove is
// left.
func TestReadAround(t *testing.T) {
	r := rand.New(rand.NewPCG(75, 76))
	cited, parts := 0, 0
	for range 15 {
		b := amazons.Board{Width: uint8(3 + r.IntN(3)), Height: uint8(3 + r.IntN(3))}
		s := reference.Scattered(r, b, 1+r.IntN(2), 1+r.IntN(2), 5+r.IntN(4))
		x := newExact(b, true)
		c := build(t, b, s, x.wins(s), x, eval.MoveLeaves)
		name := filepath.Join(t.TempDir(), "a.proof")
		m, err := proof.WriteParts(t.Context(), name, c, 4)
		if err != nil {
			t.Fatal(err)
		}
		parts += len(m.Parts)
		for range 4 {
			for way := []amazons.Position{c.Roots[0].Position(b)}; ; {
				at := way[len(way)-1]
				around, _, err := m.ReadAround(t.Context(), name, way, 1<<20)
				if err != nil {
					t.Fatal(err)
				}
				f := around.Look(at.State())
				if f.Verdict != x.wins(at.State()) {
					t.Fatalf("%v after %d moves is %v by %v", at, len(way)-1, f.Verdict, f.Reason)
				}
				for move := range at.State().AllMoves() {
					after := at.State().After(move)
					g := around.Look(after)
					if g.Verdict != eval.Open && g.Verdict != x.wins(after) {
						t.Fatalf("%v after %v is %v by %v", at, move, g.Verdict, g.Reason)
					}
					if g.Reason == proof.ByCitation {
						cited++
					}
				}
				moves := at.State().Moves(nil)
				switch f.Reason {
				case proof.ByEntry:
					way = append(way, at.After(f.Move))
					continue
				case proof.ByReplies:
					way = append(way, at.After(moves[r.IntN(len(moves))]))
					continue
				case proof.ByCitation:
					t.Fatalf("%v is on the way, and its part was not read", at)
				}
				break
			}
		}
		root := []amazons.Position{c.Roots[0].Position(b)}
		top := slices.IndexFunc(m.Parts, func(p proof.Part) bool {
			return slices.ContainsFunc(p.Roots, func(r proof.Citation) bool { return r.Key == s.CanonicalKey(b) })
		})
		for _, room := range []int64{m.Parts[top].Positions, m.Parts[top].Positions - 1} {
			_, _, err := m.ReadAround(t.Context(), name, root, room)
			fits := room == m.Parts[top].Positions
			if fits != (err == nil) || !fits && !errors.Is(err, proof.ErrTooLarge) {
				t.Fatalf("with room for %d positions of %d: %v", room, m.Parts[top].Positions, err)
			}
		}
		if err := os.RemoveAll(proof.PartsFolder(name)); err != nil {
			t.Fatal(err)
		}
		around, read, err := m.ReadAround(t.Context(), name, root, 1<<20)
		if f := around.Look(s); err != nil || read != 0 || f.Verdict != x.wins(s) || f.Reason == proof.ByEntry {
			t.Fatalf("without its parts: %v by %v, %d parts, %v", f.Verdict, f.Reason, read, err)
		}
	}
	if cited < 50 || parts < 100 {
		t.Errorf("only %d positions by citation in %d parts", cited, parts)
	}
}
