package main

import (
	"amazonsfarm/shared/amazons"
	"amazonsfarm/shared/eval"
)

// first returns the first proof and disproof number of a position that was never searched, for its
// side to move (df-pn+, Nagai 2002). It has the form that a search calls, and looks at the features alone.
type first func(_ amazons.State, _ amazons.Move, f eval.Features) (phi, delta uint32)

// hand is the constant number, large enough to be divided.
const hand = 8

// forms are the first numbers made by hand, to compare the fitted ones (nil) with.
var forms = map[string]first{
	"fitted":   nil,
	"constant": func(amazons.State, amazons.Move, eval.Features) (phi, delta uint32) { return hand, hand },
	"mobility": func(_ amazons.State, _ amazons.Move, f eval.Features) (phi, delta uint32) {
		return hand, uint32(hand * f.OwnMoves)
	},
	"territory": territory,
}

// territory grows delta with the mobility of the side to move: a loss needs every move refuted, a
// win needs one move. A lead in territory makes the win easier and the loss harder.
func territory(_ amazons.State, _ amazons.Move, f eval.Features) (phi, delta uint32) {
	phi, delta = hand, uint32(hand*f.OwnMoves)
	if lead := f.Territory; lead >= 0 {
		phi /= uint32(1 + lead)
		delta *= uint32(1 + lead)
	} else {
		phi *= uint32(1 - lead)
		delta /= uint32(1 - lead)
	}
	return max(1, phi), max(1, delta)
}
