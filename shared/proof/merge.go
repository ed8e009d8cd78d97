package proof

import (
	"fmt"

	"amazonsfarm/shared/amazons"
	"amazonsfarm/shared/eval"
)

// Merge unites certificates: all entries, and all roots in their order, each once. Where two
// certificates have different moves for a position, the first one's stays. The result does without
// leaf rule 2 if all of them do. The sets given are not changed. Errors wrap ErrMismatch: no
// certificate at all, different boards, or opposite claims about a root.
func Merge(certs ...Certificate) (Certificate, error) {
	if len(certs) == 0 {
		return Certificate{}, fmt.Errorf("merge certificates: %w: there is none", ErrMismatch)
	}
	type rootKey struct {
		key    amazons.Key
		toMove amazons.Colour
	}
	out := Certificate{Board: certs[0].Board, RulesOnly: true, Set: new(Set)}
	claims := make(map[rootKey]eval.Verdict)
	for _, c := range certs {
		if c.Board != out.Board {
			return Certificate{}, fmt.Errorf("merge certificates: %w: one is for a %v board, one for a %v board",
				ErrMismatch, out.Board, c.Board)
		}
		for _, r := range c.Roots {
			k := rootKey{r.State.Key(c.Board), r.ToMove}
			claim, known := claims[k]
			if known && claim != r.Claim {
				return Certificate{}, fmt.Errorf("merge certificates: %w: %v is claimed to be %v and %v", ErrMismatch,
					r.Position(c.Board), claim, r.Claim)
			}
			if !known {
				claims[k] = r.Claim
				out.Roots = append(out.Roots, r)
			}
		}
		out.RulesOnly = out.RulesOnly && c.RulesOnly
		out.Set.Merge(c.Set)
	}
	return out, nil
}
