package dfpn

import (
	"fmt"

	"amazonsfarm/shared/amazons"
	"amazonsfarm/shared/estimate"
	"amazonsfarm/shared/eval"
)

// Initial says where the numbers of a position come from that was not searched yet (df-pn+, Nagai
// 2002). deploy/docs/results/numbers.md compares the forms.
type Initial uint8

// The forms of initial numbers.
const (
	Fitted    Initial = iota // a table fitted to recorded searches: package estimate
	Constant                 // the same for all positions, as in plain df-pn
	Mobility                 // delta is the mobility of the side to move
	Territory                // Mobility, divided or multiplied by the lead in territory
)

// String returns the name of a form.
func (i Initial) String() string {
	switch i {
	case Fitted:
		return "fitted"
	case Constant:
		return "constant"
	case Mobility:
		return "mobility"
	case Territory:
		return "territory"
	}
	return fmt.Sprintf("Initial(%d)", uint8(i))
}

func (i Initial) valid() error {
	if i > Territory {
		return fmt.Errorf("%w: there are no initial numbers of form %d", ErrOptions, uint8(i))
	}
	return nil
}

// initialUnit is the constant number, large enough to be divided.
const initialUnit = 8

// numbers returns the first numbers of st, whose features are f.
func (i Initial) numbers(st amazons.State, f *eval.Features) numbers {
	switch i {
	case Constant:
		return numbers{initialUnit, initialUnit}
	case Mobility:
		return numbers{initialUnit, uint32(initialUnit * f.OwnMoves)}
	case Territory:
		return territory(f)
	}
	phi, delta := estimate.Numbers(st, f)
	return numbers{phi, delta}
}

// territory is made by hand: a loss needs every move refuted, so delta grows with the mobility of
// the side to move; a win needs one move, so phi does not. A lead in territory makes the one easier
// and the other harder.
func territory(f *eval.Features) numbers {
	phi, delta := uint32(initialUnit), uint32(initialUnit*f.OwnMoves)
	if lead := f.Territory; lead >= 0 {
		phi /= uint32(1 + lead)
		delta *= uint32(1 + lead)
	} else {
		phi *= uint32(1 - lead)
		delta /= uint32(1 - lead)
	}
	return numbers{max(1, phi), max(1, delta)}
}
