// Package ledger counts the evidence that parties of workers deliver, against the leases that they were
// granted, so that no party fills the disk with parts that nobody asked for.
package ledger

import (
	"errors"
	"fmt"
	"maps"
	"sync"
	"sync/atomic"
	"time"

	"amazonsfarm/master/trust"
	"amazonsfarm/shared/proof"
)

const (
	// bytesPerNode is how much evidence a party may deliver for each node of the leases that it was
	// granted. Proofs have some 7 bytes a node searched (4x7), by the rules alone some 30.
	bytesPerNode = 256
	// freeEvidence is how much a party with a credential, or with a standing from before the master started, may
	// deliver beyond that: what it brings from that time, or found by the way. The others share as much, and no more,
	// as a new name costs nothing.
	freeEvidence = 64 << 20
	// RootCharge is what each fact counts beside the bytes of its part: the memory and the records that
	// it takes.
	RootCharge = 1 << 10
	// maxPromised is how many parts of a party may be under way at a time, 100 bytes each. All workers of a large
	// cluster may have one credential, and a slow bucket keeps each of them waiting.
	maxPromised = 1 << 16
	// sweepPeriod is how often promises are looked through for those whose time is over.
	sweepPeriod = time.Minute
)

// ErrUnasked says that a party delivers more evidence than its leases account for.
var ErrUnasked = errors.New("more evidence than was asked for")

// ErrUnderWay says that a party may not have more evidence under way at a time.
var ErrUnderWay = errors.New("too much evidence is under way")

// Ledger counts the evidence that a party has delivered, against the leases that it was granted. It is
// safe for concurrent use.
type Ledger struct {
	common *Ledger // what is free is taken from there; nil: its own

	mu    sync.Mutex
	nodes uint64 // of leases granted
	taken int64
	drawn int64 // of what is free
	way   underWay

	tried    atomic.Int64 // parts
	standing atomic.Int64 // confirmed results, and solved positions of leases
}

// trialParts is the number of parts of a party that are checked before they count, at least. So the tree never uses
// the first lie of a party.
const trialParts = 3

// OnTrial counts a part, and reports whether the part must be checked before it counts: it is one of the first of its
// party, or the party has no standing yet.
func (l *Ledger) OnTrial() bool {
	return l.tried.Add(1) <= trialParts || l.standing.Load() == 0
}

// Stands notes the standing of the party: confirmed results, and solved positions of its leases.
func (l *Ledger) Stands(standing int) { l.standing.Store(int64(standing)) }

// Granted counts a lease.
func (l *Ledger) Granted(nodes uint64) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.nodes += min(nodes, 1<<40)
}

// Take counts evidence before it is received. ErrUnasked: it is too much.
func (l *Ledger) Take(bytes int64) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	beyond := l.taken + bytes - l.earned()
	if more := beyond - l.drawn; more > 0 {
		if !l.draw(more, true) {
			return fmt.Errorf("%w: %d bytes beside %d before, for leases of %d nodes", ErrUnasked, bytes, l.taken,
				l.nodes)
		}
		l.drawn = beyond
	}
	l.taken += bytes
	return nil
}

// draw reports whether so much is free, and takes it from what is common if take is set.
func (l *Ledger) draw(n int64, take bool) bool {
	if l.common == nil {
		return l.drawn+n <= freeEvidence
	}
	l.common.mu.Lock()
	defer l.common.mu.Unlock()
	free := l.common.taken+n <= freeEvidence
	if free && take {
		l.common.taken += n
	}
	return free
}

// Give takes back what was counted for evidence that did not come.
func (l *Ledger) Give(bytes int64) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.taken -= bytes
	back := min(bytes, l.drawn, l.drawn-(l.taken-l.earned()))
	if back <= 0 {
		return
	}
	l.drawn -= back
	if l.common != nil {
		l.common.mu.Lock()
		defer l.common.mu.Unlock()
		l.common.taken -= back
	}
}

// Promise counts a part as under way until a time, because it has an address. What is under way is bounded as what was
// taken is, beside it. Announced again, a part never counts less: the first address is good as well. Errors:
// ErrUnasked where the part would not be taken, ErrUnderWay where others have to come first.
func (l *Ledger) Promise(id proof.ID, bytes int64, until time.Time) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.lacks(bytes) {
		return fmt.Errorf("%w: %d bytes beside %d before, for leases of %d nodes", ErrUnasked, bytes, l.taken, l.nodes)
	}
	beyond := l.taken + l.way.with(id, bytes) - l.earned()
	_, again := l.way.parts[id]
	full := !again && len(l.way.parts) >= maxPromised
	if beyond > 0 && l.common == nil {
		full = full || beyond > freeEvidence
	} else if beyond > 0 && !full {
		l.common.mu.Lock()
		defer l.common.mu.Unlock()
		if full = l.common.way.with(id, bytes) > freeEvidence; !full {
			l.common.way.add(id, bytes, until)
		}
	}
	if full {
		return fmt.Errorf("%w: %d bytes beside %d, for leases of %d nodes", ErrUnderWay, bytes, l.way.bytes, l.nodes)
	}
	l.way.add(id, bytes, until)
	return nil
}

// Arrived ends the promise of a part: it is there.
func (l *Ledger) Arrived(id proof.ID) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.way.end(id)
	if l.common != nil {
		l.common.mu.Lock()
		defer l.common.mu.Unlock()
		l.common.way.end(id)
	}
}

// underWay is the parts that have an address in a bucket and did not come yet.
type underWay struct {
	parts map[proof.ID]promise
	bytes int64
	swept time.Time // when those whose time is over were ended last
}

// promise is so much evidence, which may come until a time.
type promise struct {
	bytes int64
	until time.Time
}

// with returns the bytes under way once so many are announced for a part.
func (w *underWay) with(id proof.ID, bytes int64) int64 {
	if now := time.Now(); now.Sub(w.swept) >= sweepPeriod {
		w.swept = now
		for id, p := range w.parts {
			if p.until.Before(now) {
				w.end(id)
			}
		}
	}
	return w.bytes + max(0, bytes-w.parts[id].bytes)
}

func (w *underWay) add(id proof.ID, bytes int64, until time.Time) {
	if w.parts == nil {
		w.parts = map[proof.ID]promise{}
	}
	w.bytes = w.with(id, bytes)
	w.parts[id] = promise{max(bytes, w.parts[id].bytes), until}
}

func (w *underWay) end(id proof.ID) {
	w.bytes -= w.parts[id].bytes
	delete(w.parts, id)
}

// lacks reports whether Take would refuse.
func (l *Ledger) lacks(bytes int64) bool {
	more := l.taken + bytes - l.earned() - l.drawn
	return more > 0 && !l.draw(more, false)
}

// earned is how much evidence the leases account for, in bytes.
func (l *Ledger) earned() int64 { return int64(min(l.nodes, 1<<50)) * bytesPerNode }

// maxLedgers bounds the parties whose evidence is counted, 100 bytes each. Beyond it parties without standing are
// forgotten, since new names cost nothing; if too many are left, all counts begin anew.
const maxLedgers = 100_000

// Ledgers has a ledger for each party. Only Ledger is safe for concurrent use.
type Ledgers struct {
	of     map[trust.Party]*Ledger
	common *Ledger // of parties without credential and standing
}

// New returns ledgers in which nothing was counted.
func New() Ledgers { return Ledgers{map[trust.Party]*Ledger{}, new(Ledger)} }

// Of returns the ledger of a party, a new one for its standing where there is none.
func (b *Ledgers) Of(p trust.Standing) *Ledger {
	l := b.of[p.Party]
	if l == nil {
		if len(b.of) >= maxLedgers {
			maps.DeleteFunc(b.of, func(_ trust.Party, l *Ledger) bool { return l.standing.Load() == 0 })
		}
		if len(b.of) >= maxLedgers {
			clear(b.of)
		}
		l = new(Ledger)
		l.Stands(p.Confirmed + p.Solved)
		if !p.Credential && l.standing.Load() == 0 {
			l.common = b.common
		}
		b.of[p.Party] = l
	}
	return l
}
