package dfpn

import (
	"context"
	"errors"

	"amazonsfarm/shared/amazons"
	"amazonsfarm/shared/eval"
)

// Witness is a searcher as those see it who extract a proof that may use nothing but the leaf rules
// of a certificate. Where the search stopped by a stronger argument of its judge, the witness
// searches on below, with the counting lemma alone and a small table of its own, and answers from
// there. Its methods are called by one goroutine at a time; several witnesses of one search may
// work at once.
type Witness struct {
	*Searcher
	judge *eval.Judge
	fine  *Searcher
}

// WitnessTableBytes is the size of the table of a witness: the positions below one verdict of a
// judge are few.
const WitnessTableBytes = 16 << 20

// NewWitness returns a witness of what s finds. Errors are those of NewTable and New.
func NewWitness(s *Searcher) (*Witness, error) {
	table, err := NewTable(WitnessTableBytes)
	if err != nil {
		return nil, err
	}
	fine, err := New(Options{Board: s.o.Board, Table: table, Judge: func() *eval.Judge { return nil }})
	if err != nil {
		return nil, errors.Join(err, table.Close())
	}
	return &Witness{Searcher: s, judge: s.o.Judge(), fine: fine}, nil
}

// NewWitnesses returns n witnesses of what s finds.
func NewWitnesses(s *Searcher, n int) ([]*Witness, error) {
	var all []*Witness
	for range n {
		w, err := NewWitness(s)
		if err != nil {
			for _, w := range all {
				err = errors.Join(err, w.Close())
			}
			return nil, err
		}
		all = append(all, w)
	}
	return all, nil
}

// Close gives the memory of the witness back; that of the search stays.
func (w *Witness) Close() error { return w.fine.o.Table.Close() }

// Forget empties the table of the witness, so that its answers do not depend on earlier questions.
func (w *Witness) Forget() { w.fine.o.Table.Clear() }

// Nodes returns the positions expanded by all searches that have ended, those of the witness included.
func (w *Witness) Nodes() uint64 { return w.Searcher.Nodes() + w.fine.Nodes() }

// Probe tells what the tables, the counting lemma and the judge know of st, and the nodes behind it.
func (w *Witness) Probe(st amazons.State) (eval.Verdict, uint64) {
	if n, nodes := w.Searcher.stored(st); n.solved() {
		return n.verdict(), nodes
	}
	if v, nodes := w.fine.Probe(st); v != eval.Open {
		return v, nodes
	}
	v, _ := w.judge.Evaluate(st)
	return v, 0
}

// A position that the judge calls won or lost is searched with the counting lemma alone: for its
// winning move up to bestNodes, for its verdict up to solveNodes. Where that is not enough, the
// judge is believed, and it is up to those who ask to look at the replies.
const (
	bestNodes  = 2_000
	solveNodes = 20_000
)

// Best returns the move with which st was won, false where none is known.
func (w *Witness) Best(st amazons.State) (amazons.Move, bool) {
	if m, ok := w.Searcher.Best(st); ok {
		return m, true
	}
	if m, ok := w.fine.Best(st); ok {
		return m, true
	}
	if m, ok := w.judge.Closing(st); ok {
		return m, true
	}
	if v, _ := w.judge.Evaluate(st); v != eval.Won {
		return amazons.Move{}, false
	}
	if r := w.fine.Search(context.Background(), st, bestNodes); r.Verdict != eval.Won {
		return amazons.Move{}, false
	}
	return w.fine.Best(st)
}

// Solve searches st until it is solved or ctx ends; the error is then that of ctx.
func (w *Witness) Solve(ctx context.Context, st amazons.State) (eval.Verdict, error) {
	v, _ := w.judge.Evaluate(st)
	if v == eval.Open {
		return w.Searcher.Solve(ctx, st)
	}
	if r := w.fine.Search(ctx, st, solveNodes); r.Verdict != eval.Open {
		return r.Verdict, nil
	}
	return v, context.Cause(ctx)
}
