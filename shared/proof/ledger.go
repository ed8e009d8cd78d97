package proof

import (
	"context"
	"errors"
	"fmt"
	"hash/maphash"
	"runtime"
	"sync"
	"sync/atomic"

	"amazonsfarm/shared/amazons"
	"amazonsfarm/shared/eval"
)

// ErrLedgerFull says that a ledger cannot remember what a certificate proves.
var ErrLedgerFull = errors.New("the ledger is full")

// Ledger judges fragments of a proof one after the other: each may rely on what those before it
// have proved. It remembers 8 bytes for a proved position (a hash under a key that nobody outside
// knows), in tables at least half and at most 3/4 full: 11 to 16 bytes a position, outside the Go
// heap.
//
// It keeps false claims of others out while a proof grows. It is no check of the whole proof: that
// is the independent checker's.
type Ledger struct {
	board  amazons.Board
	leaves eval.Leaves
	limit  int

	mu   sync.RWMutex
	seed maphash.Seed
	won  *hashes // entries, and roots claimed won
	lost *hashes // roots claimed lost

	// positions is their number in both. It is read without mu, which is held for seconds while a
	// large certificate is judged.
	positions atomic.Int64
}

// NewLedger returns an empty ledger that remembers at most limit positions; 0 stands for 1 << 28,
// with up to 4 GiB of memory.
func NewLedger(b amazons.Board, leaves eval.Leaves, limit int) *Ledger {
	if limit <= 0 {
		limit = 1 << 28
	}
	l := &Ledger{board: b, leaves: leaves, limit: limit, seed: maphash.MakeSeed(), won: new(hashes),
		lost: new(hashes)}
	for _, h := range []*hashes{l.won, l.lost} {
		runtime.AddCleanup(l, (*hashes).release, h)
	}
	return l
}

// Positions returns how many proved positions the ledger remembers.
func (l *Ledger) Positions() int { return int(l.positions.Load()) }

// Verify checks that c proves its entries and roots, given what the ledger remembers: the move of
// each entry leads to a position that is lost because it is remembered as that, or by a leaf rule,
// or because all replies are won, each by a leaf rule, an entry of c or what is remembered. workers
// is the number of goroutines, 0 one a core. Errors wrap ErrNotProved and name a position, or
// ErrInvalid, or are those of ctx. Nothing is remembered.
func (l *Ledger) Verify(ctx context.Context, c Certificate, workers int) error {
	if err := c.validate(); err != nil {
		return err
	}
	if c.Board != l.board {
		return fmt.Errorf("%w: it is for board %v, not %v", ErrInvalid, c.Board, l.board)
	}
	if workers <= 0 {
		workers = runtime.GOMAXPROCS(0)
	}
	set := c.Set
	if set == nil {
		set = new(Set)
	}
	v := &fragmentCheck{ledger: l, set: set, leaves: max(c.Leaves, l.leaves)}
	l.mu.RLock()
	defer l.mu.RUnlock()
	for arrows := range set.layers {
		if err := v.layer(ctx, arrows, workers); err != nil {
			return err
		}
	}
	for _, r := range c.Roots {
		s, _ := r.State.Canonical(c.Board)
		if r.Claim == eval.Won && !v.won(s) || r.Claim == eval.Lost && !v.lost(s) {
			return fmt.Errorf("%w: the root %v is not shown to be %v", ErrNotProved, r.Position(c.Board), r.Claim)
		}
	}
	return nil
}

// Remember adds what c proves. It has been verified before. The error wraps ErrLedgerFull: the
// limit is reached, or the system gives no more memory. The positions that fit are remembered.
func (l *Ledger) Remember(c Certificate) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	defer func() { l.positions.Store(int64(l.won.n + l.lost.n)) }()
	add := func(to *hashes, k amazons.Key) error {
		if l.won.n+l.lost.n >= l.limit {
			return ErrLedgerFull
		}
		return to.add(l.hash(k))
	}
	if c.Set != nil {
		for e := range c.Set.All() {
			if err := add(l.won, e.Key); err != nil {
				return err
			}
		}
	}
	for _, r := range c.Roots {
		to := l.lost
		if r.Claim == eval.Won {
			to = l.won
		}
		if err := add(to, r.State.CanonicalKey(l.board)); err != nil {
			return err
		}
	}
	return nil
}

// hash returns a number that is not 0.
func (l *Ledger) hash(k amazons.Key) uint64 {
	if h := maphash.Comparable(l.seed, k); h != 0 {
		return h
	}
	return 1
}

// fragmentCheck is one Verify.
type fragmentCheck struct {
	ledger *Ledger
	set    *Set
	leaves eval.Leaves
}

// layer checks the entries with the given number of arrows.
func (v *fragmentCheck) layer(ctx context.Context, arrows, workers int) error {
	slots := v.set.layers[arrows].slots
	const chunk = 1024
	var failed atomic.Bool
	var mu sync.Mutex
	var first error
	parallel(workers, (len(slots)+chunk-1)/chunk, func(i int) {
		if failed.Load() {
			return
		}
		err := ctx.Err()
		for _, s := range slots[i*chunk : min((i+1)*chunk, len(slots))] {
			if err != nil {
				break
			}
			if s.key != (amazons.Key{}) {
				err = v.entry(Entry{s.key, s.move}, arrows)
			}
		}
		if err != nil {
			failed.Store(true)
			mu.Lock()
			first = err
			mu.Unlock()
		}
	})
	return first
}

func (v *fragmentCheck) entry(e Entry, arrows int) error {
	b := v.ledger.board
	if why := checkEntry(b, e, arrows); why != "" {
		return fmt.Errorf("%w: entry %x: %s", ErrInvalid, e.Key.Bytes(), why)
	}
	s, err := e.Key.State(b)
	if err != nil {
		return fmt.Errorf("%w: %w", ErrInvalid, err)
	}
	if after, _ := s.After(e.Move).Canonical(b); !v.lost(after) {
		return fmt.Errorf("%w: %v is not shown to win in %v", ErrNotProved, e.Move,
			amazons.PositionOf(b, s, amazons.White))
	}
	return nil
}

// won reports whether the canonical state s is shown to be won.
func (v *fragmentCheck) won(s amazons.State) bool {
	if eval.Plain(s, v.leaves) == eval.Won {
		return true
	}
	k := s.Key(v.ledger.board)
	return v.set.Has(k) || v.ledger.won.has(v.ledger.hash(k))
}

// lost reports whether the canonical state s is shown to be lost.
func (v *fragmentCheck) lost(s amazons.State) bool {
	b := v.ledger.board
	switch eval.Plain(s, v.leaves) {
	case eval.Lost:
		return true
	case eval.Won:
		return false
	}
	if v.ledger.lost.has(v.ledger.hash(s.Key(b))) {
		return true
	}
	for m := range s.AllMoves() {
		if reply, _ := s.After(m).Canonical(b); !v.won(reply) {
			return false
		}
	}
	return true
}
