package trust

import (
	"fmt"
	"slices"
	"time"
)

// stands notes that a standing has changed and is to be written.
func (b *Book) stands(r *record, now time.Time) {
	if r.quarantine == nil && r.Empty() {
		b.drop(r.Party)
		return
	}
	r.Seen = now.UTC().Round(0)
	b.changed[r.Party] = struct{}{}
}

// Changed returns the standings that are to be written, by party, and counts them as written; Kept
// says afterwards whether they were. An empty standing takes away what the store has. With all,
// every difference from the store is among them, also one that is too small to be written as a
// rule. Of a party in quarantine the store has the quarantine and no standing.
func (b *Book) Changed(all bool) []Standing {
	if all {
		for p, r := range b.records {
			if r.quarantine == nil && r.Standing != b.stored[p] {
				b.changed[p] = struct{}{}
			}
		}
	}
	list := make([]Standing, 0, len(b.changed))
	for p := range b.changed {
		switch r := b.records[p]; {
		case r == nil:
			list = append(list, Standing{Party: p})
		case r.quarantine == nil:
			list = append(list, r.Standing)
		}
	}
	clear(b.changed)
	slices.SortFunc(list, func(a, b Standing) int { return byText(a.Party, b.Party) })
	return list
}

// Kept says whether the store has kept a list that Changed returned. Other calls may come between.
func (b *Book) Kept(list []Standing, done bool) {
	for _, st := range list {
		known := b.records[st.Party]
		if !done {
			if _, ok := b.stored[st.Party]; ok || known != nil {
				b.changed[st.Party] = struct{}{}
			}
			continue
		}
		if delete(b.stored, st.Party); !st.Empty() {
			if b.stored[st.Party] = st; known == nil { // forgotten meanwhile
				b.changed[st.Party] = struct{}{}
			}
		}
	}
}

// UnkeptQuarantines returns the quarantines that the store does not have yet.
func (b *Book) UnkeptQuarantines() []Quarantine {
	var list []Quarantine
	for _, r := range b.records {
		if r.quarantine != nil && !r.kept {
			list = append(list, *r.quarantine)
		}
	}
	return list
}

// QuarantineKept says that the store has a quarantine now, and has taken the standing away.
func (b *Book) QuarantineKept(p Party) {
	if r := b.records[p]; r != nil && r.quarantine != nil {
		r.kept = true
		b.gone(p)
	}
}

// Released says that the store has released a party, and has taken its standing away. If it is in
// quarantine here, it is released here too.
func (b *Book) Released(p Party) {
	if r := b.records[p]; r != nil && r.quarantine != nil {
		delete(b.records, p)
	}
	b.gone(p)
}

// gone notes that the store has no standing of a party.
func (b *Book) gone(p Party) {
	delete(b.stored, p)
	delete(b.changed, p)
}

// Audit compares the book with what the store has, and with its own limits: nil if all holds. The
// tests call it between steps, while no list of Changed is on its way.
func (b *Book) Audit(quarantines []Quarantine, standings []Standing) error {
	if len(b.records) > max(b.maxParties, len(quarantines)) || len(b.stored) > 2*b.maxParties {
		return fmt.Errorf("%d parties and %d stored ones, the limit is %d", len(b.records), len(b.stored), b.maxParties)
	}
	saved := map[Party]bool{}
	for _, q := range quarantines {
		if saved[q.Party] = true; b.InQuarantine(q.Party) == nil {
			return fmt.Errorf("%v is in quarantine in the store and not here", q.Party)
		}
	}
	for p, r := range b.records {
		if r.quarantine != nil && r.kept && !saved[p] {
			return fmt.Errorf("the store lacks the quarantine of %v", p)
		}
	}
	for _, st := range standings {
		if b.stored[st.Party] != st || saved[st.Party] {
			return fmt.Errorf("the store has %+v, the book believes %+v; in quarantine: %v", st, b.stored[st.Party],
				saved[st.Party])
		}
	}
	for p := range b.changed {
		if _, ok := b.stored[p]; !ok && b.records[p] == nil {
			return fmt.Errorf("%v is to be written, and known nowhere", p)
		}
	}
	if len(b.stored) != len(standings) {
		return fmt.Errorf("%d standings are stored, the book believes %d", len(standings), len(b.stored))
	}
	return nil
}
