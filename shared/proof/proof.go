package proof

import (
	"cmp"
	"errors"
	"fmt"

	"amazonsfarm/shared/amazons"
	"amazonsfarm/shared/eval"
)

// The faults of a file that is read as a certificate. Errors of [Read], [ReadFile] and
// [ReadInfo] wrap one of these, or are errors of reading.
var (
	ErrNotCertificate = errors.New("not a certificate")
	ErrVersion        = errors.New("unknown certificate version")
	ErrTruncated      = errors.New("certificate is cut short")
	ErrChecksum       = errors.New("certificate does not match its checksum")
	ErrCorrupt        = errors.New("certificate is damaged")

	// ErrInParts is what [Read] says of a manifest.
	ErrInParts = fmt.Errorf(`%w: it is the manifest of a proof in parts; "master proof pack" makes one file of it`,
		ErrNotCertificate)
	// ErrOneFile is what [ReadManifest] says of a certificate that may be whole.
	ErrOneFile = fmt.Errorf("%w in parts, but one in one file; here a manifest is wanted", ErrNotCertificate)
)

var (
	// ErrInvalid is wrapped by errors about a certificate that cannot be written: no board, no
	// root, a root or an entry that is not of the board.
	ErrInvalid = errors.New("not a certificate that can be written")

	// ErrMismatch is wrapped by errors of [Finder.Find] about a certificate for another board.
	ErrMismatch = errors.New("certificates do not belong together")

	// ErrNotProved is wrapped by errors of [Builder.Prove] about claims that turned out false, or
	// could not be made certain.
	ErrNotProved = errors.New("not proved")

	// ErrUnsolved is wrapped by errors of [Builder.Prove] about positions that the search left open.
	ErrUnsolved = errors.New("left open by the search")

	// ErrFull is wrapped by errors of [Builder.Prove] when the builder has reached its limit.
	ErrFull = errors.New("certificate builder is full")
)

// Entry is a canonical position that the side to move wins, with a winning move.
type Entry struct {
	Key  amazons.Key
	Move amazons.Move
}

// Root is a position whose winner a certificate proves.
type Root struct {
	State  amazons.State // any orientation
	ToMove amazons.Colour
	Claim  eval.Verdict // Won or Lost, for the side to move
}

// RootOf returns p as a root with the given claim.
func RootOf(p amazons.Position, claim eval.Verdict) Root { return Root{p.State(), p.ToMove, claim} }

// Position returns the root with its colours.
func (r Root) Position(b amazons.Board) amazons.Position {
	return amazons.PositionOf(b, r.State, r.ToMove)
}

// Citation is a claim about a canonical position that another part of the same proof shows.
type Citation struct {
	Key   amazons.Key
	Claim eval.Verdict // Won or Lost, for the side to move
}

// compare is the order of the roots in a manifest.
func (c Citation) compare(d Citation) int {
	return cmp.Or(c.Key.Compare(d.Key), cmp.Compare(c.Claim, d.Claim))
}

// Certificate proves its roots. A nil Set stands for an empty one. One that cites positions is a
// part: it proves its roots only if each citation is as claimed.
type Certificate struct {
	Board  amazons.Board
	Leaves eval.Leaves // the leaf rules that the proof may use
	Roots  []Root
	Set    *Set
	Cited  []Citation // in any order, each position once, all with more arrows than every root
	// claimed has positions that other parts are listed to prove. ReadAround alone fills it.
	claimed map[amazons.Key]eval.Verdict
}

// validate returns an error that wraps ErrInvalid if the header of c cannot be written. Entries are
// looked at while they are written.
func (c *Certificate) validate() error {
	switch {
	case !c.Board.Valid():
		return fmt.Errorf("%w: %v is not a board", ErrInvalid, c.Board)
	case len(c.Roots) == 0:
		return fmt.Errorf("%w: it has no root", ErrInvalid)
	case fixedHeader+rootBytes*len(c.Roots)+layerBytes*maxLayers > maxHeader:
		return fmt.Errorf("%w: %d roots are too many", ErrInvalid, len(c.Roots))
	}
	mask := c.Board.Mask()
	deepest := 0
	for i, r := range c.Roots {
		s := r.State
		if (s.Own|s.Opp|s.Empty)&^mask != 0 || s.Own&s.Opp|s.Own&s.Empty|s.Opp&s.Empty != 0 {
			return fmt.Errorf("%w: root %d is not a position of a %v board", ErrInvalid, i, c.Board)
		}
		if r.ToMove > amazons.Black || r.Claim != eval.Won && r.Claim != eval.Lost {
			return fmt.Errorf("%w: root %d, %v: the claim must be won or lost, the side to move white or black",
				ErrInvalid, i, r.Position(c.Board))
		}
		deepest = max(deepest, layerOf(s.Key(c.Board)))
	}
	for _, q := range c.Cited {
		if layerOf(q.Key) <= deepest || q.Claim != eval.Won && q.Claim != eval.Lost {
			return fmt.Errorf("%w: %x %x is cited as %v: a citation must have more than the %d arrows of a "+
				"root, and a winner", ErrInvalid, q.Key.A, q.Key.B, q.Claim, deepest)
		}
	}
	return nil
}

// checkEntry says what keeps e from being an entry of the layer, "" if nothing does. Whether its
// move wins is not looked at.
func checkEntry(b amazons.Board, e Entry, arrows int) string {
	s, why := checkKey(b, e.Key, arrows)
	if why == "" && !s.Legal(e.Move) {
		return fmt.Sprintf("its move %v is not legal", e.Move)
	}
	return why
}

// checkKey is checkEntry for a position without a move, which it returns.
func checkKey(b amazons.Board, k amazons.Key, arrows int) (amazons.State, string) {
	s, err := k.State(b)
	switch {
	case err != nil:
		return s, err.Error()
	case layerOf(k) != arrows:
		return s, fmt.Sprintf("it has %d burnt squares in layer %d", layerOf(k), arrows)
	case s.CanonicalKey(b) != k:
		return s, "it is not canonical"
	}
	return s, ""
}
