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
	best   interface {
		Best(s amazons.State) (amazons.Move, bool)
	} // search, if it remembers winning moves

	fresh  [maxLayers][]Entry // entries since the last Take, by layer
	frames [maxLayers + 2]frame
	stats  BuilderStats

	ctx  context.Context
	stop error  // why the proof stopped, if it did
	fail string // the first reason why something was not as claimed, for the error's text
}

// errOtherDone stops a prover when another one has come to an end.
var errOtherDone = errors.New("another goroutine has finished")

// frame is what one depth of the recursion needs. Its slices are used again.
type frame struct {
	moves []amazons.Move
	open  []successor
}

// successor is a position after a move, canonical.
type successor struct {
	state amazons.State
	key   amazons.Key
	move  amazons.Move // in the orientation of the position before
	said  eval.Verdict // what Probe says; Lost where the counting lemma does
	tried bool         // could not be shown to be lost
	work  uint64
}

// outcome is how the proof of one position ended.
type outcome uint8

const (
	proved  outcome = iota
	refuted         // it is not so, or cannot be shown
	stopped         // Builder.stop says why
)

// prove shows the claim about s, which is canonical and not decided.
func (p *prover) prove(ctx context.Context, s amazons.State, k amazons.Key, claim eval.Verdict) outcome {
	p.ctx, p.stop, p.fail = ctx, nil, ""
	defer func() { p.ctx = nil }()
	if claim == eval.Won {
		return p.won(s, k, 0)
	}
	return p.lost(s, k, 0)
}

func (p *prover) addWon(k amazons.Key, m amazons.Move) outcome {
	fresh, ok := p.marks.add(k, markWon, 0)
	if !ok {
		return p.full()
	}
	if fresh {
		layer := layerOf(k)
		p.fresh[layer] = append(p.fresh[layer], Entry{k, m})
		p.stats.Entries++
		p.stats.Pending++
	}
	return proved
}

func (p *prover) addLost(k amazons.Key) outcome {
	fresh, ok := p.marks.add(k, markLost, 0)
	if !ok {
		return p.full()
	}
	if fresh {
		p.stats.Lost++
	}
	return proved
}

func (p *prover) full() outcome {
	p.stop = fmt.Errorf("%w: it has %d positions", ErrFull, p.marks.n.Load())
	return stopped
}

// refute notes that k could not be shown to be as claimed, and why if it is the first such position.
func (p *prover) refute(s amazons.State, k amazons.Key, mark uint8, why string) outcome {
	if p.fail == "" {
		claim := "won"
		if mark == failedLost {
			claim = "lost"
		}
		p.fail = fmt.Sprintf("%s is not %s: %s", p.text(s), claim, why)
	}
	if _, ok := p.marks.add(k, mark, p.run); !ok {
		return p.full()
	}
	return refuted
}

// enter counts an expansion, and looks at ctx now and then and at whether another prover is done.
func (p *prover) enter() bool {
	p.stats.Positions++
	if p.stats.Positions%256 == 1 {
		p.stop = p.ctx.Err()
	}
	if p.done.Load() {
		p.stop = errOtherDone
	}
	return p.stop == nil
}

// at returns the counter of the goroutines at work on k.
func (p *prover) at(k amazons.Key) *atomic.Int32 { return &p.busy[spread(k)%busySlots] }

// solve asks the search for what its table does not know.
func (p *prover) solve(s amazons.State) (eval.Verdict, bool) {
	p.stats.Researches++
	counter, counts := p.search.(interface{ Nodes() uint64 })
	before := uint64(0)
	if counts {
		before = counter.Nodes()
	}
	v, err := p.search.Solve(p.ctx, s)
	if counts {
		p.stats.Nodes += counter.Nodes() - before
	}
	switch {
	case v == eval.Won || v == eval.Lost:
		return v, true
	case err == nil:
		err = ErrUnsolved
	case !errors.Is(err, ErrUnsolved) && p.ctx.Err() == nil:
		err = fmt.Errorf("%w: %w", ErrUnsolved, err)
	}
	p.stop = fmt.Errorf("%s: %w", p.text(s), err)
	return eval.Open, false
}

// won shows that the side to move wins s, which is canonical and not decided: it looks for a move
// to a lost position.
func (p *prover) won(s amazons.State, k amazons.Key, depth int) outcome {
	if !p.enter() {
		return stopped
	}
	if r := p.wonByBest(s, k, depth); r != refuted {
		return r
	}
	f := &p.frames[depth]
	f.moves = s.Moves(f.moves[:0])
	f.open = f.open[:0]
	for _, m := range f.moves {
		c := s.After(m)
		if !c.CanMove() {
			return p.addWon(k, m)
		}
		c, _ = c.Canonical(p.board)
		switch v := eval.Plain(c); {
		case v == eval.Won:
			continue
		case v == eval.Lost && !p.o.RulesOnly:
			return p.addWon(k, m)
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
			return p.addWon(k, c.move)
		}
		if v == eval.Open && failed&failedLost == 0 {
			f.open[n] = *c
			n++
		}
	}
	f.open = f.open[:n]

	if r := p.tryLost(f, k, depth); r != refuted {
		return r
	}
	// The search's table has no lost successor, or none that holds: search again and look once more.
	v, ok := p.solve(s)
	if !ok {
		return stopped
	}
	if v == eval.Lost {
		return p.refute(s, k, failedWon, "the search says it is lost")
	}
	if r := p.tryLost(f, k, depth); r != refuted {
		return r
	}

	// The table lost the successors again: search them one by one, those with few replies first.
	for i := range f.open {
		f.open[i].work = uint64(f.open[i].state.CountMoves())
	}
	slices.SortStableFunc(f.open, func(x, y successor) int {
		if c := cmp.Compare(x.said, y.said); c != 0 { // Open comes before Won
			return c
		}
		return cmp.Compare(x.work, y.work)
	})
	for i := range f.open {
		c := &f.open[i]
		if c.tried {
			continue
		}
		v, ok := p.solve(c.state)
		if !ok {
			return stopped
		}
		if v != eval.Lost {
			continue
		}
		if r := p.tryMove(c, k, depth); r != refuted {
			return r
		}
	}

	// The search contradicts itself: s is won and all successors are. One of these may have met a
	// wrong number in the table (two positions with one hash). Look below those whose replies do
	// not bear it out.
	for i := range f.open {
		c := &f.open[i]
		if c.tried || p.plausible(c.state, depth+1) {
			continue
		}
		if r := p.tryMove(c, k, depth); r != refuted {
			return r
		}
	}
	return p.refute(s, k, failedWon, "no move is shown to win")
}

// wonByBest tries the move that the search remembers, which saves looking at all the others. refuted
// means nothing but that this was no short cut.
func (p *prover) wonByBest(s amazons.State, k amazons.Key, depth int) outcome {
	if p.best == nil || p.o.RulesOnly {
		return refuted
	}
	m, ok := p.best.Best(s)
	if !ok {
		return refuted
	}
	c, _ := s.After(m).Canonical(p.board)
	key := c.Key(p.board)
	v, failed := p.decided(key, eval.Plain(c))
	if v == eval.Lost {
		return p.addWon(k, m)
	}
	if v == eval.Won || failed&failedLost != 0 {
		return refuted
	}
	if r := p.lost(c, key, depth+1); r != proved {
		return r
	}
	return p.addWon(k, m)
}

// tryMove shows that k is won by the move to its successor c, if c can be shown to be lost. refuted
// means that it cannot.
func (p *prover) tryMove(c *successor, k amazons.Key, depth int) outcome {
	c.tried = true
	if r := p.lost(c.state, c.key, depth+1); r != proved {
		return r
	}
	return p.addWon(k, c.move)
}

// plausible reports whether some successor of s seems to be lost, so that s seems to be won.
func (p *prover) plausible(s amazons.State, depth int) bool {
	f := &p.frames[depth]
	f.moves = s.Moves(f.moves[:0])
	for _, m := range f.moves {
		c, _ := s.After(m).Canonical(p.board)
		v := eval.Plain(c)
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
// lost, the cheapest first. refuted means that none is left.
func (p *prover) tryLost(f *frame, k amazons.Key, depth int) outcome {
	for i := range f.open {
		switch c := &f.open[i]; {
		case c.tried:
		case eval.Plain(c.state) == eval.Lost: // and leaf rule 1 alone may be used
			c.said, c.work = eval.Lost, uint64(c.state.CountMoves())
		default:
			c.said, c.work = p.search.Probe(c.state)
		}
	}
	slices.SortStableFunc(f.open, func(x, y successor) int {
		if x.said != y.said {
			return cmp.Compare(y.said, x.said) // Lost comes first
		}
		return cmp.Compare(x.work, y.work)
	})
	for i := range f.open {
		c := &f.open[i]
		if c.said != eval.Lost {
			break
		}
		if c.tried {
			continue
		}
		if r := p.tryMove(c, k, depth); r != refuted {
			return r
		}
	}
	return refuted
}

// lost shows that the side to move loses s, which is canonical and was not decided a moment ago:
// all successors are won.
func (p *prover) lost(s amazons.State, k amazons.Key, depth int) outcome {
	switch v, failed := p.decided(k, eval.Open); {
	case v == eval.Lost:
		return proved
	case v == eval.Won:
		return p.refute(s, k, failedLost, "it is won")
	case failed&failedLost != 0:
		return refuted
	}
	if !p.enter() {
		return stopped
	}
	f := &p.frames[depth]
	f.moves = s.Moves(f.moves[:0])
	f.open = f.open[:0]
	for _, m := range f.moves {
		c := s.After(m)
		if !c.CanMove() {
			return p.refute(s, k, failedLost, "a move ends the game")
		}
		c, _ = c.Canonical(p.board)
		v := eval.Plain(c)
		if v == eval.Won && p.o.RulesOnly {
			v = eval.Open
		}
		switch v {
		case eval.Open:
			f.open = append(f.open, successor{state: c, key: c.Key(p.board), move: m})
		case eval.Lost:
			return p.refute(s, k, failedLost, m.String()+" wins")
		}
	}
	// They are looked up one right after the other, so that the machine waits for several at once.
	n := 0
	for i := range f.open {
		c := &f.open[i]
		switch v, failed := p.decided(c.key, eval.Open); {
		case v == eval.Won:
			continue
		case v == eval.Lost || failed&failedWon != 0:
			return p.refute(s, k, failedLost, c.move.String()+" leads to a position that is not won")
		}
		if n < i {
			f.open[n] = *c
		}
		n++
	}
	f.open = f.open[:n]
	// First those that no other goroutine is at work on, then the others.
	shared := p.busy != nil && bits.OnesCount64(s.Empty) > aloneEmpties
	for pass := 0; pass < 2 && len(f.open) > 0; pass++ {
		left := f.open[:0]
		for _, c := range f.open {
			// An image of it, or it itself below another, may have been looked at since.
			switch v, failed := p.decided(c.key, eval.Open); {
			case v == eval.Won:
				continue
			case v == eval.Lost || failed&failedWon != 0:
				return p.refute(s, k, failedLost, "a move leads to a position that is not won")
			}
			if shared && pass == 0 && p.at(c.key).Load() > 0 {
				left = append(left, c)
				continue
			}
			take := p.won
			if shared {
				take = p.takeOn
			}
			switch take(c.state, c.key, depth+1) {
			case refuted:
				return p.refute(s, k, failedLost, "a move leads to a position that is not won")
			case stopped:
				return stopped
			}
		}
		f.open = left
	}
	return p.addLost(k)
}

// aloneEmpties is the number of empty squares up to which the replies to a position are too little
// work for others to keep off them.
const aloneEmpties = 10

// takeOn shows that the side to move wins s, as won does. The others see that somebody is at work
// on it.
func (p *prover) takeOn(s amazons.State, k amazons.Key, depth int) outcome {
	at := p.at(k)
	at.Add(1)
	defer at.Add(-1)
	return p.won(s, k, depth)
}
