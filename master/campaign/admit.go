package campaign

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"sync"

	"github.com/prometheus/client_golang/prometheus"

	"amazonsfarm/master/loop"
	"amazonsfarm/shared/proof"
)

// admission verifies what remote workers upload, each certificate against itself and what was
// admitted before it, so that no false claim gets into the store. What was stored before this
// process began was admitted then, and is taken in when the first upload comes. What cannot be
// decoded is never admitted, also where nothing is verified.
type admission struct {
	campaign *campaign // one of those that share the facts
	workers  int

	mu     sync.Mutex
	ledger *proof.Ledger
	loaded bool
	full   bool // the ledger, or there is none: what comes is decoded, and the rest is left to the final check
}

// admit returns an error that wraps loop.ErrFalse for a certificate that does not hold; otherwise
// keep is to be called once it is stored.
func (a *admission) admit(ctx context.Context, data []byte) (keep func(), err error) {
	c, err := proof.Read(bytes.NewReader(data), int64(len(data)))
	if err != nil {
		return nil, fmt.Errorf("%w: %w", loop.ErrFalse, err)
	}
	full, err := a.load(ctx)
	if err != nil {
		return nil, err
	}
	if full {
		return func() {}, nil
	}
	switch err := a.ledger.Verify(ctx, c, a.workers); {
	case errors.Is(err, proof.ErrNotProved) || errors.Is(err, proof.ErrInvalid):
		return nil, fmt.Errorf("%w: %w", loop.ErrFalse, err)
	case err != nil:
		return nil, err
	}
	return func() { a.remember(c) }, nil
}

func (a *admission) remember(c proof.Certificate) {
	if err := a.ledger.Remember(c); err == nil {
		return
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	if !a.full {
		a.campaign.farm.options.Log.Warn("there is no room to remember what was proved: uploads are not verified "+
			"any more before the final check; raise proved-positions in the settings file",
			"board", a.campaign.about.Board, "positions", a.ledger.Positions())
	}
	a.full = true
}

// load takes in what the store has, once, and reports whether the ledger is full.
func (a *admission) load(ctx context.Context) (full bool, err error) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.loaded || a.full {
		return a.full, nil
	}
	fragments, err := a.campaign.fragments()
	if err != nil {
		return false, err
	}
	for _, f := range fragments {
		if err := ctx.Err(); err != nil {
			return false, err
		}
		c, err := proof.Read(f.Data, f.Size)
		if err != nil {
			return false, fmt.Errorf("stored certificate %v: %w", f.ID, err)
		}
		if a.ledger.Remember(c) != nil {
			a.full = true
			return true, nil
		}
	}
	a.loaded = true
	return false, nil
}

// RegisterLedgers registers how many proved positions are remembered in all: the part of a master's
// memory that grows with what workers upload.
func RegisterLedgers(r prometheus.Registerer, ledgers func() []*proof.Ledger) {
	r.MustRegister(prometheus.NewGaugeFunc(prometheus.GaugeOpts{
		Namespace: "amazons", Subsystem: "master", Name: "proved_positions",
		Help: "Proved positions that are remembered to verify uploads, of 11 to 16 bytes each outside the Go heap.",
	}, func() float64 {
		positions := 0.0
		for _, l := range ledgers() {
			positions += float64(l.Positions())
		}
		return positions
	}))
}
