package rpc

import (
	"cmp"
	"maps"
	"slices"
	"strings"
	"time"

	"amazonsfarm/master/tree"
)

// A party's standing outlasts the master: what speaks for it, so that its results are taken at once
// after a restart, and what is held against it, so that nobody begins anew by waiting for one. It
// is kept in the store, beside the loop: whatever has changed goes into one transaction after each
// tick, and what is left into one when Run ends; what finds no room is tried again. A crash loses
// what changed since the last tick, and up to an eighth of the positions that a party has solved,
// which change most and count least: the farther it has come, the less often they are written. What
// it said that nobody has checked (party.unchecked in package tree) is not kept: it stands after a
// restart.

// Standing is what is known of a party that is not in quarantine.
type Standing struct {
	Party
	Confirmed int       // results that others confirmed
	Solved    int       // positions of its leases, with evidence
	Doubts    int       // contradicted numbers that no confirmed ones have made up for
	Doubted   bool      // the first of them is no offence
	Offences  int       // counted until it is quarantined
	Seen      time.Time // when one of its workers was there last, or this changed
}

// Empty reports whether nothing is known.
func (s Standing) Empty() bool {
	return s.Confirmed == 0 && s.Solved == 0 && s.Doubts == 0 && s.Offences == 0
}

// against reports whether something is held against the party.
func (s Standing) against() bool { return s.Doubts > 0 || s.Offences > 0 }

// seenEvery is how old the time may be, in the store, when a party that is there was seen.
const seenEvery = time.Hour

// standing is what is known of a party, whether it is in quarantine or not.
type standing struct {
	Standing
	quarantine *Quarantine // not nil: quarantined
	unsaved    bool        // the store does not know the quarantine yet
	taken      bool        // what the party has said is taken back
}

// standing returns that of a party, so far maybe an empty one, and whose quarantine had to be
// forgotten for want of room. The caller holds mu.
func (m *Master) standing(p Party) (o *standing, forgotten *Party) {
	if o = m.standings[p]; o != nil {
		return o, nil
	}
	if len(m.standings) >= m.cfg.MaxOffenders {
		forgotten = m.forgetStanding()
	}
	o = &standing{Standing: Standing{Party: p}}
	m.standings[p] = o
	return o, forgotten
}

// stands notes that a standing has changed and is to be written. The caller holds mu.
func (m *Master) stands(o *standing) {
	if o.quarantine == nil && o.Empty() {
		m.drop(o.Party)
		return
	}
	o.Seen = m.cfg.Now().UTC().Round(0)
	m.unsaved[o.Party] = struct{}{}
}

// drop forgets the standing of a party, here and in the store. The caller holds mu.
func (m *Master) drop(p Party) {
	delete(m.standings, p)
	delete(m.unsaved, p)
	if _, ok := m.stored[p]; ok {
		m.unsaved[p] = struct{}{}
	}
}

// gone notes that the store has taken the standing of a party away. The caller holds mu.
func (m *Master) gone(p Party) {
	delete(m.stored, p)
	delete(m.unsaved, p)
}

// credit takes over what the trees count for a party. One with nothing against it is not taken up
// where all others have something that counts; and where there is no room for it, as looking for
// the one to forget takes a while with thousands of them, only one is taken up between two ticks.
// The goroutine of Run calls it.
func (m *Master) credit(p Party) {
	confirmed, solved := m.plan.Standing(p.String())
	if confirmed == 0 && solved == 0 {
		return
	}
	m.releaseForgotten(m.raise(p, confirmed, solved))
}

// raise notes what speaks for a party. It returns whose quarantine had to be forgotten for want of
// room.
func (m *Master) raise(p Party, confirmed, solved int) (forgotten *Party) {
	m.mu.Lock()
	defer m.mu.Unlock()
	o := m.standings[p]
	if o == nil {
		if len(m.standings) >= m.cfg.MaxOffenders {
			if m.crowded {
				return nil
			}
			m.crowded = true
			if least := m.leastStanding(); least.cost() > 2 || least.cost() == 2 && least.against() {
				return nil
			}
		}
		o, forgotten = m.standing(p)
	}
	more := confirmed > o.Confirmed
	if o.quarantine != nil || !more && solved <= o.Solved {
		return forgotten
	}
	o.Confirmed, o.Solved = max(o.Confirmed, confirmed), max(o.Solved, solved)
	if kept := m.stored[p].Solved; more || o.Solved-kept > kept/8 {
		m.stands(o)
	}
	return forgotten
}

// joining is the event of a worker that is there.
func (m *Master) joining(s *session) tree.Joined {
	e := tree.Joined{Worker: s.name, Slots: m.cfg.Slots, Party: s.party().String()}
	m.mu.Lock()
	defer m.mu.Unlock()
	if o := m.standings[s.party()]; o != nil {
		e.Confirmed, e.Solved = o.Confirmed, o.Solved
	}
	return e
}

// sees notes that the party of a session is there. The caller holds mu.
func (m *Master) sees(s *session, now time.Time) {
	o := m.standings[s.party()]
	if o == nil || o.quarantine != nil {
		return
	}
	if o.Seen = now; now.Sub(m.stored[o.Party].Seen) >= seenEvery {
		m.unsaved[o.Party] = struct{}{}
	}
}

// leastStanding returns the standing with which least is lost; there is one. The caller holds mu.
func (m *Master) leastStanding() *standing {
	var least *standing
	for _, o := range m.standings {
		if least == nil || less(o, least) {
			least = o
		}
	}
	return least
}

// forgetStanding makes room for a party, as less says which; one that was quarantined is returned.
// The caller holds mu.
func (m *Master) forgetStanding() *Party {
	least := m.leastStanding()
	m.drop(least.Party)
	if least.quarantine == nil {
		return nil
	}
	return &least.Party
}

// cost says how much is lost with a standing, and what is behind it lost with less. What is held
// against a name without a certificate, of which nothing good is known, goes first, quarantined
// names after the others: whoever wants to has a new name at once, so that thousands of them must
// not push out those that have shown something.
func (o *standing) cost() int {
	switch {
	case !o.Certificate && o.quarantine != nil:
		return 1
	case !o.Certificate && o.Confirmed == 0 && o.Solved == 0:
		return 0
	case o.quarantine == nil:
		return 2
	}
	return 3
}

// less says that it is better to forget a than b: the one that costs less; of equals the one with
// the fewest offences and doubts, then the one that was seen longest ago, or that has been in
// quarantine for longest.
func less(a, b *standing) bool {
	if c := cmp.Compare(a.cost(), b.cost()); c != 0 {
		return c < 0
	}
	if a.quarantine != nil {
		return a.quarantine.Since.Before(b.quarantine.Since)
	}
	return cmp.Or(cmp.Compare(a.Offences, b.Offences), cmp.Compare(a.Doubts, b.Doubts), a.Seen.Compare(b.Seen)) < 0
}

// saveStandings writes what has changed, or, where Run ends, whatever the store has otherwise. What
// cannot be written is tried again.
func (m *Master) saveStandings(all bool) {
	m.saving.Lock()
	defer m.saving.Unlock()
	list := m.changedStandings(all)
	if len(list) == 0 {
		return
	}
	err := m.store.SetStandings(list)
	m.mu.Lock()
	defer m.mu.Unlock()
	for _, st := range list {
		known := m.standings[st.Party]
		if err != nil {
			if _, ok := m.stored[st.Party]; ok || known != nil {
				m.unsaved[st.Party] = struct{}{}
			}
			continue
		}
		if delete(m.stored, st.Party); !st.Empty() {
			if m.stored[st.Party] = st; known == nil { // forgotten meanwhile
				m.unsaved[st.Party] = struct{}{}
			}
		}
	}
	switch {
	case err != nil && !m.behind:
		m.cfg.Log.Error("what is known of workers is not in the store yet", "parties", len(list), "error", err)
	case err == nil && m.behind:
		m.cfg.Log.Warn("what is known of workers is in the store again", "parties", len(list))
	}
	m.behind = err != nil
}

// wakeSaver has what has changed written, beside the loop.
func (m *Master) wakeSaver() {
	m.mu.Lock()
	waits := len(m.unsaved) > 0
	m.mu.Unlock()
	if waits {
		select {
		case m.saves <- struct{}{}:
		default: // it is at it; the next tick comes
		}
	}
}

// changedStandings returns what is to be written, by party, and counts it as written. Of who is
// quarantined the store has nothing but that.
func (m *Master) changedStandings(all bool) []Standing {
	m.mu.Lock()
	defer m.mu.Unlock()
	if all {
		for p, o := range m.standings {
			if o.quarantine == nil && o.Standing != m.stored[p] {
				m.unsaved[p] = struct{}{}
			}
		}
	}
	list := make([]Standing, 0, len(m.unsaved))
	for p := range maps.Keys(m.unsaved) {
		o := m.standings[p]
		switch {
		case o == nil:
			list = append(list, Standing{Party: p})
		case o.quarantine == nil:
			list = append(list, o.Standing)
		}
	}
	clear(m.unsaved)
	slices.SortFunc(list, func(a, b Standing) int { return strings.Compare(a.Party.String(), b.Party.String()) })
	return list
}

// recall takes in the quarantines and standings that the store has.
func (m *Master) recall() error {
	quarantines, err := m.store.Quarantines()
	if err != nil {
		return err
	}
	standings, err := m.store.Standings()
	if err != nil {
		return err
	}
	for _, q := range quarantines {
		m.standings[q.Party] = &standing{Standing: Standing{Party: q.Party, Offences: q.Offences}, quarantine: &q,
			taken: true}
	}
	for _, st := range standings {
		m.stored[st.Party] = st
		if m.standings[st.Party] == nil {
			m.standings[st.Party] = &standing{Standing: st}
		}
	}
	// The limit may have been larger before. Quarantines beyond it stay: each new one makes room
	// for itself.
	for len(m.standings) > max(m.cfg.MaxOffenders, len(quarantines)) {
		m.forgetStanding()
	}
	return nil
}
