package main

import (
	"context"
	"encoding/binary"
	"fmt"
	"math/bits"
	"math/rand/v2"

	"amazonsfarm/shared/amazons"
	"amazonsfarm/shared/eval"
	"amazonsfarm/shared/proof"
	"amazonsfarm/shared/testkit/reference"
	"amazonsfarm/worker/engine"
)

// parts makes evidence, true and false.
type parts struct {
	board  amazons.Board
	root   amazons.Position
	engine *engine.Engine
}

func newParts(board amazons.Board) (*parts, error) {
	root, err := amazons.Start(board)
	if err != nil {
		return nil, err
	}
	e, err := engine.New(engine.Config{Board: board, TableBytes: 16 << 20, Cores: 1, MinFactNodes: 1})
	return &parts{board: board, root: root, engine: e}, err
}

// below returns a position some random moves after the root.
func (p *parts) below(r *rand.Rand, moves int) amazons.State {
	root := p.root.State()
	for left := bits.OnesCount64(root.Empty) - moves; ; { // each move burns a square
		s := reference.Played(r, root, left)
		if bits.OnesCount64(s.Empty) == left && s.CanMove() {
			c, _ := s.Canonical(p.board)
			return c
		}
	}
}

// honest proves a position deep below the root. Nobody has asked for it.
func (p *parts) honest(ctx context.Context, r *rand.Rand) (engine.Part, error) {
	for {
		s := p.below(r, p.board.Squares()/4+r.IntN(4))
		out, err := p.engine.Run(ctx, engine.Job{State: s, Budget: 2000}, nil)
		if err != nil || ctx.Err() != nil {
			return engine.Part{}, fmt.Errorf("search a position: %v, %v", err, ctx.Err())
		}
		if out.Verdict == eval.Open {
			continue
		}
		p.engine.Forget(false)
		made, err := p.engine.Prove(ctx, []proof.Fact{{Key: s.CanonicalKey(p.board), Verdict: out.Verdict,
			Nodes: 5000}}, nil)
		if err != nil {
			return engine.Part{}, err
		}
		if len(made) > 0 {
			return made[0], nil
		}
	}
}

// claim makes a part that claims a position without any reason: one entry with the first move, or none.
func (p *parts) claim(s amazons.State, v eval.Verdict, cited ...proof.Citation) ([]byte, proof.Fact, error) {
	canonical, symmetry := s.Canonical(p.board)
	set := new(proof.Set)
	if v == eval.Won {
		set.Add(proof.Entry{Key: canonical.Key(p.board), Move: p.board.ApplyMove(symmetry, s.Moves(nil)[0])})
	}
	return p.encode(canonical, v, set, cited...)
}

// encode makes a part that claims a canonical position, and the fact that names it.
func (p *parts) encode(root amazons.State, v eval.Verdict, set *proof.Set, cited ...proof.Citation) ([]byte,
	proof.Fact, error) {
	data, err := proof.Encode(proof.Certificate{Board: p.board, Leaves: eval.LeavesOf(false),
		Roots: []proof.Root{{State: root, ToMove: p.root.ToMove, Claim: v}}, Set: set, Cited: cited})
	return data, proof.Fact{Key: root.Key(p.board), Verdict: v, Nodes: 1_000_000, Certificate: proof.IDOf(data)}, err
}

// wellFormed makes a part with so many entries that are legal, in order, and prove nothing.
func (p *parts) wellFormed(ctx context.Context, r *rand.Rand, entries int) ([]byte, proof.Fact, error) {
	set := new(proof.Set)
	deep := p.board.Squares() / 2
	for set.Len() < entries && ctx.Err() == nil {
		s := p.below(r, deep-r.IntN(2))
		var moves []amazons.Move
		for range 3 { // neighbours are cheap
			if moves = s.Moves(moves[:0]); len(moves) == 0 {
				break
			}
			for _, m := range moves {
				next, _ := s.After(m).Canonical(p.board)
				if replies := next.Moves(nil); len(replies) > 0 {
					set.Add(proof.Entry{Key: next.Key(p.board), Move: replies[0]})
				}
			}
			s = s.After(moves[r.IntN(len(moves))])
		}
	}
	root, _ := p.root.State().Canonical(p.board)
	return p.encode(root, eval.Won, set)
}

// citing makes a part of nothing but citations of positions that nobody has proved.
func (p *parts) citing(r *rand.Rand, most int) ([]byte, proof.Fact, error) {
	met := map[amazons.Key]bool{}
	var cited []proof.Citation
	for len(cited) < most {
		k := p.below(r, 2+r.IntN(p.board.Squares()/3)).CanonicalKey(p.board)
		if !met[k] {
			met[k] = true
			cited = append(cited, proof.Citation{Key: k, Claim: [...]eval.Verdict{eval.Won, eval.Lost}[r.IntN(2)]})
		}
	}
	return p.claim(p.root.State(), eval.Won, cited...)
}

// altered changes one byte of a part, and makes its checksums agree with it or not.
func altered(r *rand.Rand, data []byte) []byte {
	out := append([]byte(nil), data...)
	out[r.IntN(len(out))] ^= 1 << r.IntN(8)
	if r.IntN(2) == 0 {
		binary.LittleEndian.PutUint64(out[16:], r.Uint64())
	}
	return out
}
