package checker

import (
	"fmt"
	"strings"
)

// squareText returns the name of a square, such as "B4".
func (b *board) squareText(i uint8) string {
	if int(i) >= b.squares {
		return fmt.Sprintf("square %d", i)
	}
	return fmt.Sprintf("%c%d", 'A'+int(i)%b.width, int(i)/b.width+1)
}

// moveText returns a move in the form "B1-B4xD4".
func (b *board) moveText(m move) string {
	return b.squareText(m.from) + "-" + b.squareText(m.to) + "x" + b.squareText(m.arrow)
}

// positionText returns a position with its ranks from the top joined by "/", then the side to move,
// whose queens are the own queens of the position.
func (b *board) positionText(p position, black bool) string {
	signs := ".WBx"
	if black {
		signs = ".BWx"
	}
	var s strings.Builder
	for rank := b.height - 1; rank >= 0; rank-- {
		for file := range b.width {
			i := b.width*rank + file
			s.WriteByte(signs[p.a>>i&1|p.b>>i&1<<1])
		}
		if rank > 0 {
			s.WriteByte('/')
		}
	}
	if black {
		return s.String() + " b"
	}
	return s.String() + " w"
}

// sideName returns "white" or "black".
func sideName(black bool) string {
	if black {
		return "black"
	}
	return "white"
}

// FaultKind says which demand of FORMAT.md a position of the certificate does not meet.
type FaultKind string

// The kinds of faults, in the order in which an entry is looked at.
const (
	FaultOrder     FaultKind = "order"     // the entries of a layer do not increase strictly
	FaultPosition  FaultKind = "position"  // an entry has bits outside the board
	FaultLayer     FaultKind = "layer"     // an entry has not as many burnt squares as its layer says
	FaultCanonical FaultKind = "canonical" // an entry is not the canonical image of its position
	FaultMove      FaultKind = "move"      // the move of an entry is not legal
	FaultReply     FaultKind = "reply"     // the move of an entry does not win: a reply is not shown to lose
	FaultRoot      FaultKind = "root"      // a root is not shown to be as claimed
	FaultCitation  FaultKind = "citation"  // a citation is malformed, or no part proves it
)

// Fault is the first position of a well-formed certificate that does not hold, in file order. It is
// the same whatever the number of workers.
type Fault struct {
	Kind FaultKind `json:"kind"`
	// Layer is the number of arrows of the layer of the entry, or of the root.
	Layer int `json:"layer"`
	// Entry is the number of the entry or citation in its layer, or of the root among the roots, from 0.
	Entry int64 `json:"entry"`
	// Position is the text of the entry, citation or root. The certificate does not say which colour is to
	// move in an entry; the text gives it the colour that the first root implies.
	Position string `json:"position"`
	// Move is the text of the entry's move; "" for a root or citation.
	Move string `json:"move,omitempty"`
	// Reason says what is wrong with it.
	Reason string `json:"reason"`
}

// Error returns one sentence that names the position and the reason.
func (f *Fault) Error() string {
	switch f.Kind {
	case FaultRoot:
		return fmt.Sprintf("root %d, %s: %s", f.Entry, f.Position, f.Reason)
	case FaultCitation:
		return fmt.Sprintf("citation %d of layer %d, %s: %s", f.Entry, f.Layer, f.Position, f.Reason)
	}
	return fmt.Sprintf("entry %d of layer %d, %s with the move %s: %s", f.Entry, f.Layer, f.Position, f.Move, f.Reason)
}
