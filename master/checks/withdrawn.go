package checks

import (
	"maps"
	"time"

	"amazonsfarm/shared/amazons"
)

const (
	// excused is how long parts may come that cite what was taken back: as long as workers look for a master that is
	// away. They had made these parts before, and could not know.
	excused = 24 * time.Hour
	// maxWithdrawn bounds the positions that are remembered, some 60 bytes each.
	maxWithdrawn = 1 << 18
)

// withdrawal is a position whose claim was taken back.
type withdrawal struct {
	pool uint32
	key  amazons.Key
}

// Withdrawn remembers for a day which claims were taken back.
type Withdrawn struct {
	at  map[withdrawal]time.Time
	all time.Time // until then everything is excused, since there was too much to remember
}

// NewWithdrawn returns a memory without claims.
func NewWithdrawn() *Withdrawn { return &Withdrawn{at: map[withdrawal]time.Time{}} }

// Add notes that what a pool said of positions was taken back.
func (w *Withdrawn) Add(pool uint32, keys []amazons.Key, now time.Time) {
	if len(w.at)+len(keys) > maxWithdrawn {
		maps.DeleteFunc(w.at, func(_ withdrawal, at time.Time) bool { return now.Sub(at) > excused })
	}
	if len(w.at)+len(keys) > maxWithdrawn {
		clear(w.at)
		w.all = now.Add(excused)
		return
	}
	for _, key := range keys {
		w.at[withdrawal{pool, key}] = now
	}
}

// Excuses reports whether all that a part cites and no part proves was taken back a short time ago. The maker of
// such a part did nothing wrong.
func (w *Withdrawn) Excuses(pool uint32, lacks []amazons.Key, now time.Time) bool {
	for _, key := range lacks {
		if at, known := w.at[withdrawal{pool, key}]; (!known || now.Sub(at) > excused) && now.After(w.all) {
			return false
		}
	}
	return len(lacks) > 0
}
