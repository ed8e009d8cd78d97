package rpc

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
	Nodes    uint64 // that went into it
}

type learned struct {
	serial uint64
	at     time.Time
	fact   proof.Fact
}

// recent keeps the latest facts, the last one at the end. It belongs to the loop.
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

// Recent returns those of the first campaign.
func (m *Master) Recent(ctx context.Context) ([]Learned, error) {
	return (&Handle{m, m.first()}).Recent(ctx)
}

// Recent asks the loop for the facts that the campaign's workers brought and that became durable
// last, the latest first, at most Config.RecentFacts.
func (h *Handle) Recent(ctx context.Context) ([]Learned, error) {
	reply := make(chan []learned, 1)
	list, err := await(ctx, h.m, recentQuery{h.c, reply}, reply)
	if err != nil {
		return nil, err
	}
	out := make([]Learned, 0, len(list))
	for _, l := range slices.Backward(list) {
		out = append(out, Learned{l.serial, l.at, h.c.positionText(l.fact.Key), l.fact.Verdict, l.fact.Nodes})
	}
	return out, nil
}
