package rpc

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"amazonsfarm/master/tree"
	farmv1 "amazonsfarm/proto/farm/v1"
	"amazonsfarm/shared/amazons"
)

// Offences are what a sound worker never does, so that nobody commits one by accident: the values
// of a metric's label. After Config.MaxOffences of them, of any kinds, a worker's party is
// quarantined. What may be an accident is refused and counted elsewhere, and not held against the
// worker: a result that comes late, a fact whose certificate the store does not have (any more),
// one search that ends before its budget, or one whose numbers others contradict.
const (
	offenceCertificate = "false_certificate" // an uploaded certificate does not prove what it claims, or is none
	offenceClaim       = "unfounded_claim"   // an outcome without a fact, or a fact that its certificate does not state
	offenceLease       = "foreign_lease"     // the lease is somebody else's, or was never granted
	offenceFlood       = "flood"             // over Config.SessionMessages
	offenceSize        = "oversize"          // a message, a chunk or a certificate over its limit
	offenceMalformed   = "malformed"         // a message that means nothing
	offenceNumbers     = "numbers"           // others agree that an unsolved position has other numbers: Master.checked
	// one result after the other, open and before its budget: they are of no use
	offenceShort = "short"
)

var offenceKinds = []string{offenceCertificate, offenceClaim, offenceLease, offenceFlood, offenceSize, offenceMalformed,
	offenceNumbers, offenceShort}

// Results in a row that came back open before their budgets are an offence when they weigh
// shortWeight together: ten of one position, of which one alone may be a search that found no way
// to go on and finds none the next time either, or four of different positions, which weigh
// shortElsewhere each.
const (
	shortWeight    = 10
	shortElsewhere = 3
)

// heardShort counts the results in a row of a worker that came back before their budgets.
func (m *Master) heardShort(s *session, of amazons.Key, short bool) {
	if !short {
		s.short, s.shortOf = 0, amazons.Key{}
		return
	}
	m.cfg.Metrics.short.Inc()
	if of == s.shortOf {
		s.short++
	} else {
		s.short, s.shortOf = s.short+shortElsewhere, of
	}
	if s.short >= shortWeight {
		s.short = 0
		m.caught(s, offenceShort, errors.New("one result after the other came back open before its budget"))
	}
}

// Party is whom offences are held against, and who is quarantined: all workers with a certificate
// of one name, whatever they call themselves, or, where there are no certificates, the workers of
// one name. Without certificates a name is only what a worker says: who is quarantined comes back
// under another one.
type Party struct {
	Name        string
	Certificate bool // the name is that in a certificate
}

// String says what the name is.
func (p Party) String() string {
	if p.Certificate {
		return "certificate " + p.Name
	}
	return "name " + p.Name
}

// partyNamed undoes String.
func partyNamed(text string) Party {
	if name, ok := strings.CutPrefix(text, Party{Certificate: true}.String()); ok {
		return Party{name, true}
	}
	return Party{strings.TrimPrefix(text, Party{}.String()), false}
}

// party returns whom the offences of a session are held against.
func (s *session) party() Party {
	if s.info.owner != "" {
		return Party{s.info.owner, true}
	}
	return Party{s.name, false}
}

// Quarantine says that the workers of a party may not join, and why.
type Quarantine struct {
	Party
	Since    time.Time
	Offences int    // so many
	Offence  string // kind of the last one
	Why      string // the last one in words
	Worker   string // who committed it
	Address  string // from where
}

// caught counts an offence of a worker and quarantines its party when there are too many. When it
// returns, a quarantine is durable, unless the store has no room.
func (m *Master) caught(s *session, kind string, why error) {
	if kind == offenceCertificate {
		m.cfg.Metrics.falseCertificates.Inc()
	}
	m.offended(s.party(), s.name, s.info.address, kind, why)
}

// The results of checks: the values of a metric's label.
const (
	checkConfirmed    = "confirmed"
	checkContradicted = "contradicted"
	checkUnsettled    = "unsettled"
)

// checked takes the outcome of a comparison. Two sound searches differ by accident in about one
// comparison of a thousand. So of a party that has shown what it is worth the first contradiction
// is no offence yet but a doubt; the next ones are, and a confirmed result makes up for one of
// them.
func (m *Master) checked(e tree.Checked) {
	p := partyNamed(e.Party)
	if e.Confirmed {
		m.cfg.Metrics.checks.WithLabelValues(checkConfirmed).Inc()
		m.credit(p)
		m.madeUp(p)
		return
	}
	m.cfg.Metrics.checks.WithLabelValues(checkContradicted).Inc()
	m.mu.Lock()
	address := ""
	if s := m.byName[e.Worker]; s != nil {
		address = s.info.address
	}
	o, forgotten := m.standing(p)
	o.Doubts++
	if o.Doubts == 1 {
		o.Doubted = e.Proven
	}
	doubt := o.Doubts == 1 && o.Doubted
	m.stands(o)
	m.mu.Unlock()
	m.releaseForgotten(forgotten)
	if doubt {
		m.cfg.Log.Warn("others contradict a worker", "worker", e.Worker, "party", p, "address", address, "why", e.Why)
		return
	}
	m.offended(p, e.Worker, address, offenceNumbers, errors.New(e.Why))
}

// madeUp takes back one contradiction of a party.
func (m *Master) madeUp(p Party) {
	m.mu.Lock()
	defer m.mu.Unlock()
	o := m.standings[p]
	if o == nil || o.quarantine != nil || o.Doubts == 0 {
		return
	}
	if o.Doubts--; o.Doubts > 0 || !o.Doubted {
		o.Offences--
	}
	m.stands(o)
}

// against returns what is held against a party that is not quarantined: contradictions and offences.
func (m *Master) against(p Party) (contradicted, offences uint32) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if o := m.standings[p]; o != nil {
		return farmv1.WriteCount(o.Doubts), farmv1.WriteCount(o.Offences)
	}
	return 0, 0
}

// releaseForgotten takes a quarantine that was forgotten, if any, out of the store.
func (m *Master) releaseForgotten(p *Party) {
	if p == nil {
		return
	}
	m.saving.Lock()
	defer m.saving.Unlock()
	if err := m.store.Release(*p); err != nil {
		m.cfg.Log.Error("a quarantine that is forgotten is still in the store", "party", p, "error", err)
		return
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	m.gone(*p)
}

// offended counts an offence of a party, by one of its workers.
func (m *Master) offended(p Party, worker, address, kind string, why error) {
	m.cfg.Metrics.offences.WithLabelValues(kind).Inc()
	q, forgotten := m.judge(p, worker, address, kind, why)
	m.releaseForgotten(forgotten)
	if q != nil {
		m.save(*q)
	}
}

// judge counts an offence. It returns the quarantine if this one is too many, and whose quarantine
// had to be forgotten for want of room.
func (m *Master) judge(p Party, worker, address, kind string, why error) (q *Quarantine, forgotten *Party) {
	m.mu.Lock()
	defer m.mu.Unlock()
	o, forgotten := m.standing(p)
	if o.quarantine != nil {
		return nil, forgotten // what was under way when it was quarantined
	}
	o.Offences++
	m.stands(o)
	m.cfg.Log.Error("a worker does what no sound one does", "worker", worker, "party", p, "address", address, "offence",
		kind, "times", o.Offences, "error", why)
	if o.Offences < m.cfg.MaxOffences {
		return nil, forgotten
	}
	m.cfg.Log.Error("quarantined", "party", p, "worker", worker)
	m.cfg.Metrics.quarantines.Inc()
	o.quarantine = &Quarantine{Party: p, Since: m.cfg.Now().UTC(), Offences: o.Offences, Offence: kind,
		Why: clip(why.Error(), 500), Worker: worker, Address: address}
	o.unsaved = true
	// The sessions go with their streams, or at the next tick.
	for _, other := range m.sessions {
		if other.party() != p {
			continue
		}
		other.quarantined = true
		if other.link != nil {
			other.link.end(errQuarantined(o.quarantine))
		}
	}
	return o.quarantine, forgotten
}

// save writes a quarantine into the store, if it still holds. Where that fails it is tried again at
// the next tick.
func (m *Master) save(q Quarantine) {
	m.saving.Lock()
	defer m.saving.Unlock()
	m.mu.Lock()
	o := m.standings[q.Party]
	holds := o != nil && o.quarantine != nil
	m.mu.Unlock()
	if !holds {
		return
	}
	if err := m.store.Quarantine(q); err != nil {
		m.cfg.Log.Error("a quarantine is not in the store yet", "party", q.Party, "error", err)
		return
	}
	m.mu.Lock()
	o.unsaved = false
	m.gone(q.Party)
	m.mu.Unlock()
}

// saveQuarantines writes what could not be written before.
func (m *Master) saveQuarantines() {
	var list []Quarantine
	m.mu.Lock()
	for _, o := range m.standings {
		if o.unsaved {
			list = append(list, *o.quarantine)
		}
	}
	m.mu.Unlock()
	for _, q := range list {
		m.save(q)
	}
}

// takeBack has the trees take back what parties have said that were quarantined since the last tick.
func (m *Master) takeBack(step stepFunc) {
	var list []string
	m.mu.Lock()
	for p, o := range m.standings {
		if o.quarantine != nil && !o.taken {
			o.taken = true
			list = append(list, p.String())
		}
	}
	m.mu.Unlock()
	slices.Sort(list)
	for _, party := range list {
		step(nil, 0, tree.Distrusted{Party: party})
	}
}

// Quarantines returns who is quarantined, by name.
func (m *Master) Quarantines() []Quarantine {
	m.mu.Lock()
	defer m.mu.Unlock()
	list := []Quarantine{}
	for _, o := range m.standings {
		if o.quarantine != nil {
			list = append(list, *o.quarantine)
		}
	}
	slices.SortFunc(list, func(a, b Quarantine) int {
		return cmp.Or(strings.Compare(a.Name, b.Name), strings.Compare(a.Party.String(), b.Party.String()))
	})
	return list
}

// ErrNotQuarantined is wrapped by Release where there is nothing to release.
var ErrNotQuarantined = errors.New("not quarantined")

// Release lets the parties of a name join again, that of a certificate and that of a name without
// one, with no offence counted. It returns them once that is durable.
func (m *Master) Release(name string) ([]Quarantine, error) {
	m.saving.Lock()
	defer m.saving.Unlock()
	var released []Quarantine
	for _, q := range m.Quarantines() {
		if q.Name != name {
			continue
		}
		if err := m.store.Release(q.Party); err != nil {
			return released, fmt.Errorf("release %v: %w", q.Party, err)
		}
		m.mu.Lock()
		delete(m.standings, q.Party)
		m.gone(q.Party)
		m.mu.Unlock()
		m.cfg.Log.Info("released from quarantine", "party", q.Party)
		released = append(released, q)
	}
	if len(released) == 0 {
		return nil, fmt.Errorf("%w: no worker or certificate has the name %s", ErrNotQuarantined, clip(name, 128))
	}
	return released, nil
}

func errQuarantined(q *Quarantine) error {
	return status.Error(codes.PermissionDenied, fmt.Sprintf(
		"quarantined is the %v: %d times a worker did what no sound one does; an operator can release it", q.Party,
		q.Offences))
}

func (m *Master) isQuarantined(s *session) bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	return s.quarantined
}
