// Package explore tells what is known of a position: by a tree, and below decided positions by the parts
// that prove them.
//
// A question goes through two stages, because they belong to two owners:
//
//	Tree(t, way)       in the loop, which owns the tree; costs microseconds
//	Proving(look)      outside the loop; reads parts, for some tens of milliseconds
//
// The first stage finds out what the tree knows, follows the best line as far as the tree goes, and
// notes in which certificate evidence for the end of that line is likely. The second stage goes on
// from there with evidence. Nothing is looked up where no position on the way is decided: there
// cannot be evidence.
package explore

import (
	"fmt"
	"slices"

	"amazonsfarm/master/tree"
	"amazonsfarm/master/tree/graph"
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

// Look judges a position by certificates, that of a fact first, and plays it out with at most so many
// moves.
type Look func(near proof.ID, s amazons.State, most int) Proved

// Explored is what is known of a position and its moves.
type Explored struct {
	At    graph.Position
	Moves []graph.Move
	Line  []amazons.Move // best play from here, as far as it is known
	// Proved is what certificates prove where the tree knows no more; nil: nothing was looked up.
	Proved *Proved

	end amazons.State // after the line
	// near is the certificate in which evidence for the end is likely; decided says that the end, or a
	// position before it, is.
	near    proof.ID
	decided bool
}

// Follow plays moves, as text, from a position, and returns the positions on the way, that one first,
// and the last move, nil if there is none. The error names the first one that is no legal move.
func Follow(p amazons.Position, moves []string) (way []amazons.Position, last *amazons.Move, err error) {
	way = append(make([]amazons.Position, 0, 1+len(moves)), p)
	for i, text := range moves {
		m, err := p.ParseMove(text)
		if err != nil {
			return nil, nil, fmt.Errorf("move %d: %w", i+1, err)
		}
		p, last = p.After(m), &m
		way = append(way, p)
	}
	return way, last, nil
}

// Tree tells what a tree knows of the last position of a way (each after a move from the one before, all
// of the tree's board) and its moves.
func Tree(t *tree.Tree, way []amazons.Position) (e Explored) {
	p := way[len(way)-1]
	s := p.State()
	e.At, e.Moves = t.Explore(s)
	e.Line = t.Line(s, lineMoves)
	for _, m := range e.Line {
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

// Proving adds what certificates prove to what the tree says; look may be nil.
func (e Explored) Proving(look Look) Explored {
	if look == nil || !e.decided {
		return e
	}
	proved := look(e.near, e.end, lineMoves-len(e.Line))
	if len(e.Line) == 0 {
		e.Proved = &proved
	}
	e.Line = append(e.Line, proved.Line...)
	return e
}
