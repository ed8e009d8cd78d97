// Package dfpn is the depth-first proof-number search: who wins for the side to move, and how hard it looks while that is not known.
//
// Every position has two numbers for its side to move: phi, about how much work it would be to
// prove a win, and delta, about how much to prove a loss (Nagai 2002). The
// search always goes where proving is cheapest, depth first, and keeps what
// it learned in a [Table] of fixed size. Amazons has no cycles, since every move burns a square, so
// the numbers of a position do not depend on how it was reached.
package dfpn

import (
	"context"
	"errors"
	"fmt"
	"sync/atomic"

	"amazonsfarm/shared/amazons"
	"amazonsfarm/shared/eval"
)

const (
	// Infinity is the number of what cannot be: phi of a lost position, delta of a won one.
	Infinity = 1<<24 - 1
	// largestUnsolved is the largest number of a position that is not solved: sums are
	// clamped to it, or arithmetic would disprove a position.
	largestUnsolved = Infinity - 1
)

// ErrOptions is wrapped by errors about a Searcher's options.
var ErrOptions = errors.New("search options")

// Options are the settings of a Searcher.
type Options struct {
	Board amazons.Board
	Table *Table // shared by all searches; required

	// OnSolved, if given, is called for every position that gets solved with at
	// least MinSolvedNodes nodes of work behind it, from any search thread, before its parent goes on.
	OnSolved       func(s amazons.State, v eval.Verdict, nodes uint64)
	MinSolvedNodes uint64

	// Threads is the number of threads of a search; 0 means 1. With one thread the same search in a cleared table always takes the same nodes.
	Threads int
}

// Searcher runs searches, one at a time, over one table that stays warm between them.
type Searcher struct {
	o       Options
	stop    atomic.Bool
	threads []*thread
}

// New returns a searcher. Errors wrap ErrOptions.
func New(o Options) (*Searcher, error) {
	if !o.Board.Valid() || o.Table == nil || o.Threads < 0 {
		return nil, fmt.Errorf("%w: a board, a table and a number of threads are needed", ErrOptions)
	}
	if o.Threads == 0 {
		o.Threads = 1
	}
	s := &Searcher{o: o}
	for range o.Threads {
		s.threads = append(s.threads, &thread{s: s, b: o.Board, table: o.Table, stack: make([]child, 0, 1<<14)})
	}
	return s, nil
}

// Limit ends a search before it has an answer.
type Limit struct {
	Nodes uint64 // positions expanded; 0: no limit
}

// Result is what a search found out.
type Result struct {
	Verdict     eval.Verdict // for the side to move; Open: stopped by the limit or the context
	Phi, Delta  uint32
	Nodes       uint64 // positions expanded by this search
	Evaluations uint64 // positions evaluated by this search
}

func verdictOf(n numbers) eval.Verdict {
	switch {
	case n.phi == 0:
		return eval.Won
	case n.delta == 0:
		return eval.Lost
	}
	return eval.Open
}

// Search searches st until it is solved, the limit is reached or ctx ends.
func (s *Searcher) Search(ctx context.Context, st amazons.State, limit Limit) Result {
	s.stop.Store(false)
	release := context.AfterFunc(ctx, func() { s.stop.Store(true) })
	defer release()
	t := s.threads[0]
	t.nodes, t.evaluations, t.limit = 0, 0, limit.Nodes
	if limit.Nodes == 0 {
		t.limit = 1<<64 - 1
	}
	hash := st.Hash(s.o.Board)
	n := t.look(st, hash)
	for !n.solved() && !t.stopped() {
		_, _, work := unpack(t.table.get(hash))
		n = t.search(st, hash, numbers{Infinity, Infinity}, work)
	}
	return Result{verdictOf(n), n.phi, n.delta, t.nodes, t.evaluations}
}

func (s *Searcher) report(st amazons.State, n numbers, work uint64) {
	if s.o.OnSolved != nil && work >= s.o.MinSolvedNodes {
		s.o.OnSolved(st, verdictOf(n), work)
	}
}
