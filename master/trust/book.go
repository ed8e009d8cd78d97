package trust

import (
	"cmp"
	"slices"
	"strings"
	"time"
)

const (
	// MaxOffences is the number of offences after which a party is quarantined. One may still be
	// a fault of a network; with more a liar would keep the others busy for longer.
	MaxOffences = 3
	// MaxParties is the number of parties in a Book, of 1 KiB each in memory. With fewer, sound
	// workers of a large farm would be unknown after a restart.
	MaxParties = 10_000
	// MaxWhy bounds a reason that is stored or sent, in bytes.
	MaxWhy = 500
)

// seenEvery is how old Seen may be in the store while a worker of the party is there. Presence
// alone is written once an hour, not at each tick.
const seenEvery = time.Hour

// record is what is known of a party, in quarantine or not.
type record struct {
	Standing
	quarantine *Quarantine // not nil: in quarantine
	kept       bool        // the store has the quarantine
	withdrawn  bool        // the trees have taken back what the party said
}

// Book holds the records of all parties. It is not safe for concurrent use.
type Book struct {
	maxOffences, maxParties int

	records map[Party]*record
	stored  map[Party]Standing // as the store has them
	changed map[Party]struct{} // to be written; each is in records or in stored
	crowded bool               // a record was forgotten to make room since the last Tick
	effects []Effect
}

// NewBook makes a book of what the store has. Zero limits stand for MaxOffences and MaxParties.
func NewBook(maxOffences, maxParties int, quarantines []Quarantine, standings []Standing) *Book {
	b := &Book{maxOffences: cmp.Or(maxOffences, MaxOffences), maxParties: cmp.Or(maxParties, MaxParties),
		records: map[Party]*record{}, stored: map[Party]Standing{}, changed: map[Party]struct{}{}}
	for _, q := range quarantines {
		b.records[q.Party] = &record{Standing: Standing{Party: q.Party, Offences: q.Offences}, quarantine: &q,
			kept: true, withdrawn: true}
	}
	for _, st := range standings {
		b.stored[st.Party] = st
		if b.records[st.Party] == nil {
			b.records[st.Party] = &record{Standing: st}
		}
	}
	// The limit may have been larger before. Quarantines beyond it stay: each new one makes room
	// for itself.
	for len(b.records) > max(b.maxParties, len(quarantines)) {
		b.drop(b.least().Party)
	}
	return b
}

// take returns the effects since it was called last.
func (b *Book) take() []Effect {
	effects := b.effects
	b.effects = nil
	return effects
}

// Standing returns what is known of a party; all fields are zero for an unknown one.
func (b *Book) Standing(p Party) Standing {
	if r := b.records[p]; r != nil {
		return r.Standing
	}
	return Standing{Party: p}
}

// Standings returns what is known of parties that are not in quarantine, by party.
func (b *Book) Standings() []Standing {
	list := []Standing{}
	for _, r := range b.records {
		if r.quarantine == nil {
			list = append(list, r.Standing)
		}
	}
	slices.SortFunc(list, func(a, b Standing) int { return byText(a.Party, b.Party) })
	return list
}

// InQuarantine returns the quarantine of a party, nil if there is none.
func (b *Book) InQuarantine(p Party) *Quarantine {
	if r := b.records[p]; r != nil {
		return r.quarantine
	}
	return nil
}

// Quarantines returns all quarantines, by name.
func (b *Book) Quarantines() []Quarantine {
	list := []Quarantine{}
	for _, r := range b.records {
		if r.quarantine != nil {
			list = append(list, *r.quarantine)
		}
	}
	slices.SortFunc(list, func(a, b Quarantine) int {
		return cmp.Or(strings.Compare(a.Name, b.Name), strings.Compare(a.Party.String(), b.Party.String()))
	})
	return list
}

// Offend counts an offence, and quarantines the party when there are too many.
func (b *Book) Offend(o Offence, now time.Time) []Effect {
	r := b.record(o.Party)
	if r.quarantine != nil { // it was under way when the party was quarantined
		b.effects = append(b.effects, Offended{Offence: o})
		return b.take()
	}
	r.Offences++
	b.stands(r, now)
	b.effects = append(b.effects, Offended{o, r.Offences})
	if r.Offences >= b.maxOffences || o.Grave {
		r.quarantine = &Quarantine{Party: o.Party, Since: now.UTC(), Offences: r.Offences, Offence: o.Kind,
			Why: Clip(o.Why, MaxWhy), Worker: o.Worker, Address: o.Address}
		b.effects = append(b.effects, Quarantined{*r.quarantine})
	}
	return b.take()
}

// Clip bounds what somebody says in words to a number of bytes.
func Clip(s string, most int) string {
	if len(s) > most {
		s = s[:most-3] + "..."
	}
	return strings.ToValidUTF8(s, "")
}

// Compare notes how a check came out. Two sound searches differ by accident in about one comparison
// of a thousand. So the first contradiction of a proven party is no offence; the next ones are, and
// a confirmed result makes up for one of them.
func (b *Book) Compare(c Comparison, now time.Time) []Effect {
	if c.Agreed {
		b.makeUp(c.Party, now)
		return b.take()
	}
	r := b.record(c.Party)
	r.Contradicted++
	if r.Contradicted == 1 {
		r.Forgiven = c.Proven
	}
	forgiven := r.Contradicted == 1 && r.Forgiven
	b.stands(r, now)
	if forgiven {
		b.effects = append(b.effects, Contradicted{c})
		return b.take()
	}
	return b.Offend(Offence{Party: c.Party, Worker: c.Worker, Address: c.Address, Kind: Numbers, Why: c.Why}, now)
}

// makeUp takes back one contradiction of a party.
func (b *Book) makeUp(p Party, now time.Time) {
	r := b.records[p]
	if r == nil || r.quarantine != nil || r.Contradicted == 0 {
		return
	}
	if r.Contradicted--; r.Contradicted > 0 || !r.Forgiven {
		r.Offences--
	}
	b.stands(r, now)
}

// Credit notes the confirmed results and solved positions that the trees count for a party. A party
// that is new here, with nothing against it, gets no room where all others have something that
// counts. Looking for the record to forget takes a while with thousands of them, so only one new
// party is taken up between two ticks when there is no room.
func (b *Book) Credit(p Party, confirmed, solved int, now time.Time) []Effect {
	if confirmed == 0 && solved == 0 {
		return nil
	}
	r := b.records[p]
	if r == nil {
		if len(b.records) >= b.maxParties {
			if b.crowded {
				return nil
			}
			b.crowded = true
			if least := b.least(); least.cost() > 2 || least.cost() == 2 && least.bad() {
				return nil
			}
		}
		r = b.record(p)
	}
	more := confirmed > r.Confirmed
	if r.quarantine == nil && (more || solved > r.Solved) {
		r.Confirmed, r.Solved = max(r.Confirmed, confirmed), max(r.Solved, solved)
		if kept := b.stored[p].Solved; more || r.Solved-kept > kept/8 {
			b.stands(r, now)
		}
	}
	return b.take()
}

// Work notes what a worker of the party has searched. A new party is remembered while there is room for
// it. A crash loses up to an eighth of the nodes, as it does of solved positions.
func (b *Book) Work(p Party, nodes uint64, coreSeconds float64, now time.Time) {
	r := b.records[p]
	if nodes == 0 || r == nil && len(b.records) >= b.maxParties {
		return
	}
	if r == nil {
		r = b.record(p)
	}
	if r.quarantine == nil {
		r.Nodes, r.CoreSeconds = r.Nodes+min(nodes, 1<<50), r.CoreSeconds+coreSeconds
		if kept := b.stored[p].Nodes; r.Nodes-kept > kept/8 {
			b.stands(r, now)
		}
	}
}

// See notes that a worker of the party is there.
func (b *Book) See(p Party, now time.Time) {
	r := b.records[p]
	if r == nil || r.quarantine != nil {
		return
	}
	if r.Seen = now; now.Sub(b.stored[p].Seen) >= seenEvery {
		b.changed[p] = struct{}{}
	}
}

// Tick says that a tick has passed. It returns the parties that were quarantined since the last one:
// the trees are to take back what they said. With withdraw false they stay for a later tick.
func (b *Book) Tick(withdraw bool) (distrusted []Party) {
	b.crowded = false
	if !withdraw {
		return nil
	}
	for p, r := range b.records {
		if r.quarantine != nil && !r.withdrawn {
			r.withdrawn = true
			distrusted = append(distrusted, p)
		}
	}
	slices.SortFunc(distrusted, byText)
	return distrusted
}

func byText(a, b Party) int { return strings.Compare(a.String(), b.String()) }

// record returns the record of a party and creates it if needed, in the place of the least one where
// there is no room.
func (b *Book) record(p Party) *record {
	if r := b.records[p]; r != nil {
		return r
	}
	if len(b.records) >= b.maxParties {
		least := b.least()
		b.drop(least.Party)
		if least.quarantine != nil {
			b.effects = append(b.effects, Forgotten{least.Party})
		}
	}
	r := &record{Standing: Standing{Party: p}}
	b.records[p] = r
	return r
}

// drop forgets the record of a party, here and in the store.
func (b *Book) drop(p Party) {
	delete(b.records, p)
	delete(b.changed, p)
	if _, ok := b.stored[p]; ok {
		b.changed[p] = struct{}{}
	}
}

// least returns the record with which least is lost; there is one.
func (b *Book) least() *record {
	var least *record
	for _, r := range b.records {
		if least == nil || less(r, least) {
			least = r
		}
	}
	return least
}

// cost says how much is lost with a record. Bad records of names without a credential cost least,
// quarantined names a little more: a new name costs its worker nothing, so thousands of such names
// must not push out parties that have shown something.
func (r *record) cost() int {
	switch {
	case !r.Credential && r.quarantine != nil:
		return 1
	case !r.Credential && r.Confirmed == 0 && r.Solved == 0:
		return 0
	case r.quarantine == nil:
		return 2
	}
	return 3
}

// less says that it is better to forget a than b: the record that costs less; of equals the one with
// the fewest offences and contradictions, then the one seen longest ago, or longest in quarantine.
func less(a, b *record) bool {
	if c := cmp.Compare(a.cost(), b.cost()); c != 0 {
		return c < 0
	}
	if a.quarantine != nil {
		return a.quarantine.Since.Before(b.quarantine.Since)
	}
	return cmp.Or(cmp.Compare(a.Offences, b.Offences), cmp.Compare(a.Contradicted, b.Contradicted),
		a.Seen.Compare(b.Seen)) < 0
}
