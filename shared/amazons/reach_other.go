//go:build !amd64

package amazons

// QueenReaches returns the [QueenReach] of own and that of opp over the same empty squares.
func QueenReaches(own, opp, empty Set) (ownReach, oppReach Set) {
	return QueenReach(own, empty), QueenReach(opp, empty)
}
