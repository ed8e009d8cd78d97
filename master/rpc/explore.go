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

// lineMoves is how many moves of the play from a decided position Explore returns at most.
const lineMoves = 12

// explored is what the tree says of a position and its moves.
type explored struct {
	at    tree.Position
	moves []tree.Move
	line  []amazons.Move
	end   amazons.State // after the line
	fact  tree.Fact     // of end; no outcome: there is none
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
	return c.master.Explore(ctx, p)
}

// Explore asks the loop about a position of the campaign's board and its moves. What it costs does not grow with the tree.
func (m *Master) Explore(ctx context.Context, p amazons.Position) (*farmv1.ExploreResponse, error) {
	reply := make(chan explored, 1)
	e, err := await(ctx, m, exploreQuery{p, reply}, reply)
	if err != nil {
		return nil, err
	}
	if left := lineMoves - len(e.line); m.cfg.Unfold != nil && left > 0 && e.fact.Outcome != tree.Unknown {
		e.line = append(e.line, m.cfg.Unfold(e.fact, e.end, left)...)
	}
	return e.message(p), nil
}

func explore(t *tree.Tree, p amazons.Position) (e explored) {
	s := p.State()
	e.at, e.moves = t.Explore(s)
	e.line = t.Line(s, lineMoves)
	for _, m := range e.line {
		s = s.After(m)
	}
	e.end = s
	e.fact, _ = t.Fact(s.CanonicalKey(p.Board))
	return e
}

// ExploreTree is Master.Explore for a tree that no master has. It does without certificates.
func ExploreTree(p amazons.Position, t *tree.Tree) *farmv1.ExploreResponse {
	return explore(t, p).message(p)
}

// message writes what a tree says of a position as the contract has it.
func (e explored) message(p amazons.Position) *farmv1.ExploreResponse {
	out := &farmv1.ExploreResponse{Position: p.String(), Known: known(e.at)}
	for _, m := range e.moves {
		out.Moves = append(out.Moves, &farmv1.ExploredMove{Move: m.Move.String(), After: known(m.After)})
	}
	for _, m := range e.line {
		out.Line = append(out.Line, m.String())
	}
	return out
}

func known(p tree.Position) *farmv1.Known {
	return &farmv1.Known{
		Outcome: farmv1.Outcome(p.Outcome), Basis: p.Basis.String(), Phi: p.Phi, Delta: p.Delta, Nodes: p.Effort.Nodes, AtLeast: p.Effort.AtLeast,
		InTree: p.InTree, Expanded: p.Expanded, Leased: p.Leased, SetAside: p.Aside,
	}
}
