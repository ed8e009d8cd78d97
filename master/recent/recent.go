// Package recent keeps the facts that became durable last.
//
// The pages show them as a log. Serial numbers have no gaps, so a reader that was away for long
// sees in the numbers how many facts it has missed.
package recent

import (
	"slices"
	"time"

	"amazonsfarm/shared/amazons"
	"amazonsfarm/shared/proof"
)

// Entry is a fact and when it was learned.
type Entry struct {
	Serial   uint64    // 1 for the first, with no gaps
	At       time.Time // of its commit
	Position string    // with its colours
	proof.Fact
}

// Facts are the latest facts, the last one at the end. The zero value is ready.
type Facts struct {
	list   []Entry
	serial uint64 // of the last one
}

// Add notes facts and forgets all but the latest, as many as most says.
func (r *Facts) Add(at time.Time, most int, facts []proof.Fact) {
	r.serial += uint64(len(facts))
	if surplus := len(facts) - most; surplus > 0 {
		facts = facts[surplus:]
	}
	first := r.serial - uint64(len(facts)) + 1
	for i, f := range facts {
		r.list = append(r.list, Entry{Serial: first + uint64(i), At: at, Fact: f})
	}
	if surplus := len(r.list) - most; surplus > 0 {
		r.list = append(r.list[:0], r.list[surplus:]...)
	}
}

// Len returns how many there are.
func (r *Facts) Len() int { return len(r.list) }

// Latest returns a copy, the last fact first; text writes their positions.
func (r *Facts) Latest(text func(amazons.Key) string) []Entry {
	list := slices.Clone(r.list)
	slices.Reverse(list)
	for i := range list {
		list[i].Position = text(list[i].Key)
	}
	return list
}
