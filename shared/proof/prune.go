package proof

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"math/bits"
	"runtime"
	"slices"
	"sync"
	"sync/atomic"

	"amazonsfarm/shared/amazons"
	"amazonsfarm/shared/eval"
)

// Prune returns c with the entries that its roots need: those reached from the roots by the moves
// of the entries and all replies, where neither the leaf rules of c nor known decide. What c cites
// counts as known.
//
// known tells of positions (by canonical key) that other parts prove. The result cites those that it needs, and has no
// entries below them. It is asked for positions with more arrows than every root, by several goroutines at once. nil
// stands for none.
//
// missing are the canonical positions, in order, that should be won for the side to move and are neither entries nor
// leaves, or whose entry's move is not legal; and the roots claimed lost that are won by a leaf rule. Of more than
// maxMissing it is not determined which are told. With nothing missing the result is valid, given its citations. c is
// not changed. It takes about as long as a check. Errors are those of ctx, or wrap ErrInvalid.
func Prune(ctx context.Context, c Certificate, known func(amazons.Key) eval.Verdict) (pruned Certificate,
	missing []amazons.Key, err error) {
	if err := c.validate(); err != nil {
		return c, nil, fmt.Errorf("prune certificate: %w", err)
	}
	p := newPruner(c, known)
	pruned = Certificate{Board: c.Board, Leaves: c.Leaves, Roots: c.Roots, Set: new(Set)}
	for arrows := range p.marks {
		// Replies to layer k are in layer k+2, so all marks of this layer are there.
		if err := p.layer(ctx, arrows); err != nil {
			return c, nil, fmt.Errorf("prune certificate: %w", err)
		}
		p.keep(arrows, &pruned.Set.layers[arrows])
		p.marks[arrows] = nil
	}
	pruned.Cited = slices.SortedFunc(maps.Keys(p.cited), Citation.compare)
	return pruned, slices.SortedFunc(maps.Keys(p.missing), amazons.Key.Compare), nil
}

// newPruner returns a pruner that has marked what the roots of c need at once. The arguments are those of Prune.
func newPruner(c Certificate, known func(amazons.Key) eval.Verdict) *pruner {
	set := cmp.Or(c.Set, new(Set))
	p := &pruner{board: c.Board, leaves: c.Leaves, set: set, missing: make(map[amazons.Key]struct{}),
		known: known, cited: make(map[Citation]struct{})}
	if len(c.Cited) > 0 {
		cited := make(map[amazons.Key]eval.Verdict, len(c.Cited))
		for _, q := range c.Cited {
			cited[q.Key] = q.Claim
		}
		p.known = func(k amazons.Key) eval.Verdict {
			if v := cited[k]; v != eval.Open || known == nil {
				return v
			}
			return known(k)
		}
	}
	for _, r := range c.Roots {
		p.deepest = max(p.deepest, layerOf(r.State.Key(c.Board)))
	}
	for arrows := range p.marks {
		if set.layers[arrows].n > 0 {
			p.marks[arrows] = make([]atomic.Uint64, (len(set.layers[arrows].slots)+63)/64)
		}
	}
	for _, r := range c.Roots {
		s, _ := r.State.Canonical(c.Board)
		if r.Claim == eval.Won {
			p.won(s)
		} else if !p.lost(s) {
			p.lack(s.Key(c.Board))
		}
	}
	return p
}

// maxMissing bounds the missing positions that Prune tells, each once.
const maxMissing = 1000

// pruner is one call of Prune at work. It goes through the layers from the roots on, and marks in
// the next but one which entries are needed. Marks are bits, since the set itself is the larger
// part of the memory.
type pruner struct {
	board   amazons.Board
	leaves  eval.Leaves
	set     *Set
	marks   [maxLayers][]atomic.Uint64 // one bit a slot: the roots need it
	known   func(amazons.Key) eval.Verdict
	deepest int          // arrows of the fullest root
	lose    atomic.Int64 // positions that must be lost and are no leaves, the same ones more than once

	mu      sync.Mutex
	missing map[amazons.Key]struct{}
	cited   map[Citation]struct{}
}

// cites reports whether another part proves the claim about k, and notes the citation.
func (p *pruner) cites(k amazons.Key, claim eval.Verdict) bool {
	if p.known == nil || layerOf(k) <= p.deepest || p.known(k) != claim {
		return false
	}
	p.mu.Lock()
	p.cited[Citation{k, claim}] = struct{}{}
	p.mu.Unlock()
	return true
}

// won notes that the canonical state s must be won.
func (p *pruner) won(s amazons.State) {
	if eval.Plain(p.board, s, p.leaves) == eval.Won {
		return
	}
	k := s.Key(p.board)
	if p.cites(k, eval.Won) {
		return
	}
	arrows := layerOf(k)
	t := &p.set.layers[arrows]
	i := t.index(k)
	if i < 0 {
		p.lack(k)
		return
	}
	word, bit := &p.marks[arrows][i/64], uint64(1)<<(i%64)
	if word.Load()&bit == 0 {
		word.Or(bit)
	}
}

// lost notes that the state s, canonical or not, must be lost, and so its successors won. It
// returns false if a leaf rule says that it is won.
func (p *pruner) lost(s amazons.State) bool {
	canonical, _ := s.Canonical(p.board)
	switch eval.Plain(p.board, canonical, p.leaves) {
	case eval.Lost:
		return true
	case eval.Won:
		return false
	}
	if p.known != nil && p.cites(canonical.Key(p.board), eval.Lost) {
		return true
	}
	p.lose.Add(1)
	for m := range s.AllMoves() {
		reply, _ := s.After(m).Canonical(p.board)
		p.won(reply)
	}
	return true
}

// lack notes a missing position.
func (p *pruner) lack(k amazons.Key) {
	p.mu.Lock()
	if len(p.missing) < maxMissing {
		p.missing[k] = struct{}{}
	}
	p.mu.Unlock()
}

// layer follows the moves of the marked entries of a layer.
func (p *pruner) layer(ctx context.Context, arrows int) error {
	workers := runtime.GOMAXPROCS(0)
	marks, slots := p.marks[arrows], p.set.layers[arrows].slots
	const chunk = 16 // words of marks that a worker takes at a time
	var next atomic.Int64
	parallel(min(workers, (len(marks)+chunk-1)/chunk), workers, func(int) {
		for ctx.Err() == nil {
			end := int(next.Add(chunk))
			if end-chunk >= len(marks) {
				return
			}
			for i := end - chunk; i < min(end, len(marks)); i++ {
				for word := marks[i].Load(); word != 0; word &= word - 1 {
					e := &slots[64*i+bits.TrailingZeros64(word)]
					s, err := e.key.State(p.board)
					if err != nil || !s.Legal(e.move) || !p.lost(s.After(e.move)) {
						p.lack(e.key)
					}
				}
			}
		}
	})
	return ctx.Err()
}

// marked returns how many entries of a layer are marked.
func (p *pruner) marked(arrows int) (n int) {
	for i := range p.marks[arrows] {
		n += bits.OnesCount64(p.marks[arrows][i].Load())
	}
	return n
}

// keep adds the marked entries of a layer to a table.
func (p *pruner) keep(arrows int, to *table) {
	to.reserve(p.marked(arrows))
	for i := range p.marks[arrows] {
		for word := p.marks[arrows][i].Load(); word != 0; word &= word - 1 {
			e := &p.set.layers[arrows].slots[64*i+bits.TrailingZeros64(word)]
			to.insert(e.key, e.move)
		}
	}
}
