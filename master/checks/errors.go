package checks

import (
	"errors"

	"amazonsfarm/shared/amazons"
	"amazonsfarm/shared/cli"
	"amazonsfarm/shared/proof"
)

// Errors of a proof whose parts are checked.
var (
	// ErrRetracted: facts of the pool were taken back meanwhile; the tree may be open again.
	ErrRetracted = errors.New("facts were taken back")
	// ErrLonely: there is no worker.
	ErrLonely = errors.New("there is no worker to check parts")
)

// FalsePartsError says that parts of a proof do not hold. What they prove is taken back, and the campaign
// goes on.
type FalsePartsError struct {
	IDs []proof.ID
	Why string
	// Lacks has the positions that a part cites and no part proves, any more or ever. Such a part may hold.
	Lacks map[proof.ID][]amazons.Key
}

// Error says how many.
func (e *FalsePartsError) Error() string {
	return cli.Counted(len(e.IDs), "part") + " of the proof cannot be used: " + e.Why
}
