package tree

import (
	"errors"
	"iter"

	"amazonsfarm/shared/amazons"
)

// Tree is the state machine. It is not safe for concurrent use.
type Tree struct{ cfg Config }

// New makes a tree from its settings and from what the store holds. Errors wrap
// ErrConfig or ErrSnapshot.
func New(cfg Config, restored Snapshot) (*Tree, error) {
	cfg = cfg.withDefaults()
	if err := cfg.validate(); err != nil {
		return nil, err
	}
	return nil, errors.New("not yet written")
}

// Step takes one event and returns its effects; Persist, if any, comes first.
func (t *Tree) Step(ev Event) []Effect { return nil }

// Status returns a summary. It costs time in the number of workers, leases and
// first moves, not of nodes.
func (t *Tree) Status() Status { return Status{} }

// Describe returns a picture of the tree for people and for goldens.
func (t *Tree) Describe() string { return "" }

// FirstMoves returns the moves of the root (the given ones where some were
// given) in increasing order, in the root's own orientation.
func (t *Tree) FirstMoves() []FirstMove { return nil }

// Fact returns what is known by certificate about a canonical key.
func (t *Tree) Fact(k amazons.Key) (Fact, bool) { return Fact{}, false }

// WonNode is a won position whose evidence is the tree's own: Move, in the
// orientation of Key, leads to Child, which is lost.
type WonNode struct {
	Key   amazons.Key
	Move  amazons.Move
	Child amazons.Key // canonical
}

// WonNodes yields every expanded node that has a lost child: the entries of the
// certificate that the master itself adds.
func (t *Tree) WonNodes() iter.Seq[WonNode] { return func(func(WonNode) bool) {} }
