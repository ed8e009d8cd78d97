package amazons

// Symmetric reports whether some symmetry of the board other than the identity
// leaves s as it is. Then the images of a move lead to the same canonical state. In
// other states two moves seldom do, but they can: from "W..../xxxxx w" both
// A2-C2xA2 and A2-C2xE2 lead to the same strip, seen from either end. On a board of
// one file or one rank every state is symmetric, as a mirror changes nothing.
func (s State) Symmetric(b Board) bool {
	for m := Symmetry(1); int(m) < b.Symmetries(); m++ {
		if b.Apply(m, s.Empty) == s.Empty && b.Apply(m, s.Own) == s.Own && b.Apply(m, s.Opp) == s.Opp {
			return true
		}
	}
	return false
}
