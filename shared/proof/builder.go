package proof

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"

	"amazonsfarm/shared/amazons"
	"amazonsfarm/shared/eval"
)

// Searcher is a search that a [Builder] takes proofs from. States that it is given are canonical.
//
// Nothing depends on the truth of what it says but time and success: a builder takes an entry only when all of its
// evidence is there, down to the leaf rules.
//
// A searcher that also has a method Nodes() uint64, the nodes it has expanded so far, lets [BuilderStats] count those of
// the searches made here. One that also has a method Best(amazons.State) (amazons.Move, bool), the legal move with which
// it won a position if it remembers, saves the builder from looking at all the others.
type Searcher interface {
	// Probe tells what the search's table knows: the verdict for the side to move and the work (nodes) behind it.
	Probe(s amazons.State) (eval.Verdict, uint64)
	// Solve searches until the position is solved, or ctx ends or its budget is spent: then it returns an error, or Open.
	Solve(ctx context.Context, s amazons.State) (eval.Verdict, error)
}

// BuilderOptions are the settings of a [Builder]. The zero value is good.
type BuilderOptions struct {
	// RulesOnly makes proofs that do without leaf rule 2. They are much longer.
	RulesOnly bool
	// Known tells of positions (by canonical key) whose evidence lies elsewhere, in other fragments of the same proof.
	// They are not expanded. nil stands for none.
	Known func(amazons.Key) eval.Verdict
	// MaxEntries is the largest number of positions that the builder remembers, won and lost ones, about 40 bytes
	// each; Prove fails with ErrFull beyond it. 0 stands for no limit.
	MaxEntries int
}

// BuilderStats counts what a [Builder] has done.
type BuilderStats struct {
	Entries    int    // won positions proved, those taken included
	Pending    int    // of those, not taken yet
	Lost       int    // lost positions proved
	Positions  uint64 // positions expanded
	Researches uint64 // searches for what the search's table had lost
	Nodes      uint64 // nodes of these searches, as far as the searcher tells
}

// Builder extracts proofs from a search. It is used by one goroutine at a time.
//
// Evidence is collected from the leaves up: a position is marked as won when a move of it leads to a lost one, and that is
// marked as lost when all replies are won, each by a mark, a leaf rule or a known fact. So every entry is good for itself, with
// the entries made before it and the known facts. What is on the way when a proof fails has no mark yet.
type Builder struct {
	board  amazons.Board
	search Searcher
	best   interface {
		Best(s amazons.State) (amazons.Move, bool)
	} // search, if it remembers winning moves
	o BuilderOptions

	marks  table         // what has been proved, by canonical key
	fresh  []amazons.Key // entries since the last Take
	frames [maxLayers + 2]frame
	run    uint32 // number of the call of Prove: marks of failures hold for one call
	stats  BuilderStats

	ctx  context.Context
	stop error  // why the proof stopped, if it did
	fail string // the first reason why something was not as claimed, for the error's text
}

// Marks of positions. Failures may be owed to a search that erred or forgot, so they count in one call of Prove only.
const (
	markWon    = 1 << iota // won: an entry
	markLost               // lost: all replies are won
	failedWon              // not shown to be won in the call with the slot's stamp
	failedLost             // not shown to be lost in that call
)

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

// NewBuilder returns a builder for positions of one board.
func NewBuilder(b amazons.Board, search Searcher, o BuilderOptions) *Builder {
	builder := &Builder{board: b, search: search, o: o}
	builder.best, _ = search.(interface {
		Best(s amazons.State) (amazons.Move, bool)
	})
	return builder
}

// Prove adds all entries that the claim (Won or Lost, for the side to move) about s needs. It needs none where a leaf rule
// decides or the fact is known. Errors wrap ErrNotProved if the claim is false or the search contradicts itself, and name the
// position; ErrUnsolved if the search left a position open; ErrFull; or are the searcher's or ctx's. After an error the
// builder is good for further use: entries that were complete stay, and the same claim may be tried again.
func (b *Builder) Prove(ctx context.Context, s amazons.State, claim eval.Verdict) error {
	s, _ = s.Canonical(b.board)
	b.ctx, b.stop, b.fail = ctx, nil, ""
	defer func() { b.ctx = nil }()
	b.run++
	if b.run == 0 { // the number came round: forget marks of long ago
		for i := range b.marks.slots {
			b.marks.slots[i].mark &= markWon | markLost
		}
		b.run = 1
	}
	if claim != eval.Won && claim != eval.Lost {
		return fmt.Errorf("prove %s %v: %w: the claim must be won or lost", b.text(s), claim, ErrNotProved)
	}
	k := s.Key(b.board)
	got, _ := b.decided(k, leaf(b.board, s, b.o.RulesOnly))
	result := proved
	switch {
	case got == claim.Other():
		result = refuted
		b.fail = "it is " + got.String()
	case got == claim:
	case claim == eval.Won:
		result = b.won(s, k, 0)
	default:
		result = b.lost(s, k, 0)
	}
	switch result {
	case refuted:
		return fmt.Errorf("prove %s %v: %w: %s", b.text(s), claim, ErrNotProved, b.fail)
	case stopped:
		return fmt.Errorf("prove %s %v: %w", b.text(s), claim, b.stop)
	}
	return nil
}

// Take returns the entries added since the last Take. The builder goes on counting them as proved.
func (b *Builder) Take() *Set {
	set := new(Set)
	for _, k := range b.fresh {
		set.Add(Entry{k, b.marks.find(k).move})
	}
	b.fresh = nil
	b.stats.Pending = 0
	return set
}

// Stats returns what the builder has done so far.
func (b *Builder) Stats() BuilderStats { return b.stats }

// text names a position for an error. A builder does not know colours: White is to move.
func (b *Builder) text(s amazons.State) string {
	return amazons.PositionOf(b.board, s, amazons.White).String()
}

// decided returns what is certain about a position without expanding it: l, what the leaf rules say, or a mark, or a
// known fact. failed has the marks of failures that hold in this call.
func (b *Builder) decided(k amazons.Key, l eval.Verdict) (v eval.Verdict, failed uint8) {
	if l != eval.Open {
		return l, 0
	}
	if at := b.marks.find(k); at != nil {
		if at.mark&markWon != 0 {
			return eval.Won, 0
		}
		if at.mark&markLost != 0 {
			return eval.Lost, 0
		}
		if at.stamp == b.run {
			failed = at.mark
		}
	}
	if b.o.Known != nil {
		v = b.o.Known(k)
	}
	return v, failed
}

// slot returns the slot for a new mark of k, nil if the builder is full.
func (b *Builder) slot(k amazons.Key) *slot {
	if b.o.MaxEntries > 0 && b.marks.n >= b.o.MaxEntries && b.marks.find(k) == nil {
		b.stop = fmt.Errorf("%w: it has %d positions", ErrFull, b.marks.n)
		return nil
	}
	at, _ := b.marks.insert(k)
	return at
}

func (b *Builder) addWon(k amazons.Key, m amazons.Move) outcome {
	at := b.slot(k)
	if at == nil {
		return stopped
	}
	at.mark |= markWon
	at.move = m
	b.fresh = append(b.fresh, k)
	b.stats.Entries++
	b.stats.Pending++
	return proved
}

func (b *Builder) addLost(k amazons.Key) outcome {
	at := b.slot(k)
	if at == nil {
		return stopped
	}
	at.mark |= markLost
	b.stats.Lost++
	return proved
}

// refute notes that k could not be shown to be as claimed, and why if it is the first such position.
func (b *Builder) refute(s amazons.State, k amazons.Key, mark uint8, why string) outcome {
	if b.fail == "" {
		claim := "won"
		if mark == failedLost {
			claim = "lost"
		}
		b.fail = fmt.Sprintf("%s is not %s: %s", b.text(s), claim, why)
	}
	at := b.slot(k)
	if at == nil {
		return stopped
	}
	if at.stamp != b.run {
		at.stamp = b.run
		at.mark &= markWon | markLost
	}
	at.mark |= mark
	return refuted
}

// enter counts an expansion and looks at ctx now and then.
func (b *Builder) enter() bool {
	b.stats.Positions++
	if b.stats.Positions%256 == 1 {
		b.stop = b.ctx.Err()
	}
	return b.stop == nil
}

// solve asks the search for what its table does not know.
func (b *Builder) solve(s amazons.State) (eval.Verdict, bool) {
	b.stats.Researches++
	counter, counts := b.search.(interface{ Nodes() uint64 })
	before := uint64(0)
	if counts {
		before = counter.Nodes()
	}
	v, err := b.search.Solve(b.ctx, s)
	if counts {
		b.stats.Nodes += counter.Nodes() - before
	}
	switch {
	case v == eval.Won || v == eval.Lost:
		return v, true
	case err == nil:
		err = ErrUnsolved
	case !errors.Is(err, ErrUnsolved) && b.ctx.Err() == nil:
		err = fmt.Errorf("%w: %w", ErrUnsolved, err)
	}
	b.stop = fmt.Errorf("%s: %w", b.text(s), err)
	return eval.Open, false
}

// won shows that the side to move wins s, which is canonical and not decided: it looks for a move to a lost position.
func (b *Builder) won(s amazons.State, k amazons.Key, depth int) outcome {
	if !b.enter() {
		return stopped
	}
	if r := b.wonByBest(s, k, depth); r != refuted {
		return r
	}
	f := &b.frames[depth]
	f.moves = s.Moves(f.moves[:0])
	f.open = f.open[:0]
	for _, m := range f.moves {
		c := s.After(m)
		if !c.CanMove() {
			return b.addWon(k, m)
		}
		c, _ = c.Canonical(b.board)
		switch v := eval.Plain(c, b.board); {
		case v == eval.Won:
			continue
		case v == eval.Lost && !b.o.RulesOnly:
			return b.addWon(k, m)
		default:
			f.open = append(f.open, successor{state: c, move: m, said: v})
		}
	}

	n := 0
	for i := range f.open {
		c := &f.open[i]
		c.key = c.state.Key(b.board)
		v, failed := b.decided(c.key, eval.Open)
		if v == eval.Lost {
			return b.addWon(k, c.move)
		}
		if v == eval.Open && failed&failedLost == 0 {
			f.open[n] = *c
			n++
		}
	}
	f.open = f.open[:n]

	if r := b.tryLost(f, k, depth); r != refuted {
		return r
	}
	// The search's table has no lost successor, or none that holds: search again and look once more.
	v, ok := b.solve(s)
	if !ok {
		return stopped
	}
	if v == eval.Lost {
		return b.refute(s, k, failedWon, "the search says it is lost")
	}
	if r := b.tryLost(f, k, depth); r != refuted {
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
		v, ok := b.solve(c.state)
		if !ok {
			return stopped
		}
		if v != eval.Lost {
			continue
		}
		c.tried = true
		switch b.lost(c.state, c.key, depth+1) {
		case proved:
			return b.addWon(k, c.move)
		case stopped:
			return stopped
		}
	}

	// The search contradicts itself: s is won and all successors are. One of these may have met a wrong number in the
	// table (two positions with one hash). Look below those whose replies do not bear it out.
	for i := range f.open {
		c := &f.open[i]
		if c.tried || b.plausible(c.state, depth+1) {
			continue
		}
		c.tried = true
		switch b.lost(c.state, c.key, depth+1) {
		case proved:
			return b.addWon(k, c.move)
		case stopped:
			return stopped
		}
	}
	return b.refute(s, k, failedWon, "no move is shown to win")
}

// wonByBest tries the move that the search remembers, which saves looking at all the others. refuted
// means nothing but that this was no short cut.
func (b *Builder) wonByBest(s amazons.State, k amazons.Key, depth int) outcome {
	if b.best == nil || b.o.RulesOnly {
		return refuted
	}
	m, ok := b.best.Best(s)
	if !ok {
		return refuted
	}
	c, _ := s.After(m).Canonical(b.board)
	key := c.Key(b.board)
	v, failed := b.decided(key, eval.Plain(c, b.board))
	if v == eval.Lost {
		return b.addWon(k, m)
	}
	if v == eval.Won || failed&failedLost != 0 {
		return refuted
	}
	if r := b.lost(c, key, depth+1); r != proved {
		return r
	}
	return b.addWon(k, m)
}

// plausible reports whether some successor of s seems to be lost, so that s seems to be won.
func (b *Builder) plausible(s amazons.State, depth int) bool {
	f := &b.frames[depth]
	f.moves = s.Moves(f.moves[:0])
	for _, m := range f.moves {
		c, _ := s.After(m).Canonical(b.board)
		v := eval.Plain(c, b.board)
		if v == eval.Open {
			v, _ = b.decided(c.Key(b.board), v)
		}
		if v == eval.Open {
			v, _ = b.search.Probe(c)
		}
		if v == eval.Lost {
			return true
		}
	}
	return false
}

// tryLost asks the search's table about the open successors and tries to prove those that it calls lost, the cheapest
// first. refuted means that none is left.
func (b *Builder) tryLost(f *frame, k amazons.Key, depth int) outcome {
	for i := range f.open {
		switch c := &f.open[i]; {
		case c.tried:
		case eval.Plain(c.state, b.board) == eval.Lost: // and leaf rule 1 alone may be used
			c.said, c.work = eval.Lost, uint64(c.state.CountMoves())
		default:
			c.said, c.work = b.search.Probe(c.state)
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
		c.tried = true
		switch b.lost(c.state, c.key, depth+1) {
		case proved:
			return b.addWon(k, c.move)
		case stopped:
			return stopped
		}
	}
	return refuted
}

// lost shows that the side to move loses s, which is canonical and was not decided a moment ago: all successors are
// won.
func (b *Builder) lost(s amazons.State, k amazons.Key, depth int) outcome {
	switch v, failed := b.decided(k, eval.Open); {
	case v == eval.Lost:
		return proved
	case v == eval.Won:
		return b.refute(s, k, failedLost, "it is won")
	case failed&failedLost != 0:
		return refuted
	}
	if !b.enter() {
		return stopped
	}
	f := &b.frames[depth]
	f.moves = s.Moves(f.moves[:0])
	f.open = f.open[:0]
	for _, m := range f.moves {
		c := s.After(m)
		if !c.CanMove() {
			return b.refute(s, k, failedLost, "a move ends the game")
		}
		c, _ = c.Canonical(b.board)
		v := eval.Plain(c, b.board)
		if v == eval.Won && b.o.RulesOnly {
			v = eval.Open
		}
		if v == eval.Open {
			key := c.Key(b.board)
			failed := uint8(0)
			if v, failed = b.decided(key, eval.Open); failed&failedWon != 0 {
				return b.refute(s, k, failedLost, m.String()+" leads to a position that is not won")
			}
			if v == eval.Open {
				f.open = append(f.open, successor{state: c, key: key})
				continue
			}
		}
		if v == eval.Lost {
			return b.refute(s, k, failedLost, m.String()+" wins")
		}
	}
	for i := range f.open {
		c := &f.open[i]
		// An image of it, or it itself below another, may have been looked at since.
		switch v, failed := b.decided(c.key, eval.Open); {
		case v == eval.Won:
			continue
		case v == eval.Lost || failed&failedWon != 0:
			return b.refute(s, k, failedLost, "a move leads to a position that is not won")
		}
		switch b.won(c.state, c.key, depth+1) {
		case refuted:
			return b.refute(s, k, failedLost, "a move leads to a position that is not won")
		case stopped:
			return stopped
		}
	}
	return b.addLost(k)
}
