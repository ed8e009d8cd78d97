package loop

import (
	"context"
	"slices"
	"time"

	"amazonsfarm/shared/eval"
	"amazonsfarm/shared/proof"
)

// Learned is a fact that became durable since this master began.
type Learned struct {
	Serial   uint64    // 1 for the first, with no gaps
	At       time.Time // of its commit
	Position string    // as text, with its colours
	Verdict  eval.Verdict
	Nodes    uint64 // behind it
}

type learned struct {
	serial uint64
	at     time.Time
	fact   proof.Fact
}

// recent keeps the latest facts, the last one at the end.
type recent struct {
	list   []learned
	serial uint64 // of the last one
}

// add notes facts and forgets all but the latest, as many as most says.
func (r *recent) add(at time.Time, most int, facts []proof.Fact) {
	r.serial += uint64(len(facts))
	if surplus := len(facts) - most; surplus > 0 {
		facts = facts[surplus:]
	}
	first := r.serial - uint64(len(facts)) + 1
	for i, f := range facts {
		r.list = append(r.list, learned{first + uint64(i), at, f})
	}
	if surplus := len(r.list) - most; surplus > 0 {
		r.list = append(r.list[:0], r.list[surplus:]...)
	}
}

// Recent asks the loop for the facts that the campaign's workers brought and that became durable last,
// the latest first, at most Limits.Recent.
func (h *Handle) Recent(ctx context.Context) ([]Learned, error) {
	list, err := ask(ctx, h.loop, func() []learned { return slices.Clone(h.c.learned.list) })
	if err != nil {
		return nil, err
	}
	out := make([]Learned, 0, len(list))
	for _, f := range slices.Backward(list) {
		out = append(out, Learned{f.serial, f.at, h.Text(f.fact.Key), f.fact.Verdict, f.fact.Nodes})
	}
	return out, nil
}
