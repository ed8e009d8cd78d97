// Package assemble makes the one certificate of a settled campaign out of what the store and the
// tree hold: the parts of the workers, and an entry for each won position that the master
// expanded itself.
//
// [Write] has two ways. Where a single part proves exactly what is asked, its bytes are the
// certificate: nothing is decoded, and nothing can go wrong on the way. Otherwise all entries of
// all parts are put into one set, and the set is pruned from the roots down. So entries that no
// root needs stay out, whichever worker proved them.
//
// The result is not checked here. Whoever calls Write has the checker go over the file.
package assemble

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"strings"

	"amazonsfarm/master/tree"
	"amazonsfarm/shared/amazons"
	"amazonsfarm/shared/disk"
	"amazonsfarm/shared/eval"
	"amazonsfarm/shared/proof"
)

// ErrMissing is wrapped by a MissingError.
var ErrMissing = errors.New("evidence is missing")

// MissingError lists positions that the proof needs and that no certificate of a worker has.
type MissingError struct {
	Board amazons.Board
	Keys  []amazons.Key
}

// Error names the first few positions.
func (e *MissingError) Error() string {
	var some []string
	for _, k := range e.Keys[:min(3, len(e.Keys))] {
		if s, err := k.State(e.Board); err == nil {
			some = append(some, amazons.PositionOf(e.Board, s, amazons.White).String())
		}
	}
	return fmt.Sprintf("%v for %d positions that should be won for the side to move, such as %s", ErrMissing,
		len(e.Keys), strings.Join(some, ", "))
}

// Unwrap returns ErrMissing.
func (e *MissingError) Unwrap() error { return ErrMissing }

// Part is a certificate of a worker.
type Part struct {
	ID   proof.ID
	Data io.ReaderAt
	Size int64
}

// Input is what a certificate is made of.
type Input struct {
	Board    amazons.Board
	Leaves   eval.Leaves           // the leaf rules that are allowed
	Roots    []proof.Root          // of the certificate
	Top      *proof.Set            // what the tree adds to the parts; nil: nothing
	Parts    []Part                // all of the campaign
	Progress func(done, total int) // is told of parts that were merged; nil: nobody is
}

// Write makes the certificate and writes it to the named file, which appears whole or not at all. It
// returns the entries; of a part that was taken as it is, and whose root is lost, they may be none.
// Errors: a MissingError; those of reading parts, of writing, of ctx.
func Write(ctx context.Context, name string, in Input) (*proof.Set, error) {
	disk.RemoveLeftovers(name, 0)
	if whole, set, err := whole(in); err != nil {
		return nil, err
	} else if whole != nil {
		return set, proof.WriteEncoded(name, whole)
	}
	union := proof.Certificate{Board: in.Board, Leaves: in.Leaves, Roots: in.Roots, Set: new(proof.Set)}
	union.Set.Merge(in.Top)
	for i, f := range in.Parts {
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		if in.Progress != nil {
			in.Progress(i, len(in.Parts))
		}
		c, err := proof.Read(f.Data, f.Size)
		if err != nil {
			return nil, fmt.Errorf("part %v: %w", f.ID, err)
		}
		if union.Set.Len() == 0 {
			union.Set = c.Set
		} else {
			union.Set.Merge(c.Set)
		}
	}
	pruned, missing, err := proof.Prune(ctx, union, nil)
	if err != nil {
		return nil, err
	}
	if len(missing) > 0 {
		return nil, &MissingError{in.Board, missing}
	}
	return pruned.Set, proof.WriteFile(name, pruned)
}

// whole returns the bytes of the only part, if it proves exactly the roots asked for: then
// nothing needs to be walked again, and the checker will say whether it is good.
func whole(in Input) ([]byte, *proof.Set, error) {
	if len(in.Parts) != 1 || len(in.Roots) != 1 {
		return nil, nil, nil
	}
	f := in.Parts[0]
	data := make([]byte, f.Size)
	if n, err := f.Data.ReadAt(data, 0); int64(n) != f.Size {
		return nil, nil, fmt.Errorf("part %v: %w", f.ID, err)
	}
	info, err := proof.ReadInfo(bytes.NewReader(data), f.Size)
	if err != nil {
		return nil, nil, fmt.Errorf("part %v: %w", f.ID, err)
	}
	if len(info.Roots) != 1 || info.Roots[0] != in.Roots[0] || info.Board != in.Board || info.Leaves < in.Leaves {
		return nil, nil, nil
	}
	if in.Roots[0].Claim != eval.Won {
		return data, new(proof.Set), nil // nobody will ask for the move of the root
	}
	c, err := proof.Read(bytes.NewReader(data), f.Size)
	if err != nil {
		return nil, nil, fmt.Errorf("part %v: %w", f.ID, err)
	}
	return data, c.Set, nil
}

// Roots returns the claims of a campaign's certificate: its root, or, where first moves were given
// and all of them lose, the positions after these moves, each won for the side that then moves.
func Roots(root amazons.Position, firstMoves []amazons.Move, settled tree.Settled) []proof.Root {
	if !settled.NoGivenMoveWins {
		return []proof.Root{proof.RootOf(root, settled.Verdict)}
	}
	roots := make([]proof.Root, len(firstMoves))
	for i, m := range firstMoves {
		roots[i] = proof.RootOf(root.After(m), eval.Won)
	}
	return roots
}
