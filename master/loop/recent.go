package loop

import (
	"context"
	"slices"
	"time"

	"amazonsfarm/master/recent"
	"amazonsfarm/shared/eval"
)

// Learned is a fact that became durable since this master began.
type Learned struct {
	Serial   uint64    // 1 for the first, with no gaps
	At       time.Time // of its commit
	Position string    // as text, with its colours
	Verdict  eval.Verdict
	Nodes    uint64 // behind it
}

// Recent asks the loop for the facts that the campaign's workers brought and that became durable last,
// the latest first, at most Limits.Recent.
func (h *Handle) Recent(ctx context.Context) ([]Learned, error) {
	list, err := ask(ctx, h.loop, func() []recent.Entry { return h.c.learned.List() })
	if err != nil {
		return nil, err
	}
	out := make([]Learned, 0, len(list))
	for _, f := range slices.Backward(list) {
		out = append(out, Learned{f.Serial, f.At, h.Text(f.Key), f.Verdict, f.Nodes})
	}
	return out, nil
}
