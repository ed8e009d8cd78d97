package dfpn

import (
	"context"
	"errors"
	"sync/atomic"

	"amazonsfarm/shared/amazons"
	"amazonsfarm/shared/eval"
)

// Witness answers what the extraction of a proof asks of a search. A certificate ends at positions
// that the leaf rules decide, but the search may stop earlier, by a stronger argument of its judge.
// Below such a position the witness searches with the counting lemma alone, in a small table of its
// own. One goroutine at a time may call its methods; several witnesses of one search may run at
// once.
type Witness struct {
	*Searcher
	judge *eval.Judge
	fine  *Searcher
	asked atomic.Uint64 // calls of Probe and Best
}

// WitnessTableBytes is the size of the table of a witness. The positions below one verdict of a judge
// are few.
const WitnessTableBytes = 16 << 20

// NewWitness returns a witness of s. Errors are those of NewTable.
func NewWitness(s *Searcher) (*Witness, error) {
	table, err := NewTable(WitnessTableBytes)
	if err != nil {
		return nil, err
	}
	fine := New(Options{Board: s.o.Board, Table: table, Judge: func() *eval.Judge { return nil }})
	return &Witness{Searcher: s, judge: s.o.Judge(), fine: fine}, nil
}

// Prover is a search with all that the extraction of its proofs needs: a witness for each of its threads.
type Prover struct {
	*Searcher
	Table     *Table
	Witnesses []*Witness
}

// NewProver returns a search as New does, with its witnesses. Errors are those of NewTable; the table of o stays open.
func NewProver(o Options) (*Prover, error) {
	p := &Prover{Searcher: New(o), Table: o.Table}
	for range max(o.Threads, 1) {
		w, err := NewWitness(p.Searcher)
		if err != nil {
			return nil, errors.Join(err, p.closeWitnesses())
		}
		p.Witnesses = append(p.Witnesses, w)
	}
	return p, nil
}

// Forget empties all tables.
func (p *Prover) Forget() {
	p.Table.Clear()
	for _, w := range p.Witnesses {
		w.Forget()
	}
}

// Close releases the memory of all tables. Provers that share a table may each be closed.
func (p *Prover) Close() error { return errors.Join(p.closeWitnesses(), p.Table.Close()) }

func (p *Prover) closeWitnesses() error {
	var errs []error
	for _, w := range p.Witnesses {
		errs = append(errs, w.Close())
	}
	return errors.Join(errs...)
}

// Close releases the memory of the witness, and not that of the search.
func (w *Witness) Close() error { return w.fine.o.Table.Close() }

// Forget empties the table of the witness. Then its answers do not depend on earlier questions.
func (w *Witness) Forget() { w.fine.o.Table.Clear() }

// Nodes returns the number of positions expanded by all ended searches, of the witness as well.
func (w *Witness) Nodes() uint64 { return w.Searcher.Nodes() + w.fine.Nodes() }

// Asked returns the number of questions: calls of Probe and Best. They are a sign of life, since the builder of a
// proof often asks nothing else. Any goroutine may call it.
func (w *Witness) Asked() uint64 { return w.asked.Load() }

// Probe returns what the tables, the counting lemma or the judge know of st, and the nodes behind it.
func (w *Witness) Probe(st amazons.State) (eval.Verdict, uint64) {
	w.asked.Add(1)
	if n, nodes := w.Searcher.stored(st); n.solved() {
		return n.verdict(), nodes
	}
	if v, nodes := w.fine.Probe(st); v != eval.Open {
		return v, nodes
	}
	return w.judge.Verdict(st), 0
}

// Limits of the search with the counting lemma alone of a position that the judge decides: bestNodes
// for its winning move, solveNodes for its verdict. Beyond solveNodes the witness believes the judge,
// and the caller looks at the replies.
const (
	bestNodes  = 2_000
	solveNodes = 20_000
)

// Best returns a winning move of st, false where none is known.
func (w *Witness) Best(st amazons.State) (amazons.Move, bool) {
	w.asked.Add(1)
	if m, ok := w.Searcher.Best(st); ok {
		return m, true
	}
	if m, ok := w.fine.Best(st); ok {
		return m, true
	}
	if m, ok := w.judge.Closing(st); ok {
		return m, true
	}
	if w.judge.Verdict(st) != eval.Won {
		return amazons.Move{}, false
	}
	if r := w.fine.Search(context.Background(), st, bestNodes); r.Verdict != eval.Won {
		return amazons.Move{}, false
	}
	return w.fine.Best(st)
}

// Solve searches st until it is solved or ctx ends. The error is the cause of the context's end.
func (w *Witness) Solve(ctx context.Context, st amazons.State) (eval.Verdict, error) {
	v := w.judge.Verdict(st)
	if v == eval.Open {
		return w.Searcher.Solve(ctx, st)
	}
	if r := w.fine.Search(ctx, st, solveNodes); r.Verdict != eval.Open {
		return r.Verdict, nil
	}
	return v, context.Cause(ctx)
}
