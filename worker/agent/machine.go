package agent

import (
	"cmp"
	"errors"
	"fmt"
	"strings"
	"time"

	farmv1 "amazonsfarm/proto/farm/v1"
	"amazonsfarm/worker/engine"
)

// What a [Machine] and a [Solver] speak of is the engine's.
type (
	// Job is a position to search, with what others know of it.
	Job = engine.Job
	// Result is what one slice of a search found out.
	Result = engine.Result
	// Part is a certificate that proves facts, given what it cites.
	Part = engine.Part
)

// Machine is the worker's side of the protocol, without a clock, goroutine, socket or file. Events
// go in, effects come out, and the time is an argument: the time since any moment that stays the
// same. [Run] drives a Machine with a real engine and a real connection; master/simulate drives
// many of them in virtual time.
//
// The driver begins with a Tick, carries the effects of each step out in their order, tells the
// results as events, and gives a Tick whenever the moment of [Machine.Wake] has come. After End the
// machine does nothing more. The methods of a Machine must not be called concurrently.
type Machine struct {
	c       Config
	now     time.Duration
	effects []Effect
	over    bool

	// The connection.
	link    link
	retryAt time.Duration // away: when to join again
	pause   time.Duration // away: before the try after the next one
	away    time.Duration // since when there is no master
	limit   time.Duration // how long that may last
	said    string        // the last reason that was logged for that, at saidAt
	saidAt  time.Duration
	met     bool   // it was joined once, so its credential was right
	told    bool   // the master took facts back; the engine may have learned some of them
	stream  stream // while joined

	// The master that was joined last.
	campaigns map[uint32]campaign // by number
	first     campaign            // the first of the campaigns
	maxFacts  int                 // of one message
	engines   engine.Config       // for any board and kind of proof
	engine    engine.Config       // the one that there is; its board is invalid before the first

	running *lease    // being searched; nil: none
	group   group     // leases whose proofs are gathered together
	next    *lease    // to be searched after it; nil: none. It goes with its stream
	found   *parcel   // of the running lease, without room in waiting: the search stands still
	vain    bool      // the evidence that is being gathered may cite what was lost meanwhile
	waiting []*parcel // not acknowledged, oldest first
	serial  uint64    // of the last parcel

	draining bool
	deadline time.Duration // of the drain

	waits waits   // for leases
	rate  float64 // nodes a second, over the last leases; 0: unknown
	// workless is when the present time without work began: with the stream, or with the end of the last lease.
	workless time.Duration
	toldFull time.Duration // when it was last logged that the master has no room; 0: not since an acknowledgement
}

type link int

const (
	away    link = iota // until retryAt
	joining             // a Join is under way
	joined
	broken // a HangUp is under way
)

// stream is what the machine knows of one connection.
// Each stream begins with an empty one. What has to outlive a stream is in Machine.
type stream struct {
	began     time.Duration
	beat      time.Duration      // time between two heartbeats
	beatAt    time.Duration      // when the next one is due
	latest    map[uint32]granted // lease of each campaign: each counts its own
	uploading *parcel            // nil: none
	asked     bool               // a Ready is open
	noWork    bool               // and the master has no work for it
	askedAt   time.Duration
	aheadAt   time.Duration // when to look whether to ask for the next lease early; never: not
	early     bool          // it is time to ask although a lease is running
	beats     int           // heartbeats since there is a next lease
	checks    int           // parts that are being checked
	leaving   bool          // Goodbye was said
	leaveBy   time.Duration // when the master has had time enough to end the stream
}

// never is a moment that does not come.
const never = time.Duration(1<<63 - 1)

// again is the pause before a worker joins that was told to join again: nothing is broken, however often
// that happens, and thousands may be told at once.
const again = 200 * time.Millisecond

// sayAgain is the time after which something that goes on is logged again.
const sayAgain = 10 * time.Minute

var (
	// errLost says that the stream to the master broke; it is opened anew.
	errLost = errors.New("connection to the master lost")
	// errOver ends the machine in order.
	errOver = errors.New("over")
)

// NewMachine returns the machine of one worker. Name, Drain and NewSolver of the configuration are
// the driver's. Errors wrap ErrConfig.
func NewMachine(c Config, now time.Duration) (*Machine, error) {
	c, err := c.withDefaults()
	if err != nil {
		return nil, err
	}
	return &Machine{c: c, retryAt: now, away: now, pause: c.BackoffMin, limit: c.JoinTimeout,
		campaigns: map[uint32]campaign{}}, nil
}

// Step handles one event and returns what is to be done, in this order. The time must not go back.
func (m *Machine) Step(now time.Duration, ev Event) []Effect {
	if m.over {
		return nil
	}
	m.now, m.effects = now, nil
	err := m.handle(ev)
	if err == nil {
		err = m.advance()
	}
	if err != nil {
		m.over = true
		if errors.Is(err, errOver) {
			err = nil
		}
		m.do(End{err})
	}
	return m.effects
}

// Wake returns when the machine wants a Tick. It may change with each step.
func (m *Machine) Wake() time.Duration {
	at := never
	// After the goodbye leaveBy takes the place of the deadline.
	if m.draining && !(m.link == joined && m.stream.leaving) {
		at = m.deadline
	}
	if m.group.proving && m.group.stopAt > 0 {
		at = min(at, m.group.stopAt)
	}
	switch m.link {
	case away:
		return min(at, m.retryAt)
	case joined:
		at = min(at, m.stream.beatAt, m.stream.aheadAt)
		if m.group.waits() && m.running == nil && m.found == nil {
			at = min(at, m.group.due)
		}
		if m.stream.leaving {
			at = min(at, m.stream.leaveBy)
		}
	}
	return at
}

func (m *Machine) do(e Effect) { m.effects = append(m.effects, e) }

func (m *Machine) handle(ev Event) error {
	switch e := ev.(type) {
	case Tick:
		return m.tick()
	case Joined:
		return m.join(e)
	case Lost:
		return m.lost(e)
	case Received:
		if m.link == joined {
			return m.receive(e.Message)
		}
	case Uploaded:
		m.uploaded(e.Err)
	case Alive:
		switch {
		case e.Upload && m.stream.uploading != nil && m.stream.uploading.lease != nil:
			m.stream.uploading.lease.goesOn("delivering", e)
		case !e.Upload && m.group.proving:
			for _, l := range m.group.leases {
				l.goesOn("extracting", e)
			}
		case !e.Upload && m.running != nil:
			m.running.goesOn("extracting", e)
		}
	case Searching:
		m.progress(e)
	case Searched:
		m.searched(e)
	case Gathered:
		m.gathered(e)
	case Examined:
		m.examined(e)
	case Drain:
		m.drain()
	}
	return nil
}

// advance does what has become possible. The order matters: results go out before the next lease is
// asked for, and a lease is returned before the goodbye.
func (m *Machine) advance() error {
	m.deliver()
	m.closeGroup()
	expired := m.draining && m.now >= m.deadline
	if m.link != joined {
		if expired || m.draining && m.link == away && m.idle() {
			return m.drainError()
		}
		if m.link == away && m.now >= m.retryAt {
			m.link = joining
			m.do(Join{})
		}
		return nil
	}
	m.upload()
	m.send()
	if next := m.next; next != nil {
		switch {
		case m.draining:
			m.returnNext()
		case m.running == nil:
			m.next = nil
			m.c.Stats.Prefetched.Add(1)
			m.begin(next)
		}
	}
	if m.draining && !m.stream.leaving {
		switch {
		case m.idle():
			m.leave()
		case expired:
			return m.drainError()
		}
	}
	m.ask()
	return nil
}

// idle says that nothing is searched or proved, and nothing waits to be acknowledged.
func (m *Machine) idle() bool {
	return m.running == nil && len(m.group.leases) == 0 && len(m.waiting) == 0
}

func (m *Machine) tick() error {
	if g := &m.group; g.proving && g.stopAt > 0 && m.now >= g.stopAt {
		g.stopAt = 0
		m.do(Stop{})
	}
	if m.link != joined {
		return nil
	}
	if m.stream.leaving && m.now >= m.stream.leaveBy {
		return errOver
	}
	if m.now >= m.stream.aheadAt {
		m.planAhead()
	}
	if m.now >= m.stream.beatAt {
		// Beats keep their rhythm. Those that were missed, as by a machine that slept, are left out.
		if m.stream.beatAt += m.stream.beat; m.stream.beatAt <= m.now {
			m.stream.beatAt = m.now + m.stream.beat
		}
		m.heartbeat()
	}
	return nil
}

// heartbeat reports on what is searched, and on what was searched and waits to be uploaded. It
// gives up a stream on which an acknowledgement is overdue.
func (m *Machine) heartbeat() {
	if m.next != nil {
		if m.stream.beats++; m.stream.beats > 1 {
			m.returnNext() // the running lease takes longer than it seemed; at its end we ask again
		}
	}
	for _, p := range m.waiting {
		if p.sent && m.now-p.sentAt > m.c.AckTimeout {
			m.hangUp(fmt.Errorf("%w: no acknowledgement within %v", errLost, m.c.AckTimeout))
			return
		}
		// The master still counts on this lease, and would take it for lost.
		if p.lease != nil && !p.sent {
			m.report(p.lease)
		}
	}
	for _, l := range m.group.leases {
		if !m.group.proving {
			l.goesOn("extracting", Alive{})
		}
		m.report(l)
	}
	if m.running != nil {
		m.report(m.running)
	}
	if m.c.IdleTimeout > 0 && !m.draining && m.idle() && m.stream.checks == 0 && m.now-m.workless >= m.c.IdleTimeout {
		m.c.Log.Info("the master has had no work for the idle timeout", "waited", m.c.IdleTimeout)
		m.drain()
	}
}

func (m *Machine) report(l *lease) {
	m.do(Send{&farmv1.WorkRequest{Kind: &farmv1.WorkRequest_Progress{Progress: &farmv1.Progress{
		Lease: l.id, Epoch: l.epoch, Nodes: l.nodes, Evaluations: l.evaluations + l.activity,
		TableFill: m.c.Stats.TableFill(), Campaign: l.of.number, Phase: l.phase, Outlook: l.outlook,
	}}}})
	l.outlook = nil
}

// join begins to work on a new stream. Everything that is not acknowledged is sent again on it.
func (m *Machine) join(e Joined) error {
	if m.link != joining {
		return nil
	}
	r := e.Session
	seconds := r.GetHeartbeatSeconds()
	if r.GetSession() == "" || !(seconds >= 0.01 && seconds <= 3600) {
		return fmt.Errorf("%w: joined without a session or with a heartbeat of %v s", ErrProtocol, seconds)
	}
	if err := m.meet(r); err != nil {
		return err
	}
	// A master that names no number takes any.
	m.maxFacts = cmp.Or(int(min(r.GetMaxFactsPerMessage(), engine.DefaultMaxFacts)), engine.DefaultMaxFacts)
	m.engines = engine.Config{
		TableBytes: m.c.TableBytes, Cores: m.c.Cores, Log: m.c.Log,
		MinFactNodes: max(1, r.GetMinFactNodes()), MaxFacts: m.maxFacts,
		MaxHints: int(min(r.GetMaxHintEntries(), 1<<18)),
	}
	if m.engine.Board.Valid() {
		// The store may be another one. It must not lack what was delivered to the one before.
		// What waits may rely on evidence that is gone; then the master refuses it.
		m.do(Forget{Told: m.told})
		m.told = false
	} else {
		m.equip(m.first) // it may do for the leases that come
	}
	m.c.Log.Info("joined", "campaign", r.GetCampaign().GetBoard(), "root", r.GetCampaign().GetRoot(), "session",
		r.GetSession())
	m.c.Stats.Joins.Add(1)
	m.c.Stats.Connected.Store(true)
	beat := time.Duration(seconds * float64(time.Second))
	first := cmp.Or(e.FirstBeat, beat)
	m.link, m.workless = joined, m.now
	m.stream = stream{began: m.now, beat: beat, beatAt: m.now + first, latest: map[uint32]granted{}, aheadAt: never}
	m.sendAgain()
	m.do(Send{&farmv1.WorkRequest{Kind: &farmv1.WorkRequest_Hello{Hello: &farmv1.Hello{Session: r.GetSession()}}}})
	m.planAhead()
	return nil
}

// lost plans the next try to join, if there is to be one.
func (m *Machine) lost(e Lost) error {
	streamed := m.link == joined || m.link == broken
	m.link, m.next = away, nil
	m.c.Stats.Connected.Store(false)
	switch {
	case streamed && m.stream.leaving:
		return errOver
	// A credential that was good a while ago may be so again.
	case errors.Is(e.Err, ErrRefused) && !(m.met && strings.Contains(e.Err.Error(), expired)),
		errors.Is(e.Err, ErrWrongMaster) && !m.met:
		return e.Err
	case streamed:
		m.met = true
		m.away, m.limit = m.now, m.c.AwayTimeout
		switch {
		case e.Again: // facts were taken back, and what is under way may rest on them
			m.pause, m.told = max(m.c.BackoffMin, again), true
			m.dropGroup()
			if m.running != nil || m.group.proving {
				m.cancel()
				m.do(Stop{}) // also where evidence is gathered
			}
		// A stream that lasted makes the next pause short again. One that breaks each time soon after
		// Join does not, or it would be tried ten times a second.
		case m.now-m.stream.began > 2*m.c.BackoffMax:
			m.pause = m.c.BackoffMin
		}
	}
	m.stream = stream{}
	left := m.limit - (m.now - m.away)
	if left <= 0 {
		return fmt.Errorf("%w after trying for %v: %v", ErrUnreachable, m.limit, e.Err)
	}
	// The reason for which a stream was lost often is the reason for which the next ones are not to be had.
	if text := e.Err.Error(); streamed || !strings.HasSuffix(m.said, text) || m.now-m.saidAt >= sayAgain {
		m.said, m.saidAt = text, m.now
		m.c.Log.Warn("no connection to the master, trying again", "error", e.Err,
			"gives_up_after", left.Round(time.Second))
	}
	// Half of the pause is random, so that the workers of a master that restarts do not all come at once.
	m.retryAt = m.now + min(left, m.pause/2+time.Duration(e.Jitter*float64(m.pause/2)))
	m.pause = min(2*m.pause, m.c.BackoffMax)
	return nil
}

func (m *Machine) hangUp(err error) {
	m.link = broken
	m.do(HangUp{err})
}

func (m *Machine) drain() {
	if m.draining {
		return
	}
	m.draining, m.deadline = true, m.now+m.c.DrainTimeout
	if !m.idle() {
		m.c.Log.Info("draining: returning the running lease")
	}
	m.cancel()
	m.cancelGroup(every)
}

func (m *Machine) drainError() error {
	if m.idle() {
		return errOver
	}
	return fmt.Errorf("%w within %v of the drain", ErrUndelivered, m.c.DrainTimeout)
}

// leave says goodbye. The master ends the stream then.
func (m *Machine) leave() {
	m.stream.leaving = true
	m.stream.leaveBy = m.now + min(callTimeout, max(time.Second, m.deadline-m.now))
	m.do(Send{&farmv1.WorkRequest{Kind: &farmv1.WorkRequest_Goodbye{Goodbye: &farmv1.Goodbye{Reason: "drained"}}}})
}

// ask asks for a lease where one is missing. What was found must be on its way before: the next
// lease is then chosen with it.
func (m *Machine) ask() {
	s := &m.stream
	wanted := m.running == nil && !m.group.proving || s.early && m.next == nil
	if s.asked || m.draining || !wanted || len(m.waiting) >= m.c.MaxWaiting || !m.allSent() {
		return
	}
	s.asked, s.noWork, s.askedAt, s.early = true, false, m.now, false
	if m.running == nil {
		s.askedAt = m.workless // evidence had to be delivered before
	}
	m.do(Send{&farmv1.WorkRequest{Kind: &farmv1.WorkRequest_Ready{Ready: &farmv1.Ready{}}}})
}

// receive handles a message of the master.
func (m *Machine) receive(r *farmv1.WorkResponse) error {
	switch k := r.GetKind().(type) {
	case *farmv1.WorkResponse_Lease:
		return m.leased(k.Lease)
	case *farmv1.WorkResponse_News:
		return m.hear(k.News)
	case *farmv1.WorkResponse_Cancel:
		if m.running.named(k.Cancel.GetCampaign(), k.Cancel.GetLease()) {
			m.c.Log.Debug("lease cancelled", "lease", m.running.id, "reason", k.Cancel.GetReason())
			m.cancel()
		}
		if m.next.named(k.Cancel.GetCampaign(), k.Cancel.GetLease()) {
			m.returnNext()
			m.planAhead()
		}
		m.cancelGroup(func(l *lease) bool { return l.named(k.Cancel.GetCampaign(), k.Cancel.GetLease()) })
	case *farmv1.WorkResponse_Ack:
		m.acknowledged(k.Ack)
	case *farmv1.WorkResponse_Check:
		return m.examine(k.Check)
	case *farmv1.WorkResponse_Hold:
		m.masterFull(k.Hold.GetReason())
	case *farmv1.WorkResponse_NoWork:
		m.stream.noWork = true
		if m.running == nil {
			m.c.Log.Info("waiting for work", "reason", k.NoWork.GetReason())
		}
	case *farmv1.WorkResponse_Finished:
		m.c.Log.Info("campaign finished", "reason", k.Finished.GetReason())
		return errOver
	}
	return nil
}

// leased begins a lease, keeps it as the next one, or returns it. A lease that came before is
// passed over.
func (m *Machine) leased(r *farmv1.Lease) (err error) {
	of := m.first
	if c := r.GetCampaign(); c != nil {
		if of, err = campaignOf(c); err != nil {
			return err
		}
	}
	l, err := newLease(of, r)
	if err != nil {
		return err
	}
	s := &m.stream
	if latest := s.latest[of.number]; !l.after(latest) || m.has(l) {
		m.c.Log.Debug("this lease came before", "lease", l.id)
		return nil
	}
	if err := m.note(of); err != nil {
		return err
	}
	s.latest[of.number] = granted{l.epoch, l.id}
	asked := s.asked
	s.asked = false
	// A wait for work that was not there says nothing of how far away the master is.
	if asked && !s.noWork {
		m.waits.saw(m.now - s.askedAt)
	}
	switch {
	case m.running == nil && !m.draining:
		m.begin(l)
	case asked && m.next == nil:
		m.c.Log.Debug("lease in hand", "lease", l.id)
		m.next, s.beats = l, 0
	default: // nobody asked for it, or the question came twice
		m.c.Log.Debug("returning a lease beside the running one", "lease", l.id)
		m.do(Send{l.returned()})
	}
	return nil
}

// begin begins to search a lease.
func (m *Machine) begin(l *lease) {
	l.begun, l.at, l.sliceNodes = m.now, m.now, m.c.FirstSlice
	m.running = l
	m.c.Stats.Leases.Add(1)
	m.c.Stats.Lease.Store(l.id)
	m.c.Log.Debug("lease begun", "lease", l.id, "epoch", l.epoch, "budget", l.job.Budget, "facts", len(l.job.Facts))
	m.slice()
	m.planAhead()
}

// cancelGrace is how long evidence may be gathered for a lease that was cancelled. The master takes a worker that
// goes on for much longer for one that does not obey.
const cancelGrace = 5 * time.Second

// cancel ends the search of the running lease early. Its result follows all the same.
func (m *Machine) cancel() {
	l := m.running
	if l == nil || l.cancelled {
		return
	}
	l.cancelled = true
	if l.searching {
		m.do(Stop{})
	}
}

// returnNext returns the lease that was to be searched next.
func (m *Machine) returnNext() {
	m.c.Log.Debug("returning the lease in hand", "lease", m.next.id)
	m.do(Send{m.next.returned()})
	m.next = nil
}

// ratesAveraged is the number of leases over which the rate of the search is averaged, about.
const ratesAveraged = 4

// ended ends the running lease, whose result waits.
func (m *Machine) ended() {
	if l := m.running; l.nodes > 0 {
		rate := float64(l.nodes) / max(m.now-l.begun, time.Microsecond).Seconds()
		m.rate = cmp.Or(m.rate, rate)
		m.rate += (rate - m.rate) / ratesAveraged
	}
	m.running = nil
	m.rest()
}

// rest notes that nothing is searched or proved from now on.
func (m *Machine) rest() {
	m.workless = m.now
	m.c.Stats.Lease.Store(0)
}

// equip sees to an engine for a campaign. One for the same board and kind of proof goes on with its
// table. Otherwise a new engine replaces the old one: an entry of a table does not say of what
// board it is.
func (m *Machine) equip(c campaign) {
	if m.engine.Board == c.board && m.engine.RulesOnly == c.rules {
		return
	}
	if m.engine.Board.Valid() {
		m.c.Log.Info("changing to another board", "campaign", c.number, "root", c.root)
	}
	m.engine = m.engines
	m.engine.Board, m.engine.RulesOnly = c.board, c.rules
	m.do(Equip{m.engine})
}

// hear tells the engine of facts that others have proved. Those of another board than that of its
// table are passed over. Errors wrap ErrProtocol.
func (m *Machine) hear(r *farmv1.News) error {
	of, ok := m.campaigns[r.GetCampaign()]
	if r.GetCampaign() == 0 {
		of, ok = m.first, true
	}
	if !ok || m.engine.Board != of.board || m.engine.RulesOnly != of.rules {
		return nil
	}
	facts, err := farmv1.ReadFacts(of.board, r.GetFacts())
	if err != nil {
		return fmt.Errorf("%w: news: %v", ErrProtocol, err)
	}
	m.do(Learn{facts})
	return nil
}
