package proof

import (
	"context"
	"fmt"
	"math/bits"
	"runtime"
	"slices"
	"sync"
	"sync/atomic"

	"amazonsfarm/shared/amazons"
	"amazonsfarm/shared/eval"
)

// PruneOptions are the settings of [Prune]. The zero value is good.
type PruneOptions struct {
	// Workers is the number of goroutines; 0 stands for one a core.
	Workers int
	// MaxMissing is the largest number of missing positions that are reported, each once; 0 stands
	// for 1000. Which ones are reported when there are more is not determined.
	MaxMissing int
}

// Prune returns the entries of c.Set that its roots need: those reached from the roots by the moves
// of the entries and all replies, where the leaf rules do not decide. With RulesOnly only leaf rule
// 1 does. missing are the canonical positions, in order, that should be won for the side to move
// and are neither entries nor leaves, or whose entry's move is not legal; and the roots claimed
// lost that are won by a leaf rule. With nothing missing the certificate with the new set is valid.
// c is not changed. It takes about as long as a check. Errors are those of ctx, or wrap ErrInvalid.
func Prune(ctx context.Context, c Certificate, o PruneOptions) (pruned *Set, missing []amazons.Key, err error) {
	if err := c.validate(); err != nil {
		return nil, nil, fmt.Errorf("prune certificate: %w", err)
	}
	if o.Workers <= 0 {
		o.Workers = runtime.GOMAXPROCS(0)
	}
	if o.MaxMissing <= 0 {
		o.MaxMissing = 1000
	}
	set := c.Set
	if set == nil {
		set = new(Set)
	}
	p := &pruner{board: c.Board, leaves: c.Leaves, set: set, missing: make(map[amazons.Key]struct{}),
		room: o.MaxMissing}
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
	pruned = new(Set)
	for arrows := range p.marks {
		// Replies to layer k are in layer k+2, so all marks of this layer are there.
		if err := p.layer(ctx, arrows, o.Workers); err != nil {
			return nil, nil, fmt.Errorf("prune certificate: %w", err)
		}
		p.keep(arrows, &pruned.layers[arrows])
		p.marks[arrows] = nil
	}
	for k := range p.missing {
		missing = append(missing, k)
	}
	slices.SortFunc(missing, amazons.Key.Compare)
	return pruned, missing, nil
}

type pruner struct {
	board  amazons.Board
	leaves eval.Leaves
	set    *Set
	marks  [maxLayers][]atomic.Uint64 // one bit a slot: the roots need it

	mu      sync.Mutex
	missing map[amazons.Key]struct{}
	room    int
}

// won notes that the canonical state s must be won.
func (p *pruner) won(s amazons.State) {
	if eval.Plain(s, p.leaves) == eval.Won {
		return
	}
	k := s.Key(p.board)
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
	switch eval.Plain(canonical, p.leaves) {
	case eval.Lost:
		return true
	case eval.Won:
		return false
	}
	for m := range s.AllMoves() {
		reply, _ := s.After(m).Canonical(p.board)
		p.won(reply)
	}
	return true
}

// lack notes a missing position.
func (p *pruner) lack(k amazons.Key) {
	p.mu.Lock()
	if len(p.missing) < p.room {
		p.missing[k] = struct{}{}
	}
	p.mu.Unlock()
}

// layer follows the moves of the marked entries of a layer.
func (p *pruner) layer(ctx context.Context, arrows, workers int) error {
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

// keep adds the marked entries of a layer to a table.
func (p *pruner) keep(arrows int, to *table) {
	n := 0
	for i := range p.marks[arrows] {
		n += bits.OnesCount64(p.marks[arrows][i].Load())
	}
	to.reserve(n)
	for i := range p.marks[arrows] {
		for word := p.marks[arrows][i].Load(); word != 0; word &= word - 1 {
			e := &p.set.layers[arrows].slots[64*i+bits.TrailingZeros64(word)]
			at, _ := to.insert(e.key)
			at.move = e.move
		}
	}
}
