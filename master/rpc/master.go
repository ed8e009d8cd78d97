package rpc

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"iter"
	"maps"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"golang.org/x/time/rate"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"amazonsfarm/master/access"
	"amazonsfarm/master/hints"
	"amazonsfarm/master/schedule"
	"amazonsfarm/master/tree"
	farmv1 "amazonsfarm/proto/farm/v1"
	"amazonsfarm/shared/amazons"
	"amazonsfarm/shared/eval"
	"amazonsfarm/shared/proof"
)

// Master owns campaigns: their trees, the sessions of workers, how far they are. Run does the work;
// the services and View ask it.
type Master struct {
	cfg     Config
	store   Store
	inbox   chan message
	done    chan struct{} // closed when Run has ended: nobody reads the inbox any more
	uploads chan struct{} // a token for each upload in flight
	backups chan struct{} // a token for the one that runs
	known   *knownCertificates

	mu        sync.Mutex
	sessions  map[string]*session // by token
	byName    map[string]*session
	standings map[Party]*standing // of parties of which something is known; at most Config.MaxOffenders
	stored    map[Party]Standing  // as the store has them
	unsaved   map[Party]struct{}  // whose standing the store does not have as it is; each is in standings or stored
	behind    bool                // the last try to write them has failed
	uploading map[Party]int       // uploads in flight, of those with certificates

	saving sync.Mutex    // held while quarantines and standings are written; taken before mu
	saves  chan struct{} // wakes the goroutine that writes standings; closed when the loop has ended

	list     atomic.Pointer[[]*campaign] // replaced by the loop alone
	changing chan struct{}               // a token for the one operator whose change is on its way
	// the tree of a campaign that is over, for who explores it; whoever has it may change it
	shown chan *regrown

	// What follows belongs to the goroutine of Run.
	plan       *schedule.Scheduler
	memories   *hints.Cache
	gatherings []*gathering
	started    time.Time
	draining   error // what Run returns once the leases are back
	ended      bool  // workers have been told that all is over
	crowded    bool  // a standing has been forgotten to make room since the last tick
	paused     bool
	begin      func(*campaign) // begins to conclude
	pending    pending         // what the next commit writes, and what waits for it
	full       error           // why nothing can be written; nil: there is room
	held       []incoming      // what workers want acknowledged, until there is room
}

// session is one stay of a worker.
type session struct {
	token string
	name  string
	info  workerInfo

	// What follows belongs to the loop.
	link    *link // nil while no stream is attached
	ticks   int   // since the stream ended
	joined  bool  // the tree knows the worker
	evals   uint64
	fill    float64
	last    time.Time
	since   time.Time
	results uint64
	facts   uint64
	nodes   uint64
	seen    hints.Seen  // memories that its table has
	table   uint32      // whose facts are those of its last lease: its table is for that board
	held    int         // messages in Master.held
	short   int         // weight of the results in a row that came back before their budget
	shortOf amazons.Key // the last of these positions

	messages *rate.Limiter // of its streams

	// What follows is guarded by Master.mu.
	uploads     int  // in flight
	quarantined bool // it may do nothing any more
}

type workerInfo struct {
	address, build string
	cores          uint32
	tableBytes     uint64
	owner          string // name in the certificate with which it joined; empty: there was none
}

// link is the sending half of one work stream. The loop puts messages into out and never waits; the
// stream's handler sends them.
type link struct {
	out   chan *farmv1.WorkResponse
	ended chan struct{} // closed by end
	once  sync.Once
	err   error // status the stream ends with; read after ended is closed
}

func (l *link) end(err error) {
	l.once.Do(func() {
		l.err = err
		close(l.ended)
	})
}

// message is what the loop takes from its queue.
type message interface{ message() }

type attach struct { // a stream has said hello
	session *session
	link    *link
}

type detach struct { // a stream has ended; goodbye: the worker holds nothing any more
	session *session
	link    *link
	goodbye bool
}

type incoming struct { // an event of a worker
	session   *session
	campaign  *campaign // nil: of all
	link      *link
	event     tree.Event
	serial    uint64   // to acknowledge; 0: nothing
	refused   []string // what was left out of the event, and why
	unfounded error    // what it claims against its own evidence; nil: nothing
	heard     heard
	memory    Memory // no data: none came
	waited    bool   // for room
}

// number is that of the campaign whose event it is, 0 for all.
func (i *incoming) number() uint32 {
	if i.campaign == nil {
		return 0
	}
	return i.campaign.Number
}

type heard struct {
	evaluations uint64
	fill        float64
}

type query struct {
	campaign *campaign
	reply    chan View
}

type workersQuery struct{ reply chan []*farmv1.Worker }

type exploreQuery struct {
	campaign *campaign
	way      []amazons.Position
	reply    chan explored
}

type recentQuery struct {
	campaign *campaign
	reply    chan []learned
}

type command struct {
	event tree.Event
	err   error // of Run after a Drain
	reply chan View
}

type report struct {
	campaign   *campaign
	state, why string
}

type concluded struct {
	campaign   *campaign
	conclusion Conclusion
	err        error
}

func (attach) message()       {}
func (detach) message()       {}
func (incoming) message()     {}
func (query) message()        {}
func (workersQuery) message() {}
func (exploreQuery) message() {}
func (recentQuery) message()  {}
func (command) message()      {}
func (report) message()       {}
func (concluded) message()    {}

// View is what is known of the campaign at one moment.
type View struct {
	State, Why  string
	Tree        tree.Status
	Settled     *tree.Settled // nil: not yet
	Conclusion  *Conclusion   // nil: not yet
	Seconds     float64       // since Run began
	Connected   int           // workers with a stream
	Certs       int
	CertBytes   int64
	StoreFile   string
	WinnerKnown bool
	Quarantined int // parties
	Settings
	Campaigns []*farmv1.CampaignSummary // all
}

// New makes a master around the tree of one campaign and its store. Run starts it. Errors are about
// settings, and those of Store.Quarantines and Standings.
func New(cfg Config, t *tree.Tree, s Store) (*Master, error) {
	if !cfg.Root.Board.Valid() {
		return nil, fmt.Errorf("%w: no root", errConfig)
	}
	return NewMaster(cfg, []Campaign{{
		Number: 1, Name: cfg.Root.Board.String(), Root: cfg.Root, FirstMoves: cfg.FirstMoves, RulesOnly: cfg.RulesOnly,
		Facts: 1, Settings: Settings{Share: 1},
		Tree: t, ReadRoots: cfg.ReadRoots, Admit: cfg.Admit, Conclude: cfg.Conclude, Look: cfg.Look,
	}}, s)
}

// NewMaster makes a master around the campaigns of a store, by number, at least one. What Config
// says of a campaign does not count. Run starts it. Errors are about settings, and those of
// Store.Quarantines and Standings.
func NewMaster(cfg Config, campaigns []Campaign, s Store) (*Master, error) {
	if err := cfg.complete(); err != nil {
		return nil, err
	}
	if len(campaigns) == 0 {
		return nil, fmt.Errorf("%w: no campaign", errConfig)
	}
	if cfg.Metrics == nil {
		cfg.Metrics = NewMetrics(prometheus.NewRegistry())
	}
	m := &Master{
		cfg:       cfg,
		store:     s,
		inbox:     make(chan message, cfg.QueueEvents),
		done:      make(chan struct{}),
		backups:   make(chan struct{}, 1),
		uploads:   make(chan struct{}, cfg.MaxUploads),
		known:     newKnownCertificates(cfg.KnownCertificates),
		sessions:  map[string]*session{},
		byName:    map[string]*session{},
		standings: map[Party]*standing{},
		stored:    map[Party]Standing{},
		unsaved:   map[Party]struct{}{},
		saves:     make(chan struct{}, 1),
		uploading: map[Party]int{},
		changing:  make(chan struct{}, 1),
		shown:     make(chan *regrown, 1),
		memories:  hints.NewCache(cfg.MemoryBytes),
		plan:      schedule.New(cfg.Schedule),
	}
	var list []*campaign
	for _, c := range campaigns {
		if !c.Root.Board.Valid() || c.ReadRoots == nil || c.Conclude == nil || c.Tree == nil {
			return nil, fmt.Errorf("%w: a campaign has a root, a tree, ReadRoots and Conclude", errConfig)
		}
		list = append(list, newCampaign(c, cfg.Metrics))
	}
	m.list.Store(&list)
	m.shown <- &regrown{}
	if err := m.recall(); err != nil {
		return nil, err
	}
	return m, nil
}

// errEnded is what callers get when the loop does not run any more.
var errEnded = status.Error(codes.Unavailable, "the master is stopping")

// post puts a message into the loop's queue. It waits while the queue is full: that is how fast
// workers are slowed down.
func (m *Master) post(ctx context.Context, msg message) error {
	select {
	case m.inbox <- msg:
		return nil
	case <-m.done:
		return errEnded
	case <-ctx.Done():
		return status.FromContextError(ctx.Err()).Err()
	}
}

// Root returns the position that the first campaign is about.
func (m *Master) Root() amazons.Position { return m.first().Root }

// View asks the loop what it knows of the first campaign.
func (m *Master) View(ctx context.Context) (View, error) {
	return (&Handle{m, m.first()}).View(ctx)
}

// Summaries asks the loop how far all campaigns are, by number.
func (m *Master) Summaries(ctx context.Context) ([]*farmv1.CampaignSummary, error) {
	v, err := m.View(ctx)
	return v.Campaigns, err
}

func await[T any](ctx context.Context, m *Master, msg message, reply chan T) (T, error) {
	var zero T
	if err := m.post(ctx, msg); err != nil {
		return zero, err
	}
	select {
	case v := <-reply:
		return v, nil
	case <-m.done:
		// The loop may have answered with its last breath: a drain that ends it does.
		select {
		case v := <-reply:
			return v, nil
		default:
			return zero, errEnded
		}
	case <-ctx.Done():
		return zero, status.FromContextError(ctx.Err()).Err()
	}
}

// Pause grants no new leases of any campaign, for as long as this master runs; running ones go on.
func (m *Master) Pause(ctx context.Context) error {
	_, err := m.command(ctx, tree.Pause{}, nil)
	return err
}

// Resume ends a Pause. Campaigns that are paused by themselves stay so.
func (m *Master) Resume(ctx context.Context) error {
	_, err := m.command(ctx, tree.Resume{}, nil)
	return err
}

// Drain calls all leases back; Run returns ErrDrained when they are in. Once all campaigns are
// settled, ended or stopped it ends a Run that would stay.
func (m *Master) Drain(ctx context.Context) error {
	_, err := m.command(ctx, tree.Drain{}, ErrDrained)
	return err
}

// command has the loop take an event of an operator, and returns what is known then. end is what
// Run returns after a Drain.
func (m *Master) command(ctx context.Context, ev tree.Event, end error) (View, error) {
	reply := make(chan View, 1)
	return await(ctx, m, command{event: ev, err: end, reply: reply}, reply)
}

// Run owns the trees until every campaign is over, unless Config.Stay: settled and concluded,
// ended, or stopped by a contradiction or by what Conclude says (the error of the first that is,
// otherwise nil); until they are drained (ErrDrained), at the node limit (ErrLimit), or until a
// commit fails (ErrStore) or ctx ends. When it returns, all work streams have been ended. It is
// called once.
func (m *Master) Run(ctx context.Context) error {
	m.started = m.cfg.Now()
	work, cancel := context.WithCancel(ctx)
	var concluding, saving sync.WaitGroup
	saving.Go(func() {
		for range m.saves {
			m.saveStandings(false)
		}
	})
	defer func() {
		cancel()
		close(m.done)
		concluding.Wait()
		close(m.saves)
		saving.Wait()
		m.saveStandings(true)
	}()
	ticks := m.cfg.Ticks
	if ticks == nil {
		ticker := time.NewTicker(m.cfg.Heartbeat)
		defer ticker.Stop()
		ticks = ticker.C
	}
	turns := make(chan struct{}, 1) // one after the other: each may take gigabytes of memory
	err := m.loop(ctx, ticks, func(c *campaign) {
		evidence := c.evidence
		concluding.Go(func() {
			select {
			case turns <- struct{}{}:
				defer func() { <-turns }()
			case <-work.Done():
				return
			}
			conclusion, err := c.Conclude(work, evidence,
				func(state, why string) { _ = m.post(work, report{c, state, why}) })
			_ = m.post(work, concluded{c, conclusion, err})
		})
	})
	m.endLinks(err)
	return err
}

// endLinks tells all workers that it is over, or that the master goes away.
func (m *Master) endLinks(err error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	for _, s := range m.sessions {
		if s.link == nil {
			continue
		}
		switch {
		case err == nil:
			s.link.end(nil)
		case errors.Is(err, ErrContradiction):
			s.link.end(status.Error(codes.FailedPrecondition, "the campaign is stopped: "+err.Error()))
		default:
			s.link.end(status.Error(codes.Unavailable, "the master is stopping"))
		}
	}
}

func (m *Master) loop(ctx context.Context, ticks <-chan time.Time, conclude func(*campaign)) error {
	batch := make([]message, 0, m.cfg.BatchEvents)
	m.begin = conclude
	for _, c := range m.campaigns() {
		m.begun(c)
	}
	// A campaign that was settled or stopped before says so at its first event.
	if err := m.turn(nil, true); err != nil {
		return err
	}
	var next tickTurn
	for {
		if end, err := m.over(); end {
			return err
		}
		batch = batch[:0]
		select {
		case msg := <-m.inbox:
			batch = append(batch, msg)
		case <-ticks:
			next.due(len(m.inbox))
		case <-ctx.Done():
			return ctx.Err()
		}
	fill:
		for len(batch) < m.cfg.BatchEvents {
			select {
			case msg := <-m.inbox:
				batch = append(batch, msg)
			default:
				break fill
			}
		}
		m.cfg.Metrics.queue.Set(float64(len(m.inbox)))
		if len(batch) > 0 {
			m.cfg.Metrics.batch.Observe(float64(len(batch)))
		}
		if err := m.turn(batch, next.after(len(batch))); err != nil {
			return err
		}
	}
}

// tickTurn puts a tick after all messages that waited when it was due: a master that is behind
// would take leases for lost whose heartbeats it has not read yet. Ticks that come meanwhile are
// one with it.
type tickTurn struct {
	waits  bool
	before int // messages that come first
}

// due says that a tick is due while so many messages wait.
func (t *tickTurn) due(waiting int) {
	if !t.waits {
		t.waits, t.before = true, waiting
	}
}

// after says that so many messages were taken, and reports whether the tick comes right after them.
func (t *tickTurn) after(taken int) bool {
	t.before -= taken
	now := t.waits && t.before <= 0
	t.waits = t.waits && !now
	return now
}

// over says whether Run ends, and how.
func (m *Master) over() (bool, error) {
	over, leased, concluding := true, 0, false
	var stopped error
	for _, c := range m.campaigns() {
		over = over && c.over()
		leased += c.leased()
		concluding = concluding || c.settled != nil && !c.over()
		if stopped == nil {
			stopped = c.stopped
		}
	}
	switch {
	case over:
		return !m.cfg.Stay || m.draining != nil, stopped
	case m.draining != nil && m.full != nil:
		return true, m.draining // what comes back cannot be kept; the workers bring it to the next master
	case m.draining != nil && !concluding:
		return leased == 0, m.draining
	}
	return false, nil
}

// stepFunc steps all trees for an event; with a serial, what was refused of it is acknowledged to
// the session.
type stepFunc func(s *session, serial uint64, ev tree.Event, refused ...string)

// pending is what the steps since the last commit want to have written, and what is done once it is.
type pending struct {
	persist  []tree.Persist
	memories []Memory
	after    []func()
}

// step steps all trees.
func (m *Master) step(s *session, serial uint64, ev tree.Event, refused ...string) {
	m.stepOf(s, serial, 0, ev, refused...)
}

// stepOf steps the tree of a campaign, or all with number 0. What must survive goes into the next
// commit; the rest is done after it.
func (m *Master) stepOf(s *session, serial uint64, number uint32, ev tree.Event, refused ...string) {
	m.cfg.Metrics.refused.Add(float64(len(refused)))
	short := m.take(s, serial, m.plan.Step(number, ev), refused...)
	if s == nil {
		return
	}
	switch e := ev.(type) {
	case tree.Result:
		m.heardShort(s, e.Key, short)
		if len(e.Facts) > 0 {
			m.credit(s.party())
		}
	case tree.Proved:
		m.credit(s.party())
	}
}

// take takes the effects of a step.
func (m *Master) take(s *session, serial uint64, all []schedule.Effect, refused ...string) (short bool) {
	p := &m.pending
	var effects []schedule.Effect
	for _, effect := range all {
		switch e := effect.Effect.(type) {
		case tree.Persist:
			p.persist = append(p.persist, e)
			for _, g := range m.gatherings {
				m.collect(g, e)
			}
		case tree.Refused:
			m.cfg.Metrics.refused.Inc()
			refused = append(refused, e.Why)
			if e.Foreign && s != nil {
				m.caught(s, offenceLease, fmt.Errorf("lease %d is not its own", e.Lease))
			}
			short = short || e.Short
		case tree.Checked:
			m.checked(e)
		default:
			effects = append(effects, effect)
		}
	}
	if serial != 0 {
		ack := &farmv1.Ack{Serial: serial, Refused: clip(strings.Join(refused, "; "), 512)}
		p.after = append(p.after, func() { m.send(s, &farmv1.WorkResponse{Kind: &farmv1.WorkResponse_Ack{Ack: ack}}) })
	}
	for _, effect := range effects {
		if c, err := m.numbered(effect.Campaign); err == nil {
			p.after = append(p.after, func() { m.act(c, effect.Effect) })
			if e, ok := effect.Effect.(tree.Contradiction); ok {
				m.stopReleased(c.Facts, e)
			}
		}
	}
	return short
}

// turn steps the tree for each message, commits what must survive, and then answers.
func (m *Master) turn(batch []message, tick bool) error {
	if tick {
		waited, err := m.lookForRoom()
		if err != nil {
			return err
		}
		batch = append(waited, batch...)
	}
	m.release()
	var answers []func() // that need not wait for the disk
	for _, msg := range batch {
		switch msg := msg.(type) {
		case attach:
			m.attach(msg, m.step)
			answers = append(answers, func() { m.greet(msg) })
		case detach:
			m.detach(msg, m.step)
			answers = append(answers, func() { msg.link.end(nil) })
		case incoming:
			if !m.current(msg) {
				continue // its stream was replaced; what was not acknowledged comes again
			}
			if m.full != nil && msg.serial != 0 {
				m.hold(msg)
				continue
			}
			m.hear(msg)
			if c := msg.campaign; c != nil && c.Tree == nil {
				msg.refused = append(msg.refused, "campaign "+c.Name+" is over")
			}
			m.stepOf(msg.session, msg.serial, msg.number(), msg.event, msg.refused...)
			if memory, ok := m.takeMemory(msg); ok {
				m.pending.memories = append(m.pending.memories, memory)
			}
		case command:
			m.obey(msg, m.step)
			answers = append(answers, func() { msg.reply <- m.view(m.first()) })
		case query:
			answers = append(answers, func() { msg.reply <- m.view(msg.campaign) })
		case gather:
			m.gather(msg.into)
			msg.reply <- struct{}{}
		case adopt:
			m.adopt(msg)
			answers = append(answers, func() { msg.reply <- msg.campaign })
		case changed:
			m.change(msg)
			answers = append(answers, func() { msg.reply <- struct{}{} })
		case workersQuery:
			answers = append(answers, func() { msg.reply <- m.workers() })
		case exploreQuery:
			answers = append(answers, func() { msg.reply <- msg.campaign.explore(msg.way) })
		case recentQuery:
			answers = append(answers, func() { msg.reply <- slices.Clone(msg.campaign.learned.list) })
		case report:
			msg.campaign.state, msg.campaign.why = msg.state, msg.why
		case concluded:
			m.conclude(msg)
		}
	}
	if tick {
		m.crowded = false
		m.saveQuarantines()
		m.wakeSaver()
	}
	if tick && m.full == nil {
		m.takeBack(m.step)
		m.sweep(m.step)
		m.forgetMemories()
		m.hide()
		m.step(nil, 0, tree.Tick{})
	}
	if limit := m.cfg.MaxNodes; limit > 0 && m.draining == nil && len(batch) > 0 {
		spent, open := uint64(0), false
		for _, c := range m.campaigns() {
			spent += c.searched()
			open = open || c.settled == nil && c.Tree != nil && !c.Tree.Answered()
		}
		if spent >= limit && open {
			m.draining = ErrLimit
			m.step(nil, 0, tree.Drain{})
		}
	}
	if err := m.flush(); err != nil {
		return err
	}
	for _, answer := range answers {
		answer()
	}
	over := m.allOver()
	if over && !m.ended && !slices.ContainsFunc(m.campaigns(),
		func(c *campaign) bool { return errors.Is(c.stopped, ErrContradiction) }) {
		m.finish()
	}
	if tick || over {
		m.measure()
	}
	return nil
}

// flush commits what is pending, unless there is no room for it, and then does what waited for that.
func (m *Master) flush() error {
	p := &m.pending
	if len(p.persist)+len(p.memories) > 0 && m.full == nil {
		if err := m.commit(); errors.Is(err, ErrNoRoom) {
			m.halt(err)
		} else if err != nil {
			return err
		}
	}
	if len(p.persist)+len(p.memories) > 0 {
		p.merge()
		return nil
	}
	after := p.after
	p.after = nil
	for _, f := range after {
		f()
	}
	return nil
}

// commit writes what is pending.
func (m *Master) commit() error {
	p := &m.pending
	begin := time.Now()
	if err := m.store.Commit(p.persist, p.memories); err != nil {
		return fmt.Errorf("%w: %w", ErrStore, err)
	}
	m.cfg.Metrics.commit.Observe(time.Since(begin).Seconds())
	for _, persist := range p.persist {
		if c, err := m.numbered(persist.Campaign); err == nil {
			c.learned.add(m.cfg.Now(), m.cfg.RecentFacts, persist.Facts)
		}
	}
	p.persist, p.memories = nil, nil
	return nil
}

// attach connects a stream to its session. A stream the session had before is ended.
func (m *Master) attach(a attach, step stepFunc) {
	s := a.session
	if s.link != nil {
		s.link.end(status.Error(codes.Aborted, "another stream of the same session took over"))
	}
	m.dropHeld(s.name)
	m.setLink(s, a.link)
	s.ticks, s.last, s.joined = 0, m.cfg.Now(), true
	step(s, 0, m.joining(s))
}

// greet tells a worker that comes when all is over that it may leave.
func (m *Master) greet(a attach) {
	if m.ended && a.session.link == a.link {
		m.sendFinished(a.session)
	}
}

// detach forgets a stream. Leases live on for a while: a worker may come back and go on with them.
// Its open requests are withdrawn (joining again does that), so that no lease is sent to nobody.
func (m *Master) detach(d detach, step stepFunc) {
	s := d.session
	if s.link != d.link {
		return
	}
	m.setLink(s, nil)
	if d.goodbye || m.isQuarantined(s) {
		m.forget(s, step)
		return
	}
	s.ticks = 0
	step(s, 0, m.joining(s))
}

func (m *Master) setLink(s *session, l *link) {
	m.mu.Lock()
	s.link = l
	m.mu.Unlock()
}

func (m *Master) forget(s *session, step stepFunc) {
	m.mu.Lock()
	delete(m.sessions, s.token)
	current := m.byName[s.name] == s
	if current {
		delete(m.byName, s.name)
	}
	m.mu.Unlock()
	if s.joined && current {
		m.leave(s.name, step)
	}
	s.joined = false
}

// leave tells the tree that a worker is gone and counts the leases it takes along.
func (m *Master) leave(name string, step stepFunc) {
	for _, c := range m.campaigns() {
		if c.Tree != nil {
			c.metrics.expired.Add(float64(c.Tree.LeasesOf(name)))
		}
	}
	step(nil, 0, tree.Left{Worker: name})
}

// sweep forgets workers whose stream has been gone for long enough. It looks before the tick's own
// effects.
func (m *Master) sweep(step stepFunc) {
	m.mu.Lock()
	var leaving, gone []*session
	now := m.cfg.Now().UTC().Round(0)
	for _, s := range m.sessions {
		if s.link != nil {
			m.sees(s, now)
			continue
		}
		s.ticks++
		if s.quarantined {
			gone = append(gone, s)
			continue
		}
		if s.joined && s.ticks > m.cfg.LeavingTicks {
			leaving = append(leaving, s)
		}
		if s.ticks > m.cfg.SessionTicks {
			gone = append(gone, s)
		}
	}
	m.mu.Unlock()
	for _, s := range leaving {
		s.joined = false
		m.mu.Lock()
		current := m.byName[s.name] == s
		m.mu.Unlock()
		if current {
			m.leave(s.name, step)
		}
	}
	for _, s := range gone {
		m.forget(s, step)
	}
}

func (m *Master) hear(msg incoming) {
	s := msg.session
	s.last = m.cfg.Now()
	s.evals, s.fill = max(s.evals, msg.heard.evaluations), msg.heard.fill
	switch ev := msg.event.(type) {
	case tree.Result:
		s.results++
		s.nodes += ev.Nodes
		s.facts += uint64(len(ev.Facts))
		outcome := "open"
		if ev.Verdict != eval.Open {
			outcome = ev.Verdict.String()
		}
		msg.campaign.metrics.returned[outcome].Inc()
	case tree.Proved:
		s.facts += uint64(len(ev.Facts))
	}
}

func (m *Master) obey(c command, step stepFunc) {
	switch c.event.(type) {
	case tree.Drain:
		if m.draining == nil {
			m.draining = c.err
		}
		step(nil, 0, c.event)
	case tree.Pause:
		m.paused = true
	case tree.Resume:
		m.paused = false // without room it goes on later
	}
	m.pauses()
}

// act carries out an effect of a campaign whose step is durable.
func (m *Master) act(c *campaign, effect tree.Effect) {
	switch e := effect.(type) {
	case tree.Grant:
		c.metrics.granted.Inc()
		lease := &farmv1.Lease{Id: uint64(e.Lease.ID), Epoch: e.Lease.Epoch, Key: farmv1.WriteKey(e.Lease.Key),
			BudgetNodes: e.Lease.Budget, Facts: writeFacts(e.Lease.Facts), Campaign: c.message(false),
			Hints: m.memoriesFor(c, e.Worker, e.Lease)}
		m.sendTo(e.Worker, &farmv1.WorkResponse{Kind: &farmv1.WorkResponse_Lease{Lease: lease}})
	case tree.Inform:
		m.sendNews(e.Worker, &farmv1.News{Campaign: c.Number, Facts: writeFacts(e.Facts)})
	case tree.Cancel:
		c.metrics.cancelled.Inc()
		m.sendTo(e.Worker, &farmv1.WorkResponse{Kind: &farmv1.WorkResponse_Cancel{Cancel: &farmv1.Cancel{
			Lease: uint64(e.Lease), Reason: e.Reason.String(), Campaign: c.Number}}})
	case tree.NoWork:
		m.sendTo(e.Worker, &farmv1.WorkResponse{Kind: &farmv1.WorkResponse_NoWork{NoWork: &farmv1.NoWork{Reason: e.Reason.String()}}})
	case tree.Settled:
		if c.settled != nil || c.stopped != nil {
			return
		}
		c.settled = &e
		c.state, c.why = StateAssembling, "the winner is known; its certificate is being put together"
		c.evidence = Evidence{Settled: e, FirstMoves: c.Tree.FirstMoves(), Spent: c.Tree.Status().Spent}
		for n := range c.Tree.WonNodes() {
			c.evidence.Won = append(c.evidence.Won, n)
		}
		m.begin(c)
	case tree.Contradiction:
		m.cfg.Metrics.contradictions.Inc()
		m.stop(c, &ContradictionError{Position: c.positionText(e.Key), Contradiction: e})
	}
}

// stop ends a campaign because of something that a person has to look at.
func (m *Master) stop(c *campaign, err error) {
	if c.stopped != nil {
		return
	}
	c.stopped, c.state, c.why = err, StateStopped, err.Error()
	m.cfg.Log.Error("campaign stopped", "campaign", c.Name, "error", err)
}

// conclude takes what Campaign.Conclude says. Without room it is asked again when there is some.
func (m *Master) conclude(msg concluded) {
	c := msg.campaign
	if errors.Is(msg.err, ErrNoRoom) {
		m.halt(msg.err)
		c.homeless, c.again = true, m.cfg.AgainTicks
		return
	}
	if msg.err != nil {
		m.stop(c, msg.err)
		return
	}
	c.conclusion = &msg.conclusion
	c.state, c.why = StateSettled, "the winner is known and the certificate is verified"
	if !msg.conclusion.Verified {
		c.why = "the winner is known"
	}
	m.cfg.Log.Info("campaign settled", "campaign", c.Name, "winner", msg.conclusion.Winner, "certificate",
		msg.conclusion.File)
}

// allOver reports whether every campaign is over.
func (m *Master) allOver() bool {
	return !slices.ContainsFunc(m.campaigns(), func(c *campaign) bool { return !c.over() })
}

// finish tells all workers that they may leave.
func (m *Master) finish() {
	m.ended = true
	m.tellAll(m.sendFinished)
}

// tellAll calls send for each session, without the lock.
func (m *Master) tellAll(send func(*session)) {
	m.mu.Lock()
	sessions := slices.Collect(maps.Values(m.sessions))
	m.mu.Unlock()
	for _, s := range sessions {
		send(s)
	}
}

func (m *Master) sendFinished(s *session) {
	c := m.first()
	reason := c.state + ": " + clip(c.why, 1000)
	if len(m.campaigns()) > 1 {
		reason = "all campaigns are over"
	}
	m.send(s, &farmv1.WorkResponse{Kind: &farmv1.WorkResponse_Finished{Finished: &farmv1.Finished{Reason: reason}}})
}

func (m *Master) sendTo(worker string, msg *farmv1.WorkResponse) {
	m.mu.Lock()
	s := m.byName[worker]
	m.mu.Unlock()
	if s != nil {
		m.send(s, msg)
	}
}

// sendNews queues facts for a worker, unless it is slow to read what it is sent: they are a help only.
func (m *Master) sendNews(worker string, news *farmv1.News) {
	m.mu.Lock()
	s := m.byName[worker]
	m.mu.Unlock()
	if s != nil && s.link != nil && len(s.link.out) < cap(s.link.out)/2 {
		m.send(s, &farmv1.WorkResponse{Kind: &farmv1.WorkResponse_News{News: news}})
	}
}

// send queues a message for a worker. One that does not read what it is sent is cut off.
func (m *Master) send(s *session, msg *farmv1.WorkResponse) {
	if s == nil || s.link == nil {
		return
	}
	select {
	case s.link.out <- msg:
	default:
		s.link.end(status.Errorf(codes.ResourceExhausted, "%d messages wait for this worker, which does not read them",
			cap(s.link.out)))
	}
}

// view is what the loop knows of a campaign.
func (m *Master) view(of *campaign) (v View) {
	var all []*farmv1.CampaignSummary
	for c, each := range m.views() {
		all = append(all, c.summary(each))
		if c == of {
			v = each
		}
	}
	v.Campaigns = all
	v.Certs, v.CertBytes = m.store.Certificates()
	return v
}

// views is what the loop knows of each campaign, by number, without what costs time and is not of
// that campaign.
func (m *Master) views() iter.Seq2[*campaign, View] {
	return func(yield func(*campaign, View) bool) {
		connected, quarantined := m.present()
		for _, c := range m.campaigns() {
			if !yield(c, m.viewAlone(c, connected, quarantined)) {
				return
			}
		}
	}
}

// present counts the workers that are connected, and the parties in quarantine.
func (m *Master) present() (connected, quarantined int) {
	m.mu.Lock()
	defer m.mu.Unlock()
	for _, s := range m.sessions {
		if s.link != nil {
			connected++
		}
	}
	for _, o := range m.standings {
		if o.quarantine != nil {
			quarantined++
		}
	}
	return connected, quarantined
}

// viewAlone is one of views.
func (m *Master) viewAlone(c *campaign, connected, quarantined int) View {
	t := c.status()
	v := View{
		State: c.state, Why: c.why,
		Tree: t, Settled: c.settled, Conclusion: c.conclusion,
		Seconds:   m.since(m.started),
		StoreFile: m.cfg.StoreFile,
		Settings:  c.Settings,
		Connected: connected, Quarantined: quarantined,
	}
	if m.full != nil && m.draining == nil && (v.State == StateRunning || c.homeless) {
		v.State, v.Why = StatePaused, m.full.Error()+"; the campaign goes on by itself once there is room"
	}
	if v.State == StateRunning {
		switch {
		case c.Ended:
			v.State, v.Why = StateEnded, "an operator gave the campaign up"
		case m.draining != nil:
			v.State, v.Why = StateDraining, m.draining.Error()+"; leases are called back"
		case m.paused:
			v.State, v.Why = StatePaused, "an operator paused the campaign"
		case c.Paused:
			v.State, v.Why = StatePaused, "an operator paused this campaign"
		case v.Connected == 0:
			v.Why = "no worker is connected"
		case t.Leased == 0 && t.NoWork == tree.NoReason && len(m.campaigns()) > 1:
			v.Why = "the workers are with other campaigns"
		case t.Leased == 0:
			v.Why = t.NoWork.String()
		case t.Leased == 1:
			v.Why = "one position is leased"
		default:
			v.Why = fmt.Sprintf("%d positions are leased", t.Leased)
		}
	}
	v.WinnerKnown = t.Settled && !t.NoGivenMoveWins
	return v
}

// measure brings the metrics up to date.
func (m *Master) measure() {
	x := m.cfg.Metrics
	var connected, quarantined int
	for c, v := range m.views() {
		c.metrics.measure(c, v)
		connected, quarantined = v.Connected, v.Quarantined
		x.checks.WithLabelValues(checkUnsettled).Add(float64(v.Tree.Unsettled - c.unsettled))
		x.requeued.Add(float64(v.Tree.Requeued - c.requeued))
		c.unsettled, c.requeued = v.Tree.Unsettled, v.Tree.Requeued
	}
	certs, certBytes := m.store.Certificates()
	x.workers.Set(float64(connected))
	x.quarantined.Set(float64(quarantined))
	x.certificates.Set(float64(certs))
	x.certificateBytes.Set(float64(certBytes))
}

func (m *Master) workers() []*farmv1.Worker {
	m.mu.Lock()
	byName := make(map[string]*session, len(m.byName))
	for name, s := range m.byName {
		byName[name] = s
	}
	m.mu.Unlock()
	var list []*farmv1.Worker
	there := map[string]*farmv1.Worker{}
	for _, member := range m.plan.Workers() {
		name := member.Name
		s := byName[name]
		if s == nil {
			continue
		}
		there[name] = &farmv1.Worker{
			Name: name, Address: s.info.address, Build: s.info.build, Cores: s.info.cores,
			TableBytes:       s.info.tableBytes,
			ConnectedSeconds: m.since(s.since), SilentSeconds: m.since(s.last),
			Nodes: s.nodes, Results: s.results, Facts: s.facts, TableFill: s.fill, Confirmed: uint64(member.Confirmed),
		}
		there[name].Contradicted, there[name].Offences = m.against(s.party())
		list = append(list, there[name])
	}
	for _, c := range m.campaigns() {
		for _, w := range c.status().Workers {
			if out := there[w.Name]; out != nil && len(w.Leases) > 0 && out.Lease == 0 {
				l := w.Leases[0]
				out.Lease, out.Position, out.LeaseNodes, out.BudgetNodes = uint64(l.ID), c.positionText(l.Key), l.Nodes,
					l.Budget
				out.LeaseSeconds = float64(l.Age) * m.cfg.Heartbeat.Seconds()
				out.Campaign = c.Name
			}
		}
	}
	return list
}

// since returns the seconds that have passed by the clock that people see, none where it was set back.
func (m *Master) since(t time.Time) float64 { return max(0, m.cfg.Now().Sub(t).Seconds()) }

// open starts a session; one of the same name that was there before ends.
func (m *Master) open(name string, info workerInfo) (*session, error) {
	now := m.cfg.Now()
	s := &session{token: rand.Text(), name: name, info: info, since: now, last: now, seen: hints.Seen{},
		messages: rate.NewLimiter(rate.Limit(m.cfg.SessionMessages), m.cfg.SessionBurst)}
	m.mu.Lock()
	defer m.mu.Unlock()
	if o := m.standings[s.party()]; o != nil && o.quarantine != nil {
		m.cfg.Metrics.quarantinedJoins.Inc()
		return nil, errQuarantined(o.quarantine)
	}
	old := m.byName[name]
	if old == nil && len(m.byName) >= m.cfg.MaxWorkers {
		return nil, status.Errorf(codes.ResourceExhausted, "the farm has its limit of %d workers", m.cfg.MaxWorkers)
	}
	if old != nil {
		delete(m.sessions, old.token)
		if old.link != nil {
			old.link.end(status.Errorf(codes.Aborted, "another worker joined as %s and takes its place", name))
		}
	}
	m.sessions[s.token], m.byName[name] = s, s
	return s, nil
}

// session returns the session of a token, if it is the caller's.
func (m *Master) session(ctx context.Context, token string) (*session, error) {
	m.mu.Lock()
	s := m.sessions[token]
	known := s != nil && !s.quarantined
	m.mu.Unlock()
	if known {
		return s, access.OwnSession(ctx, s.info.owner)
	}
	return nil, status.Error(codes.FailedPrecondition, "this session is not known (any more); join again")
}

func clip(s string, most int) string {
	if len(s) <= most {
		return s
	}
	return strings.ToValidUTF8(s[:most-3], "") + "..."
}

// writeFacts writes facts for a worker, which has no use for the names of certificates.
func writeFacts(list []proof.Fact) []*farmv1.Fact {
	out := farmv1.WriteFacts(list)
	for _, f := range out {
		f.CertificateSha256 = nil
	}
	return out
}
