package eval

import "amazonsfarm/shared/amazons"

// Verdict is what is known about a position, for the side to move. Its numbers are those of the
// claims in a certificate (proof/FORMAT.md).
type Verdict uint8

// The verdicts.
const (
	Open Verdict = iota // not known
	Won                 // the side to move wins
	Lost                // the side to move loses
)

// String returns "open", "won" or "lost".
func (v Verdict) String() string {
	return [...]string{Open: "open", Won: "won", Lost: "lost", 3: "open"}[v&3]
}

// Winner returns the winner of a position in words, given its side to move: white or black; empty where it is
// open.
func (v Verdict) Winner(toMove amazons.Colour) string {
	switch v {
	case Won:
		return toMove.String()
	case Lost:
		return toMove.Other().String()
	}
	return ""
}

// Other returns the verdict seen by the other side: Won and Lost exchanged.
func (v Verdict) Other() Verdict { return [...]Verdict{Open: Open, Won: Lost, Lost: Won, 3: Open}[v&3] }

// MoveWord says what a move does for the side that plays it: wins, loses or open. after is the
// verdict on the position after the move, for the other side.
func MoveWord(after Verdict) string {
	return [...]string{Open: "open", Won: "loses", Lost: "wins", 3: "open"}[after&3]
}
