package loop

import (
	"context"
	"errors"
	"fmt"
	"sync/atomic"
	"time"

	"amazonsfarm/master/ledger"
	"amazonsfarm/master/tree"
	"amazonsfarm/master/trust"
	"amazonsfarm/shared/amazons"
)

// The results of checks: the values of a metric's label.
const (
	checkConfirmed    = "confirmed"
	checkContradicted = "contradicted"
	checkUnsettled    = "unsettled"
)

// Results in a row that came back open before their budgets are an offence when they weigh
// shortWeight together: ten of one position, since one search alone may find no way to go on and
// none the next time either, or four of different positions, which weigh shortElsewhere each.
const (
	shortWeight    = 10
	shortElsewhere = 3
)

// heardShort counts the results in a row of a worker that came back before their budgets.
func (l *Loop) heardShort(s *Session, of amazons.Key, short bool) {
	if !short {
		s.short, s.shortOf = 0, amazons.Key{}
		return
	}
	l.cfg.Metrics.short.Inc()
	if of == s.shortOf {
		s.short++
	} else {
		s.short, s.shortOf = s.short+shortElsewhere, of
	}
	if s.short >= shortWeight {
		s.short = 0
		l.offend(s, trust.Short, errors.New("one result after the other came back open before its budget"))
	}
}

// senseless counts the loss of a lease as an offence of its worker, unless it may have taken so long
// because of an upload.
func (l *Loop) senseless(e tree.Refused) {
	if s := l.crew.byName[e.Worker]; s != nil && !s.Uploads.underWay(time.Now()) {
		l.offend(s, trust.Progress, fmt.Errorf("lease %d: %s", e.Lease, e.Why))
	}
}

// Uploads says whether a worker has an upload under way. It is safe for concurrent use.
type Uploads struct {
	count atomic.Int64
	last  atomic.Pointer[time.Time] // with the steady clock, since the other one may be set at any time; nil: none yet
}

// uploadRest is how long after an upload a worker may still try it again.
const uploadRest = time.Minute

// Begin notes that an upload has begun; end is called when it has ended.
func (u *Uploads) Begin() (end func()) {
	u.count.Add(1)
	return func() {
		u.Expect(time.Now())
		u.count.Add(-1)
	}
}

// Expect notes that an upload to a bucket may be under way until some time.
func (u *Uploads) Expect(until time.Time) { u.last.Store(&until) }

func (u *Uploads) underWay(now time.Time) bool {
	last := u.last.Load()
	return u.count.Load() > 0 || last != nil && now.Sub(*last) < uploadRest
}

// Offend counts an offence of a worker. When it returns, a quarantine that follows is durable, unless
// the store has no room. After the end of the loop nothing is counted.
func (l *Loop) Offend(ctx context.Context, s *Session, kind string, why error) {
	// A worker must not escape by hanging up.
	_, _ = ask(context.WithoutCancel(ctx), l, func() struct{} {
		l.offend(s, kind, why)
		return struct{}{}
	})
}

func (l *Loop) offend(s *Session, kind string, why error) {
	if kind == trust.FalseCertificate {
		l.cfg.Metrics.falseCertificates.Inc()
	}
	l.carryTrust(l.book.Offend(trust.Offence{Party: s.Party, Worker: s.Name, Address: s.Address, Kind: kind,
		Why: why.Error(), Grave: errors.Is(why, ErrFalse)}, l.cfg.Now()))
}

// checked notes how a comparison came out.
func (l *Loop) checked(e tree.Checked) {
	c := trust.Comparison{Party: trust.Named(e.Party), Worker: e.Worker, Agreed: e.Confirmed, Proven: e.Proven,
		Why: e.Why}
	if s := l.crew.byName[e.Worker]; s != nil {
		c.Address = s.Address
	}
	result := checkContradicted
	if e.Confirmed {
		result = checkConfirmed
		l.credit(c.Party, l.crew.ledgers.Of(l.book.Standing(c.Party)))
	}
	l.cfg.Metrics.checks.WithLabelValues(result).Inc()
	l.carryTrust(l.book.Compare(c, l.cfg.Now()))
}

// credit tells the book, and the ledger of the party, what the trees count for the party.
func (l *Loop) credit(p trust.Party, its *ledger.Ledger) {
	confirmed, solved := l.plan.Standing(p.String())
	its.Stands(confirmed + solved)
	l.carryTrust(l.book.Credit(p, confirmed, solved, l.cfg.Now()))
}

// carryTrust carries out what the book decided.
func (l *Loop) carryTrust(effects []trust.Effect) {
	for _, effect := range effects {
		switch e := effect.(type) {
		case trust.Offended:
			l.cfg.Metrics.offences.WithLabelValues(e.Kind).Inc()
			if e.Times > 0 {
				l.cfg.Log.Error("a worker does what no sound one does", "worker", e.Worker, "party", e.Party, "address",
					e.Address, "offence", e.Kind, "times", e.Times, "error", e.Why)
			}
		case trust.Contradicted:
			l.cfg.Log.Warn("others contradict a worker", "worker", e.Worker, "party", e.Party, "address", e.Address,
				"why", e.Why)
		case trust.Quarantined:
			l.quarantine(e.Quarantine)
		case trust.Forgotten:
			if err := l.store.Release(e.Party); err != nil {
				l.cfg.Log.Error("a quarantine that is forgotten is still in the store", "party", e.Party, "error", err)
				continue
			}
			l.book.Released(e.Party)
		}
	}
}

// quarantine ends the sessions of a party: with their streams, or at the next tick.
func (l *Loop) quarantine(q trust.Quarantine) {
	l.cfg.Log.Error("quarantined", "party", q.Party, "worker", q.Worker)
	l.cfg.Metrics.quarantines.Inc()
	for _, s := range l.crew.byToken {
		if s.Party != q.Party {
			continue
		}
		s.quarantined = true
		if s.link != nil {
			s.link.End(errQuarantined(&q))
		}
	}
	l.saveQuarantine(q)
}

func errQuarantined(q *trust.Quarantine) error {
	return tell(ErrQuarantined, "quarantined is the %v: %d times a worker did what no sound one does; "+
		"an operator can release it", q.Party, q.Offences)
}

// saveQuarantine writes a quarantine into the store. Where that fails it is tried again at the next
// tick.
func (l *Loop) saveQuarantine(q trust.Quarantine) {
	if err := l.store.Quarantine(q); err != nil {
		l.cfg.Log.Error("a quarantine is not in the store yet", "party", q.Party, "error", err)
		return
	}
	l.book.QuarantineKept(q.Party)
}

// Quarantines returns all quarantines, by name.
func (l *Loop) Quarantines(ctx context.Context) ([]trust.Quarantine, error) {
	return ask(ctx, l, l.book.Quarantines)
}

// Release lets the parties of a name join again, that of a credential and that of a name without one,
// with no offence counted. It returns them once that is durable. Errors: ErrNotQuarantined, the
// store's.
func (l *Loop) Release(ctx context.Context, name string) ([]trust.Quarantine, error) {
	return try(ctx, l, func() ([]trust.Quarantine, error) { return l.releaseName(name) })
}

func (l *Loop) releaseName(name string) (released []trust.Quarantine, err error) {
	for _, q := range l.book.Quarantines() {
		if q.Name != name {
			continue
		}
		if err := l.store.Release(q.Party); err != nil {
			return released, fmt.Errorf("release %v: %w", q.Party, err)
		}
		l.book.Released(q.Party)
		l.cfg.Log.Info("released from quarantine", "party", q.Party)
		released = append(released, q)
	}
	if len(released) == 0 {
		return nil, tell(ErrNotQuarantined, "not quarantined: no worker or credential has the name %s",
			trust.Clip(name, 128))
	}
	return released, nil
}

// saver writes standings beside the loop: with thousands of them it takes longer than a turn may. Only
// one list is on its way at a time.
type saver struct {
	busy    bool
	behind  bool       // the last try has failed
	results chan saved // of the list that is on its way
}

// saved says whether a list was written.
type saved struct {
	list []trust.Standing
	err  error
}

// noteSaved notes how the last try to write standings ended, if it has.
func (l *Loop) noteSaved() {
	select {
	case r := <-l.saver.results:
		l.standingsSaved(r)
	default:
	}
}

// saveStandings has what has changed written, unless a list is on its way still.
func (l *Loop) saveStandings() {
	if l.saver.busy {
		return
	}
	if list := l.book.Changed(false); len(list) > 0 {
		l.saver.busy = true
		go func() { l.saver.results <- saved{list, l.store.SetStandings(list)} }()
	}
}

// saveLast writes all that the store has otherwise, when the run is over.
func (l *Loop) saveLast() {
	if l.saver.busy {
		l.standingsSaved(<-l.saver.results)
	}
	if list := l.book.Changed(true); len(list) > 0 {
		l.standingsSaved(saved{list, l.store.SetStandings(list)})
	}
}

func (l *Loop) standingsSaved(r saved) {
	l.saver.busy = false
	l.book.Kept(r.list, r.err == nil)
	switch {
	case r.err != nil && !l.saver.behind:
		l.cfg.Log.Error("what is known of workers is not in the store yet", "parties", len(r.list), "error", r.err)
	case r.err == nil && l.saver.behind:
		l.cfg.Log.Warn("what is known of workers is in the store again", "parties", len(r.list))
	}
	l.saver.behind = r.err != nil
}
