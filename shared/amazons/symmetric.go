package amazons

// Symmetric reports whether some symmetry of the board other than the identity
// leaves s as it is. Only then can two different moves lead to the same canonical state.
func (s State) Symmetric(b Board) bool {
	for m := Symmetry(1); int(m) < b.Symmetries(); m++ {
		if b.Apply(m, s.Empty) == s.Empty && b.Apply(m, s.Own) == s.Own && b.Apply(m, s.Opp) == s.Opp {
			return true
		}
	}
	return false
}
