// Package export writes the part of a certificate that proves one position as JSON lines, as a DOT
// graph, or as SGF variations.
//
// All three show the same: the winner's move in each position that the winner is to play, and all
// replies of the loser, down to positions that a leaf rule decides, or to the limits. Positions
// that are the same up to symmetry are one.
//
// Every writer walks the same graph (graph.go) and differs in what it prints (write.go). The walk
// goes in the order of moves from the root, so that the same certificate always gives the same
// bytes. Proofs are large: limits on depth and positions cut the walk, and a cut position is marked
// as one, so that nobody takes the rest for the whole.
package export

import (
	"context"
	"errors"
	"fmt"

	"amazonsfarm/shared/amazons"
	"amazonsfarm/shared/eval"
	"amazonsfarm/shared/proof"
)

// ErrOpen is wrapped by errors of [New] about a position that the certificate does not decide.
var ErrOpen = errors.New("the certificate does not decide it")

// Limits bound an export. Zero means without a limit; a negative value is as zero.
type Limits struct {
	// Depth is the number of plies below the first position.
	Depth int
	// Positions bounds the positions written. A position whose replies would go beyond is written
	// without them and marked as cut, as are all that come after it: replies are written all or not
	// at all. A position takes some 200 bytes of memory, and each of its replies 8.
	Positions int
}

// Position is a position of a proof.
type Position struct {
	proof.Finding
	Position amazons.Position // as it was first reached; later ones may be images of it
	Depth    int              // plies below the first
	Cut      bool             // what proves it is beyond the limits
	// the winner's one, or all of the loser's; none where a leaf rule decides or the rest is cut
	Moves []Move
}

// Move is a move of a position and where it leads.
type Move struct {
	Move amazons.Move
	To   int // number of a position in Graph.Positions; it may be an image of the position after the move
}

// Graph is a part of a proof: by depth, the first position first.
type Graph struct {
	Positions []Position
	Moves     int  // of all positions
	Cut       int  // positions that are cut
	Full      bool // some are cut because of Limits.Positions
}

// New follows the proof of p through the certificate. It believes the entries, which only
// the checker can judge. Errors: ErrOpen, ctx's.
func New(ctx context.Context, c *proof.Certificate, p amazons.Position, limits Limits) (*Graph, error) {
	g := &Graph{Positions: []Position{{Finding: c.Look(p.State()), Position: p}}}
	if g.Positions[0].Verdict == eval.Open {
		return nil, fmt.Errorf("%v: %w", p, ErrOpen)
	}
	known := map[amazons.Key]int{p.State().CanonicalKey(p.Board): 0}
	// The list is the queue of a breadth-first walk: it grows while the walk goes through it, so depths
	// never fall.
	for i := 0; i < len(g.Positions); i++ {
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		at := &g.Positions[i]
		var moves []amazons.Move
		switch at.Reason {
		case proof.ByEntry:
			moves = []amazons.Move{at.Move}
		case proof.ByReplies:
			moves = at.Position.State().Moves(nil)
		case proof.ByCitation:
			at.Cut = true
			g.Cut++
		}
		// A leaf rule decides the position: nothing follows, and nothing is cut.
		if len(moves) == 0 {
			continue
		}
		if limits.Depth > 0 && at.Depth >= limits.Depth || g.Full {
			at.Cut = true
			g.Cut++
			continue
		}
		edges := make([]Move, len(moves))
		var fresh []Position
		var keys []amazons.Key
		for j, m := range moves {
			after := at.Position.After(m)
			key := after.State().CanonicalKey(p.Board)
			to, ok := known[key]
			if !ok {
				to = len(g.Positions) + len(fresh)
				known[key] = to
				keys = append(keys, key)
				fresh = append(fresh, Position{Finding: c.Look(after.State()), Position: after, Depth: at.Depth + 1})
			}
			edges[j] = Move{m, to}
		}
		if limits.Positions > 0 && len(g.Positions)+len(fresh) > limits.Positions {
			// These positions do not come into the list, so no later move may lead to their numbers.
			for _, k := range keys {
				delete(known, k)
			}
			at.Cut, g.Full = true, true
			g.Cut++
			continue
		}
		// at points into the list, so it is written before the list may move.
		at.Moves = edges
		g.Moves += len(edges)
		g.Positions = append(g.Positions, fresh...)
	}
	return g, nil
}

// Why says in a few words who wins and why.
func (p *Position) Why() string {
	side, winner := p.Position.ToMove, p.Verdict.Winner(p.Position.ToMove)
	switch p.Reason {
	case proof.ByEntry:
		return fmt.Sprintf("%v wins with %v", side, p.Move)
	case proof.ByRule1:
		return fmt.Sprintf("%v has no move and has lost (rule 1)", side)
	case proof.ByRule2:
		return fmt.Sprintf("%s wins by counting (rule 2)", winner)
	case proof.ByRule3:
		return fmt.Sprintf("%s wins by the sum of areas (rule 3)", winner)
	case proof.ByRule4:
		return fmt.Sprintf("%v wins with the closing move %v (rule 4)", side, p.Move)
	case proof.ByCitation:
		return fmt.Sprintf("%s wins, as another part proves", winner)
	}
	return fmt.Sprintf("%v loses: each move is answered", side)
}
