package rpc

import (
	"context"
	"fmt"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"amazonsfarm/master/tree"
	farmv1 "amazonsfarm/proto/farm/v1"
	"amazonsfarm/shared/amazons"
)

// explored is what the tree says of a position and its moves.
type explored struct {
	at    tree.Position
	moves []tree.Move
}

// Follow plays moves, as text, from a position. The error names the first one that is no legal move.
func Follow(p amazons.Position, moves []string) (amazons.Position, error) {
	for i, text := range moves {
		m, err := p.ParseMove(text)
		if err != nil {
			return p, fmt.Errorf("move %d: %w", i+1, err)
		}
		p = p.After(m)
	}
	return p, nil
}

// Explore implements farmv1.ControlServer.
func (c *controlService) Explore(ctx context.Context, r *farmv1.ExploreRequest) (*farmv1.ExploreResponse, error) {
	p, err := Follow(c.master.cfg.Root, r.GetMoves())
	if err != nil {
		return nil, status.Error(codes.InvalidArgument, err.Error())
	}
	reply := make(chan explored, 1)
	e, err := await(ctx, c.master, exploreQuery{p.State(), reply}, reply)
	if err != nil {
		return nil, err
	}
	return ExploreMessage(p, e.at, e.moves), nil
}

// ExploreMessage writes what a tree says of a position as the contract has it.
func ExploreMessage(p amazons.Position, at tree.Position, moves []tree.Move) *farmv1.ExploreResponse {
	out := &farmv1.ExploreResponse{Position: p.String(), Known: known(at)}
	for _, m := range moves {
		out.Moves = append(out.Moves, &farmv1.ExploredMove{Move: m.Move.String(), After: known(m.After)})
	}
	return out
}

func known(p tree.Position) *farmv1.Known {
	return &farmv1.Known{
		Outcome: farmv1.Outcome(p.Outcome), Basis: p.Basis.String(), Phi: p.Phi, Delta: p.Delta, Nodes: p.Effort.Nodes, AtLeast: p.Effort.AtLeast,
		InTree: p.InTree, Expanded: p.Expanded, Leased: p.Leased, SetAside: p.Aside,
	}
}
