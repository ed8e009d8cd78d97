package proof

import (
	"context"
	"fmt"
	"maps"
	"runtime"
	"slices"
	"sync"
	"sync/atomic"

	"amazonsfarm/shared/amazons"
	"amazonsfarm/shared/eval"
)

// Searcher is a search from which a [Builder] extracts proofs. All states that it is given are canonical.
//
// A searcher that errs costs time, and may make a proof fail. It cannot make a proof false: a builder
// adds an entry only when all of its evidence is there, down to the leaf rules.
type Searcher interface {
	// Probe tells what the search's table knows: the verdict for the side to move and the work
	// (nodes) behind it.
	Probe(s amazons.State) (eval.Verdict, uint64)
	// Best returns the legal move with which it won a position if it remembers. This saves the builder
	// from looking at all the others.
	Best(s amazons.State) (amazons.Move, bool)
	// Prefetch says that Best or Probe is asked about a position soon.
	Prefetch(s amazons.State)
	// Solve searches until the position is solved, or ctx ends or its budget is spent: then it
	// returns an error, or Open.
	Solve(ctx context.Context, s amazons.State) (eval.Verdict, error)
}

// BuilderOptions are the settings of a [Builder]. The zero value is good.
type BuilderOptions struct {
	// Leaves are the leaf rules that proofs may use. With fewer they are longer.
	Leaves eval.Leaves
	// Known tells of positions (by canonical key) that other parts of the same proof prove. They are
	// not expanded; Cited says which were met. nil stands for none. Several goroutines may ask at the same time.
	Known func(amazons.Key) eval.Verdict
	// CiteAbove is the number of burnt squares that known positions must exceed. A part may cite
	// positions only that have more arrows than all of its roots.
	CiteAbove int
	// MaxEntries is the largest number of positions that the builder remembers, won and lost ones,
	// about 40 bytes each; Prove fails with ErrFull beyond it. 0 stands for no limit.
	MaxEntries int
}

// Builder extracts proofs from a search. Its methods are called by one goroutine at a time.
//
// Evidence is collected from the leaves up: a position is marked as won when a move of it leads to
// a lost one, and that is marked as lost when all replies are won, each by a mark, a leaf rule or a
// known fact. So every entry is good for itself, with the entries made before it and the known
// facts. A position whose proof was under way when the whole proof failed has no mark.
//
// With several searchers, as many goroutines work on the same claim from its root down. They share
// the marks, and of the replies to a lost position each takes first those where no other is at
// work.
type Builder struct {
	board   amazons.Board
	o       BuilderOptions
	marks   *marks
	provers []*prover
	run     uint64 // number of the call of Prove: marks of failures hold for one call
	busy    []atomic.Int32
	done    atomic.Bool // one prover has come to an end: the others need not

	mu    sync.Mutex
	cited map[Citation]struct{} // known positions that were met since the last Take
}

// busySlots is the number of counters of positions at work, by hash.
const busySlots = 1 << 12

// NewBuilder returns a builder for positions of one board, with a searcher for each goroutine that shall work on a
// proof, at least one. With one, proofs of a deterministic search are deterministic. Several may be asked at the same
// time.
func NewBuilder[S Searcher](b amazons.Board, o BuilderOptions, searchers ...S) *Builder {
	builder := &Builder{board: b, o: o, marks: newMarks(o.MaxEntries), cited: map[Citation]struct{}{}}
	for _, s := range searchers {
		builder.provers = append(builder.provers, &prover{Builder: builder, search: s})
	}
	if len(builder.provers) > 1 {
		builder.busy = make([]atomic.Int32, busySlots)
	}
	return builder
}

// Prove adds all entries that the claim (Won or Lost, for the side to move) about s needs. It needs
// none where a leaf rule decides or the fact is known. Errors wrap ErrNotProved if the claim is
// false or the search contradicts itself, and name the position; ErrUnsolved if the search left a
// position open; ErrFull; or are the searcher's or ctx's. After an error the builder is good for
// further use: entries that were complete stay, and the same claim may be tried again.
func (b *Builder) Prove(ctx context.Context, s amazons.State, claim eval.Verdict) error {
	s, _ = s.Canonical(b.board)
	b.run++ // of 56 bits, so it never comes round
	if claim != eval.Won && claim != eval.Lost {
		return fmt.Errorf("prove %s %v: %w: the claim must be won or lost", b.text(s), claim, ErrNotProved)
	}
	k := s.Key(b.board)
	switch got, _ := b.decided(k, eval.Plain(b.board, s, b.o.Leaves)); got {
	case claim:
		return nil
	case claim.Other():
		return fmt.Errorf("prove %s %v: %w: it is %v", b.text(s), claim, ErrNotProved, got)
	}
	if err := ctx.Err(); err != nil { // the provers look at it now and then only
		return fmt.Errorf("prove %s %v: %w", b.text(s), claim, err)
	}
	// The first one to come to an end stops the others.
	working, cancel := context.WithCancel(ctx)
	defer cancel()
	b.done.Store(false)
	// Each prover works on the whole claim. They meet in the marks: what one has proved, the others
	// find proved. So no work is divided up beforehand, and none is handed over.
	first := -1
	results := make([]struct {
		shown bool
		err   error
	}, len(b.provers))
	parallel(len(b.provers), len(b.provers), func(i int) {
		results[i].shown, results[i].err = b.provers[i].prove(working, s, k, claim)
		if !b.done.Swap(true) {
			first = i
			cancel()
		}
	})
	for _, r := range results {
		if r.shown {
			return nil
		}
	}
	err := results[first].err
	if err == nil {
		err = fmt.Errorf("%w: %s", ErrNotProved, b.provers[first].fail)
	}
	return fmt.Errorf("prove %s %v: %w", b.text(s), claim, err)
}

// Cited returns the known positions that were met since the last Take, in order: what a part with
// these entries cites.
func (b *Builder) Cited() []Citation { return slices.SortedFunc(maps.Keys(b.cited), Citation.compare) }

// Take returns the entries added since the last Take. The builder goes on counting them as proved.
func (b *Builder) Take() *Set {
	set := new(Set)
	parallel(runtime.GOMAXPROCS(0), maxLayers, func(layer int) {
		to, n := &set.layers[layer], 0
		for _, p := range b.provers {
			n += len(p.fresh[layer])
		}
		to.reserve(n)
		for _, p := range b.provers {
			for _, e := range p.fresh[layer] {
				set.Add(e)
			}
			p.fresh[layer] = nil
		}
	})
	clear(b.cited)
	return set
}

// Proved returns how many positions have been proved to be won or lost, failures included. It may
// be called while Prove runs.
func (b *Builder) Proved() int { return int(b.marks.n.Load()) }

// text names a position for an error. A builder does not know colours: White is to move.
func (b *Builder) text(s amazons.State) string {
	return amazons.PositionOf(b.board, s, amazons.White).String()
}

// decided returns what is certain about a position without expanding it: l, what the leaf rules
// say, or a mark, or a known fact. failed has the marks of failures that hold in this call.
func (b *Builder) decided(k amazons.Key, l eval.Verdict) (v eval.Verdict, failed uint8) {
	if l != eval.Open {
		return l, 0
	}
	if mark, stamp := b.marks.get(k); mark != 0 {
		if mark&markWon != 0 {
			return eval.Won, 0
		}
		if mark&markLost != 0 {
			return eval.Lost, 0
		}
		if stamp == b.run {
			failed = mark
		}
	}
	if b.o.Known == nil || layerOf(k) <= b.o.CiteAbove {
		return eval.Open, failed
	}
	if v = b.o.Known(k); v != eval.Open {
		b.mu.Lock()
		b.cited[Citation{k, v}] = struct{}{}
		b.mu.Unlock()
	}
	return v, failed
}
