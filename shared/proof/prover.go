package proof

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"math/bits"
	"slices"
	"sync/atomic"

	"amazonsfarm/shared/amazons"
	"amazonsfarm/shared/eval"
)

// prover is one goroutine of a Builder at work: its searcher and its stacks.
type prover struct {
	*Builder
	search Searcher
	last   struct { // what Best said last
		key  amazons.Key
		move amazons.Move
		ok   bool
	}

	fresh    [maxLayers][]Entry // entries since the last Take, by layer
	frames   [maxLayers + 2]frame
	expanded uint64 // positions

	ctx  context.Context
	fail string // the first reason why something was not as claimed, for the error's text
}

// errOtherDone stops a prover when another one has come to an end.
var errOtherDone = errors.New("another goroutine has finished")

// frame is what one depth of the recursion needs. Its slices are used again.
type frame struct {
	moves   []amazons.Move
	open    []successor
	closing [2]amazons.Move // that won last by leaf rule 4, the latest one first
}

// successor is a position after a move, canonical.
type successor struct {
	state amazons.State
	key   amazons.Key
	move  amazons.Move // in the orientation of the position before
	said  eval.Verdict // what Probe says; Lost where the counting lemma does
	tried bool         // could not be shown to be lost
	work  uint64

	symmetry amazons.Symmetry // from the position after move to state
}

// prove shows the claim about s, which is canonical and not decided. It returns false if the claim
// is false or cannot be shown; fail says why. An error says why the prover stopped.
func (p *prover) prove(ctx context.Context, s amazons.State, k amazons.Key, claim eval.Verdict) (bool, error) {
	p.ctx, p.fail = ctx, ""
	defer func() { p.ctx = nil }()
	if claim == eval.Won {
		return p.won(s, k, 0)
	}
	return p.lost(s, k, 0)
}

// addWon marks k as won by a move to a lost position, and adds the entry.
func (p *prover) addWon(k amazons.Key, m amazons.Move) (bool, error) {
	fresh, ok := p.marks.add(k, markWon, 0)
	if !ok {
		return false, p.full()
	}
	if fresh {
		layer := layerOf(k)
		p.fresh[layer] = append(p.fresh[layer], Entry{k, m})
	}
	return true, nil
}

// addLost marks k as lost: all replies are won.
func (p *prover) addLost(k amazons.Key) (bool, error) {
	if _, ok := p.marks.add(k, markLost, 0); !ok {
		return false, p.full()
	}
	return true, nil
}

// full is the error when there is no room for another position. What was proved until then stays.
func (p *prover) full() error {
	return fmt.Errorf("%w: it has %d positions", ErrFull, p.marks.n.Load())
}

// refute notes that k could not be shown to be as claimed, and the reason if k is the first such
// position. It returns false.
func (p *prover) refute(s amazons.State, k amazons.Key, mark uint8, why string) (bool, error) {
	if p.fail == "" {
		claim := "won"
		if mark == failedLost {
			claim = "lost"
		}
		p.fail = fmt.Sprintf("%s is not %s: %s", p.text(s), claim, why)
	}
	if _, ok := p.marks.add(k, mark, p.run); !ok {
		return false, p.full()
	}
	return false, nil
}

// enter counts an expansion. The error is that of ctx, looked at now and then, or errOtherDone.
func (p *prover) enter() error {
	p.expanded++
	if p.done.Load() {
		return errOtherDone
	}
	if p.expanded%256 == 1 {
		return p.ctx.Err()
	}
	return nil
}

// at returns the counter of the goroutines at work on k.
func (p *prover) at(k amazons.Key) *atomic.Int32 { return &p.busy[spread(k)%busySlots] }

// solve asks the search for what its table does not know. The verdict is Won or Lost, or there is an
// error.
func (p *prover) solve(s amazons.State) (eval.Verdict, error) {
	// This is the expensive case. Many of these mean that the table was too small.
	v, err := p.search.Solve(p.ctx, s)
	switch {
	case v == eval.Won || v == eval.Lost:
		return v, nil
	case err == nil:
		err = ErrUnsolved
	case !errors.Is(err, ErrUnsolved) && p.ctx.Err() == nil:
		err = fmt.Errorf("%w: %w", ErrUnsolved, err)
	}
	return eval.Open, fmt.Errorf("%s: %w", p.text(s), err)
}

// won shows that the side to move wins s, which is canonical and not decided: it looks for a move
// to a lost position. It tries the cheap ways first: the move that the search remembers, a move
// that the rules or earlier proofs decide, the moves that the search's table calls winning. Only
// then it searches.
func (p *prover) won(s amazons.State, k amazons.Key, depth int) (bool, error) {
	if err := p.enter(); err != nil {
		return false, err
	}
	if shown, err := p.wonByBest(s, k, depth); shown || err != nil {
		return shown, err
	}
	f := &p.frames[depth]
	if m, ok := p.wonAtOnce(f, s); ok {
		return p.addWon(k, m)
	}
	if shown, err := p.tryLost(f, k, depth); shown || err != nil {
		return shown, err
	}
	// The search's table has no lost successor, or none that holds: search again and look once more.
	v, err := p.solve(s)
	if err != nil {
		return false, err
	}
	if v == eval.Lost {
		return p.refute(s, k, failedWon, "the search says it is lost")
	}
	if shown, err := p.tryLost(f, k, depth); shown || err != nil {
		return shown, err
	}
	if shown, err := p.searchEach(f, k, depth); shown || err != nil {
		return shown, err
	}
	// Up to here the search was believed, and it has no move that holds.
	// The search contradicts itself: s is won and all successors are. One of these may have met a
	// wrong number in the table (two positions with one hash). Look below those whose replies do
	// not bear it out.
	for i := range f.open {
		c := &f.open[i]
		if c.tried || p.plausible(c.state, depth+1) {
			continue
		}
		if shown, err := p.tryMove(c, k, depth); shown || err != nil {
			return shown, err
		}
	}
	return p.refute(s, k, failedWon, "no move is shown to win")
}

// leaf returns what leaf rules 1 to 3 say of c, which is canonical. Where those that the proof may use
// leave it open, it is what the others say; sure is then false.
func (p *prover) leaf(c amazons.State) (v eval.Verdict, sure bool) {
	v = eval.Plain(p.board, c, max(p.o.Leaves, eval.SumLeaves))
	if v != eval.Open || p.o.Leaves <= eval.SumLeaves {
		return v, true
	}
	return eval.Plain(p.board, c, eval.SumLeaves), false
}

// wonAtOnce looks for a move of s to a position that the leaf rules or earlier proofs call lost. If
// there is none, f.open holds the successors that may still be lost.
func (p *prover) wonAtOnce(f *frame, s amazons.State) (amazons.Move, bool) {
	f.moves = s.Moves(f.moves[:0])
	f.open = f.open[:0]
	for _, m := range f.moves {
		c := s.After(m)
		if !c.CanMove() {
			return m, true
		}
		c, _ = c.Canonical(p.board)
		switch v, sure := p.leaf(c); {
		case v == eval.Won:
			continue
		case v == eval.Lost && sure:
			return m, true
		default:
			f.open = append(f.open, successor{state: c, move: m, said: v})
		}
	}
	n := 0
	for i := range f.open {
		c := &f.open[i]
		c.key = c.state.Key(p.board)
		v, failed := p.decided(c.key, eval.Open)
		if v == eval.Lost {
			return c.move, true
		}
		if v == eval.Open && failed&failedLost == 0 {
			f.open[n] = *c
			n++
		}
	}
	f.open = f.open[:n]
	return amazons.Move{}, false
}

// searchEach searches the open successors one by one, those with few replies first: the search's
// table has lost them again.
func (p *prover) searchEach(f *frame, k amazons.Key, depth int) (bool, error) {
	for i := range f.open {
		f.open[i].work = uint64(f.open[i].state.CountMoves())
	}
	slices.SortStableFunc(f.open, func(x, y successor) int {
		return cmp.Or(cmp.Compare(x.said, y.said), cmp.Compare(x.work, y.work)) // Open comes before Won
	})
	for i := range f.open {
		c := &f.open[i]
		if c.tried {
			continue
		}
		v, err := p.solve(c.state)
		if err != nil {
			return false, err
		}
		if v != eval.Lost {
			continue
		}
		if shown, err := p.tryMove(c, k, depth); shown || err != nil {
			return shown, err
		}
	}
	return false, nil
}

// wonByBest tries the move that the search remembers, which saves looking at all the others. It
// returns false where that move is no short cut: k may be won all the same.
func (p *prover) wonByBest(s amazons.State, k amazons.Key, depth int) (bool, error) {
	if p.o.Leaves == eval.MoveLeaves {
		return false, nil
	}
	// On most positions this is all: a look at one move in place of some hundred.
	m, ok := p.remembered(s, k)
	if !ok {
		return false, nil
	}
	c, _ := s.After(m).Canonical(p.board)
	key := c.Key(p.board)
	p.marks.prefetch(key)
	v, failed := p.decided(key, eval.Plain(p.board, c, max(p.o.Leaves, eval.SumLeaves)))
	if v == eval.Lost {
		return p.addWon(k, m)
	}
	if v == eval.Won || failed&failedLost != 0 {
		return false, nil
	}
	if shown, err := p.lost(c, key, depth+1); !shown || err != nil {
		return false, err
	}
	return p.addWon(k, m)
}

// tryMove shows that k is won by the move to its successor c, if c can be shown to be lost.
func (p *prover) tryMove(c *successor, k amazons.Key, depth int) (bool, error) {
	c.tried = true
	if shown, err := p.lost(c.state, c.key, depth+1); !shown || err != nil {
		return false, err
	}
	return p.addWon(k, c.move)
}

// plausible reports whether some successor of s seems to be lost, so that s seems to be won.
func (p *prover) plausible(s amazons.State, depth int) bool {
	f := &p.frames[depth]
	f.moves = s.Moves(f.moves[:0])
	for _, m := range f.moves {
		c, _ := s.After(m).Canonical(p.board)
		v, _ := p.leaf(c)
		if v == eval.Open {
			v, _ = p.decided(c.Key(p.board), v)
		}
		if v == eval.Open {
			v, _ = p.search.Probe(c)
		}
		if v == eval.Lost {
			return true
		}
	}
	return false
}

// tryLost asks the search's table about the open successors and tries to prove those that it calls
// lost, the cheapest first. It returns false if none of them holds.
func (p *prover) tryLost(f *frame, k amazons.Key, depth int) (bool, error) {
	for i := range f.open {
		switch c := &f.open[i]; {
		case c.tried:
		case eval.Plain(p.board, c.state, eval.SumLeaves) == eval.Lost: // and the proof may not use that rule
			c.said, c.work = eval.Lost, uint64(c.state.CountMoves())
		default:
			c.said, c.work = p.search.Probe(c.state)
		}
	}
	slices.SortStableFunc(f.open, func(x, y successor) int {
		return cmp.Or(cmp.Compare(y.said, x.said), cmp.Compare(x.work, y.work)) // Lost comes first
	})
	for i := range f.open {
		c := &f.open[i]
		if c.said != eval.Lost {
			break
		}
		if c.tried {
			continue
		}
		if shown, err := p.tryMove(c, k, depth); shown || err != nil {
			return shown, err
		}
	}
	return false, nil
}

// lost shows that the side to move loses s, which is canonical and was not decided a moment ago:
// all successors are won.
func (p *prover) lost(s amazons.State, k amazons.Key, depth int) (bool, error) {
	switch v, failed := p.decided(k, eval.Open); {
	case v == eval.Lost:
		return true, nil
	case v == eval.Won:
		return p.refute(s, k, failedLost, "it is won")
	case failed&failedLost != 0:
		return false, nil
	}
	if err := p.enter(); err != nil {
		return false, err
	}
	f := &p.frames[depth]
	if why := p.openReplies(f, s); why != "" {
		return p.refute(s, k, failedLost, why)
	}
	// All replies have to be won, in any order. The order matters for the work alone: a reply that
	// another goroutine is at work on may be proved by the time that this one comes back to it.
	// First the replies that no other goroutine is at work on, then the others.
	shared := p.busy != nil && bits.OnesCount64(s.Empty) > aloneEmpties
	for pass := 0; pass < 2 && len(f.open) > 0; pass++ {
		left := f.open[:0]
		for _, c := range f.open {
			// An image of it, or it itself below another, may have been looked at since.
			v, failed := p.decided(c.key, eval.Open)
			if v == eval.Won {
				continue
			}
			shown := false
			if v == eval.Open && failed&failedWon == 0 {
				if shared && pass == 0 && p.at(c.key).Load() > 0 {
					left = append(left, c)
					continue
				}
				if p.o.Leaves == eval.ClosingLeaves && p.closing(f, s.After(c.move), &c) {
					continue
				}
				if v, _ := p.leaf(c.state); v == eval.Lost {
					return p.refute(s, k, failedLost, c.move.String()+" wins")
				}
				won := p.won
				if shared {
					won = p.wonInSight
				}
				var err error
				if shown, err = won(c.state, c.key, depth+1); err != nil {
					return false, err
				}
			}
			if !shown {
				return p.refute(s, k, failedLost, "a move leads to a position that is not won")
			}
		}
		f.open = left
	}
	return p.addLost(k)
}

// openReplies puts into f.open the positions after moves of s that are not known to be won. It
// returns the reason if one of them was found not to be won before, or ends the game.
func (p *prover) openReplies(f *frame, s amazons.State) (why string) {
	f.moves = s.Moves(f.moves[:0])
	f.open = f.open[:0]
	for _, m := range f.moves {
		c := s.After(m)
		if !c.CanMove() {
			return "a move ends the game"
		}
		c, symmetry := c.Canonical(p.board)
		if !eval.Wins(c, max(p.o.Leaves, eval.SumLeaves)) {
			f.open = append(f.open, successor{state: c, key: c.Key(p.board), move: m, symmetry: symmetry})
			p.marks.prefetch(f.open[len(f.open)-1].key)
		}
	}
	n := 0
	for i := range f.open {
		c := &f.open[i]
		switch v, failed := p.decided(c.key, eval.Open); {
		case v == eval.Won:
			continue
		case v == eval.Lost || failed&failedWon != 0:
			return c.move.String() + " leads to a position that is not won"
		}
		if n < i {
			f.open[n] = *c
		}
		n++
		p.search.Prefetch(c.state)
	}
	f.open = f.open[:n]
	return ""
}

// closing reports whether c, the position r after a move of that of f, is won by leaf rule 4, as far
// as that is seen at once. What won against one move mostly wins against others as well.
func (p *prover) closing(f *frame, r amazons.State, c *successor) bool {
	for i, m := range f.closing {
		if eval.Closes(p.board, r, m) {
			f.closing[0], f.closing[i] = m, f.closing[0]
			return true
		}
	}
	m, ok := p.remembered(c.state, c.key)
	if ok && eval.Closes(p.board, c.state, m) {
		f.closing = [...]amazons.Move{p.board.ApplyMove(c.symmetry.Inverse(), m), f.closing[0]}
		return true
	}
	if _, work := p.search.Probe(c.state); work > closingWork {
		return false
	}
	m, ok = eval.ClosingMove(p.board, r)
	if ok {
		f.closing = [...]amazons.Move{m, f.closing[0]}
	}
	return ok
}

// closingWork is the largest number of nodes of its search with which all moves of a position are looked at
// for leaf rule 4. More work seldom ends in one closing move: on 6x4, a look at all positions would leave 0.7 %
// fewer entries.
const closingWork = 2

// remembered returns the move with which the search won s, if it remembers one.
func (p *prover) remembered(s amazons.State, k amazons.Key) (amazons.Move, bool) {
	if p.last.key != k {
		p.last.key = k
		p.last.move, p.last.ok = p.search.Best(s)
	}
	return p.last.move, p.last.ok
}

// aloneEmpties is the number of empty squares up to which the replies to a position are too little
// work for others to keep off them.
const aloneEmpties = 10

// wonInSight is won, while the other goroutines see that one is at work on s.
func (p *prover) wonInSight(s amazons.State, k amazons.Key, depth int) (bool, error) {
	at := p.at(k)
	at.Add(1)
	defer at.Add(-1)
	return p.won(s, k, depth)
}
