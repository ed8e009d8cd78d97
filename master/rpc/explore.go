package rpc

import (
	"cmp"
	"context"
	"fmt"
	"slices"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"amazonsfarm/master/tree"
	farmv1 "amazonsfarm/proto/farm/v1"
	"amazonsfarm/shared/amazons"
	"amazonsfarm/shared/eval"
	"amazonsfarm/shared/proof"
)

// lineMoves is how many moves of the play from a decided position Explore returns at most.
const lineMoves = 12

// Proved is what certificates prove of one position.
type Proved struct {
	Verdict eval.Verdict                  // for its side to move
	After   map[amazons.Move]eval.Verdict // of the positions after its moves, for the other side; only what is known
	// for a won position a winning move, for a lost one a reply worth showing; nil: none is known
	Best *amazons.Move
	Line []amazons.Move // that play it out, Best first
}

// Look judges a position by certificates, that of a fact first, and plays it out with at most so
// many moves.
type Look func(near proof.ID, s amazons.State, most int) Proved

// explored is what the tree says of a position and its moves.
type explored struct {
	at       tree.Position
	moves    []tree.Move
	line     []amazons.Move
	end      amazons.State // after the line
	released bool          // nothing of this is known: the campaign's tree was put away
	// near is the certificate in which evidence for the end is likely; decided says that the end,
	// or a position before it, is.
	near    proof.ID
	decided bool
}

// Follow plays moves, as text, from a position, and returns the positions on the way, that one
// first. The error names the first one that is no legal move.
func Follow(p amazons.Position, moves []string) ([]amazons.Position, error) {
	way := append(make([]amazons.Position, 0, 1+len(moves)), p)
	for i, text := range moves {
		m, err := p.ParseMove(text)
		if err != nil {
			return nil, fmt.Errorf("move %d: %w", i+1, err)
		}
		p = p.After(m)
		way = append(way, p)
	}
	return way, nil
}

// Explore implements farmv1.ControlServer.
func (c *controlService) Explore(ctx context.Context, r *farmv1.ExploreRequest) (*farmv1.ExploreResponse, error) {
	h, err := c.master.Of(r.GetCampaign())
	if err != nil {
		return nil, err
	}
	way, err := Follow(h.Root(), r.GetMoves())
	if err != nil {
		return nil, status.Error(codes.InvalidArgument, err.Error())
	}
	return h.Explore(ctx, way)
}

// Explore explores the first campaign.
func (m *Master) Explore(ctx context.Context, way []amazons.Position) (*farmv1.ExploreResponse, error) {
	return (&Handle{m, m.first()}).Explore(ctx, way)
}

// Explore asks the loop about the last position of a way (each after a move from the one before,
// all of the campaign's board) and its moves. Below positions that are decided it goes on in their
// certificates. What it costs does not grow with the tree, but where the campaign is over and
// nobody has explored it for a while: then its tree is read from the store first.
func (h *Handle) Explore(ctx context.Context, way []amazons.Position) (*farmv1.ExploreResponse, error) {
	reply := make(chan explored, 1)
	e, err := await(ctx, h.m, exploreQuery{h.c, way, reply}, reply)
	if err == nil && e.released {
		e, err = h.m.exploreReleased(ctx, h.c, way)
	}
	if err != nil {
		return nil, err
	}
	return e.answer(way[len(way)-1], h.c.Look), nil
}

// explore looks at what the tree knows.
func explore(t *tree.Tree, way []amazons.Position) (e explored) {
	p := way[len(way)-1]
	s := p.State()
	e.at, e.moves = t.Explore(s)
	e.line = t.Line(s, lineMoves)
	for _, m := range e.line {
		s = s.After(m)
	}
	e.end = s
	if f, ok := t.Fact(s.CanonicalKey(p.Board)); ok {
		e.near, e.decided = f.Certificate, true
		return e
	}
	for _, before := range slices.Backward(way) {
		key := before.State().CanonicalKey(p.Board)
		if f, ok := t.Fact(key); ok {
			e.near, e.decided = f.Certificate, true
			return e
		}
		e.decided = e.decided || t.Decided(key)
	}
	return e
}

// ExploreTree is Master.Explore for a tree that no master has.
func ExploreTree(way []amazons.Position, t *tree.Tree, look Look) *farmv1.ExploreResponse {
	return explore(t, way).answer(way[len(way)-1], look)
}

// answer adds what certificates prove to what the tree says, and writes it as the contract has it.
func (e explored) answer(p amazons.Position, look Look) *farmv1.ExploreResponse {
	here := known(e.at)
	after := make(map[amazons.Move]*farmv1.Known, len(e.moves))
	for _, m := range e.moves {
		after[m.Move] = known(m.After)
	}
	if look != nil && e.decided {
		proved := look(e.near, e.end, lineMoves-len(e.line))
		if len(e.line) == 0 {
			believe(here, proved.Verdict)
			for m, o := range proved.After {
				believe(after[m], o)
			}
		}
		e.line = append(e.line, proved.Line...)
	}
	out := &farmv1.ExploreResponse{Position: p.String(), Known: here}
	for _, m := range e.moves {
		out.Moves = append(out.Moves, &farmv1.ExploredMove{Move: m.Move.String(), After: after[m.Move]})
	}
	rank := [...]int{farmv1.Verdict_VERDICT_LOST: 0, farmv1.Verdict_VERDICT_UNSPECIFIED: 1,
		farmv1.Verdict_VERDICT_WON: 2}
	slices.SortStableFunc(out.Moves, func(a, b *farmv1.ExploredMove) int {
		return cmp.Compare(rank[a.GetAfter().GetVerdict()], rank[b.GetAfter().GetVerdict()])
	})
	for _, m := range e.line {
		out.Line = append(out.Line, m.String())
	}
	return out
}

// believe gives a position that the tree does not know the verdict that a certificate proves.
func believe(k *farmv1.Known, o eval.Verdict) {
	if k.GetVerdict() != farmv1.Verdict_VERDICT_UNSPECIFIED || o == eval.Open {
		return
	}
	k.Verdict, k.Basis, k.Phi, k.Delta = farmv1.WriteVerdict(o), "certificate", 0, tree.Infinity
	if o == eval.Lost {
		k.Phi, k.Delta = tree.Infinity, 0
	}
}

func known(p tree.Position) *farmv1.Known {
	return &farmv1.Known{
		Verdict: farmv1.WriteVerdict(p.Verdict), Basis: p.Basis.String(), Phi: p.Phi, Delta: p.Delta, Nodes: p.Effort.Nodes,
		AtLeast: p.Effort.AtLeast,
		InTree:  p.InTree, Expanded: p.Expanded, Leased: p.Leased, SetAside: p.Aside,
	}
}
