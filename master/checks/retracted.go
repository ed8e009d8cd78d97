package checks

import (
	"slices"
	"time"

	"amazonsfarm/shared/amazons"
)

const (
	// Excused is how long parts may come that cite what was taken back: as long as workers look for a master that is
	// away. They had made these parts before, and could not know.
	Excused = 24 * time.Hour
	// maxRetracted bounds the positions that are remembered, some 60 bytes each.
	maxRetracted = 1 << 18
)

// claim is a position whose claim was taken back.
type claim struct {
	pool uint32
	key  amazons.Key
}

// Retracted remembers which claims were taken back, since a part may be needed long after it came.
type Retracted struct {
	at  map[claim]time.Time
	all time.Time // what came until then is excused, since there was too much to remember
}

// NewRetracted returns a memory without claims.
func NewRetracted() *Retracted { return &Retracted{at: map[claim]time.Time{}} }

// Add notes that what a pool said of positions was taken back.
func (r *Retracted) Add(pool uint32, keys []amazons.Key, now time.Time) {
	if len(r.at)+len(keys) > maxRetracted {
		clear(r.at)
		r.all = now.Add(Excused)
		return
	}
	for _, key := range keys {
		r.at[claim{pool, key}] = now
	}
}

// Excuses reports whether all that a part cites and no part proves was taken back a short time before the part came, or
// after that. The maker of such a part did nothing wrong.
func (r *Retracted) Excuses(pool uint32, lacks []amazons.Key, came time.Time) bool {
	return len(lacks) > 0 && !slices.ContainsFunc(lacks, func(key amazons.Key) bool {
		at, known := r.at[claim{pool, key}]
		return (!known || came.Sub(at) > Excused) && came.After(r.all)
	})
}
